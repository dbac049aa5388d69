"""The journal: what engines did, as events and values, recorded once within a budget and never changed."""

from ...program.net_halves import Key, NetHalves
from ...runtime.watched import Lending, Pace, Progress, Run, SoFar, Work
from .engines import LivePass, add_engine, live_any, record_any, record_backward, register_engine
from .gradient_shapes import dense
from .net_recorder import UNDEFINED, Budget, Folder, agreed, record
from .recording import ProgramText, Recording
from .statements import AT_THE_END, SEPARATOR, Reading, Statement, Writing, arguments
from .text import NetText
from .timeline import NOWHERE, Indices, Timeline

__all__ = [
    "AT_THE_END", "NOWHERE", "SEPARATOR", "UNDEFINED", "Budget", "Folder", "Indices", "Key", "Lending", "LivePass",
    "NetHalves", "NetText", "Pace", "ProgramText", "Progress", "Reading", "Recording", "Run", "SoFar", "Statement",
    "Timeline", "Work", "Writing", "add_engine", "agreed", "arguments", "dense", "live_any", "record",
    "record_any", "record_backward", "register_engine",
]  # fmt: skip
