"""The limits of a drawing: the error where it cannot be made, and the clock of its layout."""

from __future__ import annotations

from math import inf
from time import monotonic

from ..debugger.journal import Pace, Progress
from ..program.errors import GradvizError


class DrawingError(GradvizError):
    """A picture that cannot be made.

    ``kind`` is one of ``too_slow``, ``no_engine``, ``bad_dot``, ``bad_svg``, ``too_large``, ``not_found``.
    """


class Clock:
    """Runs from when it is made.

    Args:
        seconds: how long all may take.
        progress: is told how many of the `operators` are drawn.
    """

    def __init__(self, seconds: float = inf, progress: Progress | None = None, operators: int = 0) -> None:
        self._seconds = seconds
        self._until = monotonic() + seconds
        self._pace = Pace(progress, "draw")
        self._operators = operators
        self._drawn = 0

    def tick(self, drawn: int = 0) -> None:
        """So many more operators are drawn.

        Raises DrawingError, kind ``too_slow``, where the time is over.
        """
        self._drawn += drawn
        self._pace.reached(None, self._drawn, self._operators)
        if monotonic() > self._until:
            raise DrawingError(f"It was not laid out within {self._seconds:g} seconds.", kind="too_slow")

    def end(self) -> None:
        """All is drawn."""
        self._pace.end(None, self._operators, self._operators)
