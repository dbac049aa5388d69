"""Smooth activations: Gelu, Swish, Mish, Softplus, Softsign, and Logit, which undoes the sigmoid."""

from math import pi, sqrt

import numpy as np

from ..program import Operator
from .elementwise import elementwise_gradient
from .error_function import normal_cdf, normal_density
from .inference import elementwise
from .registry import Array, operator


def logistic(x: Array) -> Array:
    """1 / (1 + e⁻ˣ) for any x without overflow."""
    return np.exp(-np.logaddexp(0, -x))


@operator("Softplus", "x -> y", formula="y = ln(1 + eˣ)", derivative="dx = dy · (1 - e⁻ʸ)", infer=elementwise)
def softplus(op: Operator, x: Array) -> Array:
    """Smooth rectifier, for any x without overflow."""
    return np.logaddexp(0, x)


@elementwise_gradient("Softplus", reads="y, dy")
def softplus_gradient(op: Operator, y: Array, dy: Array) -> Array:
    """Gradient of Softplus from its output."""
    return dy * -np.expm1(-y)


@operator("Softsign", "x -> y", formula="y = x / (1 + |x|)", derivative="dx = dy / (1 + |x|)²", infer=elementwise)
def softsign(op: Operator, x: Array) -> Array:
    """Every element pressed into (-1, 1), slower than tanh does."""
    return x / (1 + np.abs(x))


@elementwise_gradient("Softsign", reads="x, dy")
def softsign_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of Softsign."""
    return dy / np.square(1 + np.abs(x))


@operator("Swish", "x -> y", formula="y = x · σ(x)", derivative="dx = dy · (y + σ(x) (1 - y))", infer=elementwise)
def swish(op: Operator, x: Array) -> Array:
    """Every element times its sigmoid. Source: Ramachandran, Zoph, Le, Searching for activation functions (2017)."""
    return x * logistic(x)


@elementwise_gradient("Swish", reads="x, y, dy")
def swish_gradient(op: Operator, x: Array, y: Array, dy: Array) -> Array:
    """Gradient of Swish from its input and output."""
    return dy * (y + logistic(x) * (1 - y))


@operator(
    "Mish",
    "x -> y",
    formula="y = x · t, t = tanh ln(1 + eˣ)",
    derivative="dx = dy · (t + x · σ(x) (1 - t²))",
    infer=elementwise,
)
def mish(op: Operator, x: Array) -> Array:
    """Every element times the tanh of its softplus. Source: Misra, Mish (2019)."""
    return x * np.tanh(np.logaddexp(0, x))


@elementwise_gradient("Mish", reads="x, y, dy")
def mish_gradient(op: Operator, x: Array, y: Array, dy: Array) -> Array:
    """Gradient of Mish; y / x would be t, but not at 0, so t is computed again."""
    t = np.tanh(np.logaddexp(0, x))
    return dy * (t + x * logistic(x) * (1 - t * t))


FAST_SCALE, FAST_CUBIC = sqrt(2 / pi), 0.044715


@operator(
    "Gelu",
    "x -> y",
    formula="y = x · Φ(x), Φ the normal distribution",
    derivative="dx = dy · (Φ(x) + x · φ(x)), φ = Φ'",
    infer=elementwise,
    args={"fast_gelu": 0},
)
def gelu(op: Operator, x: Array) -> Array:
    """Every element times the probability that a standard normal variable is below it.

    With `fast_gelu`, Φ(x) is approximated by (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2.
    Source: Hendrycks, Gimpel, Gaussian error linear units (2016).
    """
    if op.args.get("fast_gelu", 0):
        return 0.5 * x * (1 + np.tanh(FAST_SCALE * x * (1 + FAST_CUBIC * x * x)))
    return x * normal_cdf(x)


@elementwise_gradient("Gelu", reads="dy, x")
def gelu_gradient(op: Operator, dy: Array, x: Array) -> Array:
    """Gradient of Gelu, of the approximation where that was used."""
    if not op.args.get("fast_gelu", 0):
        return dy * (normal_cdf(x) + x * normal_density(x))
    t = np.tanh(FAST_SCALE * x * (1 + FAST_CUBIC * x * x))
    return 0.5 * dy * (1 + t + x * (1 - t * t) * FAST_SCALE * (1 + 3 * FAST_CUBIC * x * x))


@operator(
    "Logit",
    "x -> y",
    formula="y = ln(p / (1 - p)), p = min(max(x, eps), 1 - eps)",
    derivative="dx = dy / (x (1 - x)) where eps ≤ x ≤ 1 - eps, else 0",
    infer=elementwise,
    args={"eps": 1e-6},
)
def logit(op: Operator, x: Array) -> Array:
    """Log of the odds of each probability, kept `eps` away from 0 and 1."""
    eps = op.args.get("eps", 1e-6)
    p = np.minimum(np.maximum(x, eps), 1 - eps)
    return np.log(p / (1 - p))


@elementwise_gradient("Logit", reads="x, dy")
def logit_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of Logit; 0 where x was clipped."""
    eps = op.args.get("eps", 1e-6)
    p = np.minimum(np.maximum(x, eps), 1 - eps)
    return np.where(x == p, dy / (p * (1 - p)), 0)
