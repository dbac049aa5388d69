"""Events that are made of notes when they are looked at: those of a program that ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ...program.events import EnteredSubnet, Event, LeftSubnet, Ran
from ...program.net_halves import Numbered
from ...runtime.devices import CPU
from ...runtime.nested import Step
from ...runtime.notes import ENTERED, FAILED, LEFT, NOWHERE, RAN, Notes
from ..document import Repeated
from .timeline import Indices, Timeline

AT_ONCE = 4096
"""Events that are made one after the other."""


class Place(NamedTuple):
    """A run of a net, as its events have it in common.

    Attributes:
        path, around: its path, and that of the run around.
        operators, steps: what runs in it.
    """

    path: tuple[str, ...]
    around: tuple[str, ...]
    operators: Sequence[Numbered]
    steps: Sequence[Step]


def _of(column: NDArray[Any], runs: Indices, nowhere: float = NOWHERE) -> NDArray[Any]:
    """What a column of runs has of some of them; `nowhere`: of none."""
    return np.append(column, nowhere)[runs]


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
            yield from self._made(slice(begin, min(begin + AT_ONCE, end)))

    def _some(self, numbers: Sequence[int]) -> list[Event]:
        """The events with these numbers, which rise; those that are near each other are made together."""
        found: list[Event] = []
        for block, near in groupby(numbers, lambda number: number // AT_ONCE):
            begin = block * AT_ONCE
            events = list(self._between(begin, min(begin + AT_ONCE, len(self))))
            found += [events[number - begin] for number in near]
        return found

    def _made(self, events: slice) -> Iterator[Event]:
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
                (op, ins, outs, _), on = place.operators[position], place.steps[position].device
                device = "cpu" if on is CPU else str(on)
                yield Ran(position, op, ins, outs, device, next(seconds), path=place.path)
                continue
            half, _, iteration = noted[run][:3]
            kind = EnteredSubnet if code == ENTERED else LeftSubnet
            yield kind(half.operator, half.net.argument, half.net.name, iteration, path=place.around)

    def repeated(self) -> Repeated:
        """The events behind the pass in columns, of which one of a kind is made."""
        timeline, notes, whole = self._timeline, self._notes, len(self._generation)
        codes, inside = timeline.codes[whole:], timeline.runs[whole:]
        runs = np.where(codes == LEFT, inside[:-1], inside[1:])
        is_ran = codes == RAN
        # The events of a run are those of other runs of its half with the same steps.
        steps = np.unique([id(note[3]) for note in notes.noted], return_inverse=True)[1]
        kinds = [codes, _of(notes.runs.half, runs), _of(steps, runs), np.where(is_ran, timeline.ran_before[whole:], 0)]
        key = np.ravel_multi_index(kinds, [int(one.max(initial=0)) + 2 for one in kinds], mode="wrap")
        key = key.astype(np.min_scalar_type(key.max(initial=0)))  # small numbers are sorted faster
        _, first, like = np.unique(key, return_index=True, return_inverse=True)
        order = np.argsort(first)
        paths: list[tuple[str, ...]] = []
        for half, around, iteration in map(itemgetter(0, 1, 2), notes.noted):
            paths.append((*(() if around == NOWHERE else paths[around]), half.element(iteration)))
        used, path = np.unique(np.where(is_ran, runs, _of(notes.runs.around, runs)), return_inverse=True)
        every = [() if run == NOWHERE else paths[run] for run in used.tolist()]
        number = _of(np.array([note[2] for note in notes.noted], np.float64), runs, np.nan)
        number[is_ran] = notes.seconds_of(slice(int(is_ran.sum())))
        if notes.failed is not None:
            path[-1], number[-1] = len(every), np.nan
            every.append(notes.failed.path)
        return Repeated(self._some((whole + first[order]).tolist()), np.argsort(order)[like], every, path, number)

    def _place(self, run: int, places: dict[int, Place]) -> Place:
        notes = self._notes
        if run == NOWHERE:
            return Place((), (), notes.program, notes.steps)
        half, around, iteration, steps = notes.noted[run][:4]
        known = places.get(around)
        path = notes.runs.path(around) if known is None else known.path
        return Place((*path, half.element(iteration)), path, half.part.steps, steps)

    @cached_property
    def _ran(self) -> Indices:
        """Of each event how many operators have run by then."""
        return np.cumsum(self._timeline.codes == RAN, dtype=np.int32)
