"""Activations: rectifiers, clipped and bent ones, sigmoid and tanh, and softmax of rows.

Their gradients read the output where it tells the slope; at a corner it is that of the lower or constant piece.
"""

from math import inf, prod
from typing import Any

import numpy as np

from ..program import Operator
from .arguments import bad_argument
from .gradients import Steps, by, gradient_of, op_gradient, pointwise
from .inference import as_matrix, canonical_axis, chosen, elementwise, like_forward, like_last, misfit, result_dtype
from .registry import Array, ArraySpec, Gradients, Inference, RuleAnswer, in_single, operator, register_gradient
from .sums import summed

pointwise(
    "Relu",
    "Rectifier: negative elements become 0.",
    ("y = max(x, 0)", lambda op, x: np.maximum(x, 0)),
    ("dx = dy where y > 0, else 0", "y, dy", lambda op, y, dy: chosen(dy, y > 0)),
    note="0 at the corner",
)

pointwise(
    "Sigmoid",
    "Logistic function of each element, for any x without overflow: 1 / (1 + e⁻ˣ) = exp(-log(1 + e⁻ˣ)).",
    ("y = 1 / (1 + e⁻ˣ)", in_single(lambda op, x: np.exp(-np.logaddexp(0, -x)))),
    ("dx = dy · y (1 - y)", "y, dy", in_single(lambda op, y, dy: dy * y * (1 - y))),
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
    "Softmax", "x -> y", "yᵢⱼ = exp xᵢⱼ / Σₖ exp xᵢₖ", "dxᵢⱼ = yᵢⱼ (dyᵢⱼ - Σₖ dyᵢₖ yᵢₖ)", infer=rows, args={"axis": 1}
)
@in_single
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
    y /= summed(y, 1, keepdims=True)
    return y.reshape(x.shape)


@gradient_of(
    "Softmax",
    "y, dy -> dx",
    "∂yᵢⱼ = ∂dxᵢⱼ (dyᵢⱼ - Σₖ dyᵢₖ yᵢₖ) - dyᵢⱼ Σₖ ∂dxᵢₖ yᵢₖ, ∂dyᵢⱼ = yᵢⱼ (∂dxᵢⱼ - Σₖ ∂dxᵢₖ yᵢₖ)",
    infer=rows,
)
@in_single
def softmax_gradient(op: Operator, y: Array, dy: Array) -> Array:
    axis = op.args.get("axis", 1)
    y2, dy2 = as_matrix(y, axis), as_matrix(dy, axis)
    return (y2 * (dy2 - summed(dy2 * y2, 1, keepdims=True))).reshape(y.shape)


