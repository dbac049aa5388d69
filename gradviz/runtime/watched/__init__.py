"""Running under watch: the executor with an event for each operator, within limits, and what engines hand on."""

from .execution import Run, WatchedExecution
from .journal import Journal, Lending
from .limits import INTERRUPTED, Interrupts, Limits, interrupted
from .progress import Pace, Progress, SoFar, Work

__all__ = [
    "INTERRUPTED",
    "Interrupts",
    "Journal",
    "Lending",
    "Limits",
    "Pace",
    "Progress",
    "Run",
    "SoFar",
    "WatchedExecution",
    "Work",
    "interrupted",
]
