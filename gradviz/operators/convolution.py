"""Convolution and its transpose: Conv, ConvTranspose and their gradients, by dimension."""

from math import prod
from typing import Any

import numpy as np

from ..program import Operator
from .arguments import bad_argument
from .columns import Convolution
from .gradients import Steps, arriving, gradient_of, op_gradient
from .inference import contiguous, described, misfit, need_floats, need_shape, result_dtype
from .registry import (
    Array,
    Arrays,
    ArraySpec,
    Gradients,
    RuleAnswer,
    Specs,
    each_of,
    in_single,
    operator,
    register_gradient,
)
from .windows import (
    DIMENSIONS,
    WINDOW_ARGS,
    Sizes,
    batch_first,
    batch_last,
    channels_are_last,
    image_shape,
    in_phases,
    margins_of,
    numbers,
    shape_of_images,
    windows_of,
)

CONV_ARGS: dict[str, Any] = {**WINDOW_ARGS, "group": 1}
CONV_GRADIENT_ARGS: dict[str, Any] = {**CONV_ARGS, "no_bias": 0}


def groups_of(op: Operator, channels: int, outputs: int) -> int:
    """The argument `group`, a divisor of both."""
    groups = op.args.get("group", 1)
    if groups < 1:
        raise bad_argument(op, "group", "must be at least 1")
    if channels % groups or outputs % groups:
        raise misfit(f"{channels} channels and {outputs} filters do not make {groups} equal groups.")
    return int(groups)


def filter_shape(op: Operator, x: Sizes, w: Sizes) -> tuple[int, Sizes, int]:
    """Filters, their sizes, and the channels of each; w has this shape.

    Raises where it does not go with images of shape `x`, or the argument `kernel` says otherwise; it may be left out.
    """
    filters, kernel, channels = image_shape(op, w, "w")
    if len(w) != len(x):
        raise misfit(f"x of shape {x} has {len(x) - 2} spatial dimensions, w of shape {w} has {len(kernel)}.")
    asked = numbers(op, "kernel", len(kernel), 0, kernel)
    if asked != kernel:
        raise misfit(f"windows of {asked} are asked for, the filters w have {kernel}.", "Leave kernel out: w gives it.")
    return filters, kernel, channels


def convolution(op: Operator, x: Sizes, w: Sizes) -> Convolution:
    """What Conv with `op`'s arguments does to images of shape `x` with filters of shape `w`."""
    batch, image, channels = image_shape(op, x)
    outputs, kernel, in_group = filter_shape(op, x, w)
    groups = groups_of(op, channels, outputs)
    if channels != in_group * groups:
        wanted = f" in each of {groups} groups" if groups > 1 else ""
        raise misfit(f"x of shape {x} has {channels} channels, w of shape {w} takes {in_group}{wanted}.")
    return Convolution(batch, windows_of(op, image, kernel), groups, channels, outputs)


