"""Windows that slide over batches of images: their places, and the elements under them, for convolution and pooling.

Images lie in memory here as (channels, height, width, ..., batch). What one position in a window meets in all images is
then a few long runs of memory, and one matrix product serves the whole batch. Operators return views with the axes in
their order; those that follow keep the memory as it is, so that only images that are fed are ever rearranged, and those
over which windows go in strides.
The layout is that of Krizhevsky's cuda-convnet (2012).
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..program import Operator
from .arguments import bad_argument
from .inference import contiguous, misfit
from .registry import Array

WINDOW_ARGS: dict[str, Any] = {
    **dict.fromkeys(("kernel", "kernel_h", "kernel_w"), 0),
    "kernels": (),
    **dict.fromkeys(("stride", "stride_h", "stride_w"), 1),
    "strides": (),
    **dict.fromkeys(("pad", "pad_t", "pad_l", "pad_b", "pad_r"), 0),
    "pads": (),
    **dict.fromkeys(("dilation", "dilation_h", "dilation_w"), 1),
    "dilations": (),
    "order": "NCHW",
    "legacy_pad": 0,
}
DIMENSIONS = {"": None, "1D": 1, "2D": 2, "3D": 3}
"""What type names end in -> how many spatial dimensions their images have; None: any number."""

MOST_WINDOWS = 1024
"""What so many windows meet is kept for the next time."""

Sizes = tuple[int, ...]
"""A number for each spatial dimension."""


class Windows(NamedTuple):
    """Windows over images with margins; `kernel` elements, `dilation` apart, the next window `stride` further."""

    image: Sizes
    kernel: Sizes
    stride: Sizes
    dilation: Sizes
    before: Sizes
    after: Sizes

    @property
    def padded(self) -> Sizes:
        """The sizes of an image with its margins."""
        return tuple(b + size + a for b, size, a in zip(self.before, self.image, self.after, strict=True))

    @property
    def extent(self) -> Sizes:
        """From the first to the last element under a window."""
        return tuple(d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel, strict=True))

    @property
    def places(self) -> Sizes:
        """How many windows fit."""
        fits = zip(self.padded, self.extent, self.stride, strict=True)
        return tuple((size - extent) // stride + 1 for size, extent, stride in fits)

    @property
    def steps(self) -> Sizes:
        """How many strides cover an image with its margins."""
        return tuple(-(-size // stride) for size, stride in zip(self.padded, self.stride, strict=True))

    def along(self, axis: int) -> list[slice]:
        """For each position in a window, in one dimension, what it meets there in padded images."""
        count, stride, dilation = self.places[axis], self.stride[axis], self.dilation[axis]
        starts = range(0, self.kernel[axis] * dilation, dilation)
        return [slice(start, start + (count - 1) * stride + 1, stride) for start in starts]

    @lru_cache(MOST_WINDOWS)  # noqa: B019 what is kept alive is some numbers
    def met(self, places: tuple[tuple[int, int], ...] = ()) -> Sequence[tuple[int | slice, ...]]:
        """For each position in a window, what it meets in images `in_phases`, in the windows of these `places`.

        Args:
            places: the first of them in each dimension, and the one behind the last; left out: all.
        """
        places = places or tuple([(0, count) for count in self.places])
        regions = list[tuple[int | slice, ...]]()
        for position in product(*[range(0, k * d, d) for k, d in zip(self.kernel, self.dilation, strict=True)]):
            split = [divmod(at, stride) for at, stride in zip(position, self.stride, strict=True)]
            met = [slice(first + step, last + step) for (first, last), (step, _) in zip(places, split, strict=True)]
            regions.append((*[phase for _, phase in split], *met))
        return regions

    @lru_cache(MOST_WINDOWS)  # noqa: B019
    def phases(self) -> Sequence[tuple[tuple[int | slice, ...], tuple[slice, ...]]]:
        """For each phase of the strides, where its elements of an image lie `in_phases`, and where in the image."""
        regions = list[tuple[tuple[int | slice, ...], tuple[slice, ...]]]()
        for phases in product(*map(range, self.stride)):
            steps, elements = list[slice](), list[slice]()
            for phase, size, stride, before in zip(phases, self.image, self.stride, self.before, strict=True):
                first, last = (-((phase - at) // stride) for at in (before, before + size))
                steps.append(slice(first, last))
                elements.append(slice(phase + stride * first - before, size, stride))
            regions.append(((*phases, *steps), (*elements,)))
        return regions


def windows_of(op: Operator, image: Sizes, kernel: Sizes | None = None) -> Windows:
    """The windows of `op` over images of these sizes.

    Args:
        kernel: the sizes of a window, None: the arguments tell them.

    Raises:
        RunError: ``bad_argument``, sizes that cannot be; ``shape_mismatch``, no window fits.
    """
    count = len(image)
    if kernel is None:
        kernel = numbers(op, "kernel", count, 1, None)
    margins = margins_of(op, count)
    windows = Windows(
        image,
        kernel,
        numbers(op, "stride", count, 1, (1,) * count),
        numbers(op, "dilation", count, 1, (1,) * count),
        margins[:count],
        margins[count:],
    )
    if min(kernel) < 1:
        raise misfit(f"windows of {kernel} elements have nothing under them.")
    if min(windows.places) < 1:
        with_them = f" ({windows.padded} with margins)" if any(margins) else ""
        raise misfit(
            f"images of {image}{with_them} are smaller than a window of {windows.extent}.",
            "Widen them with pad=..., or choose a smaller kernel.",
        )
    # A longer stride leads beyond the image as this one does, by way of more phases.
    longest = [size - extent + 1 for size, extent in zip(windows.padded, windows.extent, strict=True)]
    return windows._replace(stride=tuple(map(min, windows.stride, longest)))


def numbers(op: Operator, name: str, count: int, least: int, default: Sizes | None) -> Sizes:
    """The argument `name` of `op` in each dimension: ``kernels=[3, 5]``, ``kernel_h=3, kernel_w=5`` or ``kernel=3``.

    Raises RunError (``bad_argument``) where one is below `least`, or missing without a default.
    """
    if op.args.get(f"{name}s"):
        return listed(op, f"{name}s", count, least)
    names = (f"{name}_h", f"{name}_w") if count == 2 else (name,) * count
    sizes: list[Any] = [op.args.get(each, op.args.get(name)) for each in names]
    if default is not None:
        sizes = [other if number is None else number for number, other in zip(sizes, default, strict=True)]
    for each, number in zip(names, sizes, strict=True):
        if number is None:
            raise bad_argument(op, each, "is no size of a window", f"Give {name}=3, or {name}s=[...] by dimension.")
        if number < least:
            raise bad_argument(op, each if each in op.args else name, f"must be at least {least}")
    return tuple(int(number) for number in sizes)


def margins_of(op: Operator, count: int) -> Sizes:
    """What is added to an image before it in each dimension, then behind it."""
    if op.args.get("legacy_pad", 0):
        raise bad_argument(
            op, "legacy_pad", "is not supported", "Give the margins: pad, or pad_t, pad_l, pad_b, pad_r."
        )
    if op.args.get("pads"):
        return listed(op, "pads", 2 * count, 0)
    names = ("pad_t", "pad_l", "pad_b", "pad_r") if count == 2 else ("pad",) * (2 * count)
    for name in (*names, "pad"):
        if op.args.get(name, 0) < 0:
            raise bad_argument(op, name, "must be at least 0")
    return tuple(int(op.args.get(name, op.args.get("pad", 0))) for name in names)


def listed(op: Operator, name: str, count: int, least: int) -> Sizes:
    """The list of `count` numbers that argument `name` of `op` is."""
    sizes = op.args[name]
    if len(sizes) != count or min(sizes) < least:
        raise bad_argument(op, name, f"must be {count} integers of at least {least}")
    return tuple(int(number) for number in sizes)


def channels_are_last(op: Operator) -> bool:
    """Whether `op` takes its images as (n, h, w, c)."""
    order = op.args.get("order", "NCHW")
    if order not in ("NCHW", "NHWC"):
        raise bad_argument(op, "order", "must be NCHW or NHWC")
    return bool(order == "NHWC")


def image_shape(op: Operator, shape: Sizes, what: str = "x") -> tuple[int, Sizes, int]:
    """Images, their sizes and their channels; `what` has this shape. Raises where they are not what `op` takes."""
    order = "(n, ..., c)" if channels_are_last(op) else "(n, c, ...)"
    wanted = DIMENSIONS.get(op.type.removesuffix("Gradient")[-2:])
    if len(shape) < 3 if wanted is None else len(shape) != wanted + 2:
        dimensions = "1, 2 or more spatial dimensions" if wanted is None else f"{wanted} of them spatial"
        raise misfit(f"{what} must be a batch of images {order}, {dimensions}; its shape is {shape}.")
    return (shape[0], shape[1:-1], shape[-1]) if channels_are_last(op) else (shape[0], shape[2:], shape[1])


def shape_of_images(op: Operator, count: int, sizes: Sizes, channels: int) -> Sizes:
    """The shape of a batch of `count` images in the order that `op` has."""
    return (count, *sizes, channels) if channels_are_last(op) else (count, channels, *sizes)


def batch_last(op: Operator, x: Array) -> Array:
    """Images in the order that `op` has, as (c, ..., n); a view."""
    return np.swapaxes(x, 0, -1) if channels_are_last(op) else np.moveaxis(x, 0, -1)


def batch_first(op: Operator, images: Array) -> Array:
    """Images (c, ..., n) in the order that `op` has; a view."""
    return np.swapaxes(images, 0, -1) if channels_are_last(op) else np.moveaxis(images, -1, 0)


def with_margins(images: Array, windows: Windows, fill: float) -> Array:
    """Images (c, ..., n), contiguous, between margins of `fill`."""
    if windows.padded == windows.image:
        return contiguous(images)
    wide = np.full_like(images, fill, shape=(images.shape[0], *windows.padded, images.shape[-1]), order="C")
    wide[:, *inside(windows)] = images
    return wide


def in_phases(images: Array, windows: Windows, fill: float = 0.0) -> Array:
    """Images (c, ..., n) with margins of `fill` as (c, phases..., steps..., n): element s i + p of a dimension at p, i.

    What a position in a window meets under strides s lies side by side then, as it does where they are 1.
    """
    shape = (images.shape[0], *windows.stride, *windows.steps, images.shape[-1])
    if {*windows.stride} == {1}:
        return with_margins(images, windows, fill).reshape(shape)
    apart = np.full_like(images, fill, shape=shape, order="C")
    for there, here in windows.phases():
        apart[:, *there] = images[:, *here]
    return apart


def out_of_phases(apart: Array, windows: Windows) -> Array:
    """The result of `in_phases`, as (c, ..., n) without margins again."""
    if {*windows.stride} == {1}:
        return apart.reshape(apart.shape[0], *windows.padded, apart.shape[-1])[:, *inside(windows)]
    images = np.empty_like(apart, shape=(apart.shape[0], *windows.image, apart.shape[-1]), order="C")
    for there, here in windows.phases():
        images[:, *here] = apart[:, *there]
    return images


def inside(windows: Windows) -> tuple[slice, ...]:
    """Where an image lies between its margins."""
    return tuple(slice(b, b + size) for b, size in zip(windows.before, windows.image, strict=True))
