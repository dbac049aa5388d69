"""Moments of arrays, many rows at once: range, sums and counts, from which their statistics are told."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ..operators.registry import Array
from .blocks import BLOCK, blocks


class Moments(NamedTuple):
    """What is counted and added up of each row of a table; each (rows,), where the table lies.

    Attributes:
        low, high: of its finite elements; infinity and minus infinity where there are none.
        total, magnitude: the sums of its finite elements and of their absolute values.
        squares: the sum of the squares of all its elements.
        finite, nan, inf, zero, subnormal: how many of its elements are that.
    """

    low: Array
    high: Array
    total: Array
    magnitude: Array
    squares: Array
    finite: Array
    nan: Array
    inf: Array
    zero: Array
    subnormal: Array


_ADDED: Any = partial(np.sum, axis=1)
_JOINED = (partial(np.min, axis=1), partial(np.max, axis=1), *[_ADDED] * (len(Moments._fields) - 2))
"""Of each moment, how those of the parts of a row become that of the row."""


def moments(table: Array) -> Moments:
    """The moments of a boolean or real table (rows, elements), 1 element or more, in float64."""
    parts = [_of_block(block) for _, block in blocks(table)]
    if len(parts) == 1:
        return parts[0]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    if table.shape[1] > BLOCK:
        columns = [join(column.reshape(len(table), -1)) for join, column in zip(_JOINED, columns, strict=True)]
    return Moments(*columns)


def _of_block(block: Array) -> Moments:
    whole = block.astype(np.float64)
    size = np.abs(whole)
    squares = (whole * whole).sum(axis=1)
    nan = inf = none = np.zeros(len(block), np.int64, like=block)
    zero, subnormal = _small(block, size, none)
    if np.isfinite(squares).all():
        finite = none + block.shape[1]
        least = most = whole
    else:  # large numbers do that too
        is_finite = np.isfinite(whole)
        finite, nan = _count(is_finite), _count(np.isnan(block))
        inf = block.shape[1] - finite - nan
        least, most = np.where(is_finite, whole, np.inf), np.where(is_finite, whole, -np.inf)
        whole, size = np.where(is_finite, whole, 0.0), np.where(is_finite, size, 0.0)
    return Moments(
        least.min(axis=1), most.max(axis=1), whole.sum(axis=1), size.sum(axis=1), squares, finite, nan, inf, zero,
        subnormal,
    )  # fmt: skip


def _small(block: Array, size: Array, none: Array) -> tuple[Array, Array]:
    """How many elements of each row are zero, and how many subnormal; `size`: their absolute values."""
    if block.dtype.kind != "f":
        return _count(block == 0), none
    small = _count(size < _smallest_normal(block.dtype))
    if not small.any():
        return none, none
    zero = _count(block == 0)
    return zero, small - zero


@lru_cache(maxsize=16)
def _smallest_normal(dtype: np.dtype[Any]) -> float:
    """That of `dtype`; of one that float64 does not reach down to, the smallest number of float64."""
    return max(float(np.finfo(dtype).smallest_normal), float(np.finfo(np.float64).smallest_subnormal))


def _count(mask: Array) -> Array:
    """How many elements of each row are true."""
    if len(mask) == 1 and type(mask) is np.ndarray:  # numpy counts fastest without an axis
        return np.array([np.count_nonzero(mask)])
    return mask.sum(axis=1)
