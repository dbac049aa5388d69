"""Nesting: what the gradient of a nested net needs to know of the program around it."""

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ..operators import is_constant
from ..operators.gradients import gradient_name
from ..program import GradientError, Operator
from ..program.control_flow import nested_nets, outside, saved_name, within
from ..program.events import EnteredSubnet, Event, LeftSubnet, Source, element
from ..program.operator import BlobVersion
from .refusals import version_overwritten

if TYPE_CHECKING:
    from .accumulation import Tracked
    from .ir import IR


def always(blob: str) -> bool:
    """A blob of the outermost net, or of a workspace, is what it is at the end."""
    return True


class Surroundings(msgspec.Struct, frozen=True):
    """Where a net stands.

    Attributes:
        path: the nested nets to go through to reach it, each as ``<operator>.<argument>``; none for the outermost.
        initial: blobs that are there before its first operator.
        leaving: blobs that are read outside of it.
        reserved: names that its gradient operators may not write.
        keeps_versions: whether overwritten versions of its blobs can still be read, by their `saved_name`.
        still_holds: whether a blob is, when the backward pass runs, what it is at the end of the net.
        zeroed: blobs that the net overwrites, and whose gradients before that it shall make where a Do can: zeros.
        events: where its events go; None: they are not wanted.
        copies: overwritten versions, each as ``x@0`` -> the blob to which an operator of the net has copied it.
    """

    path: tuple[str, ...] = ()
    initial: Sequence[str] = ()
    leaving: Container[str] = ()
    reserved: Container[str] = ()
    keeps_versions: bool = False
    still_holds: Callable[[str], bool] = always
    zeroed: Collection[str] = ()
    events: list[Event] | None = None
    copies: Mapping[str, str] = {}

    def readable_name(self, blob: BlobVersion) -> str | None:
        """The name under which an overwritten version of a blob of the net can still be read; None: it is gone."""
        return saved_name(blob) if self.keeps_versions else self.copies.get(str(blob))


class Attempt(NamedTuple):
    """The backward pass of a nested net that may or may not become part of the pass around it.

    Attributes:
        left_on: scopes around the operator on which it leaves workspaces.
    """

    ir: "IR"
    left_on: list[str]


