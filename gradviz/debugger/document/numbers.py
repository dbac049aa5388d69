"""What a trace document says of what was computed: values, stacks of workspaces, ledgers and merges."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import msgspec

from ...program import Gradient, GradientSlice
from ...program.events import Aggregator
from .bounds import (
    MERGED_ROWS,
    MOST_BINS,
    PREVIEW_COLUMNS,
    PREVIEW_ROWS,
    WHOLE,
    BlobVersion,
    Count,
    FrameIndex,
    Position,
    StackIndex,
    SubnetId,
    Whole,
)

Number = int | float | Literal["nan", "inf", "-inf"]
"""A number that JSON can carry: finite numbers as they are, the others as a word. `number` makes one."""

_PreviewRow = Annotated[list[Number], msgspec.Meta(extra={"most": PREVIEW_COLUMNS})]
Preview = Annotated[list[_PreviewRow], msgspec.Meta(extra={"most": PREVIEW_ROWS})]
Histogram = Annotated[list[Count], msgspec.Meta(extra={"most": MOST_BINS})]
SliceVersions = Annotated[GradientSlice, msgspec.Meta(extra={"rule": "versions"})]
GradientVersions = Annotated[Gradient, msgspec.Meta(extra={"rule": "versions"})]


class Workspaces(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stack of workspaces that Do keeps: the one on top, and the stack below."""

    count: Count
    frame: FrameIndex | None
    """The run that left the workspace on top: its values are in there. None: the
    stack is empty, or the workspace was there before the recording."""
    below: StackIndex | None = None
    """The stack without it, one before it."""


class Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Statistics of an array; seen as (rows, last axis) where rows and columns are meant. NaN and infinities are
    left out of min, max and the means. These and the norm are None for an array that is empty, and where the numbers
    were left out to keep a page small."""

    shape: list[Count]
    dtype: str
    device: str
    size: Count
    min: Number | None
    max: Number | None
    mean: Number | None
    mean_abs: Number | None
    norm: Number | None
    nan: Count
    inf: Count
    zero: Count
    preview: Preview
    """The first 6 rows and 16 columns at most, in a page that is to be small fewer; a scalar is [[v]]."""
    rows: Count
    columns: Count
    seconds: float | None = None
    """How long the operator that made it took; in a nested net its event says it."""
    stack: StackIndex | None = None
    """For a stack of workspaces (dtype "workspaces")."""
    subnormal: Count | None = None
    """Elements that are too small for the precision of their dtype, but not 0; None: not counted."""
    histogram: Histogram = []
    """How many finite elements lie in each of so many equal bins from min to max; empty: not counted, because the
    preview shows them all, or all are equal."""


class Contribution(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One gradient that went into a sum. None in a number: not computed."""

    gradient: BlobVersion
    producer: str
    """Type and forward index, "FCGradient #2"; for one iteration of a loop "iteration 3"."""
    of: Count | None = None
    how: Literal["generated", "passed", "seed", "given"]
    path: list[str] = []
    """The operator, then the blobs on one way to a y: ["#2", "u", "v", "loss"]."""
    norm: Number | None = None
    share: Number | None = None
    """<c, total> / <total, total>; the shares of a ledger sum to 1."""
    cosine: Number | None = None
    frame: FrameIndex | None = None
    """For one iteration of a loop: its run in the backward pass."""


class Ledger(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of a blob's gradient came from where."""

    blob: BlobVersion
    at: Position
    """Position after the event that added up: Accumulated or, for a loop, the Ran of its backward pass."""
    total: BlobVersion
    contributions: list[Contribution]
    norm: Number | None = None
    cancellation: Number | None = None
    """1 - ||sum of c|| / sum of ||c||: 0 where all pull one way, 1 where they annihilate each other."""
    subnet: SubnetId | None = None
    """The nested net that the blob belongs to; None: the outermost net."""
    frame: FrameIndex | None = None
    """The run of it that the numbers are of; None: the outermost net, or nothing was run."""


class MergedRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An index of a sparse gradient and how many of its rows had it."""

    index: Whole
    times: Count


class Merge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows of equal index in a blob's sparse gradient made one. None in a number: not computed."""

    blob: BlobVersion
    at: Position
    """Position after the Deduplicated event."""
    aggregator: Aggregator
    before: SliceVersions
    after: SliceVersions
    rows_before: Count | None = None
    rows_after: Count | None = None
    most_repeated: Annotated[list[MergedRow], msgspec.Meta(extra={"most": MERGED_ROWS})] = []
    """The first 8, the most repeated one first; equally repeated ones in the order of their indices."""
    difference: Number | None = None
    """Largest difference of an element between the gradient before and after, as dense arrays."""


def number(value: float) -> Number:
    """`value` as JSON can carry it: NaN and the infinities become words."""
    if isinstance(value, int):
        return int(value)
    if math.isfinite(value):
        return float(value)
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def json_safe(value: Any) -> Any:
    """`value` with every number in it as JSON can carry it."""
    if type(value) in WHOLE:
        return value
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return {key: item if type(item) in WHOLE else json_safe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [item if type(item) in WHOLE else json_safe(item) for item in value]
    return value