def filter_matrices(op: Operator, w: Array, layer: Convolution) -> Array:
    """F of each tap: (taps, groups, m / groups, height), from filters (m, c / groups, ...), or with channels last."""
    ordered = np.moveaxis(w, -1, 1) if channels_are_last(op) else w
    split = ordered.reshape(len(w), ordered.shape[1], layer.taps, prod(layer.tap_windows.kernel))
    return np.moveaxis(split, 2, 0).reshape(layer.taps, layer.groups, layer.outputs // layer.groups, layer.height)


def filters_of(op: Operator, matrices: Array, w: Array, layer: Convolution) -> Array:
    """The result of `filter_matrices`, in the shape of w again."""
    is_last, kernel = channels_are_last(op), layer.windows.kernel
    channels = w.shape[-1 if is_last else 1]
    split = matrices.reshape(layer.taps, len(w), channels, prod(layer.tap_windows.kernel))
    ordered = np.moveaxis(split, 0, 2).reshape(len(w), channels, *kernel)
    return np.moveaxis(ordered, 1, -1) if is_last else ordered


def add_bias(maps: Array, bias: Array | None) -> Array:
    """Maps (m, ..., n) plus a number for each of the m; written into `maps` where its dtype allows."""
    if bias is None:
        return maps
    column = bias.reshape((-1,) + (1,) * (maps.ndim - 1))
    if np.result_type(maps.dtype, bias.dtype) != maps.dtype:
        return maps + column
    maps += column
    return maps


def gradients_asked(op: Operator) -> tuple[bool, bool]:
    """Whether a gradient operator gives that of the bias, and that of x; raises where its arguments say otherwise."""
    with_bias = not op.args.get("no_bias", 0)
    if len(op.outputs) not in (1 + with_bias, 2 + with_bias):
        wanted = "dw, db and perhaps dx" if with_bias else "dw and perhaps dx"
        raise misfit(f"{len(op.outputs)} outputs do not go with no_bias={int(not with_bias)}; they are {wanted}.")
    return with_bias, len(op.outputs) == 2 + with_bias


def layer_of(op: Operator, x: Sizes, w: Sizes) -> tuple[Convolution, Sizes, int]:
    """The Conv of Conv or ConvTranspose, of their gradients too; the sizes and the channels of what they make."""
    if op.type.startswith("ConvTranspose"):
        layer = transposed(op, x, w)
        return layer, layer.windows.image, layer.channels
    layer = convolution(op, x, w)
    return layer, layer.windows.places, layer.outputs


def conv_spec(op: Operator, x: ArraySpec, w: ArraySpec, *bias: ArraySpec) -> ArraySpec:
    need_floats(op, (x, w, *bias))
    _, sizes, channels = layer_of(op, x.shape, w.shape)
    for b in bias:
        if b.shape != (channels,):
            raise misfit(f"b must have the shape ({channels},), one for each output channel; got {described(b)}.")
    return ArraySpec(shape_of_images(op, x.shape[0], sizes, channels), result_dtype(x, w, *bias))


@each_of(
    DIMENSIONS,
    operator,
    "Conv{}",
    "x, w, b? -> y",
    "y[n, m, p] = b[m] + Σ_c,k w[m, c, k] x[n, c, s p + d k], stride s, dilation d, x with margins",
    "dw = Σ dy[n, m, p] x[n, c, s p + d k], db = Σ dy, dx[n, c, s p + d k] += Σ_m w[m, c, k] dy[n, m, p]",
    infer=conv_spec,
    args=CONV_ARGS,
)
@in_single
def conv(op: Operator, x: Array, w: Array, b: Array | None = None) -> Array:
    """Convolution of images with filters. x: (n, c, h, w), w: (m, c / group, k, k), b: (m,) -> y: (n, m, h', w').

    Windows of `kernel` (default: that of w) slide by `stride` over images with margins of zeros: `pad`, or `pad_t`,
    `pad_l`, `pad_b`, `pad_r`; their elements are `dilation` apart. h' = ⌊(h + margins - dilation (k - 1) - 1) / stride⌋
    + 1. By dimension: `kernel_h` and `kernel_w`, or lists `kernels`, `strides`, `dilations` and `pads` (all before,
    then all behind) for any number of dimensions. Each of `group` groups of filters reads its own channels.
    With `order` NHWC: x: (n, h, w, c), w: (m, k, k, c / group) -> y: (n, h', w', m).
    """
    layer = convolution(op, x.shape, w.shape).beside(w)
    images = in_phases(batch_last(op, x), layer.tap_windows)
    return batch_first(op, add_bias(layer.forward(filter_matrices(op, w, layer), images), b))


def conv_gradient_spec(op: Operator, x: ArraySpec, w: ArraySpec, dy: ArraySpec) -> Specs:
    """Inference of the gradients of w, b and x that are asked for."""
    need_floats(op, (x, w, dy))
    with_bias, with_x = gradients_asked(op)
    _, sizes, channels = layer_of(op, x.shape, w.shape)
    need_shape("dy", dy, shape_of_images(op, x.shape[0], sizes, channels), "of y")
    dw, db = ArraySpec(w.shape, result_dtype(dy, x)), ArraySpec((channels,), dy.dtype)
    return (dw, *[db] * with_bias, *[ArraySpec(x.shape, result_dtype(dy, w))] * with_x)


FILTERS_SECOND = (
    "∂dy = Conv of x with ∂dw and ∂db, plus that of ∂dx with w; ∂x = dx with ∂dw for w, ∂w = dw with ∂dx for x"
)


def filters_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """One operator for the gradients of filters, bias and images; ``no_bias`` tells it that there is no bias."""
    reads = [op.inputs[0], op.inputs[1], g_output[0]]
    if len(op.inputs) == 2:
        return op_gradient(op, reads, wanted=(1, 0), args={**op.args, "no_bias": 1})
    return op_gradient(op, reads, wanted=(1, 2, 0))


WIDENING_ARGS: dict[str, Any] = {**dict.fromkeys(("adj", "adj_h", "adj_w"), 0), "adjs": ()}


def transposed(op: Operator, x: Sizes, w: Sizes) -> Convolution:
    """The Conv whose maps have shape `x` and whose filters have shape `w`; its images are what ConvTranspose makes."""
    batch, places, outputs = image_shape(op, x)
    filters, kernel, in_group = filter_shape(op, x, w)
    if filters != outputs:
        raise misfit(f"x of shape {x} has {outputs} channels, w of shape {w} takes {filters}: one filter for each.")
    groups = groups_of(op, filters, filters)
    windows = windows_of(op, widened(op, places, kernel), kernel)
    return Convolution(batch, windows, groups, in_group * groups, outputs)


def widened(op: Operator, places: Sizes, kernel: Sizes) -> Sizes:
    """The sizes of images over which windows have these places, and `adj` elements left over that none reaches."""
    count = len(places)
    stride, dilation = (numbers(op, name, count, 1, (1,) * count) for name in ("stride", "dilation"))
    left_over, margins = numbers(op, "adj", count, 0, (0,) * count), margins_of(op, count)
    if any(extra >= step for extra, step in zip(left_over, stride, strict=True)):
        raise misfit(f"{left_over} elements left over do not fit into strides of {stride}.", "Give a smaller adj.")
    image = tuple(
        (place - 1) * step + d * (k - 1) + 1 + extra - before - after
        for place, step, d, k, extra, before, after in zip(
            places, stride, dilation, kernel, left_over, margins[:count], margins[count:], strict=True
        )
    )
    if min(places) < 1 or min(image) < 1:
        raise misfit(f"x with images of {places} would make images of {image}.", "Give smaller margins.")
    return image


@operator(
    "ConvTranspose",
    "x, w, b? -> y",
    "y[n, c, s p + d k] = b[c] + Σ_m,p,k w[m, c, k] x[n, m, p], stride s, dilation d",
    "dw = Σ x[n, m, p] dy[n, c, s p + d k], db = Σ dy, dx = Conv of dy with w",
    infer=conv_spec,
    args={**CONV_ARGS, **WIDENING_ARGS},
)
@in_single
def conv_transpose(op: Operator, x: Array, w: Array, b: Array | None = None) -> Array:
    """Conv the other way: each element of x lays out a filter. x: (n, m, h, w), w: (m, c / group, k, k), b: (c,) -> y.

    y: (n, c, h', w'), h' = (h - 1) stride + dilation (k - 1) + 1 + adj - margins; `adj` is less than the stride.
    The other arguments are those of Conv. Source: Dumoulin and Visin, A guide to convolution arithmetic for deep
    learning (2016), arXiv:1603.07285, chapter 4.
    """
    layer = transposed(op, x.shape, w.shape).beside(w)
    return batch_first(op, add_bias(layer.image_gradient(filter_matrices(op, w, layer), batch_last(op, x)), b))


@gradient_of(
    "ConvTranspose",
    "x, w, dy -> dw, db?, dx?",
    FILTERS_SECOND,
    infer=conv_gradient_spec,
    args={**CONV_GRADIENT_ARGS, **WIDENING_ARGS},
    rule=filters_rule,
    doc="Gradients of ConvTranspose in the shapes of w, b and x; see ConvGradient.",
)
@each_of(
    DIMENSIONS,
    gradient_of,
    "Conv{}",
    "x, w, dy -> dw, db?, dx?",
    FILTERS_SECOND,
    infer=conv_gradient_spec,
    args=CONV_GRADIENT_ARGS,
    rule=filters_rule,
)
@in_single
def conv_gradient(op: Operator, x: Array, w: Array, dy: Array) -> Arrays:
    """Gradients of Conv in the shapes of w, b and x.

    With no_bias=1 there is no output for that of b; that of x is computed where there is an output for it.
    """
    (layer, _, _), (with_bias, with_x) = layer_of(op, x.shape, w.shape), gradients_asked(op)
    x, dy, is_transposed = batch_last(op, x), contiguous(batch_last(op, dy)), op.type.startswith("ConvTranspose")
    images, maps = (dy, x) if is_transposed else (x, dy)
    layer = layer.beside(w, maps)
    images = in_phases(images, layer.tap_windows)
    gradients = [filters_of(op, layer.filter_gradient(images, maps), w, layer)]
    if with_bias:
        gradients.append(dy.sum(axis=tuple(range(1, dy.ndim))))
    if with_x:
        filters = filter_matrices(op, w, layer)
        dx = layer.forward(filters, images) if is_transposed else layer.image_gradient(filters, maps)
        gradients.append(batch_first(op, dx))
    return tuple(gradients)


@register_gradient("ConvTransposeGradient")
@each_of(DIMENSIONS, register_gradient, "Conv{}Gradient")
def filters_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """∂w and ∂x come from the gradient operator itself, of ∂dx and ∂dw in place of x and w."""
    do, (x, w, dy) = Steps(op), op.inputs
    args = {name: value for name, value in op.args.items() if name != "no_bias"}
    g_dw, *g_db, g_dx = arriving(g_output, 2 if op.args.get("no_bias", 0) else 3)
    bias, forward, terms = [g for g in g_db if g is not None], op.type.removesuffix("Gradient"), []
    if g_dw is not None or bias:
        g_dw = g_dw or do.fill(w, 0.0)
        terms.append(do(forward, x, g_dw, *bias, **args))
    if g_dx is not None:
        terms.append(do(forward, g_dx, w, **args))
    g_w, *g_x = do.several(2 if g_dw else 1, op.type, g_dx or x, g_dw or w, dy, **args, no_bias=1)
    return do.answer(*(g_x or [do.fill(x, 0.0)]), g_w if g_dx else do.fill(w, 0.0), do.sum(*terms))
