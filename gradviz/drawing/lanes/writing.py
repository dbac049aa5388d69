"""A picture in plain lanes, in time proportional to the net: for nets that Graphviz would lay out badly or slowly, and
for all that have nets within, since a cluster can then close without that anything is laid out anew.

It has the ids, classes and looks of the other picture. Every slot is a row. An open operator is a group
``cluster-<line>`` that holds all of its nets, each a group ``net-<id>``. To close it, a front end leaves these out, and
the height of its rectangle ``fold``, with all that lies there: nothing else does. Where no cluster of a depth is open,
it also leaves out the widths of the rectangles ``shell depth-<n>``.

A group that is closed takes part in a picture as one node in each lane; what it holds is a picture of its own, laid out
as if it were open below these nodes. To open it, a front end puts the second picture into the first: its axis on the
axis of the lane, the top of its rectangle ``level`` to the lower border of the nodes. What lies below moves down by the
height of that rectangle. What lies beside the width of the rectangle ``level`` that the first picture has moves out, so
far that the frame of the second has room.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

from ..limits import Clock
from ..look import Look, State, edge_look, has_bar, node_look, node_text
from ..picture import SVG
from ..theme import Theme
from ..view import Cluster, Edge, Node, Section, View, edge_class, node_class
from ..words import MAX_NET_TITLE, fit, label
from .place import Placement, Rectangle, place
from .tracks import Box, line_height
from .ways import Ways, arrow

MARK = 3.5
"""Half the size of the mark that tells whether an operator is open."""


def lanes(
    drawn: View,
    state: State,
    theme: Theme,
    titles: Mapping[str, str],
    clock: Clock,
    background: str | None = None,
    widest: tuple[float, float] | None = None,
) -> str:
    """SVG text of a view in a state.

    `titles` are tool tips by the id of node or edge; `widest`, as `halves` gives it, keeps the lanes as far apart as
    they are in other pictures. Raises DrawingError, kind ``too_slow``, where the time of the clock is over.
    """
    placed = place(drawn, theme, widest)
    width, height = f"{placed.width:.0f}", f"{placed.height:.0f}"
    parts = [f'<svg xmlns="{SVG}" width="{width}px" height="{height}px" viewBox="0 0 {width} {height}" role="img">']
    if background is not None:
        parts.append(f'<rect class="background" width="{width}" height="{height}" fill="{background}"/>')
    parts.append('<g class="graph">')
    parts += _headings(placed, theme)
    parts += _shells(placed, 1)
    if any(node.role == "group" for node in drawn.all_nodes()):
        parts += _level(placed, 0, Rectangle(0, 0, 0, 0))
    parts += _Lanes(placed, Ways(placed, theme), state, theme, titles, clock).net(drawn)
    parts.append("</g></svg>")
    return "\n".join(parts)


def inside(drawn: View, theme: Theme, widest: tuple[float, float], clock: Clock) -> str:
    """SVG text of what an open group shows; `drawn` is its nodes, which are not in the text, and its cluster."""
    placed = place(drawn, theme, widest)
    [cluster] = drawn.clusters
    parts = [f'<svg xmlns="{SVG}">']
    parts += _shells(placed, 2)
    parts += _level(placed, 1, placed.folds[cluster.owner])
    parts += _Lanes(placed, Ways(placed, theme), State(), theme, {}, clock).cluster(cluster)
    parts.append("</svg>")
    return "\n".join(parts)


def _shells(placed: Placement, depth: int) -> Iterator[str]:
    """Those of a depth and of deeper ones."""
    for at, shell in placed.shells:
        if at >= depth:
            yield f'<rect class="shell depth-{at}" {_area(shell)} fill="none"/>'


def _level(placed: Placement, depth: int, fold: Rectangle) -> Iterator[str]:
    """Where a group's picture, or one with groups, meets others."""
    left, right = placed.inner[depth]
    yield f'<rect class="level" {_area(Rectangle(left, fold.y, right - left, fold.height))} fill="none"/>'
    yield f'<line class="axis" x1="{placed.forward_x:.1f}" x2="{placed.forward_x:.1f}" y1="0" y2="0"/>'


