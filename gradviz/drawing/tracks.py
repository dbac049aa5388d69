"""Ways around a lane: edges that skip nodes run beside the lane, on tracks that do not run into each other.

Edges with a common end share a trunk: one line along the lane, with a tap at every node that it serves. Shorter trunks
run nearer to the lane, so that nested ones do not cross. A tap past the neighbours of a node takes a detour over or
under them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .flows import EdgeKind
from .theme import Theme
from .view import Edge, Node, View

MOST_TRACKS = 40
"""Beyond it trunks share the outermost track: a net that tangled is not read by its lines any more."""

TAP_STEP = 7.0

LABEL_DISTANCE = 10.0
"""Between a node and the label of an edge at its side; the arrow stands there."""

OVER_LINE, UNDER_LINE = 4.0, 11.0
"""From a line to the baseline of the text over it or under it."""

FIRST_DETOUR = 18.0
"""From a row to the nearest edge that passes nodes of it; saved values run nearer."""

FIRST_BELOW = 5.0
"""From the last port of an open operator to the label of the nearest edge there."""


@dataclass
class Trunk:
    """Edges with one common end.

    Attributes:
        depth: of the net that it runs in; 0 for the outermost.
        top, bottom: the slots between which it runs.
        track: 0 is the nearest to the lane.
        ends: the common end first, then the others in the order of the edges.
        port: where some of its edges begin, and where there is no room for labels.
        taps: where it meets nodes, by their ids.
    """

    depth: int
    top: int
    bottom: int
    edges: list[Edge] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    track: int = 0
    port: str | None = None
    taps: dict[str, Tap] = field(default_factory=dict)

    @property
    def side(self) -> int:
        """-1: left of the forward lane, 1: right of the backward lane."""
        return -1 if self.edges[0].kind == "forward" else 1

    def label_end(self, edge: Edge) -> str:
        """Where the label of `edge` stands: at the end that it shares with no other edge, at its source if it can."""
        is_crowded = self.ends[0] == edge.source and len(self.edges) > 1
        return edge.target if is_crowded or edge.source == self.port else edge.source


def trunks(net: View, kind: EdgeKind) -> list[Trunk]:
    """The trunks of all edges of a net's lane that skip nodes, with their tracks, in O(n log n)."""
    nodes = {node.id: node for node in net.nodes}
    skipping = [edge for edge in net.edges if edge.skips and edge.kind == kind]
    leaving = Counter(edge.source for edge in skipping)
    arriving = Counter(edge.target for edge in skipping)
    by_end: dict[tuple[str, str], Trunk] = {}
    for edge in skipping:
        shared, other = edge.source, edge.target
        if arriving[edge.target] > leaving[edge.source]:
            shared, other = other, shared
        slots = (nodes[shared].slot, nodes[other].slot)
        # One trunk for those that leave upwards, another for those that leave downwards.
        way = "up" if slots[1] < slots[0] else "down"
        trunk = by_end.setdefault((shared, way), Trunk(net.depth, min(slots), max(slots)))
        trunk.top, trunk.bottom = min(trunk.top, *slots), max(trunk.bottom, *slots)
        trunk.ends = trunk.ends or [shared]
        if nodes[edge.source].role == "port" and not edge.carried:
            trunk.port = edge.source
        trunk.edges.append(edge)
        trunk.ends.append(other)
    _lay(list(by_end.values()))
    return list(by_end.values())


def _lay(laid: list[Trunk]) -> None:
    """Give every trunk the innermost track that is free along all of it."""
    tracks: list[list[tuple[int, int]]] = []
    for trunk in sorted(laid, key=lambda trunk: (trunk.bottom - trunk.top, trunk.top)):
        number = next((number for number, taken in enumerate(tracks) if _is_free(taken, trunk)), len(tracks))
        trunk.track = min(number, MOST_TRACKS - 1)
        if trunk.track == len(tracks):
            tracks.append([])
        insort(tracks[trunk.track], (trunk.top, trunk.bottom))


