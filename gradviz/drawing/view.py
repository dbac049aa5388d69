"""What is to be drawn: a trace becomes nodes in two lanes, one row for each forward operator, and edges between them.

`Node.slot` counts rows from the top, through all nets. An operator with nested nets is a node like others while it is
closed. An open one is a cluster: the row with its node and that of its gradient operator, and below it the rows of its
nets, each between the ports through which blobs go in and out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Literal

import msgspec

from .border import BOTTOM, LANES, LOOPS, TOP, Binding, Lane, Way, binding, crossings, port
from .flows import EdgeKind, Flow, Program, flows
from .nesting import Nesting
from .rows import rows

if TYPE_CHECKING:
    from ..debugger.trace import Line, Role, Subnet, Trace

Fold = Literal["open", "closed"]

SAYING = {"seed": "seed", "deduplication": "merges rows", "duplicate": "dedup {}", "handover": "hands over"}
"""What the second line says of a role; {}: the operator that it came from."""


class Node(msgspec.Struct, frozen=True, gc=False):
    """One line of the program, or a port.

    Attributes:
        id: the line's id; for a port it begins with that of its net.
        is_forward: stands in the forward lane.
        title, detail: the two lines of text.
        of: the forward operator it belongs to; its own index for a forward operator.
        slot: height, counted from the top; nodes of one row share it.
        made: exists from this position on.
        ran: position after its run; None: never.
        fold: for an operator with nested nets, whether they are shown below it.
        serves: for a port, the line that makes it exist.
    """

    id: str
    role: Role | Literal["port"]
    is_forward: bool
    title: str
    detail: str
    of: int | None
    slot: int
    made: int
    ran: int | None
    fold: Fold | None = None
    serves: str = ""


class Edge(msgspec.Struct, frozen=True, gc=False):
    """Data that flows from `source` to `target`, both ids of nodes.

    Attributes:
        number: counts the edges from 0, through all nets.
        blobs: the versions that flow; twice where they are read twice. For saved values: what the gradient reads.
        made: exists from this position on: both ends do.
        rise: slots that it goes up; negative where it goes down.
        skips: passes nodes of its own lane, so that it has to go around them.
        carried: goes back from the end of a loop's net to its beginning.
    """

    number: int
    kind: EdgeKind
    source: str
    target: str
    blobs: tuple[str, ...]
    made: int
    rise: int
    skips: bool
    carried: bool

    @property
    def id(self) -> str:
        return f"edge-{self.number}"


class View(msgspec.Struct, frozen=True):
    """One net. Nodes by slot, forward before backward and in the order of emission; edges in no order that means
    anything; clusters, the operators of this net that are open, from top to bottom. `depth` is 0 for the outermost."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    clusters: tuple[Cluster, ...] = ()
    depth: int = 0

    def rows(self) -> list[list[Node]]:
        """The nodes of each slot of this net alone, from top to bottom."""
        found: dict[int, list[Node]] = {}
        for node in self.nodes:
            found.setdefault(node.slot, []).append(node)
        return list(found.values())

    def nets(self) -> Iterator[View]:
        """This net, then those in its clusters, an outer one before those inside of it."""
        yield self
        for cluster in self.clusters:
            for section in cluster.sections:
                yield from section.view.nets()

    def all_clusters(self) -> Iterator[Cluster]:
        """The clusters of this net and of those in it."""
        for net in self.nets():
            yield from net.clusters

    def feet(self) -> dict[str, str]:
        """Open operators, and the last port of each one's nets: there begins and ends what is below it."""
        found: dict[str, str] = {}
        for net in self.nets():
            for cluster in net.clusters:
                ports = [node for section in cluster.sections for node in section.view.nodes if node.role == "port"]
                lowest = {node.is_forward: node.id for node in sorted(ports, key=lambda node: node.slot)}
                for node in net.nodes:
                    if node.slot == cluster.slot and node.is_forward in lowest:
                        found[node.id] = lowest[node.is_forward]
        return found


class Section(msgspec.Struct, frozen=True):
    """A nested net in a cluster.

    Attributes:
        id: the nested net's.
        title: the argument that holds it, and its name.
        repeats: runs again and again.
    """

    id: str
    title: str
    repeats: bool
    view: View


class Cluster(msgspec.Struct, frozen=True):
    """An open operator.

    Attributes:
        owner: the id of its node, the forward one where it has one.
        depth: 1 in the outermost net.
        slot: of its node.
        sections: its nets from top to bottom, at least one.
    """

    owner: str
    depth: int
    slot: int
    sections: tuple[Section, ...]

    @property
    def id(self) -> str:
        return f"cluster-{self.owner}"


def view(trace: Trace, opened: Collection[str] = ()) -> View:
    """The nodes and edges of `trace` in its final state, in time proportional to its size.

    `opened` holds the ids of the operators whose nested nets are shown, as in `Nesting.shown`; one in a net that is not
    shown is not either. Raises TraceError where a line or a net has an id that none can have.
    """
    nesting = Nesting(trace)
    return _Assembly(nesting, opened).net(nesting.nets[""])


def node_class(node: Node) -> str:
    """The classes of a node, but for the word `node` itself."""
    if node.role == "port":
        return f"port {'forward' if node.is_forward else 'backward'} made-{node.made} to-{node.serves}"
    return node.role


