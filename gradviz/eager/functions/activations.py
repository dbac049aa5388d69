"""Activations, what layers apply to each element or row; normalizations, numbers brought to a common scale; dropout."""

from typing import Any

import numpy as np

from ...runtime.devices import moved
from ..call import Call
from ..variable import Operand, Variable
from .calling import call, cast, unary, variable
from .elementwise import scale
from .options import no_option, number, whole
from .shaping import moveaxis, reshape

__all__ = [
    "batch_normalization", "clipped_relu", "dropout", "elu", "fixed_batch_normalization", "gelu",
    "group_normalization", "hard_sigmoid", "layer_normalization", "leaky_relu", "local_response_normalization",
    "log_sigmoid", "log_softmax", "logit", "mish", "normalize", "prelu", "relu", "relu6", "selu", "sigmoid",
    "softmax", "softplus", "softsign", "swish",
]  # fmt: skip

relu = unary("relu", "Relu")
sigmoid = unary("sigmoid", "Sigmoid")
hard_sigmoid = unary("hard_sigmoid", "HardSigmoid")
selu = unary("selu", "Selu")
softsign = unary("softsign", "Softsign")
gelu = unary("gelu", "Gelu")
swish = unary("swish", "Swish")
mish = unary("mish", "Mish")
logit = unary("logit", "Logit")

_softplus, _prelu = Call("softplus", "Softplus"), Call("prelu", "PRelu")


def leaky_relu(x: Operand, slope: float = 0.2) -> Variable:
    """x where it is positive, else `slope` · x; the slope must not be negative."""
    return call("leaky_relu", "LeakyRelu", alpha=number("leaky_relu", "slope", slope))(x)


def prelu(x: Operand, slope: Operand) -> Variable:
    """x where it is positive, else slope · x; slope: one number, or one a channel. x: (n, c, ...)."""
    return _prelu(x, slope)


def elu(x: Operand, alpha: float = 1.0) -> Variable:
    """x where it is positive, else alpha · (eˣ - 1)."""
    return call("elu", "Elu", alpha=number("elu", "alpha", alpha))(x)


def relu6(x: Operand) -> Variable:
    """min(max(x, 0), 6)."""
    return clipped_relu(x, 6.0)


def clipped_relu(x: Operand, most: float = 20.0) -> Variable:
    """min(max(x, 0), most)."""
    return call("clipped_relu", "ReluN", n=number("clipped_relu", "most", most))(x)


def softplus(x: Operand, beta: float = 1.0) -> Variable:
    """ln(1 + exp(beta · x)) / beta, without overflow."""
    slope = number("softplus", "beta", beta)
    if not slope:
        raise no_option("softplus", "beta", beta, "other than 0")
    return _softplus(x) if slope == 1 else scale(_softplus(scale(x, slope)), 1 / slope)


def log_sigmoid(x: Operand) -> Variable:
    """ln σ(x) = -ln(1 + e⁻ˣ), without overflow."""
    return scale(_softplus(scale(x, -1.0)), -1.0)


def softmax(x: Operand, axis: int = 1) -> Variable:
    """exp x / Σ exp x along `axis`, without overflow."""
    return _along_last("softmax", "Softmax", x, axis)


def log_softmax(x: Operand, axis: int = 1) -> Variable:
    """ln softmax x = x - ln Σ exp x along `axis`, without overflow."""
    return _along_last("log_softmax", "LogSoftmax", x, axis)


def _along_last(name: str, type: str, x: Operand, axis: int) -> Variable:
    """The table's functions of rows work on all dimensions from an axis on: that is one dimension where it is last."""
    x, axis = variable(x), whole(name, "axis", axis)
    last = x.ndim - 1
    if axis in (last, -1) or not -x.ndim <= axis < x.ndim:
        return call(name, type, axis=axis)(x)
    return moveaxis(call(name, type, axis=last)(moveaxis(x, axis, last)), last, axis)


