"""What is to be drawn, and how it looks at a position, the same for every layout.

A trace becomes nodes in two lanes, one row for each forward operator, and edges between them. `Node.slot` counts rows
from the top, through all nets. An operator with nested nets is a node like others while it is closed. An open one is a
cluster: the row with its node and that of its gradient operator, and below it the rows of its nets, each between the
ports through which blobs go in and out. A group of operators is drawn as if it were one operator with one nested net.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from math import ceil
from typing import Literal

import msgspec

from ..debugger.document import Role, Trace, forward_id
from .flows import EdgeKind
from .plumbing import Plumbing
from .theme import MAX_TITLE, Theme, fit, label, label_width, title_width

Fold = Literal["open", "closed"]

SUMS = ("Accumulated", "Deduplicated")
"""Kinds of events that bring gradients, or rows of one, together."""

NODE_PADDING = 20.0

DETAIL_PADDING = 8.0

NOT_YET = ", not made yet"

BAR_ROOM = 6.0
"""Beside a title in the middle, for the bar of an operator of the backward lane."""

FOLD_ROOM = 28.0
"""For the mark of an operator that can open, and as much on the other side."""


@dataclass(frozen=True)
class Look:
    """Colours are `#rrggbb`, `width` is the pen's."""

    pen: str
    fill: str
    ink: str
    width: float
    dashed: bool


@dataclass(frozen=True)
class State:
    """What a drawing marks.

    Attributes:
        position: events that have happened; None: the end of the recording, with no event marked.
        current: id of the forward operator visited, or None.
        net: id of the nested net that the position is in, or None.
        new: ids of the lines that the current event brought, changed or ran.
        accumulates: whether the current event adds gradients or merges their rows.
        obstacles: ids of the lines that are at fault that nothing is run, or that it stops here.
    """

    position: int | None = None
    current: str | None = None
    net: str | None = None
    new: frozenset[str] = frozenset()
    accumulates: bool = False
    obstacles: frozenset[str] = frozenset()

    def is_future(self, thing: Node | Edge) -> bool:
        """Whether `thing` does not exist yet."""
        return self.position is not None and thing.exists_from > self.position


class Node(msgspec.Struct, frozen=True, gc=False):
    """One line of the program, a group of them in one lane, or a port.

    Attributes:
        id: the line's id, the group's; for a port it begins with that of its net.
        is_forward: stands in the forward lane.
        title, detail: the two lines of text.
        slot: height, counted from the top; nodes of one row share it.
        exists_from: since which position it is there.
        of: the forward operator it belongs to; its own index for a forward operator; None for a group.
        fold: for an operator with nested nets and for a group, whether they are shown below it.
        serves: for a port, the line that makes it exist.
        holds: for a group, the ids of all lines in it, of its own lane.
        lines_from: for a group of gradient operators, since when each of them exists, in rising order.
        is_on_gpu: whether it says that it runs on one; which one stands in `detail`.
    """

    id: str
    role: Role | Literal["group", "port"]
    is_forward: bool
    title: str
    detail: str
    slot: int
    exists_from: int
    of: int | None = None
    fold: Fold | None = None
    serves: str = ""
    holds: frozenset[str] = frozenset()
    lines_from: tuple[int, ...] = ()
    is_on_gpu: bool = False

    def is_among(self, ids: Set[str | None]) -> bool:
        """Whether it, or something in it, is one of them."""
        return self.id in ids or not self.holds.isdisjoint(ids)

    @property
    def classes(self) -> str:
        """Those of its group in the picture, but for the word `node` itself."""
        if self.role == "port":
            return f"port {'forward' if self.is_forward else 'backward'} made-{self.exists_from} to-{self.serves}"
        if self.role == "group":
            return f"group {'forward' if self.is_forward else 'gradient'}"
        return f"{self.role} gpu" if self.is_on_gpu else self.role

    @property
    def has_bar(self) -> bool:
        """Whether a bar marks it as an operator of the backward lane."""
        return not self.is_forward and self.role not in ("accumulation", "passed", "port")

    def size(self, theme: Theme) -> tuple[float, float]:
        """Width and height in pixels; halves of them are whole ones, which are crisp and short to write."""
        if self.role == "accumulation":
            return 2 * theme.sum_radius, 2 * theme.sum_radius
        if self.role == "port":
            return theme.port_width, theme.port_height
        width = max(
            title_width(fit(self.title, MAX_TITLE), theme.title_size) + NODE_PADDING,
            label_width([self._longest_detail()], theme.detail_size) + DETAIL_PADDING,
        )
        if self.fold:
            width += FOLD_ROOM
        elif self.has_bar:
            width += BAR_ROOM
        return max(theme.node_width, 2.0 * ceil(width / 2)), theme.node_height

    def _longest_detail(self) -> str:
        """The second line at the position where it is longest."""
        if self.is_forward:
            return self.detail
        count = len(self.lines_from)
        return f"here · {count} of {count} made" if self.role == "group" else self.detail + NOT_YET

    def text(self, state: State) -> tuple[str, str]:
        """The two lines; the second one of an accumulation is empty."""
        title, detail = fit(self.title, MAX_TITLE), self.detail
        if self.role == "group":
            return title, self._group_detail(state)
        if detail and state.is_future(self):
            detail += NOT_YET
        return title, detail

    def _group_detail(self, state: State) -> str:
        """Where we are, if that is in the group; else which operators it has, or how many of them exist."""
        here = state.new & self.holds or self.holds & {state.current}
        if here and self.is_forward:
            return f"here: #{min(here).rpartition('.')[2][1:]}"
        count = len(self.lines_from) if state.position is None else bisect_right(self.lines_from, state.position)
        progress = f"{count} of {len(self.lines_from)} made" if count < len(self.lines_from) else self.detail
        return f"here · {progress}" if here else progress

    def look(self, state: State, theme: Theme) -> Look:
        """Fill blue: visited, orange: new, green: on a GPU; purple outline: just added; pale and dashed: to come.

        What keeps the program from being run is outlined in red, and has a cross before its name.
        """
        dashed = self.role == "passed"
        if self.role == "port":
            pen = theme.future if state.is_future(self) else theme.forward if self.is_forward else theme.backward
            return Look(pen, pen, pen, theme.pen, False)
        if state.is_future(self):
            return Look(theme.future, theme.fill, theme.future_text, theme.pen, True)
        is_new, is_current = self.is_among(state.new), self.is_among({state.current})
        width = theme.strong_pen if is_new or is_current else theme.pen
        at_rest = theme.gpu_fill if self.is_on_gpu else theme.fill
        if self.is_among(state.obstacles):
            fill = theme.current_fill if is_current else theme.new_fill if is_new else at_rest
            return Look(theme.wrong, fill, theme.text, theme.strong_pen, dashed)
        if self.role == "accumulation":
            return Look(theme.accumulation, theme.accumulation, theme.background, width, False)
        if is_current:
            return Look(theme.forward, theme.current_fill, theme.text, width, dashed)
        if self.is_forward:
            return Look(theme.forward, at_rest, theme.text, width, dashed)
        is_sum = self.role in ("deduplication", "duplicate") or (is_new and state.accumulates)
        pen = theme.accumulation if is_sum else theme.backward
        return Look(pen, theme.new_fill if is_new else at_rest, theme.text, width, dashed)


