"""The forms of an answer: the same blocks as text in a terminal, as HTML in a notebook, and as plain data.

The HTML has no script and no colours of its own, so that it reads in a light and in a dark page; every name in it is
escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Any, ClassVar, NamedTuple, TypeVar

import msgspec

from ..document import Number, json_safe
from ..telling import table


class Paragraph(NamedTuple):
    """One or more sentences; `is_title` where they say what the answer is about."""

    text: str
    is_title: bool = False


class Bullets(NamedTuple):
    """Sentences of equal rank."""

    items: Sequence[str]


class Grid(NamedTuple):
    """A table with a title, a head and a line below; `is_code`: its last column has lines of code."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    foot: str = ""
    is_code: bool = False


Block = Paragraph | Bullets | Grid


class Answer(msgspec.Struct, frozen=True):
    """What a question gives: frozen data that shows itself.

    Attributes:
        answer: the question's name, which the plain data carries too.
        plain: makes plain data of what in it is none.
    """

    answer: ClassVar[str] = ""
    plain: ClassVar[Callable[[Any], Any] | None] = None

    def blocks(self) -> Iterator[Block]:
        """What it shows, from the top down."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n".join(line for block in self.blocks() for line in _text(block))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return "".join(map(_html, self.blocks()))

    def to_dict(self) -> dict[str, Any]:
        """Everything in it as JSON can carry it, under the name of the question."""
        data: dict[str, Any] = json_safe(msgspec.to_builtins(self, enc_hook=type(self).plain))
        return {"answer": self.answer, **data}


def _text(block: Block) -> Iterator[str]:
    if isinstance(block, Paragraph):
        yield block.text
    elif isinstance(block, Bullets):
        yield from (f"  - {item}" for item in block.items)
    else:
        yield block.title
        rows = [block.head, *block.rows] if block.rows else []
        widths = [max(len(row[column]) for row in rows) for column in range(len(block.head))] if rows else []
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            yield "  " + "  ".join(cells).rstrip()
        if block.foot:
            yield f"  {block.foot}"


def _html(block: Block) -> str:
    if isinstance(block, Paragraph):
        text = escape(block.text)
        return f"<p><b>{text}</b></p>" if block.is_title else f"<p>{text}</p>"
    if isinstance(block, Bullets):
        return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in block.items) + "</ul>"
    return table(block.title, block.head, block.rows, block.foot, is_code=block.is_code)


T = TypeVar("T")

SHOWN = 40
"""Rows of a list or table that a text or HTML shows, where an answer has no number of its own."""


def first_of(items: Sequence[T], most: int, row: Callable[[T], Sequence[str]]) -> list[Sequence[str]]:
    """The rows of the first `most` items, and one that says how many there are more."""
    rows, more = list(map(row, items[:most])), len(items) - most
    return rows if more <= 0 else [*rows, (f"and {more} more", *[""] * (len(rows[0]) - 1))]


def first_texts(items: Sequence[str], most: int) -> list[str]:
    """The same of texts."""
    return [text for (text,) in first_of(items, most, lambda item: (item,))]


def digits(value: Number | None, absent: str = "not computed") -> str:
    """A number as a person reads it; None is `absent`, never 0."""
    if value is None:
        return absent
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else f"{value:.4g}"


def percent(value: Number | None, absent: str = "not computed") -> str:
    """A share as a person reads it."""
    return digits(value, absent) if value is None or isinstance(value, str) else f"{100 * value:z.1f} %"


def absent(norm: Number | None, unknown: str = "not computed") -> str:
    """What stands for a number that is not there: where there is a norm it does not exist, as the cosine of zeros."""
    return unknown if norm is None else "none"


def way(steps: Sequence[str], most: int = 12) -> str:
    """Steps with arrows between them, cut in the middle where there are many."""
    half = most // 2
    return " → ".join(steps if len(steps) <= most else [*steps[:half], "…", *steps[-half:]])
