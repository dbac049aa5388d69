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
frames where they belong; here the edges between run their ways, straight between neighbours, and all is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

from .picture import SVG
from .place import Placement, Rectangle, Stack, gap, place
from .theme import MAX_NET_TITLE, Clock, Theme, fit, label
from .tracks import Box, Tap, Trunk, line_height
from .view import (
    Cluster,
    Edge,
    Look,
    Node,
    Section,
    State,
    View,
    edge_class,
    edge_look,
    has_bar,
    node_class,
    node_look,
    node_text,
)

CORNER = 8.0
ARROW = 7.0
LABEL_OFFSET = 7.0

Point = tuple[float, float]

MARK = 3.5
"""Half the size of the mark that tells whether an operator is open."""


@dataclass(frozen=True)
class Way:
    """The line of an edge, from its maker to its reader.

    Attributes:
        path: SVG path data.
        tip, back: where the arrow points, and from where.
        label: where its text stands; None: there is no room for it.
        anchor: the text's end that stands there.
    """

    path: str
    tip: Point
    back: Point
    label: Point | None
    anchor: str = "start"


class Ways:
    """Where edges run."""

    def __init__(self, placed: Placement, theme: Theme) -> None:
        self._theme = theme
        self._placed = placed
        self._trunk_of = {edge.number: trunk for trunk in placed.trunks for edge in trunk.edges}

    def way(self, edge: Edge) -> Way:
        trunk = self._trunk_of.get(edge.number)
        if trunk is not None:
            return self._around(edge, trunk)
        source, target = self._placed.stack.boxes[edge.source], self._placed.stack.boxes[edge.target]
        if edge.rise == 0:
            return _across(source, target)
        if edge.kind == "saved":
            return self._between(source, target)
        up = 1 if edge.rise > 0 else -1
        start, tip = source.port(-up, target), target.port(up, source)
        dx, dy = tip[0] - start[0], tip[1] - start[1]
        clear = 3.5 if dx == 0 else -5.0 if dx * dy > 0 else 12.0
        lines = len(label(edge.names))
        # In the middle of the part that no detour crosses.
        part = 0.5 + (source.room(-up) - target.room(up)) / abs(dy) / 2
        if abs(edge.rise) > 1:
            # Or below the upper row: nodes of the other lane stand beside the rest.
            below = ((target if up > 0 else source).room(1) + gap(lines, self._theme) / 2) / abs(dy)
            part = 1 - below if up > 0 else below
        first_line = start[1] + part * dy + clear - (lines - 1) * line_height(self._theme) / 2
        middle = (start[0] + part * dx + LABEL_OFFSET, first_line)
        return Way(f"M{_at(start)}L{_at(tip)}", tip, start, middle)

    def _between(self, source: Box, target: Box) -> Way:
        """From a node to one of another row, in the gap between the lanes; where nets are open, behind their frame."""
        start, tip = (source.x + source.width / 2, source.y), (target.x - target.width / 2, target.y)
        between = (self._placed.stack.forward_x + self._placed.stack.backward_x) / 2
        x = min(max(between, start[0] + CORNER), tip[0] - ARROW - CORNER)
        bend = CORNER if tip[1] > start[1] else -CORNER
        path = (
            f"M{_at(start)}H{x - CORNER:.1f}Q{_at((x, start[1]))} {_at((x, start[1] + bend))}V{tip[1] - bend:.1f}"
            f"Q{_at((x, tip[1]))} {_at((x + CORNER, tip[1]))}H{tip[0]:.1f}"
        )
        return Way(path, tip, (x, tip[1]), None)

    def _around(self, edge: Edge, trunk: Trunk) -> Way:
        side, x, taps = trunk.side, self._placed.track_x(trunk), self._placed.taps
        leaving, arriving = taps[edge.source, id(trunk)], taps[edge.target, id(trunk)]
        start, end = leaving.level, arriving.level
        down = 1 if end > start else -1
        bend = min(CORNER, abs(end - start) / 2)
        path = (
            f"{_leave(leaving, side)}H{x - side * bend:.1f}Q{_at((x, start))} {_at((x, start + down * bend))}"
            f"V{end - down * bend:.1f}Q{_at((x, end))} {_at((x - side * bend, end))}{_arrive(arriving, side)}"
        )
        tip = (arriving.x, arriving.y)
        back = (arriving.x, end) if arriving.turns else (arriving.x + side * ARROW, end)
        label_at = taps[trunk.label_end(edge), id(trunk)].label
        return Way(path, tip, back, label_at, "end" if side < 0 else "start")


def _leave(tap: Tap, side: int) -> str:
    """From a node to the height at which an edge runs to its track."""
    if not tap.turns:
        return f"M{_at((tap.x, tap.y))}"
    bend = CORNER if tap.level < tap.y else -CORNER
    corner = (tap.x, tap.level)
    return f"M{_at((tap.x, tap.y))}V{tap.level + bend:.1f}Q{_at(corner)} {_at((tap.x + side * CORNER, tap.level))}"


