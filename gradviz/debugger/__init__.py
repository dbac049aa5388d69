"""The debugger: recordings of what engines do, and a cursor that travels in them."""

from .answers import LedgerView
from .breakpoints import Breakpoint
from .conditions import ConditionError
from .cursor import Cursor
from .document import document
from .faults import CursorError
from .marks import Stop
from .recording import Recording, record
from .watches import Watch

__all__ = [
    "Breakpoint",
    "ConditionError",
    "Cursor",
    "CursorError",
    "LedgerView",
    "Recording",
    "Stop",
    "Watch",
    "document",
    "record",
]
