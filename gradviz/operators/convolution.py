"""Convolution: Conv and its gradient, as products of filters with what lies under each window, laid out in columns.

Where F has a filter in each row and X the elements under a window in each column,

    Y = F·X,   dF = dY·Xᵀ,   dX = Fᵀ·dY

in which an element's gradients from all columns are added up.
Source: Chellapilla, Puri, Simard, High Performance Convolutional Neural Networks for Document Processing (2006).
"""

from collections.abc import Callable, Iterator
from math import prod
from threading import local
from typing import Any, NamedTuple

import numpy as np

from ..program import Operator
from .arguments import bad_argument
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
    Windows,
    batch_first,
    batch_last,
    channels_are_last,
    image_shape,
    in_phases,
    margins_of,
    numbers,
    out_of_phases,
    shape_of_images,
    windows_of,
)

CONV_ARGS: dict[str, Any] = {**WINDOW_ARGS, "group": 1}
CONV_GRADIENT_ARGS: dict[str, Any] = {**CONV_ARGS, "no_bias": 0}

MOST_BYTES = 1 << 23
"""How much memory columns take at a time, unless those of one place are more. Each thread keeps it for the next time.

With less, BLAS spends its time on rearranging the filters; and new memory each time costs as much as filling it.
"""

MANY_SHARED = 128
"""Where a row of a window has so many elements, in all channels, its columns are laid out once for all of its rows.

With fewer, adding up the products takes more time than that saves; and bringing filters in order, where they are many.
"""

MANY_COLUMNS = 2048
"""With so many, the time that BLAS saves at X·dYᵀ is more than that of transposing the product."""

_of_thread = local()


def scratch(purpose: str, like: Array, dtype: np.dtype[Any], elements: int) -> Array:
    """Memory for so many elements, where `like` lies, which the next call in this thread may hand out again."""
    wanted = elements * dtype.itemsize
    if not isinstance(like, np.ndarray) or wanted > MOST_BYTES:
        return np.empty_like(like, dtype, shape=(elements,))
    memory = getattr(_of_thread, purpose, None)
    if memory is None or len(memory) < wanted:
        memory = np.empty(MOST_BYTES, np.uint8)
        setattr(_of_thread, purpose, memory)
    return memory[:wanted].view(dtype)


class Block(NamedTuple):
    """Some places of windows: the first in each dimension and the one behind the last; and their columns."""

    places: tuple[tuple[int, int], ...]
    columns: slice

    def __len__(self) -> int:
        return int(self.columns.stop - self.columns.start)


