"""How high things stand: the rows of a net one below the other, those of an open operator's nets below its row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..look import node_size
from ..theme import Theme
from ..view import Cluster, Node, Section, View
from ..words import label
from .taps import Box, Detours, Meetings, detours, line_height

HEADING = 26.0
NODE_SEPARATION = 24.0
FRAME_PADDING = 8.0
"""Between the frame of a cluster and the row of its operator, above and below it."""
STRIP = 20.0
"""The height of a net's title."""
NET_PADDING = 14.0
"""Between a net's border and a row without ports, and between one net and the title of the next."""


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
                self.y += gaps.get(slot, _gap(1, self.theme))

    def _row(self, row: Sequence[Node], cluster: Cluster | None) -> None:
        beside = detours(row, self.meetings, self.theme)
        self.detours.append(beside)
        sizes = [node_size(node, self.theme) for node in row]
        height = max(size[1] for size in sizes)
        self.y += beside.over
        top = self.y
        self.y += height
        if cluster is not None:
            self._nets(cluster)
        x = {True: self.forward_x, False: self.backward_x}
        for place, (node, size) in enumerate(zip(row, sizes, strict=True)):
            middle = (x[node.is_forward], top + height / 2)
            is_round = node.role == "accumulation"
            foot = self.y if node.fold == "open" else None
            self.boxes[node.id] = Box(*middle, *size, place, is_round, beside.over, beside.under, foot)
            x[node.is_forward] += size[0] + NODE_SEPARATION
        self.y += beside.under
        if cluster is not None:
            self.y += FRAME_PADDING if beside.under else 0.0
            self.frames[cluster.owner] = (top - FRAME_PADDING, self.y)

    def _nets(self, cluster: Cluster) -> None:
        """The nets of a cluster below its row, each from the border under its title to its last border."""
        self.y += FRAME_PADDING
        for section in cluster.sections:
            self.strips[section.id] = self.y
            self._section(section)
            if section is not cluster.sections[-1]:
                self.y += NET_PADDING

    def _section(self, section: Section) -> None:
        rows = section.view.rows()
        self.y += STRIP + (-self._port_half(rows[0]) or NET_PADDING)
        self.net(section.view)
        self.y += -self._port_half(rows[-1]) or NET_PADDING

    def _port_half(self, row: Sequence[Node]) -> float:
        """Half the height of a row of ports, which stands on the border; 0 for another row."""
        return node_size(row[0], self.theme)[1] / 2 if row[0].role == "port" else 0.0


def _gaps(drawn: View, theme: Theme) -> dict[int, float]:
    """Room between a slot and the next one of its net, for the labels that stand there."""
    slots = {node.id: node.slot for node in drawn.nodes}
    lines: dict[int, int] = {}
    for edge in drawn.edges:
        if not edge.skips and edge.kind != "saved":
            upper = min(slots[edge.source], slots[edge.target])
            lines[upper] = max(lines.get(upper, 1), len(label(edge.blobs)))
    return {slot: _gap(count, theme) for slot, count in lines.items()}


def _gap(lines: int, theme: Theme) -> float:
    return theme.row_gap + lines * line_height(theme) + 3
