"""The forward program that an IR differentiates: its versions, who reads them, and what the backward pass may read.

A version that was overwritten is gone when the backward pass runs, unless the workspace of a Do keeps it. The stack in
a scope counts as still there where the backward pass itself takes off it all that later operators put on it.

`parse_ys` reads what a backward pass starts from: the blobs to differentiate and their gradients.
"""

import warnings
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from functools import cached_property
from typing import Any

from ..operators import lookup
from ..operators.arguments import check_names
from ..program import Gradient, GradientError, GradientSlice, NetError, Operator
from ..program.control_flow import NETS, check_structure, implicit_inputs, saved_name, scopes_of
from ..program.errors import a_few, meant, repr_of, shorten
from ..program.events import Checked, InputChecked, Source
from ..program.net import check_depth
from ..program.operator import Ssa, check_name, parts_of, play
from ..runtime.watched import uncollected
from .accumulation import Generator, Tracked
from .nesting import Surroundings
from .refusals import (
    duplicate_output,
    missing_output_gradient,
    orphan_stop_gradient,
    out_of_scope,
    shared_scope,
    skip_of,
    unmarked,
    version_overwritten,
)
from .rules import BlobRef


class ForwardProgram:
    """A program in SSA form.

    Attributes:
        skip: how many leading operators take no part.
        ssa: each operator with the blob versions that it reads and writes.
        blobs: name -> its versions, each with its readers, the gradients that have arrived, and their sum so far.
        assumed: blobs that count as there from the start, for an operator may leave them as they are, and may not be.
        around: where it stands.
        gradient_ops: the gradient operators so far.
        path: the way to its net; empty for the outermost one.
        left_on: scope -> the first operator that leaves workspaces on it which the backward pass does not take.

    Args and errors are those of `IR`.
    """

    def __init__(self, operators: Iterable[Operator], skip: int, around: Surroundings) -> None:
        operators = list(operators)
        self.skip = skip_of(skip, operators)
        self.ssa: list[Ssa[Tracked]] = []
        self.blobs: dict[str, list[Tracked]] = {name: [Tracked(name, 0)] for name in around.initial}
        self.assumed = set(around.initial)
        self.around = around
        self.gradient_ops: list[Operator] = []
        self.path = around.path
        self.left_on: dict[str, int] = {}
        self._ys: list[str] = []
        with uncollected():
            for op in operators:
                self.play(op)
        self.sanity_check()

    def play(self, op: Operator) -> None:
        """Append `op` to the forward program: number its versions and note its readings and writings."""
        index = len(self.ssa)
        if len(op.outputs) > 1 and len(set(op.outputs)) != len(op.outputs):
            raise duplicate_output(op, index)
        if op.args and (operator_type := lookup(op.type)):
            check_names(op, index, operator_type.args, GradientError)
        implicit = []
        if op.type in NETS:
            if not self.around.path:
                check_depth(op, index, GradientError)
            check_structure(op, index, GradientError)
            implicit = [self._implicit_input(name) for name in implicit_inputs(op)]
        ssa = play(op, self.blobs, Tracked)
        ssa.reads.extend(implicit)
        if index >= self.skip:
            for blob in ssa.reads:
                blob.use(index)
        self.ssa.append(ssa)

    def _implicit_input(self, name: str) -> Tracked:
        """What an operator may leave as it is, as it is before."""
        if name not in self.blobs:
            self.blobs[name] = [Tracked(name, 0)]
            self.assumed.add(name)
        return self.blobs[name][-1]

    @property
    def input_usages(self) -> dict[str, list[list[int]]]:
        """Name -> version -> indices of the operators that read it, one entry a reading; being a y counts as one too,
        by operator ``len(ssa)``."""
        usages: dict[str, list[list[int]]] = {name: [[] for _ in versions] for name, versions in self.blobs.items()}
        for index, ssa in enumerate(self.ssa[self.skip :], self.skip):
            for blob in ssa.reads:
                usages[blob.name][blob.version].append(index)
        for y in self._ys:
            usages[y][-1].append(len(self.ssa))
        return usages

    @property
    def frontier(self) -> dict[str, int]:
        """Name -> version at the end of the forward program."""
        return {name: versions[-1].version for name, versions in self.blobs.items()}

    @property
    def gradient_frontier(self) -> dict[str, int]:
        """Name -> version that its latest gradient belongs to: the earliest one that has any."""
        with_gradients = ((name, [b.version for b in bs if b.gradient is not None]) for name, bs in self.blobs.items())
        return {name: versions[0] for name, versions in with_gradients if versions}

    @property
    def gradient_generators(self) -> dict[str, list[list[Generator]]]:
        """Name -> version -> the gradients that have arrived."""
        return {name: [list(blob.generators) for blob in versions] for name, versions in self.blobs.items()}

    @property
    def in_version_history(self) -> dict[str, list[tuple[Operator, int]]]:
        """Name -> (operator, version) of every reading, in order."""
        return _history((ssa.op, ssa.reads) for ssa in self.ssa)

    @property
    def out_version_history(self) -> dict[str, list[tuple[Operator, int]]]:
        """Name -> (operator, version) of every writing, in order."""
        return _history((ssa.op, ssa.writes) for ssa in self.ssa)

    def sanity_check(self) -> None:
        """Raise ``orphan_stop_gradient`` when no operator reads the output of a StopGradient."""
        for index, ssa in enumerate(self.ssa):
            if index < self.skip or ssa.op.type != "StopGradient":
                continue
            name = ssa.op.outputs[0]
            if name not in self.around.leaving and not any(blob.uses for blob in self.blobs[name]):
                raise orphan_stop_gradient(ssa.op, index)

    def name_of(self, blob: str) -> str:
        """The name under which the first version of `blob` can be read in the backward pass."""
        first, latest = self.blobs[blob][0], self.blobs[blob][-1]
        return blob if first is latest else saved_name(first)

    def is_from_outside(self, blob: str) -> bool:
        """Whether the first version of `blob` was there before the first operator."""
        return blob not in self._from_inside

    @cached_property
    def _from_inside(self) -> set[str]:
        """The blobs whose first version an operator wrote; asked for when the program is whole."""
        return {blob.name for ssa in self.ssa for blob in ssa.writes if blob.version == 0}

    def _check_inputs(
        self, index: int, operators: Sequence[Operator], g_output: Sequence[Gradient | None]
    ) -> list[InputChecked]:
        rule_outputs: list[str] = []
        checks = []
        for position, op in enumerate(operators, len(self.gradient_ops)):
            checked = [self.check_gradient_operator_input(name, g_output, index, rule_outputs) for name in op.inputs]
            checks.append(InputChecked(index, position, checked, path=self.path))
            rule_outputs += op.outputs
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
        forward: list[tuple[Source, list[Tracked]]] = [("input", ssa.reads), ("output", ssa.writes)]
        for source, blobs in forward:
            for blob in blobs:
                if grad_op_input == self.around.readable_name(blob):
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
        if (name := self.around.readable_name(blob)) is not None:
            return Checked(name, source, blob.name, blob.version)
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
        if self._latest_versions.get(name, 0) > scope.version:
            raise version_overwritten(self.ssa, index, source, scope, self.blobs[name][-1])

    @cached_property
    def _latest_versions(self) -> dict[str, int]:
        """Name -> its latest version that is no stack of workspaces on which one more was put."""
        versions: dict[str, int] = {}
        for ssa in self.ssa:
            stacks = scopes_of(ssa.op) if ssa.op.type in NETS else ()
            versions.update((blob.name, blob.version) for blob in ssa.writes if blob.name not in stacks)
        return versions


