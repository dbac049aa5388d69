"""What a recording means: its story in sentences, the lines of its nets, the ledgers of its sums; all as a document."""

from .narration import reminder, shape
from .narrator import Narrator
from .part import Parts
from .story import Story
from .sums import LoopSum, frames_of, hops_of, ledger_of, loop_ledger, placed, sum_of, sums_of_loops
from .trace_document import document, outline, schedule_of
from .values import PREVIEWS

__all__ = [
    "PREVIEWS",
    "LoopSum",
    "Narrator",
    "Parts",
    "Story",
    "document",
    "frames_of",
    "hops_of",
    "ledger_of",
    "loop_ledger",
    "outline",
    "placed",
    "reminder",
    "schedule_of",
    "shape",
    "sum_of",
    "sums_of_loops",
]
