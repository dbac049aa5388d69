"""Ways around a lane: edges that skip nodes run beside the lane, on tracks that do not run into each other.

Edges with a common end share a trunk: one line along the lane, with a tap at every node that it serves. Shorter trunks
run nearer to the lane, so that nested ones do not cross.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..flows import EdgeKind
from ..view import Edge, Node, View

MOST_TRACKS = 40
"""Beyond it trunks share the outermost track: a net that tangled is not read by its lines any more."""


@dataclass
class Trunk:
    """Edges with one common end.

    Attributes:
        depth: of the net that it runs in; 0 for the outermost.
        top, bottom: the slots between which it runs.
        track: 0 is the nearest to the lane.
        ends: the common end first, then the others in the order of the edges.
        port: where some of its edges begin, and where there is no room for labels.
    """

    depth: int
    top: int
    bottom: int
    edges: list[Edge] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    track: int = 0
    port: str | None = None

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
    found: dict[tuple[str, str], Trunk] = {}
    for edge in skipping:
        shared, other = edge.source, edge.target
        if arriving[edge.target] > leaving[edge.source]:
            shared, other = other, shared
        slots = (nodes[shared].slot, nodes[other].slot)
        # One trunk for those that leave upwards, another for those that leave downwards.
        way = "up" if slots[1] < slots[0] else "down"
        trunk = found.setdefault((shared, way), Trunk(net.depth, min(slots), max(slots)))
        trunk.top, trunk.bottom = min(trunk.top, *slots), max(trunk.bottom, *slots)
        trunk.ends = trunk.ends or [shared]
        if nodes[edge.source].role == "port" and not edge.carried:
            trunk.port = edge.source
        trunk.edges.append(edge)
        trunk.ends.append(other)
    _lay(list(found.values()))
    return list(found.values())


def tangled(edges: Sequence[Edge], nodes: Mapping[str, Node], depth: int) -> bool:
    """Whether edges that skip nodes of one lane lie more than `depth` deep, or begin inside another and end outside."""
    for kind in ("forward", "backward"):
        stretches = [
            sorted((nodes[edge.source].slot, nodes[edge.target].slot))
            for edge in edges
            if edge.skips and edge.kind == kind
        ]
        open_until: list[int] = []
        for top, bottom in sorted(stretches, key=lambda stretch: (stretch[0], -stretch[1])):
            while open_until and open_until[-1] <= top:
                open_until.pop()
            if open_until and open_until[-1] < bottom:
                return True
            open_until.append(bottom)
            if len(open_until) > depth:
                return True
    return False


def _lay(laid: list[Trunk]) -> None:
    """Give every trunk the innermost track that is free along all of it."""
    tracks: list[list[tuple[int, int]]] = []
    for trunk in sorted(laid, key=lambda trunk: (trunk.bottom - trunk.top, trunk.top)):
        for number, taken in enumerate(tracks):
            if _is_free(taken, trunk):
                trunk.track = number
                break
        else:
            trunk.track = len(tracks)
            if trunk.track == MOST_TRACKS:
                trunk.track = MOST_TRACKS - 1
            else:
                tracks.append([])
        insort(tracks[trunk.track], (trunk.top, trunk.bottom))


def _is_free(taken: list[tuple[int, int]], trunk: Trunk) -> bool:
    """Whether no stretch of a track touches the trunk's; the stretches are disjoint and sorted."""
    after = bisect_left(taken, (trunk.bottom, -1))
    return after == 0 or taken[after - 1][1] <= trunk.top
