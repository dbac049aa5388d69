"""Where a cursor can go: the places of a recording, conditions, breakpoints, watches and the verbs that run to them."""

from .breakpoints import Breakpoint, entry_of
from .conditions import ConditionError
from .faults import FEED, CursorError, bad_argument, consistent, unknown, whole_number
from .places import path_of
from .position import Marks, Placed, Stop
from .saved import unpacked_recording
from .watches import Watch, sparkline

__all__ = [
    "FEED", "Breakpoint", "ConditionError", "CursorError", "Marks", "Placed", "Stop", "Watch", "bad_argument",
    "consistent", "entry_of", "path_of", "sparkline", "unknown", "unpacked_recording", "whole_number",
]  # fmt: skip
