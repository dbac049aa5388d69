"""Answers: what a recording tells when it is asked, as frozen data with a text, an HTML form and a form for JSON."""

from .check import CheckableView, CheckView
from .code import CodeView
from .copies import CopiesView
from .diff import DiffView
from .forms import Answer, Block, Bullets, Grid, Paragraph, digits, first_of, first_texts
from .leaves import differentiated, leaf_gradients, lines_reading
from .ledger import LedgerView, MergeView
from .net_view import NetView, by_name
from .numbers import NumbersView
from .paths import PathsView
from .provenance import ProvenanceView
from .questions import Questions, asked
from .state import StateView
from .store import StoreView
from .versions import VersionsView
from .why_none import WhyNoneView

__all__ = [
    "Answer", "Block", "Bullets", "CheckView", "CheckableView", "CodeView", "CopiesView", "DiffView", "Grid",
    "LedgerView", "MergeView", "NetView", "NumbersView", "Paragraph", "PathsView", "ProvenanceView", "Questions",
    "StateView", "StoreView", "VersionsView", "WhyNoneView", "asked", "by_name", "differentiated", "digits", "first_of",
    "first_texts", "leaf_gradients", "lines_reading",
]  # fmt: skip
