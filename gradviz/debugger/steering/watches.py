"""Watches: expressions that are looked at while one moves, with what they were at every event that changed them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from operator import itemgetter

import numpy as np

from ..journal import Indices
from .conditions import ConditionError, Field, Node, Result, evaluate, mentioned, shown
from .marked_list import MarkedList
from .occurrences import Finder

BARS = "▁▂▃▄▅▆▇█"
LONGEST_LINE = 40
"""Bars of a sparkline; of more values each bar is the mean of several."""


class Watch:
    """One expression, and what it is at each position.

    A blob alone is shown by its norm, a single number by itself.

    Attributes:
        on: the expression as it was written.
        problem: the fault of its text; empty where there is none.
    """

    def __init__(self, on: str, finder: Finder, owner: Watches) -> None:
        self.on = on
        self.problem = ""
        self._rows = finder.rows
        self._owner = owner
        self._node: Node | None = None
        try:
            self._node = finder.watched(on)
        except ConditionError as error:
            self.problem = str(error)

    @property
    def entry(self) -> str:
        """The watch as a document has it."""
        return self.on

    @property
    def value(self) -> Result:
        """What it is at the session's position; None: not computed by then."""
        return self.at(self._owner.position())

    def at(self, position: int) -> Result:
        """What it is at a position; None: not computed by then."""
        return self._at([position])[0]

    def _at(self, positions: Sequence[int]) -> list[Result]:
        """What it is at each of some positions."""
        if self._node is None:
            return [None for _ in positions]
        every = np.array(positions, np.int64)
        if (blob := self._blob) is not None:
            return self._numbers(blob, every)
        column = evaluate(self._node, lambda thing, field: self._rows.as_of(thing.removeprefix(":"), field, every))
        return [column.at(number) for number in range(len(positions))]

    def _numbers(self, blob: str, positions: Indices) -> list[Result]:
        """A single number by itself, else the norm."""
        norm, size, most = (self._rows.as_of(blob, attribute, positions) for attribute in ("norm", "size", "max"))
        numbers: list[Result] = []
        for place, position in enumerate(positions.tolist()):
            number = most.at(place) if size.at(place) == 1 else norm.at(place)
            if number is None and (latest := self._rows.latest(blob, position)) is not None and latest[1].size == 1:
                # The preview is rounded, but alone says which of NaN and the infinities it is.
                number = float(latest[1].preview[0][0]) if latest[1].preview else norm.at(place)
            numbers.append(number)
        return numbers

    @property
    def _blob(self) -> str | None:
        """The blob that is watched; None: it is an expression."""
        return self._node.blob if isinstance(self._node, Field) and self._node.type == "blob" else None

    @cached_property
    def history(self) -> list[tuple[int, Result]]:
        """Each position at which a blob in it got another value, and what it was from there on; fed ones are at 0."""
        if self._node is None:
            return []
        positions = self._rows.computed_at(field.blob for field in mentioned(self._node) if field.blob is not None)
        changes: list[tuple[int, Result]] = []
        for position, value in zip(positions, self._at(positions), strict=True):
            if value is not None and not (changes and changes[-1][1] == value):
                changes.append((position, value))
        return changes

    def near(self, position: int, most: int) -> list[tuple[int, str]]:
        """Of its history what counts at a position and what is around that, at most so many, as a person reads it."""
        here = bisect_right(self.history, position, key=itemgetter(0)) - 1
        first = max(0, min(here - most // 2, len(self.history) - most))
        return [(at, shown(value)) for at, value in self.history[first : first + most]]

    @property
    def sparkline(self) -> str:
        """The numbers of its history up to the session's position, as bars."""
        by_now = self.history[: bisect_right(self.history, self._owner.position(), key=itemgetter(0))]
        return sparkline([float(value) for _, value in by_now if isinstance(value, int | float)])

    @property
    def text(self) -> str:
        """What it is now, as a person reads it; of a blob its shape and dtype too."""
        return self.text_at(self._owner.position())

    def text_at(self, position: int) -> str:
        """The same at a position."""
        if self.problem:
            return self.problem
        text = shown(self.at(position))
        latest = None if self._blob is None else self._rows.latest(self._blob, position)
        if latest is None:
            return text
        version, value = latest
        if value.norm is None and value.stack is None:
            text = "left out" if value.size else "empty"
        shape = "×".join(map(str, value.shape))
        is_norm = value.norm is not None and value.size != 1
        return f"{text} ({version}, {value.dtype}{' ' + shape if shape else ''}{', norm' if is_norm else ''})"

    def remove(self) -> None:
        """Take it out of its session."""
        self._owner.remove(self)

    def __repr__(self) -> str:
        line = self.sparkline
        return f"<Watch {self.on}: {self.text}{'  ' + line if line else ''}>"


class Watches(MarkedList[Watch, str]):
    """The watches of a session, in the order in which they were set.

    Attributes:
        position: gives the session's position.
    """

    CAPTION = "Watches"
    COLUMNS = ("watch", "value", "so far")
    EMPTY = "Nothing is watched. session.watch(...) watches."

    def __init__(
        self,
        finder: Callable[[], Finder],
        changed: Callable[[], None],
        check: Callable[[list[str]], None],
        entries: Iterable[str],
        position: Callable[[], int],
    ) -> None:
        self.position = position
        super().__init__(finder, changed, check, entries)

    def add(self, on: str) -> Watch:
        """Watch an expression; one that is watched already is given again.

        Raises:
            ConditionError: it is malformed, or about what the recording does not have.
        """
        self._finder().watched(on)
        return self.existing_mark(on) or self.append(self.new_mark(on))

    def new_mark(self, entry: str) -> Watch:
        """The watch of an expression."""
        return Watch(entry, self._finder(), self)

    def cells(self, mark: Watch) -> tuple[str, ...]:
        """The expression, what it is, and what it was."""
        return mark.on, mark.text, mark.sparkline


def sparkline(numbers: Sequence[float]) -> str:
    """Numbers as bars of eight heights, the smallest lowest; what is not finite is a cross."""
    means = [sum(number / len(part) for number in part) for part in _parts(numbers)]
    finite = [one for one in means if abs(one) != float("inf") and one == one]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    return "".join(_bar(one, low, high) for one in means)


def _parts(numbers: Sequence[float]) -> list[Sequence[float]]:
    """The numbers in at most as many parts as a sparkline has bars."""
    count = min(len(numbers), LONGEST_LINE)
    return [numbers[len(numbers) * part // count : len(numbers) * (part + 1) // count] for part in range(count)]


def _bar(number: float, low: float, high: float) -> str:
    if number != number or abs(number) == float("inf"):
        return "×"
    return BARS[0] if high == low else BARS[int((number / 2 - low / 2) / (high / 2 - low / 2) * (len(BARS) - 1) + 0.5)]
