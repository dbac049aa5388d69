"""The parts of a trace document: lines, nested nets and their runs, events, values, ledgers, merges, the graph."""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec

from ...program import GradientSlice
from ...program.events import Aggregator
from .check import WHOLE, Whole

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
    "GradWritten",
    "Deduplicated",
    "EnteredSubnet",
    "LeftSubnet",
    "Ran",
    "Failed",
    "Completed",
]
Role = Literal["forward", "seed", "gradient", "accumulation", "deduplication", "duplicate", "handover", "passed"]
"""What a line does. Beside what their names say:

    duplicate   copies a gradient that arrives at several outputs of a control operator, so that each has its own
    handover    is added to the backward pass of a nested net by the rule of the operator that runs it: it gives results
                to the net around, zeros for what another branch computes, or carries a gradient to the next iteration
    passed      no operator: a gradient that passes through one unchanged
"""


class Revision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a line read from one position on."""

    at: Whole
    """From this position on; the first revision of a line is at its `made`."""
    inputs: list[str]
    outputs: list[str]


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One line of the program: an operator, or a gradient that passes through one unchanged."""

    id: str
    """Forward "f0", "f1", ...; backward operator "b0", ... in the order of emission; passed "p<forward index>". In a
    nested net behind the id of the net: "s0.f0", "s0.b0", "s0.p2"."""
    kind: Literal["operator", "passed"] = "operator"
    type: str
    """The operator's type; for passed: the type of the forward operator."""
    inputs: list[str]
    """Blob versions read, final names. For passed: the one gradient that passes on."""
    outputs: list[str]
    """Blob versions written, final names. For passed: the blobs whose gradient it is."""
    args: dict[str, Any] = {}
    """The arguments but for nested nets."""
    subnets: dict[str, str] = {}
    """Argument -> the id of the nested net that the line runs from it, forward or backward."""
    device: str | None = None
    """For example "cpu" or "cuda:0"; None: not set."""
    name: str = ""
    of: Whole | None = None
    """Backward: index of the forward operator of the same net it came from; None where there is none."""
    role: Role
    made: Whole
    """Exists from this position on."""
    history: list[Revision]
    """How it read over time, oldest first; an accumulation renames the outputs of earlier lines."""
    formula: str = ""
    """Plain text, "y = x·wᵀ + b"; empty: not known."""
    ran: Whole | None = None
    """Position after its run, in a nested net the first one; None: never executed."""


class Subnet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A nested net and its backward pass. Its blobs have versions of their own, the backward pass goes on counting."""

    id: str
    """"s0", "s1", ..., an outer one before those inside of it."""
    owner: str | None
    """Id of the forward line that runs it; None: it only exists in a backward pass."""
    backward_owner: str | None = None
    """Id of the backward line that runs its backward pass; None: there is none."""
    argument: str
    """The argument of its owner that holds it: "net", "then_net", "else_net", "cond_net", "loop_net"."""
    name: str
    path: list[str]
    """The nested nets to go through to reach it, itself last: ["2.loop_net", "0.net"]."""
    forward: list[Line]
    backward: list[Line]
    """In the order of emission, with the passed lines between."""
    blobs: list[str] = []
    """Its blob versions, in the order in which a `Frame` has their values."""


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """One run of a nested net, forward or backward; in JSON a list of its fields."""

    subnet: str
    around: Whole | None
    """The frame in which its operator ran, as an index into the trace's frames; None: the outermost net."""
    operator: Whole
    """Index of the operator that ran it: in the whole program, or in the net that ran around it."""
    iteration: Whole | None = None
    """Of a loop, from 0."""
    iterations: Whole | None = None
    """How often the loop ran this net."""
    is_backward: bool = False
    values: list[Whole | None] = []
    """For each of the subnet's blobs an index into the trace's arrays; None: not computed in this run."""


class TraceEvent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that happened."""

    kind: Kind
    narration: str
    """One or two plain sentences; code stands between backticks."""
    group: Whole
    """Events of one operator share a group; groups are contiguous, but that those of a nested net may lie inside."""
    phase: Literal["play", "generate", "run"]
    subnet: str | None = None
    """The nested net that we are in after the event; None: the outermost net."""
    frame: Whole | None = None
    """The run of it, an index into the trace's frames; None while the pass is generated, and in the outermost net."""
    forward: Whole | None = None
    """Index of the forward operator that the event is about, in the subnet's forward lines."""
    lines: list[str] = []
    """Ids of the lines that this event made, changed or ran."""
    blobs: list[str] = []
    """Blob versions in focus, the most important one first."""
    ledger: Whole | None = None
    """Index into the trace's ledgers."""
    targets: list[str] = []
    """The words that `run_to` finds this event by; those of a frame's path and iteration are understood."""
    seconds: float | None = None
    """How long an operator ran."""
    detail: dict[str, Any] = {}
    """The event's own fields, but for those that stand in others here: the seconds, the path of a frame."""


