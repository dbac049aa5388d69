"""From the text of a condition to its nodes: the levels of the grammar, types checked on the way."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....program.errors import meant
from .language import (
    DEEPEST,
    FIELDS,
    FUNCTIONS,
    LONGEST,
    NAMES,
    STATISTICS,
    THINGS,
    ConditionError,
    Constant,
    Field,
    Node,
    Operation,
    Type,
)

Types = tuple[Type, ...]

ORDER, ARITHMETIC = ("<", "<=", ">", ">="), ("+", "-", "*", "/", "%")
LEVELS = (("or",), ("and",), ("not",), (*ORDER, "==", "!=", "in", "not in"), ("+", "-"), ("*", "/", "%"), ("-",))
"""The signs from those that bind least; of `PREFIXES` the level has its signs before a value, others between two."""
PREFIXES = {2: "not", 6: "negative"}
COMPARISON = 3

# Things stand for their names.
_NAMED: Types = ("event", "op", "blob")
_SIDE: Types = ("number", "text", "list", *_NAMED)
_TAKES: dict[str, tuple[Types, Types]] = {
    **dict.fromkeys((*ORDER, *ARITHMETIC, "negative"), (("number",), ("number",))),
    **dict.fromkeys(("==", "!="), (_SIDE, _SIDE)),
    **dict.fromkeys(("in", "not in"), (("number", "text", *_NAMED), ("list", "text", *_NAMED))),
    **dict.fromkeys(("and", "or", "not"), (("truth",), ("truth",))),
}

_TOKEN = re.compile(
    r"(?P<number>([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]+)?)"
    r"|(?P<blob>[A-Za-z_][A-Za-z0-9_]*@[0-9]+|`[^`]+`)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<text>'(\\.|[^'\\])*'|\"(\\.|[^\"\\])*\")"
    r"|(?P<sign><=|>=|==|!=|[<>+\-*/%().,\[\]])"
    r"|(?P<space>[ \t\r\n]+)",
    re.DOTALL,
)
WORDS = ("and", "or", "not", "in")


class Token(NamedTuple):
    """A piece of a condition.

    Attributes:
        kind: ``number``, ``text``, ``blob``, ``name``, ``end``; a sign or a word of the grammar is its own kind.
        text: what it says, without what it stands between.
        at: the position of its first character.
    """

    kind: str
    text: str
    at: int


def parse(text: str, start: int = 0, *, is_blob: Callable[[str], bool] = lambda name: False) -> Node:
    """The nodes of the expression that `text` has from character `start` on, of any type.

    Args:
        is_blob: whether a word of the language means a blob of that name all the same.

    Raises:
        ConditionError: it is malformed; the error has the position.
    """
    return _Parser(text, start, is_blob).whole()


def truth(text: str, node: Node) -> Node:
    """`node`, which is what `text` says, if it is a condition.

    Raises:
        ConditionError: it is a number, a text, a list or a thing.
    """
    if node.type != "truth":
        problem = f"this is {_a(node.type)}, which is neither true nor false"
        raise ConditionError(text, node.at, problem, ways_out=["Compare it."])
    return node


def tokens(text: str, start: int) -> list[Token]:
    """The tokens of `text` from character `start` on, ``end`` last.

    Raises:
        ConditionError: a character that is no part of the language, a text without an end, too long.
    """
    if len(text) > LONGEST:
        raise ConditionError(text[:LONGEST], LONGEST, f"a condition has at most {LONGEST} characters")
    tokens = []
    at = start
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _no_token(text, at)
        if match.lastgroup != "space":
            tokens.append(_token(str(match.lastgroup), match.group(), at))
        at = match.end()
    return [*tokens, Token("end", "", len(text))]


def _token(kind: str, text: str, at: int) -> Token:
    if kind == "text":
        return Token(kind, re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL), at)
    is_own = kind == "sign" or text in WORDS
    return Token(text if is_own else kind, text.strip("`"), at)


def _no_token(text: str, at: int) -> ConditionError:
    if text.startswith("``", at):
        return ConditionError(text, at, "a blob has a name")
    if text[at] in "'\"`":
        return ConditionError(text, at, f"what begins with {text[at]} has no end")
    way_out = {"=": ["Compare with ==."], "!": ["Write not, or != between two values."]}.get(text[at], ())
    return ConditionError(text, at, f"{text[at]!r} is no part of a condition", ways_out=way_out)


class _Parser:
    def __init__(self, text: str, start: int, is_blob: Callable[[str], bool]) -> None:
        self._text = text
        self._is_blob = is_blob
        self._tokens = tokens(text, start)
        self._next = 0
        self._open = 0

    def whole(self) -> Node:
        node = self._inside()
        if self._token.kind != "end":
            raise self._unexpected()
        return node

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _take(self, *kinds: str) -> Token | None:
        """The next token where it is of one of the kinds."""
        token = self._token
        if token.kind not in kinds:
            return None
        self._next += 1
        return token

    def _demand(self, kind: str) -> None:
        if self._take(kind) is None:
            raise self._unexpected(f"{kind} is missing")

    def _unexpected(self, wanted: str = "") -> ConditionError:
        token = self._token
        is_end = token.kind == "end"
        return self._wrong(
            token.at, wanted or ("the condition stops too early" if is_end else f"{token.text!r} makes no sense here")
        )

    def _wrong(self, at: int, problem: str, ways_out: Sequence[str] = ()) -> ConditionError:
        return ConditionError(self._text, at, problem, ways_out=ways_out)

    def _bounded(self, depth: int, at: int) -> int:
        if depth > DEEPEST:
            raise self._wrong(at, f"this is nested more than {DEEPEST} deep")
        return depth

    def _operation(self, sign: str, at: int, type: Type, *parts: Node) -> Node:
        """A node over others."""
        depth = 1 + max((part.depth for part in parts), default=0)
        return Operation(at, type, self._bounded(depth, at), sign, parts)

    def _inside(self, level: int = 0, at: int | None = None) -> Node:
        """What a level reads inside of something that was opened."""
        self._open = self._bounded(self._open + 1, self._token.at if at is None else at)
        node = self._level(level)
        self._open -= 1
        return node

    def _level(self, level: int) -> Node:
        """What the signs of a level, and those that bind more, join."""
        if level == len(LEVELS):
            return self._attribute()
        if level in PREFIXES:
            token = self._take(*LEVELS[level])
            return self._level(level + 1) if token is None else self._prefixed(level, token)
        parts = [self._level(level + 1)]
        pairs: list[Node] = []
        at = parts[0].at
        while sign := self._sign(level):
            parts.append(self._level(level + 1))
            if level >= COMPARISON:
                left, right = parts[-2:]
                for side, types in zip((left, right), _TAKES[sign], strict=True):
                    self._want(side, types, sign)
                pairs.append(self._operation(sign, at, "number" if sign in ARITHMETIC else "truth", left, right))
            if level > COMPARISON:
                parts = [pairs[-1]]
        if level < COMPARISON and len(parts) > 1:
            word = LEVELS[level][0]
            for part in parts:
                self._want(part, ("truth",), word)
            return self._operation(word, at, "truth", *parts)
        # a < b < c is a < b and b < c.
        if len(pairs) > 1 and level == COMPARISON:
            return Operation(at, "truth", max(pair.depth for pair in pairs), "and", tuple(pairs))
        return pairs[-1] if pairs else parts[0]

    def _prefixed(self, level: int, token: Token) -> Node:
        of = self._inside(level, token.at)
        self._want(of, _TAKES[PREFIXES[level]][0], token.text)
        return self._operation(PREFIXES[level], token.at, of.type, of)

    def _sign(self, level: int) -> str:
        if token := self._take(*LEVELS[level]):
            return token.kind
        if level == COMPARISON and [token.kind for token in self._tokens[self._next : self._next + 2]] == ["not", "in"]:
            self._next += 2
            return "not in"
        return ""

    def _attribute(self) -> Node:
        node = self._primary()
        while self._take("."):
            name = self._token
            if name.kind != "name":
                raise self._unexpected("behind a point stands the name of a field")
            self._next += 1
            node = self._field(node, name)
        return node

    def _field(self, node: Node, name: Token) -> Node:
        fields = FIELDS.get(node.type, {}) if isinstance(node, Field) else {}
        if not isinstance(node, Field) or name.text not in fields:
            listing = [f"There are {', '.join(fields)}."] if fields else []
            raise self._wrong(name.at, f"{_a(node.type)} has no {name.text!r}", meant(name.text, fields) or listing)
        return Field(node.at, fields[name.text], 1, node.thing, name.text)

    def _primary(self) -> Node:
        token = self._take("number", "text", "blob", "name", "(", "[")
        if token is None:
            raise self._unexpected()
        match token.kind:
            case "number":
                return Constant(token.at, "number", 1, float(token.text))
            case "text":
                return Constant(token.at, "text", 1, token.text)
            case "name" if self._token.kind == "(":
                return self._call(token)
            case "(":
                node = self._inside()
                self._demand(")")
                return node
            case "[":
                return self._list(token)
        return self._name(token)

    def _name(self, token: Token) -> Node:
        if token.kind == "blob" or token.text not in NAMES or self._is_blob(token.text):
            return Field(token.at, "blob", 1, f":{token.text}", "")
        thing, attribute = NAMES[token.text]
        kind = THINGS[thing]
        return Field(token.at, FIELDS[kind][attribute] if attribute else kind, 1, thing, attribute)

    def _call(self, token: Token) -> Node:
        self._demand("(")
        argument = self._inside()
        self._demand(")")
        name = token.text
        if name in STATISTICS:
            self._want(argument, ("blob",), name)
            assert isinstance(argument, Field)
            return Field(token.at, "number", 1, argument.thing, name)
        if name not in FUNCTIONS:
            functions = [*FUNCTIONS, *STATISTICS]
            ways_out = meant(name, functions) or [f"There are {', '.join(functions)}."]
            raise self._wrong(token.at, f"there is no function {name!r}", ways_out)
        takes, gives = FUNCTIONS[name]
        self._want(argument, takes, name)
        return self._operation(name, token.at, gives, argument)

    def _list(self, token: Token) -> Node:
        items: list[Node] = []
        while self._token.kind != "]":
            items.append(self._inside())
            self._want(items[-1], ("number", "text"), "a list")
            if not self._take(","):
                break
        self._demand("]")
        return self._operation("[", token.at, "list", *items)

    def _want(self, node: Node, types: Sequence[Type], what: str) -> None:
        if node.type not in types:
            wanted = " or ".join(map(_a, types))
            raise self._wrong(node.at, f"{what} takes {wanted}, and this is {_a(node.type)}", _meant(node))


def _meant(node: Node) -> list[str]:
    """Ways out where a blob stands in the place of something else: it may be a word with a mistake in it."""
    if not isinstance(node, Field) or node.type != "blob" or node.attribute:
        return []
    name = node.thing.removeprefix(":")
    return [*meant(name, [one for one in NAMES if one != name]), f"Ask for what is known of it: norm({name})."]


def _a(type: Type) -> str:
    """The type with its article."""
    names = {"op": "an operator", "inputs": "the inputs", "event": "an event", "truth": "true or false"}
    return names.get(type, f"a {type}")
