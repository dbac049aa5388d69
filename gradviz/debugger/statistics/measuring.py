"""Statistics of arrays: the numbers and the small preview that a person looks at first.

A loop leaves thousands of small arrays behind. Those of one shape and dtype are measured together as the rows of one
table: two microseconds for each array of a few elements, where each alone takes thirty. A table is gone through in
blocks that fit into the cache of a processor with all that is computed on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from ...operators.registry import Array
from ...operators.scopes import ScopeStack
from ...runtime.devices import CPU, current, device_of, is_on_gpu, moved
from ...runtime.watched import uncollected
from ..document import PREVIEW_COLUMNS, PREVIEW_ROWS, Number, Value, number, rows_and_columns
from .vectors import LEAST_SQUARE, TOGETHER, absolute, exponents_of

DIGITS = 6
"""Of a number in a preview."""

POWERS = 10.0 ** np.arange(23)
"""The powers of ten that float64 holds: a whole number of few digits times or by one of them is rounded once."""

FEW = 24
"""Numbers that are rounded one by one in less time than together."""

HERE = np.ndarray, ScopeStack
"""What lies on no card."""

FULL_PREVIEW = (PREVIEW_ROWS, PREVIEW_COLUMNS)

WORKSPACES = "workspaces"
"""What stands for the dtype of a stack of workspaces."""


def statistics(array: Array) -> Value:
    """Range, means, norm, histogram, counts of NaN, infinities and zeros, and the first elements of `array`.

    They are computed where it lies.

    Args:
        array: boolean or numeric, any shape; complex numbers count by their absolute value.
    """
    return next(_measured([array], FULL_PREVIEW))


def all_statistics(arrays: Iterable[Array]) -> list[Value]:
    """What `statistics` says of each of `arrays`, in a fraction of the time where many are alike.

    They are taken one after the other, as many as are measured at once: those in a file need not fit into memory.
    """
    return _alike(arrays, FULL_PREVIEW)


def short_statistics(arrays: Iterable[Array], preview: tuple[int, int]) -> list[Value]:
    """The statistics of each of `arrays`, to 6 digits, with at most so many rows and columns of preview."""
    return _alike(arrays, preview, are_short=True)


def _alike(arrays: Iterable[Array], preview: tuple[int, int], *, are_short: bool = False) -> list[Value]:
    values: dict[int, Value] = {}
    with uncollected():
        for places, some in _kinds(arrays):
            values.update(zip(places, _measured(some, preview, are_short=are_short), strict=True))
    return [values[place] for place in range(len(values))]


class Columns(NamedTuple):
    """A field of `Value` each, but for previews and histograms, of many arrays.

    Attributes:
        kinds: shape, dtype and device, which many have in common: values without numbers.
        kind: of each array that of its shape, dtype and device.
        numbers: the numbers of each array in all digits, by the names of `Moments`.
        are_short: whether numbers that are no counts have few digits.
    """

    kinds: list[Value]
    kind: np.ndarray[Any, Any]
    numbers: dict[str, np.ndarray[Any, Any]]
    are_short: bool

    def of(self, name: str) -> np.ndarray[Any, Any]:
        """The number of this name of each array; where it has none anything."""
        return _shortened(self.numbers[name]) if self.are_short and name not in COUNTS else self.numbers[name]

    def has(self, name: str) -> np.ndarray[Any, Any]:
        """Of each array whether it has a number of this name."""
        if name in COUNTS:
            return np.ones(len(self.kind), bool)
        has_elements = np.array([one.size > 0 for one in self.kinds], bool)
        has: np.ndarray[Any, Any] = has_elements[self.kind] if name == "norm" else self.numbers["finite"] > 0
        return has


def columns(values: Iterable[Array | ScopeStack], *, are_short: bool = False) -> Columns:
    """What `all_statistics` or, where they `are_short`, `short_statistics` says of arrays, field by field; stacks of
    workspaces are all of one kind, that of no workspaces."""
    kinds, places, tables = [], [], []
    with uncollected(), np.errstate(all="ignore"):
        for some, alike in _kinds(values):
            first = alike[0]
            kinds.append(of_stack(0, 0) if isinstance(first, ScopeStack) else _without_numbers(first))
            places.append(np.array(some))
            tables.append(_moments_table(alike))
    count = sum(map(len, places))
    kind, table = np.zeros(count, np.int64), np.zeros((len(Moments._fields), count))
    for one, (at, numbers_of_kind) in enumerate(zip(places, tables, strict=True)):
        kind[at], table[:, at] = one, numbers_of_kind
    return Columns(kinds, kind, dict(zip(Moments._fields, table, strict=True)), are_short)


def _moments_table(arrays: Sequence[Array]) -> np.ndarray[Any, Any]:
    """The moments of arrays of one shape and dtype that lie on one device, one in each row."""
    first = arrays[0]
    if not first.size:
        return np.zeros((len(Moments._fields), len(arrays)))
    with current(device_of(first)):
        measured = moments(absolute(_stacked(arrays)).reshape(len(arrays), first.size), _precision(first.dtype))
        table: np.ndarray[Any, Any] = moved(np.stack([*measured]), CPU)
    return table


def _stacked(arrays: Sequence[Array]) -> Array:
    """Arrays of one shape as one."""
    if len(arrays) == 1:
        return arrays[0][None]
    return np.array(arrays) if type(arrays[0]) is np.ndarray else np.stack(arrays)


def _kinds(values: Iterable[Any]) -> Iterator[tuple[list[int], list[Any]]]:
    """The places of arrays of one shape and dtype that lie on one device, or of all stacks, and they; of each TOGETHER
    elements, or of one array, at once."""
    alike: dict[object, tuple[list[int], list[Any]]] = {}
    elements = 0
    for place, value in enumerate(values):
        elements += value.size
        if elements > TOGETHER:
            yield from alike.values()
            alike, elements = {}, value.size
        kind = value.shape, value.dtype, None if type(value) in HERE else str(device_of(value))
        places, some = alike.get(kind) or alike.setdefault(kind, ([], []))
        places.append(place)
        some.append(value)
    yield from alike.values()


def of_stack(index: int, count: int, seconds: float | None = None) -> Value:
    """What stands for the statistics of a stack of `count` workspaces, number `index` of the trace's."""
    return Value(
        shape=[count], dtype=WORKSPACES, device="cpu", size=count, min=None, max=None, mean=None, mean_abs=None,
        norm=None, nan=0, inf=0, zero=0, preview=[], rows=0, columns=0, seconds=seconds, stack=index,
    )  # fmt: skip


