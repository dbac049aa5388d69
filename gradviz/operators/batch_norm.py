"""SpatialBN: images normalized by channel over the batch, or over several batches whose sums are given.

Sums have gradients of their own. With n elements of a channel in all batches, m = sums / n, v = sumsq / n - m²,
r = 1 / √(v + epsilon) and x̂ = r (x - m), these are

    dx = r scale dy,   dscale = Σ dy x̂,   dbias = Σ dy,   dv = -r² scale dscale / 2

    dsumsq = dv / n,   dsums = -(r scale dbias + 2 m dv) / n

Source: Ioffe and Szegedy, arXiv:1502.03167 (2015).
"""

from typing import Any

import numpy as np

from ..program import Operator
from .channel_norm import affine, batch_axes, by_channel, moments, need_channels
from .gradients import gradient_name, gradient_of, gradient_operator, only_through_first, op_gradient
from .inference import described, like_forward, misfit, need_floats, need_shape, result_dtype, slot
from .normalization import second_formula, through_standardization
from .registry import Array, Arrays, ArraySpec, Gradients, RuleAnswer, Specs, in_single, operator
from .sums import size_along, summed

BATCH_ARGS: dict[str, Any] = {"is_test": 0, "epsilon": 1e-5, "momentum": 0.9, "order": "NCHW", "num_batches": 1}


def reads_sums(op: Operator) -> bool:
    """Whether `op`, a SpatialBN, takes its statistics from sums over several batches."""
    return op.args.get("num_batches", 1) > 1 and not op.args.get("is_test", 0)


def batch_spec(op: Operator, x: ArraySpec, *vectors: ArraySpec) -> Specs:
    channels = need_channels(op, x, *vectors)
    testing = bool(op.args.get("is_test", 0))
    if len(op.outputs) != (1 if testing else 5):
        raise misfit(
            f"{len(op.outputs)} outputs do not go with is_test={int(testing)}.",
            "Give 5 outputs for training, or one with is_test=1.",
        )
    if len(vectors) not in (4, 6) or (reads_sums(op) and len(vectors) == 4):
        raise misfit(
            f"{len(vectors) + 1} inputs do not go with num_batches={op.args.get('num_batches', 1)}.",
            "Give sums and sumsq, both, behind var.",
        )
    of_mean, of_var = (vectors[4:5], vectors[4:]) if reads_sums(op) else ((x,), (x,))
    of_y = vectors[:4] if testing else (*vectors[:2], *of_var)
    meeting = [(x, *of_y), (vectors[2], *of_mean), (vectors[3], *of_var), of_mean, of_var]
    shapes = [x.shape, *[(channels,)] * 4]
    specs = [ArraySpec(shape, result_dtype(*met)) for shape, met in zip(shapes, meeting, strict=True)]
    return tuple(specs[: len(op.outputs)])


@operator(
    "SpatialBN",
    "x, scale, bias, mean, var, sums?, sumsq? -> y, running_mean?, running_var?, saved_mean?, saved_inv_std?",
    "y = scale x̂ + bias, x̂ = r (x - m), r = 1 / √(v + epsilon), m = avg(x), v = avg((x - m)²) by channel, "
    "with is_test m = mean, v = var, for num_batches > 1 m = sums / n, v = sumsq / n - m²",
    "dscale = Σ dy x̂, dbias = Σ dy, g = dy scale; dx = r (g - avg(g) - x̂ avg(g x̂)), with is_test dx = r g, "
    "for num_batches > 1 dx = r g, dsumsq = -r² Σ g x̂ / 2n, dsums = -r Σ g / n - 2 m dsumsq",
    infer=batch_spec,
    args=BATCH_ARGS,
)
@in_single
def spatial_bn(op: Operator, x: Array, scale: Array, bias: Array, mean: Array, var: Array, *sums: Array) -> Any:
    """Batch normalization. x: (n, c, ...), scale, bias, mean, var: (c,) -> y: like x, running and saved: (c,).

    In training, running_mean = momentum · mean + (1 - momentum) · μ, running_var likewise with the unbiased variance
    of the batch, and saved_inv_std = 1 / √(σ² + ε); an empty batch leaves them as they are, and saves zeros. For
    num_batches > 1, sums and sumsq, (c,), are those of x and x² over so many batches of this size. With is_test=1
    there is one output. `mean` and `var` are constants for the gradient, and none passes through the outputs after y.
    """
    epsilon = op.args.get("epsilon", 1e-5)
    if op.args.get("is_test", 0):
        return affine(op, x, mean, 1 / np.sqrt(var + epsilon), scale, bias)
    count, batch_mean, batch_var = batch_statistics(op, x, *sums)
    momentum = op.args.get("momentum", 0.9) if x.size else 1.0
    inv_std = 1 / np.sqrt(batch_var + epsilon) if x.size else batch_var
    return (
        affine(op, x, batch_mean, inv_std, scale, bias),
        momentum * mean + (1 - momentum) * batch_mean,
        momentum * var + (1 - momentum) * batch_var * (count / max(count - 1, 1)),
        batch_mean,
        inv_std,
    )


