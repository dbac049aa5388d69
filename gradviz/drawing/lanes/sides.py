"""The room beside the lanes, from the inside to the outside: labels, then tracks and frame of the innermost nets, then
those of the nets around them, to the tracks of the outermost net."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil

from ..theme import Theme
from ..words import label, label_width
from .tracks import Trunk

MARGIN = 12.0
TRACK_STEP = 14.0
FRAME_STEP = 12.0
"""Between the frames of two nets, one in the other, and between the innermost one and what it contains."""
CORNER_ROOM = 10.0
"""Before a track: edges turn there."""


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

    def track(self, trunk: Trunk) -> float:
        """Where a trunk runs."""
        return self.starts[trunk.depth] + trunk.track * TRACK_STEP

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
    labels = max((label_width(label(edge.blobs), theme.label_size) + 18.0 for edge in edges), default=0.0)
    return float(ceil(max(labels, beside, FRAME_STEP if depth else 0.0)))
