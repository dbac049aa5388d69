"""The trace document: what a recording looks like as JSON, and how it is written and read.

It is the twin of the widget: whatever the eye sees there stands here. `session.save` writes it, the widget
receives it, a `*.gradviz.json` file holds it. All positions count events that have happened: a thing "made at 5"
exists once `events[4]` has happened. Blob versions are written `a@0`.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec

from ..program import Gradient, GradientSlice
from ..program.events import Aggregator
from .trace_check import TraceError, check, too_deep

__all__ = [
    "Contribution",
    "Graph",
    "Ledger",
    "Line",
    "Merge",
    "MergedRow",
    "Number",
    "Revision",
    "Trace",
    "TraceError",
    "TraceEvent",
    "Value",
    "decode",
    "encode",
    "json_safe",
    "number",
]

FORMAT: Literal["gradviz-trace"] = "gradviz-trace"
VERSION: Literal[1] = 1

Number = int | float | Literal["nan", "inf", "-inf"]
"""A number that JSON can carry: finite numbers as they are, the others as a word. `number` makes one."""

Kind = Literal[
    "Played",
    "Seeded",
    "Visited",
    "Skipped",
    "RuleApplied",
    "InputChecked",
    "GeneratorAdded",
    "Accumulated",
    "Deduplicated",
    "Ran",
    "Failed",
    "Completed",
]
Role = Literal["forward", "seed", "gradient", "accumulation", "deduplication", "passed"]


class Revision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a line read from one position on."""

    at: int
    """From this position on; the first revision of a line is at its `made`."""
    inputs: list[str]
    outputs: list[str]


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of the program: an operator, or a gradient that passes through one unchanged."""

    id: str
    """Forward "f0", "f1", ...; backward operator "b0", ... in the order of emission; passed "p<forward index>"."""
    kind: Literal["operator", "passed"] = "operator"
    type: str
    """The operator's type; for passed: the type of the forward operator."""
    inputs: list[str]
    """Blob versions read, final names. For passed: the one gradient that passes on."""
    outputs: list[str]
    """Blob versions written, final names. For passed: the blobs whose gradient it is."""
    args: dict[str, Any] = {}
    device: str | None = None
    """For example "cpu" or "cuda:0"; None: not set."""
    name: str = ""
    of: int | None = None
    """Backward: index of the forward operator it came from; None for seeds and for what merges rows."""
    role: Role
    made: int
    """Exists from this position on."""
    history: list[Revision]
    """How it read over time, oldest first; an accumulation renames the outputs of earlier lines."""
    formula: str = ""
    """Plain text, "y = x·wᵀ + b"; empty: not known."""
    ran: int | None = None
    """Position after its run; None: never executed."""


class TraceEvent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that happened."""

    kind: Kind
    narration: str
    """One or two plain sentences; code stands between backticks."""
    group: int
    """Events of one forward operator share a group; groups are contiguous. `over` moves by groups."""
    phase: Literal["play", "generate", "run"]
    forward: int | None = None
    """Index of the forward operator visited."""
    lines: list[str] = []
    """Ids of the lines that this event made, changed or ran."""
    blobs: list[str] = []
    """Blob versions in focus, the most important one first."""
    ledger: int | None = None
    """Index into the trace's ledgers."""
    targets: list[str] = []
    """The words that `run_to` finds this event by."""
    detail: dict[str, Any] = {}
    """The event's own fields."""


class Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Statistics of an array; seen as (rows, last axis) where rows and columns are meant. NaN and infinities are
    left out of min, max and the means; these are None for an array that is empty or not numeric."""

    shape: list[int]
    dtype: str
    device: str
    size: int
    min: Number | None
    max: Number | None
    mean: Number | None
    mean_abs: Number | None
    norm: Number | None
    nan: int
    inf: int
    zero: int
    preview: list[list[Number]]
    """The first 6 rows and 16 columns; a scalar is [[v]]."""
    rows: int
    columns: int
    seconds: float | None = None
    """How long the operator that made it took."""


class Contribution(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One gradient that went into a sum. None in a number: not computed."""

    gradient: str
    producer: str
    """Type and forward index, "FCGradient #2"."""
    of: int | None = None
    how: Literal["generated", "passed", "seed", "given"]
    path: list[str] = []
    """The operator, then the blobs on one way to a y: ["#2", "u", "v", "loss"]."""
    norm: Number | None = None
    share: Number | None = None
    """<c, total> / <total, total>; the shares of a ledger sum to 1."""
    cosine: Number | None = None


