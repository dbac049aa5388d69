"""The reference: a program run in PyTorch, every writing a version of its own, and autograd's gradient of each version.

It shares with gradviz the program and nothing else: neither kernels nor rules, nor how versions are numbered.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from gradviz.program import Operator

from . import elementwise, layers, rows, shapes
from .formula import Formula

torch.set_num_threads(1)

FORMULAS: dict[str, Formula] = {
    **elementwise.FORMULAS,
    **shapes.FORMULAS,
    **rows.FORMULAS,
    **layers.FORMULAS,
}

FILLS = frozenset({"ConstantFill", "DiagonalFill", "OneHot", "BatchOneHot", "Range", "RangeFill"})
CONSTANT = FILLS | {"ArgMax", "ArgMin", "Conditional", "Shape", "Size", "StopGradient"}
"""Types whose outputs do not depend on their inputs as far as gradients go."""

COMPARISONS = frozenset({"And", "EQ", "GE", "GT", "IsNaN", "LE", "LT", "NE", "Not", "Or", "Xor"})
WITHOUT_RULE = COMPARISONS | {"Accuracy", "Ceil", "Floor", "Mod", "ScatterAssign", "Sign", "Unique"}
"""Types that nobody can differentiate: gradviz must refuse where a gradient reaches one of their outputs."""

FIRST_OUTPUT_ONLY = frozenset({"GroupNorm", "InstanceNorm", "LRN", "RMSNorm", "SpatialBN"})
"""Types that have a derivative for their first output alone."""

Blob = tuple[str, int]
"""A name and how many times it has been overwritten before."""


def leaf(value: Tensor) -> Tensor:
    """`value` as a blob that depends on nothing and has a gradient of its own."""
    return value.detach().double().requires_grad_()


def outputs_of(op: Operator, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """What `op` writes; no gradient passes where it has no derivative."""
    outputs = FORMULAS[op.type](op, *inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    if op.type in FIRST_OUTPUT_ONLY:
        outputs = (outputs[0], *(output.detach() for output in outputs[1:]))
    return outputs


class Run:
    """A program after its run.

    Attributes:
        values: the value of each blob version.
        reads, writes: the blob versions that each operator reads and writes.
        latest: the last version of each name.
    """

    def __init__(self, operators: Sequence[Operator], feeds: Mapping[str, np.ndarray], skip: int = 0) -> None:
        self.operators = list(operators)
        self.skip = skip
        self.values: dict[Blob, Tensor] = {}
        self.latest: dict[str, Blob] = {}
        self.reads: list[list[Blob]] = []
        self.writes: list[list[Blob]] = []
        for index, op in enumerate(operators):
            self._execute(op, feeds, is_cut=index < skip or op.type in CONSTANT | WITHOUT_RULE)

    def _execute(self, op: Operator, feeds: Mapping[str, np.ndarray], *, is_cut: bool) -> None:
        for name in op.inputs:
            if name not in self.latest:
                self.latest[name] = (name, 0)
                self.values[name, 0] = leaf(torch.from_numpy(np.asarray(feeds[name])))
        self.reads.append([self.latest[name] for name in op.inputs])
        inputs = [self.values[blob] for blob in self.reads[-1]]
        outputs = outputs_of(op, inputs)
        written = []
        for name, output in zip(op.outputs, outputs, strict=True):
            blob = (name, self.latest[name][1] + 1 if name in self.latest else 0)
            if is_cut or not output.requires_grad:
                output = leaf(output)
            elif any(output is x for x in inputs):
                output = output.clone()
            self.values[blob] = output
            self.latest[name] = blob
            written.append(blob)
        self.writes.append(written)

    def gradients(self, seeds: Mapping[str, Tensor]) -> dict[Blob, Tensor | None]:
        """The gradient of Σ <seed, y> with regard to every blob version; None where y does not depend on it.

        Args:
            seeds: y -> its gradient; the last version of y is meant.
        """
        total = sum(
            ((seed * self.values[self.latest[y]]).sum() for y, seed in seeds.items()),
            start=torch.zeros((), dtype=torch.float64, requires_grad=True),
        )
        for op, reads in zip(self.operators[self.skip :], self.reads[self.skip :], strict=True):
            if op.type == "ZeroGradient":
                total = total + (0 * self.values[reads[0]]).sum()
        gradients = torch.autograd.grad(total, list(self.values.values()), allow_unused=True)
        return dict(zip(self.values, gradients, strict=True))
