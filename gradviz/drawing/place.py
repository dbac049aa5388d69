"""Where things stand in a picture of plain lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .look import node_size
from .theme import Theme
from .tracks import Trunk, trunks
from .view import Node, View
from .words import label, label_width

MARGIN = 12.0
HEADING = 26.0
TRACK_STEP = 14.0
TAP_STEP = 7.0
NODE_SEPARATION = 24.0
LABEL_DISTANCE = 10.0
"""Between a node and the label of an edge at its side; the arrow stands there."""
OVER_LINE, UNDER_LINE = 4.0, 11.0
"""From a line to the baseline of the text over it or under it."""
FIRST_DETOUR = 18.0
"""From a row to the nearest edge that passes nodes of it; saved values run nearer."""


@dataclass(frozen=True)
class Box:
    """A node's middle and size in pixels.

    Attributes:
        place: counts the nodes of its slot from the left.
        over, under: room beyond its slot that is taken by edges that pass nodes of it.
    """

    x: float
    y: float
    width: float
    height: float
    place: int
    round: bool
    over: float
    under: float

    @property
    def top(self) -> float:
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height / 2

    def room(self, side: int) -> float:
        """What detours take over it (-1) or under it (1)."""
        return self.over if side < 0 else self.under

    def port(self, side: int, other: Box) -> tuple[float, float]:
        """Where an edge from or to `other` touches, at the top (-1) or at the bottom (1)."""
        if self.round:
            dx, dy = other.x - self.x, max(abs(other.y - self.y) - other.height / 2, 1.0)
            reach = self.width / 2 / (dx * dx + dy * dy) ** 0.5
            return self.x + dx * reach, self.y + side * dy * reach
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
    label: tuple[float, float] | None

    @property
    def turns(self) -> bool:
        return self.level != self.y


@dataclass(frozen=True)
class Placement:
    """Boxes by line id, trunks, and where trunks meet nodes, by line id and `id(trunk)`."""

    boxes: dict[str, Box]
    trunks: list[Trunk]
    taps: dict[tuple[str, int], Tap]
    forward_x: float
    backward_x: float
    left: float
    right: float
    width: float
    height: float

    def track_x(self, trunk: Trunk) -> float:
        """Where a trunk runs: left of the forward lane, or right of the backward lane."""
        return (self.left if trunk.side < 0 else self.right) + trunk.side * trunk.track * TRACK_STEP


def place(drawn: View, theme: Theme) -> Placement:
    """Both lanes, their tracks, and room for the labels of the edges."""
    nodes = {node.id: node for node in drawn.nodes}
    left, right = trunks(drawn.edges, nodes, "forward"), trunks(drawn.edges, nodes, "backward")
    slots = drawn.slots()
    forward_half, backward_half = (
        max((node_size(node, theme)[0] for node in drawn.nodes if node.is_forward == lane), default=0.0) / 2
        for lane in (True, False)
    )
    left_x = MARGIN + _tracks_width(left)
    forward_x = left_x + _label_room(left, theme) + forward_half
    backward_x = forward_x + max(theme.lane_distance, forward_half + backward_half + theme.lane_gap)
    meetings = _meetings([*left, *right], nodes)
    inner = {node.id for slot in slots for node in _inner(slot)}
    at_sides = {end: found for end, found in meetings.items() if end not in inner}
    detours = [_detours(slot, meetings, theme) for slot in slots]
    boxes, bottom = _boxes(slots, detours, theme, forward_x, backward_x)
    most = max((box.x + box.width / 2 for box in boxes.values()), default=backward_x)
    right_x = most + _label_room(right, theme)
    beside = max(
        (label_width(label(edge.blobs), theme.label_size) for edge in drawn.edges if not edge.skips), default=0.0
    )
    width = max(right_x + _tracks_width(right), most + max(0.0, beside - backward_half) + MARGIN)
    taps = {**_side_taps(at_sides, boxes), **_detour_taps(detours, boxes, most + LABEL_DISTANCE, theme)}
    return Placement(boxes, [*left, *right], taps, forward_x, backward_x, left_x, right_x, width, bottom + MARGIN)


@dataclass(frozen=True)
class _Meeting:
    """A trunk at one of its nodes, from where it goes on upwards or downwards; `lines` of text stand there."""

    node: str
    trunk: Trunk
    down: bool
    lines: int


def _meetings(laid: Sequence[Trunk], nodes: Mapping[str, Node]) -> dict[str, list[_Meeting]]:
    """By line id; the inner tracks come first."""
    found: dict[str, list[_Meeting]] = {}
    for trunk in sorted(laid, key=lambda trunk: trunk.track):
        lines = {trunk.label_end(edge): len(label(edge.blobs)) for edge in trunk.edges}
        leaves_down = nodes[trunk.ends[0]].slot == trunk.top
        for number, end in enumerate(trunk.ends):
            meeting = _Meeting(end, trunk, leaves_down == (number == 0), lines.get(end, 0))
            found.setdefault(end, []).append(meeting)
    return found


def _inner(slot: Sequence[Node]) -> Sequence[Node]:
    """The nodes that have a neighbour at the outer side of their lane; forward operators stand alone in theirs."""
    return [node for node in slot if not node.is_forward][:-1]


@dataclass(frozen=True)
class _Detours:
    """Ways past the nodes of one slot: how far beyond the slot each runs, and the room for all, over and under it."""

    distances: list[tuple[_Meeting, float]]
    over: float
    under: float


def _detours(slot: Sequence[Node], meetings: Mapping[str, list[_Meeting]], theme: Theme) -> _Detours:
    """The way of a node runs beyond those of the nodes to its right, and an inner track's beyond an outer one's.

    So they do not cross where they leave the nodes. Labels stand over the lines.
    """
    passing = [meeting for node in _inner(slot) for meeting in meetings.get(node.id, ())]
    distances: list[tuple[_Meeting, float]] = []
    room = {False: 0.0, True: 0.0}
    for meeting in reversed(passing):
        height = meeting.lines * line_height(theme) + OVER_LINE if meeting.lines else TAP_STEP
        distance = room[meeting.down] or FIRST_DETOUR
        room[meeting.down] = distance + height
        distances.append((meeting, distance + height if meeting.down else distance))
    return _Detours(distances, room[False], room[True])


def _boxes(
    slots: Sequence[Sequence[Node]], detours: Sequence[_Detours], theme: Theme, forward_x: float, backward_x: float
) -> tuple[dict[str, Box], float]:
    """Boxes from top to bottom, and where the last one ends."""
    boxes: dict[str, Box] = {}
    gap = theme.row_gap + theme.label_size + 4
    y = HEADING
    for slot, beside in zip(slots, detours, strict=True):
        sizes = [node_size(node, theme) for node in slot]
        height = max(size[1] for size in sizes)
        x = {True: forward_x, False: backward_x}
        y += beside.over
        for number, (node, size) in enumerate(zip(slot, sizes, strict=True)):
            is_round = node.role == "accumulation"
            middle = (x[node.is_forward], y + height / 2)
            boxes[node.id] = Box(*middle, *size, number, is_round, beside.over, beside.under)
            x[node.is_forward] += size[0] + NODE_SEPARATION
        y += height + beside.under + gap
    return boxes, y - gap


def line_height(theme: Theme) -> float:
    """Between two lines of a label."""
    return theme.label_size + 1


def _tracks_width(laid: Sequence[Trunk]) -> float:
    return (1 + max((trunk.track for trunk in laid), default=-1)) * TRACK_STEP + MARGIN * bool(laid)


def _label_room(laid: Sequence[Trunk], theme: Theme) -> float:
    """Between a lane and its first track."""
    widths = [label_width(label(edge.blobs), theme.label_size) for trunk in laid for edge in trunk.edges]
    return max(widths) + 18.0 if widths else 0.0


def _side_taps(meetings: Mapping[str, list[_Meeting]], boxes: Mapping[str, Box]) -> dict[tuple[str, int], Tap]:
    """Taps at the outer sides, ordered so that those of one node cross no trunk of another tap.

    Trunks that go on upwards meet the upper part, the inner ones highest; those that go on downwards the lower part,
    the inner ones lowest. The first one has its label over it, the last one under it.
    """
    taps: dict[tuple[str, int], Tap] = {}
    for end, found in meetings.items():
        ordered = [meeting for meeting in found if not meeting.down]
        ordered += [meeting for meeting in reversed(found) if meeting.down]
        box = boxes[end]
        step = min(TAP_STEP, (box.height - 10) / len(found))
        for number, meeting in enumerate(ordered):
            side = meeting.trunk.side
            y = box.y + (number - (len(found) - 1) / 2) * step
            beside = box.side(side, box.y) + side * LABEL_DISTANCE
            under = (beside, y + UNDER_LINE) if number == len(found) - 1 else None
            text = (beside, y - OVER_LINE) if number == 0 else under
            taps[end, id(meeting.trunk)] = Tap(box.side(side, y), y, y, text)
    return taps


def _detour_taps(
    detours: Sequence[_Detours], boxes: Mapping[str, Box], label_x: float, theme: Theme
) -> dict[tuple[str, int], Tap]:
    """Taps at tops and bottoms. Their labels stand beyond all nodes, where no other edge cuts them."""
    taps: dict[tuple[str, int], Tap] = {}
    count = Counter(meeting.node for beside in detours for meeting, _ in beside.distances)
    left = count.copy()
    for meeting, distance in (detour for beside in detours for detour in beside.distances):
        box = boxes[meeting.node]
        left[meeting.node] -= 1
        offset = left[meeting.node] - (count[meeting.node] - 1) / 2
        # In the right half, where no saved value arrives, and within where the straight edges of neighbours do.
        x = box.x + 0.3 * box.width + offset * min(TAP_STEP, 0.2 * box.width / count[meeting.node])
        y = box.bottom if meeting.down else box.top
        level = y + distance if meeting.down else y - distance
        first_line = level - OVER_LINE - (meeting.lines - 1) * line_height(theme)
        taps[meeting.node, id(meeting.trunk)] = Tap(x, y, level, (label_x, first_line))
    return taps
