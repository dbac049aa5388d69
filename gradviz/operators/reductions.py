"""Reductions along chosen axes: sum, mean, largest, smallest, norms and moments, and how a gradient spreads back.

With `axes` empty all dimensions are reduced; with keepdims=1 (the default) each reduced one stays, of size 1.
"""

from typing import Any

import numpy as np

from ..program import Operator
from .gradients import Steps, by, gradient_of, op_gradient
from .inference import canonical_axis, like_forward, misfit, need_floats
from .registry import Array, ArraySpec, Gradients, RuleAnswer, each_of, in_single, operator, register_gradient
from .shaping import with_zeros
from .sums import averaged, summed

ARGS: dict[str, Any] = {"axes": (), "keepdims": 1}


def reduced_axes(op: Operator, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that `op` reduces, counted from the front."""
    argument = op.args.get("axes", ())
    axes = {canonical_axis(axis, shape) for axis in argument}
    if len(axes) < len(argument):
        raise misfit(f"axes {list(argument)} name a dimension of {shape} twice.", "Name each axis once.")
    return tuple(sorted(axes)) or tuple(range(len(shape)))


def column_shape(op: Operator, shape: tuple[int, ...]) -> tuple[int, ...]:
    """`shape` with 1 for each reduced axis: the shape in which what was reduced broadcasts against x."""
    axes = reduced_axes(op, shape)
    return tuple(1 if axis in axes else size for axis, size in enumerate(shape))


def reduced_shape(op: Operator, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of what `op` makes of an array of `shape`."""
    if op.args.get("keepdims", 1):
        return column_shape(op, shape)
    axes = reduced_axes(op, shape)
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def count(x: Array, y: Array) -> int:
    """How many elements of x are reduced to one of y; at least 1, so that the mean of none is 0."""
    return max(int(x.size) // max(int(y.size), 1), 1)


def along(op: Operator) -> bool:
    """The keepdims of numpy's reductions."""
    return bool(op.args.get("keepdims", 1))


def sum_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    return ArraySpec(reduced_shape(op, x.shape), x.dtype)


def float_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    need_floats(op, (x,))
    return sum_spec(op, x)


def extremum_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    """Inference of ReduceMax and ReduceMin: there must be something to choose from."""
    if any(x.shape[axis] == 0 for axis in reduced_axes(op, x.shape)):
        raise misfit(f"x of shape {x.shape} has no elements along the axes {list(reduced_axes(op, x.shape))}.")
    return sum_spec(op, x)


def spread(op: Operator, reduced: Array, x: Array) -> Array:
    """`reduced` where it broadcasts against x."""
    return reduced if reduced.ndim == x.ndim else reduced.reshape(column_shape(op, x.shape))


def filled(gradient: Array, x: Array) -> Array:
    """`gradient` stretched to the shape of x."""
    dx = np.empty_like(x, dtype=gradient.dtype)
    dx[...] = gradient
    return dx


@operator("ReduceSum", "x -> y", "y = Σ x", "dx = dy", infer=sum_spec, args=ARGS)
def reduce_sum(op: Operator, x: Array) -> Array:
    """Sum over `axes`, in the dtype of x. x: any shape."""
    return summed(x, reduced_axes(op, x.shape), keepdims=along(op))


@gradient_of("ReduceSum", "dy, x, y -> dx", "∂dy = Σ ∂dx", infer=like_forward("dy"), second=by("", "∂dx -> ∂dy"))
def reduce_sum_gradient(op: Operator, dy: Array, x: Array, y: Array) -> Array:
    return filled(spread(op, dy, x), x)


@operator("ReduceMean", "x -> y", "y = Σ x / n", "dx = dy / n", infer=float_spec, args=ARGS)
@in_single
def reduce_mean(op: Operator, x: Array) -> Array:
    """Mean over `axes`; 0 where there is nothing to average. x: any shape."""
    return averaged(x, reduced_axes(op, x.shape), keepdims=along(op))


@gradient_of(
    "ReduceMean",
    "dy, x, y -> dx",
    "∂dy = Σ ∂dx / n",
    infer=like_forward("dy"),
    second=by("", "∂dx -> ∂dy"),
)
def reduce_mean_gradient(op: Operator, dy: Array, x: Array, y: Array) -> Array:
    return filled(spread(op, dy, x) / count(x, dy), x)


@operator(
    "ReduceMax",
    "x -> y",
    "y = max x",
    "dx = dy where x = y, shared equally where several are largest",
    infer=extremum_spec,
    args=ARGS,
)
def reduce_max(op: Operator, x: Array) -> Array:
    """Largest element over `axes`. x: any shape, something along each reduced axis."""
    return x.max(axis=reduced_axes(op, x.shape), keepdims=along(op))


@operator(
    "ReduceMin",
    "x -> y",
    "y = min x",
    "dx = dy where x = y, shared equally where several are smallest",
    infer=extremum_spec,
    args=ARGS,
)
def reduce_min(op: Operator, x: Array) -> Array:
    """Smallest element over `axes`. x: any shape, something along each reduced axis."""
    return x.min(axis=reduced_axes(op, x.shape), keepdims=along(op))


def shared(dy: Array, x: Array, y: Array, axes: tuple[int, ...], among: Array | None = None) -> Array:
    """dy, divided equally among the elements of x along `axes` that equal y, 0 elsewhere.

    Args:
        among: where given, the elements that count.
    """
    hit = x == y if among is None else (x == y) & among
    share = (dy / np.maximum(hit.sum(axis=axes, keepdims=True), 1)).astype(dy.dtype)
    return np.where(hit, share, 0)


@each_of(
    ("Max", "Min"),
    gradient_of,
    "Reduce{}",
    "dy, x, y -> dx",
    "∂dy = Σ ∂dx where x = y, equal ones by their share",
    infer=like_forward("dy"),
)
def reduce_extremum_gradient(op: Operator, dy: Array, x: Array, y: Array) -> Array:
    return shared(spread(op, dy, x), x, spread(op, y, x), reduced_axes(op, x.shape))


@operator("ReduceL1", "x -> y", "y = Σ |x|", "dx = dy · sign x", infer=float_spec, args=ARGS)
def reduce_l1(op: Operator, x: Array) -> Array:
    """Sum of magnitudes over `axes`. x: any shape."""
    return summed(np.abs(x), reduced_axes(op, x.shape), keepdims=along(op))


@gradient_of("ReduceL1", "dy, x, y -> dx", "∂dy = Σ ∂dx · sign x", infer=like_forward("dy x"))
def reduce_l1_gradient(op: Operator, dy: Array, x: Array, y: Array) -> Array:
    """Gradient of ReduceL1; 0 where x is 0."""
    return spread(op, dy, x) * np.sign(x)


@operator("ReduceL2", "x -> y", "y = √Σ x²", "dx = dy · x / y, 0 where y = 0", infer=float_spec, args=ARGS)
@in_single
def reduce_l2(op: Operator, x: Array) -> Array:
    """Euclidean norm over `axes`. x: any shape."""
    return np.sqrt(summed(x * x, reduced_axes(op, x.shape), keepdims=along(op)))


@gradient_of(
    "ReduceL2",
    "dy, x, y -> dx",
    "∂dy = Σ ∂dx · x / y, ∂x = dy · ∂dx / y, ∂y = -Σ ∂x · x / y, 0 where y = 0",
)
@in_single
def reduce_l2_gradient(op: Operator, dy: Array, x: Array, y: Array) -> Array:
    return spread(op, np.where(y == 0, 0, dy / np.where(y == 0, 1, y)), x) * x


@register_gradient("ReduceMaxGradient")
@register_gradient("ReduceMinGradient")
def extremum_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """The gradient of ones tells the share of each element."""
    do, (_, x, y) = Steps(op), op.inputs
    shares = do(op.type, do.fill(y, 1.0), x, y, **op.args)
    return do.answer(do("ReduceSum", do("Mul", g_output[0], shares), **op.args))


@register_gradient("ReduceL1Gradient")
def reduce_l1_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    do, (_, x, _) = Steps(op), op.inputs
    return do.answer(do("ReduceSum", do("AbsGradient", x, g_output[0]), **op.args))


@register_gradient("ReduceL2Gradient")
def reduce_l2_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Every quotient is a ReduceL2Gradient, which is 0 where y is."""
    do, (dy, x, y), g_dx = Steps(op), op.inputs, g_output[0]
    direction = do("ReduceL2Gradient", do.fill(y, 1.0), x, y, **op.args)
    g_dy = do("ReduceSum", do("Mul", g_dx, direction), **op.args)
    g_x = do("ReduceL2Gradient", dy, g_dx, y, **op.args)
    g_y = do("Negative", do("ReduceSum", do("Mul", g_x, direction), **op.args))
    return do.answer(g_dy, g_x, g_y)


@operator(
    "Moments",
    "x -> mean, variance",
    "mean = Σ x / n, variance = Σ (x - mean)² / n",
    "dx = (dmean + 2 dvariance (x - mean)) / n",
    infer=lambda op, x: (float_spec(op, x),) * 2,
    args=ARGS,
)
@in_single
def moments(op: Operator, x: Array) -> tuple[Array, Array]:
    """Mean and variance (of the n elements, not n - 1) over `axes`. x: any shape."""
    axes = reduced_axes(op, x.shape)
    mean = averaged(x, axes, keepdims=True)
    off = x - mean
    variance = averaged(off * off, axes, keepdims=along(op))
    return mean.reshape(variance.shape), variance


def moments_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """A moment without gradient contributes zeros of its shape."""
    fills, both = with_zeros(op, g_output)
    gradient_op, g_input = op_gradient(op, [*both, op.inputs[0], op.outputs[0]])
    return [*fills, gradient_op], g_input


@gradient_of(
    "Moments",
    "dmean, dvariance, x, mean -> dx",
    "∂dmean = Σ ∂dx / n, ∂dvariance = 2 Σ ∂dx (x - mean) / n, ∂x = 2 dvariance · ∂dx / n, ∂mean = -Σ ∂x",
    rule=moments_rule,
)
@in_single
def moments_gradient(op: Operator, dmean: Array, dvariance: Array, x: Array, mean: Array) -> Array:
    """Gradient of Moments; the mean in the variance adds nothing, for deviations from it sum to 0."""
    off = x - spread(op, mean, x)
    return (spread(op, dmean, x) + 2 * spread(op, dvariance, x) * off) / count(x, mean)


@register_gradient("MomentsGradient")
def moments_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """With dmean = 0, MomentsGradient is 2 dvariance (x - mean) / n: taken of dvariance = 1, and of x - mean = ∂dx."""
    do, (_, dvariance, x, mean), g_dx = Steps(op), op.inputs, g_output[0]
    none, one = do.fill(mean, 0.0), do.fill(mean, 1.0)
    slope = do("MomentsGradient", none, one, x, mean, **op.args)
    g_dmean, g_dvariance = do("ReduceMean", g_dx, **op.args), do("ReduceSum", do("Mul", g_dx, slope), **op.args)
    g_x = do("MomentsGradient", none, dvariance, g_dx, none, **op.args)
    return do.answer(g_dmean, g_dvariance, g_x, do("Negative", do("ReduceSum", g_x, **op.args)))


def log_sum_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    need_floats(op, (x,))
    return extremum_spec(op, x)


@operator("ReduceLogSumExp", "x -> y", "y = ln Σ exp x", "dx = dy · exp x / Σ exp x", infer=log_sum_spec, args=ARGS)
@in_single
def reduce_log_sum_exp(op: Operator, x: Array) -> Array:
    """Logarithm of the sum of exponentials over `axes`. x: any shape, something along each reduced axis.

    The greatest element m is taken out of it first: ln Σ eˣ = m + ln Σ exp(x - m), without overflow.
    """
    terms, greatest = exponentials(op, x)
    total = summed(terms, reduced_axes(op, x.shape), keepdims=along(op))
    return np.log(total) + greatest.reshape(total.shape)


def exponentials(op: Operator, x: Array) -> tuple[Array, Array]:
    """exp(x - m) and m, the greatest element along the axes, which stay with size 1; 0 where it is not finite."""
    greatest = x.max(axis=reduced_axes(op, x.shape), keepdims=True)
    greatest = np.where(np.isfinite(greatest), greatest, 0)
    return np.exp(x - greatest), greatest


@gradient_of(
    "ReduceLogSumExp",
    "dy, x -> dx",
    "∂dy = Σ ∂dx exp x / Σ exp x, ∂x = ∂dx · dx - exp x · Σ (∂dx · dx) / Σ exp x",
    infer=like_forward(),
)
@in_single
def reduce_log_sum_exp_gradient(op: Operator, dy: Array, x: Array) -> Array:
    """Gradient of ReduceLogSumExp: each element gets its share of the sum, which y, once rounded, does not tell."""
    terms, _ = exponentials(op, x)
    return spread(op, dy, x) * (terms / summed(terms, reduced_axes(op, x.shape), keepdims=True))


@register_gradient("ReduceLogSumExpGradient")
def reduce_log_sum_exp_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    do, (dy, x), (of_dx,) = Steps(op), op.inputs, g_output
    shares = do(op.type, do.fill(dy, 1.0), x, **op.args)
    weighted = do("Mul", of_dx, op.outputs[0])
    of_x = do("Sub", weighted, do(op.type, do("ReduceSum", weighted, **op.args), x, **op.args))
    return do.answer(do("ReduceSum", do("Mul", of_dx, shares), **op.args), of_x)
