"""The trace document: its schema, what makes it hold together, and how it is written and read as JSON."""

from .bounds import LONGEST_SOURCE, MERGED_ROWS, MOST_SOURCES, PREVIEW_COLUMNS, PREVIEW_ROWS, TraceError
from .check import fault_of_marks
from .codec import as_rows, decode, decode_with_events, described, encode, rows_and_columns
from .packed import MOST_EVENTS, RanColumns, encode_packed
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
    Source,
    Subnet,
    TraceEvent,
    Value,
    Wait,
    Workspaces,
    json_safe,
    number,
)
from .schema import ENDING, FORMAT, Entered, Part, Trace, all_lines, filled, forward_id

__all__ = [
    "ENDING", "FORMAT", "LONGEST_SOURCE", "MERGED_ROWS", "MOST_EVENTS", "MOST_SOURCES", "PREVIEW_COLUMNS",
    "PREVIEW_ROWS", "BreakpointEntry", "Contribution", "Entered", "EventRow", "Formula", "Frame", "Grad", "Graph",
    "How", "Kind", "Ledger", "Line", "Marked", "Merge", "MergedRow", "Narration", "NodeGroup", "Number", "Obstacle",
    "Part", "Pool", "RanColumns", "Revision", "Role", "Schedule", "Source", "Subnet", "Trace", "TraceError",
    "TraceEvent", "Value", "Wait", "Workspaces", "all_lines", "as_rows", "decode", "decode_with_events", "described",
    "encode", "encode_packed", "fault_of_marks", "filled", "forward_id", "json_safe", "number", "rows_and_columns",
]  # fmt: skip
