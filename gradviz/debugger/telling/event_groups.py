"""Groups: which events belong to one operator, so that `over` can pass them all.

The events that an operator brings in the net where it stands share a group, even where those of a nested net, which
have groups of their own, lie between them.
"""

from __future__ import annotations

from ...program.events import (
    Accumulated,
    EnteredSubnet,
    Event,
    GeneratorAdded,
    InputChecked,
    LeftSubnet,
    Ran,
    RuleApplied,
)

GOES_ON = (RuleApplied, InputChecked, GeneratorAdded, Accumulated, LeftSubnet)
"""Events that go on with what an earlier one has begun."""


class EventGroups:
    """Numbers the groups of the events of a recording, which are told in order."""

    def __init__(self) -> None:
        self._count = -1
        self._open: list[int] = [-1]
        self._runs: list[bool] = [False]

    def of(self, event: Event, *, is_over: bool) -> int:
        """The group of the next event; `is_over`: the pass is, so that the program runs."""
        if isinstance(event, LeftSubnet):
            self._open.pop()
            self._runs.pop()
        if isinstance(event, EnteredSubnet):
            begins = self._open[-1] < 0 or (is_over and not self._runs[-1])
            self._runs[-1] = is_over
        elif isinstance(event, Ran):
            begins = is_over and not self._runs[-1]
            self._runs[-1] = False
        else:
            begins = not isinstance(event, GOES_ON)
        if begins:
            self._count += 1
            self._open[-1] = self._count
        group = self._open[-1]
        if isinstance(event, EnteredSubnet):
            self._open.append(-1)
            self._runs.append(False)
        return group
