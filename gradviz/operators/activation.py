"""Activations: functions applied to each element or row, whose rules read the output where the derivative allows it."""

import numpy as np

from ..program import Operator
from .gradients import Steps, gradient_of, pointwise
from .inference import as_matrix, canonical_axis, elementwise
from .registry import Array, ArraySpec, Gradients, RuleAnswer, operator, register_gradient

pointwise(
    "Relu",
    "Rectifier: negative elements become 0.",
    ("y = max(x, 0)", lambda op, x: np.maximum(x, 0)),
    ("dx = dy where y > 0, else 0", "y, dy", lambda op, y, dy: np.where(y > 0, dy, 0)),
    note="0 at the corner",
)

pointwise(
    "Sigmoid",
    "Logistic function of each element, for any x without overflow: 1 / (1 + e⁻ˣ) = exp(-log(1 + e⁻ˣ)).",
    ("y = 1 / (1 + e⁻ˣ)", lambda op, x: np.exp(-np.logaddexp(0, -x))),
    ("dx = dy · y (1 - y)", "y, dy", lambda op, y, dy: dy * y * (1 - y)),
    ("∂y = ∂dx · dy · (1 - 2y)", lambda do, both, y: do("Sub", both, do("Scale", do("Mul", both, y), scale=2.0))),
)

pointwise(
    "Tanh",
    "Hyperbolic tangent of each element.",
    ("y = tanh x", lambda op, x: np.tanh(x)),
    ("dx = dy (1 - y²)", "y, dy", lambda op, y, dy: dy * (1 - y * y)),
    ("∂y = -2 ∂dx · dy · y", lambda do, both, y: do("Scale", do("Mul", both, y), scale=-2.0)),
)


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


@gradient_of(
    "Softmax",
    "y, dy -> dx",
    derivative="∂yᵢⱼ = ∂dxᵢⱼ (dyᵢⱼ - Σₖ dyᵢₖ yᵢₖ) - dyᵢⱼ Σₖ ∂dxᵢₖ yᵢₖ, ∂dyᵢⱼ = yᵢⱼ (∂dxᵢⱼ - Σₖ ∂dxᵢₖ yᵢₖ)",
    infer=rows,
)
def softmax_gradient(op: Operator, y: Array, dy: Array) -> Array:
    """Gradient of Softmax from its output."""
    axis = op.args.get("axis", 1)
    y2, dy2 = as_matrix(y, axis), as_matrix(dy, axis)
    return (y2 * (dy2 - (dy2 * y2).sum(axis=1, keepdims=True))).reshape(y.shape)


@register_gradient("SoftmaxGradient")
def softmax_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Of matrices, Σₖ dyᵢₖ yᵢₖ is a DotProduct, by which RowMul multiplies each row."""
    do, blobs = Steps(op), [*op.inputs, g_output[0]]
    y, dy, g_dx = (do("Flatten", blob, axis=op.args.get("axis", 1)) for blob in blobs)
    by_dy, by_g = do("RowMul", g_dx, do("DotProduct", dy, y)), do("RowMul", dy, do("DotProduct", g_dx, y))
    g_y = do("Sub", do("Sub", do("Mul", g_dx, dy), by_dy), by_g)
    return do.answer(do("ResizeLike", g_y, op.inputs[0]), do(op.type, op.inputs[0], g_output[0], **op.args))


@operator(
    "LogSoftmax",
    "x -> y",
    formula="yᵢⱼ = xᵢⱼ - ln Σₖ exp xᵢₖ",
    derivative="dxᵢⱼ = dyᵢⱼ - exp yᵢⱼ · Σₖ dyᵢₖ",
    infer=rows,
    args={"axis": 1},
)
def log_softmax(op: Operator, x: Array) -> Array:
    """Logarithm of Softmax. x: seen as a matrix at `axis`; y has the shape of x.

    Source: Blanchard, Higham, Higham, Accurately computing the log-sum-exp and softmax functions (2021).
    """
    if not x.size:
        return x
    x2 = as_matrix(x, op.args.get("axis", 1))
    shifted = x2 - x2.max(axis=1, keepdims=True)
    return (shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))).reshape(x.shape)


@gradient_of(
    "LogSoftmax",
    "y, dy -> dx",
    derivative="∂dyᵢⱼ = ∂dxᵢⱼ - Σₖ ∂dxᵢₖ exp yᵢₖ, ∂yᵢⱼ = -∂dxᵢⱼ exp yᵢⱼ · Σₖ dyᵢₖ",
    infer=rows,
)
def log_softmax_gradient(op: Operator, y: Array, dy: Array) -> Array:
    """Gradient of LogSoftmax from its output."""
    axis = op.args.get("axis", 1)
    y2, dy2 = as_matrix(y, axis), as_matrix(dy, axis)
    return (dy2 - np.exp(y2) * dy2.sum(axis=1, keepdims=True)).reshape(y.shape)


@register_gradient("LogSoftmaxGradient")
def log_softmax_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """What LogSoftmaxGradient takes away is exp y · Σ dy; for y = 0 it is the sum of each row."""
    do, (y, dy), (of_dx,) = Steps(op), op.inputs, g_output
    weighted = do("Mul", of_dx, do("Exp", y))
    sums = do("Sub", weighted, do("LogSoftmaxGradient", do.fill(y, 0.0), weighted, **op.args))
    taken = do("Sub", dy, do("LogSoftmaxGradient", y, dy, **op.args))
    return do.answer(do("Negative", do("Mul", of_dx, taken)), do("Sub", of_dx, sums))
