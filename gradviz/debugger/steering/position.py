"""A position in a recording: what verbs, questions and breakpoints stand on.

Position p means that p events have happened; the current event is the p-th, and at 0 nothing has happened yet.
Moving never runs anything again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

from ...program.events import Event
from ..document import Trace
from ..journal import Progress, Recording
from ..telling import document
from .places import Places
from .saved_events import SavedEvents


class Placed:
    """A recording, and where one is in it.

    Args:
        trace: the trace document; None: made of the recording when it is needed.
        recording: what it was made of; None for a document read from a file, which has statistics but no arrays.
        told: what the details of such a document describe, where they have been read, see `SavedEvents`.
    """

    def __init__(
        self, trace: Trace | None, recording: Recording | None = None, told: Sequence[Event] | None = None
    ) -> None:
        self._recording = recording
        self._told = told
        if trace is not None:
            self._trace = trace
        elif recording is not None and recording.store is not None:
            # Its numbers are read while what they are made of can still be had: files may be lost later on.
            self._trace = self._described(recording)
        self._position = 0
        self._observers: list[Callable[[Any], None]] = []

    @cached_property
    def _trace(self) -> Trace:
        assert self._recording is not None
        return self._described(self._recording)

    def _described(self, recording: Recording) -> Trace:
        with self._waiting() as progress:
            return document(recording, progress)

    def _waiting(self) -> AbstractContextManager[Progress | None]:
        """What hears how far something is, as long as it is waited for."""
        return nullcontext()

    @cached_property
    def _places(self) -> Places:
        return Places(self.events, lambda: self._trace)

    @property
    def name(self) -> str:
        """The net's name."""
        return self._trace.name if self._recording is None else self._recording.net.name

    @property
    def position(self) -> int:
        """How many events have happened, from 0 to ``len(self)``."""
        return self._position

    def __len__(self) -> int:
        return len(self.events)

    @property
    def event(self) -> Event | None:
        """The event that happened last, None at the start."""
        return self.events[self._position - 1] if self._position else None

    @cached_property
    def events(self) -> Sequence[Event]:
        """Every event, first to last."""
        if self._recording is not None:
            return self._recording.events
        return SavedEvents(self._trace, self._told)

    def move_to(self, position: int) -> Event | None:
        """Move to `position`, or the end nearest to it, and tell the observers."""
        position = min(max(position, 0), len(self))
        if position != self._position:
            self._position = position
            for observer in tuple(self._observers):
                observer(self)
        return self.event

    def observe(self, observer: Callable[[Any], None]) -> Callable[[], None]:
        """Call `observer(self)` after each move; the function returned ends that."""
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)
