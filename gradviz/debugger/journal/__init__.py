"""The journal: what engines did, as events and values, recorded once within a budget and never changed."""

from .eager import EagerRecording, Lending, is_python, record_backward
from .gradient_shapes import dense
from .limits import Budget, Folder
from .nets import Key, NetHalves
from .program_text import ProgramText
from .progress import Pace, Progress, SoFar, Work
from .recording import Recording, record
from .running import Run
from .text import AT_THE_END, NetText, Reading, Statement, Writing, arguments
from .undefined_blobs import UNDEFINED

__all__ = [
    "AT_THE_END",
    "UNDEFINED",
    "Budget",
    "EagerRecording",
    "Folder",
    "Key",
    "Lending",
    "NetHalves",
    "NetText",
    "Pace",
    "ProgramText",
    "Progress",
    "Reading",
    "Recording",
    "Run",
    "SoFar",
    "Statement",
    "Work",
    "Writing",
    "arguments",
    "dense",
    "is_python",
    "record",
    "record_backward",
]
