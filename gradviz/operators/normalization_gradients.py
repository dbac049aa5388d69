"""Gradients of the gradients of what is brought to a common scale: rows, and images by channel.

Let x̂ be x, less its mean where that is taken off, times r, which is 1 over a deviation or norm, and <·> the mean over
the elements that share r (for Normalize, their sum). The gradient of x̂ sends g to

    x̂' g = r (g - <g> - x̂ <g x̂>)        without <g> where no mean is taken off

Statistics that a gradient operator reads are those of x and change with it. So the gradients of dx = x̂' g are

    ∂g = x̂' ∂dx,   ∂x = x̂' h - r x̂ <g ∂g>,   h = -r (∂dx <g x̂> + g <∂dx x̂>)

and what arrives at dscale = Σ dy x̂ adds ∂dscale dy to h and ∂dscale x̂ to ∂dy, where g = dy scale.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..program import Gradient, Operator
from .channel_norm import (
    around,
    batch_axes,
    by_channel,
    grouped,
    instance_statistics,
    lrn_scale,
    spatial_axes,
    ungrouped,
)
from .gradients import Steps, arriving, gradient_of
from .inference import as_matrix, like_forward, need_shape
from .normalization import TINY, standardized
from .registry import Array, Arrays, ArraySpec, Gradients, RuleAnswer, in_single, register_gradient
from .sums import averaged, summed

Gather = Callable[[Array], Array]
"""The mean or sum over the elements that share a statistic, which stays with size 1."""


def second(g: Array, g_dx: Array, h: Array, x_hat: Array, r: Array, gather: Gather, centred: bool) -> Arrays:
    """∂g and ∂x of dx = x̂' g; `h`: what arrives at x̂ by another way."""

    def through(arrived: Array) -> Array:
        term = arrived - gather(arrived) if centred else arrived
        return r * (term - x_hat * gather(arrived * x_hat))

    g_g = through(g_dx)
    h = h - r * (g_dx * gather(g * x_hat) + g * gather(g_dx * x_hat))
    return g_g, through(h) - r * x_hat * gather(g * g_g)


def affine_second(
    dy: Array,
    scale: Array,
    arrived: tuple[Array, Array, Array],
    x_hat: Array,
    r: Array,
    gather: Gather,
    centred: bool = True,
) -> tuple[Array, Array, Array]:
    """∂dy, ∂x and dy ∂g, whose sum over the elements that share a scale is ∂scale.

    Args:
        dy, scale: the gradient of y = scale x̂ + bias, and the scale where it broadcasts against that.
        arrived: ∂dx, and ∂dscale and ∂dbias, which broadcast like the scale.
    """
    g_dx, g_dscale, g_dbias = arrived
    g_g, g_x = second(dy * scale, g_dx, dy * g_dscale, x_hat, r, gather, centred)
    return scale * g_g + g_dscale * x_hat + g_dbias, g_x, dy * g_g


def mean_over(axis: int | tuple[int, ...]) -> Gather:
    """The mean over `axis`."""
    return lambda array: averaged(array, axis, keepdims=True)


LAYER_NORM_SECOND = like_forward(
    "∂dy: mean std x scale ∂dx ∂dscale ∂dbias; ∂x: dy mean std x scale ∂dx ∂dscale; ∂scale: dy mean std x ∂dx"
)


def layer_norm_second_spec(op: Operator, *specs: ArraySpec) -> Any:
    need_shape("dy", specs[0], specs[3].shape, "of x")
    return LAYER_NORM_SECOND(op, *specs)


def layer_norm_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """With a scale it reads what arrives at dscale and dbias, also where the operator has left out these outputs."""
    do, (dy, _, mean, std, x, *scale) = Steps(op), op.inputs
    arrived = do.or_zeros(arriving(g_output, 1 + 2 * len(scale)), [x, *scale * 2])
    gradients = do.several(2 + len(scale), "LayerNormGradientGradient", dy, mean, std, x, *scale, *arrived, **op.args)
    return do.answer(gradients[0], None, None, None, *gradients[1:])


