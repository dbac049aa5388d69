"""What is to be drawn: a trace becomes nodes in two lanes, one row for each forward operator, and edges between them.

Where things stand, from top to bottom (`Node.slot` counts it):

* row i holds forward operator i and, in the other lane, the gradient operators that came from it;
* an accumulation stands above the row of its first contribution, on the way to the row that reads it;
* what merges the rows of a blob's gradient stands above the row that reads the blob first;
* a seed stands below what reads it.

An edge runs from the maker of a blob to its reader. A gradient that passes through an operator unchanged runs through
the node that says so, although the document names the same blob before and behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

import msgspec

from ..debugger.trace_check import TraceError
from ..program.errors import shorten

if TYPE_CHECKING:
    from ..debugger.trace import Line, Role, Trace

EdgeKind = Literal["forward", "backward", "saved"]

_ID = re.compile(r"[fbp]\d{1,9}")


class Node(msgspec.Struct, frozen=True, gc=False):
    """One line of the program.

    Attributes:
        id: the line's id.
        title, detail: the two lines of text.
        of: the forward operator it belongs to; its own index for a forward operator.
        slot: height, counted from the top; nodes of one row share it.
        made: exists from this position on.
        ran: position after its run; None: never.
    """

    id: str
    role: Role
    title: str
    detail: str
    of: int | None
    slot: int
    made: int
    ran: int | None

    @property
    def is_forward(self) -> bool:
        return self.role == "forward"


class Edge(msgspec.Struct, frozen=True, gc=False):
    """Data that flows from `source` to `target`, both line ids.

    Attributes:
        number: counts the edges from 0.
        blobs: the versions that flow; twice where they are read twice. For saved values: what the gradient reads.
        made: exists from this position on: both ends do.
        rise: slots that it goes up; negative where it goes down.
        skips: passes nodes of its own lane, so that it has to go around them.
    """

    number: int
    kind: EdgeKind
    source: str
    target: str
    blobs: tuple[str, ...]
    made: int
    rise: int
    skips: bool

    @property
    def id(self) -> str:
        return f"edge-{self.number}"


class View(msgspec.Struct, frozen=True):
    """Nodes by slot, forward before backward and in the order of emission; edges in no order that means anything."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def slots(self) -> list[list[Node]]:
        """The nodes of each slot, from top to bottom."""
        slots: list[list[Node]] = [[] for _ in range(self.nodes[-1].slot + 1)] if self.nodes else []
        for node in self.nodes:
            slots[node.slot].append(node)
        return slots


def view(trace: Trace) -> View:
    """The nodes and edges of `trace` in its final state, in time proportional to its size.

    Raises TraceError where a line has an id that no line can have.
    """
    for line in (*trace.forward, *trace.backward):
        if not _ID.fullmatch(line.id):
            raise TraceError(f"{shorten(line.id)} is not the id of a line.", kind="bad_reference")
    flows = list(_flows(trace))
    slots = _slots(trace, flows)
    nodes = [_node(line, slots[line.id]) for line in (*trace.forward, *trace.backward)]
    nodes.sort(key=lambda node: node.slot)
    return View(tuple(nodes), tuple(_edges(flows, {node.id: node for node in nodes})))


def node_class(node: Node) -> str:
    """The classes of a node, but for the word `node` itself."""
    return node.role


def edge_class(edge: Edge) -> str:
    """The classes of an edge, but for the word `edge` itself: its kind, when it exists, and its two ends."""
    return f"{edge.kind} made-{edge.made} from-{edge.source} to-{edge.target}"


def _node(line: Line, slot: int) -> Node:
    title, detail, of = line.type, f"of #{line.of}", line.of
    if line.role == "forward":
        of = int(line.id[1:])
        detail = f"#{of}"
    elif line.role == "passed":
        title = f"({line.type}: passes on)"
    elif line.role == "seed":
        detail = "seed"
    elif line.role == "accumulation":
        title, detail = "Σ", ""
    elif line.role == "deduplication":
        detail = "merges rows"
    made = 0 if line.role == "forward" else line.made  # the net is there before anything happens to it
    return Node(line.id, line.role, title, detail, of, slot, made, line.ran)


Flow = tuple[EdgeKind, str, str, str]
"""Kind, source, target, blob."""


def _flows(trace: Trace) -> Iterator[Flow]:
    """Every reading of a blob that another line made, in the order of the program."""
    made_forward = {blob: line.id for line in trace.forward for blob in line.outputs}
    for line in trace.forward:
        for blob in line.inputs:
            if blob in made_forward:
                yield "forward", made_forward[blob], line.id, blob
    forward_blobs = made_forward.keys() | {blob for line in trace.forward for blob in line.inputs}
    source_of = _GradientSources(trace)
    for line in trace.backward:
        for blob, source in source_of(line):
            if source is not None:
                yield "backward", source, line.id, blob
            elif line.role == "gradient" and line.of is not None and blob in forward_blobs:
                yield "saved", f"f{line.of}", line.id, blob


