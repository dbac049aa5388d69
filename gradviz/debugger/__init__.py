"""The debugger: recordings of what engines do, and a cursor that travels in them."""

from .answers import LedgerView
from .cursor import Cursor
from .journal.recording import Recording, record
from .steering.breakpoints import Breakpoint
from .steering.conditions import ConditionError
from .steering.faults import CursorError
from .steering.marks import Stop
from .steering.watches import Watch

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
]
