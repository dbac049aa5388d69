"""The forward program that an IR differentiates: its versions, and who reads them."""

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

from ..operators import lookup
from ..operators.arguments import check_names
from ..program import GradientError, Operator
from ..program.collection import uncollected
from ..program.control_flow import NETS, check_structure, kept_inputs, kept_name
from ..program.net import check_depth
from ..program.ssa import Ssa, play
from .nesting import Surroundings
from .refusals import bad_skip, duplicate_output, orphan_stop_gradient
from .versions import Generator, Tracked


class ForwardProgram:
    """A program in SSA form.

    Attributes:
        skip: how many leading operators take no part.
        ssa: each operator with the blob versions that it reads and writes.
        blobs: name -> its versions, each with its readers, the gradients that have arrived, and their sum so far.
        assumed: blobs that count as there from the start, for an operator may leave them as they are, and may not be.
        around: where it stands.

    Args and errors are those of `IR`.
    """

    def __init__(self, operators: Iterable[Operator], skip: int, around: Surroundings) -> None:
        operators = list(operators)
        if not (isinstance(skip, int) and 0 <= skip <= len(operators)):
            raise bad_skip(skip, len(operators))
        self.skip = skip
        self.ssa: list[Ssa[Tracked]] = []
        self.blobs: dict[str, list[Tracked]] = {name: [Tracked(name, 0)] for name in around.initial}
        self.assumed = set(around.initial)
        self.around = around
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
        if op.args and (known := lookup(op.type)):
            check_names(op, index, known.args, GradientError)
        kept = []
        if op.type in NETS:
            if not self.around.path:
                check_depth(op, index, GradientError)
            check_structure(op, index, GradientError)
            kept = [self._kept(name) for name in kept_inputs(op)]
        ssa = play(op, self.blobs, Tracked)
        ssa.reads.extend(kept)
        if index >= self.skip:
            for blob in ssa.reads:
                blob.use(index)
        self.ssa.append(ssa)

    def _kept(self, name: str) -> Tracked:
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
        history: dict[str, list[tuple[Operator, int]]] = defaultdict(list)
        for ssa in self.ssa:
            for blob in ssa.reads:
                history[blob.name].append((ssa.op, blob.version))
        return dict(history)

    @property
    def out_version_history(self) -> dict[str, list[tuple[Operator, int]]]:
        """Name -> (operator, version) of every writing, in order."""
        history: dict[str, list[tuple[Operator, int]]] = defaultdict(list)
        for ssa in self.ssa:
            for blob in ssa.writes:
                history[blob.name].append((ssa.op, blob.version))
        return dict(history)

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
        return blob if first is latest else kept_name(first)

    def is_from_outside(self, blob: str) -> bool:
        """Whether the first version of `blob` was there before the first operator."""
        return blob not in self._made

    @cached_property
    def _made(self) -> set[str]:
        """The blobs whose first version an operator wrote; asked for when the program is whole."""
        return {blob.name for ssa in self.ssa for blob in ssa.writes if blob.version == 0}
