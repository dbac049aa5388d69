"""Pooling: MaxPool and AveragePool, the largest and the mean element under each window."""

from collections.abc import Callable, Iterable
from math import inf, nan, prod
from typing import Any

import numpy as np

from ..program import Operator
from .gradients import by, gradient_of
from .inference import chosen, like_forward, misfit, need_floats
from .registry import Array, ArraySpec, each_of, in_single, operator
from .windows import (
    DIMENSIONS,
    WINDOW_ARGS,
    Windows,
    batch_first,
    batch_last,
    image_shape,
    in_phases,
    out_of_phases,
    shape_of_images,
    windows_of,
    with_margins,
)

MAX_ARGS: dict[str, Any] = {**WINDOW_ARGS, "global_pooling": 0}


def pool_windows(op: Operator, shape: tuple[int, ...]) -> Windows:
    """The windows of `op` over images of this shape; none lies in the margins alone."""
    _, image, _ = image_shape(op, shape)
    is_global = bool(op.args.get("global_pooling", 0))
    windows = windows_of(op, image, image if is_global else None)
    if set(windows.dilation) != {1}:
        raise misfit(f"pooling takes neighbours; a dilation of {windows.dilation} is not supported.")
    margins = (*windows.before, *windows.after)
    if is_global and any(margins):
        raise misfit("with global_pooling=1 one window is the whole image.", "Leave out its margins.")
    if any(margin >= size for margin, size in zip(margins, windows.kernel * 2, strict=True)):
        raise misfit(
            f"margins of {margins} would hold whole windows of {windows.kernel}.",
            "Each must be smaller than the kernel.",
        )
    return windows


def pool_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    need_floats(op, (x,))
    windows, (count, _, channels) = pool_windows(op, x.shape), image_shape(op, x.shape)
    return ArraySpec(shape_of_images(op, count, windows.places, channels), x.dtype)


MOST_PLACES = 1 << 16
"""How many windows are looked at at a time, unless one channel has more: what is between stays in the caches."""