class Workspaces(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stack of workspaces that Do keeps: the one on top, and the stack below."""

    count: Whole
    frame: Whole | None
    """The run that left the workspace on top, an index into the trace's frames: its values are in there. None: the
    stack is empty, or the workspace was there before the recording."""
    below: Whole | None = None
    """The stack without it, an index into the trace's stacks."""


class Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Statistics of an array; seen as (rows, last axis) where rows and columns are meant. NaN and infinities are
    left out of min, max and the means. These and the norm are None for an array that is empty, and where the numbers
    were left out to keep a page small."""

    shape: list[Whole]
    dtype: str
    device: str
    size: Whole
    min: Number | None
    max: Number | None
    mean: Number | None
    mean_abs: Number | None
    norm: Number | None
    nan: Whole
    inf: Whole
    zero: Whole
    preview: list[list[Number]]
    """The first 6 rows and 16 columns at most, in a page that is to be small fewer; a scalar is [[v]]."""
    rows: Whole
    columns: Whole
    seconds: float | None = None
    """How long the operator that made it took; in a nested net its event says it."""
    stack: Whole | None = None
    """For a stack of workspaces (dtype "workspaces"): an index into the trace's stacks."""
    subnormal: Whole | None = None
    """Elements that are too small for the precision of their dtype, but not 0; None: not counted."""
    histogram: list[Whole] = []
    """How many finite elements lie in each of so many equal bins from min to max; empty: not counted, because the
    preview shows them all, or all are equal."""


class Contribution(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One gradient that went into a sum. None in a number: not computed."""

    gradient: str
    producer: str
    """Type and forward index, "FCGradient #2"; for one iteration of a loop "iteration 3"."""
    of: Whole | None = None
    how: Literal["generated", "passed", "seed", "given"]
    path: list[str] = []
    """The operator, then the blobs on one way to a y: ["#2", "u", "v", "loss"]."""
    norm: Number | None = None
    share: Number | None = None
    """<c, total> / <total, total>; the shares of a ledger sum to 1."""
    cosine: Number | None = None
    frame: Whole | None = None
    """For one iteration of a loop: its run in the backward pass, an index into the trace's frames."""


class Ledger(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of a blob's gradient came from where."""

    blob: str
    at: Whole
    """Position after the event that added up: Accumulated or, for a loop, the Ran of its backward pass."""
    total: str
    contributions: list[Contribution]
    norm: Number | None = None
    cancellation: Number | None = None
    """1 - ||sum of c|| / sum of ||c||: 0 where all pull one way, 1 where they annihilate each other."""
    subnet: str | None = None
    """The nested net that the blob belongs to; None: the outermost net."""
    frame: Whole | None = None
    """The run of it that the numbers are of; None: the outermost net, or nothing was run."""


class MergedRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An index of a sparse gradient and how many of its rows had it."""

    index: Whole
    times: Whole


class Merge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows of equal index in a blob's sparse gradient made one. None in a number: not computed."""

    blob: str
    at: Whole
    """Position after the Deduplicated event."""
    aggregator: Aggregator
    before: GradientSlice
    after: GradientSlice
    """Blob versions."""
    rows_before: Whole | None = None
    rows_after: Whole | None = None
    most_repeated: list[MergedRow] = []
    """The first 8, the most repeated one first; equally repeated ones in the order of their indices."""
    difference: Number | None = None
    """Largest difference of an element between the gradient before and after, as dense arrays."""


class Obstacle(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What kept the program from being run, found before its first operator."""

    kind: str
    """That of the error: "undefined_blob", "unknown_operator", "shape_mismatch", ..."""
    message: str
    ways_out: list[str] = []
    """Sentences, each one way to repair it: "Did you mean a?"."""
    blobs: list[str] = []
    """Names of the blobs at fault, most important first."""
    lines: list[str] = []
    """Ids of the lines at fault, of the outermost net."""


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Neighbours of a large net that the drawing shows as one node in each lane until it opens."""

    id: str
    """"g0", "g1", ..., in a nested net behind the id of the net: "s0.g0"."""
    around: str | None = None
    """The group that it lies in, one before it; None: it is on the outermost level of its net."""
    lines: list[str]
    """Ids of the lines of its net that are in it and in no group inside of it."""
    shape: Whole
    """What it shows when it opens: an index into the graph's shapes."""
    words: list[str]
    """What the shape says here."""


class Graph(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The drawing, laid out once with everything made: either `svg` and `dot`, or why it was `omitted`.

    Of a large net it shows groups, each of which can open: see `NodeGroup`.
    """

    svg: str | None = None
    dot: str | None = None
    omitted: str | None = None
    groups: list[NodeGroup] = []
    shapes: list[str] = []
    """SVG text. U+20000 stands for the first word, U+100 for the first phrase, the characters behind for the others."""
    phrases: list[str] = []
    """What all shapes have in common, in pieces."""


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