@dataclass(frozen=True)
class _Lanes:
    """Writes the SVG of nets within nets."""

    placed: Placement
    ways: Ways
    state: State
    theme: Theme
    titles: Mapping[str, str]
    clock: Clock

    def net(self, drawn: View) -> Iterator[str]:
        """Saved values of other rows, then what is open, which hides them where they pass it, then the rest.

        What most texts and shapes share stands once on their group: the picture of a large net stays half as long.
        """
        self.clock.tick()
        theme = self.theme
        # On a shared trunk, what is made lies over what is not made yet, at every position.
        edges = sorted(drawn.edges, key=lambda edge: -edge.made)
        behind = {edge.number for edge in edges if edge.kind == "saved" and edge.rise}
        yield from self._edges(edge for edge in edges if edge.number in behind)
        if any(node.role == "group" for node in drawn.nodes):
            yield '<g class="groups"></g>'
        for cluster in drawn.clusters:
            yield from self.cluster(cluster)
        yield from self._edges(edge for edge in edges if edge.number not in behind)
        yield f'<g font-family="{escape(theme.sans)}" text-anchor="middle" stroke-width="{theme.pen:g}">'
        for node in drawn.nodes:
            box, name = self.placed.boxes[node.id], self.titles.get(f"node-{node.id}")
            yield from (
                _port(node, box, self.state, theme, name)
                if node.role == "port"
                else _node(node, box, self.state, theme, name)
            )
        yield "</g>"

    def _edges(self, edges: Iterator[Edge]) -> Iterator[str]:
        theme = self.theme
        yield f'<g font-family="{escape(theme.mono)}" font-size="{theme.label_size:g}" stroke-width="{theme.pen:g}">'
        for edge in edges:
            yield from _edge(edge, self.ways, self.state, theme, self.titles.get(edge.id))
        yield "</g>"

    def cluster(self, cluster: Cluster) -> Iterator[str]:
        """What is open: its frame, and its nets."""
        theme, placed = self.theme, self.placed
        frame, fold = placed.frames[cluster.owner], placed.folds[cluster.owner]
        first = placed.strips[cluster.sections[0].id]  # hides the lower corners of the bar
        bar = Rectangle(frame.x, frame.y, frame.width, first.y + theme.corner - frame.y)
        pen = f'stroke="{theme.frame}" stroke-width="1"'
        yield f'<g id="{cluster.id}" class="cluster depth-{cluster.depth}">'
        yield f'<rect class="frame" {_area(frame)} rx="{theme.corner:g}" fill="{theme.background}" {pen}/>'
        yield f'<rect class="bar" {_area(bar)} rx="{theme.corner:g}" fill="{theme.fill}"/>'
        yield f'<rect class="fold" {_area(fold)} fill="none"/>'
        for section in cluster.sections:
            yield from self._section(section)
        yield "</g>"

    def _section(self, section: Section) -> Iterator[str]:
        theme, strip = self.theme, self.placed.strips[section.id]
        is_here = section.id == self.state.net
        ink, fill = (theme.text, theme.frame) if is_here else (theme.muted, theme.fill)
        mark = "↻ " if section.repeats else ""
        yield f'<g id="net-{section.id}" class="net{" here" if is_here else ""}">'
        yield f'<rect class="strip" {_area(strip)} fill="{fill}"/>'
        yield (
            f'<line class="border" x1="{strip.x:.1f}" x2="{strip.x + strip.width:.1f}" y1="{strip.bottom:.1f}" '
            f'y2="{strip.bottom:.1f}" stroke="{theme.frame}" stroke-width="1"/>'
        )
        yield (
            f'<text class="title" x="{strip.x + 10:.1f}" y="{strip.y + 14:.1f}" font-family="{escape(theme.sans)}" '
            f'font-size="{theme.detail_size:g}" font-weight="600" fill="{ink}">'
            f"{mark}{escape(fit(section.title, MAX_NET_TITLE))}</text>"
        )
        yield from self.net(section.view)
        yield "</g>"


def _headings(placed: Placement, theme: Theme) -> Iterator[str]:
    for word, x in (("forward ↓", placed.forward_x), ("↑ backward", placed.backward_x)):
        yield (
            f'<g id="lane-{word.strip("↓↑ ")}" class="lane"><text x="{x:.1f}" y="16" text-anchor="middle" '
            f'font-family="{escape(theme.sans)}" font-size="{theme.title_size:g}" font-weight="600" '
            f'fill="{theme.muted}">{word}</text></g>'
        )


