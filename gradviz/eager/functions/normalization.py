"""Normalizations: numbers brought to a common scale; and dropout."""

import numpy as np

from ...runtime.devices import moved
from ..call import Call
from ..variable import Operand, Variable
from .calling import call, variable
from .conversion import cast
from .shaping import reshape


def layer_normalization(x: Operand, gamma: Operand, beta: Operand, eps: float = 1e-5) -> Variable:
    """Each row less its mean, divided by its standard deviation, times gamma, plus beta. x: (..., n), others: (n,).

    Source: Ba, Kiros, Hinton, Layer Normalization (2016), arXiv:1607.06450.
    """
    x = variable(x)
    args = {"axis": x.ndim - 1, "epsilon": float(eps), "elementwise_affine": 1}
    return call("layer_normalization", "LayerNorm", 3, (0,), **args)(x, gamma, beta)


def batch_normalization(x: Operand, gamma: Operand, beta: Operand, eps: float = 2e-5) -> Variable:
    """Each channel less its mean over the batch, divided by its standard deviation, times gamma, plus beta.

    x: (n, c) or (n, c, ...); gamma, beta: (c,).
    Source: Ioffe, Szegedy, Batch Normalization (2015), arXiv:1502.03167.
    """
    x, gamma = variable(x), variable(gamma)
    no_history = moved(np.zeros(gamma.shape, gamma.dtype), x.device)
    of_batch = call("batch_normalization", "SpatialBN", 5, (0,), epsilon=float(eps))
    return _by_channel(of_batch, x, gamma, beta, no_history, no_history)


def fixed_batch_normalization(
    x: Operand, gamma: Operand, beta: Operand, mean: Operand, var: Operand, eps: float = 2e-5
) -> Variable:
    """`batch_normalization` with a mean and a variance, (c,), that are given: constants for the gradient."""
    x = variable(x)
    statistics = [cast(variable(statistic, x).detach(), x.dtype) for statistic in (mean, var)]
    fixed = call("fixed_batch_normalization", "SpatialBN", epsilon=float(eps), is_test=1)
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
    return call("group_normalization", "GroupNorm", 3, (0,), group=int(groups), epsilon=float(eps))(x, gamma, beta)


def normalize(x: Operand, axis: int = 1) -> Variable:
    """x divided by its Euclidean norm along `axis`; a norm below 10⁻¹² counts as that."""
    return call("normalize", "Normalize", axis=int(axis))(x)


def local_response_normalization(
    x: Operand, n: int = 5, k: float = 2.0, alpha: float = 1e-4, beta: float = 0.75
) -> Variable:
    """x / (k + alpha Σ x²)^beta, the sum over the n channels around each. x: (n, c, h, w).

    Source: Krizhevsky, Sutskever, Hinton, ImageNet classification with deep convolutional neural networks (2012).
    """
    args = {"size": int(n), "alpha": float(alpha * n), "beta": float(beta), "bias": float(k)}
    return call("local_response_normalization", "LRN", 2, (0,), **args)(x)


def dropout(x: Operand, ratio: float = 0.5, seed: int | None = None) -> Variable:
    """A part `ratio` of the elements becomes 0, at random, and the others grow by 1 / (1 - ratio).

    Args:
        seed: what is dropped depends on it alone. None: drawn from numpy.random, which numpy.random.seed makes repeat.

    Source: Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov, Dropout (2014).
    """
    drawn = int(np.random.randint(2**31)) if seed is None else int(seed)
    return Call("dropout", "Dropout", {"ratio": float(ratio), "seed": drawn}, 2, (0,))(x)
