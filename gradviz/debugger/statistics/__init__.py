"""The numbers that stand for an array: range, moments, histogram, norms and shares."""

from .measuring import (
    FULL_PREVIEW,
    WORKSPACES,
    all_statistics,
    as_shown,
    facts,
    of_stack,
    previews,
    short_statistics,
    smaller,
    statistics,
)
from .vectors import Vector, absolute, as_vector, cancellation, compare, furthest, norm, vector

__all__ = [
    "FULL_PREVIEW",
    "WORKSPACES",
    "Vector",
    "absolute",
    "all_statistics",
    "as_shown",
    "as_vector",
    "cancellation",
    "compare",
    "facts",
    "furthest",
    "norm",
    "of_stack",
    "previews",
    "short_statistics",
    "smaller",
    "statistics",
    "vector",
]
