"""How far a recording is, told to whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import perf_counter
from typing import NamedTuple

PATIENCE = 1.0
"""Seconds before anything is told: most recordings are done by then."""

PAUSE = 0.25
"""Seconds between one telling and the next."""


class SoFar(NamedTuple):
    """What has been recorded.

    Attributes:
        operators, of: how many operators of the outermost net have run, and how many there are; 0 of None while the
            pass is generated.
        events: how many events there are.
        seconds: since the recording began.
    """

    operators: int
    of: int | None
    events: int
    seconds: float


Progress = Callable[[SoFar], None]


class Pace:
    """Tells of progress, now and then.

    Attributes:
        due: when to tell next, by `perf_counter`; infinity where nobody wants to know.
        before: how many events there were before those that are counted now.
    """

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._begun = perf_counter()
        self.before = 0
        self.due = inf if progress is None else self._begun + PATIENCE

    def tell(self, now: float, events: int, operators: int = 0, of: int | None = None) -> None:
        """It is `now`, and so much has been recorded."""
        if self._progress is not None:
            self._progress(SoFar(operators, of, self.before + events, now - self._begun))
            self.due = perf_counter() + PAUSE
