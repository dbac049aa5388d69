"""The methods and operators of Variables that run functions or passes.

Functions make Variables, so `variable` cannot import them: it declares them for type checkers, and `install` adds them.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..operators.registry import Array
from ..program import Device, Operator
from ..runtime.devices import CPU, available, device_of, moved
from . import functions, passes
from .function import CUT, Function
from .gradients import Gradient
from .variable import Operand, Variable


def unchain(self: Variable) -> None:
    """Make this Variable a leaf: forget the function that made it."""
    if self._creator is not None:
        self._creator = CUT


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
    move.apply((x,), (x.data,), 4)
    return move.output(0)


def to_cpu(self: Variable) -> Variable:
    """This Variable where it lies on the CPU, else a copy there; gradients come back to where this one lies."""
    return to_device(self, CPU)


def to_gpu(self: Variable, id: int = 0) -> Variable:
    """This Variable where it lies on GPU `id`, else a copy there; gradients come back to where this one lies.

    Raises:
        RunError: ``bad_device``, with what is missing.
    """
    return to_device(self, available(Device("cuda", id)))


def clip(self: Variable, least: float | None = None, most: float | None = None) -> Variable:
    """Each element kept from `least` to `most`, None: without a bound; the slope is 0 at the bounds and beyond."""
    return functions.clip(self, least, most)


def reshape(self: Variable, *shape: Any) -> Variable:
    """The elements, row by row, in `shape`: one argument or several, of which one may be -1, what is left."""
    return functions.reshape(self, shape[0] if len(shape) == 1 else shape)


def transpose(self: Variable, *axes: Any) -> Variable:
    """This Variable with its dimensions in the order `axes`: one argument or several; none: reversed."""
    return functions.transpose(self, axes[0] if len(axes) == 1 else axes or None)


def reflected(function: Callable[[Operand, Operand], Variable]) -> Callable[[Variable, Operand], Variable]:
    """`function` as the operator of a Variable on the right-hand side, beside an array or a number on the left."""

    def operator(self: Variable, other: Operand) -> Variable:
        return function(other, self)

    return operator


METHODS = (passes.backward, unchain, passes.unchain_backward, to_cpu, to_gpu, clip, reshape, transpose)
FUNCTIONS = (
    functions.sum, functions.mean, functions.var, functions.std, functions.prod, functions.max, functions.min,
    functions.argmax, functions.argmin, functions.cumsum,
    functions.swapaxes, functions.flatten, functions.squeeze, functions.repeat, functions.take,
)  # fmt: skip
"""The functions that are methods under their own names."""

BINARY: dict[str, Callable[[Operand, Operand], Variable]] = {
    "add": functions.add, "sub": functions.sub, "mul": functions.mul, "truediv": functions.div, "pow": functions.pow,
    "matmul": functions.matmul,
}  # fmt: skip
"""The functions that are operators, also with a Variable on the right-hand side alone."""

INSTALLED: dict[str, Any] = {
    **{method.__name__: method for method in (*METHODS, *FUNCTIONS)},
    **{f"__{name}__": function for name, function in BINARY.items()},
    **{f"__r{name}__": reflected(function) for name, function in BINARY.items()},
    "__neg__": functions.neg,
    "__abs__": functions.abs,
    "__getitem__": functions.get_item,
    "T": property(functions.transpose),
    "astype": functions.cast,
}


def install() -> None:
    """Give Variables these methods and operators."""
    for name, member in INSTALLED.items():
        setattr(Variable, name, member)
