"""What the operators of a backward pass may read: gradients that arrive, and forward blobs that are still there.

A version that was overwritten is gone when the backward pass runs, unless the workspace of a Do keeps it. The stack in
a scope counts as still there where the backward pass itself takes off it all that later operators put on it.
"""

from collections.abc import Container, Iterable, Sequence
from functools import cached_property
from typing import Any

from ..program import Gradient, Operator
from ..program.control_flow import NETS, kept_name, scopes_of
from ..program.events import Checked, InputChecked, Source
from ..program.operator import parts_of
from ..program.ssa import Ssa
from .forward import ForwardProgram
from .nesting import Surroundings
from .refusals import missing_output_gradient, out_of_scope, shared_scope, unmarked, version_overwritten
from .rules import BlobRef
from .versions import Tracked


class ReadableProgram(ForwardProgram):
    """A forward program and what can still be read of it when its backward pass runs.

    Attributes: those of `ForwardProgram`, and

        gradient_ops: the gradient operators made so far.
        path: the way to its net; empty for the outermost one.
        left_on: scope -> the first operator that leaves workspaces on it which the backward pass does not take.
    """

    def __init__(self, operators: Iterable[Operator], skip: int, around: Surroundings) -> None:
        super().__init__(operators, skip, around)
        self.gradient_ops: list[Operator] = []
        self.path = around.path
        self.left_on: dict[str, int] = {}

    def _check_inputs(
        self, index: int, operators: Sequence[Operator], g_output: Sequence[Gradient | None]
    ) -> list[InputChecked]:
        made: list[str] = []
        checks = []
        for position, op in enumerate(operators, len(self.gradient_ops)):
            checked = [self.check_gradient_operator_input(name, g_output, index, made) for name in op.inputs]
            checks.append(InputChecked(index, position, checked, path=self.path))
            made += op.outputs
        return checks

    def check_gradient_operator_input(
        self,
        grad_op_input: Any,
        g_output: Sequence[Gradient | None],
        fwd_op_idx: int,
        locally_generated_blobs: Container[str],
    ) -> Checked:
        """What `grad_op_input`, read by a gradient operator of operator `fwd_op_idx`, stands for.

        Looked for in this order: a gradient in `g_output`, an output, an input of the forward operator, a blob that
        the same rule made before (`locally_generated_blobs`), a half of a slice in `g_output`.

        Raises:
            GradientError: ``missing_output_gradient`` for None, ``version_overwritten`` when a forward blob has been
                written again since, ``rule_failed`` when the name is none of these, or a plain name of both the input
                and the output of an operator in place.
        """
        ssa = self.ssa[fwd_op_idx]
        op = ssa.op
        if grad_op_input is None:
            raise missing_output_gradient(op, fwd_op_idx, g_output)
        meant = grad_op_input.source if isinstance(grad_op_input, BlobRef) else None
        if meant is None and self._is_of_two_versions(grad_op_input, ssa, g_output):
            raise unmarked(op, fwd_op_idx, grad_op_input)
        if grad_op_input in g_output and meant in (None, "output gradient"):
            blob = ssa.writes[g_output.index(grad_op_input)]
            return Checked(str(grad_op_input), "output gradient", blob.name, blob.version)
        if grad_op_input in op.outputs and meant in (None, "output"):
            return self._check_forward("output", ssa.writes[op.outputs.index(grad_op_input)], fwd_op_idx)
        if grad_op_input in op.inputs and meant in (None, "input"):
            return self._check_forward("input", ssa.reads[op.inputs.index(grad_op_input)], fwd_op_idx)
        if grad_op_input in locally_generated_blobs:
            return Checked(str(grad_op_input), "rule")
        for blob, gradient in zip(ssa.writes, g_output, strict=True):
            if grad_op_input in parts_of(gradient):
                return Checked(grad_op_input, "output gradient", blob.name, blob.version)
        if self.around.keeps_versions:
            forward: list[tuple[Source, list[Tracked]]] = [("input", ssa.reads), ("output", ssa.writes)]
            for source, blobs in forward:
                for blob in blobs:
                    if grad_op_input == kept_name(blob):
                        return Checked(grad_op_input, source, blob.name, blob.version)
        raise out_of_scope(op, fwd_op_idx, grad_op_input)

    def _is_of_two_versions(self, name: Any, ssa: Ssa[Tracked], g_output: Sequence[Gradient | None]) -> bool:
        """Whether a plain name may stand for one version that `ssa` met or for another: its rule must say which."""
        op = ssa.op
        if op.type in NETS or (name in op.inputs) + (name in op.outputs) + (name in g_output) < 2:
            return False
        meanings = {blob for blob in (*ssa.reads, *ssa.writes) if blob.name == name}
        if name in g_output:
            meanings.add(self.blobs[name][-1])
        return len(meanings) > 1

    def _check_forward(self, source: Source, blob: Tracked, index: int) -> Checked:
        latest = self.blobs[blob.name][-1]
        if blob is latest:
            return Checked(blob.name, source, blob.name, blob.version)
        if blob.name in scopes_of(self.ssa[index].op):
            self._check_scope(blob, source, index)
            return Checked(blob.name, source, blob.name, blob.version)
        if self.around.keeps_versions:
            return Checked(kept_name(blob), source, blob.name, blob.version)
        raise version_overwritten(self.ssa, index, source, blob, latest)

    def _leave(self, scopes: Iterable[str], index: int) -> None:
        """Note that operator `index` leaves workspaces on `scopes`."""
        for scope in scopes:
            self.left_on.setdefault(scope, index)

    def _check_scope(self, scope: Tracked, source: Source, index: int) -> None:
        """Raise unless the backward pass will have made the stack in `scope` again what operator `index` left."""
        name = scope.name
        if (later := self.left_on.get(name, index)) > index:
            raise shared_scope(self.ssa[index].op, index, name, later, self.ssa[later].op)
        if self._latest_made.get(name, 0) > scope.version:
            raise version_overwritten(self.ssa, index, source, scope, self.blobs[name][-1])

    @cached_property
    def _latest_made(self) -> dict[str, int]:
        """Name -> its latest version that is no stack of workspaces on which one more was put."""
        made: dict[str, int] = {}
        for ssa in self.ssa:
            stacks = scopes_of(ssa.op) if ssa.op.type in NETS else ()
            made.update((blob.name, blob.version) for blob in ssa.writes if blob.name not in stacks)
        return made