def _node(node: Node, box: Box, state: State, theme: Theme, name: str | None) -> Iterator[str]:
    look = node_look(node, state, theme)
    pen = f'fill="{look.fill}" stroke="{look.pen}"{_pen(look, theme)}'
    yield f'<g id="node-{node.id}" class="node {node_class(node)}">{_title(name)}'
    title, detail = (escape(line) for line in node_text(node, state))
    if node.role == "accumulation":
        yield f'<ellipse cx="{box.x:.1f}" cy="{box.y:.1f}" rx="{theme.sum_radius:g}" ry="{theme.sum_radius:g}" {pen}/>'
        baseline, size = box.y + theme.sum_size * 0.35, theme.sum_size
    else:
        left, width, height = box.x - box.width / 2, box.width, box.height
        area = f'x="{left:.1f}" y="{box.top:.1f}" width="{width:.1f}" height="{height:g}"'
        yield f'<rect {area} rx="{theme.corner:g}" {pen}/>'
        if has_bar(node):
            yield (
                f'<line class="bar" x1="{left + 4:.1f}" x2="{left + 4:.1f}" y1="{box.top + 4:.1f}" '
                f'y2="{box.bottom - 4:.1f}" stroke="{look.pen}" stroke-width="2.5"/>'
            )
        if node.fold:
            yield f'<polygon class="mark" points="{_mark(left + 15, box.y, node.fold == "open")}" fill="{look.pen}"/>'
        baseline, size = box.y - 2 if detail else box.y + 4, theme.title_size
    yield (
        f'<text class="title" x="{box.x:.1f}" y="{baseline:.1f}" font-size="{size:g}" font-weight="600" '
        f'fill="{look.ink}">{title}</text>'
    )
    if detail:
        ink = theme.muted if look.ink == theme.text else look.ink
        yield (
            f'<text class="detail" x="{box.x:.1f}" y="{box.y + 12:.1f}" font-size="{theme.detail_size:g}" '
            f'fill="{ink}">{detail}</text>'
        )
    yield "</g>"


def _port(node: Node, box: Box, state: State, theme: Theme, name: str | None) -> Iterator[str]:
    pen = node_look(node, state, theme).pen
    area = Rectangle(box.x - box.width / 2, box.top, box.width, box.height)
    yield f'<g id="node-{node.id}" class="{node_class(node)}">{_title(name)}'
    yield f'<rect {_area(area)} rx="{box.height / 2:g}" fill="{pen}"/></g>'


def _mark(x: float, y: float, is_open: bool) -> str:
    """A triangle that points down where something is open, else to the right."""
    corners = [(-MARK, -MARK / 2), (MARK, -MARK / 2), (0.0, MARK)]
    turned = corners if is_open else [(dy, dx) for dx, dy in corners]
    return " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in turned)


def _edge(edge: Edge, ways: Ways, state: State, theme: Theme, name: str | None) -> Iterator[str]:
    look, way = edge_look(edge, state, theme), ways.way(edge)
    dots = ' stroke-dasharray="1,5"' if edge.kind == "saved" else ""
    yield f'<g id="{edge.id}" class="edge {edge_class(edge)}">{_title(name)}'
    yield f'<path fill="none" stroke="{look.pen}"{_pen(look, theme, dots)} d="{way.path}"/>'
    yield f'<polygon fill="{look.pen}" stroke="{look.pen}" points="{arrow(way)}"/>'
    if edge.kind != "saved" and way.label is not None:
        anchor = "" if way.anchor == "start" else f' text-anchor="{way.anchor}"'
        for row, line in enumerate(label(edge.blobs)):
            yield (
                f'<text x="{way.label[0]:.1f}" y="{way.label[1] + row * line_height(theme):.1f}"{anchor} '
                f'fill="{look.ink}">{escape(line)}</text>'
            )
    yield "</g>"


def _pen(look: Look, theme: Theme, dots: str = "") -> str:
    """Attributes of a pen where it is not the usual one."""
    width = "" if look.width == theme.pen else f' stroke-width="{look.width:g}"'
    return width + (dots or (' stroke-dasharray="5,2"' if look.dashed else ""))


def _title(name: str | None) -> str:
    return f"<title>{escape(name)}</title>" if name else ""


def _area(area: Rectangle) -> str:
    return f'x="{area.x:.1f}" y="{area.y:.1f}" width="{area.width:.1f}" height="{area.height:.1f}"'
