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

`tracks` says which edges go around a lane, on which track, and where they meet nodes; `place` puts boxes, tracks and
frames where they belong; `ways` says where the edges run, and where their names stand; here all is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from .picture import SVG
from .place import Placement, Stack, place
from .theme import MAX_NET_TITLE, Clock, Theme, fit
from .tracks import Area, Point
from .view import (
    Cluster,
    Edge,
    Look,
    Node,
    Section,
    State,
    View,
)
from .ways import Labels, Ways

FOLD_MARK = 3.5
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
    parts += _headings(placed.stack, theme)
    parts += _shells(placed, 1)
    if any(node.role == "group" for node in drawn.all_nodes()):
        parts += _level(placed, 0, Area(0, 0, 0, 0))
    parts += _Lanes(drawn, placed, state, theme, titles, clock).net(drawn)
    parts.append("</g></svg>")
    return "\n".join(parts)


def inside(drawn: View, theme: Theme, widest: tuple[float, float], clock: Clock) -> str:
    """SVG text of what an open group shows; `drawn` is its nodes, which are not in the text, and its cluster."""
    placed = place(drawn, theme, widest)
    [cluster] = drawn.clusters
    parts = [f'<svg xmlns="{SVG}">']
    parts += _shells(placed, 2)
    parts += _level(placed, 1, placed.fold(cluster))
    parts += _Lanes(drawn, placed, State(), theme, {}, clock).cluster(cluster)
    parts.append("</svg>")
    return "\n".join(parts)


def _shells(placed: Placement, depth: int) -> Iterator[str]:
    """Those of a depth and of deeper ones."""
    for at, shell in placed.shells(depth):
        yield f'<rect class="shell depth-{at}" {_area(shell)} fill="none"/>'


def _level(placed: Placement, depth: int, fold: Area) -> Iterator[str]:
    """Where a group's picture, or one with groups, meets others."""
    (left, right), x = placed.inner(depth), placed.stack.forward_x
    yield f'<rect class="level" {_area(Area(left, fold.top, right, fold.bottom))} fill="none"/>'
    yield f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="0"/>'


