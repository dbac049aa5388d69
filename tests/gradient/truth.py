"""The truth about a random net: its run in the reference, and autograd's gradient of each blob version."""

from collections.abc import Sequence

import torch
from torch import Tensor

from gradviz import GradientSlice
from gradviz.program import Gradient
from tests.gradient.nets.strategy import RandomNet
from tests.gradient.reference.run import Blob, Run


class Truth:
    """A net in the reference.

    Attributes:
        run: its run, with the value of each blob version.
        seeds: y -> the gradient that the pass starts from there.
        gradients: the gradient of each blob version, None where no y depends on it.
        scale: the greatest gradient in the net, or 1.
    """

    def __init__(self, case: RandomNet) -> None:
        self.case = case
        self.run = Run(case.net.ops, case.feeds, case.skip)
        self.seeds = {y: self._seed(y, start) for y, start in case.starts.items()}
        self.gradients: dict[Blob, Tensor | None] = self.run.gradients(self.seeds)
        self.scale = max([1.0, *(float(g.abs().max()) for g in self.gradients.values() if g is not None)])

    def _seed(self, y: str, start: Gradient | None) -> Tensor:
        """What the pass starts from at `y`, as an array like it."""
        value = self.run.values[self.run.latest[y]]
        if start is None:
            return torch.ones_like(value)
        if isinstance(start, GradientSlice):
            rows, values = self.case.given[start.indices], self.case.given[start.values]
            return torch.zeros_like(value).index_add(0, torch.from_numpy(rows), torch.from_numpy(values))
        if start in self.case.given:
            return torch.from_numpy(self.case.given[start])
        return self.run.values[self.run.latest[start]].detach()

    def reached(self, blob: Blob) -> bool:
        """Whether a gradient arrives at the blob version."""
        return self.gradients[blob] is not None

    def any_reached(self, blobs: Sequence[Blob]) -> bool:
        """Whether a gradient arrives at one of the blob versions."""
        return any(map(self.reached, blobs))

    def of_earliest_reached(self, name: str) -> Tensor | None:
        """The gradient of the earliest version of `name` that one arrives at, which is what gradviz' map means."""
        versions = range(self.run.latest[name][1] + 1)
        return next((g for version in versions if (g := self.gradients[name, version]) is not None), None)
