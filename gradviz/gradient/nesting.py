"""Nesting: what the gradient of a nested net needs to know of the program around it."""

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ..operators.registry import gradient_name
from ..program import GradientError, Operator
from ..program.control_flow import nested_nets, within
from ..program.events import EnteredSubnet, Event, LeftSubnet

if TYPE_CHECKING:
    from .ir import IR
    from .versions import Tracked


class Surroundings(msgspec.Struct, frozen=True):
    """Where a net stands.

    Attributes:
        path: the nested nets to go through to reach it, each as ``<operator>.<argument>``; none for the outermost.
        initial: blobs that are there before its first operator.
        leaving: blobs that are read outside of it.
        reserved: names that its gradient operators may not write.
        keeps_versions: whether overwritten versions of its blobs can still be read, by their `kept_name`.
        told: where its events go; None: they are not wanted.
    """

    path: tuple[str, ...] = ()
    initial: Sequence[str] = ()
    leaving: Container[str] = ()
    reserved: Container[str] = ()
    keeps_versions: bool = False
    told: list[Event] | None = None


class Nesting:
    """What a control operator's gradient rule can ask: gradients of its nested nets, and names and blobs around it.

    Args:
        ir: the pass over the program around the operator.
        index: the operator's place in it.
    """

    def __init__(self, ir: "IR", index: int) -> None:
        self._ir = ir
        self._ssa = ir.ssa[index]
        self.index = index

    @classmethod
    def alone(cls, op: Operator) -> "Nesting":
        """The nesting of an operator that is a program by itself."""
        from .ir import IR  # it asks the rules, which ask here

        return cls(IR([op]), 0)

    @property
    def read(self) -> list[str]:
        """The blobs around it that the operator reads: its inputs, then those that it may leave as they are."""
        return [blob.name for blob in self._ssa.reads]

    @property
    def written(self) -> list[str]:
        """The blobs around it that the operator writes."""
        return self._ssa.op.outputs

    def differentiate(
        self,
        way: Sequence[str],
        seeds: Mapping[str, str],
        *,
        leaving: Container[str],
        initial: Sequence[str] = (),
        keeps_versions: bool = False,
        shares_names: bool = False,
        silent: bool = False,
    ) -> "IR":
        """The backward pass of a nested net.

        Args:
            way: the argument that holds it; then, for the net of an operator that is all of that net, its argument.
            seeds: blob of the net -> name of the gradient that arrives at its last version.
            leaving, initial, keeps_versions: as in `Surroundings`.
            shares_names: whether the net works on the blobs around it.
            silent: whether nobody shall hear of it: it is only tried.

        Raises:
            GradientError: with the way to the net.
        """
        ir, op, index = self._ir, self._ssa.op, self.index
        told = None if silent else ir.told
        path = ir.path
        entered = []
        for argument in way:
            net = nested_nets(op)[argument]
            entered.append((op, index, argument, net, path))
            path = (*path, f"{index}.{argument}")
            op, index = net.ops[0] if net.ops else op, 0
        if told is not None:
            told += [EnteredSubnet(at, argument, net.name, path=around) for _, at, argument, net, around in entered]
        taken = _Taken(ir, self._ssa.reads) if shares_names else ()
        try:
            inside = type(ir)(net.ops, around=Surroundings(path, initial, leaving, taken, keeps_versions, told))
            inside.differentiate(seeds)
        except GradientError as error:
            for op, index, argument, _, _ in reversed(entered):
                error = within(error, op, index, argument)
            raise error from error.__cause__
        if told is not None:
            told += [LeftSubnet(at, argument, net.name, path=around) for _, at, argument, net, around in entered[::-1]]
        return inside

    def still_holds(self, blob: str) -> bool:
        """Whether the blob around it holds what the operator left there or, where it did not write it, read there."""
        versions = [*self._ssa.reads, *self._ssa.writes]
        meant = next(version for version in reversed(versions) if version.name == blob)
        return meant is self._ir.blobs[blob][-1]

    def result_name(self, blob: str, arriving: Container[str]) -> str:
        """A name for the gradient of `blob` as the operator reads it, other than those of the `arriving` ones."""
        name, names = gradient_name(blob), self._ir.names
        if name in arriving:
            return names.fresh(name)
        of = next((version for version in self._ssa.reads if version.name == blob), None)
        return name if of is not None and names.writable(name, of) else names.free(name)

    def free_name(self, name: str) -> str:
        """`name`, numbered where it is taken."""
        return self._ir.names.free(name)


class _Taken(Container[str]):
    """Names that gradient operators in a net on the blobs around it may not write: they are in use around it.

    The gradients of what its operator reads may be: an accumulation renames them there as it does here.
    """

    def __init__(self, ir: "IR", reads: "list[Tracked]") -> None:
        self._ir = ir
        self._results = {gradient_name(blob.name): blob for blob in reads}

    def __contains__(self, name: object) -> bool:
        assert isinstance(name, str)
        names = self._ir.names
        result = self._results.get(name)
        return not names.untouched(name) and (result is None or not names.writable(name, result))
