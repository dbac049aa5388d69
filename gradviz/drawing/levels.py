"""What flows on which level of a net that is drawn in groups.

What flows from one group into another is an edge between the two where both are shown side by side; within each it goes
on from the port at its border to the line that reads it, or to the group that this line is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from .border import Lane, port
from .flows import EdgeKind, Flow
from .groups import Group

Way = tuple[str, ...]
"""The ids of the groups that hold something, the outermost first."""

VALUES = "values"
"""What is saved within a group for gradient operators in it."""


class Stretch(NamedTuple):
    """A part of a flow, on one level: between lines, groups and ports that stand there.

    Attributes:
        begin, end: the lines, or ports of the net, between which it flows in the end.
    """

    kind: EdgeKind
    source: str
    target: str
    blob: str
    begin: str
    end: str


def gradients(group: str) -> str:
    """The id of a group's node in the backward lane."""
    return f"{group}.backward"


def ways(outermost: Iterable[Group], around: Way = ()) -> dict[int, Way]:
    """The groups that hold each forward operator, by its index; what is in no group is left out."""
    found: dict[int, Way] = {}
    for group in outermost:
        way = (*around, group.id)
        found |= dict.fromkeys(range(group.first, group.last + 1), way)
        found |= ways(group.inside, way)
    return found


def levels(flowing: Sequence[Flow], ways: Mapping[str, Way]) -> dict[str, list[Stretch]]:
    """What flows on each level, by the id of its group; on that of the net itself by "". `ways` goes by line id."""
    found: dict[str, list[Stretch]] = {"": []}
    if not ways:
        found[""] = [Stretch(*flow, flow[1], flow[2]) for flow in flowing]
        return found
    saving: dict[str, tuple[str, Stretch]] = {}
    for kind, begin, end, blob in flowing:
        a, b = ways.get(begin, ()), ways.get(end, ())
        shared = _shared(a, b)
        lane: Lane = "backward" if kind == "backward" else "forward"
        at, to = _end(begin, a, shared, lane), _end(end, b, shared, lane)
        _level(found, a, shared).append(Stretch(kind, at, to, blob, begin, end))
        for depth in range(shared + 1, len(a) + 1):
            inner = _end(begin, a, depth, lane)
            _level(found, a, depth).append(Stretch(kind, inner, port(a[depth - 1], lane, "out"), blob, begin, end))
        for depth in range(shared + 1, len(b) + 1):
            inner = _end(end, b, depth, lane)
            _level(found, b, depth).append(Stretch(kind, port(b[depth - 1], lane, "in"), inner, blob, begin, end))
        if kind == "saved":
            for depth, group in enumerate(a[:shared]):
                around = a[depth - 1] if depth else ""
                saving.setdefault(group, (around, Stretch(kind, group, gradients(group), VALUES, begin, end)))
    for around, stretch in saving.values():
        found.setdefault(around, []).append(stretch)
    return found


def _shared(a: Way, b: Way) -> int:
    """How many of the groups hold both."""
    if a == b:
        return len(a)
    return next(depth for depth, pair in enumerate(zip_longest(a, b)) if pair[0] != pair[1])


def _level(found: dict[str, list[Stretch]], way: Way, depth: int) -> list[Stretch]:
    return found.setdefault(way[depth - 1] if depth else "", [])


def _end(line: str, way: Way, depth: int, lane: Lane) -> str:
    """What stands for a line on a level: itself, or the group that holds it."""
    if depth >= len(way):
        return line
    return gradients(way[depth]) if lane == "backward" else way[depth]
