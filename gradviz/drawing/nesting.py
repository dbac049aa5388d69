"""Which operators can open, and the nested nets that each then shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..program.errors import shorten
from .errors import DrawingError
from .flows import Program, programs

if TYPE_CHECKING:
    from ..debugger.trace import Line, Subnet, Trace

MAX_DEPTH = 50
"""Nets within nets that can be shown."""

Opened = Iterable[str] | str
"""Ids of lines or of nested nets, one or several, or "all"."""


class Nesting:
    """The nets of a trace as a tree. A forward operator and its gradient operator open together.

    Attributes:
        nets: every net by its id, "" the outermost, an outer one before those inside of it.
        opener: line id -> the id under which the operator opens: the forward operator's, where there is one.
        shown: that id -> the nets that it shows, from top to bottom; at least one.
    """

    def __init__(self, trace: Trace) -> None:
        self.nets: dict[str, Program] = programs(trace)
        self.opener: dict[str, str] = {}
        self.shown: dict[str, list[Subnet]] = {}
        self._subnets = {subnet.id: subnet for subnet in trace.subnets}
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
            found.append(self._claimed[net])
            net = found[-1].rpartition(".")[0]
        return found

    def chosen(self, opened: Opened) -> set[str]:
        """What has to be open for `opened` to be: ids of lines or of nets, or all that can open.

        Raises DrawingError, kind ``not_found``, where one of them cannot open.
        """
        if opened == "all":
            return set(self.shown)
        found: set[str] = set()
        for name in [opened] if isinstance(opened, str) else opened:
            if name not in self.opener and name not in self._claimed:
                raise DrawingError(
                    f"There is no operator {shorten(name)} that can open.",
                    kind="not_found",
                    ways_out=[f"Of this trace these can: {', '.join(self.shown) or 'none, it has no nested nets'}."],
                )
            first = self.opener.get(name) or self._claimed[name]
            found |= {first, *self.around(first.rpartition(".")[0])}
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
