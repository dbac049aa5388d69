"""Pooling: MaxPool and AveragePool, the largest and the mean element under each window."""

from math import inf, nan, prod
from typing import Any

import numpy as np

from ..program import Operator
from .gradients import by, gradient_of
from .inference import like_forward, misfit, need_floats
from .registry import Array, ArraySpec, each_of, operator
from .windows import (
    DIMENSIONS,
    WINDOW_ARGS,
    Windows,
    batch_first,
    batch_last,
    contiguous,
    image_shape,
    shape_of_images,
    windows_of,
    with_margins,
    without_margins,
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

    Windows are told as in Conv, without `dilation`; an element of the margins is never the largest. With
    global_pooling=1 one window is the whole image.
    """
    windows = pool_windows(op, x.shape)
    images = with_margins(batch_last(op, x), windows, -inf)
    first, *others = windows.under()
    y = images[:, *first].copy()
    for met in others:
        np.maximum(y, images[:, *met], out=y)
    return batch_first(op, y)


@each_of(
    DIMENSIONS,
    gradient_of,
    "MaxPool{}",
    "x, y, dy -> dx",
    "∂dy = Σ ∂dx under each window where x = y, by their share",
    infer=like_forward("dy"),
)
def max_pool_gradient(op: Operator, x: Array, y: Array, dy: Array) -> Array:
    """Gradient of MaxPool. Elements that tie share dy evenly, so that all under a window together get dy."""
    windows = pool_windows(op, x.shape)
    images, largest = with_margins(batch_last(op, x), windows, nan), batch_last(op, y)
    dy = contiguous(batch_last(op, dy))
    attained = [images[:, *met] == largest for met in windows.under()]
    share = dy / np.maximum(sum(attained[1:], attained[0].astype(dy.dtype)), 1)
    dx = np.zeros_like(images, dy.dtype, order="C")
    # A product is many times faster than np.where, which branches at each element; but 0 · ∞ would be nan.
    choose = np.multiply if np.isfinite(share).all() else chosen
    for here, met in zip(attained, windows.under(), strict=True):
        dx[:, *met] += choose(share, here)
    return batch_first(op, without_margins(dx, windows))


def chosen(values: Array, where: Array) -> Array:
    """`values` where `where` is true, else 0."""
    return np.where(where, values, 0)


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
def average_pool(op: Operator, x: Array) -> Array:
    """The mean of the elements under each window. x: (n, c, h, w) -> y: (n, c, h', w').

    Windows are told as in MaxPool. Elements of the margins count, as zeros, only with count_include_pad=1.
    """
    windows = pool_windows(op, x.shape)
    images = with_margins(batch_last(op, x), windows)
    return batch_first(op, sums(images, windows) / counts(op, images, windows))


def sums(images: Array, windows: Windows) -> Array:
    """The sum of the elements under each window. images: (c, ..., n) with margins -> (c, places..., n)."""
    first, *others = windows.under()
    total = images[:, *first].copy()
    for met in others:
        total += images[:, *met]
    return total


def counts(op: Operator, images: Array, windows: Windows) -> Array | int:
    """How many elements under each window count: a number, or (1, places..., 1) where it is not the same for all."""
    if windows.padded == windows.image or op.args.get("count_include_pad", 0):
        return prod(windows.kernel)
    ones = np.ones_like(images, shape=(1, *windows.image, 1), order="C")
    return sums(with_margins(ones, windows), windows)


@each_of(
    DIMENSIONS,
    gradient_of,
    "AveragePool{}",
    "x, y, dy -> dx",
    "∂dy = Σ ∂dx / n over the n places under each window",
    infer=like_forward("dy"),
    second=by("", "∂dx -> ∂dy"),
)
def average_pool_gradient(op: Operator, x: Array, y: Array, dy: Array) -> Array:
    """Gradient of AveragePool, from the shape of x alone."""
    windows, dy = pool_windows(op, x.shape), contiguous(batch_last(op, dy))
    share = dy / counts(op, dy, windows)
    dx = np.zeros_like(dy, shape=(dy.shape[0], *windows.padded, dy.shape[-1]), order="C")
    for met in windows.under():
        dx[:, *met] += share
    return batch_first(op, without_margins(dx, windows))


@each_of(DIMENSIONS, gradient_of, "MaxPool{}Gradient", "x, y, ∂dx -> ∂dy", infer=like_forward("∂dx"))
def max_pool_gradient_gradient(op: Operator, x: Array, y: Array, g_dx: Array) -> Array:
    """Gradient of MaxPoolGradient; elements that tie add in equal shares."""
    windows, largest = pool_windows(op, x.shape), batch_last(op, y)
    images, arrived = (with_margins(batch_last(op, array), windows, fill) for array, fill in ((x, nan), (g_dx, 0.0)))
    attained = [(images[:, *met] == largest, arrived[:, *met]) for met in windows.under()]
    ties = sum(here.astype(g_dx.dtype) for here, _ in attained)
    return batch_first(op, sum(chosen(g, here) for here, g in attained) / np.maximum(ties, 1))