class Ledger(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of a blob's gradient came from where."""

    blob: str
    at: int
    """Position after the Accumulated event."""
    total: str
    contributions: list[Contribution]
    norm: Number | None = None
    cancellation: Number | None = None
    """1 - ||sum of c|| / sum of ||c||: 0 where all pull one way, 1 where they annihilate each other."""


class MergedRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An index of a sparse gradient and how many of its rows had it."""

    index: int
    times: int


class Merge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows of equal index in a blob's sparse gradient made one. None in a number: not computed."""

    blob: str
    at: int
    """Position after the Deduplicated event."""
    aggregator: Aggregator
    before: GradientSlice
    after: GradientSlice
    """Blob versions."""
    rows_before: int | None = None
    rows_after: int | None = None
    most_repeated: list[MergedRow] = []
    """The first 8, the most repeated one first; equally repeated ones in the order of their indices."""
    difference: Number | None = None
    """Largest difference of an element between the gradient before and after, as dense arrays."""


class Graph(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The drawing, laid out once with everything made: either `svg` and `dot`, or why it was `omitted`."""

    svg: str | None = None
    dot: str | None = None
    omitted: str | None = None


class Trace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole document."""

    format: Literal["gradviz-trace"] = FORMAT
    version: Literal[1] = VERSION
    producer: str
    """Who wrote it, "gradviz 0.1.0"."""
    engine: Literal["symbolic"] = "symbolic"
    name: str
    summary: str = ""
    """What the recording is about, in a sentence or two: shown before anything has happened."""
    net: dict[str, Any]
    """The forward net, whole, as `Net.to_dict` gives it."""
    ys: list[str] | dict[str, str | GradientSlice | None]
    """What was differentiated; a dictionary gives each y its own gradient, None: ones."""
    skip: int = 0
    """How many leading operators the backward pass did not look at."""
    forward: list[Line]
    backward: list[Line]
    """In the order of emission, with the passed lines between."""
    events: list[TraceEvent]
    values: dict[str, Value] = {}
    """By blob version, only what was executed or fed. Absent means not computed, never 0."""
    ledgers: list[Ledger] = []
    merges: list[Merge] = []
    gradients: dict[str, Gradient] = {}
    """Blob to the version of its gradient, "x_grad@0"."""
    graph: Graph = Graph(omitted="not drawn")


def number(value: float) -> Number:
    """`value` as JSON can carry it: NaN and the infinities become words."""
    if isinstance(value, int):
        return int(value)
    if math.isfinite(value):
        return float(value)
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def json_safe(value: Any) -> Any:
    """`value` with every number in it as JSON can carry it."""
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return {key: json_safe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(item) for item in value]
    return value


def encode(trace: Trace) -> bytes:
    """The document as JSON, UTF-8.

    Raises TraceError where a reference leads nowhere or a number is not JSON (`number` makes it so): a document
    that is written can be read.
    """
    check(trace)
    return msgspec.json.encode(trace)


def decode(data: bytes | str) -> Trace:
    """Read a document and check that it holds together; nothing in it is executed.

    Raises TraceError: kinds "not_json", "too_deep", "not_a_trace", "newer_version", "bad_structure", "bad_reference".
    """
    try:
        document = msgspec.json.decode(data)
    except RecursionError:
        raise too_deep("The trace") from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise TraceError(
            f"This is not JSON: {error}.",
            kind="not_json",
            ways_out=["The file may be cut off or damaged: save the session again."],
        ) from None
    _check_header(document)
    try:
        trace = msgspec.convert(document, Trace)
    except RecursionError:
        raise too_deep("The trace") from None
    except msgspec.ValidationError as error:
        raise TraceError(f"The trace is not built as version {VERSION} says: {error}.", kind="bad_structure") from None
    check(trace)
    return trace


def _check_header(document: object) -> None:
    """Refuse what is no trace, or one of a version that is not known, before looking at anything else."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise TraceError(
            f'This is JSON, but not a gradviz trace: it has no "format": "{FORMAT}".',
            kind="not_a_trace",
            ways_out=["session.save(path) writes a trace.", "gradviz.Net.from_dict reads a net."],
        )
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise TraceError(f"There is no version {version!r:.40} of a gradviz trace.", kind="not_a_trace")
    if version > VERSION:
        raise TraceError(
            f"The trace has version {version}; this gradviz reads up to version {VERSION}.",
            kind="newer_version",
            ways_out=["Upgrade gradviz: pip install --upgrade gradviz."],
        )