class Nesting:
    """What a control operator's gradient rule can ask: gradients of its nested nets, and names and blobs around it.

    Attributes:
        index: the operator's place in the program around it.
        left_on: scopes around it on which its nets leave workspaces that the backward pass does not take.

    Args:
        ir: the pass over the program around the operator.
    """

    def __init__(self, ir: "IR", index: int) -> None:
        self._ir = ir
        self._ssa = ir.ssa[index]
        self._before = {blob.name: blob for blob in self._ssa.reads}
        self._after = self._before | {blob.name: blob for blob in self._ssa.writes}
        self.index = index
        self.left_on: set[str] = set()

    @property
    def before(self) -> list[Operator]:
        """The operators before it in the program around it."""
        return [ssa.op for ssa in self._ir.ssa[: self.index]]

    @property
    def read(self) -> list[str]:
        """The blobs around it that the operator reads: its inputs, then those that it may leave as they are."""
        return [blob.name for blob in self._ssa.reads]

    def attempt(
        self,
        way: Sequence[str],
        seeds: Mapping[str, str],
        *,
        workspace: Sequence[str] | None = None,
        zeroed: Collection[str] = (),
    ) -> Attempt:
        """The backward pass of a nested net as it would be; nobody hears of it unless it fails.

        Args:
            way: the argument that holds it; then, for the net of an operator that is all of that net, its argument.
            seeds: blob of the net -> name of the gradient that arrives at its last version.
            workspace: for a net that leaves its blobs in one: those that count as there before and are read behind;
                None: it works on the blobs around it.
            zeroed: as in `Surroundings`.

        Raises:
            GradientError: with the way to the net.
        """
        ir, op, index, path = self._ir, self._ssa.op, self.index, self._ir.path
        entered = []
        for argument in way:
            net = nested_nets(op)[argument]
            entered.append((op, index, argument, net, path))
            path = (*path, element(index, argument))
            op, index = net.ops[0] if net.ops else op, 0
        events: list[Event] | None = None
        if ir.events is not None:
            events = [EnteredSubnet(at, argument, net.name, path=around) for _, at, argument, net, around in entered]
        if workspace is None:
            around = Surroundings(
                path,
                leaving=self._ssa.op.outputs,
                reserved=_Taken(ir, self._ssa.reads, seeds.values()),
                still_holds=self.still_holds,
                zeroed=zeroed,
                events=events,
            )
        else:
            around = Surroundings(path, workspace, workspace, keeps_versions=True, events=events)
        try:
            inside = type(ir)(net.ops, around=around)
            inside.differentiate(seeds)
        except GradientError as error:
            if ir.events is not None and events is not None:
                ir.events += events
            for op, index, argument, _, _ in reversed(entered):
                error = within(error, op, index, argument)
            raise error from error.__cause__
        left_on = list(inside.left_on)
        for op, at, argument, net, above in reversed(entered):
            left_on = outside(op, left_on)
            if events is not None:
                events.append(LeftSubnet(at, argument, net.name, path=above))
        return Attempt(inside, left_on)

    def adopt(self, attempt: Attempt) -> "IR":
        """Make an attempt part of the pass around the operator."""
        if self._ir.events is not None and attempt.ir.events is not None:
            self._ir.events += attempt.ir.events
        self.left_on.update(attempt.left_on)
        return attempt.ir

    def still_holds(self, blob: str) -> bool:
        """Whether the blob around it still is, in the backward pass, what it was right after the operator."""
        return self._is_latest(self._after[blob]) and self._ir.around.still_holds(blob)

    def was_there(self, blob: str) -> bool:
        """Whether the blob around it was there, for sure, before the operator ran."""
        if blob not in self._before:
            return False
        is_assumed = self._before[blob].version == 0 and blob in self._ir.assumed
        return not is_assumed or blob in self._ssa.op.inputs

    def is_readable(self, blob: str) -> bool:
        """Whether the backward pass can still read what the blob was before: no operator around it takes that away."""
        return self._is_latest(self._before[blob]) or self._ir.around.readable_name(self._before[blob]) is not None

    def name_before(self, blob: str) -> str:
        """The name under which the backward pass finds the blob around it as it was before the operator ran.

        Raises:
            GradientError: ``version_overwritten`` where it does not.
        """
        version = self._before[blob]
        return self._name_of(version, "input") if self.was_there(blob) else blob

    def name_after(self, blob: str) -> str:
        """The same of the blob as it was right after the operator ran."""
        return self._name_of(self._after[blob], "output")

    def _name_of(self, version: "Tracked", source: Source) -> str:
        if self._is_latest(version):
            return version.name
        if (name := self._ir.around.readable_name(version)) is None:
            latest = self._ir.blobs[version.name][-1]
            raise version_overwritten(self._ir.ssa, self.index, source, version, latest)
        return name

    def _is_latest(self, version: "Tracked") -> bool:
        return version is self._ir.blobs[version.name][-1]

    def was_constant(self, blob: str) -> bool:
        """Whether an operator through which no gradient passes wrote the blob around it as it was before."""
        index = self._ir.writers.get(self._before[blob])
        return index is not None and is_constant(self._ir.ssa[index].op)

    @property
    def lists_shapes(self) -> bool:
        """Whether the operator's gradient lists blobs that it reads for their shapes alone.

        In a nested net it does: what it lists is bound, renamed and checked by the operators around it.
        """
        return self._ir.around.keeps_versions or bool(self._ir.path)

    def zeroed(self) -> list[str]:
        """The blobs of `Surroundings.zeroed` that the operator, a Do, is the first to write: it makes the zeros."""
        wanted = self._ir.around.zeroed
        if self._ssa.op.type != "Do" or not wanted:
            return []
        before = {name for op in self.before for name in op.outputs}
        return [name for name in self._ssa.op.outputs if name in wanted and name not in before]

    def zeros_name(self, blob: str) -> str:
        """A name for that gradient of `blob`, which the pass around the operator learns."""
        name = self._ir.zeros[blob] = self._ir.names.free(gradient_name(blob))
        return name

    def result_name(self, blob: str, arriving: Container[str]) -> str:
        """A name for the gradient of `blob` as the operator reads it, other than those of the `arriving` ones."""
        name, names = gradient_name(blob), self._ir.names
        is_free = name not in arriving and names.writable(name, self._before[blob])
        return name if is_free else names.fresh(name)

    def free_name(self, name: str) -> str:
        """`name`, numbered where it is taken."""
        return self._ir.names.free(name)


class _Taken(Container[str]):
    """Names that gradient operators in a net on the blobs around it may not write: they are in use around it.

    The gradients of what its operator reads may be: an accumulation renames them there as it does here. Those that
    arrive in the net may not.
    """

    def __init__(self, ir: "IR", reads: "list[Tracked]", arriving: Collection[str]) -> None:
        self._ir = ir
        self._arriving = arriving
        self._results = {gradient_name(blob.name): blob for blob in reads}

    def __contains__(self, name: object) -> bool:
        assert isinstance(name, str)
        names = self._ir.names
        result = self._results.get(name)
        if name in self._arriving:
            return True
        return names.in_use(name) and (result is None or not names.writable(name, result))
