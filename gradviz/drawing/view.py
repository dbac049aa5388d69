"""What is to be drawn: a trace becomes nodes in two lanes, one row for each forward operator, and edges between them.

`Node.slot` counts rows from the top, through all nets. An operator with nested nets is a node like others while it is
closed. An open one is a cluster: the row with its node and that of its gradient operator, and below it the rows of its
nets, each between the ports through which blobs go in and out. A group of operators is drawn as if it were one operator
with one nested net.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import msgspec

from .flows import EdgeKind

if TYPE_CHECKING:
    from ..debugger.document import Role

Fold = Literal["open", "closed"]


class Node(msgspec.Struct, frozen=True, gc=False):
    """One line of the program, a group of them in one lane, or a port.

    Attributes:
        id: the line's id, the group's; for a port it begins with that of its net.
        is_forward: stands in the forward lane.
        title, detail: the two lines of text.
        of: the forward operator it belongs to; its own index for a forward operator; None for a group.
        slot: height, counted from the top; nodes of one row share it.
        made: exists from this position on.
        ran: position after its run; None: never.
        fold: for an operator with nested nets and for a group, whether they are shown below it.
        serves: for a port, the line that makes it exist.
        holds: for a group, the ids of all lines in it, of its own lane.
        mades: for a group of gradient operators, since when each of them exists, in rising order.
    """

    id: str
    role: Role | Literal["group", "port"]
    is_forward: bool
    title: str
    detail: str
    of: int | None
    slot: int
    made: int
    ran: int | None
    fold: Fold | None = None
    serves: str = ""
    holds: frozenset[str] = frozenset()
    mades: tuple[int, ...] = ()


class Edge(msgspec.Struct, frozen=True, gc=False):
    """Data that flows from `source` to `target`, both ids of nodes.

    Attributes:
        number: counts the edges from 0, through all nets.
        blobs: the versions that flow; twice where they are read twice. For saved values: what the gradient reads.
        made: exists from this position on: both ends do.
        rise: slots that it goes up; negative where it goes down.
        skips: passes nodes of its own lane, so that it has to go around them.
        carried: goes back from the end of a loop's net to its beginning.
        serves: where it ends at a group or at the port of one, the line that makes it exist.
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
    serves: str = ""

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

    def all_nodes(self) -> Iterator[Node]:
        """The nodes of this net and of those in it."""
        return (node for net in self.nets() for node in net.nodes)

    def all_edges(self) -> Iterator[Edge]:
        """The edges of this net and of those in it."""
        return (edge for net in self.nets() for edge in net.edges)

    def all_clusters(self) -> Iterator[Cluster]:
        """The clusters of this net and of those in it."""
        return (cluster for net in self.nets() for cluster in net.clusters)

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
    """A nested net in a cluster, or what a group holds.

    Attributes:
        id: the nested net's, or the group's.
        title: the argument that holds it, and its name; for a group, which operators they are.
        repeats: runs again and again.
    """

    id: str
    title: str
    repeats: bool
    view: View


class Cluster(msgspec.Struct, frozen=True):
    """An open operator or group.

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


def node_class(node: Node) -> str:
    """The classes of a node, but for the word `node` itself."""
    if node.role == "port":
        return f"port {'forward' if node.is_forward else 'backward'} made-{node.made} to-{node.serves}"
    if node.role == "group":
        return f"group {'forward' if node.is_forward else 'gradient'}"
    return node.role


def edge_class(edge: Edge) -> str:
    """The classes of an edge, but for the word `edge` itself: its kind, when it exists, and its two ends."""
    kind = f"{edge.kind} carried" if edge.carried else edge.kind
    serves = f" by-{edge.serves}" if edge.serves else ""
    return f"{kind} made-{edge.made} from-{edge.source} to-{edge.target}{serves}"
