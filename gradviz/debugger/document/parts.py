"""The parts of a trace document: numbers, lines, nested nets, their runs, events, the schedule, marks, the drawing."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import msgspec

from ...program import Gradient, GradientSlice
from ...program.events import Aggregator, CodeLine
from .bounds import (
    LONGEST_MARK,
    MERGED_ROWS,
    MOST_BINS,
    PREVIEW_COLUMNS,
    PREVIEW_ROWS,
    WHOLE,
    ArrayIndex,
    BlobVersion,
    Count,
    ForwardIndex,
    FrameIndex,
    LedgerIndex,
    LineId,
    Position,
    ShapeIndex,
    SourceText,
    StackIndex,
    SubnetId,
    TemplateIndex,
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


class Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
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


LISTS = (list, tuple)


def json_safe(value: Any) -> Any:
    """`value` with every number in it as JSON can carry it."""
    if isinstance(value, dict):
        return {key: item if type(item) in WHOLE else json_safe(item) for key, item in value.items()}
    if isinstance(value, LISTS):
        return [item if type(item) in WHOLE else json_safe(item) for item in value]
    return number(value) if isinstance(value, float) else value


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
    "HookRan",
    "EnteredSubnet",
    "LeftSubnet",
    "ChangedByHand",
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


Phase = Literal["play", "generate", "run"]


class Revision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a line read from one position on."""

    at: Position
    """From this position on; the first revision of a line is at its `made`."""
    inputs: list[BlobVersion]
    outputs: list[BlobVersion]


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One line of the program: an operator, or a gradient that passes through one unchanged."""

    id: str
    """Forward "f0", "f1", ...; backward operator "b0", ... in the order of emission; passed "p<forward index>". In a
    nested net behind the id of the net: "s0.f0", "s0.b0", "s0.p2"."""
    kind: Literal["operator", "passed", "stretch"] = "operator"
    """Stretch: the operators between two others of the net, or those that came from them, of which a part of a
    recording says no more. Its id, `of` and `made` are those of the first of them, `ran` is that of the last."""
    many: Annotated[int, msgspec.Meta(ge=1)] = 1
    """For how many operators it stands."""
    type: str
    """The operator's type; for passed: the type of the forward operator; for a stretch the types in it."""
    inputs: list[BlobVersion]
    """Versions read, final names. For passed: the gradient that passes on. For a stretch: one for each line before."""
    outputs: list[BlobVersion]
    """Blob versions written, final names. For passed: the blobs whose gradient it is. For a stretch: those that other
    lines read, one for each other stretch."""
    left_out: Count = 0
    """So many inputs more are not in a part of a recording."""
    args: dict[str, Any] = {}
    """The arguments but for nested nets."""
    subnets: dict[str, SubnetId] = {}
    """Argument -> the id of the nested net that the line runs from it, forward or backward."""
    device: str | None = None
    """For example "cpu" or "cuda:0"; None: not set."""
    name: str = ""
    """What the user calls the operator, behind the scopes or modules that it is in: "encoder/layer1/fc"."""
    code: CodeLine | None = None
    """Forward: the line of the user's code that called it."""
    of: Count | None = None
    """Backward: index of the forward operator of the same net it came from; None where there is none."""
    role: Role
    made: Position
    """Exists from this position on."""
    history: list[Revision]
    """How it read over time, oldest first; an accumulation renames the outputs of earlier lines."""
    formula: str = ""
    """Plain text, "y = x·wᵀ + b"; empty: not known."""
    gradient: BlobVersion | None = None
    """Forward: that of the first of its outputs that gets one, as it is in the end, of a sparse one the values. None:
    no output gets one, or it is a stretch."""
    ran: Position | None = None
    """Position after its run, in a nested net the first one; None: never executed."""
    stale: Position | None = None
    """From here on what it wrote is stale, since what it read was changed by hand; None: it is not."""

    @property
    def number(self) -> int:
        """Of a forward line its number among the operators of its net."""
        return int(self.id.rpartition(".")[2][1:])


