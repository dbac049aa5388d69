"""The lines of every net of a program: the outermost one's, and those of the nets nested in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...program import Operator
from ...program.control_flow import NETS, take_apart
from ...program.events import Event, RuleApplied
from ..document import Subnet
from ..journal import NetHalves
from .lines import GrowingLine, Lines


class Program:
    """Lines by the path of their net, growing as events tell.

    Attributes:
        outermost: the lines around all nested nets.
        ids: path of a nested net -> its id, an outer one before those in it.
    """

    def __init__(self, net: NetHalves) -> None:
        self.outermost = Lines()
        self._net = net
        nested = [inner for inner in net if inner is not net]
        self.ids = {inner.path: f"s{number}" for number, inner in enumerate(nested)}
        self._nets = {inner.path: inner for inner in net}
        self._lines: dict[tuple[str, ...], Lines] = {(): self.outermost}
        self._owners: dict[str, tuple[str | None, str | None]] = {}

    def lines(self, event: Event) -> Lines:
        """The lines of the net in which an event of the pass happened."""
        return self._lines[event.path]

    def entered(self, path: Sequence[str]) -> Lines:
        """The lines of a nested net, by its path without iterations."""
        return self._lines[tuple(path)]

    def of(self, net: NetHalves) -> Lines:
        """The lines of `net`."""
        return self._lines[net.path]

    def play(self, index: int, at: int) -> GrowingLine:
        """The outermost net's line for its forward operator `index`, which joined it at position `at`."""
        return self._play(self._net, index, self._net.forward[index], at)

    def apply(self, event: RuleApplied, at: int) -> list[GrowingLine]:
        """The backward lines that a rule made; the nested nets of its operators get theirs."""
        made = self.lines(event).apply(event, at)
        for position, line in enumerate((line for line in made if line.role != "passed"), event.position):
            self._attach(self._nets[event.path], position, line, at)
        return made

    def subnets(self) -> Iterator[Subnet]:
        """The nested nets as the trace document keeps them, but for the list of their blobs."""
        for path, id in self.ids.items():
            lines, net = self._lines[path], self._nets[path]
            owner, backward_owner = self._owners[id]
            yield Subnet(
                id=id,
                owner=owner,
                backward_owner=backward_owner,
                argument=net.argument,
                name=net.name,
                path=list(path),
                forward=[line.finish() for line in lines.forward],
                backward=[line.finish() for line in lines.backward],
            )

    def _play(self, net: NetHalves, index: int, op: Operator, at: int) -> GrowingLine:
        line = self._lines[net.path].play(op, at)
        for (is_backward, place, argument), inner in net.inside.items():
            if is_backward or place != index:
                continue
            initial = take_apart(op, index).initial if op.type == "Do" else ()
            made = self._lines[inner.path] = Lines(self.ids[inner.path], initial)
            self._owners[made.id] = line.id, None
            line.subnets[argument] = made
            for number, nested in enumerate(inner.forward):
                self._play(inner, number, nested, at)
        return line

    def _attach(self, net: NetHalves, position: int, line: GrowingLine, at: int) -> None:
        """Give the line of gradient operator `position` of `net` its nested nets, and these their backward passes."""
        nets = {
            argument: inner
            for (is_backward, index, argument), inner in net.inside.items()
            if is_backward and index == position
        }
        for argument, inner in nets.items():
            id = self.ids[inner.path]
            line.subnets[argument] = self._lines.setdefault(inner.path, Lines(id))
            self._owners[id] = self._owners.get(id, (None, None))[0], line.id
        line.adopt(at)
        for argument, inner in nets.items():
            for number, nested in enumerate(line.subnets[argument].operators):
                if nested.op.type in NETS and not nested.subnets:
                    self._attach(inner, number, nested, at)
