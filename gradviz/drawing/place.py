"""Where things stand in a picture of plain lanes, which go through all nets that are shown.

The rows of a net stand one below the other, those of an open operator's nets below its row. Beside the lanes there are,
from the inside to the outside: labels, then tracks and frame of the innermost nets, then those of the nets around them,
to the tracks of the outermost net.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import ceil

from .theme import Theme, label_width
from .tracks import (
    LABEL_DISTANCE,
    Area,
    Box,
    Detours,
    Meetings,
    Trunk,
    detours,
    meetings,
    passing,
    tap_detours,
    tap_sides,
    trunks,
)
from .view import Cluster, Node, Section, View

MARGIN = 12.0
TRACK_STEP = 14.0
FRAME_STEP = 12.0
"""Between the frames of two nets, one in the other, and between the innermost one and what it contains."""
CORNER_ROOM = 10.0
"""Before a track: edges turn there."""

HEADING = 45.0
"""Above the first row, with room for a leaf between the two."""

NODE_SEPARATION = 24.0

FRAME_PADDING = 8.0
"""Between the frame of a cluster and the row of its operator, above and below it."""

STRIP = 20.0
"""The height of a net's title."""

NET_PADDING = 14.0
"""Between a net's border and a row without ports, and between one net and the title of the next."""


@dataclass(frozen=True)
class Side:
    """One side, as distances from the widest nodes; the lists go by depth, 0 for the outermost net.

    Attributes:
        rooms: for the labels of the nets of a depth and of those around them.
        starts: of the first track.
        borders: of the frames around nets; for the outermost net, the end of its tracks.
    """

    rooms: list[float]
    starts: list[float]
    borders: list[float]

    @property
    def reach(self) -> float:
        """How much room there has to be."""
        return self.borders[0] + MARGIN * (self.borders[0] > self.starts[0]) + MARGIN

    def shells(self, depth: int) -> Iterator[tuple[float, float]]:
        """From where to where nothing is but lines across, if no net of a depth is shown."""
        if self.rooms[depth] > self.rooms[depth - 1]:
            yield max(self.rooms[depth - 1] - CORNER_ROOM, 0.0), self.rooms[depth] - CORNER_ROOM
        yield self.starts[depth] - CORNER_ROOM, self.borders[depth] + FRAME_STEP - CORNER_ROOM


def side(laid: Sequence[Trunk], beside: Sequence[float], theme: Theme) -> Side:
    """The side on which trunks run; `beside` is what else stands beside the nodes of the nets of a depth."""
    rooms = list(accumulate((_label_room(laid, depth, room, theme) for depth, room in enumerate(beside)), max))
    starts, borders = [0.0] * len(rooms), [0.0] * len(rooms)
    at = rooms[-1]
    for depth in reversed(range(len(rooms))):
        starts[depth] = at
        count = 1 + max((trunk.track for trunk in laid if trunk.depth == depth), default=-1)
        borders[depth] = at + count * TRACK_STEP
        at = borders[depth] + FRAME_STEP
    return Side(rooms, starts, borders)


def _label_room(laid: Sequence[Trunk], depth: int, beside: float, theme: Theme) -> float:
    """Between a lane and its first track or frame."""
    edges = (edge for trunk in laid if trunk.depth == depth for edge in trunk.edges)
    labels = max((label_width(edge.label, theme.label_size) + 18.0 for edge in edges), default=0.0)
    return float(ceil(max(labels, beside, FRAME_STEP if depth else 0.0)))


