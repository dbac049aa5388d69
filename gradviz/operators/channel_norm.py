"""Images normalized by channel, each on its own: InstanceNorm, GroupNorm, LRN; batch_norm.py has what batches share.

`order` says where the channels are: ``NCHW`` (default) second, ``NHWC`` last; any number of spatial dimensions.
Sources: Ulyanov, Vedaldi, Lempitsky, arXiv:1607.08022 (2016);
Krizhevsky, Sutskever, Hinton, ImageNet Classification with Deep Convolutional Neural Networks (2012), section 3.3.
"""

from math import prod

import numpy as np

from ..program import Operator
from .gradients import gradient_of, only_through_first, op_gradient
from .inference import described, elementwise, like_forward, misfit, need_floats, need_shape, result_dtype, slot
from .normalization import second_formula, through_standardization
from .registry import Array, Arrays, ArraySpec, Gradients, RuleAnswer, Specs, in_single, operator
from .sums import averaged, summed

CHANNEL_FIRST = "dscale = Σ dy x̂, dbias = Σ dy, g = dy scale; dx = (g - avg(g) - x̂ avg(g x̂)) inv_std"
CHANNEL_SECOND = second_formula("r = inv_std, x̂ = r (x - mean)")
LRN_SCALE = "scale = bias + alpha / size · Σ x², Σ over the size channels around each"


def channel_axis(op: Operator, ndim: int) -> int:
    """The dimension of the channels."""
    return ndim - 1 if op.args.get("order") == "NHWC" else 1


def spatial_axes(op: Operator, ndim: int) -> tuple[int, ...]:
    """The dimensions behind that of the batch which are not the channels'."""
    return tuple(axis for axis in range(1, ndim) if axis != channel_axis(op, ndim))


def batch_axes(op: Operator, ndim: int) -> tuple[int, ...]:
    """All dimensions but the channels'."""
    return (0, *spatial_axes(op, ndim))


def by_channel(op: Operator, vector: Array, ndim: int) -> Array:
    """`vector`, (c,) or (n, c), in a shape that stretches along an image of `ndim` dimensions."""
    shape = [1] * ndim
    shape[channel_axis(op, ndim)] = vector.shape[-1]
    if vector.ndim == 2:
        shape[0] = vector.shape[0]
    return vector.reshape(shape)


def need_channels(op: Operator, x: ArraySpec, *vectors: ArraySpec) -> int:
    """How many channels x has; raises unless inputs 1, 2, ... are one number a channel."""
    need_floats(op, (x, *vectors))
    if len(x.shape) < 3:
        raise misfit(f"x must be (n, channels, ...) with at least one spatial dimension, got {described(x)}.")
    channels = x.shape[channel_axis(op, len(x.shape))]
    for position, spec in enumerate(vectors, 1):
        need_shape(slot(op, position), spec, (channels,))
    return channels