class Edge(msgspec.Struct, frozen=True, gc=False):
    """Data that flows from `source` to `target`, both ids of nodes.

    Attributes:
        number: counts the edges from 0, through all nets.
        blobs: the versions that flow; twice where they are read twice. For saved values: what the gradient reads.
        names: what people read of each of them, in words where it has a name that the pass made up.
        exists_from: since which position it is there: since both ends are.
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
    names: tuple[str, ...]
    exists_from: int
    rise: int
    skips: bool
    carried: bool
    serves: str = ""

    @property
    def id(self) -> str:
        return f"edge-{self.number}"

    @property
    def label(self) -> list[str]:
        """The lines beside it."""
        return label(self.names)

    @property
    def classes(self) -> str:
        """Those of its group, but for the word `edge` itself: its kind, when it exists, and its two ends."""
        kind = f"{self.kind} carried" if self.carried else self.kind
        serves = f" by-{self.serves}" if self.serves else ""
        return f"{kind} made-{self.exists_from} from-{self.source} to-{self.target}{serves}"

    def look(self, state: State, theme: Theme) -> Look:
        """The pen, strong where it brings what the current event worked on; the label has the same colour."""
        pen = {"forward": theme.forward, "backward": theme.backward, "saved": theme.muted}[self.kind]
        is_future = state.is_future(self)
        is_hot = self.kind == "backward" and self.target in state.new and not is_future
        width = theme.saved_pen if self.kind == "saved" else theme.strong_pen if is_hot else theme.pen
        if is_future:
            return Look(theme.future, "none", theme.future_text, width, True)
        return Look(pen, "none", pen, width, self.carried)


class View(msgspec.Struct, frozen=True):
    """One net. Nodes by slot, forward before backward and in the order of emission; edges in no order that means
    anything; clusters, the operators of this net that are open, from top to bottom. `depth` is 0 for the outermost."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    clusters: tuple[Cluster, ...] = ()
    depth: int = 0

    def rows(self) -> list[list[Node]]:
        """The nodes of each slot of this net alone, from top to bottom."""
        slots: dict[int, list[Node]] = {}
        for node in self.nodes:
            slots.setdefault(node.slot, []).append(node)
        return list(slots.values())

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

    def feet(self) -> dict[str, str]:
        """Open operators, and the last port of each one's nets: there begins and ends what is below it."""
        lowest_ports: dict[str, str] = {}
        for net in self.nets():
            for cluster in net.clusters:
                ports = [node for section in cluster.sections for node in section.view.nodes if node.role == "port"]
                lowest = {node.is_forward: node.id for node in sorted(ports, key=lambda node: node.slot)}
                for node in net.nodes:
                    if node.slot == cluster.slot and node.is_forward in lowest:
                        lowest_ports[node.id] = lowest[node.is_forward]
        return lowest_ports


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


def state_at(trace: Trace, position: int | None, plumbing: Plumbing) -> State:
    """The state of `trace` after `position` events; what is folded is marked at the node that it is part of.

    Raises IndexError where the recording has no such position.
    """

    def shown(lines: Iterable[str]) -> frozenset[str]:
        return frozenset(map(plumbing.shown, lines))

    if position is None:
        return State(obstacles=shown(trace.faults(0)))
    if not 0 <= position <= trace.length:
        raise IndexError(f"there is no position {position}: the recording goes from 0 to {trace.length}")
    event, obstacles = trace.event_at(position), shown(trace.faults(position))
    if event is None:
        return State(position, obstacles=obstacles)
    forward = forward_id(event)
    current = forward and plumbing.shown(forward)
    net = event.subnet and plumbing.shown(event.subnet)
    return State(position, current, net, shown(event.lines), event.kind in SUMS, obstacles)
