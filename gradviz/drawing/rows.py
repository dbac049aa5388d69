"""In which row of its net a line stands. From top to bottom:

* row i holds forward operator i and, in the other lane, the gradient operators that came from it;
* of those that came from an operator with nested nets, the one that runs their backward pass stands there alone; what
  prepares its inputs stands below it, on the way to it;
* an accumulation stands above the row of its first contribution, on the way to the row that reads it, and so does what
  hands a result of a nested net over;
* what merges the rows of a blob's gradient stands above the row that reads the blob first;
* a seed stands below what reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .flows import Flow, Program

if TYPE_CHECKING:
    from ..debugger.document import Line

Anchor = tuple[float, ...]
"""Sorts from top to bottom: the index of a forward operator, then what is above it (-) and below it (+)."""


def rows(program: Program, flows: Sequence[Flow]) -> list[tuple[int, list[Line]]]:
    """The lines of each row from top to bottom, forward before backward and in the order of emission.

    Each with the index of the forward operator that it stands by.
    """
    anchors: dict[str, Anchor] = {line.id: (index, 0) for index, line in enumerate(program.forward)}
    _anchor_gradients(program, anchors)
    sources: dict[str, list[str]] = {}
    readers: dict[str, list[str]] = {}
    for kind, source, target, _ in flows:
        if kind == "backward":
            sources.setdefault(target, []).append(source)
            readers.setdefault(source, []).append(target)
    _anchor_sums(program, anchors, sources)
    last = len(program.forward) - 1
    for order, line in enumerate(program.backward):
        if line.role == "seed":
            above = max(
                (anchors[reader] for reader in readers.get(line.id, ()) if reader in anchors), default=(last, 0)
            )
            anchors[line.id] = (above[0], -0.5 if above[1] < 0 else 1, order)
    found: dict[Anchor, list[Line]] = {anchor: [] for anchor in sorted(set(anchors.values()))}
    for line in (*program.forward, *program.backward):
        found[anchors[line.id]].append(line)
    return [(int(anchor[0]), lines) for anchor, lines in found.items()]


def _anchor_gradients(program: Program, anchors: dict[str, Anchor]) -> None:
    """What came from a forward operator stands in its row or, where that has nested nets, around it."""
    of: dict[int, list[tuple[int, Line]]] = {}
    for order, line in enumerate(program.backward):
        if line.of is not None and line.role in ("gradient", "passed", "duplicate"):
            of.setdefault(line.of, []).append((order, line))
    for index, lines in of.items():
        if not program.forward[index].subnets:
            anchors.update({line.id: (index, 0) for _, line in lines})
            continue
        beside = next((order for order, line in lines if line.subnets), lines[-1][0])
        for order, line in lines:
            side = 0.5 if order < beside else -0.75
            anchors[line.id] = (index, 0) if order == beside else (index, side, -order)


def _anchor_sums(program: Program, anchors: dict[str, Anchor], sources: dict[str, list[str]]) -> None:
    """What adds, merges or hands over gradients stands above what made the first of them."""
    first_reader = {blob: index for index, line in reversed([*enumerate(program.forward)]) for blob in line.inputs}
    merged = program.merged()
    for order, line in enumerate(program.backward):
        if line.id in anchors or line.role == "seed":
            continue
        found: list[float] = [first_reader[blob] for blob in merged.get(line.id, ()) if blob in first_reader]
        found = found or [anchors[source][0] for source in sources.get(line.id, ()) if source in anchors]
        without = 0 if line.role == "handover" else len(program.forward) if line.of is None else line.of
        anchors[line.id] = (min(found) if found else without, -1, -order)
