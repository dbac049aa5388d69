"""Statistics of arrays: the numbers and the small preview that a person looks at first.

A loop leaves thousands of small arrays behind. Those of one shape and dtype are measured together, row by row of one
table, which takes a tenth of the time that measuring them one by one takes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite
from typing import Any

import numpy as np

from ...operators.registry import Array
from ...runtime.devices import CPU, current, device_of, moved
from ..document import PREVIEW_COLUMNS, PREVIEW_ROWS, Number, Value, number, rows_and_columns
from .histogram import histograms
from .moments import moments
from .vectors import absolute

TOGETHER = 1 << 20
"""Elements that are measured at once."""

FULL_PREVIEW = (PREVIEW_ROWS, PREVIEW_COLUMNS)

WORKSPACES = "workspaces"
"""What stands for the dtype of a stack of workspaces."""


def statistics(array: Array, seconds: float | None = None) -> Value:
    """Range, means, norm, histogram, counts of NaN, infinities and zeros, and the first elements of `array`.

    They are computed where it lies.

    Args:
        array: boolean or numeric, any shape; complex numbers count by their absolute value.
        seconds: how long the operator that made it took.
    """
    return next(_measured([array], FULL_PREVIEW, seconds, number))


def all_statistics(arrays: Iterable[Array]) -> list[Value]:
    """What `statistics` says of each of `arrays`, in a fraction of the time where many are alike.

    They are taken one after the other, as many as are measured at once: those in a file need not fit into memory.
    """
    return _alike(arrays, FULL_PREVIEW, number)


def short_statistics(arrays: Iterable[Array], preview: tuple[int, int]) -> list[Value]:
    """The statistics of each of `arrays`, to 6 digits, with at most so many rows and columns of preview."""
    return _alike(arrays, preview, _rounded)


def _alike(arrays: Iterable[Array], preview: tuple[int, int], told: Callable[[float], Number]) -> list[Value]:
    found: list[Value] = []
    for some in _batches(arrays):
        alike: dict[object, list[int]] = {}
        for place, array in enumerate(some):
            alike.setdefault((array.shape, array.dtype, str(device_of(array))), []).append(place)
        values: dict[int, Value] = {}
        for places in alike.values():
            values.update(zip(places, _measured([some[place] for place in places], preview, None, told), strict=True))
        found += [values[place] for place in range(len(some))]
    return found


def _batches(arrays: Iterable[Array]) -> Iterator[list[Array]]:
    """`arrays` in lists of at most TOGETHER elements, or of one array."""
    batch: list[Array] = []
    elements = 0
    for array in arrays:
        if batch and elements + array.size > TOGETHER:
            yield batch
            batch, elements = [], 0
        batch.append(array)
        elements += array.size
    if batch:
        yield batch


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
    arrays: Sequence[Array],
    preview: tuple[int, int],
    seconds: float | None,
    told: Callable[[float], Number],
) -> Iterator[Value]:
    """The statistics of arrays of one shape and dtype that lie on one device, each number as `told` writes it.

    Those have no histogram that the preview shows whole.
    """
    first = arrays[0]
    device = device_of(first)
    rows, columns = rows_and_columns(first.shape)
    shape, dtype, where = list(first.shape), str(first.dtype), str(device)
    with current(device), np.errstate(all="ignore"):
        stack = first[None] if len(arrays) == 1 else np.stack(arrays)
        table = absolute(stack)
        flat = table.reshape(len(arrays), first.size)
        corner = table.reshape(len(arrays), rows, columns)[:, : preview[0], : preview[1]]
        is_counted = corner.shape[1:] != (rows, columns)
        measured = list(
            zip(_told(flat, _precision(first.dtype), told, is_counted), previews(moved(corner, CPU)), strict=True)
        )
    for (numbers, (nan, inf, zero, subnormal), histogram), shown in measured:
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


def _told(
    flat: Array, precision: np.dtype[Any], told: Callable[[float], Number], is_counted: bool
) -> Iterator[tuple[list[Number | None], Sequence[int], list[int]]]:
    """Of each row: min, max, mean, mean of the absolute values and norm, of which NaN and infinities count in the norm
    alone; how many elements are NaN, infinite, zero and subnormal; and where it `is_counted`, the histogram.
    """
    if flat.shape[1] == 0:
        for _ in flat:
            yield [None] * 5, [0] * 4, []
        return
    found = moments(flat, precision)
    columns = (
        found.low, found.high, found.mean, found.mean_abs, found.norm,
        found.nan, found.inf, found.zero, found.subnormal, found.finite,
    )  # fmt: skip
    histogram = histograms(flat, found.low, found.high) if is_counted else [[] for _ in flat]
    for row, bins in zip(zip(*[column.tolist() for column in columns], strict=True), histogram, strict=True):
        yield [*(map(told, row[:4]) if row[9] else [None] * 4), told(row[4])], row[5:9], bins


def _precision(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """That of the parts of a complex number, else of the number."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def previews(corners: Array) -> list[list[list[Number]]]:
    """The numbers of tables of one shape, to 6 digits; those of complex numbers are their absolute values."""
    corners = absolute(corners)
    if corners.dtype.kind != "f":
        kind = int if corners.dtype.kind == "b" else corners.dtype
        return corners.astype(kind).tolist() if corners.size else [[] for _ in corners]
    if not corners.size:
        return [[] for _ in corners]
    return [[list(map(_rounded, row)) for row in corner] for corner in corners.astype(np.float64).tolist()]


def _rounded(value: float) -> Number:
    rounded = float(f"{value:.6g}")
    return rounded if isfinite(rounded) else number(rounded)