def _history(met: Iterable[tuple[Operator, Sequence[Tracked]]]) -> dict[str, list[tuple[Operator, int]]]:
    history: dict[str, list[tuple[Operator, int]]] = {}
    for op, blobs in met:
        for blob in blobs:
            history.setdefault(blob.name, []).append((op, blob.version))
    return history


Ys = list[str] | Mapping[str, Gradient | None]
"""Blobs to differentiate: a list (all seeded with ones), or a mapping to a gradient's name, a slice, or None (ones)."""


def parse_ys(
    ys: Any, blobs: Set[str], local_to: Callable[[str], str | None] = lambda blob: None
) -> dict[str, Gradient | None]:
    """`ys` as a mapping, in the order given.

    A y that the net does not have is an error, unless its gradient is given and another y is in the net: then the
    gradient goes straight to the result, with a warning.

    Args:
        blobs: those of the net.
        local_to: the way to the nested net that a blob is local to, if there is one.

    Raises:
        GradientError: ``bad_ys`` when it is no list or dict, a y is not among the `blobs`, or a gradient is
            neither a name, a GradientSlice (or its JSON form) nor None.
    """
    if isinstance(ys, Mapping):
        items = dict(ys)
    elif isinstance(ys, list):
        items = dict.fromkeys(map(_only_names, ys))
    else:
        raise _bad(f"ys must be a list of blob names or a dict, not {type(ys).__name__} {repr_of(ys)}.")
    parsed: dict[str, Gradient | None] = {}
    for y, gradient in items.items():
        _only_names(y)
        parsed[y] = _gradient(y, gradient)
    for y, given in parsed.items():
        if y not in blobs:
            if given is None or blobs.isdisjoint(parsed):
                raise _unknown(y, blobs, local_to(y))
            warnings.warn(f"The net has no blob {shorten(y)}: nothing is differentiated from it.", stacklevel=2)
    return parsed


def _unknown(y: str, blobs: Set[str], local_to: str | None) -> GradientError:
    more = meant(y, blobs, 3) or [f"It has {a_few(sorted(blobs))}."] * bool(blobs)
    if local_to is not None:
        more = [
            f"{shorten(y)} is local to the net {local_to}, whose Do keeps it to itself: make it an output of that Do."
        ]
    return _bad(f"The net has no blob {shorten(y)} to differentiate.", blobs=[y], more=more)


def _only_names(y: Any) -> str:
    if isinstance(y, str):
        return y
    raise _bad(f"{repr_of(y)} among the ys is not a blob name.")


def _gradient(y: str, gradient: Any) -> Gradient | None:
    if isinstance(gradient, Mapping) and gradient.keys() == {"indices", "values"}:
        gradient = GradientSlice(gradient["indices"], gradient["values"])
    if gradient is None or isinstance(gradient, str | GradientSlice):
        try:
            for name in parts_of(gradient):
                check_name(name, f"gradient of {shorten(y)}")
        except NetError as error:
            raise _bad(error.message, blobs=[y], more=error.ways_out) from error
        return gradient
    raise _bad(
        f"The gradient of {y} must be the name of a blob, a GradientSlice or None (ones), not {repr_of(gradient)}.",
        blobs=[y],
        more=["To start from an array, feed it under a name and give that name."],
    )


def _bad(message: str, *, blobs: Sequence[str] = (), more: Sequence[str] = ()) -> GradientError:
    ways_out = [*more, 'Write ys as ["loss"] or {"loss": "loss_grad"}; None stands for a gradient of ones.']
    return GradientError(message, kind="bad_ys", blobs=blobs, ways_out=ways_out)
