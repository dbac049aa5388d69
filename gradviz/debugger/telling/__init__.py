"""What a recording means: its story in sentences, the lines of its nets, the ledgers of its sums; all as a document."""

from .loop_sums import LoopSum, loop_ledger, sums_of_loops
from .narration import shape
from .narrator import Narrator
from .obstacle import reminder
from .schedule import schedule_of
from .story import Story
from .sums import frames_of, hops_of, ledger_of, placed, sum_of
from .trace_document import document, outline
from .values import PREVIEWS

__all__ = [
    "PREVIEWS",
    "LoopSum",
    "Narrator",
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
