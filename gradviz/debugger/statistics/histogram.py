"""Histograms of arrays, many rows at once."""

from __future__ import annotations

import numpy as np

from ...operators.registry import Array
from .blocks import blocks

BINS = 20

ENLARGED = 2.0**512
"""By what numbers are multiplied that lie close together."""


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
    for at, block in blocks(table):
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
