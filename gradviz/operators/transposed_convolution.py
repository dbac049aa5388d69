"""ConvTranspose: the map that takes a gradient through Conv, as an operator of its own."""

from typing import Any

from ..program import Operator
from .convolution import (
    CONV_ARGS,
    CONV_GRADIENT_ARGS,
    FILTERS_SECOND,
    Convolution,
    add_bias,
    check_bias,
    check_outputs,
    filter_matrices,
    filter_shape,
    filters_gradient_rule,
    filters_of,
    filters_rule,
    gradient_specs,
    gradients_asked,
    groups_of,
)
from .gradients import gradient_of
from .inference import misfit, need_floats, result_dtype
from .registry import Array, ArraySpec, operator, register_gradient
from .windows import (
    Sizes,
    batch_first,
    batch_last,
    contiguous,
    image_shape,
    margins_of,
    numbers,
    shape_of_images,
    windows_of,
    with_margins,
)

WIDENING_ARGS: dict[str, Any] = {**dict.fromkeys(("adj", "adj_h", "adj_w"), 0), "adjs": ()}


def transposed(op: Operator, x: Sizes, w: Sizes) -> Convolution:
    """The Conv whose maps have shape `x` and whose filters have shape `w`; its images are what ConvTranspose makes."""
    _, places, outputs = image_shape(op, x)
    filters, kernel, in_group = filter_shape(op, x, w)
    if filters != outputs:
        raise misfit(f"x of shape {x} has {outputs} channels, w of shape {w} takes {filters}: one filter for each.")
    groups = groups_of(op, filters, filters)
    return Convolution(windows_of(op, widened(op, places, kernel), kernel), groups, in_group * groups, outputs)


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


def transposed_spec(op: Operator, x: ArraySpec, w: ArraySpec, *bias: ArraySpec) -> ArraySpec:
    need_floats(op, (x, w, *bias))
    layer = transposed(op, x.shape, w.shape)
    for b in bias:
        check_bias(b, layer.channels)
    return ArraySpec(shape_of_images(op, x.shape[0], layer.windows.image, layer.channels), result_dtype(x, w, *bias))


@operator(
    "ConvTranspose",
    "x, w, b? -> y",
    formula="y[n, c, s p + d k] = b[c] + Σ_m,p,k w[m, c, k] x[n, m, p], stride s, dilation d",
    derivative="dw = Σ x[n, m, p] dy[n, c, s p + d k], db = Σ dy, dx = Conv of dy with w",
    infer=transposed_spec,
    args={**CONV_ARGS, **WIDENING_ARGS},
)
def conv_transpose(op: Operator, x: Array, w: Array, b: Array | None = None) -> Array:
    """Conv the other way: each element of x lays out a filter. x: (n, m, h, w), w: (m, c / group, k, k), b: (c,) -> y.

    y: (n, c, h', w'), h' = (h - 1) stride + dilation (k - 1) + 1 + adj - margins; `adj` is less than the stride.
    The other arguments are those of Conv. Source: Dumoulin and Visin, A guide to convolution arithmetic for deep
    learning (2016), arXiv:1603.07285, chapter 4.
    """
    layer = transposed(op, x.shape, w.shape)
    return batch_first(op, add_bias(layer.image_gradient(filter_matrices(op, w, layer.groups), batch_last(op, x)), b))


def transposed_gradient_spec(op: Operator, x: ArraySpec, w: ArraySpec, dy: ArraySpec) -> tuple[ArraySpec, ...]:
    need_floats(op, (x, w, dy))
    check_outputs(op)
    layer = transposed(op, x.shape, w.shape)
    return gradient_specs(op, x, w, dy, layer.windows.image, layer.channels)


@gradient_of(
    "ConvTranspose",
    "x, w, dy -> dw, db?, dx?",
    derivative=FILTERS_SECOND,
    infer=transposed_gradient_spec,
    args={**CONV_GRADIENT_ARGS, **WIDENING_ARGS},
    rule=filters_rule,
)
def conv_transpose_gradient(op: Operator, x: Array, w: Array, dy: Array) -> tuple[Array, ...]:
    """Gradients of ConvTranspose in the shapes of w, b and x; see ConvGradient."""
    layer, (with_bias, with_x) = transposed(op, x.shape, w.shape), gradients_asked(op)
    images = contiguous(batch_last(op, dy))
    wide = with_margins(images, layer.windows)
    found = [filters_of(op, layer.filter_gradient(wide, batch_last(op, x)), w)]
    if with_bias:
        found.append(images.sum(axis=tuple(range(1, images.ndim))))
    if with_x:
        found.append(batch_first(op, layer.forward(filter_matrices(op, w, layer.groups), wide)))
    return tuple(found)


register_gradient("ConvTransposeGradient")(filters_gradient_rule)
