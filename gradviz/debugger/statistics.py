"""Statistics of an array: the numbers and the small preview that a person looks at first."""

import numpy as np

from ..operators.registry import Array
from ..runtime.devices import CPU, current, device_of, moved
from .trace import Number, Value, number

PREVIEW_ROWS = 6
PREVIEW_COLUMNS = 16


def statistics(array: Array, seconds: float | None = None) -> Value:
    """Range, means, norm, counts of NaN, infinities and zeros, and the first elements of `array`.

    They are computed where it lies.

    Args:
        array: boolean or numeric, any shape; complex numbers count by their absolute value.
        seconds: how long the operator that made it took.
    """
    device = device_of(array)
    with current(device), np.errstate(all="ignore"):
        flat = np.abs(array) if array.dtype.kind == "c" else array
        table = flat.reshape(-1, flat.shape[-1]) if flat.ndim and flat.size else flat.reshape(1, -1)
        if flat.ndim == 1:
            table = flat.reshape(1, -1)
        finite = flat[np.isfinite(flat)].astype(np.float64) if flat.dtype.kind == "f" else flat.astype(np.float64)
        some = finite.size > 0
        whole = flat.astype(np.float64)
        return Value(
            shape=list(array.shape),
            dtype=str(array.dtype),
            device=str(device),
            size=array.size,
            min=number(float(finite.min())) if some else None,
            max=number(float(finite.max())) if some else None,
            mean=number(float(finite.mean())) if some else None,
            mean_abs=number(float(np.abs(finite).mean())) if some else None,
            norm=number(float(np.sqrt((whole * whole).sum()))) if array.size else None,
            nan=int(np.isnan(whole).sum()),
            inf=int(np.isinf(whole).sum()),
            zero=int((flat == 0).sum()),
            preview=_preview(table),
            rows=int(table.shape[0]) if array.size else 0,
            columns=int(table.shape[1]) if array.size else 0,
            seconds=seconds,
        )


def _preview(table: Array) -> list[list[Number]]:
    if table.size == 0:
        return []
    corner = moved(table[:PREVIEW_ROWS, :PREVIEW_COLUMNS], CPU)
    if corner.dtype.kind == "f":
        corner = corner.astype(np.float64)
        return [[number(float(f"{value:.6g}")) for value in row] for row in corner]
    return [[int(value) for value in row] for row in corner]
