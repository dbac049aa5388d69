"""One program differentiated in three ways, side by side: gradients, order, time and memory."""

from .compare import compare
from .report import Comparison, Difference, Way

__all__ = ["Comparison", "Difference", "Way", "compare"]
