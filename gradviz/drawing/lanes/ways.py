"""Where edges run in a picture of plain lanes.

Edges between neighbours are straight, those that skip nodes run on tracks at the outer side of their lane.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..theme import Theme
from ..view import Edge
from ..words import label
from .place import Placement
from .tracks import Box, Tap, Trunk, line_height

CORNER = 8.0
ARROW = 7.0
LABEL_OFFSET = 7.0

Point = tuple[float, float]


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
        self._between_x = (placed.forward_x + placed.backward_x) / 2
        self._boxes = placed.boxes
        self._taps = placed.taps
        self._track_x = placed.track_x
        self._trunk_of = {edge.number: trunk for trunk in placed.trunks for edge in trunk.edges}

    def way(self, edge: Edge) -> Way:
        trunk = self._trunk_of.get(edge.number)
        if trunk is not None:
            return self._around(edge, trunk)
        source, target = self._boxes[edge.source], self._boxes[edge.target]
        if edge.rise == 0:
            return _across(source, target)
        if edge.kind == "saved":
            return self._between(source, target)
        up = 1 if edge.rise > 0 else -1
        start, tip = source.port(-up, target), target.port(up, source)
        dx, dy = tip[0] - start[0], tip[1] - start[1]
        clear = 3.5 if dx == 0 else -5.0 if dx * dy > 0 else 12.0
        # In the middle of the part that no detour crosses.
        part = 0.5 + (source.room(-up) - target.room(up)) / abs(dy) / 2
        first_line = start[1] + part * dy + clear - (len(label(edge.blobs)) - 1) * line_height(self._theme) / 2
        middle = (start[0] + part * dx + LABEL_OFFSET, first_line)
        return Way(f"M{_at(start)}L{_at(tip)}", tip, start, middle)

    def _between(self, source: Box, target: Box) -> Way:
        """From a node to one of another row, in the gap between the lanes; where nets are open, behind their frame."""
        start, tip = (source.x + source.width / 2, source.y), (target.x - target.width / 2, target.y)
        x = min(max(self._between_x, start[0] + CORNER), tip[0] - ARROW - CORNER)
        bend = CORNER if tip[1] > start[1] else -CORNER
        path = (
            f"M{_at(start)}H{x - CORNER:.1f}Q{_at((x, start[1]))} {_at((x, start[1] + bend))}V{tip[1] - bend:.1f}"
            f"Q{_at((x, tip[1]))} {_at((x + CORNER, tip[1]))}H{tip[0]:.1f}"
        )
        return Way(path, tip, (x, tip[1]), None)

    def _around(self, edge: Edge, trunk: Trunk) -> Way:
        side, x = trunk.side, self._track_x[id(trunk)]
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
