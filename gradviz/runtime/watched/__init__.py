"""Running under watch: the executor with an event for each operator, within limits, and what engines hand on."""

from .execution import Journal, Lending, Run, WatchedExecution
from .limits import INTERRUPTED, Interrupts, Limits, Pace, Progress, SoFar, Work, interrupted, uncollected

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
    "uncollected",
]