@gradient_of(
    "LayerNormGradient",
    "dy, mean, std, x, scale?, ∂dx, ∂dscale?, ∂dbias? -> ∂dy, ∂x, ∂scale?",
    infer=layer_norm_second_spec,
    rule=layer_norm_gradient_rule,
)
@in_single
def layer_norm_gradient_gradient(op: Operator, dy: Array, mean: Array, std: Array, x: Array, *rest: Array) -> Arrays:
    """Gradients of LayerNormGradient; `scale`, ∂dscale and ∂dbias are there with elementwise_affine."""
    x_hat, sigma = standardized(op, x, mean, std)
    gather, dy2 = mean_over(1), dy.reshape(x_hat.shape)
    if len(rest) == 1:
        g_g, g_x = second(dy2, rest[0].reshape(x_hat.shape), 0 * dy2, x_hat, 1 / sigma, gather, centred=True)
        return g_g.reshape(x.shape), g_x.reshape(x.shape)
    scale, g_dx, g_dscale, g_dbias = rest
    arrived = g_dx.reshape(x_hat.shape), g_dscale.reshape(-1), g_dbias.reshape(-1)
    g_dy, g_x, terms = affine_second(dy2, scale.reshape(-1), arrived, x_hat, 1 / sigma, gather)
    return g_dy.reshape(x.shape), g_x.reshape(x.shape), summed(terms, 0).reshape(scale.shape)


@register_gradient("LayerNormMeanGradient")
def layer_norm_mean_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """∂dmean is the mean of each row of ∂dx, which LayerNorm has for its second output."""
    do = Steps(op)
    _, means, _ = do.several(3, "LayerNorm", g_output[0], axis=op.args.get("axis", 1))
    return do.answer(means)


@register_gradient("LayerNormStdGradient")
def layer_norm_std_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """dx is dstd times x̂ / n. Of LayerNormGradient, whose x stands for the y that it does not read, ∂x is x̂' h."""
    do, (dstd, mean, std, x), g_dx = Steps(op), op.inputs, g_output[0]
    slope = do(op.type, do.fill(dstd, 1.0), mean, std, x, **op.args)
    _, g_dstd = do.of_factors(g_dx, slope, dstd)
    h = do("Mul", g_dx, do("LayerNormMeanGradient", dstd, mean, std, x, **op.args))
    return do.answer(g_dstd, None, None, do("LayerNormGradient", h, x, mean, std, x, **op.args))


@gradient_of(
    "RMSNormGradient",
    "dy, x, scale, inv_rms, ∂dx, ∂dscale, ∂dbias -> ∂dy, ∂x, ∂scale",
    infer=like_forward(
        "∂dy: x scale inv_rms ∂dx ∂dscale ∂dbias; ∂x: dy x scale inv_rms ∂dx ∂dscale; ∂scale: dy x inv_rms ∂dx"
    ),
)
@in_single
def rms_norm_gradient_gradient(
    op: Operator, dy: Array, x: Array, scale: Array, inv_rms: Array, *arrived: Array
) -> tuple[Array, Array, Array]:
    x2, r = as_matrix(x, op.args.get("axis", 1)), inv_rms.reshape((-1, 1))
    g_dx, g_dscale, g_dbias = (array.reshape((-1, x2.shape[1])) for array in arrived)
    gather = mean_over(1)
    g_dy, g_x, terms = affine_second(
        dy.reshape(x2.shape), scale.reshape(-1), (g_dx, g_dscale, g_dbias), x2 * r, r, gather, centred=False
    )
    return g_dy.reshape(x.shape), g_x.reshape(x.shape), summed(terms, 0).reshape(scale.shape)


@register_gradient("NormalizeGradient")
def normalize_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """As above with r = 1 / |x| and sums for means; x̂ is 0 where |x| counts as a constant."""
    do, (x, dy), g_dx, along = Steps(op), op.inputs, g_output[0], {"axes": [op.args.get("axis", -1)]}

    def inner(a: Gradient | None, b: str) -> str:
        return do("ReduceSum", do("Mul", a, b), **along)

    norm = do("Clip", do("ReduceL2", x, **along), min=TINY)
    x_hat = do("Mul", x, do("ClipGradient", norm, do("Reciprocal", norm), min=TINY))
    g_dy = do(op.type, x, g_dx, **op.args)
    h = do("Div", do("Add", do("Mul", g_dx, inner(dy, x_hat)), do("Mul", dy, inner(g_dx, x_hat))), norm)
    bent = do("Div", do("Mul", x_hat, inner(dy, g_dy)), norm)
    return do.answer(do("Negative", do("Add", do(op.type, x, h, **op.args), bent)), g_dy)


def by_channels(op: Operator, x: Array, *vectors: Array) -> list[Array]:
    """Each vector, (c,) or (n, c), in a shape that stretches along the images x."""
    return [by_channel(op, vector, x.ndim) for vector in vectors]


SPATIAL_BN_SECOND = {
    0: like_forward(),
    1: like_forward("∂x: dy spread ∂dscale; ∂scale: dy spread ∂dx; ∂dy: x scale mean spread ∂dx ∂dscale ∂dbias"),
}
"""Inference of the gradients of SpatialBNGradient, by is_test."""


