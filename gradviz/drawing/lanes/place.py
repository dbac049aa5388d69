"""Where things stand in a picture of plain lanes, which go through all nets that are shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..look import node_size
from ..theme import Theme
from ..view import Node, View
from ..words import label, label_width
from .sides import CORNER_ROOM, MARGIN, Side, side
from .stack import STRIP, Stack
from .taps import LABEL_DISTANCE, Box, Tap, detour_taps, meetings, passing, side_taps
from .tracks import Trunk, trunks


@dataclass(frozen=True)
class Rectangle:
    """In pixels."""

    x: float
    y: float
    width: float
    height: float

    @property
    def bottom(self) -> float:
        return self.y + self.height


@dataclass(frozen=True)
class Placement:
    """Where everything is.

    Attributes:
        boxes: by line id.
        taps: where trunks meet nodes, by line id and `id(trunk)`.
        frames: around open operators, by the operator's id.
        strips: the titles of nets, by the net's id.
        folds: what vanishes of a cluster when it closes, by the operator's id.
        shells: what vanishes on both sides when no cluster of a depth is open, with the depth.
        track_x: where a trunk runs, by `id(trunk)`: left of the forward lane, or right of the backward lane.
        inner: for each depth, from where to where its nodes and their labels reach; beyond it are its tracks.
    """

    boxes: dict[str, Box]
    trunks: list[Trunk]
    taps: dict[tuple[str, int], Tap]
    frames: dict[str, Rectangle]
    strips: dict[str, Rectangle]
    folds: dict[str, Rectangle]
    shells: list[tuple[int, Rectangle]]
    track_x: dict[int, float]
    inner: list[tuple[float, float]]
    forward_x: float
    backward_x: float
    width: float
    height: float


def halves(nodes: Iterable[Node], theme: Theme) -> tuple[float, float]:
    """Half the width of the widest node of the forward lane and of that of the backward lane."""
    widest = [0.0, 0.0]
    for node in nodes:
        lane = 0 if node.is_forward else 1
        widest[lane] = max(widest[lane], node_size(node, theme)[0])
    return widest[0] / 2, widest[1] / 2


def place(drawn: View, theme: Theme, widest: tuple[float, float] | None = None) -> Placement:
    """Both lanes, their tracks, and room for the labels of the edges. `widest`: as `halves` gives it, of more nodes."""
    nets = list(drawn.nets())
    nodes = {node.id: node for net in nets for node in net.nodes}
    left, right = ([trunk for net in nets for trunk in trunks(net, kind)] for kind in ("forward", "backward"))
    beside = [_beside(nets, depth, theme) for depth in range(1 + max(net.depth for net in nets))]
    forward_half, backward_half = widest or halves(nodes.values(), theme)
    left_side = side(left, [0.0] * len(beside), theme)
    forward_x = left_side.reach + forward_half
    backward_x = forward_x + max(theme.lane_distance, forward_half + backward_half + theme.lane_gap)

    found = meetings([*left, *right], nodes)
    stack = Stack(theme, found, forward_x, backward_x)
    stack.net(drawn)
    most = max([backward_x + backward_half, *(box.x + box.width / 2 for box in stack.boxes.values())])
    # What stands beside the backward lane stays inside of tracks and frames.
    over = [backward_x + LABEL_DISTANCE + width - most for width in beside]
    right_side = side(right, over, theme)
    width = most + max(right_side.reach - MARGIN, max(over) - LABEL_DISTANCE + MARGIN)

    inner = {node for net in nets for row in net.rows() for node in passing(row)}
    at_sides = {end: there for end, there in found.items() if end not in inner}
    beyond = most + LABEL_DISTANCE
    taps = {**side_taps(at_sides, stack.boxes, theme), **detour_taps(stack.detours, stack.boxes, beyond, theme)}
    areas = _Areas(stack, left_side, forward_x - forward_half, right_side, most)
    height = stack.y + MARGIN
    return Placement(
        stack.boxes,
        [*left, *right],
        taps,
        *areas.of_clusters(drawn),
        [shell for depth in range(1, len(beside)) for shell in areas.of_shells(depth, height)],
        {id(trunk): areas.track_x(trunk) for trunk in (*left, *right)},
        [areas.inner(depth) for depth in range(len(beside))],
        forward_x,
        backward_x,
        width,
        height,
    )


def _beside(nets: Sequence[View], depth: int, theme: Theme) -> float:
    """The width of the labels beside the straight edges of the nets of a depth."""
    edges = (edge for net in nets if net.depth == depth for edge in net.edges if not edge.skips)
    return max((label_width(label(edge.blobs), theme.label_size) for edge in edges), default=0.0)


@dataclass(frozen=True)
class _Areas:
    """Rectangles around what a stack holds; nodes reach from `left` to `right`."""

    stack: Stack
    left_side: Side
    left: float
    right_side: Side
    right: float

    def of_clusters(self, drawn: View) -> tuple[dict[str, Rectangle], dict[str, Rectangle], dict[str, Rectangle]]:
        """Frames, titles of nets, and what vanishes when a cluster closes."""
        frames: dict[str, Rectangle] = {}
        strips: dict[str, Rectangle] = {}
        folds: dict[str, Rectangle] = {}
        for cluster in drawn.all_clusters():
            box = self.stack.boxes[cluster.owner]
            top, bottom = self.stack.frames[cluster.owner]
            frames[cluster.owner] = self._across(cluster.depth, top, bottom)
            folds[cluster.owner] = self._across(cluster.depth, box.bottom, box.end)
            for section in cluster.sections:
                y = self.stack.strips[section.id]
                strips[section.id] = self._across(cluster.depth, y, y + STRIP)
        return frames, strips, folds

    def of_shells(self, depth: int, height: float) -> Iterator[tuple[int, Rectangle]]:
        """What only the nets of a depth need, on both sides."""
        for start, end in self.left_side.shells(depth):
            yield depth, Rectangle(self.left - end, 0, end - start, height)
        for start, end in self.right_side.shells(depth):
            yield depth, Rectangle(self.right + start, 0, end - start, height)

    def inner(self, depth: int) -> tuple[float, float]:
        """From the end of the tracks of a depth on one side to their beginning on the other."""
        left, right = (max(side.starts[depth] - CORNER_ROOM, 0.0) for side in (self.left_side, self.right_side))
        return self.left - left, self.right + right

    def track_x(self, trunk: Trunk) -> float:
        if trunk.side < 0:
            return self.left - self.left_side.track(trunk)
        return self.right + self.right_side.track(trunk)

    def _across(self, depth: int, top: float, bottom: float) -> Rectangle:
        left, right = self.left - self.left_side.borders[depth], self.right + self.right_side.borders[depth]
        return Rectangle(left, top, right - left, bottom - top)
