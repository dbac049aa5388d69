"""What a recording means: its story in sentences, the lines of its nets, the ledgers of its sums; all as a document."""

from .narration import shape
from .obstacle import reminder
from .trace_document import document
from .values import PREVIEWS

__all__ = [
    "PREVIEWS",
    "document",
    "reminder",
    "shape",
]