def _is_free(taken: list[tuple[int, int]], trunk: Trunk) -> bool:
    """Whether no stretch of a track touches the trunk's; the stretches are disjoint and sorted."""
    after = bisect_left(taken, (trunk.bottom, -1))
    return after == 0 or taken[after - 1][1] <= trunk.top


Point = tuple[float, float]


class Area(NamedTuple):
    """In pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Area) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


@dataclass(frozen=True)
class Box:
    """A node's middle and size in pixels.

    Attributes:
        place: counts the nodes of its slot from the left.
        over, under: room beyond its slot that is taken by edges that pass nodes of it.
        foot: for an open operator, where its last net ends, and edges from and to what is below begin.
        nets_end: the same, for each node beside an open operator too.
    """

    x: float
    y: float
    width: float
    height: float
    place: int
    round: bool
    over: float
    under: float
    foot: float | None = None
    nets_end: float | None = None

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height / 2

    @property
    def area(self) -> Area:
        return Area(self.left, self.top, self.right, self.bottom)

    @property
    def end(self) -> float:
        """Where what is below it begins."""
        return self.bottom if self.foot is None else self.foot

    def port(self, side: int, other: Box) -> Point:
        """Where an edge from or to `other` touches, at the top (-1) or at the bottom (1)."""
        if self.round:
            dx, dy = other.x - self.x, max(abs(other.y - self.y) - other.height / 2, 1.0)
            reach = self.width / 2 / (dx * dx + dy * dy) ** 0.5
            return self.x + dx * reach, self.y + side * dy * reach
        if side > 0 and self.foot is not None:
            return self.x, self.foot
        most = 0.42 * self.width
        return self.x + min(max(other.x - self.x, -most), most), self.y + side * self.height / 2

    def side(self, side: int, y: float) -> float:
        """Where the outline is at height `y`, on the left (-1) or on the right (1)."""
        half = self.width / 2
        if self.round:
            half = max(half * half - (y - self.y) ** 2, 0.0) ** 0.5
        return self.x + side * half


@dataclass(frozen=True)
class Tap:
    """Where a trunk meets a node.

    Attributes:
        x, y: on the outline of the node.
        level: the height at which it runs to the track; `y` but for a detour over or under the neighbours of the node.
        label: where a text at this end begins; None: there is no room for it.
    """

    x: float
    y: float
    level: float
    label: Point | None

    @property
    def turns(self) -> bool:
        return self.level != self.y


@dataclass(frozen=True)
class Meeting:
    """A trunk at one of its nodes, from where it goes on upwards or downwards; `lines` of text stand there."""

    node: Node
    trunk: Trunk
    down: bool
    lines: int

    @property
    def below(self) -> bool:
        """Whether it meets an open operator where its nets end."""
        return self.down and self.node.fold == "open"


Meetings = Mapping[str, Sequence[Meeting]]
"""By line id; the inner tracks come first."""


@dataclass(frozen=True)
class Detours:
    """Ways past the nodes of one slot: how far beyond the slot each runs, and the room for all, over and under it."""

    distances: list[tuple[Meeting, float]]
    over: float
    under: float


def meetings(laid: Sequence[Trunk], nodes: Mapping[str, Node]) -> Meetings:
    """The meetings of trunks with nodes."""
    by_node: dict[str, list[Meeting]] = {}
    for trunk in sorted(laid, key=lambda trunk: trunk.track):
        lines = {trunk.label_end(edge): len(edge.label) for edge in trunk.edges}
        leaves_down = nodes[trunk.ends[0]].slot == trunk.top
        for number, end in enumerate(trunk.ends):
            meeting = Meeting(nodes[end], trunk, leaves_down == (number == 0), lines.get(end, 0))
            by_node.setdefault(end, []).append(meeting)
    return by_node


def detours(slot: Sequence[Node], by_node: Meetings, theme: Theme) -> Detours:
    """The way of a node runs beyond those of the nodes to its right, and an inner track's beyond an outer one's.

    So they do not cross where they leave the nodes. Labels stand over the lines.
    """
    inner = passing(slot)
    distances: list[tuple[Meeting, float]] = []
    room = {False: 0.0, True: 0.0}
    for meeting in reversed([meeting for node in inner for meeting in by_node.get(node.id, ())]):
        height = _height(meeting, theme)
        distance = room[meeting.down] or FIRST_DETOUR
        room[meeting.down] = distance + height
        distances.append((meeting, distance + height if meeting.down else distance))
    below = {-1: 0.0, 1: 0.0}
    for meeting in reversed([meeting for node in slot if node not in inner for meeting in by_node.get(node.id, ())]):
        if meeting.below:
            side = meeting.trunk.side
            below[side] = (below[side] or max(room[True], FIRST_BELOW)) + _height(meeting, theme)
            distances.append((meeting, below[side]))
    return Detours(distances, room[False], max(room[True], *below.values()))


def tap_sides(by_node: Meetings, boxes: Mapping[str, Box], theme: Theme) -> None:
    """Give trunks their taps at the outer sides, ordered so that those of one node cross no trunk of another tap.

    Trunks that go on upwards meet the upper part, the inner ones highest; those that go on downwards the lower part,
    the inner ones lowest. The first one has its label over it, the last one under it.
    """
    for end, all_of_node in by_node.items():
        ordered = [meeting for meeting in all_of_node if not meeting.down]
        ordered += [meeting for meeting in reversed(all_of_node) if meeting.down and not meeting.below]
        box = boxes[end]
        step = min(TAP_STEP, max(box.height - 10, box.height / 2) / max(len(ordered), 1))
        for number, meeting in enumerate(ordered):
            side = meeting.trunk.side
            y = box.y + (number - (len(ordered) - 1) / 2) * step
            beside = box.side(side, box.y) + side * LABEL_DISTANCE
            # Below a sum stands the name of what enters it from there: two lines more would lie over that.
            is_crowded = meeting.node.role == "accumulation" and meeting.lines > 1
            # A norm below a name moves it up by half a line, which stays off the line above it.
            below = y + UNDER_LINE + (theme.line_height / 2 if side > 0 else 0.0)
            under = (beside, below) if number == len(ordered) - 1 and not is_crowded else None
            over = (beside, y - OVER_LINE - max(meeting.lines - 1, 0) * theme.line_height)
            text = over if number == 0 else under
            meeting.trunk.taps[end] = Tap(box.side(side, y), y, y, text)


def tap_detours(all_detours: Sequence[Detours], boxes: Mapping[str, Box], label_x: float, theme: Theme) -> None:
    """Give trunks their taps at tops and bottoms.

    Labels of those that pass nodes stand beyond all, where no other edge cuts them.
    """
    count = Counter(meeting.node.id for beside in all_detours for meeting, _ in beside.distances)
    left = count.copy()
    for meeting, distance in (detour for beside in all_detours for detour in beside.distances):
        box, side = boxes[meeting.node.id], meeting.trunk.side
        left[meeting.node.id] -= 1
        offset = left[meeting.node.id] - (count[meeting.node.id] - 1) / 2
        # On the outer side, where no saved value arrives, and within where the straight edges of neighbours do.
        middle, width = (
            (0.3 * theme.port_width, 0.3 * theme.port_width) if meeting.below else (0.3 * box.width, 0.2 * box.width)
        )
        x = box.x + side * (middle + offset * min(TAP_STEP, width / count[meeting.node.id]))
        y = box.end if meeting.down else box.top
        level = y + distance if meeting.down else y - distance
        first_line = level - OVER_LINE - (meeting.lines - 1) * theme.line_height
        text_x = box.side(side, box.y) + side * LABEL_DISTANCE if meeting.below else label_x
        meeting.trunk.taps[meeting.node.id] = Tap(x, y, level, (text_x, first_line))


def passing(slot: Sequence[Node]) -> Sequence[Node]:
    """The nodes that have a neighbour at the outer side of their lane; forward operators stand alone in theirs."""
    return [node for node in slot if not node.is_forward][:-1]


def _height(meeting: Meeting, theme: Theme) -> float:
    return meeting.lines * theme.line_height + OVER_LINE if meeting.lines else TAP_STEP
