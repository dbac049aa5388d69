"""DOT source of a drawing: paired lanes, forward going down on the left, backward going up on the right.

Rows of the view become ranks, through the clusters of what is open. Backward edges are written from top to bottom and
drawn with their arrow at the tail, so that every edge agrees with the ranks; edges that would pass other nodes leave
and arrive at the outer side of their lane.

Graphviz orders freely what no edge holds. So each lane is a column without holes: its nodes, and invisible ones in the
rows where it has none, all tied to their neighbours above, below and beside. It goes through all nets that are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import graphviz

from ..debugger.document import Trace
from ..program.errors import repr_of, shorten
from .assembly import view
from .nesting import Nesting, Opened
from .picture import dressed, layout
from .theme import LIGHT, MAX_TITLE, DrawingError, Theme, fit, norms
from .view import (
    Edge,
    Node,
    State,
    View,
    state_at,
)

FORWARD, BACKWARD = True, False
LANE_ID = {FORWARD: "lane-forward", BACKWARD: "lane-backward"}
"""The headings, which stand on a row of their own above the first slot."""

UPRIGHT = 1000
"""Weight of the edges between neighbours of a lane: enough that no bundle of other edges bends it."""

Link = tuple[str, str, int]
"""Tail, head and weight of an invisible edge."""

POINTS_PER_INCH = 72

NODE_SEPARATION = 10.0

Attributes = dict[str, str]


@dataclass(frozen=True)
class Scaffold:
    """Rows from top to bottom, each from left to right; ids of invisible nodes by slot; invisible edges."""

    rows: list[list[str]]
    holders: dict[int, list[str]]
    links: list[Link]


def scaffold(drawn: View) -> Scaffold:
    """What holds the nodes of a view, and of the nets shown in it, in their slots."""
    slots: dict[int, list[str]] = {}
    for node in sorted(drawn.all_nodes(), key=lambda node: node.slot):
        slots.setdefault(node.slot, []).append(node.id)
    rows = [list(LANE_ID.values()), *slots.values()]
    feet = drawn.feet()
    straight = [drawn_ends(edge, feet) for edge in drawn.all_edges() if not edge.skips]
    tied = {*straight, *((head, tail) for tail, head in straight)}
    holders: dict[int, list[str]] = {}
    links: list[Link] = []
    touching: set[int] = set()
    for lane in (FORWARD, BACKWARD):
        for (upper_row, upper), (lower_row, lower) in pairwise(_column(drawn, lane)):
            if (upper, lower) in tied:
                touching |= {upper_row} if lower_row == upper_row + 1 else set()
                continue
            between = [f"{LANE_ID[lane]}-{row}" for row in range(upper_row + 1, lower_row)]
            for row, holder in enumerate(between, upper_row + 1):
                rows[row].insert(0 if lane == FORWARD else len(rows[row]), holder)
                holders.setdefault(row - 1, []).append(holder)
            links += [(tail, head, UPRIGHT) for tail, head in pairwise([upper, *between, lower])]
            touching |= set(range(upper_row, lower_row))
    links += [(above[-1], below[-1], 0) for row, (above, below) in enumerate(pairwise(rows)) if row not in touching]
    links += [(left, right, 1) for row in rows for left, right in pairwise(row) if (left, right) not in tied]
    return Scaffold(rows, holders, links)


def drawn_ends(edge: Edge, feet: Mapping[str, str]) -> tuple[str, str]:
    """Where an edge begins and ends: below an open operator at the last port of its nets."""
    source = feet.get(edge.source, edge.source) if edge.rise < 0 else edge.source
    target = feet.get(edge.target, edge.target) if edge.rise > 0 else edge.target
    return source, target


def _column(drawn: View, lane: bool) -> list[tuple[int, str]]:
    """Rows and ids of a lane from top to bottom: its heading, then the first node of each slot."""
    column = {0: LANE_ID[lane]}
    for node in drawn.all_nodes():
        if node.is_forward == lane:
            column.setdefault(node.slot + 1, node.id)
    return sorted(column.items())


def digraph(
    trace: Trace,
    position: int | None = None,
    theme: Theme = LIGHT,
    opened: Opened | None = None,
    *,
    plumbing: bool = False,
) -> graphviz.Digraph:
    """The gradient graph of `trace` as a graph of the graphviz package, which a notebook shows without a `dot` program.

    Args:
        position: shows how far things are; None shows everything, as at the end, and nothing marked.
        opened: the operators whose nested nets are shown, as clusters: the ids of their lines (`"f3"`, `"s1.f0"`) or of
            the nets (`"s1"`), with all around them, or `"all"`; and so the groups of a large net (`"g3"`, `"s1.g0"`).
            None: the nets that the position is in.
        plumbing: draws scopes, the Do around a branch or the body of a loop, copies and handovers too.

    Raises:
        IndexError: the recording has no such position.
        DrawingError: nothing of a name in `opened` can open; kind ``not_found``. `theme` is none; ``bad_theme``.
    """
    if not isinstance(theme, Theme):
        raise DrawingError(
            f"{shorten(repr_of(theme))} is no theme.",
            kind="bad_theme",
            ways_out=["session.graph() draws in the light one.", "session.graph(opened=...) says what is open."],
        )
    nesting = Nesting(trace, folded=not plumbing)
    state = state_at(trace, position, nesting.plumbing)
    chosen = nesting.around(state.net) if opened is None else nesting.chosen(opened)
    return draw(view(nesting, chosen), state, theme)


class GradientGraph(graphviz.Digraph):  # type: ignore[misc]
    """A graph in DOT that a notebook shows by the engine that gradviz brings."""

    theme: Theme = LIGHT

    def _repr_mimebundle_(self, include: object = None, exclude: object = None, **_: object) -> dict[str, str]:
        try:
            return {"image/svg+xml": dressed(layout(self.source), self.theme), "text/plain": self.source}
        except DrawingError:
            return {"text/plain": self.source}


def draw(drawn: View, state: State, theme: Theme) -> GradientGraph:
    """The graph of a view in a state."""
    node_defaults, edge_defaults = _defaults(theme)
    graph = GradientGraph(
        "gradients",
        graph_attr={
            "bgcolor": "transparent",
            "nodesep": _inches(NODE_SEPARATION),
            "ranksep": _inches(theme.row_gap),
            "pad": "0.15",
            "newrank": "true",  # rows go through clusters
        },
        node_attr=node_defaults,
        edge_attr=edge_defaults,
    )
    graph.theme = theme
    for heading, attributes in _headings(drawn, theme):
        graph.node(heading, **attributes)
    invisible = scaffold(drawn)
    _Nets(state, theme, invisible, node_defaults).draw(graph, drawn)
    for row in invisible.rows:
        graph.body.append(f"\t{{rank=same; {'; '.join(map(graphviz.quoting.quote, row))}}}\n")
    feet = drawn.feet()
    for edge in drawn.all_edges():
        tail, head, attributes = _edge(edge, drawn_ends(edge, feet), state, theme)
        if edge.skips and drawn.clusters:
            # The room that Graphviz keeps for labels beside clusters bends the lanes.
            attributes["xlabel"] = attributes.pop("label")
        graph.edge(tail, head, **_beyond(edge_defaults, attributes))
    for tail, head, weight in invisible.links:
        graph.edge(tail, head, style="invis", weight=str(weight))
    return graph


@dataclass(frozen=True)
class _Nets:
    """Writes the nodes of nets within nets: what is open is a cluster, and in it one for each of its nets."""

    state: State
    theme: Theme
    invisible: Scaffold
    defaults: Attributes

    def draw(self, graph: graphviz.Digraph, drawn: View) -> None:
        """The nodes of a net, visible and not, in the cluster of what is open in their row."""
        clusters = {cluster.slot: cluster for cluster in drawn.clusters}
        for row in drawn.rows():
            cluster = clusters.get(row[0].slot)
            if cluster is None:
                self._row(graph, row)
                continue
            of = row[0].of if row[0].id == cluster.owner else None
            title = row[0].title if of is None else f"{row[0].title} #{of}"
            with graph.subgraph(name=f"cluster_{cluster.owner}") as inner:
                inner.attr(id=cluster.id, **{"class": f"depth-{cluster.depth}"}, **self._frame(title, "rounded"))
                self._row(inner, row)
                for section in cluster.sections:
                    name = f"↻ {section.title}" if section.repeats else section.title
                    with inner.subgraph(name=f"cluster_{section.id}") as net:
                        net.attr(id=f"net-{section.id}", **{"class": "net"}, **self._frame(name, "rounded,dotted"))
                        self.draw(net, section.view)

    def _row(self, graph: graphviz.Digraph, row: Sequence[Node]) -> None:
        for node in row:
            graph.node(node.id, **_beyond(self.defaults, _node(node, self.state, self.theme)))
        for holder in self.invisible.holders.get(row[0].slot, ()):
            graph.node(holder, style="invis", label="", width="0.1")

    def _frame(self, title: str, style: str) -> Attributes:
        return {
            "label": _text(fit(title, MAX_TITLE)),
            "labeljust": "l",
            "style": style,
            "color": self.theme.frame,
            "fontcolor": self.theme.muted,
            "fontname": "Helvetica",
            "fontsize": str(self.theme.title_size),
            "margin": "10",
        }


def _defaults(theme: Theme) -> tuple[Attributes, Attributes]:
    """What most nodes and most edges have: the source says it once."""
    nodes = {
        "shape": "box",
        "style": "rounded,filled",
        "fontname": "Helvetica",
        "fontsize": str(theme.title_size),
        "margin": "0",
        "width": _inches(theme.node_width),
        "height": _inches(theme.node_height),
        "penwidth": str(theme.pen),
        "fillcolor": theme.fill,
        "fontcolor": theme.text,
    }
    edges = {
        "fontname": "Courier",
        "fontsize": str(theme.label_size),
        "arrowsize": "0.7",
        "penwidth": str(theme.pen),
        "weight": str(UPRIGHT),
    }
    return nodes, edges


def _beyond(defaults: Attributes, attributes: Attributes) -> Attributes:
    return {name: value for name, value in attributes.items() if defaults.get(name) != value}


def _node(node: Node, state: State, theme: Theme) -> Attributes:
    look = node.look(state, theme)
    width, height = node.size(theme)
    is_sum = node.role == "accumulation"
    styles = ["filled"] if is_sum or node.role == "port" else ["rounded", "filled"]
    title, detail = node.text(state)
    if node.fold:
        title = f"{'▾' if node.fold == 'open' else '▸'} {title}"
    attributes = {
        "id": f"node-{node.id}",
        "class": node.classes,
        "label": _text(title, detail),
        "style": ",".join([*styles, "dashed"] if look.dashed else styles),
        "color": look.pen,
        "fillcolor": look.fill,
        "fontcolor": look.ink,
        "penwidth": str(look.width),
        "width": _inches(width),
        "height": _inches(height),
        "group": "forward" if node.is_forward else "backward",
    }
    if is_sum:
        return attributes | {"shape": "circle", "fixedsize": "true", "fontsize": str(theme.sum_size)}
    return attributes | ({"fixedsize": "true"} if node.role == "port" else {})


def _edge(edge: Edge, ends: tuple[str, str], state: State, theme: Theme) -> tuple[str, str, Attributes]:
    """Tail, head and attributes of an edge between two `ends`, written so that the tail is never below the head."""
    look = edge.look(state, theme)
    attributes = {"id": edge.id, "class": edge.classes, "color": look.pen, "penwidth": str(look.width)}
    if edge.kind == "saved":
        return *ends, attributes | {"style": "dotted", "constraint": "false"}
    lines = [f" {line} " for line in edge.label]  # blanks keep them off the line
    attributes |= {
        "label": _text(*lines, f" {norms(len(edge.names))}" if edge.kind == "backward" else "", end=r"\l"),
        "fontcolor": look.ink,
        "weight": "1" if edge.skips else str(UPRIGHT),
    }
    if look.dashed:
        attributes["style"] = "dashed"
    if edge.skips:
        side = "w" if edge.kind == "forward" else "e"
        attributes |= {"tailport": side, "headport": side}
    if edge.rise <= 0:
        return *ends, attributes
    return *ends[::-1], attributes | {"dir": "back"}


def _headings(drawn: View, theme: Theme) -> Iterator[tuple[str, Attributes]]:
    """A heading for each lane, as wide as keeps the lanes apart."""
    for lane, text in ((FORWARD, "forward ↓"), (BACKWARD, "↑ backward")):
        lane_nodes = [node for node in drawn.all_nodes() if node.is_forward == lane]
        widest = max((node.size(theme)[0] for node in lane_nodes), default=0.0)
        yield (
            LANE_ID[lane],
            {
                "id": LANE_ID[lane],
                "class": "lane",
                "label": text,
                "shape": "plaintext",
                "style": "",
                "group": "forward" if lane == FORWARD else "backward",
                "fontcolor": theme.muted,
                "width": _inches(max(theme.lane_distance, widest + theme.lane_gap) - NODE_SEPARATION),
                "height": _inches(theme.title_size + 4),
            },
        )


def _text(*lines: str, end: str = "\n") -> str:
    r"""Lines as a label in which nothing is markup: no HTML, no entities, no escapes.

    They are centred; those that `end` in `\l` begin one below the other.
    """
    escaped = [str(graphviz.escape(line.replace("&", "&amp;"))) for line in lines if line]
    label: str = graphviz.nohtml(end.join([*escaped, ""]).rstrip("\n"))  # of a type that keeps <...> from being HTML
    return label


def _inches(pixels: float) -> str:
    return f"{pixels / POINTS_PER_INCH:.3f}"