def by_channels(windows: Windows, function: Callable[..., Array], *arrays: Array) -> Array:
    """What `function` makes of arrays (c, ..., n): as many channels of another size; some after the others on a CPU."""
    channels, each = arrays[0].shape[0], prod(windows.places) * arrays[0].shape[-1]
    step = max(1, MOST_PLACES // max(1, each)) if isinstance(arrays[0], np.ndarray) else channels
    if step >= channels:
        return function(*arrays)
    first = function(*[array[:step] for array in arrays])
    results = np.empty_like(first, shape=(channels, *first.shape[1:]), order="C")
    results[:step] = first
    for start in range(step, channels, step):
        results[start : start + step] = function(*[array[start : start + step] for array in arrays])
    return results


def pooled(images: Array, windows: Windows, combine: np.ufunc, fill: float) -> Array:
    """The elements under each window, combined. images: (c, ..., n), margins of `fill` -> (c, places..., n).

    A window is a product of stretches, so that one dimension after the other is combined.
    """
    images = with_margins(images, windows, fill)
    for axis in range(len(windows.kernel)):
        before = (slice(None),) * (axis + 1)
        first, *others = windows.along(axis)
        y = images[*before, first].copy()
        for met in others:
            combine(y, images[*before, met], out=y)
        images = y
    return images


def where_largest(images: Array, largest: Array, windows: Windows) -> tuple[list[Array], Array]:
    """For each position in a window, where it has the largest element; and how many positions have, at least 1."""
    images = in_phases(images, windows, nan)
    attained = [images[:, *met] == largest for met in windows.met()]
    ties = np.zeros_like(largest, np.int8 if len(attained) < 128 else np.int32)
    for here in attained:
        np.add(ties, here.view(np.int8), out=ties)
    return attained, np.maximum(ties, 1)


def spread(shares: Iterable[Array], like: Array, windows: Windows) -> Array:
    """What each position in a window sends to what it meets, (c, places..., n), added up: (c, ..., n), no margins."""
    channels, *_, batch = like.shape
    images = np.zeros_like(like, shape=(channels, *windows.stride, *windows.steps, batch), order="C")
    for met, share in zip(windows.met(), shares, strict=True):
        if any(isinstance(at, slice) and at.start for at in met):
            images[:, *met] += share
        else:  # the first there
            images[:, *met] = share
    return out_of_phases(images, windows)


@each_of(
    DIMENSIONS,
    operator,
    "MaxPool{}",
    "x -> y",
    "y = max of x under each window",
    "dx = Σ dy over the windows where x = y, shared evenly between those that are; else 0",
    infer=pool_spec,
    args=MAX_ARGS,
)
def max_pool(op: Operator, x: Array) -> Array:
    """The largest element under each window. x: (n, c, h, w) -> y: (n, c, h', w').

    Windows are given as for Conv, without `dilation`; an element of the margins is never the largest. With
    global_pooling=1 one window is the whole image.
    """
    windows = pool_windows(op, x.shape)
    y = by_channels(windows, lambda images: pooled(images, windows, np.maximum, -inf), batch_last(op, x))
    return batch_first(op, y)


@each_of(
    DIMENSIONS,
    gradient_of,
    "MaxPool{}",
    "x, y, dy -> dx",
    "∂dy = Σ ∂dx under each window where x = y, by their share",
    infer=like_forward("dy"),
)
@in_single
def max_pool_gradient(op: Operator, x: Array, y: Array, dy: Array) -> Array:
    """Gradient of MaxPool. Elements that tie share dy evenly, so that all under a window together get dy."""
    windows = pool_windows(op, x.shape)

    def gradient(images: Array, largest: Array, dy: Array) -> Array:
        attained, ties = where_largest(images, largest, windows)
        share = dy / ties.astype(dy.dtype)
        return spread((chosen(share, here) for here in attained), share, windows)

    return batch_first(op, by_channels(windows, gradient, *[batch_last(op, array) for array in (x, y, dy)]))


@each_of(
    DIMENSIONS,
    operator,
    "AveragePool{}",
    "x -> y",
    "y = Σ x / n over the n places under each window",
    "dx = Σ dy / n over the windows of n places that x lies under",
    infer=pool_spec,
    args={**MAX_ARGS, "count_include_pad": 0},
)
@in_single
def average_pool(op: Operator, x: Array) -> Array:
    """The mean of the elements under each window. x: (n, c, h, w) -> y: (n, c, h', w').

    Windows are given as for MaxPool. Elements of the margins count, as zeros, only with count_include_pad=1.
    """
    windows = pool_windows(op, x.shape)
    images = batch_last(op, x)
    sums = by_channels(windows, lambda images: pooled(images, windows, np.add, 0.0), images)
    return batch_first(op, sums / counts(op, images, windows))


def counts(op: Operator, images: Array, windows: Windows) -> Array | int:
    """How many elements under each window count: a number, or (1, places..., 1) where it is not the same for all."""
    if windows.padded == windows.image or op.args.get("count_include_pad", 0):
        return prod(windows.kernel)
    ones = np.ones_like(images, shape=(1, *windows.image, 1), order="C")
    return pooled(ones, windows, np.add, 0.0)


@each_of(
    DIMENSIONS,
    gradient_of,
    "AveragePool{}",
    "x, y, dy -> dx",
    "∂dy = Σ ∂dx / n over the n places under each window",
    infer=like_forward("dy"),
    second=by("", "∂dx -> ∂dy"),
)
@in_single
def average_pool_gradient(op: Operator, x: Array, y: Array, dy: Array) -> Array:
    """Gradient of AveragePool, from the shape of x alone."""
    windows, dy = pool_windows(op, x.shape), batch_last(op, dy)
    positions = prod(windows.kernel)
    dx = by_channels(windows, lambda share: spread([share] * positions, share, windows), dy / counts(op, dy, windows))
    return batch_first(op, dx)


@each_of(DIMENSIONS, gradient_of, "MaxPool{}Gradient", "x, y, ∂dx -> ∂dy", infer=like_forward("∂dx"))
@in_single
def max_pool_gradient_gradient(op: Operator, x: Array, y: Array, g_dx: Array) -> Array:
    """Gradient of MaxPoolGradient; elements that tie add in equal shares."""
    windows = pool_windows(op, x.shape)

    def gradient(images: Array, largest: Array, arrived: Array) -> Array:
        attained, ties = where_largest(images, largest, windows)
        arrived = in_phases(arrived, windows)
        sent = [chosen(arrived[:, *met], here) for met, here in zip(windows.met(), attained, strict=True)]
        return sum(sent) / ties.astype(g_dx.dtype)

    return batch_first(op, by_channels(windows, gradient, *[batch_last(op, array) for array in (x, y, g_dx)]))