@gradient_of(
    "SpatialBNGradient",
    "x, scale, dy, mean, spread, ∂dx, ∂dscale, ∂dbias -> ∂x, ∂scale, ∂dy",
    infer=lambda op, *specs: SPATIAL_BN_SECOND[bool(op.args.get("is_test", 0))](op, *specs),
)
@in_single
def spatial_bn_gradient_gradient(
    op: Operator, x: Array, scale: Array, dy: Array, mean: Array, spread: Array, g_dx: Array, *arrived: Array
) -> tuple[Array, Array, Array]:
    """Gradients of SpatialBNGradient. `mean`, `spread`: saved mean and inverse deviation; with is_test constants."""
    axes, testing = batch_axes(op, x.ndim), op.args.get("is_test", 0)
    inv_std = 1 / np.sqrt(spread + op.args.get("epsilon", 1e-5)) if testing else spread
    mean, r, scale_, g_dscale, g_dbias = by_channels(op, x, mean, inv_std, scale, *arrived)
    x_hat = (x - mean) * r
    if testing:
        return dy * g_dscale * r, summed(dy * g_dx * r, axes), g_dx * scale_ * r + g_dscale * x_hat + g_dbias
    gather = mean_over(axes)
    g_dy, g_x, terms = affine_second(dy, scale_, (g_dx, g_dscale, g_dbias), x_hat, r, gather)
    return g_x, summed(terms, axes), g_dy


@gradient_of(
    "InstanceNormGradient",
    "x, scale, dy, ∂dx, ∂dscale, ∂dbias, mean?, inv_std? -> ∂x, ∂scale, ∂dy",
    infer=like_forward(
        "∂x: x scale dy mean inv_std ∂dx ∂dscale; ∂scale: x dy mean inv_std ∂dx; "
        "∂dy: x scale mean inv_std ∂dx ∂dscale ∂dbias"
    ),
)
@in_single
def instance_norm_gradient_gradient(
    op: Operator, x: Array, scale: Array, dy: Array, g_dx: Array, g_dscale: Array, g_dbias: Array, *statistics: Array
) -> tuple[Array, Array, Array]:
    """Gradients of InstanceNormGradient; the statistics are computed again where not both are given."""
    if len(statistics) != 2:
        statistics = instance_statistics(op, x)
    mean, r, scale_, *arrived = by_channels(op, x, *statistics, scale, g_dscale, g_dbias)
    axes = spatial_axes(op, x.ndim)
    gather = mean_over(axes)
    g_dy, g_x, terms = affine_second(dy, scale_, (g_dx, arrived[0], arrived[1]), (x - mean) * r, r, gather)
    return g_x, summed(terms, batch_axes(op, x.ndim)), g_dy


@gradient_of(
    "GroupNormGradient",
    "dy, x, scale, mean, inv_std, ∂dx, ∂dscale, ∂dbias -> ∂dy, ∂x, ∂scale",
    infer=like_forward(
        "∂dy: x scale mean inv_std ∂dx ∂dscale ∂dbias; ∂x: dy x scale mean inv_std ∂dx ∂dscale; "
        "∂scale: dy x mean inv_std ∂dx"
    ),
)
@in_single
def group_norm_gradient_gradient(
    op: Operator, dy: Array, x: Array, scale: Array, mean: Array, inv_std: Array, g_dx: Array, *arrived: Array
) -> tuple[Array, Array, Array]:
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
        mean_over(2),
    )
    g_scale = summed(ungrouped(op, terms, x), batch_axes(op, x.ndim))
    return ungrouped(op, g_dy, x), ungrouped(op, g_x, x), g_scale


@gradient_of(
    "LRNGradient", "x, y, dy, ∂dx -> ∂x, ∂y, ∂dy", infer=like_forward("∂x: x y dy ∂dx; ∂y: x dy ∂dx; ∂dy: x y ∂dx")
)
@in_single
def lrn_gradient_gradient(op: Operator, x: Array, y: Array, dy: Array, g_dx: Array) -> tuple[Array, Array, Array]:
    scale, beta = lrn_scale(op, x), op.args.get("beta", 0.0)
    slope = 2 * op.args.get("alpha", 0.0) / op.args.get("size", 0)
    share = slope * beta * around(op, g_dx * x) / scale
    of_scale = share * dy * y / scale - beta * g_dx * dy * scale ** (-beta - 1)
    g_x = slope * x * around(op, of_scale) - slope * beta * g_dx * around(op, dy * y / scale)
    return g_x, -share * dy, g_dx * scale**-beta - share * y