def batch_statistics(op: Operator, x: Array, *sums: Array) -> tuple[int, Array, Array]:
    """How many elements of a channel there are, at least 1, their mean and their variance; 0 of an empty batch."""
    axes = batch_axes(op, x.ndim)
    if not reads_sums(op):
        return max(size_along(x, axes), 1), *moments(op, x, axes)
    count = max(op.args["num_batches"] * size_along(x, axes), 1)
    total, squares = sums if x.size else [0 * vector for vector in sums]
    mean = total / count
    return count, mean, squares / count - mean * mean


def batch_gradient_spec(
    op: Operator, x: ArraySpec, scale: ArraySpec, dy: ArraySpec, mean: ArraySpec, spread: ArraySpec
) -> Specs:
    need_channels(op, x, scale)
    need_floats(op, (x, scale, dy, mean, spread))
    need_shape("dy", dy, x.shape, "of x")
    for position, spec in enumerate((mean, spread), 3):
        need_shape(slot(op, position), spec, scale.shape)
    dscale = ArraySpec(scale.shape, result_dtype(x, dy, mean, spread))
    straight = op.args.get("is_test", 0) or 0 in x.shape
    dx = ArraySpec(x.shape, result_dtype(scale, dy, spread) if straight else result_dtype(x, scale, dy, mean, spread))
    return dx, dscale, ArraySpec(scale.shape, dy.dtype)


def spatial_bn_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    only_through_first(op, g_output)
    if reads_sums(op):
        reads = [*op.inputs[:2], g_output[0], *op.inputs[5:]]
        names = [gradient_name(op.inputs[at]) for at in (0, 1, 2, 5, 6)]
        gradient_op = gradient_operator(op, "SpatialBNSumsGradient", reads, names)
        return gradient_op, [*names[:3], None, None, *names[3:]]
    statistics = op.inputs[3:5] if len(op.outputs) == 1 else op.outputs[3:5]
    return op_gradient(op, [*op.inputs[:2], g_output[0], *statistics], wanted=(0, 1, 2))


@gradient_of(
    "SpatialBN",
    "x, scale, dy, mean, spread -> dx, dscale, dbias",
    formula="dscale = Σ dy x̂, dbias = Σ dy, g = dy scale; dx = r (g - avg(g) - x̂ avg(g x̂)), x̂ = r (x - mean), "
    "r = spread, with is_test dx = r g, r = 1 / √(spread + epsilon)",
    derivative=second_formula(
        "r = spread, x̂ = r (x - mean); with is_test ∂g = r ∂dx, ∂x = r ∂dscale dy, r = 1 / √(spread + epsilon)"
    ),
    infer=batch_gradient_spec,
    rule=spatial_bn_rule,
)
@in_single
def spatial_bn_gradient(op: Operator, x: Array, scale: Array, dy: Array, mean: Array, spread: Array) -> Arrays:
    """Gradients of SpatialBN. `mean`, `spread`: saved mean and inverse deviation; with is_test mean and variance."""
    axes, testing = batch_axes(op, x.ndim), op.args.get("is_test", 0)
    inv_std = 1 / np.sqrt(spread + op.args.get("epsilon", 1e-5)) if testing else spread
    x_hat = (x - by_channel(op, mean, x.ndim)) * by_channel(op, inv_std, x.ndim)
    g, column = dy * by_channel(op, scale, x.ndim), by_channel(op, inv_std, x.ndim)
    dx = g * column if testing or not x.size else through_standardization(g, x_hat, 1 / column, axes)
    return dx, summed(dy * x_hat, axes), summed(dy, axes)


STATISTICS = "x̂ = r (x - m), r = 1 / √(v + epsilon), m = sums / n, v = sumsq / n - m²"


def sums_gradient_spec(op: Operator, x: ArraySpec, scale: ArraySpec, dy: ArraySpec, *sums: ArraySpec) -> Specs:
    need_channels(op, x, scale)
    need_floats(op, (x, scale, dy, *sums))
    if dy.shape != x.shape or any(spec.shape != scale.shape for spec in sums):
        shapes = ", ".join(described(spec) for spec in (dy, *sums))
        raise misfit(
            f"dy must have the shape {x.shape} of x, sums and sumsq that of scale {scale.shape}; got {shapes}."
        )
    dtype = result_dtype(x, scale, dy, *sums)
    vector = ArraySpec(scale.shape, dtype)
    by_x = ArraySpec(scale.shape, result_dtype(x, dy, *sums))
    return ArraySpec(x.shape, result_dtype(scale, dy, *sums)), by_x, ArraySpec(scale.shape, dy.dtype), vector, vector


