"""Activations: functions applied to each element or row, whose rules read the output where the derivative allows it."""

from collections.abc import Mapping

import numpy as np

from ..program import Operator
from .gradients import gradient_of, second_derivative, straight_pieces
from .inference import elementwise
from .matrices import as_matrix, canonical_axis
from .registry import Array, ArraySpec, operator
from .steps import Steps


@operator("Relu", "x -> y", formula="y = max(x, 0)", derivative="dx = dy where y > 0, else 0", infer=elementwise)
def relu(op: Operator, x: Array) -> Array:
    """Rectifier: negative elements become 0."""
    return np.maximum(x, 0)


@gradient_of("Relu", "y, dy -> dx", derivative="∂dy = ∂dx where y > 0, else 0")
def relu_gradient(op: Operator, y: Array, dy: Array) -> Array:
    """Gradient of Relu from its output; 0 at the corner."""
    return np.where(y > 0, dy, 0)


straight_pieces("Relu")


@operator("Sigmoid", "x -> y", formula="y = 1 / (1 + e⁻ˣ)", derivative="dx = dy · y (1 - y)", infer=elementwise)
def sigmoid(op: Operator, x: Array) -> Array:
    """Logistic function of each element, for any x without overflow: 1 / (1 + e⁻ˣ) = exp(-log(1 + e⁻ˣ))."""
    return np.exp(-np.logaddexp(0, -x))


@gradient_of("Sigmoid", "y, dy -> dx", derivative="∂dy = ∂dx · y (1 - y), ∂y = ∂dx · dy · (1 - 2y)")
def sigmoid_gradient(op: Operator, y: Array, dy: Array) -> Array:
    """Gradient of Sigmoid from its output."""
    return dy * y * (1 - y)


@second_derivative("Sigmoid")
def sigmoid_bend(do: Steps, both: str, y: str) -> Mapping[str, str]:
    return {"y": do("Sub", both, do("Scale", do("Mul", both, y), scale=2.0))}


@operator("Tanh", "x -> y", formula="y = tanh x", derivative="dx = dy (1 - y²)", infer=elementwise)
def tanh(op: Operator, x: Array) -> Array:
    """Hyperbolic tangent of each element."""
    return np.tanh(x)


@gradient_of("Tanh", "y, dy -> dx", derivative="∂dy = ∂dx (1 - y²), ∂y = -2 ∂dx · dy · y")
def tanh_gradient(op: Operator, y: Array, dy: Array) -> Array:
    """Gradient of Tanh from its output."""
    return dy * (1 - y * y)


@second_derivative("Tanh")
def tanh_bend(do: Steps, both: str, y: str) -> Mapping[str, str]:
    return {"y": do("Scale", do("Mul", both, y), scale=-2.0)}


def rows(op: Operator, *specs: ArraySpec) -> ArraySpec:
    """Inference for functions of rows: like `elementwise`, and the argument `axis` must exist."""
    canonical_axis(op.args.get("axis", 1), specs[0].shape)
    return elementwise(op, *specs)


@operator(
    "Softmax",
    "x -> y",
    formula="yᵢⱼ = exp xᵢⱼ / Σₖ exp xᵢₖ",
    derivative="dxᵢⱼ = yᵢⱼ (dyᵢⱼ - Σₖ dyᵢₖ yᵢₖ)",
    infer=rows,
    args={"axis": 1},
)
def softmax(op: Operator, x: Array) -> Array:
    """Each row as probabilities that sum to 1. x: seen as a matrix at `axis`; y has the shape of x.

    The row's maximum is subtracted first, so that exp does not overflow.
    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 6.2.2.3.
    """
    if not x.size:
        return x
    x2 = as_matrix(x, op.args.get("axis", 1))
    y = x2 - x2.max(axis=1, keepdims=True)
    np.exp(y, out=y)
    y /= y.sum(axis=1, keepdims=True)
    return y.reshape(x.shape)


SOFTMAX_SECOND = "∂yᵢⱼ = ∂dxᵢⱼ (dyᵢⱼ - Σₖ dyᵢₖ yᵢₖ) - dyᵢⱼ Σₖ ∂dxᵢₖ yᵢₖ, ∂dyᵢⱼ = yᵢⱼ (∂dxᵢⱼ - Σₖ ∂dxᵢₖ yᵢₖ)"


@gradient_of("Softmax", "y, dy -> dx", derivative=SOFTMAX_SECOND, infer=rows)
def softmax_gradient(op: Operator, y: Array, dy: Array) -> Array:
    """Gradient of Softmax from its output."""
    axis = op.args.get("axis", 1)
    y2, dy2 = as_matrix(y, axis), as_matrix(dy, axis)
    return (y2 * (dy2 - (dy2 * y2).sum(axis=1, keepdims=True))).reshape(y.shape)


def rows_twice(op: Operator, *specs: ArraySpec) -> tuple[ArraySpec, ArraySpec]:
    """Inference of SoftmaxGradientGradient."""
    return rows(op, *specs), rows(op, specs[0], specs[2])


@gradient_of("SoftmaxGradient", "y, dy, ∂dx -> ∂y, ∂dy", infer=rows_twice)
def softmax_gradient_gradient(op: Operator, y: Array, dy: Array, g_dx: Array) -> tuple[Array, Array]:
    """Gradients of SoftmaxGradient."""
    y2, dy2, g2 = (as_matrix(array, op.args.get("axis", 1)) for array in (y, dy, g_dx))
    mean_dy, mean_g = ((array * y2).sum(axis=1, keepdims=True) for array in (dy2, g2))
    return (g2 * (dy2 - mean_dy) - dy2 * mean_g).reshape(y.shape), (y2 * (g2 - mean_g)).reshape(y.shape)
