"""The tokens of a condition."""

from __future__ import annotations

import re
from typing import NamedTuple

from .faults import ConditionError

LONGEST = 500
"""Characters of a condition."""

WORDS = ("and", "or", "not", "in")

_NUMBER = re.compile(r"([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VERSION = re.compile(r"@[0-9]+")
_SIGN = re.compile(r"<=|>=|==|!=|[<>+\-*/%().,\[\]]")
_ENDS = {"'": "text", '"': "text", "`": "blob"}


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


def tokens(text: str, start: int = 0) -> list[Token]:
    """The tokens of `text` from character `start` on, ``end`` last.

    Raises:
        ConditionError: a character that is no part of the language, a text without an end, too long.
    """
    if len(text) > LONGEST:
        raise ConditionError(text[:LONGEST], LONGEST, f"a condition has at most {LONGEST} characters")
    found = []
    at = start
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
            continue
        token, at = _token(text, at)
        found.append(token)
    return [*found, Token("end", "", len(text))]


def _token(text: str, at: int) -> tuple[Token, int]:
    """The token that begins at a position, and the position behind it."""
    if text[at] in _ENDS:
        return _quoted(text, at)
    if number := _NUMBER.match(text, at):
        return Token("number", number.group(), at), number.end()
    if name := _NAME.match(text, at):
        version = _VERSION.match(text, name.end())
        if version:
            return Token("blob", name.group() + version.group(), at), version.end()
        word = name.group()
        return Token(word if word in WORDS else "name", word, at), name.end()
    if sign := _SIGN.match(text, at):
        return Token(sign.group(), sign.group(), at), sign.end()
    way_out = {"=": ["Compare with ==."], "!": ["Write not, or != between two values."]}.get(text[at], ())
    raise ConditionError(text, at, f"{text[at]!r} is no part of a condition", ways_out=way_out)


def _quoted(text: str, at: int) -> tuple[Token, int]:
    end = text[at]
    inside = []
    behind = at + 1
    while behind < len(text) and text[behind] != end:
        if text[behind] == "\\" and end != "`" and behind + 1 < len(text):
            behind += 1
        inside.append(text[behind])
        behind += 1
    if behind == len(text):
        raise ConditionError(text, at, f"what begins with {end} has no end")
    if end == "`" and not inside:
        raise ConditionError(text, at, "a blob has a name")
    return Token(_ENDS[end], "".join(inside), at), behind + 1
