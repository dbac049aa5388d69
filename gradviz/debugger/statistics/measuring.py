"""Statistics of arrays: the numbers and the small preview that a person looks at first.

A loop leaves thousands of small arrays behind. Those of one shape and dtype are measured together as the rows of one
table: two microseconds for each array of a few elements, where each alone takes thirty.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from ...operators.registry import Array
from ...runtime.devices import CPU, current, device_of, moved
from ...runtime.watched import uncollected
from ..document import PREVIEW_COLUMNS, PREVIEW_ROWS, Number, Value, number, rows_and_columns
from .distribution import Moments, histograms, moments
from .vectors import absolute

TOGETHER = 1 << 20
"""Elements that are measured at once."""

DIGITS = 6
"""Of a number in a preview."""

POWERS = 10.0 ** np.arange(23)
"""The powers of ten that float64 holds: a whole number of few digits times or by one of them is rounded once."""

FEW = 24
"""Numbers that are rounded one by one in less time than together."""

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
    return next(_measured([array], FULL_PREVIEW, seconds))


def all_statistics(arrays: Iterable[Array]) -> list[Value]:
    """What `statistics` says of each of `arrays`, in a fraction of the time where many are alike.

    They are taken one after the other, as many as are measured at once: those in a file need not fit into memory.
    """
    return _alike(arrays, FULL_PREVIEW)


def short_statistics(arrays: Iterable[Array], preview: tuple[int, int]) -> list[Value]:
    """The statistics of each of `arrays`, to 6 digits, with at most so many rows and columns of preview."""
    return _alike(arrays, preview, are_short=True)


def _alike(arrays: Iterable[Array], preview: tuple[int, int], *, are_short: bool = False) -> list[Value]:
    found: list[Value] = []
    with uncollected():
        for some in _batches(arrays):
            alike: dict[object, list[int]] = {}
            for place, array in enumerate(some):
                device = device_of(array)
                alike.setdefault((array.shape, array.dtype, device.type, device.id), []).append(place)
            values: dict[int, Value] = {}
            for places in alike.values():
                measured = _measured([some[place] for place in places], preview, are_short=are_short)
                values.update(zip(places, measured, strict=True))
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
    seconds: float | None = None,
    *,
    are_short: bool = False,
) -> Iterator[Value]:
    """The statistics of arrays of one shape and dtype that lie on one device.

    Those have no histogram that the preview shows whole.

    Args:
        are_short: whether their numbers have few digits.
    """
    first = arrays[0]
    device = device_of(first)
    rows, columns = rows_and_columns(first.shape)
    nothing = Value(
        shape=list(first.shape), dtype=str(first.dtype), device=str(device), size=first.size, min=None, max=None,
        mean=None, mean_abs=None, norm=None, nan=0, inf=0, zero=0, preview=[], rows=rows, columns=columns,
        seconds=seconds, subnormal=0,
    )  # fmt: skip
    with current(device), np.errstate(all="ignore"):
        stack = first[None] if len(arrays) == 1 else np.stack(arrays)
        table = absolute(stack)
        if not first.size:
            shown = previews(table.reshape(len(arrays), rows, columns))
            yield from (replace(nothing, preview=preview) for preview in shown)
            return
        flat = table.reshape(len(arrays), first.size)
        corner = table.reshape(len(arrays), rows, columns)[:, : preview[0], : preview[1]]
        is_counted = corner.shape[1:] != (rows, columns)
        measured = moments(flat, _precision(first.dtype))
        histogram = histograms(flat, measured.low, measured.high) if is_counted else [[] for _ in arrays]
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
