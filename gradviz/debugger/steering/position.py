"""A position in a recording: what verbs, questions and breakpoints stand on.

Position p means that p events have happened; the current event is the p-th, and at 0 nothing has happened yet.
Moving never runs anything again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from operator import eq
from typing import Any, overload

from msgspec.structs import replace

from ...program.events import Event, from_dict
from ..document import Trace, described
from ..journal import Progress, Recording
from ..telling import document
from .places import Places, path_of


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


class SavedEvents(Sequence[Event]):
    """Every event of `trace`, first to last. `told`: those that its details describe, where they have been read."""

    def __init__(self, trace: Trace, told: Sequence[Event] | None = None) -> None:
        self._trace = trace
        self._told = told
        self._made: dict[int, Event] = {}

    def __len__(self) -> int:
        return len(self._trace.events)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Event, ...]: ...
    def __getitem__(self, index: int | slice) -> Event | tuple[Event, ...]:
        if isinstance(index, slice):
            return tuple(self[number] for number in range(*index.indices(len(self))))
        number = range(len(self))[index]
        if number not in self._made:
            self._made[number] = self._read(number)
        return self._made[number]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    def _read(self, number: int) -> Event:
        """The event as it was recorded: what the document says once for all iterations of a loop is put back."""
        event = self._trace.events[number]
        told = from_dict(described(event)) if self._told is None else self._told[number]
        back: dict[str, Any] = {}
        if event.phase == "run" and event.kind != "Failed":
            back["path"] = self._path(number)
        if event.kind == "Ran":
            back["seconds"] = event.seconds
        if event.phase == "run" and event.kind in ("EnteredSubnet", "LeftSubnet"):
            back["iteration"] = self._trace.frames[self._passed(number)].iteration
        return replace(told, **back) if back else told

    def _passed(self, number: int) -> int:
        """The frame that an event enters or leaves."""
        event = self._trace.events[number]
        frame = event.frame if event.kind == "EnteredSubnet" else self._trace.events[number - 1].frame
        assert frame is not None
        return frame

    def _path(self, number: int) -> tuple[str, ...]:
        """The path of the net in which an event happened; that of an entered net is one step on."""
        event = self._trace.events[number]
        frame = event.frame
        if event.kind == "EnteredSubnet" and frame is not None:
            frame = self._trace.frames[frame].around
        return () if frame is None else path_of(self._trace, frame)
