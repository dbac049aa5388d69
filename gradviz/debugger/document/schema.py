"""The trace document: what a recording looks like as JSON.

It is the twin of the widget: whatever the eye sees there stands here. `session.save` writes it, the widget
receives it, a `*.gradviz.json` file holds it. All positions count events that have happened: a thing "made at 5"
exists once `events[4]` has happened. Blob versions are written `a@0`; in a nested net they count for themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

from ...program import GradientSlice
from .bounds import MOST_SOURCES, BlobVersion, Count, FrameIndex, Position, SourceText, StackIndex, SubnetId
from .parts import (
    BreakpointEntry,
    Formula,
    Frame,
    GradientVersions,
    Graph,
    Histogram,
    Ledger,
    Line,
    Mark,
    Merge,
    Number,
    Obstacle,
    Preview,
    Schedule,
    Source,
    Subnet,
    TraceEvent,
    Value,
    Workspaces,
)

FORMAT: Literal["gradviz-trace"] = "gradviz-trace"
VERSION: Literal[6] = 6
ENDING = ".gradviz.json"
"""Of the names of files."""

E = TypeVar("E")
A = TypeVar("A")


class Entered(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A nested net that was entered before; in JSON a list of its fields."""

    subnet: SubnetId
    frame: FrameIndex | None
    """The run of it; None: while the pass was generated."""
    at: Position
    """The position after the event that entered it."""


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of which part of a recording a document is: of so many events behind a position. Positions and numbers of
    operators and groups are those of the recording; of what is about other events there is nothing."""

    first: Position
    """The position at which it begins."""
    length: Count
    """The events of the recording."""
    forward: Count
    """Its forward operators, around all nested nets."""
    backward: Count
    """Its gradient operators there."""
    whole: Position | None = None
    """The position from which on the pass is whole; None: it has stopped before."""
    entered: list[Entered] = []
    """The nested nets that are open where it begins, from the outside in."""
    is_called: bool = False
    """Whether the recording has a schedule: what its functions computed forward is there since they were called."""


class Document(msgspec.Struct, Generic[E, A], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole document, with events of type E and arrays of type A: see `Trace` and `WrittenTrace`."""

    format: Literal["gradviz-trace"] = FORMAT
    version: Literal[6] = VERSION
    producer: str
    """Who wrote it, "gradviz 0.1.0"."""
    engine: str = "symbolic"
    """Who made the pass: ``symbolic``, rules asked for a net; ``rank`` and ``tape``, functions that ran backward in the
    order of their ranks or of a tape; or an engine that somebody has registered."""
    name: str
    summary: str = ""
    """What the recording is about, in a sentence or two: shown before anything has happened."""
    net: dict[str, Any]
    """The forward net, whole, as `Net.to_dict` gives it."""
    ys: list[str] | dict[str, str | GradientSlice | None]
    """What was differentiated; a dictionary gives each y its own gradient, None: ones."""
    skip: Count = 0
    """How many leading operators the backward pass did not look at."""
    part: Part | None = None
    """What it is a part of; None: it is of the whole recording."""
    forward: list[Line]
    backward: list[Line]
    """In the order of emission, with the passed lines between."""
    subnets: list[Subnet] = []
    """The nested nets, an outer one before those inside of it."""
    templates: list[str] = []
    """Of the narrations: texts with places for what differs, ``{blob}``. What fills one is never looked at again."""
    events: list[E]
    frames: list[Frame] = []
    """The runs of nested nets, in the order in which they began."""
    values: dict[BlobVersion, Value] = {}
    """By blob version, only what was executed or fed around all nested nets. Absent means not computed, never 0."""
    arrays: A
    """The values in frames, which refer to them by number."""
    stacks: list[Workspaces] = []
    """What scope blobs held; values refer to them by number."""
    ledgers: list[Ledger] = []
    merges: list[Merge] = []
    gradients: dict[str, GradientVersions] = {}
    """Blob to the version of its gradient, "x_grad@0"."""
    obstacle: Obstacle | None = None
    """Why the program was not run although a workspace was given; None: it was, or none was."""
    schedule: Schedule | None = None
    """What the schedule of a define-by-run pass held; None: the pass was not run by one."""
    formulas: dict[str, Formula] = {}
    """By operator type, of those that occur and have one."""
    sources: Annotated[list[Source], msgspec.Meta(extra={"most": MOST_SOURCES})] = []
    """The user's code around the lines that called operators: of a file in the order of its lines."""
    rules: dict[str, SourceText] = {}
    """The text of each rule that was applied, by the place that its events name: "gradviz/operators/linear.py:95"."""
    upcoming: str | None = None
    """What a pass that stands still runs next, "#3 Tanh", where somebody is there to let it; None: all has happened."""
    breakpoints: list[BreakpointEntry] = []
    watches: list[Mark] = []
    """Expressions; as those of breakpoints they are parsed when they are used, and never executed."""
    graph: Graph = Graph(omitted="not drawn")


