"""Where edges run, straight between neighbours and around the lanes on their tracks, and where their names stand.

A name stands at the first of its spots where it lies over no other name and no node, and rather where no other line
runs through it. One of the backward pass may have the norm of its gradient below it, which a front end writes there:
both then stand half a line higher, and right above a line around a lane a whole one. A node may have a mark at its left
upper corner.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from operator import itemgetter
from typing import NamedTuple

from .place import Placement, gap
from .theme import Theme, label_width, norms
from .tracks import LABEL_DISTANCE, OVER_LINE, Area, Box, Point, Tap, Trunk
from .view import Edge

CORNER = 8.0
ARROW = 7.0
LABEL_OFFSET = 7.0

MARK = (-6.0, -13.0, 12.0, 4.0)
"""Left, top, right and bottom of a mark that a node may have, from its left upper corner."""

HEADINGS = 20.0
"""The height of the headings of the lanes."""

STRIP = 40.0
"""What lies in a picture is looked for in strips of this height."""


class Spot(NamedTuple):
    """Where the first line of a name can stand: its baseline, and the end of the text that is there."""

    x: float
    y: float
    anchor: str = "start"


@dataclass(frozen=True)
class Way:
    """The line of an edge, from its maker to its reader.

    Attributes:
        path: SVG path data.
        start, tip, back: where it begins, where the arrow points, and from where.
    """

    path: str
    start: Point
    tip: Point
    back: Point

    def arrow(self) -> str:
        """A triangle whose tip is the way's."""
        dx, dy = self.tip[0] - self.back[0], self.tip[1] - self.back[1]
        length = (dx * dx + dy * dy) ** 0.5 or 1.0
        dx, dy = ARROW * dx / length, ARROW * dy / length
        x, y = self.tip[0] - dx, self.tip[1] - dy
        return f"{_at(self.tip)} {_at((x - 0.35 * dy, y + 0.35 * dx))} {_at((x + 0.35 * dy, y - 0.35 * dx))}"

    def crosses(self, area: Area) -> bool:
        """Whether it runs through an area, straight and not level."""
        (x, y), (end, foot) = sorted((self.start, self.tip), key=itemgetter(1))
        top, bottom = max(area.top, y), min(area.bottom, foot)
        if top >= bottom or max(x, end) < area.left or area.right < min(x, end):
            return False
        ends = [x + (height - y) / (foot - y) * (end - x) for height in (top, bottom)]
        return min(ends) < area.right and area.left < max(ends)