class _GradientSources:
    """Who hands a gradient to a backward line: its maker, or the operator through which it passed last."""

    def __init__(self, trace: Trace) -> None:
        self._forward = trace.forward
        self._made = {blob: line.id for line in trace.backward if line.role != "passed" for blob in line.outputs}
        self._passing: dict[tuple[str, str], str] = {
            (gradient, blob): line.id
            for line in trace.backward
            if line.role == "passed"
            for gradient in line.inputs
            for blob in line.outputs
        }
        self._ledger_of = {ledger.total: ledger for ledger in trace.ledgers}
        self._merged = _merged(trace)

    def __call__(self, line: Line) -> list[tuple[str, str | None]]:
        if line.role == "accumulation":
            return self._into_sum(line)
        blobs = self._merged.get(line.id, [])
        if line.of is not None:
            blobs = self._forward[line.of].outputs
        return [(gradient, self._source(gradient, blobs, line.id)) for gradient in line.inputs]

    def _source(self, gradient: str, blobs: Iterable[str], reader: str) -> str | None:
        for blob in blobs:
            passing = self._passing.get((gradient, blob))
            if passing is not None and passing != reader:
                return passing
        return self._made.get(gradient)

    def _into_sum(self, line: Line) -> list[tuple[str, str | None]]:
        """A sum can receive one gradient on several ways: the ledger tells through which operators."""
        ledger = next((self._ledger_of[total] for total in line.outputs if total in self._ledger_of), None)
        if ledger is None:
            return [(gradient, self._made.get(gradient)) for gradient in line.inputs]
        ways: dict[str, list[str]] = {}
        for contribution in ledger.contributions:
            if contribution.how == "passed" and contribution.of is not None:
                ways.setdefault(contribution.gradient, []).append(f"p{contribution.of}")
            else:
                ways.setdefault(contribution.gradient, []).append(self._made.get(contribution.gradient, ""))
        sources = []
        for gradient in line.inputs:
            left = ways.get(gradient)
            sources.append((gradient, left.pop(0) or None if left else self._made.get(gradient)))
        return sources


def _merged(trace: Trace) -> dict[str, list[str]]:
    """The blob whose gradient's rows a line merges, by the line's id."""
    slices = {name: merge.blob for merge in trace.merges for name in (merge.after.indices, merge.after.values)}
    return {
        line.id: [slices[name] for name in line.outputs if name in slices]
        for line in trace.backward
        if line.role == "deduplication"
    }


def _slots(trace: Trace, flows: list[Flow]) -> dict[str, int]:
    """The slot of each line. Rows are anchors; sums and seeds are put between them."""
    anchors: dict[str, tuple[float, ...]] = {}
    for index, line in enumerate(trace.forward):
        anchors[line.id] = (index, 0)
    for line in trace.backward:
        if line.role in ("gradient", "passed") and line.of is not None:
            anchors[line.id] = (line.of, 0)
    sources: dict[str, list[str]] = {}
    readers: dict[str, list[str]] = {}
    for kind, source, target, _ in flows:
        if kind == "backward":
            sources.setdefault(target, []).append(source)
            readers.setdefault(source, []).append(target)
    first_reader = {blob: index for index, line in reversed([*enumerate(trace.forward)]) for blob in line.inputs}
    merged = _merged(trace)
    last = len(trace.forward) - 1
    for order, line in enumerate(trace.backward):
        if line.id not in anchors and line.role != "seed":
            rows: list[float] = [first_reader[blob] for blob in merged.get(line.id, ()) if blob in first_reader]
            rows = rows or [anchors[source][0] for source in sources.get(line.id, ()) if source in anchors]
            row = min(rows) if rows else last + 1 if line.of is None else line.of
            anchors[line.id] = (row, -1, -order)
    for order, line in enumerate(trace.backward):
        if line.role == "seed":
            above = max(
                (anchors[reader] for reader in readers.get(line.id, ()) if reader in anchors), default=(last, 0)
            )
            anchors[line.id] = (above[0], -0.5 if above[1] < 0 else 1, order)
    numbers = {anchor: slot for slot, anchor in enumerate(sorted(set(anchors.values())))}
    return {line: numbers[anchor] for line, anchor in anchors.items()}


def _edges(flows: list[Flow], nodes: dict[str, Node]) -> Iterator[Edge]:
    """One edge for each pair of lines and kind, with all that flows along it."""
    along: dict[tuple[EdgeKind, str, str], list[str]] = {}
    for kind, source, target, blob in flows:
        if source in nodes and target in nodes:
            along.setdefault((kind, source, target), []).append(blob)
    occupied = {True: [node.slot for node in nodes.values() if node.is_forward]}
    occupied[False] = sorted({node.slot for node in nodes.values() if not node.is_forward})
    rank = {lane: {slot: k for k, slot in enumerate(slots)} for lane, slots in occupied.items()}
    for number, ((kind, source, target), blobs) in enumerate(along.items()):
        a, b = nodes[source], nodes[target]
        skips = kind != "saved" and abs(rank[a.is_forward][a.slot] - rank[b.is_forward][b.slot]) > 1
        yield Edge(number, kind, source, target, tuple(blobs), max(a.made, b.made), a.slot - b.slot, skips)
