"""Histograms of arrays, many rows at once."""

from __future__ import annotations

import numpy as np

from ..operators.registry import Array

BINS = 20


def histograms(table: Array, least: Array, most: Array) -> list[list[int]]:
    """How many finite elements of each row lie in each of BINS equal bins from its least to its greatest.

    Args:
        table: float64, (rows, elements), where it lies.
        least, most: (rows,), of the finite elements.

    Returns:
        For each row its counts; none where all are equal, or so far apart that their difference is infinite.
    """
    span = most - least
    known = np.isfinite(span) & (span > 0)
    scale = BINS / np.where(known, span, 1.0)
    place = table - least[:, None]
    place *= scale[:, None]
    finite = np.isfinite(place)
    is_whole = bool(finite.all())
    bins = (place if is_whole else np.where(finite, place, 0.0)).astype(np.int64)
    np.minimum(bins, BINS - 1, out=bins)
    if len(table) > 1:
        bins += np.arange(0, len(table) * BINS, BINS, like=bins)[:, None]
    counted = bins.reshape(-1) if is_whole else bins[finite]
    counts = np.bincount(counted, minlength=len(table) * BINS).reshape(len(table), BINS)
    return [row if is_known else [] for row, is_known in zip(counts.tolist(), known.tolist(), strict=True)]
