"""Which operators and groups can open, and what each then shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..program.errors import shorten
from .flows import Program, programs
from .groups import Group, groups, holding
from .limits import DrawingError

if TYPE_CHECKING:
    from ..debugger.document import Line, Subnet, Trace

MAX_DEPTH = 50
"""Nets within nets that can be shown."""

MOST_NAMED = 40
"""Of what can open, in an error."""

Opened = Iterable[str] | str
"""Ids of lines, of nested nets or of groups, one or several, or "all"."""


class Nesting:
    """The nets of a trace as a tree. A forward operator and its gradient operator open together.

    Attributes:
        nets: every net by its id, "" the outermost, an outer one before those inside of it.
        groups: those in which a large net is drawn, by the net's id: the outermost ones.
        opener: line id -> the id under which the operator opens: the forward operator's, where there is one.
        obstacles: the lines that keep the program from being run.
        shown: that id -> the nets that it shows, from top to bottom; at least one.
    """

    def __init__(self, trace: Trace) -> None:
        self.nets: dict[str, Program] = programs(trace)
        self.obstacles = frozenset(trace.obstacle.lines if trace.obstacle else ())
        self.groups: dict[str, tuple[Group, ...]] = {id: groups(net) for id, net in self.nets.items()}
        self.opener: dict[str, str] = {}
        self.shown: dict[str, list[Subnet]] = {}
        self._subnets = {subnet.id: subnet for subnet in trace.subnets}
        self._of: dict[str, int | None] = {}
        every = (inner for outermost in self.groups.values() for group in outermost for inner in group.nested())
        self._group = {group.id: group for group in every}
        self._claimed: dict[str, str] = {}
        self._order = {net: order for order, net in enumerate(self.nets)}
        self._depth = {"": 0}
        for net in self.nets.values():
            for lines in _owners(net):
                self._claim(net, lines)

    def around(self, net: str | None) -> list[str]:
        """What has to be open for a net to be seen, the innermost first."""
        found: list[str] = []
        while net in self._claimed:
            owner = self._claimed[net]
            net, _, own = owner.rpartition(".")
            index = int(own[1:]) if own.startswith("f") else self._of[owner]
            found += [owner, *(group.id for group in reversed(holding(self.groups[net], index)))]
        return found

    def chosen(self, opened: Opened) -> set[str]:
        """What has to be open for `opened` to be: ids of lines, nets or groups, or all that can open.

        Raises DrawingError, kind ``not_found``, where one of them cannot open.
        """
        if opened == "all":
            return {*self.shown, *self._group}
        found: set[str] = set()
        for name in [opened] if isinstance(opened, str) else opened:
            if name in self._group:
                net = name.rpartition(".")[0]
                way = [group.id for group in holding(self.groups[net], self._group[name].first)]
                found |= {*way[: way.index(name) + 1], *self.around(net)}
            elif name in self.opener or name in self._claimed:
                first = self.opener.get(name) or self._claimed[name]
                found |= {*self.around(self.shown[first][0].id)}
            else:
                can = ", ".join([*self.shown, *self._group][:MOST_NAMED])
                raise DrawingError(
                    f"There is no operator {shorten(name)} that can open, and no such group.",
                    kind="not_found",
                    ways_out=[f"Of this trace these can: {can or 'none, it has no nested nets'}."],
                )
        return found

    def _claim(self, net: Program, lines: list[Line]) -> None:
        """Give `lines` of a net those that they run: an inner one, and each once, whatever a document says."""
        first, depth = lines[0].id, self._depth.get(net.id, MAX_DEPTH) + 1
        if depth > MAX_DEPTH:
            return
        for argument in dict.fromkeys(argument for line in lines for argument in line.subnets):
            for inner in dict.fromkeys(line.subnets[argument] for line in lines if argument in line.subnets):
                program = self.nets.get(inner)
                is_new = inner not in self._claimed and self._order.get(inner, 0) > self._order[net.id]
                if is_new and program and (program.forward or program.backward):
                    self._claimed[inner] = first
                    self._of[first] = lines[0].of
                    self._depth[inner] = depth
                    self.shown.setdefault(first, []).append(self._subnets[inner])
        if first in self.shown:
            # What has a forward half comes last, so that what leaves an open operator leaves it at its lower border.
            self.shown[first].sort(key=lambda subnet: bool(subnet.forward))
            self.opener.update({line.id: first for line in lines})


def _owners(net: Program) -> Iterator[list[Line]]:
    """The operators of a net that run nested ones: forward with its gradient operator, or either alone."""
    partner: dict[int, Line] = {}
    alone: list[Line] = []
    for line in net.backward:
        if not line.subnets:
            continue
        if line.of is not None and net.forward[line.of].subnets and line.of not in partner:
            partner[line.of] = line
        else:
            alone.append(line)
    for index, line in enumerate(net.forward):
        if line.subnets:
            yield [line, partner[index]] if index in partner else [line]
    yield from ([line] for line in alone)