class Ways:
    """Where edges run, and where their names can stand."""

    def __init__(self, placed: Placement, theme: Theme) -> None:
        self.placed, self.theme = placed, theme
        self._trunk_of = {edge.number: trunk for trunk in placed.trunks for edge in trunk.edges}

    def way(self, edge: Edge) -> Way:
        if (trunk := self._trunk_of.get(edge.number)) is not None:
            return self._around(edge, trunk)
        source, target = self._ends(edge)
        if edge.rise == 0:
            return _across(source, target)
        if edge.kind == "saved":
            return self._between(source, target)
        up = 1 if edge.rise > 0 else -1
        start, tip = source.port(-up, target), target.port(up, source)
        return Way(f"M{_at(start)}L{_at(tip)}", start, tip, start)

    def spots(self, edge: Edge, way: Way) -> Iterator[Spot]:
        """Where the name of an edge can stand, the best spot first; none: it has no room. Saved values have no name."""
        trunk = self._trunk_of.get(edge.number)
        rest = (len(edge.label) - 1) * self.theme.line_height
        if trunk is None:
            yield from self._beside(edge, way, rest) if edge.rise else self._over(edge, rest)
        elif (label_at := trunk.taps[trunk.label_end(edge)].label) is not None:
            yield Spot(*label_at, "end" if trunk.side < 0 else "start")

    def _ends(self, edge: Edge) -> tuple[Box, Box]:
        return self.placed.stack.boxes[edge.source], self.placed.stack.boxes[edge.target]

    def _beside(self, edge: Edge, way: Way, rest: float) -> Iterator[Spot]:
        """On either side of a straight line, from the middle of the part that no detour crosses and no net lies beside.

        Args:
            rest: the height of the lines behind the first one.
        """
        source, target = self._ends(edge)
        upper, lower = (target, source) if edge.rise > 0 else (source, target)
        dx, dy = way.tip[0] - way.start[0], way.tip[1] - way.start[1]
        first, last = sorted((way.start[1], way.tip[1]))
        top, bottom = max(first, upper.nets_end or first) + upper.under, last - lower.over
        # Of a longer line below the upper row: nodes of the other lane stand beside the rest.
        room = bottom - top if abs(edge.rise) == 1 else gap(len(edge.label), self.theme)
        most = max(0.0, room / 2 - rest / 2 - self.theme.line_height)
        for slide in (0.0, -most / 2, most / 2, -most, most):
            y = top + room / 2 + slide
            x = way.start[0] + (y - way.start[1]) / dy * dx
            for side, anchor in ((1, "start"), (-1, "end")):
                clear = 3.5 if dx == 0 else -5.0 if side * dx * dy > 0 else 12.0
                yield Spot(x + side * LABEL_OFFSET, y + clear - rest / 2, anchor)

    def _over(self, edge: Edge, rest: float) -> Iterator[Spot]:
        """Over the left one of two nodes of a slot, where no mark is, or where the line is; and higher, over marks."""
        source, target = self._ends(edge)
        left, right = sorted((source, target), key=lambda box: box.x)
        between = left.right, right.left
        is_next = target.place <= source.place + 1
        low = source.top - OVER_LINE - rest - self.theme.line_height / 2
        for y in (low, low + MARK[1] - MARK[3]):
            yield Spot(between[1] - LABEL_DISTANCE if is_next else between[0], y, "end")
            yield Spot(sum(between) / 2 - LABEL_OFFSET, y)

    def _between(self, source: Box, target: Box) -> Way:
        """From a node to one of another row, in the gap between the lanes; where nets are open, behind their frame."""
        start, tip = (source.right, source.y), (target.left, target.y)
        between = (self.placed.stack.forward_x + self.placed.stack.backward_x) / 2
        x = min(max(between, start[0] + CORNER), tip[0] - ARROW - CORNER)
        bend = CORNER if tip[1] > start[1] else -CORNER
        path = (
            f"M{_at(start)}H{x - CORNER:.1f}Q{_at((x, start[1]))} {_at((x, start[1] + bend))}V{tip[1] - bend:.1f}"
            f"Q{_at((x, tip[1]))} {_at((x + CORNER, tip[1]))}H{tip[0]:.1f}"
        )
        return Way(path, start, tip, (x, tip[1]))

    def _around(self, edge: Edge, trunk: Trunk) -> Way:
        side, x = trunk.side, self.placed.track_x(trunk)
        leaving, arriving = trunk.taps[edge.source], trunk.taps[edge.target]
        start, end = leaving.level, arriving.level
        down = 1 if end > start else -1
        bend = min(CORNER, abs(end - start) / 2)
        path = (
            f"{_leave(leaving, side)}H{x - side * bend:.1f}Q{_at((x, start))} {_at((x, start + down * bend))}"
            f"V{end - down * bend:.1f}Q{_at((x, end))} {_at((x - side * bend, end))}{_arrive(arriving, side)}"
        )
        tip = (arriving.x, arriving.y)
        back = (arriving.x, end) if arriving.turns else (arriving.x + side * ARROW, end)
        return Way(path, (leaving.x, leaving.y), tip, back)


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
    if target.place <= source.place + 1:
        return Way(f"M{_at(start)}L{_at(tip)}", start, tip, start)
    over = source.top - 10
    start, tip = (start[0], start[1] - 8), (target.x - side * target.width / 4, target.top)
    path = f"M{_at(start)}Q{_at((start[0] + 30, over))} {_at((start[0] + 60, over))}H{tip[0] - CORNER:.1f}"
    return Way(f"{path}Q{_at((tip[0], over))} {_at(tip)}", start, tip, (tip[0], over))


