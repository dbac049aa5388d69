"""Values within a budget: what of them a page has room for, and what to say of the rest."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ..debugger.document import Number, Trace, Value, as_rows
from ..debugger.telling import PREVIEWS

__all__ = ["ANSWERS", "BUDGET", "within"]

BUDGET = 6_000_000
"""Bytes of JSON that the values in a page may take, before compression."""

ANSWERS = 2_000_000
"""Bytes of JSON that the answers in a page may take, before compression."""

CORNERS = (*PREVIEWS[1:], (1, 4))
"""Rows and columns of elements that are tried, one after the other, where all do not fit."""


def within(trace: Trace, budget: int) -> tuple[Trace, str]:
    """`trace` with values of at most `budget` bytes of JSON, as far as their numbers go; and what was left out.

    First fewer of the first elements of each array are kept, then none, then no statistics either. The shapes, dtypes
    and counts of NaN, infinities and zeros always stay. The second result is a sentence, empty where all is there.
    """
    values = _values(trace)
    size = _size(trace)
    if size <= budget:
        return trace, ""
    without_elements = size - len(msgspec.json.encode([value.preview for value in values]))
    for rows, columns in CORNERS:
        corners = [_corner(value, rows, columns) for value in values]
        if without_elements + len(msgspec.json.encode(corners)) <= budget:
            smaller = _with(
                trace, [replace(value, preview=corner) for value, corner in zip(values, corners, strict=True)]
            )
            return smaller, f"To keep the page small, it has the first {rows} × {columns} elements of an array at most."
    empty = _with(trace, [replace(value, preview=_corner(value, 0, 0)) for value in values])
    if _size(empty) <= budget:
        return empty, "To keep the page small, the elements of arrays were left out; their statistics are there."
    bare = _with(trace, [_bare(value) for value in values])
    return bare, "To keep the page small, all numbers of values were left out; their shapes and types are there."


def _values(trace: Trace) -> list[Value]:
    return [*trace.values.values(), *trace.arrays]


def _with(trace: Trace, values: list[Value]) -> Trace:
    """`trace` with other values, in the order of `_values`."""
    count = len(trace.values)
    return replace(trace, values=dict(zip(trace.values, values[:count], strict=True)), arrays=values[count:])


def _size(trace: Trace) -> int:
    return len(msgspec.json.encode([trace.values, as_rows(trace.arrays)]))


def _corner(value: Value, rows: int, columns: int) -> list[list[Number]]:
    """So many rows and columns of elements; a single number stays."""
    return value.preview if value.size == 1 else [row[:columns] for row in value.preview[:rows]]


def _bare(value: Value) -> Value:
    """Without elements and statistics. What has no numbers of its own, as a stack of workspaces, stays."""
    if value.norm is None:
        return value
    return replace(value, min=None, max=None, mean=None, mean_abs=None, norm=None, preview=[], histogram=[])
