"""A trace drawn: the picture of its document, and pictures of single positions."""

from __future__ import annotations

from collections.abc import Iterable

from ..debugger.trace import Graph, Line, Trace
from .dot import draw
from .errors import DrawingError
from .lanes import lanes
from .layout import SECONDS, layout
from .state import State, state_at
from .picture import clean, dress, text_of
from .theme import LIGHT, Theme
from .view import View, view

MAX_FOR_GRAPHVIZ = 400
"""Forward operators; a larger net is drawn in plain lanes at once."""


def render(trace: Trace, *, theme: Theme = LIGHT, seconds: float = SECONDS) -> Graph:
    """What fills `trace.graph`: everything made, nothing marked; a front end marks it by ids and classes."""
    drawn = view(trace)
    return Graph(
        svg=_picture(trace, drawn, State(), theme, seconds),
        dot=draw(drawn, State(), theme).source,
    )


def svg(trace: Trace, position: int | None = None, theme: Theme = LIGHT, *, seconds: float = SECONDS) -> str:
    """A picture of one position that stands alone: its colours are in it, and its background is.

    Raises IndexError where the recording has no such position.
    """
    return _picture(trace, view(trace), state_at(trace, position), theme, seconds, background=theme.background)


def _picture(
    trace: Trace, drawn: View, state: State, theme: Theme, seconds: float, background: str | None = None
) -> str:
    """Graphviz' picture, or plain lanes where the net is too large for it or it cannot be had."""
    titles = dict(_titles(trace, drawn))
    if len(trace.forward) <= MAX_FOR_GRAPHVIZ:
        try:
            picture = clean(layout(draw(drawn, state, theme).source, seconds=seconds))
        except DrawingError:
            pass
        else:
            dress(picture, theme, titles, background)
            return text_of(picture)
    return lanes(drawn, state, theme, titles, background)


def _titles(trace: Trace, drawn: View) -> Iterable[tuple[str, str]]:
    """What nodes and edges are called, in words, by the id of their group."""
    names: dict[str, str] = {}
    for line in (*trace.forward, *trace.backward):
        names[line.id] = _name(line)
        yield f"node-{line.id}", f"{names[line.id]}: {', '.join(line.outputs)} from {', '.join(line.inputs)}"
    for edge in drawn.edges:
        saved = "saved for " if edge.kind == "saved" else ""
        yield edge.id, f"{', '.join(edge.blobs)}: {saved}{names[edge.source]} → {names[edge.target]}"


def _name(line: Line) -> str:
    if line.role == "forward":
        return f"{line.type} #{line.id[1:]}"
    if line.role == "seed":
        return f"{line.type}, seed"
    if line.role == "accumulation":
        return f"{line.type}, adds gradients"
    return f"{line.type} of #{line.of}" + (", passes on" if line.role == "passed" else "")
