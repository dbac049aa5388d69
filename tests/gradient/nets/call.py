"""A call of an operator before its outputs have names, and the values that it meets."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from torch import Tensor

Shape = tuple[int, ...]
Range = tuple[float, float]

WIDE: Range = (-60.0, 60.0)
"""Values beyond this are left out: gradients would lose digits."""


class Call(NamedTuple):
    """An operator whose outputs have no names yet; `naming` says how they get them, None: as chance has it."""

    type: str
    inputs: Sequence[str]
    args: Mapping[str, Any] = {}
    outputs: int = 1
    naming: str | None = None


class Value(NamedTuple):
    """What a name holds now: the reference's tensor, the dtype in gradviz, and the least and greatest element."""

    tensor: Tensor
    dtype: str
    low: float
    high: float

    @classmethod
    def of(cls, tensor: Tensor, dtype: str) -> "Value":
        tensor = tensor.double()
        return cls(tensor, dtype, float(tensor.min()), float(tensor.max()))

    @property
    def shape(self) -> Shape:
        return tuple(self.tensor.shape)

    def within(self, limits: Range) -> bool:
        return limits[0] <= self.low and self.high <= limits[1]
