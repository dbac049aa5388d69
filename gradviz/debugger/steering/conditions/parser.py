"""From the text of a condition to its nodes: one function for each rule of the grammar, types checked on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....program.spelling import get_close_matches
from .faults import ConditionError
from .names import FIELDS, FUNCTIONS, NAMES, STATISTICS, THINGS
from .nodes import And, Arithmetic, Call, Comparison, Field, ListOf, Negative, Node, Not, Number, Or, Text, Type
from .tokens import Token, tokens

DEEPEST = 32
"""Nodes that may lie one inside the other."""

ORDER = ("<", "<=", ">", ">=")
COMPARISONS = (*ORDER, "==", "!=", "in")
NAMED: tuple[Type, ...] = ("event", "op", "blob")
"""Things that stand for their names."""


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


class _Parser:
    def __init__(self, text: str, start: int, is_blob: Callable[[str], bool]) -> None:
        self._text = text
        self._is_blob = is_blob
        self._tokens = tokens(text, start)
        self._next = 0
        self._open = 0

    def whole(self) -> Node:
        node = self._or()
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

    def _demand(self, kind: str) -> Token:
        token = self._take(kind)
        if token is None:
            raise self._unexpected(f"{kind} is missing")
        return token

    def _unexpected(self, wanted: str = "") -> ConditionError:
        token = self._token
        if token.kind == "end":
            return self._wrong(token.at, wanted or "the condition stops too early")
        return self._wrong(token.at, wanted or f"{token.text!r} makes no sense here")

    def _wrong(self, at: int, problem: str, ways_out: Sequence[str] = ()) -> ConditionError:
        return ConditionError(self._text, at, problem, ways_out=ways_out)

    def _above(self, at: int, *inside: Node) -> int:
        """The depth of a node over others."""
        depth = 1 + max(node.depth for node in inside)
        if depth > DEEPEST:
            raise self._wrong(at, f"this is nested more than {DEEPEST} deep")
        return depth

    def _enter(self, at: int) -> None:
        self._open += 1
        if self._open > DEEPEST:
            raise self._wrong(at, f"this is nested more than {DEEPEST} deep")

    def _or(self) -> Node:
        self._enter(self._token.at)
        parts = [self._and()]
        while self._take("or"):
            parts.append(self._and())
        self._open -= 1
        return self._joined(Or, parts, "or")

    def _and(self) -> Node:
        parts = [self._not()]
        while self._take("and"):
            parts.append(self._not())
        return self._joined(And, parts, "and")

    def _joined(self, kind: type[And] | type[Or], parts: list[Node], word: str) -> Node:
        if len(parts) == 1:
            return parts[0]
        for part in parts:
            self._want(part, ("truth",), word)
        return kind(parts[0].at, "truth", self._above(parts[0].at, *parts), tuple(parts))

    def _not(self) -> Node:
        token = self._take("not")
        if token is None:
            return self._comparison()
        self._enter(token.at)
        of = self._not()
        self._open -= 1
        self._want(of, ("truth",), "not")
        return Not(token.at, "truth", self._above(token.at, of), of)

    def _comparison(self) -> Node:
        first = self._sum()
        rest: list[tuple[str, Node]] = []
        left = first
        while sign := self._sign():
            right = self._sum()
            self._check_sides(sign, left, right)
            rest.append((sign, right))
            left = right
        if not rest:
            return first
        return Comparison(
            first.at, "truth", self._above(first.at, first, *(one for _, one in rest)), first, tuple(rest)
        )

    def _sign(self) -> str:
        if token := self._take(*COMPARISONS):
            return token.kind
        if self._token.kind == "not" and self._tokens[self._next + 1].kind == "in":
            self._next += 2
            return "not in"
        return ""

    def _check_sides(self, sign: str, left: Node, right: Node) -> None:
        if sign in ORDER:
            self._want(left, ("number",), sign)
            self._want(right, ("number",), sign)
        elif sign in ("in", "not in"):
            self._want(left, ("number", "text", *NAMED), sign)
            self._want(right, ("list", "text", *NAMED), sign)
        else:
            for side in (left, right):
                self._want(side, ("number", "text", "list", *NAMED), sign)

    def _sum(self) -> Node:
        node = self._product()
        while sign := self._take("+", "-"):
            node = self._arithmetic(sign, node, self._product())
        return node

    def _product(self) -> Node:
        node = self._unary()
        while sign := self._take("*", "/", "%"):
            node = self._arithmetic(sign, node, self._unary())
        return node

    def _arithmetic(self, sign: Token, left: Node, right: Node) -> Node:
        self._want(left, ("number",), sign.kind)
        self._want(right, ("number",), sign.kind)
        return Arithmetic(left.at, "number", self._above(left.at, left, right), sign.kind, left, right)

    def _unary(self) -> Node:
        token = self._take("-")
        if token is None:
            return self._attribute()
        self._enter(token.at)
        of = self._unary()
        self._open -= 1
        self._want(of, ("number",), "-")
        return Negative(token.at, "number", self._above(token.at, of), of)

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
        known = FIELDS.get(node.type, {}) if isinstance(node, Field) else {}
        if not isinstance(node, Field) or name.text not in known:
            fields = [f"There are {', '.join(known)}."] if known else []
            raise self._wrong(name.at, f"{_a(node.type)} has no {name.text!r}", fields)
        return Field(node.at, known[name.text], 1, node.thing, name.text)

    def _primary(self) -> Node:
        token = self._token
        self._next += 1
        match token.kind:
            case "number":
                return Number(token.at, "number", 1, float(token.text))
            case "text":
                return Text(token.at, "text", 1, token.text)
            case "blob":
                return Field(token.at, "blob", 1, f":{token.text}", "")
            case "name":
                return self._call(token) if self._token.kind == "(" else self._name(token)
            case "(":
                inside = self._or()
                self._demand(")")
                return inside
            case "[":
                return self._list(token)
        self._next -= 1
        raise self._unexpected()

    def _name(self, token: Token) -> Node:
        if token.text not in NAMES or self._is_blob(token.text):
            return Field(token.at, "blob", 1, f":{token.text}", "")
        thing, attribute = NAMES[token.text]
        kind = THINGS[thing]
        return Field(token.at, FIELDS[kind][attribute] if attribute else kind, 1, thing, attribute)

    def _call(self, token: Token) -> Node:
        self._demand("(")
        argument = self._or()
        self._demand(")")
        name = token.text
        if name in STATISTICS:
            self._want(argument, ("blob",), name)
            assert isinstance(argument, Field)
            return Field(token.at, "number", 1, argument.thing, name)
        if name not in FUNCTIONS:
            known = [*FUNCTIONS, *STATISTICS]
            near = get_close_matches(name, known, n=2)
            raise self._wrong(token.at, f"there is no function {name!r}", [f"There are {', '.join(near or known)}."])
        takes, gives = FUNCTIONS[name]
        self._want(argument, takes, name)
        return Call(token.at, gives, self._above(token.at, argument), name, argument)

    def _list(self, token: Token) -> Node:
        items: list[Node] = []
        while self._token.kind != "]":
            item = self._or()
            self._want(item, ("number", "text"), "a list")
            items.append(item)
            if not self._take(","):
                break
        self._demand("]")
        depth = self._above(token.at, *items) if items else 1
        return ListOf(token.at, "list", depth, tuple(items))

    def _want(self, node: Node, types: Sequence[Type], what: str) -> None:
        if node.type not in types:
            wanted = " or ".join(map(_a, types))
            raise self._wrong(node.at, f"{what} takes {wanted}, and this is {_a(node.type)}", _meant(node))


def _meant(node: Node) -> list[str]:
    """Ways out where a blob stands in the place of something else: it may be a word with a mistake in it."""
    if not isinstance(node, Field) or node.type != "blob" or node.attribute:
        return []
    name = node.thing.removeprefix(":")
    near = get_close_matches(name, NAMES, n=2)
    return [*([f"Did you mean {' or '.join(near)}?"] if near else []), f"Ask for what is known of it: norm({name})."]


def _a(type: Type) -> str:
    """The type with its article."""
    names = {"op": "an operator", "inputs": "the inputs", "event": "an event", "truth": "true or false"}
    return names.get(type, f"a {type}")
