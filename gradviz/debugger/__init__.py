"""The debugger: recordings of what engines do, and a cursor that travels in them."""

from .answers import LedgerView
from .cursor import Cursor
from .journal import Recording, record, register_engine
from .steering import Breakpoint, ConditionError, CursorError, Stop, Watch

__all__ = [
    "Breakpoint",
    "ConditionError",
    "Cursor",
    "CursorError",
    "LedgerView",
    "Recording",
    "Stop",
    "Watch",
    "record",
    "register_engine",
]
