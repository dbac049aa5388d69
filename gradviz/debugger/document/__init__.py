"""The trace document: its schema, what makes it hold together, and how it is written and read as JSON."""

from .bounds import MERGED_ROWS, PREVIEW_COLUMNS, PREVIEW_ROWS, TraceError
from .codec import as_rows, decode, decode_with_events, described, encode, rows_and_columns
from .packed import MOST_EVENTS, encode_packed
from .parts import (
    BreakpointEntry,
    Contribution,
    EventRow,
    Formula,
    Frame,
    Grad,
    Graph,
    How,
    Kind,
    Ledger,
    Line,
    Marked,
    Merge,
    MergedRow,
    Narration,
    NodeGroup,
    Number,
    Obstacle,
    Pool,
    Revision,
    Role,
    Schedule,
    Subnet,
    TraceEvent,
    Value,
    Wait,
    Workspaces,
    json_safe,
    number,
)
from .schema import Entered, Part, Trace, all_lines, filled

__all__ = [
    "MERGED_ROWS", "MOST_EVENTS", "PREVIEW_COLUMNS", "PREVIEW_ROWS", "BreakpointEntry", "Contribution", "Entered",
    "EventRow", "Formula", "Frame", "Grad", "Graph", "How", "Kind", "Ledger", "Line", "Marked", "Merge", "MergedRow",
    "Narration", "NodeGroup", "Number", "Obstacle", "Part", "Pool", "Revision", "Role", "Schedule", "Subnet", "Trace",
    "TraceError", "TraceEvent", "Value", "Wait", "Workspaces", "all_lines", "as_rows", "decode", "decode_with_events",
    "described", "encode", "encode_packed", "filled", "json_safe", "number", "rows_and_columns",
]  # fmt: skip