class Source(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A stretch of the user's code; in JSON a list of its fields."""

    file: str
    """As the code of lines names it."""
    first: Annotated[int, msgspec.Meta(ge=1)]
    """The number of its first line."""
    text: SourceText


class Subnet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A nested net and its backward pass. Its blobs have versions of their own, the backward pass goes on counting."""

    id: str
    """"s0", "s1", ..., an outer one before those inside of it."""
    owner: LineId | None
    """Id of the forward line that runs it; None: it only exists in a backward pass."""
    backward_owner: LineId | None = None
    """Id of the backward line that runs its backward pass; None: there is none."""
    argument: str
    """The argument of its owner that holds it: "net", "then_net", "else_net", "cond_net", "loop_net"."""
    name: str
    path: list[str]
    """The nested nets to go through to reach it, itself last: ["2.loop_net", "0.net"]."""
    forward: list[Line]
    backward: list[Line]
    """In the order of emission, with the passed lines between."""
    blobs: list[BlobVersion] = []
    """Its blob versions, in the order in which a `Frame` has their values."""


class Frame(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """One run of a nested net, forward or backward; in JSON a list of its fields."""

    subnet: SubnetId
    around: FrameIndex | None
    """The frame in which its operator ran, one before it; None: the outermost net."""
    operator: Count
    """Index of the operator that ran it: in the whole program, or in the net that ran around it."""
    iteration: Count | None = None
    """Of a loop, from 0."""
    iterations: Count | None = None
    """How often the loop ran this net."""
    is_backward: bool = False
    values: list[ArrayIndex | None] = []
    """For each of the subnet's blobs its value; None: not computed in this run."""


class EventRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What conditions, breakpoints and watches ask about in an event, beside its other fields; in JSON a list.

    It is about each blob that it writes, else about the first of its `blobs`.
    """

    operator: LineId | None = None
    """Id of the line that it is about: the operator that ran, else the forward one, else the last one made."""
    writes: list[BlobVersion] = []
    """Final names."""
    is_gradient: bool = False
    """Whether these are gradients."""
    added: tuple[Count, Count] | None = None
    """Of an accumulation how many of the gradients that it adds are sparse, and how many dense."""


class Narration(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """One or two plain sentences, code between backticks; in JSON a list."""

    template: TemplateIndex
    arguments: list[str] = []
    """What fills the places of the template, in their order."""


class TraceEvent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that happened."""

    kind: Kind
    narration: Narration
    group: Count
    """Events of one operator share a group; groups are contiguous, but that those of a nested net may lie inside."""
    phase: Phase
    subnet: SubnetId | None = None
    """The nested net that we are in after the event; None: the outermost net."""
    frame: FrameIndex | None = None
    """The run of it; None while the pass is generated, and in the outermost net."""
    forward: Count | None = None
    """Index of the forward operator that the event is about, in the subnet's forward lines."""
    lines: list[LineId] = []
    """Ids of the lines that this event made, changed or ran."""
    blobs: list[BlobVersion] = []
    """Blob versions in focus, the most important one first."""
    ledger: LedgerIndex | None = None
    targets: list[str] = []
    """The words that `run_to` finds this event by; those of a frame's path and iteration are understood."""
    seconds: float | None = None
    """How long an operator ran."""
    detail: dict[str, Any] = {}
    """The event's own fields, but for those that stand in others here: the seconds, the path of a frame."""
    row: EventRow = EventRow()


class Obstacle(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What kept the program from being run, found before its first operator."""

    kind: str
    """That of the error: "undefined_blob", "unknown_operator", "shape_mismatch", ..."""
    message: str
    ways_out: list[str] = []
    """Sentences, each one way to repair it: "Did you mean a?"."""
    blobs: list[str] = []
    """Names of the blobs at fault, most important first."""
    lines: list[LineId] = []
    """Ids of the lines at fault, of the outermost net."""


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Neighbours of a large net that the drawing shows as one node in each lane until it opens."""

    id: str
    """"g0", "g1", ..., in a nested net behind the id of the net: "s0.g0"."""
    around: str | None = None
    """The group that it lies in, one before it; None: it is on the outermost level of its net."""
    lines: list[LineId]
    """Ids of the lines of its net that are in it and in no group inside of it."""
    shape: ShapeIndex
    """What it shows when it opens."""
    words: list[str]
    """What the shape says here."""


class Graph(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The drawing, laid out once with everything made, or why it was `omitted`; a large net is drawn in groups."""

    svg: str | None = None
    omitted: str | None = None
    groups: list[NodeGroup] = []
    shapes: list[str] = []
    """SVG text. U+20000 stands for the first word, U+100 for the first phrase, the characters behind for the others."""
    phrases: list[str] = []
    """What all shapes have in common, in pieces."""
    folded: dict[str, str] = {}
    """Plumbing: lines that `svg` has no node for, to the line whose node they are part of; so nested nets."""
    whole: str | None = None
    """The drawing with its plumbing; None: `svg` is."""


How = Literal["held", "new", "added", "replaced", "dropped"]
"""How ``grad`` of a Variable came to be what it is; held: it was so before the pass."""


class Wait(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A stay in the heap; in JSON a list of its fields."""

    function: ForwardIndex
    rank: Count
    arrival: Count
    """Of equal ranks, the lower arrival is next."""
    since: Position
    """From this position on it waits."""
    until: Position | None = None
    """From this position on it does not; None: it waits until the end of the recording."""


class Grad(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """What ``grad`` of a Variable is from one position on; in JSON a list of its fields."""

    variable: str
    at: Position
    value: BlobVersion | None
    """None: no gradient."""
    how: How


class Pool(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """How many names of a pool are in use from one position on, and how many wait to be taken again; a list in JSON."""

    name: str
    """Of what the names are, and in which scope: "tensors: join", "operators"."""
    at: Position
    in_use: Count
    free: Count


class Schedule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happened to the heap, to every ``grad``, and to the pools of names."""

    ranks: list[Count | None]
    """Of each forward operator; None: it is no function that can go backward."""
    waits: list[Wait] = []
    """In the order in which they began."""
    grads: list[Grad] = []
    """In the order in which they happened."""
    pools: list[Pool] = []
    """In the order in which they changed; the tape schedule alone takes names."""


Mark = Annotated[str, msgspec.Meta(extra={"most": LONGEST_MARK})]
"""What somebody wrote about a recording."""


class BreakpointEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A breakpoint as a document has it. Its texts are parsed when it is used; nothing in them is executed."""

    id: Annotated[int, msgspec.Meta(ge=1)]
    """Unique in its list."""
    on: Mark
    """What `Session.break_on` takes: a target of `run_to`, "target if condition", or a condition."""
    log: Mark | None = None
    """A message with conditions between braces; the breakpoint then tells it and does not stop."""
    ignore: Annotated[int, msgspec.Meta(ge=0)] = 0
    """So many of the first occurrences do not count."""
    every: Annotated[int, msgspec.Meta(ge=1)] = 1
    """Of those that count, each so many-th."""
    enabled: bool = True


class Marked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is marked in a recording, as views of it exchange it."""

    breakpoints: list[BreakpointEntry] = []
    watches: list[Mark] = []

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, with every field of a breakpoint."""
        return {"breakpoints": [msgspec.structs.asdict(one) for one in self.breakpoints], "watches": self.watches}


class Formula(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Formula and derivative of an operator type, about the names of its inputs and outputs.

    Both are plain text: "y = x·wᵀ + b", "dw = dyᵀ·x, db = Σᵢ dyᵢ, dx = dy·w"; empty: not known.
    """

    formula: str
    derivative: str = ""
    inputs: list[str] = []
    """As a signature has them: ``b?`` may be left out, ``xs...`` stands for any number, also none."""
    outputs: list[str] = []
