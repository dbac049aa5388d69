"""Plumbing: what builders and rules add so that the operators that a person wrote fit together.

It is folded into what it serves, one table for all of it:

* a CreateScope into the operator whose workspaces its stack keeps; what fills the condition of a While before its own
  net computes it, into that While;
* the Do in which a branch or the body of a loop runs, and all that stands beside it, into the If or the While: the net
  of the Do is shown as its branch or body;
* what prepares the gradients that a control operator gets, copies of shared ones too, into its gradient operator;
* a handover into the maker of the gradient that it hands over, or into the operator that runs its net backward.

Nets that are drawn in groups are drawn with their plumbing: a group counts operators as the net does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from ..debugger.document import Line, Subnet, Trace, all_lines
from ..program.operator import bare
from .flows import Binding, Flow, Lane, Program, binding, programs

BESIDE = ("gradient", "duplicate", "handover", "passed")
"""Roles of what may stand beside the gradient of a Do that is folded."""


class Plumbing(msgspec.Struct, frozen=True):
    """What is folded in a trace.

    Attributes:
        folded: lines that have no node of their own -> the line whose node they are part of; nets that are not shown ->
            the one that is shown for them.
        through: nets that are shown in place of others -> the Do that binds their names, for each lane where it does.
    """

    folded: Mapping[str, str] = {}
    through: Mapping[str, Mapping[Lane, Line]] = {}

    def shown(self, id: str) -> str:
        """What is shown for a line or a net: mostly itself."""
        return self.folded.get(id, id)

    def visible(self, program: Program) -> Program:
        """A net without what is folded."""
        return replace(
            program,
            forward=[line for line in program.forward if line.id not in self.folded],
            backward=[line for line in program.backward if line.id not in self.folded],
        )

    def direct(self, flowing: Iterable[Flow]) -> list[Flow]:
        """What flows between lines that are not folded, under the names that it has before it enters a folded one."""
        every = list(flowing)
        if not self.folded:
            return every
        into: dict[str, list[Flow]] = {}
        for flow in every:
            if flow[2] in self.folded:
                into.setdefault(flow[2], []).append(flow)

        def begins(flow: Flow, passed: frozenset[str]) -> Iterator[Flow]:
            kind, source, target, _ = flow
            if source not in self.folded:
                yield flow
            elif source not in passed:  # a damaged document may go in circles
                for before in into.get(source, ()):
                    for first in begins(before, passed | {source}):
                        if first[0] == kind:
                            yield kind, first[1], target, first[3]

        return [first for flow in every if flow[2] not in self.folded for first in begins(flow, frozenset())]

    def bound(self, subnet: Subnet, around: Mapping[Lane, Binding]) -> Mapping[Lane, Binding]:
        """What names in a shown net stand for around its operator, through the Do that is folded between them."""
        bindings = dict(around)
        for lane, do in self.through.get(subnet.id, {}).items():
            inner, outer = binding(do), around[lane]
            bindings[lane] = Binding(
                {name: outer.enters.get(bare(blob), blob) for name, blob in inner.enters.items()},
                {name: outer.leaves.get(bare(blob), blob) for name, blob in inner.leaves.items()},
            )
        return bindings


def without_plumbing(trace: Trace) -> tuple[Trace, Plumbing]:
    """A trace whose branches and loops hold what a person wrote, and what is folded in it."""
    if not trace.subnets:
        return trace, Plumbing()
    folding = _Folding(trace)
    for subnet in trace.subnets:
        folding.dissolve(subnet)
    for program in programs(trace).values():
        folding.fold(program)
    folding.hide_empty()
    return folding.rewired(), Plumbing(folding.resolved(), folding.through)


class _Folding:
    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._nets = {subnet.id: subnet for subnet in trace.subnets}
        self._lines = {line.id: line for line in all_lines(trace)}
        self._into: dict[str, str] = {}
        self._shown: dict[str, Subnet] = {}
        self._hidden: set[str] = set()
        self.through: dict[str, dict[Lane, Line]] = {}

    def dissolve(self, subnet: Subnet) -> None:
        """Show the net of a Do in place of the one in which it stands alone, as a branch or the body of a loop."""
        if subnet.argument == "net":
            return
        if not subnet.forward:
            self._hide_condition(subnet)
            return
        do = subnet.forward[0]
        backward = next((line for line in subnet.backward if line.subnets), None)
        inner = self._nets.get(do.subnets.get("net", ""))
        if len(subnet.forward) > 1 or do.type != "Do" or inner is None or subnet.owner is None:
            return
        if any(line.role not in BESIDE for line in subnet.backward):
            return
        self._into[do.id] = subnet.owner
        self._into |= {line.id: subnet.backward_owner or subnet.owner for line in subnet.backward}
        self._into[subnet.id] = inner.id
        self._shown[inner.id] = replace(
            inner, owner=subnet.owner, backward_owner=subnet.backward_owner, argument=subnet.argument, name=subnet.name
        )
        self.through[inner.id] = {"forward": do, **({"backward": backward} if backward else {})}

    def _hide_condition(self, subnet: Subnet) -> None:
        """That of a loop of gradients: it only looks whether a workspace is left."""
        owner = self._lines.get(subnet.backward_owner or "")
        body = owner.subnets.get("loop_net") if owner else None
        if owner and body in self._nets and all(line.type == "HasScope" for line in subnet.backward):
            self._into |= {line.id: owner.id for line in subnet.backward}
            self._into[subnet.id] = body
            self._hidden.add(subnet.id)

    def fold(self, program: Program) -> None:
        """Fold what stands in a net beside what a person wrote."""
        readers: dict[str, list[Line]] = {}
        for line in program.forward:
            for blob in line.inputs:
                readers.setdefault(blob, []).append(line)
        for line in program.forward:
            reading = [reader for blob in line.outputs for reader in readers.get(blob, ())]
            if len(reading) == 1 and reading[0].subnets and _prepares(line, reading[0]):
                self._into[line.id] = reading[0].id
        makers = {blob: line.id for line in program.backward if line.role != "passed" for blob in line.outputs}
        beside = {line.of: line.id for line in program.backward if line.subnets}
        owner = self._shown.get(program.id, self._nets.get(program.id))
        for line in program.backward:
            if line.role in ("gradient", "duplicate") and not line.subnets and line.of in beside:
                self._into.setdefault(line.id, beside[line.of])
            elif line.role == "handover":
                source = next((makers[blob] for blob in line.inputs if blob in makers), None)
                into = source or (owner and (owner.backward_owner or owner.owner))
                if into and into != line.id:
                    self._into.setdefault(line.id, into)

    def hide_empty(self) -> None:
        """Show no net of which nothing is left, such as the branch of gradients that are only handed over."""
        for subnet in self._trace.subnets:
            lines = (*subnet.forward, *subnet.backward)
            owner = subnet.owner or subnet.backward_owner
            if owner and subnet.id not in self._into and lines and all(line.id in self._into for line in lines):
                self._into[subnet.id] = owner.rpartition(".")[0]
                self._hidden.add(subnet.id)

    def resolved(self) -> dict[str, str]:
        """Each with what is shown for it in the end; nothing for what a damaged document folds in circles."""
        shown: dict[str, str] = {}
        for one, into in self._into.items():
            passed = {one}
            while into in self._into and into not in passed:
                passed.add(into)
                into = self._into[into]
            if into not in self._into:
                shown[one] = into
        return shown

    def rewired(self) -> Trace:
        """The trace in which operators run the nets that are shown for theirs."""
        if not self._into:
            return self._trace

        def wired(line: Line) -> Line:
            nets = {
                argument: self._into.get(net, net) for argument, net in line.subnets.items() if net not in self._hidden
            }
            return replace(line, subnets=nets)

        def lines(of: list[Line]) -> list[Line]:
            return [wired(line) if line.subnets else line for line in of]

        subnets = (self._shown.get(subnet.id, subnet) for subnet in self._trace.subnets if subnet.id not in self._into)
        return replace(
            self._trace,
            forward=lines(self._trace.forward),
            backward=lines(self._trace.backward),
            subnets=[replace(net, forward=lines(net.forward), backward=lines(net.backward)) for net in subnets],
        )


def _prepares(line: Line, control: Line) -> bool:
    """Whether a line only makes the stack or the condition with which a control operator begins."""
    is_condition = "cond_net" in control.subnets and control.inputs[:1] == line.outputs
    return line.type == "CreateScope" or (line.type == "ConstantFill" and not line.inputs and is_condition)
