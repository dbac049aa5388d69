"""How elements are distributed in each row of a table: range, means, norm, counts and histogram.

A table is gone through in blocks that fit into the cache of a processor with all that is computed on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ...operators.registry import Array
from ...runtime.devices import is_on_gpu
from .vectors import LEAST_SQUARE, exponent_of

BINS = 20
"""Of a histogram."""

BLOCK = 1 << 15
"""Elements of a block, at most."""

ENLARGED = 2.0**512
"""By what numbers are multiplied that lie close together."""


class Moments(NamedTuple):
    """What is known of each row of a table; each (rows,), where the table lies.

    Attributes:
        low, high: of its finite elements; infinity and minus infinity where there are none.
        mean, mean_abs: of its finite elements and of their absolute values; NaN where there are none.
        norm: of all its elements; infinite where one is, or where it is beyond the greatest float64.
        finite, nan, inf, zero, subnormal: how many of its elements are that.
    """

    low: Array
    high: Array
    mean: Array
    mean_abs: Array
    norm: Array
    finite: Array
    nan: Array
    inf: Array
    zero: Array
    subnormal: Array


class _Sums(NamedTuple):
    """The same with sums in place of means: `total`, `magnitude` of the finite elements, `squares` of all."""

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
_JOINED = (partial(np.min, axis=1), partial(np.max, axis=1), *[_ADDED] * (len(_Sums._fields) - 2))
"""Of each sum, how those of the parts of a row become that of the row."""


def moments(table: Array, precision: np.dtype[Any]) -> Moments:
    """The moments of a boolean or real table (rows, elements), 1 element or more, in float64.

    Args:
        precision: the dtype by which elements are subnormal: the table's, or that of what its elements were parts of.
    """
    sums = _sums(table, precision)
    mean, mean_abs, norm = sums.total / sums.finite, sums.magnitude / sums.finite, np.sqrt(sums.squares)
    if not (sums.squares.min() > LEAST_SQUARE and sums.squares.max() < np.inf):
        for row in np.flatnonzero(_is_inexact(sums, table.shape[1])).tolist():
            mean[row], mean_abs[row], norm[row] = _scaled(table[row : row + 1], sums, row, precision)
    return Moments(sums.low, sums.high, mean, mean_abs, norm, *sums[5:])


def _is_inexact(sums: _Sums, elements: int) -> Array:
    """Of each row whether float64 does not hold its sums; those of numbers that are not finite are what they are."""
    has_overflowed = ~np.isfinite(sums.magnitude) | (np.isinf(sums.squares) & (sums.inf == 0))
    return has_overflowed | ((sums.squares < LEAST_SQUARE) & (sums.zero < elements))


def _scaled(numbers: Array, sums: _Sums, row: int, precision: np.dtype[Any]) -> tuple[float, float, float]:
    """Mean, mean of the absolute values and norm of numbers whose sums float64 does not hold."""
    exponent = exponent_of(max(abs(float(sums.low[row])), abs(float(sums.high[row]))))
    scaled, power = _sums(numbers.astype(np.float64) * 2.0**-exponent, precision), 2.0**exponent
    finite = float(scaled.finite[0])
    mean, mean_abs = float(scaled.total[0]) / finite, float(scaled.magnitude[0]) / finite
    return mean * power, mean_abs * power, float(scaled.squares[0]) ** 0.5 * power


def _sums(table: Array, precision: np.dtype[Any]) -> _Sums:
    parts = [_of_block(block, precision) for _, block in _blocks(table)]
    if len(parts) == 1:
        return parts[0]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    if table.shape[1] > BLOCK:
        columns = [join(column.reshape(len(table), -1)) for join, column in zip(_JOINED, columns, strict=True)]
    return _Sums(*columns)


def _of_block(block: Array, precision: np.dtype[Any]) -> _Sums:
    whole = block.astype(np.float64)
    size = np.abs(whole)
    squares = (whole * whole).sum(axis=1)
    nan = inf = none = np.zeros(len(block), np.int64, like=block)
    zero, subnormal = _small(block, size, none, precision)
    if np.isfinite(squares).all():
        finite = none + block.shape[1]
        least = most = whole
    else:  # large numbers do that too
        is_finite = np.isfinite(whole)
        finite, nan = _count(is_finite), _count(np.isnan(block))
        inf = block.shape[1] - finite - nan
        least, most = np.where(is_finite, whole, np.inf), np.where(is_finite, whole, -np.inf)
        whole, size = np.where(is_finite, whole, 0.0), np.where(is_finite, size, 0.0)
    return _Sums(
        least.min(axis=1), most.max(axis=1), whole.sum(axis=1), size.sum(axis=1), squares, finite, nan, inf, zero,
        subnormal,
    )  # fmt: skip


def _small(block: Array, size: Array, none: Array, precision: np.dtype[Any]) -> tuple[Array, Array]:
    """How many elements of each row are zero, and how many subnormal; `size`: their absolute values."""
    if block.dtype.kind != "f":
        return _count(block == 0), none
    small = _count(size < _smallest_normal(precision))
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


def histograms(table: Array, least: Array, most: Array) -> list[list[int]]:
    """How many finite elements of each row lie in each of BINS equal bins from its least to its greatest.

    Args:
        table: boolean or real, (rows, elements), where it lies.
        least, most: (rows,), float64, of the finite elements.

    Returns:
        For each row its counts; none where all are equal, or so far apart that their difference is infinite.
    """
    span = most - least
    known = np.isfinite(span) & (span > 0)
    if not known.any():
        return [[] for _ in known]
    start, span = np.where(known, least, 0.0), np.where(known, span, np.inf)
    # A power of two, which is exact: the inverse of a subnormal span is infinite.
    larger = np.where(span < 1 / ENLARGED, ENLARGED, 1.0)
    scale, is_any_larger = BINS / (span * larger), bool((larger > 1).any())
    counts = np.zeros((len(table), BINS + 1), np.int64, like=table)
    for at, block in _blocks(table):
        place = block.astype(np.float64)
        place -= start[at, None]
        if is_any_larger:
            place *= larger[at, None]
        place *= scale[at, None]
        rows = len(place)
        finite = np.isfinite(place)
        is_whole = bool(finite.all())
        bins = (place if is_whole else np.where(finite, place, 0.0)).astype(np.int64)
        if rows > 1:
            bins += np.arange(0, rows * (BINS + 1), BINS + 1, like=bins)[:, None]
        counted = bins.reshape(-1) if is_whole else bins[finite]
        counts[at] += np.bincount(counted, minlength=rows * (BINS + 1)).reshape(rows, BINS + 1)
    counts[:, BINS - 1] += counts[:, BINS]  # the greatest element lies on the edge of the last bin
    return [row[:BINS] if is_known else [] for row, is_known in zip(counts.tolist(), known.tolist(), strict=True)]


def _blocks(table: Array) -> Iterator[tuple[slice, Array]]:
    """The parts of a table (rows, elements), each with its rows: several whole ones, or some elements of one.

    A table on a GPU is one part: there, many small steps take longer than a large one.
    """
    rows, elements = table.shape
    if is_on_gpu(table):
        yield slice(0, rows), table
        return
    together = max(1, BLOCK // max(1, elements))
    for row in range(0, rows, together):
        for first in range(0, elements, BLOCK):
            yield slice(row, row + together), table[row : row + together, first : first + BLOCK]