def _measured(arrays: Sequence[Array], preview: tuple[int, int], *, are_short: bool = False) -> Iterator[Value]:
    """The statistics of arrays of one shape and dtype that lie on one device.

    Those have no histogram that the preview shows whole.

    Args:
        are_short: whether their numbers have few digits.
    """
    first = arrays[0]
    nothing = _without_numbers(first)
    rows, wide = nothing.rows, nothing.columns
    with current(device_of(first)), np.errstate(all="ignore"):
        table = absolute(_stacked(arrays))
        if not first.size:
            shown = previews(table.reshape(len(arrays), rows, wide))
            yield from (replace(nothing, preview=preview) for preview in shown)
            return
        flat = table.reshape(len(arrays), first.size)
        corner = table.reshape(len(arrays), rows, wide)[:, : preview[0], : preview[1]]
        is_counted = corner.shape[1:] != (rows, wide)
        measured = moments(flat, _precision(first.dtype))
        histogram = histograms(flat, measured.min, measured.max) if is_counted else [[] for _ in arrays]
        numbers = _numbers(measured, are_short)
        counts = [column.tolist() for column in (measured.nan, measured.inf, measured.zero, measured.subnormal)]
        shown = previews(moved(corner, CPU))
    for low, high, mean, mean_abs, norm, nan, inf, zero, subnormal, elements, bins in zip(
        *numbers, *counts, shown, histogram, strict=True
    ):
        yield replace(
            nothing, min=low, max=high, mean=mean, mean_abs=mean_abs, norm=norm, nan=nan, inf=inf, zero=zero,
            subnormal=subnormal, preview=elements, histogram=bins,
        )  # fmt: skip


def _without_numbers(array: Array) -> Value:
    """The statistics of an array of this shape, dtype and device that none of its elements has gone into yet."""
    rows, columns = rows_and_columns(array.shape)
    return Value(
        shape=list(array.shape), dtype=str(array.dtype), device=str(device_of(array)), size=array.size, min=None,
        max=None, mean=None, mean_abs=None, norm=None, nan=0, inf=0, zero=0, preview=[], rows=rows, columns=columns,
        subnormal=0,
    )  # fmt: skip


def _numbers(measured: Moments, are_short: bool) -> list[list[Number | None]]:
    """Of all rows min, max, mean, mean of the absolute values and norm, of which NaN and infinities count in the norm
    alone."""
    table = moved(np.stack(measured[:5]), CPU)
    columns: list[list[Number | None]] = _written(_shortened(table) if are_short else table)
    if not measured.finite.all():
        for row in np.flatnonzero(moved(measured.finite == 0, CPU)).tolist():
            for column in columns[:4]:
                column[row] = None
    return columns


