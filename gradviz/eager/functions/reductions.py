"""Reductions: one number from many, along axes or of the whole array. ``axis=None`` means all dimensions."""

import builtins
from collections.abc import Iterable, Sequence
from operator import index as as_index

from ..variable import Operand, Variable
from .arithmetic import scale, sub
from .calling import call, variable
from .shaping import expand_dims, flatten, sizes, squeeze

Axis = int | Sequence[int] | None


def sum(x: Operand, axis: Axis = None, keepdims: bool = False) -> Variable:
    """Sum over `axis`, in the dtype of x."""
    return _reduced("sum", "ReduceSum", x, axis, keepdims)


def mean(x: Operand, axis: Axis = None, keepdims: bool = False) -> Variable:
    """Mean over `axis`; 0 where there is nothing to average."""
    return _reduced("mean", "ReduceMean", x, axis, keepdims)


def max(x: Operand, axis: Axis = None, keepdims: bool = False) -> Variable:
    """Largest element over `axis`; equal ones share the gradient."""
    return _reduced("max", "ReduceMax", x, axis, keepdims)


def min(x: Operand, axis: Axis = None, keepdims: bool = False) -> Variable:
    """Smallest element over `axis`; equal ones share the gradient."""
    return _reduced("min", "ReduceMin", x, axis, keepdims)


def prod(x: Operand, axis: Axis = None, keepdims: bool = False) -> Variable:
    """Product over `axis`."""
    return _reduced("prod", "ReduceProd", x, axis, keepdims)


def norm(x: Operand, axis: Axis = None, keepdims: bool = False) -> Variable:
    """Euclidean norm over `axis`."""
    return _reduced("norm", "ReduceL2", x, axis, keepdims)


def logsumexp(x: Operand, axis: Axis = None, keepdims: bool = False) -> Variable:
    """ln Σ exp x over `axis`, without overflow."""
    return _reduced("logsumexp", "ReduceLogSumExp", x, axis, keepdims)


def var(x: Operand, axis: Axis = None, keepdims: bool = False) -> Variable:
    """Variance over `axis`: the mean of the squared deviations from the mean."""
    if _none(axis):
        return sub(x, x)
    return call("var", "Moments", 2, (1,), axes=_axes(axis), keepdims=int(keepdims))(x)


def std(x: Operand, axis: Axis = None, keepdims: bool = False) -> Variable:
    """Standard deviation over `axis`: the root of `var`; its gradient is 0 where all elements are equal."""
    x = variable(x)
    off = norm(sub(x, mean(x, axis, True)), axis, keepdims)
    return scale(off, builtins.max(x.size // builtins.max(off.size, 1), 1) ** -0.5)


def argmax(x: Operand, axis: int | None = None) -> Variable:
    """Place of the largest element along `axis`, int64, the first of equal ones; a constant for the gradient."""
    return _place("argmax", "ArgMax", x, axis)


def argmin(x: Operand, axis: int | None = None) -> Variable:
    """Place of the smallest element along `axis`, int64, the first of equal ones; a constant for the gradient."""
    return _place("argmin", "ArgMin", x, axis)


def cumsum(x: Operand, axis: int | None = None) -> Variable:
    """Sums of all elements up to each one along `axis`; None: of x as a vector."""
    if axis is None:
        return cumsum(flatten(x), 0)
    return call("cumsum", "CumSum", axis=as_index(axis))(x)


def _reduced(name: str, type: str, x: Operand, axis: Axis, keepdims: bool) -> Variable:
    if _none(axis):  # to the table's reductions, no axes are all
        x = variable(x)
        return squeeze(_reduced(name, type, expand_dims(x, 0), 0, True), 0)
    return call(name, type, axes=_axes(axis), keepdims=int(keepdims))(x)


def _axes(axis: Axis) -> tuple[int, ...]:
    return () if axis is None else sizes(axis)


def _none(axis: Axis) -> bool:
    """Whether no dimension at all is to be reduced: ``axis=()``."""
    return isinstance(axis, Iterable) and not sizes(axis)


def _place(name: str, type: str, x: Operand, axis: int | None) -> Variable:
    if axis is None:
        return _place(name, type, flatten(x), 0)
    return call(name, type, axis=as_index(axis), keepdims=0)(x)