def layer_normalization(x: Operand, gamma: Operand, beta: Operand, eps: float = 1e-5) -> Variable:
    """Each row less its mean, divided by its standard deviation, times gamma, plus beta. x: (..., n), others: (n,).

    Source: Ba, Kiros, Hinton, Layer Normalization (2016), arXiv:1607.06450.
    """
    x = variable(x)
    args = {"axis": x.ndim - 1, "epsilon": number("layer_normalization", "eps", eps), "elementwise_affine": 1}
    return call("layer_normalization", "LayerNorm", 3, (0,), **args)(x, gamma, beta)


def batch_normalization(x: Operand, gamma: Operand, beta: Operand, eps: float = 2e-5) -> Variable:
    """Each channel less its mean over the batch, divided by its standard deviation, times gamma, plus beta.

    x: (n, c) or (n, c, ...); gamma, beta: (c,).
    Source: Ioffe, Szegedy, Batch Normalization (2015), arXiv:1502.03167.
    """
    x, gamma = variable(x), variable(gamma)
    no_history = moved(np.zeros(gamma.shape, gamma.dtype), x.device)
    of_batch = call("batch_normalization", "SpatialBN", 5, (0,), epsilon=number("batch_normalization", "eps", eps))
    return _by_channel(of_batch, x, gamma, beta, no_history, no_history)


def fixed_batch_normalization(
    x: Operand, gamma: Operand, beta: Operand, mean: Operand, var: Operand, eps: float = 2e-5
) -> Variable:
    """`batch_normalization` with a mean and a variance, (c,), that are given: constants for the gradient."""
    x = variable(x)
    statistics = [cast(variable(statistic, x).detach(), x.dtype) for statistic in (mean, var)]
    name = "fixed_batch_normalization"
    fixed = call(name, "SpatialBN", epsilon=number(name, "eps", eps), is_test=1)
    return _by_channel(fixed, x, gamma, beta, *statistics)


def _by_channel(normalize: Call, x: Variable, *vectors: Operand) -> Variable:
    """The table's normalizations by channel want at least one dimension behind the channels."""
    if x.ndim != 2:
        return normalize(x, *vectors)
    return reshape(normalize(reshape(x, (*x.shape, 1)), *vectors), x.shape)


def group_normalization(x: Operand, groups: int, gamma: Operand, beta: Operand, eps: float = 1e-5) -> Variable:
    """Each group of channels of each image standardized, times gamma, plus beta. x: (n, c, ...), gamma, beta: (c,).

    Source: Wu, He, Group Normalization (2018), arXiv:1803.08494.
    """
    name = "group_normalization"
    args = {"group": whole(name, "groups", groups), "epsilon": number(name, "eps", eps)}
    return call(name, "GroupNorm", 3, (0,), **args)(x, gamma, beta)


def normalize(x: Operand, axis: int = 1) -> Variable:
    """x divided by its Euclidean norm along `axis`; a norm below 10⁻¹² counts as that."""
    return call("normalize", "Normalize", axis=whole("normalize", "axis", axis))(x)


def local_response_normalization(
    x: Operand, n: int = 5, k: float = 2.0, alpha: float = 1e-4, beta: float = 0.75
) -> Variable:
    """x / (k + alpha Σ x²)^beta, the sum over the n channels around each. x: (n, c, h, w).

    Source: Krizhevsky, Sutskever, Hinton, ImageNet classification with deep convolutional neural networks (2012).
    """
    name = "local_response_normalization"
    args: dict[str, Any] = {"size": whole(name, "n", n), "alpha": number(name, "alpha", alpha) * n}
    args |= {"beta": number(name, "beta", beta), "bias": number(name, "k", k)}
    return call(name, "LRN", 2, (0,), **args)(x)


def dropout(x: Operand, ratio: float = 0.5, seed: int | None = None) -> Variable:
    """A part `ratio` of the elements becomes 0, at random, and the others grow by 1 / (1 - ratio).

    Args:
        seed: what is dropped depends on it alone. None: drawn from numpy.random, which numpy.random.seed makes repeat.

    Source: Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov, Dropout (2014).
    """
    drawn = int(np.random.randint(2**31)) if seed is None else whole("dropout", "seed", seed)
    return Call("dropout", "Dropout", {"ratio": number("dropout", "ratio", ratio), "seed": drawn}, 2, (0,))(x)
