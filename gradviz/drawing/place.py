"""Where things stand in a picture of plain lanes."""

from __future__ import annotations

from collections.abc import Sequence
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


@dataclass(frozen=True)
class Box:
    """A node's middle and size in pixels; `place` counts the nodes of its slot from the left."""

    x: float
    y: float
    width: float
    height: float
    place: int
    round: bool

    @property
    def top(self) -> float:
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height / 2

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
class Placement:
    """Boxes by line id, trunks, and where trunks meet nodes: heights by line id and `id(trunk)`."""

    boxes: dict[str, Box]
    trunks: list[Trunk]
    taps: dict[tuple[str, int], float]
    forward_x: float
    backward_x: float
    left: float
    right: float
    width: float
    height: float

    def track_x(self, trunk: Trunk) -> float:
        """Where a trunk runs: left of the forward lane, or right of the backward lane."""
        if trunk.edges[0].kind == "forward":
            return self.left - trunk.track * TRACK_STEP
        return self.right + trunk.track * TRACK_STEP


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
    boxes, bottom = _boxes(slots, theme, forward_x, backward_x)
    most = max((box.x + box.width / 2 for box in boxes.values()), default=backward_x)
    right_x = most + _label_room(right, theme)
    beside = max(
        (label_width(label(edge.blobs), theme.label_size) for edge in drawn.edges if not edge.skips), default=0.0
    )
    width = max(right_x + _tracks_width(right), most + max(0.0, beside - backward_half) + MARGIN)
    taps = _taps([*left, *right], boxes)
    return Placement(boxes, [*left, *right], taps, forward_x, backward_x, left_x, right_x, width, bottom + MARGIN)


def _boxes(
    slots: Sequence[Sequence[Node]], theme: Theme, forward_x: float, backward_x: float
) -> tuple[dict[str, Box], float]:
    """Boxes from top to bottom, and where the last one ends."""
    boxes: dict[str, Box] = {}
    gap = theme.row_gap + theme.label_size + 4
    y = HEADING
    for slot in slots:
        sizes = [node_size(node, theme) for node in slot]
        height = max(size[1] for size in sizes)
        x = {True: forward_x, False: backward_x}
        for number, (node, size) in enumerate(zip(slot, sizes, strict=True)):
            is_round = node.role == "accumulation"
            boxes[node.id] = Box(x[node.is_forward], y + height / 2, *size, number, is_round)
            x[node.is_forward] += size[0] + NODE_SEPARATION
        y += height + gap
    return boxes, y - gap


def _tracks_width(laid: Sequence[Trunk]) -> float:
    return (1 + max((trunk.track for trunk in laid), default=-1)) * TRACK_STEP + MARGIN * bool(laid)


def _label_room(laid: Sequence[Trunk], theme: Theme) -> float:
    """Between a lane and its first track."""
    widths = [label_width(label(edge.blobs), theme.label_size) for trunk in laid for edge in trunk.edges]
    return max(widths) + 18.0 if widths else 0.0


def _taps(laid: Sequence[Trunk], boxes: dict[str, Box]) -> dict[tuple[str, int], float]:
    """Heights at which trunks meet nodes, ordered so that taps of one node cross no trunk of another tap.

    Trunks that go on upwards meet the upper part, the inner ones highest; those that go on downwards the lower part,
    the inner ones lowest.
    """
    meeting: dict[str, list[tuple[bool, int, int]]] = {}
    for trunk in laid:
        heights = [boxes[end].y for end in trunk.ends]
        leaves_down = heights[0] < heights[1]
        for number, end in enumerate(dict.fromkeys(trunk.ends)):
            goes_down = leaves_down == (number == 0)
            order = -trunk.track if goes_down else trunk.track
            meeting.setdefault(end, []).append((goes_down, order, id(trunk)))
    taps: dict[tuple[str, int], float] = {}
    for end, found in meeting.items():
        found.sort()
        box = boxes[end]
        step = min(TAP_STEP, (box.height - 10) / len(found))
        for number, (_, _, trunk_id) in enumerate(found):
            taps[end, trunk_id] = box.y + (number - (len(found) - 1) / 2) * step
    return taps