@dataclass
class Stack:
    """Boxes by line id; where frames begin and end by the operator's id, and titles of nets by the net's."""

    theme: Theme
    meetings: Meetings
    forward_x: float
    backward_x: float
    y: float = HEADING
    boxes: dict[str, Box] = field(default_factory=dict)
    frames: dict[str, tuple[float, float]] = field(default_factory=dict)
    strips: dict[str, float] = field(default_factory=dict)
    detours: list[Detours] = field(default_factory=list)

    def net(self, drawn: View) -> None:
        """Put the rows of a net below what is there; `y` is then where the last one ends."""
        clusters = {cluster.slot: cluster for cluster in drawn.clusters}
        gaps = _gaps(drawn, self.theme)
        rows = drawn.rows()
        for row in rows:
            slot = row[0].slot
            self._row(row, clusters.get(slot))
            if row is not rows[-1]:
                self.y += gaps.get(slot, gap(1, self.theme))

    def _row(self, row: Sequence[Node], cluster: Cluster | None) -> None:
        beside = detours(row, self.meetings, self.theme)
        self.detours.append(beside)
        sizes = [node.size(self.theme) for node in row]
        height = max(size[1] for size in sizes)
        over = max(beside.over, self._over_names(row))
        self.y += over
        top = self.y
        self.y += height
        if cluster is not None:
            self._nets(cluster)
        x = {True: self.forward_x, False: self.backward_x}
        for place, (node, size) in enumerate(zip(row, sizes, strict=True)):
            middle = (x[node.is_forward], top + height / 2)
            is_round = node.role == "accumulation"
            nets_end = None if cluster is None else self.y
            foot = nets_end if node.fold == "open" else None
            self.boxes[node.id] = Box(*middle, *size, place, is_round, over, beside.under, foot, nets_end)
            x[node.is_forward] += size[0] + NODE_SEPARATION
        self.y += beside.under
        if cluster is not None:
            self.y += FRAME_PADDING if beside.under else 0.0
            self.frames[cluster.owner] = (top - FRAME_PADDING, self.y)

    def _over_names(self, row: Sequence[Node]) -> float:
        """Room over a row for the names of what enters at the sides: of one line, only sums are too low for that."""
        entering = [meeting for node in row if not node.is_forward for meeting in self.meetings.get(node.id, ())]
        lines = (meeting.lines - (meeting.node.role != "accumulation") for meeting in entering)
        return max([0, *lines]) * self.theme.line_height

    def _nets(self, cluster: Cluster) -> None:
        """The nets of a cluster below its row, each from the border under its title to its last border."""
        self.y += FRAME_PADDING
        for section in cluster.sections:
            rows = section.view.rows()
            self.strips[section.id] = self.y
            self.y += STRIP + self._inside_of_border(rows[0])
            self.net(section.view)
            self.y += self._inside_of_border(rows[-1])
            if section is not cluster.sections[-1]:
                self.y += NET_PADDING

    def _inside_of_border(self, row: Sequence[Node]) -> float:
        """From the border of a net to a row of it; half of a port is outside."""
        return -self.theme.port_height / 2 if row[0].role == "port" else NET_PADDING


def _gaps(drawn: View, theme: Theme) -> dict[int, float]:
    """Room between a slot and the next one of its net, for the labels that stand there, each with a norm below it.

    The label of a slanted edge stands lower, where the name of what enters the node below it may begin.
    """
    slots = {node.id: node.slot for node in drawn.nodes}
    backward = ([node for node in row if not node.is_forward] for row in drawn.rows())
    places = {node.id: place for lane in backward for place, node in enumerate(lane)}
    lines: dict[int, int] = {}
    for edge in drawn.edges:
        if not edge.skips and edge.kind != "saved":
            upper = min(slots[edge.source], slots[edge.target])
            count = len(edge.label) + (2 if places.get(edge.source) != places.get(edge.target) else 0)
            lines[upper] = max(lines.get(upper, 1), count)
    return {slot: gap(count, theme) for slot, count in lines.items()}


def gap(lines: int, theme: Theme) -> float:
    """Between two rows, for labels of so many lines."""
    return theme.row_gap + lines * theme.line_height + 3


