"""A recording as questions look at it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ...program.events import Event
from ..recording import Recording
from ..trace import Trace


class Recorded:
    """A recording as a cursor has it: the document, the arrays where there are any, the events, and the position."""

    def __init__(self, trace: Trace, recording: Recording | None, events: Sequence[Event], position: int) -> None:
        self.trace = trace
        self.recording = recording
        self.events = events
        self.position = position

    def counterpart(self, frame: int) -> int | None:
        """The run of the backward pass that belongs to a run forward, and the reverse; None: there is none.

        The last iteration of a loop is the first that its backward pass goes through.
        """
        run = self.trace.frames[frame]
        around = None if run.around is None else self.counterpart(run.around)
        if run.around is not None and around is None:
            return None
        iteration = None
        if run.iteration is not None and run.iterations is not None:
            iteration = run.iterations - 1 - run.iteration
        return self._runs.get((run.subnet, around, iteration, not run.is_backward))

    @cached_property
    def _runs(self) -> dict[tuple[str, int | None, int | None, bool], int]:
        """The number of each run by its net, the run around, its iteration, and whether it ran backward."""
        return {
            (run.subnet, run.around, run.iteration, run.is_backward): frame
            for frame, run in enumerate(self.trace.frames)
        }
