"""The merge of a sparse gradient's rows: which indices repeat, how many rows there were and are, what it changed."""

import numpy as np

from ...operators.indexing import added_rows
from ...operators.registry import Array
from ...program import GradientSlice
from ...program.events import Deduplicated
from ..document import MERGED_ROWS, Merge, MergedRow, Number, number
from ..statistics import furthest

Arrays = tuple[Array | None, Array | None]
"""Indices and values of a slice as numpy's arrays; None: not computed."""


def merge(
    event: Deduplicated, at: int, before: GradientSlice, after: GradientSlice, was: Arrays, became: Arrays
) -> Merge:
    """What `event`, which happened at position `at`, did to the rows.

    Args:
        before, after: the versions of the slices, ``"table_grad_values@0"``.
        was, became: their arrays.
    """
    return Merge(
        blob=f"{event.blob}@{event.version}",
        at=at,
        aggregator=event.aggregator,
        before=before,
        after=after,
        rows_before=_count(was[0]),
        rows_after=_count(became[0]),
        most_repeated=_most_repeated(was[0]),
        difference=_difference(was, became),
    )


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
