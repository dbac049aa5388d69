"""The trace document: what a recording looks like as JSON, and how it is written and read.

It is the twin of the widget: whatever the eye sees there stands here. `session.save` writes it, the widget
receives it, a `*.gradviz.json` file holds it. All positions count events that have happened: a thing "made at 5"
exists once `events[4]` has happened. Blob versions are written `a@0`; in a nested net they count for themselves.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

import msgspec

from ...program import Gradient, GradientSlice
from ...program.collection import uncollected
from ...program.events import Event
from .breakpoints import BreakpointEntry
from .check import TraceError, Whole, check, too_deep
from .event_details import told
from .formulas import Formula
from .parts import (
    Contribution,
    Frame,
    Graph,
    Kind,
    Ledger,
    Line,
    Merge,
    MergedRow,
    NodeGroup,
    Number,
    Obstacle,
    Revision,
    Role,
    Subnet,
    TraceEvent,
    Value,
    Workspaces,
    json_safe,
    number,
)
from .rows import Again, Arrays, as_rows, as_values, lengthened, shortened
from .schedule import Schedule

__all__ = [
    "BreakpointEntry",
    "Contribution",
    "Formula",
    "Frame",
    "Graph",
    "Kind",
    "Ledger",
    "Line",
    "Merge",
    "MergedRow",
    "NodeGroup",
    "Number",
    "Obstacle",
    "Revision",
    "Role",
    "Subnet",
    "Trace",
    "TraceError",
    "TraceEvent",
    "Value",
    "Workspaces",
    "decode",
    "encode",
    "json_safe",
    "number",
]

FORMAT: Literal["gradviz-trace"] = "gradviz-trace"
VERSION: Literal[1] = 1

E = TypeVar("E")
A = TypeVar("A")


class Document(msgspec.Struct, Generic[E, A], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole document, with events of type E and arrays of type A: see `Trace` and `WrittenTrace`."""

    format: Literal["gradviz-trace"] = FORMAT
    version: Literal[1] = VERSION
    producer: str
    """Who wrote it, "gradviz 0.1.0"."""
    engine: Literal["symbolic", "rank", "tape"] = "symbolic"
    """Who made the pass: rules asked for a net, or functions that ran backward, in the order of their ranks or of a
    tape."""
    name: str
    summary: str = ""
    """What the recording is about, in a sentence or two: shown before anything has happened."""
    net: dict[str, Any]
    """The forward net, whole, as `Net.to_dict` gives it."""
    ys: list[str] | dict[str, str | GradientSlice | None]
    """What was differentiated; a dictionary gives each y its own gradient, None: ones."""
    skip: Whole = 0
    """How many leading operators the backward pass did not look at."""
    forward: list[Line]
    backward: list[Line]
    """In the order of emission, with the passed lines between."""
    subnets: list[Subnet] = []
    """The nested nets, an outer one before those inside of it."""
    events: list[E]
    frames: list[Frame] = []
    """The runs of nested nets, in the order in which they began."""
    values: dict[str, Value] = {}
    """By blob version, only what was executed or fed around all nested nets. Absent means not computed, never 0."""
    arrays: A
    """The values in frames, which refer to them by number."""
    stacks: list[Workspaces] = []
    """What scope blobs held; values refer to them by number."""
    ledgers: list[Ledger] = []
    merges: list[Merge] = []
    gradients: dict[str, Gradient] = {}
    """Blob to the version of its gradient, "x_grad@0"."""
    obstacle: Obstacle | None = None
    """Why the program was not run although a workspace was given; None: it was, or none was."""
    schedule: Schedule | None = None
    """What the schedule of a define-by-run pass held; None: the pass was not run by one."""
    formulas: dict[str, Formula] = {}
    """By operator type, of those that occur and have one."""
    breakpoints: list[BreakpointEntry] = []
    watches: list[str] = []
    """Expressions; as those of breakpoints they are parsed when they are used, and never executed."""
    graph: Graph = Graph(omitted="not drawn")


class Trace(Document[TraceEvent, list[Value]], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The document as it is worked with."""

    arrays: list[Value] = []


class WrittenTrace(Document[TraceEvent | Again, Arrays], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The document as JSON has it: what repeats itself stands there once."""

    arrays: Arrays = Arrays()


def encode(trace: Trace) -> bytes:
    """The document as JSON, UTF-8.

    Raises TraceError where a reference leads nowhere or a number is not JSON (`number` makes it so): a document
    that is written can be read.
    """
    with uncollected():
        check(trace)
        fields = msgspec.structs.asdict(trace)
        fields |= {"events": shortened(trace.events), "arrays": as_rows(trace.arrays)}
        return msgspec.json.encode(WrittenTrace(**fields))


def decode(data: bytes | str) -> Trace:
    """Read a document and check that it holds together; nothing in it is executed.

    Raises TraceError: kinds "not_json", "too_deep", "not_a_trace", "newer_version", "bad_structure", "bad_reference".
    """
    return decode_with_events(data)[0]


def decode_with_events(data: bytes | str) -> tuple[Trace, list[Event]]:
    """The same, with the events that the details of its events describe, as `told` gives them."""
    with uncollected():
        try:
            written = msgspec.json.decode(data, type=WrittenTrace)
        except (RecursionError, msgspec.DecodeError, UnicodeError) as error:
            raise _refusal(data, error) from None
        fields = msgspec.structs.asdict(written)
        fields |= {"events": lengthened(written.events), "arrays": as_values(written.arrays)}
        trace = Trace(**fields)
        check(trace)
        return trace, told(trace)


def _refusal(data: bytes | str, error: Exception) -> TraceError:
    """Why `data` cannot be read as a trace, which `error` says; that it is none, or a newer one, comes first."""
    try:
        document = msgspec.json.decode(data)
    except RecursionError:
        return too_deep("The trace")
    except (msgspec.DecodeError, UnicodeError) as fault:
        return TraceError(
            f"This is not JSON: {fault}.",
            kind="not_json",
            ways_out=["The file may be cut off or damaged: save the session again."],
        )
    if isinstance(error, RecursionError):
        return too_deep("The trace")
    return _header_fault(document) or TraceError(
        f"The trace is not built as version {VERSION} says: {error}.", kind="bad_structure"
    )


def _header_fault(document: object) -> TraceError | None:
    """What is wrong with what is no trace, or one of a version that is not known."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return TraceError(
            f'This is JSON, but not a gradviz trace: it has no "format": "{FORMAT}".',
            kind="not_a_trace",
            ways_out=["session.save(path) writes a trace.", "gradviz.Net.from_dict reads a net."],
        )
    version = document.get("version")
    if type(version) is not int or version < 1:
        return TraceError(f"There is no version {version!r:.40} of a gradviz trace.", kind="not_a_trace")
    if version > VERSION:
        return TraceError(
            f"The trace has version {version}; this gradviz reads up to version {VERSION}.",
            kind="newer_version",
            ways_out=["Upgrade gradviz: pip install --upgrade gradviz."],
        )
    return None
