"""Gradients of SpatialBN whose statistics are sums over several batches, which have gradients of their own.

With n elements of a channel in all batches, m = sums / n, v = sumsq / n - m², r = 1 / √(v + epsilon), x̂ = r (x - m),

    dx = r scale dy,   dscale = Σ dy x̂,   dbias = Σ dy,   dv = -r² scale dscale / 2

    dsumsq = dv / n,   dsums = -(r scale dbias + 2 m dv) / n
"""

import numpy as np

from ..program import Operator
from .batch_norm import BATCH_ARGS, batch_statistics
from .channel_norm import batch_axes, by_channel, need_channels
from .gradients import gradient_of
from .inference import described, misfit, need_floats, result_dtype
from .registry import Array, ArraySpec, operator

STATISTICS = "x̂ = r (x - m), r = 1 / √(v + epsilon), m = sums / n, v = sumsq / n - m²"
FIRST = (
    "dx = r scale dy, dscale = Σ dy x̂, dbias = Σ dy, dsumsq = dv / n, dsums = -(r scale dbias + 2 m dv) / n, "
    f"dv = -r² scale dscale / 2, {STATISTICS}"
)
SECOND = (
    "∂dy = r scale ∂dx + b x̂ + a, ∂x = r b dy, ∂scale = r Σ dy ∂dx - h Σ dy - k Σ dy x̂, ∂sumsq = ∂v / n, "
    "∂sums = (∂m - 2 m ∂v) / n, a = ∂dbias - scale h, b = ∂dscale - scale k, h = r ∂dsums / n, "
    "k = r² (∂dsumsq / 2 - m ∂dsums) / n, ∂m = r scale h Σ dy x̂ - r b Σ dy, ∂v = -r³ ∂r / 2, "
    f"∂r = scale Σ dy ∂dx + (b - 2 scale k) Σ dy x̂ / r - scale h Σ dy / r, {STATISTICS}"
)


def sums_gradient_spec(
    op: Operator, x: ArraySpec, scale: ArraySpec, dy: ArraySpec, *sums: ArraySpec
) -> tuple[ArraySpec, ...]:
    """Inference of SpatialBNSumsGradient."""
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
    formula=FIRST,
    derivative=SECOND,
    infer=sums_gradient_spec,
    args=BATCH_ARGS,
)
def spatial_bn_sums_gradient(
    op: Operator, x: Array, scale: Array, dy: Array, *sums: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Gradients of SpatialBN with num_batches > 1: x enters y by itself alone, its part of the sums is their creator's.

    n counts the elements of a channel in all batches.
    """
    axes = batch_axes(op, x.ndim)
    count, mean, r, x_hat = standardized(op, x, *sums)
    dscale, dbias = (dy * x_hat).sum(axis=axes), dy.sum(axis=axes)
    of_var = -r * r * scale * dscale / 2
    dsums = -(r * scale * dbias + 2 * mean * of_var) / count
    return dy * by_channel(op, scale * r, x.ndim), dscale, dbias, dsums, of_var / count


def standardized(op: Operator, x: Array, *sums: Array) -> tuple[int, Array, Array, Array]:
    """How many elements a channel has, their mean, 1 / their deviation, and x less that times this."""
    count, mean, var = batch_statistics(op, x, *sums)
    r = 1 / np.sqrt(var + op.args.get("epsilon", 1e-5))
    return count, mean, r, (x - by_channel(op, mean, x.ndim)) * by_channel(op, r, x.ndim)


def sums_second_spec(op: Operator, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
    """Inference of SpatialBNSumsGradientGradient."""
    first = sums_gradient_spec(op, *specs[:5])
    if any(one.shape != other.shape for one, other in zip(first, specs[5:], strict=True)):
        raise misfit("the gradients of dx, dscale, dbias, dsums and dsumsq must have their shapes.")
    dtype = result_dtype(*specs)
    return tuple(ArraySpec(spec.shape, dtype) for spec in specs[:5])


@gradient_of(
    "SpatialBNSumsGradient",
    "x, scale, dy, sums, sumsq, ∂dx, ∂dscale, ∂dbias, ∂dsums, ∂dsumsq -> ∂x, ∂scale, ∂dy, ∂sums, ∂sumsq",
    infer=sums_second_spec,
)
def spatial_bn_sums_gradient_gradient(
    op: Operator, x: Array, scale: Array, dy: Array, sums: Array, sumsq: Array, g_dx: Array, *arrived: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Gradients of SpatialBNSumsGradient."""
    axes = batch_axes(op, x.ndim)
    count, mean, r, x_hat = standardized(op, x, sums, sumsq)
    g_dscale, g_dbias, g_dsums, g_dsumsq = arrived
    dscale, dbias, both = ((dy * x_hat).sum(axis=axes), dy.sum(axis=axes), (dy * g_dx).sum(axis=axes))
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
