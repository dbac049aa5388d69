"""What a formula of the reference is, and how it reads the arguments of an operator."""

from collections.abc import Callable
from math import prod

from torch import Tensor

from gradviz.program import Operator

Formula = Callable[..., Tensor | tuple[Tensor, ...]]
"""``formula(op, *inputs)``: the outputs of `op` by PyTorch, from whose graph autograd takes the gradients.

Every blob is a float64 tensor, also one of integers or truth values, so that each has a gradient. What the operator
declares a constant for gradients is detached in the formula.
"""


def matrix(x: Tensor, axis: int) -> Tensor:
    """`x` seen as a matrix: the dimensions before `axis` are its rows."""
    axis += x.ndim if axis < 0 else 0
    return x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))


def whole(x: Tensor) -> Tensor:
    """Integers to count or to index with."""
    return x.detach().long()


def sizes(x: Tensor) -> list[int]:
    """Integers as Python's."""
    return [int(size) for size in x.reshape(-1).tolist()]


def flag(op: Operator, name: str, default: int = 0) -> bool:
    """Whether the argument `name` is set."""
    return bool(op.args.get(name, default))
