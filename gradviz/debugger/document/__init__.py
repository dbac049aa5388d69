"""The trace document: its schema, what makes it hold together, and how it is written and read as JSON."""

from .bounds import MERGED_ROWS, PREVIEW_COLUMNS, PREVIEW_ROWS, TraceError
from .codec import decode, decode_with_events, encode
from .event_details import described
from .numbers import Contribution, Ledger, Merge, MergedRow, Number, Value, Workspaces, json_safe, number
from .parts import (
    BreakpointEntry,
    Formula,
    Frame,
    Grad,
    Graph,
    How,
    Kind,
    Line,
    Marked,
    NodeGroup,
    Obstacle,
    Pool,
    Revision,
    Role,
    Schedule,
    Subnet,
    TraceEvent,
    Wait,
)
from .rows import as_rows, rows_and_columns
from .schema import Trace

__all__ = [
    "MERGED_ROWS",
    "PREVIEW_COLUMNS",
    "PREVIEW_ROWS",
    "BreakpointEntry",
    "Contribution",
    "Formula",
    "Frame",
    "Grad",
    "Graph",
    "How",
    "Kind",
    "Ledger",
    "Line",
    "Marked",
    "Merge",
    "MergedRow",
    "NodeGroup",
    "Number",
    "Obstacle",
    "Pool",
    "Revision",
    "Role",
    "Schedule",
    "Subnet",
    "Trace",
    "TraceError",
    "TraceEvent",
    "Value",
    "Wait",
    "Workspaces",
    "as_rows",
    "decode",
    "decode_with_events",
    "described",
    "encode",
    "json_safe",
    "number",
    "rows_and_columns",
]
