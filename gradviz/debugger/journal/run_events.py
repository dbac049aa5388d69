"""The events of a program that ran, built from its notes when they are looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np

from ...program.events import EnteredSubnet, Event, LeftSubnet, Ran
from ...program.operator import BlobVersion, Ssa
from ...runtime.notes import ENTERED, FAILED, LEFT, NOWHERE, RAN, Notes, Planned, device_name
from .timeline import Indices, Timeline

AT_ONCE = 4096
"""Events that are built at once."""


class Place(NamedTuple):
    """A run of a net, as its events have it in common.

    Attributes:
        path, around: its path, and that of the run around.
        program, steps: what runs in it.
    """

    path: tuple[str, ...]
    around: tuple[str, ...]
    program: Sequence[Ssa[BlobVersion]]
    steps: Sequence[Planned]


class RunEvents(Sequence[Event]):
    """Every event, first to last.

    Args:
        generation: the events of the pass.
        notes: what was noted while the program ran.
        timeline: of all events.
    """

    def __init__(self, generation: Sequence[Event], notes: Notes, timeline: Timeline) -> None:
        self._generation = generation
        self._notes = notes
        self._timeline = timeline
        self._looked_at: dict[int, Event] = {}

    def __len__(self) -> int:
        return len(self._timeline.codes)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Event, ...]: ...
    def __getitem__(self, index: int | slice) -> Event | tuple[Event, ...]:
        if isinstance(index, int) and 0 <= index < len(self._generation):
            return self._generation[index]
        numbers = range(len(self))[index]
        if isinstance(numbers, int):
            if numbers not in self._looked_at:
                self._looked_at[numbers] = next(self._between(numbers, numbers + 1))
            return self._looked_at[numbers]
        if numbers.step != 1:
            return tuple([self[number] for number in numbers])
        return tuple(self._between(numbers.start, numbers.stop))

    def __iter__(self) -> Iterator[Event]:
        return self._between(0, len(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def _between(self, start: int, end: int) -> Iterator[Event]:
        """The events from number `start` to before `end`."""
        whole = len(self._generation)
        if start < whole:
            yield from self._generation[start : min(end, whole)]
        for begin in range(max(start, whole), end, AT_ONCE):
            yield from self._events_of(slice(begin, min(begin + AT_ONCE, end)))

    def _events_of(self, events: slice) -> Iterator[Event]:
        timeline, noted, places = self._timeline, self._notes.noted, dict[int, Place]()
        codes, inside, ran = timeline.codes[events], timeline.runs[events.start : events.stop + 1], self._ran[events]
        run_of = np.where(codes == LEFT, inside[:-1], inside[1:])
        taken = slice(int(ran[0] - (codes[0] == RAN)), int(ran[-1]))
        seconds = iter(self._notes.seconds_of(taken).tolist())
        columns = (codes, run_of, timeline.ran_before[events])
        for code, run, position in zip(*(column.tolist() for column in columns), strict=True):
            if code == FAILED:
                assert self._notes.failed is not None
                yield self._notes.failed
                return
            place = places.get(run) or places.setdefault(run, self._place(run, places))
            if code == RAN:
                ssa, device = place.program[position], device_name(place.steps[position])
                versions = ssa.in_versions, ssa.out_versions
                yield Ran(position, ssa.op, *versions, device, next(seconds), path=place.path)
                continue
            half, _, iteration = noted[run][:3]
            kind = EnteredSubnet if code == ENTERED else LeftSubnet
            yield kind(half.operator, half.net.argument, half.net.name, iteration, path=place.around)

    def _place(self, run: int, places: dict[int, Place]) -> Place:
        notes = self._notes
        if run == NOWHERE:
            assert notes.net is not None
            return Place((), (), notes.net.program, notes.steps)
        half, around, iteration, steps = notes.noted[run][:4]
        enclosing = places.get(around)
        path = notes.runs.path(around) if enclosing is None else enclosing.path
        return Place((*path, half.element(iteration)), path, half.program, steps)

    @cached_property
    def _ran(self) -> Indices:
        """Of each event how many operators have run by then."""
        return np.cumsum(self._timeline.codes == RAN, dtype=np.int32)
