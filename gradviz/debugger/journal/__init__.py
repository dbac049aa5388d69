"""The journal: what engines did, as events and values, recorded once within a budget and never changed."""

from .eager import EagerRecording, Lending, is_python, record_backward
from .gradient_shapes import dense
from .limits import Budget, Folder
from .nets import Key, NetHalves
from .progress import Pace, Progress, SoFar, Work
from .recording import Recording, record
from .running import Run
from .undefined_blobs import UNDEFINED

__all__ = [
    "UNDEFINED",
    "Budget",
    "EagerRecording",
    "Folder",
    "Key",
    "Lending",
    "NetHalves",
    "Pace",
    "Progress",
    "Recording",
    "Run",
    "SoFar",
    "Work",
    "dense",
    "is_python",
    "record",
    "record_backward",
]
