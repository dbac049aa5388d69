"""Where a cursor can go: the places of a recording, conditions, breakpoints, watches and the verbs that run to them."""

from .breakpoints import Breakpoint
from .conditions import ConditionError
from .faults import CursorError, bad_argument, no_value, unknown
from .marks import Marks, Stop
from .places import path_of
from .position import Placed
from .scopes import find_ledger, find_value
from .watches import Watch

__all__ = [
    "Breakpoint",
    "ConditionError",
    "CursorError",
    "Marks",
    "Placed",
    "Stop",
    "Watch",
    "bad_argument",
    "find_ledger",
    "find_value",
    "no_value",
    "path_of",
    "unknown",
]
