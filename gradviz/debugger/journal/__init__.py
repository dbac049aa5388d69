"""The journal: what engines did, as events and values, recorded once within a budget and never changed."""

from ...program.net_halves import Key, NetHalves
from ...runtime.notes import NOWHERE, Half, Run, Runs
from ...runtime.pace import Pace, Progress, SoFar, Work
from ...runtime.watched import Lending
from .engines import ChangeablePass, LivePass, add_engine, live_any, record_any, record_backward, register_engine
from .gradient_shapes import dense
from .naming import inner_words, is_part, part_words
from .net_recorder import UNDEFINED, Budget, Folder, agreed, bytes_of, complete, record
from .recording import ProgramText, Recording
from .statements import AT_THE_END, SEPARATOR, Reading, Statement, Writing, arguments
from .text import NetText
from .timeline import Indices, Timeline, codes_of

__all__ = [
    "AT_THE_END", "NOWHERE", "SEPARATOR", "UNDEFINED", "Budget", "ChangeablePass", "Folder", "Half", "Indices", "Key",
    "Lending", "LivePass", "NetHalves", "NetText", "Pace", "ProgramText", "Progress", "Reading", "Recording", "Run",
    "Runs", "SoFar", "Statement", "Timeline", "Work", "Writing", "add_engine", "agreed", "arguments", "bytes_of",
    "codes_of", "complete", "dense", "inner_words", "is_part", "live_any", "part_words", "record", "record_any",
    "record_backward", "register_engine",
]  # fmt: skip