@dataclass(frozen=True)
class Placement:
    """Where everything is.

    Attributes:
        left, right: from where to where nodes reach; beyond are the two sides.
    """

    stack: Stack
    trunks: list[Trunk]
    left_side: Side
    left: float
    right_side: Side
    right: float
    width: float

    @property
    def height(self) -> float:
        return self.stack.y + MARGIN

    def frame(self, cluster: Cluster) -> Area:
        """Around an open operator and its nets."""
        return self._across(cluster.depth, *self.stack.frames[cluster.owner])

    def fold(self, cluster: Cluster) -> Area:
        """What vanishes of a cluster when it closes."""
        box = self.stack.boxes[cluster.owner]
        return self._across(cluster.depth, box.bottom, box.end)

    def strip(self, section: Section) -> Area:
        """The title of a net."""
        y = self.stack.strips[section.id]
        return self._across(section.view.depth, y, y + STRIP)

    def shells(self, first: int) -> Iterator[tuple[int, Area]]:
        """What vanishes on both sides when no cluster of a depth is open, with the depth, from the `first` on."""
        for depth in range(first, len(self.left_side.starts)):
            for start, end in self.left_side.shells(depth):
                yield depth, Area(self.left - end, 0, self.left - start, self.height)
            for start, end in self.right_side.shells(depth):
                yield depth, Area(self.right + start, 0, self.right + end, self.height)

    def inner(self, depth: int) -> tuple[float, float]:
        """From the end of the tracks of a depth on one side to their beginning on the other."""
        left, right = (max(side.starts[depth] - CORNER_ROOM, 0.0) for side in (self.left_side, self.right_side))
        return self.left - left, self.right + right

    def track_x(self, trunk: Trunk) -> float:
        """Where a trunk runs: left of the forward lane, or right of the backward lane."""
        lane_end, beside = (self.left, self.left_side) if trunk.side < 0 else (self.right, self.right_side)
        return lane_end + trunk.side * (beside.starts[trunk.depth] + trunk.track * TRACK_STEP)

    def _across(self, depth: int, top: float, bottom: float) -> Area:
        left, right = self.left - self.left_side.borders[depth], self.right + self.right_side.borders[depth]
        return Area(left, top, right, bottom)


HEADING_LETTERS = 6.0
"""About the width of the heading of a lane, in sizes of its letters."""


def halves(views: Iterable[View], theme: Theme) -> tuple[float, float]:
    """Half the width of the widest node of the forward lane and of that of the backward lane, or of their headings."""
    widest = dict.fromkeys((True, False), HEADING_LETTERS * theme.title_size)
    for node in (node for drawn in views for node in drawn.all_nodes()):
        widest[node.is_forward] = max(widest[node.is_forward], node.size(theme)[0])
    return widest[True] / 2, widest[False] / 2


def place(drawn: View, theme: Theme, widest: tuple[float, float] | None = None) -> Placement:
    """Both lanes, their tracks, and room for the labels of the edges. `widest`: as `halves` gives it, of more nodes."""
    nets = list(drawn.nets())
    nodes = {node.id: node for node in drawn.all_nodes()}
    left, right = ([trunk for net in nets for trunk in trunks(net, kind)] for kind in ("forward", "backward"))
    beside = [_beside(nets, depth, theme) for depth in range(1 + max(net.depth for net in nets))]
    forward_half, backward_half = widest or halves([drawn], theme)
    left_side = side(left, [0.0] * len(beside), theme)
    forward_x = left_side.reach + forward_half
    backward_x = forward_x + max(theme.lane_distance, forward_half + backward_half + theme.lane_gap)

    by_node = meetings([*left, *right], nodes)
    stack = Stack(theme, by_node, forward_x, backward_x)
    stack.net(drawn)
    most = max([backward_x + backward_half, *(box.right for box in stack.boxes.values())])
    # What stands beside the backward lane stays inside of tracks and frames.
    over = [backward_x + LABEL_DISTANCE + width - most for width in beside]
    right_side = side(right, over, theme)
    width = most + max(right_side.reach - MARGIN, max(over) - LABEL_DISTANCE + MARGIN)

    inner = {node.id for net in nets for row in net.rows() for node in passing(row)}
    at_sides = {end: there for end, there in by_node.items() if end not in inner}
    tap_sides(at_sides, stack.boxes, theme)
    tap_detours(stack.detours, stack.boxes, most + LABEL_DISTANCE, theme)
    return Placement(stack, [*left, *right], left_side, forward_x - forward_half, right_side, most, width)


def _beside(nets: Sequence[View], depth: int, theme: Theme) -> float:
    """The width of the labels beside the straight edges of the nets of a depth."""
    edges = (edge for net in nets if net.depth == depth for edge in net.edges if not edge.skips)
    return max((label_width(edge.label, theme.label_size) for edge in edges), default=0.0)