class Convolution(NamedTuple):
    """A linear map from `channels` images to `outputs` maps, each computed from the images of its own of `groups`.

    Where it pays, unless it `is_whole`, rows of windows share columns: one row of a window is laid out over all rows of
    an image, and the products with the rows of filters, the `taps`, are added up, each where it belongs.
    """

    batch: int
    windows: Windows
    groups: int
    channels: int
    outputs: int
    is_whole: bool = False

    @property
    def taps(self) -> int:
        """How many parts of a window share columns: its rows, or 1, the window as a whole."""
        rows, *others = self.windows.kernel
        if self.is_whole or self.windows.stride[0] > 1:
            return 1
        elements, columns = self.channels // self.groups * prod(others), self.batch * prod(self.windows.places)
        return rows if elements >= MANY_SHARED and columns * self.groups >= 2 * self.outputs else 1

    def beside(self, *factors: Array) -> "Convolution":
        """It for images that are multiplied with these: with windows as a whole where those are not finite.

        Then the products with zeros of margins, which taps skip, are NaN. A card has no use for parts.
        """
        if self.taps == 1 or all(isinstance(one, np.ndarray) and np.isfinite(one).all() for one in factors):
            return self
        return self._replace(is_whole=True)

    @property
    def tap_windows(self) -> Windows:
        """The windows of one part, over images without the margins that the others skip."""
        windows = self.windows
        if self.taps == 1:
            return windows
        kernel, before, after = (1, *windows.kernel[1:]), (0, *windows.before[1:]), (0, *windows.after[1:])
        return windows._replace(kernel=kernel, before=before, after=after)

    @property
    def height(self) -> int:
        """How many elements a column has: those under a tap, in all channels of a group."""
        return self.channels // self.groups * prod(self.tap_windows.kernel)

    @property
    def is_pointwise(self) -> bool:
        """Whether taps are the elements one by one, so that the images themselves are the columns."""
        return {*self.tap_windows.kernel, *self.tap_windows.stride} == {1}

    def blocks(self, dtype: np.dtype[Any]) -> Iterator[Block]:
        """Parts of the places, the largest first, whose columns and products take at most MOST_BYTES each."""
        places, rows = self.tap_windows.places, max(self.groups * self.height, self.outputs if self.taps > 1 else 1)
        each = max(1, rows * self.batch * dtype.itemsize)
        behind = [prod(places[at + 1 :]) for at in range(len(places))]
        cut = next((at for at, count in enumerate(behind) if each * count <= MOST_BYTES), len(places) - 1)
        step, whole = max(1, MOST_BYTES // (each * behind[cut])), [(0, count) for count in places[cut + 1 :]]
        start = 0
        for before in np.ndindex(places[:cut]):
            for first in range(0, places[cut], step):
                last = min(first + step, places[cut])
                columns = slice(start, start + (last - first) * behind[cut] * self.batch)
                yield Block((*[(at, at + 1) for at in before], (first, last), *whole), columns)
                start = columns.stop

    def each_laid_out(self, like: Array, dtype: np.dtype[Any]) -> Iterator[tuple[Block, Array]]:
        """Each block, and memory for its columns, (c, positions in a tap, places..., n), which the next one shares.

        `like`: an array that lies where they shall.
        """
        for block in self.blocks(dtype):
            places = [last - first for first, last in block.places]
            shape = (self.channels, prod(self.tap_windows.kernel), *places, self.batch)
            yield block, scratch("columns", like, dtype, self.groups * self.height * len(block)).reshape(shape)

    def as_columns(self, array: Array) -> Array:
        """(c, positions in a tap, ..., n) as X: (groups, height, places x batch)."""
        return array.reshape(self.groups, self.height, prod(array.shape[2:]))

    def each_columns(self, images: Array) -> Iterator[tuple[slice, Array]]:
        """Where each block's columns stand, and they, which the next overwrites. images: (c, ..., n) `in_phases`."""
        if self.is_pointwise:
            x = self.as_columns(images)
            yield slice(0, x.shape[-1]), x
            return
        for block, laid_out in self.each_laid_out(images, images.dtype):
            for at, met in enumerate(self.tap_windows.met(block.places)):
                laid_out[:, at] = images[:, *met]
            yield block.columns, self.as_columns(laid_out)

    def met_by_taps(self, columns: slice) -> Iterator[tuple[int, slice, slice]]:
        """For each tap, the columns of maps that these are for, and which of these they are."""
        windows, row = self.windows, prod(self.windows.places[1:]) * self.batch
        for tap in range(self.taps):
            shift = row * (windows.before[0] - tap * windows.dilation[0]) if self.taps > 1 else 0
            first, last = max(columns.start, -shift), min(columns.stop, row * windows.places[0] - shift)
            if first < last:
                yield tap, slice(first + shift, last + shift), slice(first - columns.start, last - columns.start)

    def by_group(self, maps: Array) -> Array:
        """Maps (m, ..., n) as Y: (groups, m / groups, windows x batch)."""
        return maps.reshape(self.groups, self.outputs // self.groups, prod(maps.shape[1:]))

    def forward(self, filters: Array, images: Array) -> Array:
        """Y = F·X. filters: `filter_matrices`, images: (c, ..., n) `in_phases` -> (m, ..., n)."""
        dtype = np.result_type(filters.dtype, images.dtype)
        empty = np.empty_like if self.taps == 1 else np.zeros_like
        maps = empty(images, dtype, shape=(self.outputs, *self.windows.places, self.batch), order="C")
        by_group = self.by_group(maps)
        for columns, x in self.each_columns(images):
            for tap, there, here in self.met_by_taps(columns):
                self.add_product(np.matmul, filters[tap], x[..., here], by_group[..., there])
        return maps

    def add_product(self, times: Callable[..., Array], a: Array, b: Array, total: Array) -> None:
        """a·b into `total`; with several taps, added to it."""
        if self.taps == 1:
            times(a, b, out=total)
        else:
            total += times(a, b, out=scratch("product", total, total.dtype, total.size).reshape(total.shape))

    def filter_gradient(self, images: Array, maps: Array) -> Array:
        """dF = dY·Xᵀ. images: (c, ..., n) `in_phases`, maps: (m, ..., n) -> `filter_matrices`."""
        by_group = self.by_group(maps)
        is_turned = by_group.shape[-1] >= MANY_COLUMNS
        sizes = self.outputs // self.groups, self.height
        shape = (self.taps, self.groups, *(reversed(sizes) if is_turned else sizes))
        totals = np.zeros_like(maps, np.result_type(images.dtype, maps.dtype), shape=shape, order="C")
        for columns, x in self.each_columns(images):
            for tap, there, here in self.met_by_taps(columns):
                y, met = by_group[..., there], x[..., here]
                a, b = (met, y) if is_turned else (y, met)
                totals[tap] += np.matmul(a, np.swapaxes(b, 1, 2))
        return np.swapaxes(totals, 2, 3) if is_turned else totals

    def image_gradient(self, filters: Array, maps: Array) -> Array:
        """dX = Fᵀ·dY, each element added where it was taken. maps: (m, ..., n) -> (c, ..., n), without margins."""
        windows, dtype = self.tap_windows, np.result_type(filters.dtype, maps.dtype)
        shape = (self.channels, *windows.stride, *windows.steps, self.batch)
        images = np.zeros_like(maps, dtype, shape=shape, order="C")
        by_group, turned = self.by_group(maps), np.swapaxes(filters, 2, 3)
        # Of one filter in each group a product is one of numbers, with which BLAS takes its time.
        times = np.multiply if by_group.shape[1] == 1 else np.matmul

        def add_up(columns: slice, x: Array) -> None:
            for tap, there, here in self.met_by_taps(columns):
                self.add_product(times, turned[tap], by_group[..., there], x[..., here])

        if self.is_pointwise:
            x = self.as_columns(images)
            add_up(slice(0, x.shape[-1]), x)
            return out_of_phases(images, windows)
        for block, laid_out in self.each_laid_out(maps, dtype):
            if self.taps > 1:
                laid_out[...] = 0
            add_up(block.columns, self.as_columns(laid_out))
            for at, met in enumerate(windows.met(block.places)):
                images[:, *met] += laid_out[:, at]
        return out_of_phases(images, windows)


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
