"""Watches: expressions that are looked at while one moves, with what they were at every event that changed them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from html import escape
from typing import NamedTuple

from ..document import Value
from .conditions import ConditionError, Field, Node, Result, evaluate, is_blob, mentioned, shown
from .marked_list import MarkedList
from .occurrences import Finder
from .writings import Writings, blob_field

BARS = "▁▂▃▄▅▆▇█"
LONGEST_LINE = 40
"""Bars of a sparkline; of more values each bar is the mean of several."""


class BlobAt(NamedTuple):
    """Where a watch looks: at blobs alone, at a position."""

    writings: Writings
    position: int

    def field(self, thing: str, attribute: str) -> Result:
        """A field of a blob, or its name."""
        found = self.writings.latest(thing[1:], self.position) if is_blob(thing) else None
        return None if found is None else blob_field(*found, attribute)


class Watch:
    """One expression, and what it is at each position.

    A blob alone is shown by its norm, a single number by itself.

    Attributes:
        on: the expression as it was written.
        problem: the fault of its text; empty where there is none.
    """

    def __init__(self, on: str, finder: Finder, position: Callable[[], int], owner: Watches) -> None:
        self.on = on
        self.problem = ""
        self._finder = finder
        self._position = position
        self._owner = owner
        self._node: Node | None = None
        try:
            self._node = finder.watched(on)
        except ConditionError as error:
            self.problem = str(error)

    @property
    def value(self) -> Result:
        """What it is at the session's position; None: not computed by then."""
        return self.at(self._position())

    def at(self, position: int) -> Result:
        """What it is at a position; None: not computed by then."""
        if self._node is None:
            return None
        if self._node.type == "blob" and isinstance(self._node, Field):
            found = self._finder.writings.latest(self._node.thing[1:], position)
            return None if found is None else _number_of(found[1])
        return evaluate(self._node, BlobAt(self._finder.writings, position))

    @cached_property
    def history(self) -> list[tuple[int, Result]]:
        """Each position at which a blob in it got another value, and what it was from there on; fed ones are at 0."""
        if self._node is None:
            return []
        computed = self._finder.writings.computed
        names = {field.thing[1:] for field in mentioned(self._node)}
        positions = sorted({position for name in names for position in computed.get(name, ((), ()))[0]})
        told: list[tuple[int, Result]] = []
        for position in positions:
            value = self.at(position)
            if value is not None and not (told and told[-1][1] == value):
                told.append((position, value))
        return told

    @property
    def sparkline(self) -> str:
        """The numbers of its history up to the session's position, as bars."""
        by_now = self.history[: bisect_right([position for position, _ in self.history], self._position())]
        return sparkline([float(value) for _, value in by_now if isinstance(value, int | float)])

    @property
    def text(self) -> str:
        """What it is now, as a person reads it; of a blob its shape and dtype too."""
        if self.problem:
            return self.problem
        known = shown(self.value)
        if self._node is None or self._node.type != "blob" or self.value is None:
            return known
        found = self._finder.writings.latest(self._node.thing[1:], self._position())  # type: ignore[attr-defined]
        assert found is not None
        version, value = found
        shape = "×".join(map(str, value.shape))
        return f"{known} ({version}, {value.dtype}{' ' + shape if shape else ''}{'' if value.size == 1 else ', norm'})"

    def remove(self) -> None:
        """Take it out of its session."""
        self._owner.remove(self)

    def __repr__(self) -> str:
        line = self.sparkline
        return f"<Watch {self.on}: {self.text}{'  ' + line if line else ''}>"


class Watches(MarkedList[Watch, str]):
    """The watches of a session, in the order in which they were set."""

    def __init__(self, finder: Callable[[], Finder], position: Callable[[], int], watched: Iterable[str] = ()) -> None:
        super().__init__(watched)
        self._finder = finder
        self._position = position

    def add(self, on: str) -> Watch:
        """Watch an expression; one that is watched already is given again.

        Raises:
            ConditionError: it is malformed, or about what the recording does not have.
        """
        self._finder().watched(on)
        return self.kept(on) or self.append(self.made(on))

    def made(self, entry: str) -> Watch:
        """The watch of an expression."""
        return Watch(entry, self._finder(), self._position, self)

    def entry_of(self, mark: Watch) -> str:
        """The expression of a watch."""
        return mark.on

    def kept(self, entry: str) -> Watch | None:
        """The watch that is there for an expression."""
        return next((one for one in self if one.on == entry), None)

    def __repr__(self) -> str:
        return "\n".join(map(repr, self)) or "Nothing is watched. session.watch(...) watches."

    def _repr_html_(self) -> str:
        if not len(self):
            return f"<p>{escape(repr(self))}</p>"
        head = "".join(f'<th scope="col">{word}</th>' for word in ("watch", "value", "so far"))
        rows = ((one.on, one.text, one.sparkline) for one in self)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return f"<table><caption>Watches</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _number_of(value: Value) -> Result:
    """A single number by itself, else the norm."""
    if value.size == 1 and value.preview:
        # The preview is rounded, but alone says which of NaN and the infinities it is.
        return float(value.preview[0][0] if value.max is None else value.max)
    return None if value.norm is None else float(value.norm)


def sparkline(numbers: Sequence[float]) -> str:
    """Numbers as bars of eight heights, the smallest lowest; what is not finite is a cross."""
    means = [_mean(part) for part in _parts(numbers)]
    finite = [one for one in means if abs(one) != float("inf") and one == one]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    return "".join(_bar(one, low, high) for one in means)


def _parts(numbers: Sequence[float]) -> list[Sequence[float]]:
    """The numbers in at most as many parts as a sparkline has bars."""
    count = min(len(numbers), LONGEST_LINE)
    return [numbers[len(numbers) * part // count : len(numbers) * (part + 1) // count] for part in range(count)]


def _mean(numbers: Sequence[float]) -> float:
    return sum(number / len(numbers) for number in numbers)


def _bar(number: float, low: float, high: float) -> str:
    if number != number or abs(number) == float("inf"):
        return "×"
    return BARS[0] if high == low else BARS[int((number / 2 - low / 2) / (high / 2 - low / 2) * (len(BARS) - 1) + 0.5)]
