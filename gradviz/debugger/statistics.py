"""Statistics of arrays: the numbers and the small preview that a person looks at first.

A loop leaves thousands of small arrays behind. Those of one shape and dtype are measured together, row by row of one
table, which takes a tenth of the time that measuring them one by one takes.
"""

from collections.abc import Callable, Iterator, Sequence
from math import isfinite

import numpy as np
from msgspec.structs import replace

from ..operators.registry import Array
from ..runtime.devices import CPU, current, device_of, moved
from .histogram import histograms
from .trace_check import PREVIEW_COLUMNS, PREVIEW_ROWS
from .trace_parts import Number, Value, number
from .trace_rows import rows_and_columns

TOGETHER = 1 << 20
"""Elements that are measured at once."""

WORKSPACES = "workspaces"
"""What stands for the dtype of a stack of workspaces."""


def statistics(array: Array, seconds: float | None = None) -> Value:
    """Range, means, norm, histogram, counts of NaN, infinities and zeros, and the first elements of `array`.

    They are computed where it lies.

    Args:
        array: boolean or numeric, any shape; complex numbers count by their absolute value.
        seconds: how long the operator that made it took.
    """
    return next(_measured([array], (PREVIEW_ROWS, PREVIEW_COLUMNS), seconds, number))


def all_statistics(arrays: Sequence[Array], preview: tuple[int, int]) -> list[Value]:
    """The statistics of each of `arrays`, to 6 digits, with at most so many rows and columns of preview."""
    alike: dict[object, list[int]] = {}
    for place, array in enumerate(arrays):
        alike.setdefault((array.shape, array.dtype, str(device_of(array))), []).append(place)
    found: dict[int, Value] = {}
    for places in alike.values():
        count = max(1, TOGETHER // max(1, arrays[places[0]].size))
        for start in range(0, len(places), count):
            some = places[start : start + count]
            measured = _measured([arrays[place] for place in some], preview, None, _rounded)
            found.update(zip(some, measured, strict=True))
    return [found[place] for place in range(len(arrays))]


def smaller(value: Value, preview: tuple[int, int]) -> Value:
    """What `all_statistics` says of an array, made of what `statistics` said of it."""
    numbers = {
        name: _rounded(known) if isinstance(known := getattr(value, name), float) else known
        for name in ("min", "max", "mean", "mean_abs", "norm")
    }
    corner = [row[: preview[1]] for row in value.preview[: preview[0]]]
    return replace(value, preview=corner, **numbers)


def of_stack(index: int, count: int, seconds: float | None = None) -> Value:
    """What stands for the statistics of a stack of `count` workspaces, number `index` of the trace's."""
    return Value(
        shape=[count],
        dtype=WORKSPACES,
        device="cpu",
        size=count,
        min=None,
        max=None,
        mean=None,
        mean_abs=None,
        norm=None,
        nan=0,
        inf=0,
        zero=0,
        preview=[],
        rows=0,
        columns=0,
        seconds=seconds,
        stack=index,
    )


def _measured(
    arrays: Sequence[Array], preview: tuple[int, int], seconds: float | None, told: Callable[[float], Number]
) -> Iterator[Value]:
    """The statistics of arrays of one shape and dtype that lie on one device, each number as `told` writes it."""
    first = arrays[0]
    device = device_of(first)
    rows, columns = rows_and_columns(first.shape)
    shape, dtype, where = list(first.shape), str(first.dtype), str(device)
    with current(device), np.errstate(all="ignore"):
        stack = first[None] if len(arrays) == 1 else np.stack(arrays)
        table = np.abs(stack) if stack.dtype.kind == "c" else stack
        flat = table.reshape(len(arrays), first.size)
        corner = table.reshape(len(arrays), rows, columns)[:, : preview[0], : preview[1]]
        # Of what the preview shows whole, a view counts itself.
        is_counted = corner.shape[1:] != (rows, columns)
        measured = zip(_numbers(flat, told, is_counted), _counts(flat), previews(moved(corner, CPU)), strict=True)
    for (numbers, histogram), (nan, inf, zero, subnormal), shown in measured:
        yield Value(
            shape=shape,
            dtype=dtype,
            device=where,
            size=first.size,
            min=numbers[0],
            max=numbers[1],
            mean=numbers[2],
            mean_abs=numbers[3],
            norm=numbers[4],
            nan=nan,
            inf=inf,
            zero=zero,
            preview=shown,
            rows=rows,
            columns=columns,
            seconds=seconds,
            subnormal=subnormal,
            histogram=histogram,
        )


def _numbers(
    flat: Array, told: Callable[[float], Number], is_counted: bool
) -> list[tuple[list[Number | None], list[int]]]:
    """min, max, mean, mean of the absolute values, and norm of each row; NaN and infinities count in the norm alone.

    And where it `is_counted`, the histogram.
    """
    if flat.shape[1] == 0:
        return [([None] * 5, []) for _ in range(len(flat))]
    whole = flat.astype(np.float64)
    norm = np.sqrt((whole * whole).sum(axis=1))
    finite = np.isfinite(whole)
    count = finite.sum(axis=1)
    if bool(finite.all()):
        least, most, part = whole, whole, whole
    else:
        least, most, part = (np.where(finite, whole, other) for other in (np.inf, -np.inf, 0.0))
    low, high = least.min(axis=1), most.max(axis=1)
    columns = [low, high, part.sum(axis=1) / count, np.abs(part).sum(axis=1) / count, norm]
    counted = histograms(whole, low, high) if is_counted else [[] for _ in flat]
    rows = zip(*(column.tolist() for column in (*columns, count)), counted, strict=True)
    return [([*(map(told, row[:4]) if row[5] else [None] * 4), told(row[4])], row[6]) for row in rows]


def _counts(flat: Array) -> list[tuple[int, int, int, int]]:
    """NaN, infinities, zeros and subnormal numbers of each row."""
    zero = (flat == 0).sum(axis=1)
    if flat.dtype.kind != "f":
        return [(0, 0, zeros, 0) for zeros in zero.tolist()]
    tiny = (np.abs(flat) < np.finfo(flat.dtype).smallest_normal).sum(axis=1) - zero
    if bool(np.isfinite(flat).all()):
        return [(0, 0, zeros, few) for zeros, few in zip(zero.tolist(), tiny.tolist(), strict=True)]
    counts = [np.isnan(flat).sum(axis=1), np.isinf(flat).sum(axis=1), zero, tiny]
    return list(zip(*(count.tolist() for count in counts), strict=True))


def previews(corners: Array) -> list[list[list[Number]]]:
    """The numbers of tables of one shape, to 6 digits; those of complex numbers are their absolute values."""
    if corners.dtype.kind == "c":
        corners = np.abs(corners)
    if corners.dtype.kind != "f":
        kind = int if corners.dtype.kind == "b" else corners.dtype
        return corners.astype(kind).tolist() if corners.size else [[] for _ in corners]
    if not corners.size:
        return [[] for _ in corners]
    return [[list(map(_rounded, row)) for row in corner] for corner in corners.astype(np.float64).tolist()]


def _rounded(value: float) -> Number:
    rounded = float(f"{value:.6g}")
    return rounded if isfinite(rounded) else number(rounded)