def moments(op: Operator, x: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Mean and variance of x over `axes`."""
    mean = averaged(x, axes)
    centred = x - by_channel(op, mean, x.ndim)
    return mean, averaged(centred * centred, axes)


def affine(op: Operator, x: Array, mean: Array, inv_std: Array, scale: Array, bias: Array) -> Array:
    """x standardized by channel, times scale, plus bias."""
    x_hat = (x - by_channel(op, mean, x.ndim)) * by_channel(op, inv_std, x.ndim)
    return x_hat * by_channel(op, scale, x.ndim) + by_channel(op, bias, x.ndim)


def instance_spec(op: Operator, x: ArraySpec, scale: ArraySpec, bias: ArraySpec) -> Specs:
    channels = need_channels(op, x, scale, bias)
    statistic = ArraySpec((x.shape[0], channels), x.dtype)
    return (ArraySpec(x.shape, result_dtype(x, scale, bias)), statistic, statistic)[: len(op.outputs)]


@operator(
    "InstanceNorm",
    "x, scale, bias -> y, mean?, inv_std?",
    "y = scale x̂ + bias, x̂ = (x - mean) inv_std, inv_std = 1 / √(var(x) + epsilon), by image and channel",
    CHANNEL_FIRST,
    infer=instance_spec,
    args={"epsilon": 1e-5, "order": "NCHW"},
)
@in_single
def instance_norm(op: Operator, x: Array, scale: Array, bias: Array) -> Arrays:
    """Each channel of each image standardized. x: (n, c, ...), scale, bias: (c,) -> y: like x, mean, inv_std: (n, c).

    No gradient passes through mean and inv_std.
    """
    mean, inv_std = instance_statistics(op, x)
    return (affine(op, x, mean, inv_std, scale, bias), mean, inv_std)[: len(op.outputs)]


def instance_statistics(op: Operator, x: Array) -> tuple[Array, Array]:
    """Mean and inverse standard deviation of each channel of each image, (n, c)."""
    mean, var = moments(op, x, spatial_axes(op, x.ndim))
    return mean, 1 / np.sqrt(var + op.args.get("epsilon", 1e-5))


@gradient_of(
    "InstanceNorm",
    "x, scale, bias, dy, mean?, inv_std? -> dx, dscale, dbias",
    formula=f"{CHANNEL_FIRST}, x̂ = (x - mean) inv_std",
    derivative=CHANNEL_SECOND,
    infer=like_forward("dx: x scale dy mean inv_std; dscale: x dy mean inv_std; dbias: dy"),
)
@in_single
def instance_norm_gradient(op: Operator, x: Array, scale: Array, bias: Array, dy: Array, *statistics: Array) -> Arrays:
    """Gradients of InstanceNorm; the statistics are computed again where it did not write both."""
    mean, inv_std = statistics if len(statistics) == 2 else instance_statistics(op, x)
    column = by_channel(op, inv_std, x.ndim)
    x_hat, g = (x - by_channel(op, mean, x.ndim)) * column, dy * by_channel(op, scale, x.ndim)
    dx = through_standardization(g, x_hat, 1 / column, spatial_axes(op, x.ndim))
    axes = batch_axes(op, x.ndim)
    return dx, summed(dy * x_hat, axes), summed(dy, axes)


def lrn_spec(op: Operator, x: ArraySpec, *more: ArraySpec) -> Specs:
    need_channels(op, x)
    if op.args.get("size", 0) < 0 or op.args.get("size", 0) % 2 != 1:
        raise misfit(f"size={op.args.get('size', 0)} has no middle.", "Give an odd number of channels, as size=5.")
    y = elementwise(op, x, *more)
    return (y,) * len(op.outputs)


def around(op: Operator, x: Array) -> Array:
    """The sum of x over the `size` channels around each."""
    axis, reach = channel_axis(op, x.ndim), op.args.get("size", 0) // 2
    padding = [(reach, reach) if dimension == axis else (0, 0) for dimension in range(x.ndim)]
    padded, channels, total = np.pad(x, padding), x.shape[axis], np.zeros_like(x)
    for shift in range(2 * reach + 1):
        total = total + padded[(slice(None),) * axis + (slice(shift, shift + channels),)]
    return total


def lrn_scale(op: Operator, x: Array) -> Array:
    """What LRN divides by, before it is raised to the power of beta."""
    return op.args.get("bias", 1.0) + op.args.get("alpha", 0.0) / op.args.get("size", 0) * around(op, x * x)


@operator(
    "LRN",
    "x -> y, scale?",
    f"y = x scale^(-beta), {LRN_SCALE}",
    f"dx = dy scale^(-beta) - 2 alpha beta / size · x · Σ dy y / scale, {LRN_SCALE}",
    infer=lrn_spec,
    args={"size": 0, "alpha": 0.0, "beta": 0.0, "bias": 1.0, "order": "NCHW"},
)
@in_single
def lrn(op: Operator, x: Array) -> Array | tuple[Array, Array]:
    """Local response normalization. x: (n, c, h, w) -> y, scale: like x. No gradient passes through scale."""
    scale = lrn_scale(op, x)
    y = x * scale ** -op.args.get("beta", 0.0)
    return y if len(op.outputs) == 1 else (y, scale)


@gradient_of(
    "LRN",
    "x, y, dy -> dx",
    "∂dy = ∂dx scale^(-beta) - k q y / scale, ∂y = -k q dy / scale, "
    "∂x = 2 alpha / size · x · Σ (k q dy y / scale² - beta ∂dx dy scale^(-beta - 1)) - k ∂dx Σ dy y / scale, "
    "k = 2 alpha beta / size, q = Σ ∂dx x, "
    f"{LRN_SCALE}",
    infer=lrn_spec,
)
@in_single
def lrn_gradient(op: Operator, x: Array, y: Array, dy: Array) -> Array:
    scale, beta = lrn_scale(op, x), op.args.get("beta", 0.0)
    factor = 2 * op.args.get("alpha", 0.0) * beta / op.args.get("size", 0)
    return dy * scale**-beta - factor * x * around(op, dy * y / scale)


def grouped(op: Operator, x: Array) -> Array:
    """x as (n, groups, elements of a group), the elements by channel first."""
    return np.moveaxis(x, channel_axis(op, x.ndim), 1).reshape(
        (x.shape[0], op.args.get("group", 32), prod(x.shape[1:]) // op.args.get("group", 32))
    )


def ungrouped(op: Operator, groups: Array, x: Array) -> Array:
    """The result of `grouped`, in the shape of x again."""
    axis = channel_axis(op, x.ndim)
    moved = (x.shape[0], x.shape[axis], *(x.shape[i] for i in spatial_axes(op, x.ndim)))
    return np.moveaxis(groups.reshape(moved), 1, axis)


def group_spec(op: Operator, x: ArraySpec, scale: ArraySpec, bias: ArraySpec) -> Specs:
    channels, groups = need_channels(op, x, scale, bias), op.args.get("group", 32)
    if groups < 1 or channels % groups:
        raise misfit(f"{channels} channels do not make {groups} equal groups.", "Give group=..., a divisor of them.")
    statistic = ArraySpec((x.shape[0], groups), x.dtype)
    return (ArraySpec(x.shape, result_dtype(x, scale, bias)), statistic, statistic)[: len(op.outputs)]


@operator(
    "GroupNorm",
    "x, scale, bias -> y, mean?, inv_std?",
    "y = scale x̂ + bias, x̂ = (x - mean) inv_std, inv_std = 1 / √(var(x) + epsilon), by image and group of channels",
    CHANNEL_FIRST,
    infer=group_spec,
    args={"group": 32, "epsilon": 1e-5, "order": "NCHW", "is_test": 0},
)
@in_single
def group_norm(op: Operator, x: Array, scale: Array, bias: Array) -> Arrays:
    """Each group of channels of each image standardized. x: (n, c, ...), scale, bias: (c,) -> statistics: (n, groups).

    The gradient reads mean and inv_std, and none passes through them.
    Source: Wu and He, Group Normalization (2018), arXiv:1803.08494.
    """
    groups = grouped(op, x)
    mean = averaged(groups, 2, keepdims=True)
    centred = groups - mean
    inv_std = 1 / np.sqrt(averaged(centred * centred, 2, keepdims=True) + op.args.get("epsilon", 1e-5))
    y = ungrouped(op, centred * inv_std, x) * by_channel(op, scale, x.ndim) + by_channel(op, bias, x.ndim)
    return (y, mean.reshape(mean.shape[:2]), inv_std.reshape(mean.shape[:2]))[: len(op.outputs)]


def group_norm_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    only_through_first(op, g_output)
    if len(op.outputs) < 3:
        raise ValueError("three outputs are needed, y, mean and inv_std: the gradient reads the last two")
    return op_gradient(op, [g_output[0], *op.inputs, *op.outputs[1:]], wanted=(0, 1, 2))


@gradient_of(
    "GroupNorm",
    "dy, x, scale, bias, mean, inv_std -> dx, dscale, dbias",
    formula=f"{CHANNEL_FIRST}, x̂ = (x - mean) inv_std",
    derivative=CHANNEL_SECOND,
    infer=like_forward("dx: dy x scale mean inv_std; dscale: dy x mean inv_std; dbias: dy"),
    rule=group_norm_rule,
)
@in_single
def group_norm_gradient(
    op: Operator, dy: Array, x: Array, scale: Array, bias: Array, mean: Array, inv_std: Array
) -> tuple[Array, Array, Array]:
    column = inv_std.reshape((*inv_std.shape, 1))
    x_hat, g = (grouped(op, x) - mean.reshape(column.shape)) * column, grouped(op, dy * by_channel(op, scale, x.ndim))
    dx, axes = through_standardization(g, x_hat, 1 / column, 2), batch_axes(op, x.ndim)
    return ungrouped(op, dx, x), summed(dy * ungrouped(op, x_hat, x), axes), summed(dy, axes)