def _arrive(tap: Tap, side: int) -> str:
    """From that height to a node."""
    if not tap.turns:
        return f"H{tap.x:.1f}"
    bend = CORNER if tap.level < tap.y else -CORNER
    corner = (tap.x, tap.level)
    return f"H{tap.x + side * CORNER:.1f}Q{_at(corner)} {_at((tap.x, tap.level + bend))}V{tap.y:.1f}"


def _across(source: Box, target: Box) -> Way:
    """Between two nodes of one slot; over those that stand between."""
    side = 1 if target.x > source.x else -1
    start, tip = (source.x + side * source.width / 2, source.y), (target.x - side * target.width / 2, target.y)
    label_at = ((start[0] + tip[0]) / 2 - LABEL_OFFSET, source.top - 4)
    if target.place <= source.place + 1:
        return Way(f"M{_at(start)}L{_at(tip)}", tip, start, label_at)
    over = source.top - 10
    start, tip = (start[0], start[1] - 8), (target.x - side * target.width / 4, target.top)
    path = f"M{_at(start)}Q{_at((start[0] + 30, over))} {_at((start[0] + 60, over))}H{tip[0] - CORNER:.1f}"
    return Way(f"{path}Q{_at((tip[0], over))} {_at(tip)}", tip, (tip[0], over), label_at)


def arrow(way: Way) -> str:
    """A triangle whose tip is the way's."""
    dx, dy = way.tip[0] - way.back[0], way.tip[1] - way.back[1]
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    dx, dy = ARROW * dx / length, ARROW * dy / length
    x, y = way.tip[0] - dx, way.tip[1] - dy
    return f"{_at(way.tip)} {_at((x - 0.35 * dy, y + 0.35 * dx))} {_at((x + 0.35 * dy, y - 0.35 * dx))}"


def _at(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"


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
    parts += _level(placed, 1, placed.fold(cluster))
    parts += _Lanes(placed, Ways(placed, theme), State(), theme, {}, clock).cluster(cluster)
    parts.append("</svg>")
    return "\n".join(parts)


def _shells(placed: Placement, depth: int) -> Iterator[str]:
    """Those of a depth and of deeper ones."""
    for at, shell in placed.shells(depth):
        yield f'<rect class="shell depth-{at}" {_area(shell)} fill="none"/>'


def _level(placed: Placement, depth: int, fold: Rectangle) -> Iterator[str]:
    """Where a group's picture, or one with groups, meets others."""
    (left, right), x = placed.inner(depth), placed.stack.forward_x
    yield f'<rect class="level" {_area(Rectangle(left, fold.y, right - left, fold.height))} fill="none"/>'
    yield f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="0"/>'


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
            box, name = self.placed.stack.boxes[node.id], self.titles.get(f"node-{node.id}")
            write = _port if node.role == "port" else _node
            yield from write(node, box, self.state, theme, name)
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
        frame, fold = placed.frame(cluster), placed.fold(cluster)
        first = placed.strip(cluster.sections[0])  # hides the lower corners of the bar
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
        theme, strip = self.theme, self.placed.strip(section)
        is_here = section.id == self.state.net
        ink, fill = (theme.text, theme.frame) if is_here else (theme.muted, theme.fill)
        mark = "↻ " if section.repeats else ""
        yield f'<g id="net-{section.id}" class="net{" here" if is_here else ""}">'
        yield f'<rect class="strip" {_area(strip)} fill="{fill}"/>'
        border = _ends((strip.x, strip.bottom), (strip.x + strip.width, strip.bottom))
        yield f'<line class="border" {border} stroke="{theme.frame}" stroke-width="1"/>'
        at, title = (strip.x + 10, strip.y + 14), f"{mark}{escape(fit(section.title, MAX_NET_TITLE))}"
        yield _text("title", at, theme.detail_size, ink, title, family=theme.sans)
        yield from self.net(section.view)
        yield "</g>"


def _headings(stack: Stack, theme: Theme) -> Iterator[str]:
    for word, x in (("forward ↓", stack.forward_x), ("↑ backward", stack.backward_x)):
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
            bar = _ends((left + 4, box.top + 4), (left + 4, box.bottom - 4))
            yield f'<line class="bar" {bar} stroke="{look.pen}" stroke-width="2.5"/>'
        if node.fold:
            yield f'<polygon class="mark" points="{_mark(left + 15, box.y, node.fold == "open")}" fill="{look.pen}"/>'
        baseline, size = box.y - 2 if detail else box.y + 4, theme.title_size
    yield _text("title", (box.x, baseline), size, look.ink, title)
    if detail:
        ink = theme.muted if look.ink == theme.text else look.ink
        yield _text("detail", (box.x, box.y + 12), theme.detail_size, ink, detail)
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
        for row, line in enumerate(label(edge.names)):
            yield (
                f'<text x="{way.label[0]:.1f}" y="{way.label[1] + row * line_height(theme):.1f}"{anchor} '
                f'fill="{look.ink}">{escape(line)}</text>'
            )
    yield "</g>"


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


def _title(name: str | None) -> str:
    return f"<title>{escape(name)}</title>" if name else ""


def _area(area: Rectangle) -> str:
    return f'x="{area.x:.1f}" y="{area.y:.1f}" width="{area.width:.1f}" height="{area.height:.1f}"'
