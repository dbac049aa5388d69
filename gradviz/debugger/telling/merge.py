"""The merge of a sparse gradient's rows: which indices repeat, how many rows there were and are, what it changed."""

from collections.abc import Mapping, Sequence

import numpy as np

from ...operators.indexing import added_rows
from ...operators.registry import Array
from ...program import GradientSlice
from ...program.events import Deduplicated
from ...runtime.devices import CPU, moved
from ..document import MERGED_ROWS, Merge, MergedRow, Number, number
from ..journal import Key, Writing
from ..statistics import furthest

Arrays = tuple[Array | None, Array | None]
"""Indices and values of a slice as numpy's arrays; None: not computed."""


def merge_of(
    event: Deduplicated, at: int, was: Sequence[Writing], became: Sequence[Writing], values: Mapping[Key, Array]
) -> Merge:
    """What `event`, which happened at position `at`, did to the rows: `was` and `became` are indices and values."""
    before, after = _arrays(was, values), _arrays(became, values)
    return Merge(
        blob=f"{event.blob}@{event.version}",
        at=at,
        aggregator=event.aggregator,
        before=GradientSlice(*map(str, was)),
        after=GradientSlice(*map(str, became)),
        rows_before=_count(before[0]),
        rows_after=_count(after[0]),
        most_repeated=_most_repeated(before[0]),
        difference=_difference(before, after),
    )


def _arrays(gradient: Sequence[Writing], values: Mapping[Key, Array]) -> Arrays:
    found = [values.get(writing.key) for writing in gradient]
    indices, rows = (None if array is None else moved(array, CPU) for array in found)
    return indices, rows


def _count(indices: Array | None) -> int | None:
    return None if indices is None else int(indices.size)


def _most_repeated(indices: Array | None) -> list[MergedRow]:
    if indices is None:
        return []
    distinct, times = np.unique(indices, return_counts=True)
    first = np.argsort(-times, kind="stable")[:MERGED_ROWS]
    return [
        MergedRow(index=index, times=count)
        for index, count in zip(distinct[first].tolist(), times[first].tolist(), strict=True)
    ]


def _difference(was: Arrays, became: Arrays) -> Number | None:
    """The largest difference of the two slices as dense arrays, which need no row but those that they name."""
    (indices, values), (merged_indices, merged_values) = was, became
    if indices is None or values is None or merged_indices is None or merged_values is None:
        return None
    named = np.unique(np.concatenate([indices.reshape(-1), merged_indices.reshape(-1)]))
    with np.errstate(all="ignore"):
        dense = added_rows(np.searchsorted(named, indices), values, len(named))
        merged = added_rows(np.searchsorted(named, merged_indices), merged_values, len(named))
    return number(furthest(dense, merged))