@operator(
    "SpatialBNSumsGradient",
    "x, scale, dy, sums, sumsq -> dx, dscale, dbias, dsums, dsumsq",
    "dx = r scale dy, dscale = Σ dy x̂, dbias = Σ dy, dsumsq = dv / n, dsums = -(r scale dbias + 2 m dv) / n, "
    f"dv = -r² scale dscale / 2, {STATISTICS}",
    "∂dy = r scale ∂dx + b x̂ + a, ∂x = r b dy, ∂scale = r Σ dy ∂dx - h Σ dy - k Σ dy x̂, ∂sumsq = ∂v / n, "
    "∂sums = (∂m - 2 m ∂v) / n, a = ∂dbias - scale h, b = ∂dscale - scale k, h = r ∂dsums / n, "
    "k = r² (∂dsumsq / 2 - m ∂dsums) / n, ∂m = r scale h Σ dy x̂ - r b Σ dy, ∂v = -r³ ∂r / 2, "
    f"∂r = scale Σ dy ∂dx + (b - 2 scale k) Σ dy x̂ / r - scale h Σ dy / r, {STATISTICS}",
    infer=sums_gradient_spec,
    args=BATCH_ARGS,
)
@in_single
def spatial_bn_sums_gradient(op: Operator, x: Array, scale: Array, dy: Array, *sums: Array) -> Arrays:
    """Gradients of SpatialBN with num_batches > 1: x enters y by itself alone, its part of the sums is their creator's.

    n counts the elements of a channel in all batches.
    """
    axes = batch_axes(op, x.ndim)
    count, mean, r, x_hat = standardized(op, x, *sums)
    dscale, dbias = summed(dy * x_hat, axes), summed(dy, axes)
    of_var = -r * r * scale * dscale / 2
    dsums = -(r * scale * dbias + 2 * mean * of_var) / count
    return dy * by_channel(op, scale * r, x.ndim), dscale, dbias, dsums, of_var / count


def standardized(op: Operator, x: Array, *sums: Array) -> tuple[int, Array, Array, Array]:
    """How many elements a channel has, their mean, 1 / their deviation, and x less that times this."""
    count, mean, var = batch_statistics(op, x, *sums)
    r = 1 / np.sqrt(var + op.args.get("epsilon", 1e-5))
    return count, mean, r, (x - by_channel(op, mean, x.ndim)) * by_channel(op, r, x.ndim)


@gradient_of(
    "SpatialBNSumsGradient",
    "x, scale, dy, sums, sumsq, ∂dx, ∂dscale, ∂dbias, ∂dsums, ∂dsumsq -> ∂x, ∂scale, ∂dy, ∂sums, ∂sumsq",
    infer=like_forward(
        "∂x: scale dy sums sumsq ∂dscale ∂dsums ∂dsumsq; ∂scale: x dy sums sumsq ∂dx ∂dsums ∂dsumsq; "
        "∂dy: x scale sums sumsq ∂dx ∂dscale ∂dbias ∂dsums ∂dsumsq; "
        "∂sums: x scale dy sums sumsq ∂dx ∂dscale ∂dsums ∂dsumsq; "
        "∂sumsq: x scale dy sums sumsq ∂dx ∂dscale ∂dsums ∂dsumsq"
    ),
)
@in_single
def spatial_bn_sums_gradient_gradient(
    op: Operator, x: Array, scale: Array, dy: Array, sums: Array, sumsq: Array, g_dx: Array, *arrived: Array
) -> tuple[Array, Array, Array, Array, Array]:
    axes = batch_axes(op, x.ndim)
    count, mean, r, x_hat = standardized(op, x, sums, sumsq)
    g_dscale, g_dbias, g_dsums, g_dsumsq = arrived
    dscale, dbias, both = (summed(dy * x_hat, axes), summed(dy, axes), summed(dy * g_dx, axes))
    h, k = r * g_dsums / count, r * r * (g_dsumsq / 2 - mean * g_dsums) / count
    a, b = g_dbias - scale * h, g_dscale - scale * k
    g_r = scale * both + (b - 2 * scale * k) * dscale / r - scale * h * dbias / r
    g_mean, g_var = r * scale * h * dscale - r * b * dbias, -(r**3) * g_r / 2
    ra, rb, rs = (by_channel(op, vector, x.ndim) for vector in (a, b, r * scale))
    return (
        rb * dy * by_channel(op, r, x.ndim),
        r * both - h * dbias - k * dscale,
        rs * g_dx + rb * x_hat + ra,
        (g_mean - 2 * mean * g_var) / count,
        g_var / count,
    )
