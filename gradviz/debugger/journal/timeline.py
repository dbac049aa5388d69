"""When nested nets and groups of events begin and end, of nothing but the kinds of the events, all at once.

Events of one operator share a group, even where those of a nested net, which have groups of their own, lie between
them. An event begins a group unless it goes on with what is open in its net:

* what rules bring, `RuleApplied`, `InputChecked`, `GeneratorAdded` and `Accumulated`, and leaving a nested net go on;
* up to the outermost `Completed`, `Ran` and `EnteredSubnet` go on: while an operator's gradient is made, operators run
  and its nested net is differentiated;
* behind it, and in nested nets that run before it, the program runs: they go on only where a nested net was left just
  before, one of the same operator.

The first event of a net begins a group whatever it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...program.events import (
    KINDS,
    Accumulated,
    Completed,
    Event,
    GeneratorAdded,
    InputChecked,
    LeftSubnet,
    RuleApplied,
)
from ...runtime.notes import ENTERED, LEFT, NOWHERE, RAN

Indices = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]
Codes = NDArray[np.uint8]

_CODES: dict[type, int] = {kind: code for code, kind in enumerate(KINDS)}
_RUNNING = np.isin(np.arange(len(_CODES)), [ENTERED, LEFT, RAN])
_GOES_ON = np.zeros(len(_CODES), bool)
_GOES_ON[[_CODES[kind] for kind in (RuleApplied, InputChecked, GeneratorAdded, Accumulated, LeftSubnet)]] = True


def codes_of(kinds: Iterable[type[Event]]) -> Codes:
    """Of each kind of event its number among `KINDS`."""
    return np.fromiter(map(_CODES.__getitem__, kinds), np.uint8)


class Timeline:
    """Arrays with a number for each event; of nested nets, each that is left was entered before.

    Args:
        codes: of each event the number of its kind among `KINDS`.

    Attributes:
        around: the event that entered the net which the event is in, else `NOWHERE`. The events that enter and leave a
            nested net are in the net around it.
        other: of an event that enters a nested net the one that leaves it, of a net that is never left the last event
            of all; of one that leaves it the one that entered it; of others themselves.
        group: the number of the event's group.
        first, last: of each group its first and its last event.
    """

    def __init__(self, codes: Codes) -> None:
        self.codes = codes
        self._entered, self._left = codes == ENTERED, codes == LEFT
        # Nets nest a few levels deep: to look for each is faster than to sort.
        steps = self._entered.view(np.int8) - self._left.view(np.int8)
        self._level = np.cumsum(steps, dtype=np.int16) - self._entered
        self.around = np.full(len(codes), NOWHERE, np.int32)
        self.other = np.arange(len(codes), dtype=np.int32)
        self._find_passages()
        begins = self._begins()
        self.group = self._groups(begins)
        self.first = np.flatnonzero(begins)
        self.last = np.zeros(len(self.first), np.int64)
        # Of several numbers for one place the last stays.
        self.last[self.group] = np.arange(len(codes), dtype=np.int32)

    @property
    def _levels(self) -> Iterator[Indices]:
        """The events of each level of nesting, from the outermost net inwards."""
        for level in range(int(self._level.max(initial=0)) + 1):
            yield np.flatnonzero(self._level == level)

    def _find_passages(self) -> None:
        entered_around = np.zeros(0, np.int64)
        for level, events in enumerate(self._levels):
            if level:
                self.around[events] = entered_around[np.searchsorted(entered_around, events) - 1]
            entered, left = events[self._entered[events]], events[self._left[events]]
            # In one net one is left before the next is entered: only the last can stay open.
            self.other[entered] = len(self.codes) - 1
            self.other[entered[: len(left)]], self.other[left] = left, entered[: len(left)]
            entered_around = entered

    def _begins(self) -> Mask:
        """Whether each event begins a group."""
        follows, is_first = np.zeros(len(self.codes), bool), np.ones(len(self.codes), bool)
        for events in self._levels:
            around = self.around[events]
            follows[events[1:]] = self._left[events[:-1]]
            is_first[events[1:]] = around[1:] != around[:-1]
        follows[: self._whole] |= ~self._in_run[: self._whole]
        goes_on = _GOES_ON[self.codes] | (((self.codes == RAN) | self._entered) & follows)
        begins: Mask = ~goes_on | is_first
        return begins

    def _groups(self, begins: Mask) -> Indices:
        numbers = np.where(begins, np.cumsum(begins, dtype=np.int32) - 1, 0)
        for events in self._levels:
            # Numbers rise, and each run of a net begins with one of its own.
            numbers[events] = np.maximum.accumulate(numbers[events])
        return numbers

    @cached_property
    def inside(self) -> Indices:
        """Of each position, one more than there are events, the event that entered the innermost net open there."""
        inside = np.full(len(self.codes) + 1, NOWHERE, np.int32)
        inside[1:] = np.where(self._entered, np.arange(len(self.codes), dtype=np.int32), self.around)
        return inside

    @cached_property
    def _whole(self) -> int:
        """The event that makes the pass whole, behind which the program runs; else behind all events."""
        completed = np.flatnonzero((self.codes == _CODES[Completed]) & (self.around == NOWHERE))
        return int(completed[0]) if len(completed) else len(self.codes)

    @cached_property
    def begun(self) -> Indices:
        """The events that enter nested nets which run: each begins a run, which has its number.

        While a pass goes on they are those in which nothing but running happens: of others the pass is generated.
        """
        entries, ends = self.entries, self.other[self.entries]
        generated = np.cumsum(~_RUNNING[self.codes])
        is_run = self._left[ends] & (generated[ends] == generated[entries])
        begun: Indices = entries[is_run | (entries > self._whole)]
        return begun

    @cached_property
    def _is_begun(self) -> Mask:
        """Of each event, and of none, whether it begins a run."""
        is_begun = np.zeros(len(self.codes) + 1, bool)
        is_begun[self.begun] = True
        return is_begun

    @property
    def _in_run(self) -> Mask:
        """Whether each event is in a nested net that runs, and in no other one in there."""
        return self._is_begun[self.around]

    @cached_property
    def running(self) -> Mask:
        """Whether each event is one of running: an operator ran, or the run of a nested net begins or ends."""
        running: Mask = (self.codes == RAN) | self._is_begun[:-1] | (self._left & self._is_begun[self.other])
        return running

    @cached_property
    def runs(self) -> Indices:
        """Of each position, one more than there are events, the run that we are in there; else `NOWHERE`."""
        # A position in no net has the last place, NOWHERE.
        run = np.full(len(self.codes) + 1, NOWHERE, np.int32)
        run[self.begun] = np.arange(len(self.begun))
        return run[self.inside]

    @cached_property
    def ran_before(self) -> Indices:
        """Of each `Ran` how many operators have run before it in the same run of a net."""
        counts = np.zeros(len(self.codes), np.int32)
        for events in self._levels:
            ran = events[self.codes[events] == RAN]
            begins = np.flatnonzero(np.diff(self.around[ran], prepend=NOWHERE - 1))
            counts[ran] = np.arange(len(ran)) - np.repeat(begins, np.diff(begins, append=len(ran)))
        return counts

    def are_left(self, entered: Indices) -> Mask:
        """Of some events that enter a nested net whether one leaves it."""
        are_left: Mask = self._left[self.other[entered]]
        return are_left

    @cached_property
    def passages(self) -> Indices:
        """The events that enter or leave a nested net."""
        return np.flatnonzero(self._entered | self._left)

    @cached_property
    def entries(self) -> Indices:
        """The events that enter a nested net."""
        return np.flatnonzero(self._entered)

    def of(self, *kinds: type[Event]) -> Indices:
        """The events of some kinds."""
        is_one = np.zeros(len(_CODES), bool)
        is_one[[_CODES[kind] for kind in kinds]] = True
        return np.flatnonzero(is_one[self.codes])

    def enters(self, event: int) -> bool:
        """Whether an event enters a nested net."""
        return bool(self._entered[event])

    def leaves(self, event: int) -> bool:
        """Whether an event leaves a nested net."""
        return bool(self._left[event])