class Trace(Document[TraceEvent, list[Value]], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The document as it is worked with."""

    arrays: list[Value] = []

    def event_at(self, position: int) -> TraceEvent | None:
        """The event before a position; None at the start, and where a part has it not."""
        number = position - 1 - (self.part.first if self.part else 0)
        return self.events[number] if 0 <= number < len(self.events) else None

    def narration(self, position: int) -> str:
        """What the event before a position means, in a sentence or two; at the start what the recording is about."""
        event = self.event_at(position)
        if event is None:
            return self.summary
        return filled(self.templates[event.narration.template], event.narration.arguments)

    def faults(self, position: int) -> frozenset[str]:
        """Ids of the lines at fault: that the program is not run or, at the event that says so, that it stops."""
        lines = list(self.obstacle.lines) if self.obstacle else []
        event = self.event_at(position)
        if event is not None and event.kind == "Failed":
            lines += event.lines
            forward = forward_id(event)
            if forward is not None and (event.phase != "run" or not event.lines):
                lines.append(forward)
        return frozenset(lines)

    @property
    def length(self) -> int:
        """How many events the recording has."""
        return self.part.length if self.part else len(self.events)

    def shows(self, position: int) -> bool:
        """Whether it has the events around a position."""
        return self.part is None or self.part.first <= position <= self.part.first + len(self.events)


def forward_id(event: TraceEvent) -> str | None:
    """Id of the forward line that an event is about; None: it is about none."""
    if event.forward is None:
        return None
    return f"{event.subnet}.f{event.forward}" if event.subnet else f"f{event.forward}"


PLACE = re.compile(r"\{[a-z_]+\}")
"""In a template."""


def filled(template: str, arguments: Iterable[str]) -> str:
    """A template with as many arguments as it has places in these, in their order."""
    each = iter(arguments)
    return PLACE.sub(lambda _: next(each), template)


class Again(NamedTuple):
    """An event that is the same as event number `like` but for these fields."""

    like: Count
    group: Count
    frame: FrameIndex | None
    seconds: float | None
    at: Count
    arguments: list[str]
    """Of its narration, from number `at` on; those before and behind are the other's."""


class Measured(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The statistics of an array; without `numbers` it has one element, the one in the preview, which is finite."""

    kind: Count
    """Shape, dtype and device, an index into the kinds."""
    preview: Preview
    numbers: list[Number | None] = []
    """min, max, mean, mean_abs, norm."""
    counts: list[Count] = []
    """nan, inf, zero, and subnormal where it was counted."""
    stack: StackIndex | None = None
    histogram: Histogram = []


class Arrays(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every array that frames refer to."""

    kinds: list[tuple[list[Count], str, str]] = []
    """Shape, dtype and device."""
    rows: list[Measured] = []


class WrittenTrace(Document[TraceEvent | Again, Arrays], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The document as JSON has it: what repeats itself stands there once."""

    arrays: Arrays = Arrays()


def all_lines(trace: Trace) -> Iterator[Line]:
    """Every line of the program, those of the outermost net first."""
    yield from trace.forward
    yield from trace.backward
    for net in trace.subnets:
        yield from net.forward
        yield from net.backward
