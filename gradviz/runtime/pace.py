"""Pace: who waits for what takes long is told now and then how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf
from time import perf_counter
from typing import Literal, NamedTuple, TypeVar

T = TypeVar("T")

PATIENCE = 1.0
"""Seconds before the first report: most are done by then."""

PAUSE = 0.25
"""Seconds between one telling and the next."""

Work = Literal["run", "record", "describe", "draw", "write", "answer", "check", "sweep"]
"""What takes long: a run, a recording, its trace document, the drawing of that, a page with it, an answer from all, the
check of gradients, a sweep over a grid."""


class SoFar(NamedTuple):
    """What has been done.

    Attributes:
        operators, of: how many operators of the outermost net have run, or have been drawn, and how many there are; 0
            of None where they do not count, as while a pass is generated. Of a check these are elements, of a sweep
            points.
        events: how many events there are; None where they do not count.
        seconds: since it began.
    """

    operators: int
    of: int | None
    events: int | None
    seconds: float
    work: Work = "record"


Progress = Callable[[SoFar], None]


class Pace:
    """Tells of progress, now and then.

    Attributes:
        due: when to tell next, by `perf_counter`; infinity where nobody wants to know.
        before: how many events there were before those that are counted now.
    """

    def __init__(self, progress: Progress | None, work: Work = "record") -> None:
        self._progress = progress
        self._work = work
        self._begun = perf_counter()
        self._has_reported = False
        self.before = 0
        self.due = inf if progress is None else self._begun + PATIENCE

    def tell(self, now: float, events: int | None, operators: int = 0, of: int | None = None) -> None:
        """It is `now`, and so much has been done."""
        if self._progress is not None:
            count = None if events is None else self.before + events
            self._progress(SoFar(operators, of, count, now - self._begun, self._work))
            self.due = perf_counter() + PAUSE
            self._has_reported = True

    def end(self, events: int | None, operators: int = 0, of: int | None = None) -> None:
        """All is done: who has heard of it hears that."""
        if self._has_reported:
            self.tell(perf_counter(), events, operators, of)

    def over(self, events: Iterable[T]) -> Iterator[T]:
        """`events`, each counted once it has been dealt with."""
        for number, event in enumerate(events):
            self.reached(number)
            yield event

    def reached(self, events: int | None, operators: int = 0, of: int | None = None) -> None:
        """So much has been done, which is told if it is time to."""
        if (now := perf_counter()) > self.due:
            self.tell(now, events, operators, of)