def _at(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"


class Room(NamedTuple):
    """What a name takes, with the norm below it: its width, and what is over and under its first baseline."""

    width: float
    over: float
    under: float

    def at(self, spot: Spot) -> Area:
        left = spot.x if spot.anchor == "start" else spot.x - self.width
        return Area(left, spot.y - self.over, left + self.width, spot.y + self.under)


class Labels:
    """The spots of names: by the numbers of the edges; those that have no room for a name are not there.

    Args:
        edges: of all nets.
        lines: where they run, by their numbers.
    """

    def __init__(self, edges: Sequence[Edge], ways: Ways, lines: Mapping[int, Way]) -> None:
        self.spots: dict[int, Spot] = {}
        self._ways = ways
        self._taken: dict[int, list[Area]] = defaultdict(list)
        self._lines: dict[int, list[Way]] = defaultdict(list)
        self._dotted: dict[int, list[Area]] = defaultdict(list)
        self._take(Area(-inf, 0, inf, HEADINGS))
        for box in ways.placed.stack.boxes.values():
            for area in _areas(box):
                self._take(area)
        named = [edge for edge in edges if edge.kind != "saved"]
        for edge in filter(_is_straight, named):
            way = lines[edge.number]
            for strip in _strips(*sorted((way.start[1], way.tip[1]))):
                self._lines[strip].append(way)
        for area in (area for edge in edges if edge.kind == "saved" for area in _bends(edge, lines[edge.number])):
            for strip in _strips(area.top, area.bottom):
                self._dotted[strip].append(area)
        # First those that can stand nowhere else, or least far from where one looks for them.
        for edge in sorted(named, key=lambda edge: (_is_straight(edge), not edge.skips, _width(lines[edge.number]))):
            self._put(edge, lines[edge.number])

    def _put(self, edge: Edge, way: Way) -> None:
        room = self._room(edge)
        first = free = None
        for spot in self._ways.spots(edge, way):
            first = first or spot
            area = room.at(spot)
            if self._is_taken(area):
                continue
            free = free or spot
            if not self._is_crossed(area, way):
                free = spot
                break
        if chosen := free or first:
            self.spots[edge.number] = chosen
            self._take(room.at(chosen))

    def _take(self, area: Area) -> None:
        for strip in _strips(area.top, area.bottom):
            self._taken[strip].append(area)

    def _is_taken(self, area: Area) -> bool:
        return any(area.meets(other) for strip in _strips(area.top, area.bottom) for other in self._taken[strip])

    def _is_crossed(self, area: Area, own: Way) -> bool:
        strips = _strips(area.top, area.bottom)
        if any(area.meets(line) for strip in strips for line in self._dotted[strip]):
            return True
        return any(way is not own and way.crosses(area) for strip in strips for way in self._lines[strip])

    def _room(self, edge: Edge) -> Room:
        theme = self._ways.theme
        lines, size, step = edge.label, theme.label_size, theme.line_height
        width, over, under = label_width(lines, size), 0.7 * size, (len(lines) - 1) * step + 1
        if edge.kind != "backward":
            return Room(width, over, under)
        width = max(width, label_width([norms(len(edge.names))], size))
        return Room(width, over + (step if edge.skips else step / 2), under + step / 2)


def _strips(top: float, bottom: float) -> range:
    return range(int(top // STRIP), int(bottom // STRIP) + 1)


def _is_straight(edge: Edge) -> bool:
    """Whether it goes from row to row, past no node."""
    return not edge.skips and edge.rise != 0


def _bends(edge: Edge, way: Way) -> Iterator[Area]:
    """Where the line of a saved value runs beside or above nodes."""
    (left, start), (right, end), (x, level) = way.start, way.tip, way.back
    if edge.rise:
        yield Area(x - 1, min(start, end), x + 1, max(start, end))
    elif level != start:
        yield Area(left, level - 1, right, level + 1)


def _width(way: Way) -> float:
    return abs(way.start[0] - way.tip[0])


def _areas(box: Box) -> Iterator[Area]:
    """What a node takes, and its mark."""
    yield box.area
    yield Area(box.left + MARK[0], box.top + MARK[1], box.left + MARK[2], box.top + MARK[3])
