"""A picture in plain lanes, in time proportional to the net: for nets that are too large or too tangled for Graphviz.

It has the ids, classes and looks of the other picture. Every slot is a row; edges between neighbours are straight,
those that skip nodes run on tracks at the outer side of their lane.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

from .look import Look, edge_look, node_look, node_text
from .picture import SVG
from .place import Box, Placement, Tap, line_height, place
from .state import State
from .theme import Theme
from .tracks import Trunk
from .view import Edge, Node, View, edge_class, node_class
from .words import label

CORNER = 8.0
ARROW = 7.0
LABEL_OFFSET = 7.0

Point = tuple[float, float]


def lanes(drawn: View, state: State, theme: Theme, titles: Mapping[str, str], background: str | None = None) -> str:
    """SVG text of a view in a state; `titles` are tool tips by the id of node or edge."""
    placed = place(drawn, theme)
    box = f"0 0 {placed.width:.0f} {placed.height:.0f}"
    parts = [
        f'<svg xmlns="{SVG}" width="{placed.width:.0f}px" height="{placed.height:.0f}px" viewBox="{box}" role="img">'
    ]
    if background is not None:
        parts.append(
            f'<rect class="background" width="{placed.width:.0f}" height="{placed.height:.0f}" fill="{background}"/>'
        )
    parts.append('<g class="graph">')
    parts += _headings(placed, theme)
    ways = _Ways(placed)
    # What most texts and shapes share stands once on their group: the picture of a large net stays half as long.
    parts.append(
        f'<g font-family="{escape(theme.mono)}" font-size="{theme.label_size:g}" stroke-width="{theme.pen:g}">'
    )
    # On a shared trunk, what is made lies over what is not made yet, at every position.
    for edge in sorted(drawn.edges, key=lambda edge: -edge.made):
        parts += _edge(edge, ways, state, theme, titles.get(edge.id))
    parts.append(f'</g><g font-family="{escape(theme.sans)}" text-anchor="middle" stroke-width="{theme.pen:g}">')
    for node in drawn.nodes:
        parts += _node(node, placed.boxes[node.id], state, theme, titles.get(f"node-{node.id}"))
    parts.append("</g></g></svg>")
    return "\n".join(parts)


@dataclass(frozen=True)
class _Way:
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


class _Ways:
    """Where edges run."""

    def __init__(self, placed: Placement) -> None:
        self._boxes = placed.boxes
        self._taps = placed.taps
        self._track_x = placed.track_x
        self._trunk_of = {edge.number: trunk for trunk in placed.trunks for edge in trunk.edges}

    def way(self, edge: Edge) -> _Way:
        trunk = self._trunk_of.get(edge.number)
        if trunk is not None:
            return self._around(edge, trunk)
        source, target = self._boxes[edge.source], self._boxes[edge.target]
        if edge.rise == 0:
            return _across(source, target)
        up = 1 if edge.rise > 0 else -1
        start, tip = source.port(-up, target), target.port(up, source)
        dx, dy = tip[0] - start[0], tip[1] - start[1]
        clear = 3.5 if dx == 0 else -5.0 if dx * dy > 0 else 12.0
        # In the middle of the part that no detour crosses.
        part = 0.5 + (source.room(-up) - target.room(up)) / abs(dy) / 2
        middle = (start[0] + part * dx + LABEL_OFFSET, start[1] + part * dy + clear)
        return _Way(f"M{_at(start)}L{_at(tip)}", tip, start, middle)

    def _around(self, edge: Edge, trunk: Trunk) -> _Way:
        side, x = trunk.side, self._track_x(trunk)
        leaving, arriving = self._taps[edge.source, id(trunk)], self._taps[edge.target, id(trunk)]
        start, end = leaving.level, arriving.level
        down = 1 if end > start else -1
        bend = min(CORNER, abs(end - start) / 2)
        path = (
            f"{_leave(leaving, side)}H{x - side * bend:.1f}Q{_at((x, start))} {_at((x, start + down * bend))}"
            f"V{end - down * bend:.1f}Q{_at((x, end))} {_at((x - side * bend, end))}{_arrive(arriving, side)}"
        )
        tip = (arriving.x, arriving.y)
        back = (arriving.x, end) if arriving.turns else (arriving.x + side * ARROW, end)
        label_at = self._taps[trunk.label_end(edge), id(trunk)].label
        return _Way(path, tip, back, label_at, "end" if side < 0 else "start")


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


def _across(source: Box, target: Box) -> _Way:
    """Between two nodes of one slot; over those that stand between."""
    side = 1 if target.x > source.x else -1
    start, tip = (source.x + side * source.width / 2, source.y), (target.x - side * target.width / 2, target.y)
    label_at = ((start[0] + tip[0]) / 2 - LABEL_OFFSET, source.top - 4)
    if target.place <= source.place + 1:
        return _Way(f"M{_at(start)}L{_at(tip)}", tip, start, label_at)
    over = source.top - 10
    start, tip = (start[0], start[1] - 8), (target.x - side * target.width / 4, target.top)
    path = f"M{_at(start)}Q{_at((start[0] + 30, over))} {_at((start[0] + 60, over))}H{tip[0] - CORNER:.1f}"
    return _Way(f"{path}Q{_at((tip[0], over))} {_at(tip)}", tip, (tip[0], over), label_at)


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
        if node.role in ("gradient", "seed", "deduplication"):
            yield (
                f'<line class="bar" x1="{left + 4:.1f}" x2="{left + 4:.1f}" y1="{box.top + 4:.1f}" '
                f'y2="{box.bottom - 4:.1f}" stroke="{look.pen}" stroke-width="2.5"/>'
            )
        baseline, size = box.y - 2, theme.title_size
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


def _edge(edge: Edge, ways: _Ways, state: State, theme: Theme, name: str | None) -> Iterator[str]:
    look, way = edge_look(edge, state, theme), ways.way(edge)
    dots = ' stroke-dasharray="1,5"' if edge.kind == "saved" else ""
    yield f'<g id="{edge.id}" class="edge {edge_class(edge)}">{_title(name)}'
    yield f'<path fill="none" stroke="{look.pen}"{_pen(look, theme, dots)} d="{way.path}"/>'
    yield f'<polygon fill="{look.pen}" stroke="{look.pen}" points="{_arrow(way)}"/>'
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


def _arrow(way: _Way) -> str:
    """A triangle whose tip is the way's."""
    dx, dy = way.tip[0] - way.back[0], way.tip[1] - way.back[1]
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    dx, dy = ARROW * dx / length, ARROW * dy / length
    x, y = way.tip[0] - dx, way.tip[1] - dy
    return f"{_at(way.tip)} {_at((x - 0.35 * dy, y + 0.35 * dx))} {_at((x + 0.35 * dy, y - 0.35 * dx))}"


def _title(name: str | None) -> str:
    return f"<title>{escape(name)}</title>" if name else ""


def _at(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"
