"""The invisible part of a DOT graph: what keeps rows apart, lanes upright, and the forward lane on the left.

Graphviz orders freely what no edge holds. So each lane is a column without holes: its nodes, and invisible ones in the
rows where it has none, all tied to their neighbours above, below and beside. It goes through all nets that are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from .view import Edge, View

FORWARD, BACKWARD = True, False
LANE_ID = {FORWARD: "lane-forward", BACKWARD: "lane-backward"}
"""The headings, which stand on a row of their own above the first slot."""

UPRIGHT = 1000
"""Weight of the edges between neighbours of a lane: enough that no bundle of other edges bends it."""

Link = tuple[str, str, int]
"""Tail, head and weight of an invisible edge."""


@dataclass(frozen=True)
class Scaffold:
    """Rows from top to bottom, each from left to right; ids of invisible nodes by slot; invisible edges."""

    rows: list[list[str]]
    holders: dict[int, list[str]]
    links: list[Link]


def scaffold(drawn: View) -> Scaffold:
    """What holds the nodes of a view, and of the nets shown in it, in their slots."""
    nets = list(drawn.nets())
    slots: dict[int, list[str]] = {}
    for node in sorted((node for net in nets for node in net.nodes), key=lambda node: node.slot):
        slots.setdefault(node.slot, []).append(node.id)
    rows = [list(LANE_ID.values()), *slots.values()]
    feet = drawn.feet()
    tied = {
        pair
        for edge in (edge for net in nets for edge in net.edges)
        if not edge.skips
        for ends in [drawn_ends(edge, feet)]
        for pair in (ends, ends[::-1])
    }
    holders: dict[int, list[str]] = {}
    links: list[Link] = []
    touching: set[int] = set()
    for lane in (FORWARD, BACKWARD):
        for (upper_row, upper), (lower_row, lower) in pairwise(_column(nets, lane)):
            if (upper, lower) in tied:
                touching |= {upper_row} if lower_row == upper_row + 1 else set()
                continue
            between = [f"{LANE_ID[lane]}-{row}" for row in range(upper_row + 1, lower_row)]
            for row, holder in enumerate(between, upper_row + 1):
                rows[row].insert(0 if lane == FORWARD else len(rows[row]), holder)
                holders.setdefault(row - 1, []).append(holder)
            links += [(tail, head, UPRIGHT) for tail, head in pairwise([upper, *between, lower])]
            touching |= set(range(upper_row, lower_row))
    links += [(above[-1], below[-1], 0) for row, (above, below) in enumerate(pairwise(rows)) if row not in touching]
    links += [(left, right, 1) for row in rows for left, right in pairwise(row) if (left, right) not in tied]
    return Scaffold(rows, holders, links)


def drawn_ends(edge: Edge, feet: Mapping[str, str]) -> tuple[str, str]:
    """Where an edge begins and ends: below an open operator at the last port of its nets."""
    source = feet.get(edge.source, edge.source) if edge.rise < 0 else edge.source
    target = feet.get(edge.target, edge.target) if edge.rise > 0 else edge.target
    return source, target


def _column(nets: Iterable[View], lane: bool) -> list[tuple[int, str]]:
    """Rows and ids of a lane from top to bottom: its heading, then the first node of each slot."""
    column = {0: LANE_ID[lane]}
    for net in nets:
        for node in net.nodes:
            if node.is_forward == lane:
                column.setdefault(node.slot + 1, node.id)
    return sorted(column.items())