class _Lanes:
    """Writes the SVG of nets within nets: of `drawn` and of those in it."""

    def __init__(
        self, drawn: View, placed: Placement, state: State, theme: Theme, titles: Mapping[str, str], clock: Clock
    ) -> None:
        self.placed, self.state, self.theme, self.titles, self.clock = placed, state, theme, titles, clock
        edges, ways = list(drawn.all_edges()), Ways(placed, theme)
        self.ways = {edge.number: ways.way(edge) for edge in edges}
        self.spots = Labels(edges, ways, self.ways).spots

    def net(self, drawn: View) -> Iterator[str]:
        """Saved values of other rows, then what is open, which hides them where they pass it, then the rest.

        What most texts and shapes share stands once on their group: the picture of a large net stays half as long.
        """
        self.clock.tick()
        theme = self.theme
        # On a shared trunk, what exists lies over what does not exist yet, at every position.
        edges = sorted(drawn.edges, key=lambda edge: -edge.exists_from)
        behind = {edge.number for edge in edges if edge.kind == "saved" and edge.rise}
        yield from self._edges(edge for edge in edges if edge.number in behind)
        if any(node.role == "group" for node in drawn.nodes):
            yield '<g class="groups"></g>'
        for cluster in drawn.clusters:
            yield from self.cluster(cluster)
        yield from self._edges(edge for edge in edges if edge.number not in behind)
        yield f'<g font-family="{escape(theme.sans)}" text-anchor="middle" stroke-width="{theme.pen:g}">'
        for node in drawn.nodes:
            yield from self._port(node) if node.role == "port" else self._node(node)
        yield "</g>"

    def _edges(self, edges: Iterator[Edge]) -> Iterator[str]:
        theme = self.theme
        yield f'<g font-family="{escape(theme.mono)}" font-size="{theme.label_size:g}" stroke-width="{theme.pen:g}">'
        for edge in edges:
            yield from self._edge(edge)
        yield "</g>"

    def cluster(self, cluster: Cluster) -> Iterator[str]:
        """What is open: its frame, and its nets."""
        theme, placed = self.theme, self.placed
        frame, fold = placed.frame(cluster), placed.fold(cluster)
        first = placed.strip(cluster.sections[0])  # hides the lower corners of the bar
        bar = frame._replace(bottom=first.top + theme.corner)
        pen = f'stroke="{theme.frame}" stroke-width="1"'
        yield f'<g id="{cluster.id}" class="cluster depth-{cluster.depth}">'
        yield f'<rect class="frame" {_area(frame)} rx="{theme.corner:g}" fill="{theme.background}" {pen}/>'
        yield f'<rect class="bar" {_area(bar)} rx="{theme.corner:g}" fill="{theme.fill}"/>'
        yield f'<rect class="fold" {_area(fold)} fill="none"/>'
        for section in cluster.sections:
            yield from self._section(section)
        yield "</g>"

    def _section(self, section: Section) -> Iterator[str]:
        theme, strip = self.theme, self.placed.strip(section)
        is_here = section.id == self.state.net
        ink, fill = (theme.text, theme.frame) if is_here else (theme.muted, theme.fill)
        mark = "↻ " if section.repeats else ""
        yield f'<g id="net-{section.id}" class="net{" here" if is_here else ""}">'
        yield f'<rect class="strip" {_area(strip)} fill="{fill}"/>'
        border = _ends((strip.left, strip.bottom), (strip.right, strip.bottom))
        yield f'<line class="border" {border} stroke="{theme.frame}" stroke-width="1"/>'
        at, title = (strip.left + 10, strip.top + 14), f"{mark}{escape(fit(section.title, MAX_NET_TITLE))}"
        yield _text("title", at, theme.detail_size, ink, title, family=theme.sans)
        yield from self.net(section.view)
        yield "</g>"

    def _node(self, node: Node) -> Iterator[str]:
        theme, box, look = self.theme, self.placed.stack.boxes[node.id], node.look(self.state, self.theme)
        pen = f'fill="{look.fill}" stroke="{look.pen}"{_pen(look, theme)}'
        yield self._group(f"node-{node.id}", f"node {node.classes}")
        title, detail = (escape(line) for line in node.text(self.state))
        if node.role == "accumulation":
            radius = f"{theme.sum_radius:g}"
            yield f'<ellipse cx="{box.x:.1f}" cy="{box.y:.1f}" rx="{radius}" ry="{radius}" {pen}/>'
            baseline, size = box.y + theme.sum_size * 0.35, theme.sum_size
        else:
            left, width, height = box.left, box.width, box.height
            area = f'x="{left:.1f}" y="{box.top:.1f}" width="{width:.1f}" height="{height:g}"'
            yield f'<rect {area} rx="{theme.corner:g}" {pen}/>'
            if node.has_bar:
                bar = _ends((left + 4, box.top + 4), (left + 4, box.bottom - 4))
                yield f'<line class="bar" {bar} stroke="{look.pen}" stroke-width="2.5"/>'
            if node.fold:
                corners = _mark(left + 15, box.y, node.fold == "open")
                yield f'<polygon class="mark" points="{corners}" fill="{look.pen}"/>'
            baseline, size = box.y - 2 if detail else box.y + 4, theme.title_size
        yield _text("title", (box.x, baseline), size, look.ink, title)
        if detail:
            ink = theme.muted if look.ink == theme.text else look.ink
            yield _text("detail", (box.x, box.y + 12), theme.detail_size, ink, detail)
        yield "</g>"

    def _port(self, node: Node) -> Iterator[str]:
        box, pen = self.placed.stack.boxes[node.id], node.look(self.state, self.theme).pen
        yield self._group(f"node-{node.id}", node.classes)
        yield f'<rect {_area(box.area)} rx="{box.height / 2:g}" fill="{pen}"/></g>'

    def _edge(self, edge: Edge) -> Iterator[str]:
        theme, way, spot = self.theme, self.ways[edge.number], self.spots.get(edge.number)
        look = edge.look(self.state, theme)
        dots = ' stroke-dasharray="1,5"' if edge.kind == "saved" else ""
        yield self._group(edge.id, f"edge {edge.classes}")
        yield f'<path fill="none" stroke="{look.pen}"{_pen(look, theme, dots)} d="{way.path}"/>'
        yield f'<polygon fill="{look.pen}" stroke="{look.pen}" points="{way.arrow()}"/>'
        if spot is not None:
            anchor = "" if spot.anchor == "start" else f' text-anchor="{spot.anchor}"'
            for row, line in enumerate(edge.label):
                yield (
                    f'<text x="{spot.x:.1f}" y="{spot.y + row * theme.line_height:.1f}"{anchor} '
                    f'fill="{look.ink}">{escape(line)}</text>'
                )
        yield "</g>"

    def _group(self, id: str, classes: str) -> str:
        """The beginning of the group of a node or an edge, with its tool tip."""
        title = f"<title>{escape(name)}</title>" if (name := self.titles.get(id)) else ""
        return f'<g id="{id}" class="{classes}">{title}'


def _headings(stack: Stack, theme: Theme) -> Iterator[str]:
    for word, x in (("forward ↓", stack.forward_x), ("↑ backward", stack.backward_x)):
        yield (
            f'<g id="lane-{word.strip("↓↑ ")}" class="lane"><text x="{x:.1f}" y="16" text-anchor="middle" '
            f'font-family="{escape(theme.sans)}" font-size="{theme.title_size:g}" font-weight="600" '
            f'fill="{theme.muted}">{word}</text></g>'
        )


def _mark(x: float, y: float, is_open: bool) -> str:
    """A triangle that points down where something is open, else to the right."""
    corners = [(-FOLD_MARK, -FOLD_MARK / 2), (FOLD_MARK, -FOLD_MARK / 2), (0.0, FOLD_MARK)]
    turned = corners if is_open else [(dy, dx) for dx, dy in corners]
    return " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in turned)


def _pen(look: Look, theme: Theme, dots: str = "") -> str:
    """Attributes of a pen where it is not the usual one."""
    width = "" if look.width == theme.pen else f' stroke-width="{look.width:g}"'
    return width + (dots or (' stroke-dasharray="5,2"' if look.dashed else ""))


def _text(kind: str, at: Point, size: float, ink: str, words: str, family: str = "") -> str:
    """A line of text; titles are bold."""
    face = f' font-family="{escape(family)}"' if family else ""
    weight = ' font-weight="600"' if kind == "title" else ""
    place = f'x="{at[0]:.1f}" y="{at[1]:.1f}"'
    return f'<text class="{kind}" {place}{face} font-size="{size:g}"{weight} fill="{ink}">{words}</text>'


def _ends(start: Point, end: Point) -> str:
    return f'x1="{start[0]:.1f}" x2="{end[0]:.1f}" y1="{start[1]:.1f}" y2="{end[1]:.1f}"'


def _area(area: Area) -> str:
    left, top, right, bottom = area
    return f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"'
