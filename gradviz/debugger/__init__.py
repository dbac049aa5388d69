"""The debugger: recordings of what engines do, and a cursor that travels in them."""

from .cursor import Cursor, CursorError
from .document import document
from .ledger import LedgerView
from .recording import Recording, record

__all__ = ["Cursor", "CursorError", "LedgerView", "Recording", "document", "record"]