@register_gradient("SoftmaxGradient")
def softmax_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Of matrices, Σₖ dyᵢₖ yᵢₖ is a DotProduct, by which RowMul multiplies each row."""
    do, blobs = Steps(op), [*op.inputs, g_output[0]]
    y, dy, g_dx = (do("Flatten", blob, axis=op.args.get("axis", 1)) for blob in blobs)
    by_dy, by_g = do("RowMul", g_dx, do("DotProduct", dy, y)), do("RowMul", dy, do("DotProduct", g_dx, y))
    g_y = do("Sub", do("Sub", do("Mul", g_dx, dy), by_dy), by_g)
    return do.answer(do("ResizeLike", g_y, op.inputs[0]), do(op.type, op.inputs[0], g_output[0], **op.args))


@operator(
    "LogSoftmax", "x -> y", "yᵢⱼ = xᵢⱼ - ln Σₖ exp xᵢₖ", "dxᵢⱼ = dyᵢⱼ - exp yᵢⱼ · Σₖ dyᵢₖ", infer=rows, args={"axis": 1}
)
@in_single
def log_softmax(op: Operator, x: Array) -> Array:
    """Logarithm of Softmax. x: seen as a matrix at `axis`; y has the shape of x.

    Source: Blanchard, Higham, Higham, Accurately computing the log-sum-exp and softmax functions (2021).
    """
    if not x.size:
        return x
    x2 = as_matrix(x, op.args.get("axis", 1))
    shifted = x2 - x2.max(axis=1, keepdims=True)
    return (shifted - np.log(summed(np.exp(shifted), 1, keepdims=True))).reshape(x.shape)


@gradient_of(
    "LogSoftmax", "y, dy -> dx", "∂dyᵢⱼ = ∂dxᵢⱼ - Σₖ ∂dxᵢₖ exp yᵢₖ, ∂yᵢⱼ = -∂dxᵢⱼ exp yᵢⱼ · Σₖ dyᵢₖ", infer=rows
)
@in_single
def log_softmax_gradient(op: Operator, y: Array, dy: Array) -> Array:
    axis = op.args.get("axis", 1)
    y2, dy2 = as_matrix(y, axis), as_matrix(dy, axis)
    return (dy2 - np.exp(y2) * summed(dy2, 1, keepdims=True)).reshape(y.shape)


@register_gradient("LogSoftmaxGradient")
def log_softmax_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """What LogSoftmaxGradient takes away is exp y · Σ dy; for y = 0 it is the sum of each row."""
    do, (y, dy), (of_dx,) = Steps(op), op.inputs, g_output
    weighted = do("Mul", of_dx, do("Exp", y))
    sums = do("Sub", weighted, do("LogSoftmaxGradient", do.fill(y, 0.0), weighted, **op.args))
    taken = do("Sub", dy, do("LogSoftmaxGradient", y, dy, **op.args))
    return do.answer(do("Negative", do("Mul", of_dx, taken)), do("Sub", of_dx, sums))


def at_least_zero(name: str, default: float) -> Inference:
    """Inference of activations whose argument `name` must not be negative: else y would not tell the piece."""

    def infer(op: Operator, *specs: ArraySpec) -> ArraySpec:
        not_negative(op, name, default)
        return elementwise(op, *specs)

    return infer


def not_negative(op: Operator, name: str, default: float) -> None:
    """Raise RunError ``bad_argument`` where an argument is below 0."""
    if not op.args.get(name, default) >= 0:
        raise bad_argument(op, name, "must not be negative", f"Leave it out for its default, {default}.")


pointwise(
    "LeakyRelu",
    "Rectifier that lets a part `alpha` of negative elements through.",
    ("y = x where x > 0, else alpha · x", lambda op, x: np.where(x > 0, x, x * op.args.get("alpha", 0.01))),
    (
        "dx = dy where y > 0, else alpha · dy",
        "y, dy",
        lambda op, y, dy: np.where(y > 0, dy, dy * op.args.get("alpha", 0.01)),
    ),
    infer=at_least_zero("alpha", 0.01),
    args={"alpha": 0.01},
)


def elu_bend(do: Steps, both: str, y: str) -> str:
    return do("Sub", both, do("ReluGradient", y, both))


pointwise(
    "Elu",
    "Rectifier that bends negative elements towards -alpha. Source: Clevert, Unterthiner, Hochreiter (2016).",
    (
        "y = x where x > 0, else alpha · (eˣ - 1)",
        lambda op, x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)) * op.args.get("alpha", 1.0)),
    ),
    (
        "dx = dy where y > 0, else dy · (y + alpha)",
        "y, dy",
        lambda op, y, dy: np.where(y > 0, dy, dy * (y + op.args.get("alpha", 1.0))),
    ),
    ("∂y = ∂dx · dy where y ≤ 0, else 0", elu_bend),
    infer=at_least_zero("alpha", 1.0),
    args={"alpha": 1.0},
    note="as exact as y + alpha is once y is rounded",
)

SELU_ARGS: dict[str, Any] = {"alpha": 1.6732632423543772848170429916717, "scale": 1.0507009873554804934193349852946}


def selu_args(op: Operator) -> tuple[float, float]:
    """(alpha, scale) of a Selu."""
    return op.args.get("alpha", SELU_ARGS["alpha"]), op.args.get("scale", SELU_ARGS["scale"])


def selu_spec(op: Operator, *specs: ArraySpec) -> ArraySpec:
    """Inference of Selu: with a negative alpha or scale, y would not tell the piece."""
    for name, default in SELU_ARGS.items():
        not_negative(op, name, default)
    return elementwise(op, *specs)


def selu(op: Operator, x: Array) -> Array:
    alpha, scale = selu_args(op)
    return np.where(x > 0, np.maximum(x, 0) * scale, np.expm1(np.minimum(x, 0)) * (alpha * scale))


def selu_gradient(op: Operator, y: Array, dy: Array) -> Array:
    alpha, scale = selu_args(op)
    return np.where(y > 0, dy * scale, dy * (y + alpha * scale))


pointwise(
    "Selu",
    "Elu in the scale that keeps mean 0 and variance 1. Source: Klambauer et al., Self-normalizing networks (2017).",
    ("y = scale · (x where x > 0, else alpha · (eˣ - 1))", selu),
    ("dx = scale · dy where y > 0, else dy · (y + scale · alpha)", "y, dy", selu_gradient),
    ("∂y = ∂dx · dy where y ≤ 0, else 0", elu_bend),
    infer=selu_spec,
    args=SELU_ARGS,
    note="as exact as y + scale · alpha is once y is rounded",
)


@operator(
    "ThresholdedRelu",
    "x -> y",
    "y = x where x > alpha, else 0",
    "dx = dy where x > alpha, else 0",
    infer=elementwise,
    args={"alpha": 1.0},
)
def thresholded_relu(op: Operator, x: Array) -> Array:
    """Elements above `alpha`; the others become 0."""
    return np.where(x > op.args.get("alpha", 1.0), x, 0)


def thresholded_relu_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """With `alpha` below 0, y is 0 at x = 0 as well as below `alpha`, so that x is asked."""
    alpha = op.args.get("alpha", 1.0)
    if alpha >= 0:
        return op_gradient(op, [op.outputs[0], g_output[0]])
    do, x = Steps(op), op.inputs[0]
    return do.answer(do("ReluGradient", do("Sub", x, do.fill(x, alpha)), g_output[0]))


@gradient_of(
    "ThresholdedRelu",
    "y, dy -> dx",
    "∂dy = ∂dx where y ≠ 0, else 0",
    formula="dx = dy where y ≠ 0, else 0",
    infer=like_last,
    rule=thresholded_relu_rule,
    second=by("ThresholdedReluGradient", "y, ∂dx -> ∂dy"),
)
def thresholded_relu_gradient(op: Operator, y: Array, dy: Array) -> Array:
    """Gradient of ThresholdedRelu from its output, for an `alpha` of at least 0."""
    return chosen(dy, y != 0)


pointwise(
    "ReluN",
    "Rectifier that stops at `n`.",
    ("y = min(max(x, 0), n)", lambda op, x: np.minimum(np.maximum(x, 0), op.args.get("n", 6.0))),
    (
        "dx = dy where 0 < y < n, else 0",
        "y, dy",
        lambda op, y, dy: chosen(dy, (y > 0) & (y < op.args.get("n", 6.0))),
    ),
    args={"n": 6.0},
)


def clip(op: Operator, x: Array) -> Array:
    return np.minimum(np.maximum(x, op.args.get("min", -inf)), op.args.get("max", inf))


def clip_gradient(op: Operator, y: Array, dy: Array) -> Array:
    least, most = op.args.get("min", -inf), op.args.get("max", inf)
    above, below = (y > least) | (least == -inf), (y < most) | (most == inf)
    return chosen(dy, above & below)


pointwise(
    "Clip",
    "Elements kept between `min` and `max`; one of them that is infinite is no bound.",
    ("y = min(max(x, min), max)", clip),
    ("dx = dy where min < y < max, else 0", "y, dy", clip_gradient),
    args={"min": -inf, "max": inf},
    note="0 at the bounds",
)


def hard_sigmoid(op: Operator, x: Array) -> Array:
    return np.minimum(np.maximum(x * op.args.get("alpha", 0.2) + op.args.get("beta", 0.5), 0), 1)


pointwise(
    "HardSigmoid",
    "Sigmoid made of three straight pieces.",
    ("y = min(max(alpha · x + beta, 0), 1)", hard_sigmoid),
    (
        "dx = alpha · dy where 0 < y < 1, else 0",
        "y, dy",
        lambda op, y, dy: np.where((y > 0) & (y < 1), dy * op.args.get("alpha", 0.2), 0),
    ),
    args={"alpha": 0.2, "beta": 0.5},
)


def slope_shape(op: Operator, x: tuple[int, ...], slope: tuple[int, ...]) -> tuple[int, ...]:
    """The shape in which the slope broadcasts against x: one for all, or one a channel.

    Raises:
        RunError: ``shape_mismatch``.
    """
    if prod(slope) == 1:
        return ()
    axis = 1 if op.args.get("order", "NCHW") == "NCHW" else len(x) - 1
    if not 0 <= axis < len(x) or slope != (x[axis],):
        raise misfit(f"slope must have one element, or one a channel of x {x} on axis {axis}; got {slope}.")
    return (*slope, *[1] * (len(x) - axis - 1))


def prelu_spec(op: Operator, x: ArraySpec, slope: ArraySpec) -> ArraySpec:
    slope_shape(op, x.shape, slope.shape)
    elementwise(op, slope)
    return elementwise(op, x)._replace(dtype=result_dtype(x, slope))


@operator(
    "PRelu",
    "x, slope -> y",
    "y = x where x > 0, else slope · x",
    "dx = dy where x > 0, else slope · dy; d slope = Σ dy · x where x ≤ 0",
    infer=prelu_spec,
    args={"order": "NCHW"},
)
def prelu(op: Operator, x: Array, slope: Array) -> Array:
    """LeakyRelu with a slope to learn: one for all, or one a channel, (c,). x: (n, c, ...), with order NHWC (..., c).

    Source: He, Zhang, Ren, Sun, Delving deep into rectifiers (2015).
    """
    return np.where(x > 0, x, x * slope.reshape(slope_shape(op, x.shape, slope.shape)))


@gradient_of(
    "PRelu",
    "y, dy, x, slope -> dx, dslope",
    "∂dy = ∂dx where x > 0, else slope · ∂dx + x · ∂dslope; ∂x = dy · ∂dslope, ∂slope = Σ dy · ∂dx where x ≤ 0, else 0",
    infer=like_forward("dx: dy slope; dslope: dy x"),
)
def prelu_gradient(op: Operator, y: Array, dy: Array, x: Array, slope: Array) -> tuple[Array, Array]:
    """Gradients of PRelu; it reads x, as the sign of y tells the piece only where the slope is positive."""
    laid = slope_shape(op, x.shape, slope.shape)
    channel = x.ndim - len(laid)
    others = tuple(axis for axis in range(x.ndim) if not laid or axis != channel)
    dslope = summed(np.where(x > 0, 0, dy * x), others)
    return np.where(x > 0, dy, dy * slope.reshape(laid)), dslope.reshape(slope.shape)


@register_gradient("PReluGradient")
def prelu_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Where x ≤ 0, dx is slope · dy and dslope the sum of x · dy."""
    do, (y, dy, x, slope) = Steps(op), op.inputs
    g_dx, g_dslope = do.or_zeros(g_output, [x, slope])
    along = {"broadcast": 1, "axis": 1 if op.args.get("order", "NCHW") == "NCHW" else -1}
    zero = do.fill(x, 0.0)
    is_below = do("LE", x, zero)
    dy_below, x_below = (do("Where", is_below, blob, zero) for blob in (dy, x))
    by_dx, _ = do.several(2, op.type, y, g_dx, x, slope, **op.args)
    g_dy = do("Add", by_dx, do("Mul", x_below, g_dslope, **along))
    _, g_slope = do.several(2, "MulGradient", g_dx, dy_below, slope, **along)
    return do.answer(None, g_dy, do("Mul", dy_below, g_dslope, **along), g_slope)
