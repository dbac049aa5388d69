"""Drawing: a trace becomes a view model, the view model a DOT graph, the graph an SVG picture."""

from .dot import digraph
from .layout import layout
from .limits import DrawingError
from .nesting import Opened
from .render import render, svg
from .theme import DARK, LIGHT, Theme

__all__ = ["DARK", "LIGHT", "DrawingError", "Opened", "Theme", "digraph", "layout", "render", "svg"]