def edge_class(edge: Edge) -> str:
    """The classes of an edge, but for the word `edge` itself: its kind, when it exists, and its two ends."""
    kind = f"{edge.kind} carried" if edge.carried else edge.kind
    return f"{kind} made-{edge.made} from-{edge.source} to-{edge.target}"


class _Assembly:
    """Builds views of nets within nets; numbers slots from top to bottom and edges through all of them."""

    def __init__(self, nesting: Nesting, opened: Collection[str]) -> None:
        self._nesting = nesting
        self._opened = opened
        self._lines = {line.id: line for net in nesting.nets.values() for line in (*net.forward, *net.backward)}
        self._slots = count()
        self._edges = count()

    def net(self, program: Program, depth: int = 0, subnet: Subnet | None = None) -> View:
        """One net, with its ports where it is nested, and with what is open in it."""
        found = flows(program)
        crossing = [] if subnet is None else list(crossings(subnet, found, self._bindings(subnet)))
        nodes = self._ports(program.id, crossing, TOP)
        clusters: list[Cluster] = []
        for row in rows(program, found.inside):
            slot = next(self._slots)
            nodes += [self._node(line, slot) for line in row]
            opening = next((line for line in row if line.id in self._opened and line.id in self._nesting.shown), None)
            if opening is not None:
                clusters.append(self._cluster(opening, slot, depth + 1))
        nodes += self._ports(program.id, crossing, BOTTOM)
        filled = {cluster.slot for cluster in clusters}
        return View(
            tuple(nodes), tuple(self._connect([*found.inside, *crossing], nodes, filled)), tuple(clusters), depth
        )

    def _cluster(self, owner: Line, slot: int, depth: int) -> Cluster:
        sections = [
            Section(
                subnet.id,
                f"{subnet.argument} · {subnet.name}" if subnet.name else subnet.argument,
                subnet.argument in LOOPS,
                self.net(self._nesting.nets[subnet.id], depth, subnet),
            )
            for subnet in self._nesting.shown[owner.id]
        ]
        return Cluster(owner.id, depth, slot, tuple(sections))

    def _bindings(self, subnet: Subnet) -> dict[Lane, Binding]:
        owners = {"forward": subnet.owner, "backward": subnet.backward_owner}
        return {lane: binding(self._lines.get(owners[lane] or "")) for lane in LANES}

    def _ports(self, net: str, crossing: Iterable[Flow], ways: Mapping[Lane, Way]) -> list[Node]:
        """The ports at the top or at the bottom of a net, as far as something crosses there."""
        served: dict[str, Line] = {}
        for _, source, target, _ in crossing:
            for end, other in ((source, target), (target, source)):
                if other in self._lines:
                    served[end] = min(served.get(end, self._lines[other]), self._lines[other], key=_made)
        used = [(lane, port(net, lane, way)) for lane, way in ways.items() if port(net, lane, way) in served]
        slot = next(self._slots) if used else 0
        return [
            Node(id, "port", lane == "forward", "", "", None, slot, _made(served[id]), None, serves=served[id].id)
            for lane, id in used
        ]

    def _node(self, line: Line, slot: int) -> Node:
        title, detail, of = line.type, "" if line.of is None else f"of #{line.of}", line.of
        if line.role == "forward":
            of = int(line.id.rpartition(".")[2][1:])
            nets = ", ".join(argument.removesuffix("_net") for argument in line.subnets)
            detail = f"#{of} · {nets}" if nets else f"#{of}"
        elif line.role == "passed":
            title = f"({line.type}: passes on)"
        elif line.role == "accumulation":
            title, detail = "Σ", ""
        elif line.role in SAYING:
            detail = SAYING[line.role].format(detail)
        fold: Fold | None = None
        if line.id in self._nesting.opener:
            fold = "open" if self._nesting.opener[line.id] in self._opened else "closed"
        return Node(
            line.id, line.role, line.role == "forward", title, detail.strip(), of, slot, _made(line), line.ran, fold
        )

    def _connect(self, flowing: Iterable[Flow], nodes: Iterable[Node], filled: set[int]) -> Iterator[Edge]:
        """One edge for each pair of lines and kind, with all that flows along it. Clusters fill both lanes."""
        along: dict[tuple[EdgeKind, str, str], list[str]] = {}
        by_id = {node.id: node for node in nodes}
        for kind, source, target, blob in flowing:
            if source in by_id and target in by_id:
                along.setdefault((kind, source, target), []).append(blob)
        rank = {
            lane: {
                slot: number
                for number, slot in enumerate(
                    sorted(filled | {node.slot for node in by_id.values() if node.is_forward == lane})
                )
            }
            for lane in (True, False)
        }
        for (kind, source, target), blobs in along.items():
            a, b = by_id[source], by_id[target]
            skips = kind != "saved" and abs(rank[a.is_forward][a.slot] - rank[b.is_forward][b.slot]) > 1
            carried = a.role == "port" == b.role
            yield Edge(
                next(self._edges), kind, source, target, tuple(blobs), max(a.made, b.made), a.slot - b.slot,
                skips or carried, carried,
            )  # fmt: skip


def _made(line: Line) -> int:
    """The net is there before anything happens to it."""
    return 0 if line.role == "forward" else line.made
