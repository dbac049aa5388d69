"""Moving Variables from one device to another, and their gradients back."""

from collections.abc import Sequence

from ..operators.registry import Array
from ..program import Device, Operator
from ..runtime.devices import device_of, moved
from .function import Function
from .gradients import Gradient
from .variable import Variable


class Move(Function):
    """The same array on another device."""

    __slots__ = ("device",)

    def __init__(self, device: Device) -> None:
        self.device = device

    def as_operator(self, arrays: Sequence[Array], inputs: list[str], outputs: list[str]) -> Operator:
        return Operator("Copy", inputs, outputs, {}, self.device)

    def run(self, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        return (moved(arrays[0], self.device),)

    def input_gradients(self, gys: Sequence[Array | None], wanted: int) -> Sequence[Gradient | None]:
        return [moved(gys[0], device_of(self.arrays[0]))]

    def input_gradient_variables(self, gys: Sequence[Variable | None], wanted: int) -> Sequence[Variable | None]:
        return [to_device(gy, device_of(self.arrays[0])) if gy is not None else None for gy in gys]


def to_device(x: Variable, device: Device) -> Variable:
    """x itself where it lies on `device`, else a copy there."""
    if x.device == device:
        return x
    move = Move(device)
    move.apply((x,), (x.data,))
    return move.output(0)
