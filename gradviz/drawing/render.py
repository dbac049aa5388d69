"""A trace drawn: the picture of its document, and pictures of single positions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from ..debugger.trace import Graph, Line, NodeGroup, Trace
from .assembly import view, views
from .dot import draw
from .errors import DrawingError
from .flows import programs
from .lanes import inside, lanes
from .layout import SECONDS, layout
from .nesting import Nesting
from .picture import dressed
from .place import halves
from .shapes import abstract, shape_of
from .state import State, state_at
from .theme import LIGHT, Theme
from .tracks import tangled
from .view import Node, View
from .words import fit

MAX_FOR_GRAPHVIZ = 400
MAX_LENGTH_FOR_GRAPHVIZ = 800
"""Forward operators, and these together with the slots that all edges around a lane pass: half a second of layout."""
MAX_TITLE = 240
"""Characters of a tool tip."""
MAX_IN_DOCUMENT = 20_000
"""Forward operators, nested ones too."""
MAX_SHAPES = 25_000_000
"""Characters of what groups show when they open, but for their words."""
SECONDS_FOR_LANES = 10.0
"""For all groups of a document; those of 10 000 operators that repeat themselves take a second or two."""
MAX_DEPTH_FOR_GRAPHVIZ = 3
"""Edges side by side around a lane. Graphviz routes more of them, and those that cross, through the middle."""


def render(
    trace: Trace, *, theme: Theme = LIGHT, seconds: float = SECONDS, seconds_for_lanes: float = SECONDS_FOR_LANES
) -> Graph:
    """What fills `trace.graph`: everything made, nothing marked; a front end marks it by ids and classes.

    Nets of more than a few hundred nodes are drawn in groups. Omitted, with the reason, where a page could not show it,
    beyond MAX_IN_DOCUMENT operators, and where plain lanes are not laid out in time. Graphviz has `seconds`; where it
    needs more, there are plain lanes.
    """
    nesting = Nesting(trace)
    if len(trace.forward) > MAX_IN_DOCUMENT:
        return Graph(omitted=f"{len(trace.forward)} operators are too many for one picture in a page")
    try:
        return _rendered(trace, nesting, theme, seconds, seconds_for_lanes)
    except DrawingError as error:
        return Graph(omitted=str(error).splitlines()[0].rstrip("."))


def _rendered(trace: Trace, nesting: Nesting, theme: Theme, seconds: float, seconds_for_lanes: float) -> Graph:
    until = time.monotonic() + seconds_for_lanes
    drawn, contents = views(nesting, _fitting(nesting))
    widest = halves([*_nodes(drawn), *(node for content in contents for node in _nodes(content.view))], theme)
    shapes: dict[View, int] = {}
    pictures: list[str] = []
    found: list[NodeGroup] = []
    size = 0
    for group, around, lines, content in contents:
        view, words = abstract(content)
        if view not in shapes:
            if time.monotonic() > until:
                raise DrawingError(f"It was not laid out within {seconds_for_lanes:g} seconds.", kind="too_slow")
            shapes[view] = len(pictures)
            pictures.append(shape_of(inside(view, theme, widest)))
            size += len(pictures[-1])
            if size > MAX_SHAPES:
                raise DrawingError("Its parts are too many, and too different, for one page.", kind="too_large")
        found.append(NodeGroup(id=group.id, around=around, lines=list(lines), shape=shapes[view], words=words))
    return Graph(
        svg=_picture(trace, drawn, State(), theme, seconds, widest=widest if contents else None),
        dot=draw(drawn, State(), theme).source,
        groups=found,
        shapes=pictures,
    )


def _nodes(drawn: View) -> Iterator[Node]:
    return (node for net in drawn.nets() for node in net.nodes)


def svg(trace: Trace, position: int | None = None, theme: Theme = LIGHT, *, seconds: float = SECONDS) -> str:
    """A picture of one position that stands alone: its colours are in it, and its background is.

    The nested nets that the position is in are shown. Raises IndexError where the recording has no such position.
    """
    state = state_at(trace, position)
    drawn = view(trace, Nesting(trace).around(state.net))
    return _picture(trace, drawn, state, theme, seconds, background=theme.background)


def suits_graphviz(drawn: View) -> bool:
    """Whether Graphviz will draw it quickly and well; if not, plain lanes are better."""
    if any(node.fold for node in drawn.nodes):
        return False
    size = sum(node.is_forward for node in drawn.nodes)
    length = size + sum(abs(edge.rise) for edge in drawn.edges if edge.skips)
    if size > MAX_FOR_GRAPHVIZ or length > MAX_LENGTH_FOR_GRAPHVIZ:
        return False
    return not tangled(drawn.edges, {node.id: node for node in drawn.nodes}, MAX_DEPTH_FOR_GRAPHVIZ)


def _fitting(nesting: Nesting) -> set[str]:
    """The operators whose nested nets a document shows when they open: all, or the outer ones as far as they fit."""
    room = MAX_IN_DOCUMENT - len(nesting.nets[""].forward)
    fitting: set[str] = set()
    for opener, nets in nesting.shown.items():
        around = opener.rpartition(".")[0]
        size = sum(max(len(net.forward), len(net.backward)) for net in nets)
        if size <= room and set(nesting.around(around)) & set(nesting.shown) <= fitting:
            fitting.add(opener)
            room -= size
    return fitting


def _picture(
    trace: Trace,
    drawn: View,
    state: State,
    theme: Theme,
    seconds: float,
    background: str | None = None,
    widest: tuple[float, float] | None = None,
) -> str:
    """Graphviz' picture, or plain lanes where the net is too large for it or it cannot be had."""
    titles = dict(_titles(trace, drawn))
    if suits_graphviz(drawn):
        try:
            return dressed(layout(draw(drawn, state, theme).source, seconds=seconds), theme, titles, background)
        except DrawingError:
            pass  # too slow today, or no engine on this machine: the other picture says the same
    return lanes(drawn, state, theme, titles, background, widest)


def _titles(trace: Trace, drawn: View) -> Iterable[tuple[str, str]]:
    """What nodes and edges are called, in words, by the id of their group."""
    names: dict[str, str] = {}
    for net in programs(trace).values():
        for line in (*net.forward, *net.backward):
            names[line.id] = _name(line)
            made = f"{names[line.id]}: {', '.join(line.outputs)} from {', '.join(line.inputs)}"
            yield f"node-{line.id}", fit(made, MAX_TITLE)
    for node in _nodes(drawn):
        if node.role == "group":
            names[node.id] = node.title
            yield f"node-{node.id}", f"{node.title}: {node.detail}"
    for edge in (edge for net in drawn.nets() for edge in net.edges):
        saved = "saved for " if edge.kind == "saved" else ""
        source, target = (names.get(end, "around") for end in (edge.source, edge.target))
        flows = f"{', '.join(edge.blobs)}: {saved}{source} → {target}"
        yield edge.id, fit("to the next iteration: " * edge.carried + flows, MAX_TITLE)


def _name(line: Line) -> str:
    if line.role == "forward":
        return f"{line.type} #{line.id.rpartition('.')[2][1:]}"
    if line.role == "seed":
        return f"{line.type}, seed"
    if line.role == "accumulation":
        return f"{line.type}, adds gradients"
    if line.role == "deduplication":
        return f"{line.type}, merges rows"
    if line.role == "handover":
        return f"{line.type}, hands over"
    if line.role == "duplicate":
        return f"{line.type} for #{line.of}, since one gradient arrives at several outputs"
    return f"{line.type} of #{line.of}" + (", passes on" if line.role == "passed" else "")
