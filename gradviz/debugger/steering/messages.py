"""The messages of log points: text with expressions between braces."""

from __future__ import annotations

from .conditions import ConditionError, Node, evaluate, shown
from .occurrences import Finder
from .writings import Row, RowContext


class Message:
    """A message, "norm of {x} is {norm}"; a brace itself is written twice.

    Raises:
        ConditionError: a brace without its other, or what stands between braces says nothing.
    """

    def __init__(self, text: str, finder: Finder) -> None:
        self._writings = finder.writings
        self._parts = _parts(text, finder)

    def at(self, row: Row) -> str:
        """The message where an event writes, or is about, what `row` says."""
        context = RowContext(self._writings, row)
        return "".join(part if isinstance(part, str) else shown(evaluate(part, context)) for part in self._parts)


def _parts(text: str, finder: Finder) -> list[str | Node]:
    """The text between the expressions, and these."""
    parts: list[str | Node] = []
    at = 0
    while at < len(text):
        if text[at : at + 2] in ("{{", "}}"):
            parts.append(text[at])
            at += 2
        elif text[at] == "{":
            end = text.find("}", at)
            if end < 0:
                raise ConditionError(text, at, "this brace is never closed")
            parts.append(finder.inside(text, at + 1, end))
            at = end + 1
        elif text[at] == "}":
            raise ConditionError(text, at, "this brace closes nothing", ways_out=["Write a brace twice to show one."])
        else:
            parts.append(text[at])
            at += 1
    return parts
