"""Sums and means that keep the digits of their dtype, however many numbers are added up."""

from math import prod
from typing import Any

import numpy as np

from .registry import HALF, Array

MANY = 4096
"""So many numbers of float32 are added in float64."""

WIDER: dict[np.dtype[Any], np.dtype[Any]] = {HALF: np.dtype(np.float32), np.dtype(np.float32): np.dtype(np.float64)}
"""The dtype whose sums lose no digit of those of another."""


def summed(x: Array, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    """The sum of x along `axis`, None: of all its elements, in the dtype of x.

    numpy adds one row to the next, and rounds each time: a sum of ones ends at 2048 in float16, and one of a million
    tenths is 1 % off in float32. So all of float16, and many of float32, are added in a wider dtype.
    """
    dtype = WIDER.get(x.dtype, x.dtype) if x.dtype == HALF or size_along(x, axis) > MANY else x.dtype
    return x.sum(axis=axis, dtype=dtype, keepdims=keepdims).astype(x.dtype, copy=False)


def averaged(x: Array, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    """The mean of x along `axis`, None: of all its elements, in the dtype of x; 0 of none."""
    return summed(x, axis, keepdims) / max(size_along(x, axis), 1)


def size_along(x: Array, axis: int | tuple[int, ...] | None = None) -> int:
    """How many elements of x a sum along `axis` takes together."""
    if axis is None:
        return int(x.size)
    return prod([x.shape[at] for at in ((axis,) if isinstance(axis, int) else axis)])
