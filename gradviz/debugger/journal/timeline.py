"""When nested nets and groups of events begin and end, of nothing but the kinds of the events, all at once.

Events of one operator share a group, even where those of a nested net, which have groups of their own, lie between
them. An event begins a group unless it goes on with what is open in its net:

* what rules bring, `RuleApplied`, `InputChecked`, `GeneratorAdded` and `Accumulated`, and leaving a nested net go on;
* up to the outermost `Completed`, `Ran` and `EnteredSubnet` go on: while an operator's gradient is made, operators run
  and its nested net is differentiated;
* behind it the program runs: they go on only where a nested net was left just before, one of the same operator.

The first event of a net begins a group whatever it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...program.events import (
    KINDS,
    Accumulated,
    Completed,
    EnteredSubnet,
    Event,
    GeneratorAdded,
    InputChecked,
    LeftSubnet,
    Ran,
    RuleApplied,
)

NOWHERE = -1

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

_CODES: dict[type, int] = {kind: code for code, kind in enumerate(KINDS)}
_ENTERED, _LEFT, _RAN, _COMPLETED = (_CODES[kind] for kind in (EnteredSubnet, LeftSubnet, Ran, Completed))
_GOES_ON = np.zeros(len(_CODES), bool)
_GOES_ON[[_CODES[kind] for kind in (RuleApplied, InputChecked, GeneratorAdded, Accumulated, LeftSubnet)]] = True


class Timeline:
    """Arrays with a number for each event of these kinds; of nested nets, each that is left was entered before.

    Attributes:
        around: the event that entered the net which the event is in, else `NOWHERE`. The events that enter and leave a
            nested net are in the net around it.
        start: of an event that leaves a nested net the one that entered it; of others themselves.
        end: the reverse; of a net that is never left the last event of all.
        group: the number of the event's group.
        first: the first event of its group.
        last: the last event of its group.
        codes: of its kind the number among `KINDS`.
    """

    def __init__(self, kinds: Iterable[type[Event]]) -> None:
        self.codes = codes = np.fromiter(map(_CODES.__getitem__, kinds), np.uint8)
        self._entered = codes == _ENTERED
        numbers = np.arange(len(codes))
        self.around = np.full(len(codes), NOWHERE)
        self.start, self.end = numbers.copy(), numbers.copy()
        # The last event before it that is in the same run of a net.
        self._previous = np.full(len(codes), NOWHERE)
        self._levels = list(self._by_level())
        self._find_passages()
        self.group = self._groups()
        begins = np.flatnonzero(self._begins)
        self.first = begins[self.group]
        last = np.zeros(len(begins), np.int64)
        # Of several numbers for one place the last stays.
        last[self.group] = numbers
        self.last = last[self.group]

    def _by_level(self) -> Iterator[Indices]:
        """The events of each level of nesting, from the outermost net inwards."""
        # Nets nest a few levels deep: to look for each is faster than to sort.
        steps = self._entered.view(np.int8) - (self.codes == _LEFT).view(np.int8)
        levels = np.cumsum(steps, dtype=np.int32) - self._entered
        for level in range(int(levels.max(initial=0)) + 1):
            yield np.flatnonzero(levels == level)

    def _find_passages(self) -> None:
        entered_around = np.zeros(0, np.int64)
        for level, events in enumerate(self._levels):
            if level:
                self.around[events] = entered_around[np.searchsorted(entered_around, events) - 1]
            is_same = self.around[events[1:]] == self.around[events[:-1]]
            self._previous[events[1:]] = np.where(is_same, events[:-1], NOWHERE)
            entered, left = events[self._entered[events]], events[self.codes[events] == _LEFT]
            # In one net one is left before the next is entered: only the last can stay open.
            self.end[entered] = len(self.codes) - 1
            self.end[entered[: len(left)]], self.start[left] = left, entered[: len(left)]
            entered_around = entered

    @cached_property
    def _begins(self) -> Mask:
        codes = self.codes
        completed = np.flatnonzero((codes == _COMPLETED) & (self.around == NOWHERE))
        generated = completed[0] if len(completed) else len(codes)
        follows = (codes[self._previous] == _LEFT) | (np.arange(len(codes)) < generated)
        goes_on = _GOES_ON[codes] | (((codes == _RAN) | self._entered) & follows)
        begins: Mask = ~goes_on | (self._previous == NOWHERE)
        return begins

    def _groups(self) -> Indices:
        numbers = np.where(self._begins, np.cumsum(self._begins) - 1, 0)
        for events in self._levels:
            # Numbers rise, and each run of a net begins with one of its own.
            numbers[events] = np.maximum.accumulate(numbers[events])
        return numbers

    @cached_property
    def inside(self) -> Indices:
        """Of each position, one more than there are events, the event that entered the innermost net open there."""
        found = np.full(len(self.codes) + 1, NOWHERE)
        found[1:] = np.where(self._entered, np.arange(len(self.codes)), self.around)
        return found

    @cached_property
    def passages(self) -> Indices:
        """The events that enter or leave a nested net."""
        return np.flatnonzero(self._entered | (self.codes == _LEFT))

    @cached_property
    def entries(self) -> Indices:
        """The events that enter a nested net."""
        return np.flatnonzero(self._entered)

    def of(self, *kinds: type[Event]) -> Indices:
        """The events of some kinds."""
        return np.flatnonzero(np.isin(self.codes, [_CODES[kind] for kind in kinds]))

    def enters(self, event: int) -> bool:
        """Whether an event enters a nested net."""
        return bool(self._entered[event])

    def leaves(self, event: int) -> bool:
        """Whether an event leaves a nested net."""
        return bool(self.codes[event] == _LEFT)
