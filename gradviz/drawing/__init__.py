"""Drawing: a trace becomes a view model, the view model a DOT graph, the graph an SVG picture."""

from .dot import digraph
from .nesting import Opened
from .picture import layout
from .render import render, svg
from .theme import DARK, LIGHT, DrawingError, Theme

__all__ = ["DARK", "LIGHT", "DrawingError", "Opened", "Theme", "digraph", "layout", "render", "svg"]
