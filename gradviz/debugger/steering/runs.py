"""Which operator each event of a run of the program is about, of all events at once."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from functools import cached_property
from itertools import accumulate, chain
from typing import Self

import numpy as np

from ...program.events import Ran
from ...runtime.notes import device_name
from ..journal import Indices, NetText, Recording, Statement


class Runs:
    """Every operator of every net, numbered, and what ran when.

    Attributes:
        statements: the operators: those of the whole program, then of each nested net its forward ones and gradient
            ones.
        events: the `Ran` events.
        frames: of each of them the run of a nested net that it is in, else `NOWHERE`.
        numbers: of each of them its operator's number.
        passages: the events in which nested nets begin to run, and those in which they have run.
        around: of each of them the number of the operator that runs the net.
        alike: of each of them a number that it has in common with those of the same half, of which the same is said.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        text = recording.text
        self.nets: list[NetText] = [*text.nets]
        halves = {(net.id, back): net.operators if back else net.forward for net in self.nets for back in (False, True)}
        self.statements = list(chain.from_iterable(halves.values()))
        self._begins = dict(zip(halves, accumulate(map(len, halves.values()), initial=0), strict=False))
        self.events = recording.timeline.of(Ran)
        self.frames = recording.inside[self.events + 1]
        begins = self._first_operators()
        self.numbers = begins[self.frames] + recording.ran_positions
        timeline, nested = recording.timeline, recording.runs
        begun, has_ended = recording.begun, timeline.are_left(recording.begun)
        operators = np.array([half.operator for half in nested.halves], np.int64)[nested.half]
        around = begins[nested.around] + operators
        self.passages = np.append(begun, timeline.other[begun[has_ended]])
        self.around = np.append(around, around[has_ended])
        self.alike = np.append(2 * self.halves, 2 * self.halves[has_ended] + 1)

    def since(self, event: int) -> Self:
        """The same of what ran from an event on."""
        some, first = copy(self), np.searchsorted(self.events, event)
        some.events, some.frames, some.numbers = self.events[first:], self.frames[first:], self.numbers[first:]
        is_later = self.passages >= event
        some.passages, some.around, some.alike = (of[is_later] for of in (self.passages, self.around, self.alike))
        return some

    @property
    def devices(self) -> list[str]:
        """Of each of the events the device on which its operator ran."""
        recording, (_, notes) = self._recording, self._recording.noted
        if notes is None:
            events = map(recording.events.__getitem__, self.events.tolist())
            return [event.device for event in events if type(event) is Ran]
        program, *plans = notes.planned
        plans.append(program)  # in no nested net: number -1
        places = zip(self.frames.tolist(), recording.timeline.ran_before[self.events].tolist(), strict=True)
        return [device_name(plans[run][position]) for run, position in places]

    @cached_property
    def halves(self) -> Indices:
        """Of each run of a nested net which half of which net it is, one number for each."""
        runs, numbers = self._recording.runs, {half: number for number, half in enumerate(self._recording.halves)}
        return np.array([numbers[one.net.path, one.is_backward] for one in runs.halves], np.int64)[runs.half]

    def _first_operators(self) -> Indices:
        """Of each run of a nested net the number of its first operator, at the end that of the whole program."""
        text, halves = self._recording.text, self._recording.halves
        begins = [self._begins[text.net(path).id, is_backward] for path, is_backward in halves]
        return np.append(np.array(begins, np.int64)[self.halves], 0)

    def number(self, statement: Statement) -> int:
        """The number of an operator."""
        return self._begins[statement.net.id, statement.role != "forward"] + statement.number

    def of(self, statements: Iterable[Statement]) -> Indices:
        """The places among `events` of those of some operators."""
        is_one = np.zeros(len(self.statements), bool)
        is_one[[self.number(one) for one in statements if one.role != "passed"]] = True
        return np.flatnonzero(is_one[self.numbers])

    def first(self, statement: Statement) -> int | None:
        """The position after an operator ran, in a nested net the first time; None: it never did."""
        places = self.of([statement])
        return int(self.events[places[0]]) + 1 if len(places) else None
