"""The numbers that stand for an array: range, moments, histogram, norms and shares."""

from .measuring import (
    FULL_PREVIEW,
    WORKSPACES,
    Columns,
    all_statistics,
    columns,
    of_stack,
    previews,
    short_statistics,
    statistics,
)
from .vectors import Vector, absolute, as_vector, compare, furthest, norm, norm_of, vector

__all__ = [
    "FULL_PREVIEW", "WORKSPACES", "Columns", "Vector", "absolute", "all_statistics", "as_vector", "columns",
    "compare", "furthest", "norm", "norm_of", "of_stack", "previews", "short_statistics", "statistics", "vector",
]  # fmt: skip
