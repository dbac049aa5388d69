"""A recording as questions look at it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import local
from typing import TYPE_CHECKING

from ....program.events import Event, Ran
from ...document import Trace
from ...journal import Recording
from ...steering import path_of

if TYPE_CHECKING:
    from .net_view import NetView


class Recorded:
    """A recording as a cursor has it: the document, the arrays where there are any, the events, and the position.

    Attributes:
        position: where the question is asked, in this thread: a view may be answered while a cell asks elsewhere.
            What does not depend on it is looked for once and kept.
        views: the latest views, by the ids of nets and the numbers of runs.
    """

    def __init__(self, trace: Trace, recording: Recording | None, events: Sequence[Event], position: int) -> None:
        self.trace = trace
        self.recording = recording
        self.events = events
        self._asked = local()
        self.position = position
        self.views: dict[tuple[str | None, int | None], NetView] = {}

    @property
    def position(self) -> int:
        position: int = self._asked.position
        return position

    @position.setter
    def position(self, position: int) -> None:
        self._asked.position = position

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
    def by_path(self) -> dict[str, int]:
        """The number of each run of a nested net by its path, ``"2.loop_net[3]/0.net"``."""
        return {"/".join(path_of(self.trace, frame)): frame for frame in range(len(self.trace.frames))}

    @cached_property
    def first_run(self) -> int:
        """The position after the first operator that ran; where none did, one that there is not."""
        ran = (at for at, event in enumerate(self.trace.events, 1) if event.kind == Ran.__name__)
        return next(ran, len(self.trace.events) + 1)

    @cached_property
    def _runs(self) -> dict[tuple[str, int | None, int | None, bool], int]:
        """The number of each run by its net, the run around, its iteration, and whether it ran backward."""
        return {
            (run.subnet, run.around, run.iteration, run.is_backward): frame
            for frame, run in enumerate(self.trace.frames)
        }
