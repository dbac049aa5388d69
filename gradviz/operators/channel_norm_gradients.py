"""Gradients of the gradients of images normalized by channel: SpatialBN, InstanceNorm, GroupNorm, LRN.

The mathematics of the first three stands in normalization_gradients.py; saved statistics are those of x.
"""

from math import prod

import numpy as np

from ..program import Operator
from .channel_norm import (
    around,
    batch_axes,
    by_channel,
    grouped,
    instance_statistics,
    lrn_scale,
    lrn_spec,
    spatial_axes,
    ungrouped,
)
from .gradients import gradient_of
from .normalization_gradients import affine_second, like, mean_over
from .registry import Array


def by_channels(op: Operator, x: Array, *vectors: Array) -> list[Array]:
    """Each vector, (c,) or (n, c), in a shape that stretches along the images x."""
    return [by_channel(op, vector, x.ndim) for vector in vectors]


@gradient_of(
    "SpatialBNGradient", "x, scale, dy, mean, spread, ∂dx, ∂dscale, ∂dbias -> ∂x, ∂scale, ∂dy", infer=like(0, 1, 2)
)
def spatial_bn_gradient_gradient(
    op: Operator, x: Array, scale: Array, dy: Array, mean: Array, spread: Array, g_dx: Array, *arrived: Array
) -> tuple[Array, Array, Array]:
    """Gradients of SpatialBNGradient. `mean`, `spread`: saved mean and inverse deviation; with is_test constants."""
    axes, testing = batch_axes(op, x.ndim), op.args.get("is_test", 0)
    inv_std = 1 / np.sqrt(spread + op.args.get("epsilon", 1e-5)) if testing else spread
    mean, r, scale_, g_dscale, g_dbias = by_channels(op, x, mean, inv_std, scale, *arrived)
    x_hat = (x - mean) * r
    if testing:
        return dy * g_dscale * r, (dy * g_dx * r).sum(axis=axes), g_dx * scale_ * r + g_dscale * x_hat + g_dbias
    gather = mean_over(axes, prod(x.shape[axis] for axis in axes))
    g_dy, g_x, terms = affine_second(dy, scale_, (g_dx, g_dscale, g_dbias), x_hat, r, gather)
    return g_x, terms.sum(axis=axes), g_dy


@gradient_of(
    "InstanceNormGradient",
    "x, scale, dy, ∂dx, ∂dscale, ∂dbias, mean?, inv_std? -> ∂x, ∂scale, ∂dy",
    infer=like(0, 1, 2),
)
def instance_norm_gradient_gradient(
    op: Operator, x: Array, scale: Array, dy: Array, g_dx: Array, g_dscale: Array, g_dbias: Array, *statistics: Array
) -> tuple[Array, Array, Array]:
    """Gradients of InstanceNormGradient; the statistics are computed again where not both are given."""
    known = statistics if len(statistics) == 2 else instance_statistics(op, x)
    mean, r, scale_, *arrived = by_channels(op, x, *known, scale, g_dscale, g_dbias)
    axes = spatial_axes(op, x.ndim)
    gather = mean_over(axes, prod(x.shape[axis] for axis in axes))
    g_dy, g_x, terms = affine_second(dy, scale_, (g_dx, arrived[0], arrived[1]), (x - mean) * r, r, gather)
    return g_x, terms.sum(axis=batch_axes(op, x.ndim)), g_dy


@gradient_of(
    "GroupNormGradient", "dy, x, scale, mean, inv_std, ∂dx, ∂dscale, ∂dbias -> ∂dy, ∂x, ∂scale", infer=like(0, 1, 2)
)
def group_norm_gradient_gradient(
    op: Operator, dy: Array, x: Array, scale: Array, mean: Array, inv_std: Array, g_dx: Array, *arrived: Array
) -> tuple[Array, Array, Array]:
    """Gradients of GroupNormGradient."""
    column = (*inv_std.shape, 1)
    r, groups = inv_std.reshape(column), grouped(op, x)
    vectors = [np.broadcast_to(vector, x.shape) for vector in by_channels(op, x, scale, *arrived)]
    scale_, g_dscale, g_dbias = (grouped(op, vector) for vector in vectors)
    g_dy, g_x, terms = affine_second(
        grouped(op, dy),
        scale_,
        (grouped(op, g_dx), g_dscale, g_dbias),
        (groups - mean.reshape(column)) * r,
        r,
        mean_over(2, groups.shape[2]),
    )
    g_scale = ungrouped(op, terms, x).sum(axis=batch_axes(op, x.ndim))
    return ungrouped(op, g_dy, x), ungrouped(op, g_x, x), g_scale


@gradient_of("LRNGradient", "x, y, dy, ∂dx -> ∂x, ∂y, ∂dy", infer=lrn_spec)
def lrn_gradient_gradient(op: Operator, x: Array, y: Array, dy: Array, g_dx: Array) -> tuple[Array, Array, Array]:
    """Gradients of LRNGradient."""
    scale, beta = lrn_scale(op, x), op.args.get("beta", 0.0)
    slope = 2 * op.args.get("alpha", 0.0) / op.args.get("size", 0)
    share = slope * beta * around(op, g_dx * x) / scale
    of_scale = share * dy * y / scale - beta * g_dx * dy * scale ** (-beta - 1)
    g_x = slope * x * around(op, of_scale) - slope * beta * g_dx * around(op, dy * y / scale)
    return g_x, -share * dy, g_dx * scale**-beta - share * y