def _precision(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """That of the parts of a complex number, else of the number."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def previews(corners: Array) -> list[list[list[Number]]]:
    """The numbers of tables of one shape, to 6 digits; those of complex numbers are their absolute values."""
    corners = absolute(corners)
    if not corners.size:
        return [[] for _ in corners]
    if corners.dtype.kind != "f":
        corners = corners.astype(int if corners.dtype.kind == "b" else corners.dtype)
        whole: list[list[list[Number]]] = corners.tolist()
        return whole
    return _written(_shortened(corners.astype(np.float64)))


def _written(table: np.ndarray[Any, Any]) -> list[Any]:
    """The numbers of a float64 table as JSON can carry them, in lists as deep as it has axes."""
    lists: list[Any] = table.tolist()
    is_finite = np.isfinite(table)
    if not is_finite.all():
        for *path, last in np.argwhere(~is_finite).tolist():
            row = lists
            for place in path:
                row = row[place]
            row[last] = number(row[last])
    return lists


def _shortened(table: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Each float64 to DIGITS digits, as text would have it."""
    flat = table.reshape(-1)
    if flat.size <= FEW:
        return np.array([_rounded(value) for value in flat.tolist()]).reshape(table.shape)
    magnitude = np.abs(flat)
    has_power = (magnitude > 1 / POWERS[-DIGITS - 1]) & (magnitude < POWERS[-1])
    size = np.where(has_power, magnitude, 1.0)
    shift = DIGITS - 1 - np.floor(np.log10(size)).astype(np.int64)
    times, by = POWERS[np.maximum(shift, 0)], POWERS[np.maximum(-shift, 0)]
    scaled = size * times / by
    whole = np.rint(scaled)
    rounded = np.where(magnitude == 0, flat, np.copysign(whole * by / times, flat))
    # Near the middle between two of them the digits decide that scaling has lost.
    is_sure = has_power & (np.abs(np.abs(scaled - whole) - 0.5) > 1e-6)
    for place in np.flatnonzero(~is_sure & (magnitude != 0)).tolist():
        rounded[place] = _rounded(float(flat[place]))
    return rounded.reshape(table.shape)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


BINS = 20
"""Of a histogram."""

BLOCK = 1 << 15
"""Elements of a block, at most."""

ENLARGED = 2.0**512
"""By what numbers are multiplied that lie close together."""


class Moments(NamedTuple):
    """The statistics of each row of a table; each (rows,), where the table lies.

    Attributes:
        min, max: of its finite elements; infinity and minus infinity where there are none.
        mean, mean_abs: of its finite elements and of their absolute values; NaN where there are none.
        norm: of all its elements; infinite where one is, or where it is beyond the greatest float64.
        nan, inf, zero, subnormal, finite: how many of its elements are that.
    """

    min: Array
    max: Array
    mean: Array
    mean_abs: Array
    norm: Array
    nan: Array
    inf: Array
    zero: Array
    subnormal: Array
    finite: Array


COUNTS = Moments._fields[5:]

_ADDED: Any = partial(np.sum, axis=1)
_JOINED = (partial(np.min, axis=1), partial(np.max, axis=1), *[_ADDED] * (len(Moments._fields) - 2))
"""Of each of `_sums`, how those of the parts of a row become that of the row."""


def moments(table: Array, precision: np.dtype[Any]) -> Moments:
    """The moments of a boolean or real table (rows, elements), 1 element or more, in float64.

    Args:
        precision: the dtype by which elements are subnormal: the table's, or that of what its elements were parts of.
    """
    low, high, total, magnitude, squares, nan, inf, zero, subnormal, finite = _sums(table, precision)
    mean, mean_abs, norm = total / finite, magnitude / finite, np.sqrt(squares)
    if not (squares.min() > LEAST_SQUARE and squares.max() < np.inf):
        # Rows whose sums float64 does not hold; those of numbers that are not finite are what they are.
        has_overflowed = ~np.isfinite(magnitude) | (np.isinf(squares) & (inf == 0))
        has_vanished = (squares < LEAST_SQUARE) & (zero < table.shape[1])
        rows = np.flatnonzero(has_overflowed | has_vanished)
        if len(rows):
            mean[rows], mean_abs[rows], norm[rows] = _scaled(table[rows], low[rows], high[rows], precision)
    return Moments(low, high, mean, mean_abs, norm, nan, inf, zero, subnormal, finite)


def _scaled(table: Array, low: Array, high: Array, precision: np.dtype[Any]) -> tuple[Array, Array, Array]:
    """Of each row mean, mean of the absolute values and norm of numbers whose sums float64 does not hold."""
    exponent = exponents_of(np.maximum(np.abs(low), np.abs(high)))
    scaled = table.astype(np.float64) * np.ldexp(1.0, -exponent)[:, None]
    _, _, total, magnitude, squares, *_, finite = _sums(scaled, precision)
    power = np.ldexp(1.0, exponent)
    return total / finite * power, magnitude / finite * power, squares**0.5 * power


def _sums(table: Array, precision: np.dtype[Any]) -> Sequence[Array]:
    """The moments of each row but for the last steps: the sums of its finite elements and of their absolute values, and
    that of the squares of all, in the places of both means and the norm."""
    parts = [_of_block(block, precision) for _, block in _blocks(table)]
    if len(parts) == 1:
        return parts[0]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    if table.shape[1] > BLOCK:
        columns = [join(column.reshape(len(table), -1)) for join, column in zip(_JOINED, columns, strict=True)]
    return columns


def _of_block(block: Array, precision: np.dtype[Any]) -> Sequence[Array]:
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
    sums = whole.sum(axis=1), size.sum(axis=1), squares
    return least.min(axis=1), most.max(axis=1), *sums, nan, inf, zero, subnormal, finite


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
    has_bins = np.isfinite(span) & (span > 0)
    if not has_bins.any():
        return [[] for _ in has_bins]
    start, span = np.where(has_bins, least, 0.0), np.where(has_bins, span, np.inf)
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
    return [row[:BINS] if has_any else [] for row, has_any in zip(counts.tolist(), has_bins.tolist(), strict=True)]


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
