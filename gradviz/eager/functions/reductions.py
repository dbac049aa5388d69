"""Reductions: one number from many, along axes or of the whole array. ``axis=None`` means all dimensions.

Losses are among them: how far a model's outputs are from what they should be, or from each other.
"""

import builtins
from collections.abc import Iterable, Sequence
from typing import Any

from ..call import Call
from ..variable import Operand, Variable
from .calling import call, cast, variable
from .elementwise import abs, clip, scale, sub
from .options import flag, number, sizes, whole
from .shaping import expand_dims, flatten, moveaxis, squeeze

__all__ = [
    "argmax", "argmin", "cosine_similarity", "cumsum", "huber_loss", "logsumexp", "max", "mean",
    "mean_absolute_error", "mean_squared_error", "min", "norm", "prod", "sigmoid_cross_entropy",
    "softmax_cross_entropy", "std", "sum", "var",
]  # fmt: skip

Axis = int | Sequence[int] | None


def sum(x: Operand, axis: Axis = None, keepdims: bool = False) -> Variable:
    """Sum over `axis`, in the dtype of x, or in int64 where that is of truth values or smaller whole numbers."""
    return _reduced("sum", "ReduceSum", _with_room(x), axis, keepdims)


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
    if _none("var", axis):
        return sub(x, x)
    return call("var", "Moments", 2, (1,), axes=_axes("var", axis), keepdims=flag("var", "keepdims", keepdims))(x)


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
    """Sums of all elements up to each one along `axis`, in the dtype of `sum`; None: of x as a vector."""
    if axis is None:
        return cumsum(flatten(x), 0)
    return call("cumsum", "CumSum", axis=whole("cumsum", "axis", axis))(_with_room(x))


def _with_room(x: Operand) -> Variable:
    """Truth values and small whole numbers in int64: sums of them are larger."""
    x = variable(x)
    return cast(x, "int64") if x.dtype.kind in "biu" and x.dtype.itemsize < 8 else x


def _reduced(name: str, type: str, x: Operand, axis: Axis, keepdims: bool) -> Variable:
    if _none(name, axis):  # to the table's reductions, no axes are all
        x = variable(x)
        return squeeze(_reduced(name, type, expand_dims(x, 0), 0, True), 0)
    return call(name, type, axes=_axes(name, axis), keepdims=flag(name, "keepdims", keepdims))(x)


def _axes(name: str, axis: Axis) -> tuple[int, ...]:
    return () if axis is None else sizes(name, "axis", axis)


def _none(name: str, axis: Axis) -> bool:
    """Whether no dimension at all is to be reduced: ``axis=()``."""
    return isinstance(axis, Iterable) and not sizes(name, "axis", axis)


def _place(name: str, type: str, x: Operand, axis: int | None) -> Variable:
    if axis is None:
        return _place(name, type, flatten(x), 0)
    return call(name, type, axis=whole(name, "axis", axis), keepdims=0)(x)


_cosine = Call("cosine_similarity", "CosineSimilarity")
_mean_of_squares = Call("mean_squared_error", "SumSqrElements", {"average": 1})
_sigmoid_cross_entropy = Call("sigmoid_cross_entropy", "SigmoidCrossEntropyWithLogits")


def softmax_cross_entropy(x: Operand, labels: Operand) -> Variable:
    """Mean of -ln softmax x at the labels. x: (n, classes, ...) with classes along axis 1, labels: integers (n, ...).

    Labels that are floating-point are probabilities, in the shape of x.
    """
    x, args = variable(x), dict[str, Any]()
    labels = variable(labels, x)
    if labels.dtype.kind == "f":
        labels, args["label_prob"] = cast(labels.detach(), x.dtype), 1
    if x.ndim > 2:
        labels = moveaxis(labels, 1, -1) if labels.shape == x.shape and args else labels
        x, args["axis"] = moveaxis(x, 1, -1), x.ndim - 1
    elif x.ndim == 1:
        args["axis"] = 0
    return call("softmax_cross_entropy", "SoftmaxWithLoss", 2, (1,), **args)(x, labels)


def sigmoid_cross_entropy(x: Operand, targets: Operand) -> Variable:
    """Mean of -t ln σ(x) - (1 - t) ln σ(-x). x, targets t: one shape; targets are constants."""
    x = variable(x)
    return mean(_sigmoid_cross_entropy(x, cast(variable(targets, x).detach(), x.dtype)))


def mean_squared_error(x: Operand, y: Operand) -> Variable:
    """Mean of (x - y)² over all elements."""
    return _mean_of_squares(variable(x) - y)


def mean_absolute_error(x: Operand, y: Operand) -> Variable:
    """Mean of |x - y| over all elements."""
    return mean(abs(variable(x) - y))


def huber_loss(x: Operand, y: Operand, delta: float = 1.0) -> Variable:
    """Mean of (x - y)² / 2 where |x - y| is at most delta, of delta (|x - y| - delta / 2) elsewhere.

    Source: Huber, Robust estimation of a location parameter (1964).
    """
    off, bound = variable(x) - y, number("huber_loss", "delta", delta)
    near = clip(off, -bound, bound)
    return mean(near * (off - scale(near, 0.5)))


def cosine_similarity(x: Operand, y: Operand) -> Variable:
    """Cosine of the angle between each row of x and that of y. x, y: (n, ...) -> (n,)."""
    return _cosine(x, y)
