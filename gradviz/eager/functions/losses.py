"""Losses and likenesses: how far a model's outputs are from what they should be, or from each other."""

from typing import Any

from ..call import Call
from ..variable import Operand, Variable
from .arithmetic import abs, scale
from .calling import call, variable
from .conversion import cast
from .elementwise import clip
from .reductions import mean
from .shaping import moveaxis

_cosine = Call("cosine_similarity", "CosineSimilarity")
_mean_of_squares = Call("mean_squared_error", "SumSqrElements", {"average": 1})
_sigmoid_cross_entropy = Call("sigmoid_cross_entropy", "SigmoidCrossEntropyWithLogits")


def softmax_cross_entropy(x: Operand, labels: Operand) -> Variable:
    """Mean of -ln softmax x at the labels. x: (n, classes, ...) with classes along axis 1, labels: integers (n, ...).

    Labels that are floating-point are probabilities, in the shape of x (n, classes).
    """
    x, args = variable(x), dict[str, Any]()
    labels = variable(labels, x)
    if labels.dtype.kind == "f":
        labels, args["label_prob"] = cast(labels.detach(), x.dtype), 1
    if x.ndim > 2:
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
    off = variable(x) - y
    near = clip(off, -delta, delta)
    return mean(near * (off - scale(near, 0.5)))


def cosine_similarity(x: Operand, y: Operand) -> Variable:
    """Cosine of the angle between each row of x and that of y. x, y: (n, ...) -> (n,)."""
    return _cosine(x, y)
