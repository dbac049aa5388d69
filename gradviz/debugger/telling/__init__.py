"""What a recording means: its story in sentences, the lines of its nets, the ledgers of its sums; all as a document."""

from .narration import duration, measured, reminder, shape
from .narrator import ODDITIES, Narrator
from .part import Parts
from .sources import sources_of
from .story import Story, arrival, producer
from .subjects import OF_FORWARD, Subject, Subjects, added, brought, forward_of, ran
from .sums import ledger_of, loop_ledger, path_to_y, placed, sums_of_loops
from .tables import table
from .trace_document import document, outline, schedule_of
from .values import PREVIEWS, DocumentValues, MeasuredValues, RecordedValue, measure

__all__ = [
    "ODDITIES", "OF_FORWARD", "PREVIEWS", "DocumentValues", "MeasuredValues", "Narrator", "Parts", "RecordedValue",
    "Story", "Subject", "Subjects", "added", "arrival", "brought", "document", "duration", "forward_of",
    "ledger_of", "loop_ledger", "measure", "measured", "outline", "path_to_y", "placed", "producer", "ran",
    "reminder", "schedule_of", "shape", "sources_of", "sums_of_loops", "table",
]  # fmt: skip
