"""Where the names of edges stand: each at the first of its spots where it lies over no other name and no node, and
rather where no other line runs through it.

A name of the backward pass may have the norm of its gradient below it, which a front end writes there: both then stand
half a line higher, and right above a line around a lane a whole one. A node may have a mark at its left upper corner.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from operator import itemgetter
from typing import NamedTuple

from .theme import Theme, label, label_width, norms
from .tracks import Box, line_height
from .view import Edge
from .ways import MARK, Spot, Way, Ways

HEADINGS = 20.0
"""The height of the headings of the lanes."""

STRIP = 40.0
"""What lies in a picture is looked for in strips of this height."""


class Area(NamedTuple):
    """In pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Area) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def is_crossed(self, way: Way) -> bool:
        """Whether a straight line that is not level runs through it."""
        (x, y), (end, foot) = sorted((way.start, way.tip), key=itemgetter(1))
        top, bottom = max(self.top, y), min(self.bottom, foot)
        if top >= bottom or max(x, end) < self.left or self.right < min(x, end):
            return False
        ends = [x + (height - y) / (foot - y) * (end - x) for height in (top, bottom)]
        return min(ends) < self.right and self.left < max(ends)

    @property
    def strips(self) -> range:
        return range(int(self.top // STRIP), int(self.bottom // STRIP) + 1)


class Room(NamedTuple):
    """What a name takes, with the norm below it: its width, and what is over and under its first baseline."""

    width: float
    over: float
    under: float

    def at(self, spot: Spot) -> Area:
        left = spot.x if spot.anchor == "start" else spot.x - self.width
        return Area(left, spot.y - self.over, left + self.width, spot.y + self.under)


class Labels:
    """The spots of names.

    Args:
        edges: of all nets.
        ways: says where names can stand.
        lines: where the edges run, by their numbers.
        boxes: of the nodes.

    Attributes:
        spots: by the numbers of the edges; those that have no room for a name are not there.
    """

    def __init__(
        self, edges: Sequence[Edge], ways: Ways, lines: Mapping[int, Way], boxes: Iterable[Box], theme: Theme
    ) -> None:
        self.spots: dict[int, Spot] = {}
        self._ways, self._theme = ways, theme
        self._taken: dict[int, list[Area]] = defaultdict(list)
        self._lines: dict[int, list[Way]] = defaultdict(list)
        self._dotted: dict[int, list[Area]] = defaultdict(list)
        self._take(Area(-inf, 0, inf, HEADINGS))
        for area in (area for box in boxes for area in _areas(box)):
            self._take(area)
        named = [edge for edge in edges if edge.kind != "saved"]
        for edge in filter(_is_straight, named):
            way = lines[edge.number]
            for strip in Area(0, min(way.start[1], way.tip[1]), 0, max(way.start[1], way.tip[1])).strips:
                self._lines[strip].append(way)
        for area in (area for edge in edges if edge.kind == "saved" for area in _bends(edge, lines[edge.number])):
            for strip in area.strips:
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
        for strip in area.strips:
            self._taken[strip].append(area)

    def _is_taken(self, area: Area) -> bool:
        return any(area.meets(other) for strip in area.strips for other in self._taken[strip])

    def _is_crossed(self, area: Area, own: Way) -> bool:
        strips = area.strips
        if any(area.meets(line) for strip in strips for line in self._dotted[strip]):
            return True
        return any(way is not own and area.is_crossed(way) for strip in strips for way in self._lines[strip])

    def _room(self, edge: Edge) -> Room:
        lines, size, step = label(edge.names), self._theme.label_size, line_height(self._theme)
        width, over, under = label_width(lines, size), 0.7 * size, (len(lines) - 1) * step + 1
        if edge.kind != "backward":
            return Room(width, over, under)
        width = max(width, label_width([norms(len(edge.names))], size))
        return Room(width, over + (step if edge.skips else step / 2), under + step / 2)


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
    left, right = box.x - box.width / 2, box.x + box.width / 2
    yield Area(left, box.top, right, box.bottom)
    yield Area(left + MARK[0], box.top + MARK[1], left + MARK[2], box.top + MARK[3])
