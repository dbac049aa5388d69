"""A trace becomes a view: lines become nodes and what flows becomes edges, level by level.

In which row of its net a line stands, from top to bottom:

* row i holds forward operator i and, in the other lane, the gradient operators that came from it;
* of those that came from an operator with nested nets, the one that runs their backward pass stands there alone; what
  prepares its inputs stands below it, on the way to it;
* an accumulation stands above the row of its first contribution, on the way to the row that reads it, and so does what
  hands a result of a nested net over;
* what merges the rows of a blob's gradient stands above the row that reads the blob first;
* a seed stands below what reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from msgspec.structs import replace

from ..debugger.document import Line, Subnet
from .flows import (
    BOTTOM,
    LANES,
    LOOPS,
    TOP,
    Binding,
    EdgeKind,
    Flow,
    Lane,
    Program,
    Stretch,
    Way,
    binding,
    crossings,
    flows,
    gradients,
    levels,
    port,
)
from .nesting import Group, Nesting
from .theme import CROSS, Clock, short
from .view import Cluster, Edge, Fold, Node, Section, View

DOES = {"seed": "seed", "accumulation": "adds gradients", "deduplication": "merges rows", "handover": "hands over"}
"""What a line of the backward half that belongs to no forward operator does, by its role."""

WRITTEN = {"then_net": "If {}", "else_net": "Else", "cond_net": "While {}", "loop_net": "Body"}
"""The nets of control operators, by the arguments that hold them; the first input is the condition."""

Row = tuple[int, Sequence["Line"]]
"""The index of a forward operator, and the lines of a row that stands by it."""

Anchor = tuple[float, ...]
"""Sorts from top to bottom: the index of a forward operator, then what is above it (-) and below it (+)."""


def view(nesting: Nesting, opened: Collection[str] = ()) -> View:
    """The nodes and edges of a trace in its final state, in time proportional to its size.

    `opened` holds the ids of the operators and groups of which is shown what is in them, as `Nesting.chosen` gives
    them; one that lies in another which is not open is not shown either.
    """
    return _Assembly(nesting, opened, Clock()).net(nesting.nets[""])


class Content(NamedTuple):
    """What a group shows when it opens.

    Attributes:
        group: what it is of.
        around: the id of the group that it lies in; None: it is on the outermost level of its net.
        lines: those that stand in no group inside of it, by their ids.
        view: its nodes in the level around it and, in their cluster, what it holds.
    """

    group: Group
    around: str | None
    lines: tuple[str, ...]
    view: View


def views(nesting: Nesting, opened: Collection[str], clock: Clock) -> tuple[View, list[Content]]:
    """The view of a trace with all groups closed, and what is in each of them, an outer one before those inside.

    Raises DrawingError, kind ``too_slow``, where the time of the clock is over.
    """
    apart: list[Content] = []
    return _Assembly(nesting, opened, clock, apart).net(nesting.nets[""]), apart


class _Assembly:
    """Builds views of nets within nets; numbers slots from top to bottom and edges through all of them.

    Args:
        apart: where it is a list, it gets what the groups hold; else those that are open are clusters.
    """

    def __init__(
        self, nesting: Nesting, opened: Collection[str], clock: Clock, apart: list[Content] | None = None
    ) -> None:
        self._nesting = nesting
        self._opened = opened
        self._clock = clock
        self._apart = apart
        self._lines = {line.id: line for net in nesting.nets.values() for line in (*net.forward, *net.backward)}
        self._slots = count()
        self._edges = count()

    def net(self, program: Program, depth: int = 0, subnet: Subnet | None = None) -> View:
        """One net, with its ports where it is nested, and with what is open in it."""
        self._clock.tick()
        net_flows, plumbing = flows(program), self._nesting.plumbing
        crossing = [] if subnet is None else list(crossings(subnet, net_flows, self._bindings(subnet)))
        placed = rows(plumbing.visible(program), plumbing.direct(net_flows.inside))
        groups, way = self._nesting.groups[program.id], self._nesting.ways[program.id]
        way_of = {line.id: way[index] for index, lines in placed for line in lines if index in way}
        flowing = levels(plumbing.direct([*net_flows.inside, *crossing]), way_of)
        return self._level(program.id, flowing[""], placed, groups, flowing, depth)

    def _level(
        self,
        home: str,
        flows: Sequence[Stretch],
        placed: Sequence[Row],
        groups: Sequence[Group],
        flowing: Mapping[str, Sequence[Stretch]],
        depth: int,
    ) -> View:
        """What a net or a group shows; `home` is its id, `placed` its rows, and `flowing` what its groups need."""
        self._clock.tick()
        nodes = self._ports(home, flows, TOP)
        clusters: list[Cluster] = []
        for part in _parts(placed, groups):
            slot = next(self._slots)
            if isinstance(part, tuple):
                group, members = part
                header = [*self._group(group, members, slot)]
                nodes += header
                if self._apart is not None:
                    self._put_apart(group, home, header, members, flowing)
                elif group.id in self._opened:
                    clusters.append(self._opened_group(group, members, slot, flowing, depth + 1))
                continue
            nodes += [self._node(line, slot) for line in part]
            opening = next((line for line in part if line.id in self._opened and line.id in self._nesting.shown), None)
            if opening is not None:
                clusters.append(self._cluster(opening, slot, depth + 1))
        nodes += self._ports(home, flows, BOTTOM)
        filled = {cluster.slot for cluster in clusters}
        return View(tuple(nodes), tuple(self._connect(flows, nodes, filled)), tuple(clusters), depth)

    def _cluster(self, owner: Line, slot: int, depth: int) -> Cluster:
        sections = [
            Section(
                subnet.id,
                self._called(subnet),
                subnet.argument in LOOPS,
                self.net(self._nesting.nets[subnet.id], depth, subnet),
            )
            for subnet in self._nesting.shown[owner.id]
        ]
        return Cluster(owner.id, depth, slot, tuple(sections))

    def _called(self, subnet: Subnet) -> str:
        """How a person wrote it, where that is all that is shown; else the argument and its name."""
        owner = self._lines.get(subnet.owner or "")
        if self._nesting.plumbing.folded and owner is not None and subnet.argument in WRITTEN:
            return WRITTEN[subnet.argument].format(short(owner.inputs[0]) if owner.inputs else "")
        return f"{subnet.argument} · {subnet.name}" if subnet.name else subnet.argument

    def _opened_group(
        self, group: Group, members: Sequence[Row], slot: int, flowing: Mapping[str, Sequence[Stretch]], depth: int
    ) -> Cluster:
        inner = self._level(group.id, flowing.get(group.id, ()), members, group.inside, flowing, depth)
        return Cluster(group.id, depth, slot, (Section(group.id, _range(members), False, inner),))

    def _put_apart(
        self,
        group: Group,
        home: str,
        header: Sequence[Node],
        members: Sequence[Row],
        flowing: Mapping[str, Sequence[Stretch]],
    ) -> None:
        """What a group shows as a view of its own, in which it is open."""
        assert self._apart is not None
        own = [line.id for part in _parts(members, group.inside) if not isinstance(part, tuple) for line in part]
        place = len(self._apart)
        around_it, self._slots = self._slots, count(1)
        cluster = self._opened_group(group, members, 0, flowing, 1)
        self._slots = around_it
        view = View(tuple(replace(node, slot=0, fold="open") for node in header), (), (cluster,))
        around = None if home in self._nesting.nets else home
        self._apart.insert(place, Content(group, around, tuple(own), view))

    def _bindings(self, subnet: Subnet) -> Mapping[Lane, Binding]:
        owners = {"forward": subnet.owner, "backward": subnet.backward_owner}
        around: dict[Lane, Binding] = {lane: binding(self._lines.get(owners[lane] or "")) for lane in LANES}
        return self._nesting.plumbing.bound(subnet, around)

    def _ports(self, home: str, flows: Iterable[Stretch], sides: Mapping[Lane, Way]) -> list[Node]:
        """The ports at the top or at the bottom of a net or a group, as far as something crosses there."""
        lanes = {port(home, lane, way): lane for lane, way in sides.items()}
        served: dict[str, Line] = {}
        for stretch in flows:
            for at in {stretch.source, stretch.target} & lanes.keys():
                maker = self._maker(stretch)
                if maker is not None:
                    served[at] = min(served.get(at, maker), maker, key=_exists_from)
        slot = next(self._slots) if served else 0
        return [
            Node(id, "port", lane == "forward", "", "", slot, _exists_from(served[id]), serves=served[id].id)
            for id, lane in lanes.items()
            if id in served
        ]

    def _maker(self, stretch: Stretch) -> Line | None:
        """The line that comes last of those between which something flows: since then it does."""
        ends = [self._lines[end] for end in (stretch.begin, stretch.end) if end in self._lines]
        return max(ends, key=_exists_from, default=None)

    def _group(self, group: Group, members: Sequence[Row], slot: int) -> Iterator[Node]:
        """The nodes of a group, one in each lane where it holds something."""
        fold: Fold = "open" if self._apart is None and group.id in self._opened else "closed"
        lines = [line for _, row in members for line in row]
        forward = frozenset(line.id for line in lines if line.role == "forward")
        many = f"{sum(line.many for line in lines if line.role == 'forward')} operators"
        title = group.title if self._nesting.obstacles.isdisjoint(forward) else f"{CROSS} {group.title}"
        yield Node(group.id, "group", True, title, f"{_range(members)} · {many}", slot, 0, fold=fold, holds=forward)
        backward = [line for line in lines if line.role != "forward"]
        if backward:
            lines_from = tuple(sorted(line.made for line in backward))
            title, detail = f"∂ {group.title}", f"{sum(line.many for line in backward)} made"
            yield Node(
                gradients(group.id), "group", False, title, detail, slot, lines_from[0],
                fold=fold, holds=frozenset(line.id for line in backward), lines_from=lines_from,
            )  # fmt: skip

    def _node(self, line: Line, slot: int) -> Node:
        title, detail, of = line.type, "" if line.of is None else f"of #{line.of}", line.of
        if line.role == "forward":
            of = line.number
            nets = ", ".join(argument.removesuffix("_net") for argument in line.subnets)
            last = f" – #{of + line.many - 1}" if line.many > 1 else ""
            detail = f"#{of}{last} · {nets}" if nets else f"#{of}{last}"
        elif line.role == "passed":
            title = f"({line.type}: passes on)"
        elif line.kind == "stretch":
            detail = f"{line.many} operators"
        elif line.role == "accumulation":
            title, detail = "Σ", ""
        elif line.role == "duplicate":
            detail = f"dedup {detail}"
        else:
            detail = DOES.get(line.role, detail)
        is_on_gpu = line.device not in (None, "cpu")
        if is_on_gpu and detail:
            detail = f"{detail} · {line.device}"
        if line.id in self._nesting.obstacles:
            title = f"{CROSS} {title}"
        fold: Fold | None = None
        if line.id in self._nesting.opener:
            fold = "open" if self._nesting.opener[line.id] in self._opened else "closed"
        return Node(
            line.id, line.role, line.role == "forward", title, detail.strip(), slot, _exists_from(line),
            of=of, fold=fold, is_on_gpu=is_on_gpu,
        )  # fmt: skip

    def _connect(self, flowing: Iterable[Stretch], nodes: Iterable[Node], filled: set[int]) -> Iterator[Edge]:
        """One edge for each pair of nodes and kind, with all that flows along it. Clusters fill both lanes."""
        along: dict[tuple[EdgeKind, str, str], list[Stretch]] = {}
        by_id = {node.id: node for node in nodes}
        for stretch in flowing:
            if stretch.source in by_id and stretch.target in by_id:
                along.setdefault(stretch[:3], []).append(stretch)
        rank: dict[bool, dict[int, int]] = {}
        for lane in (True, False):
            slots = sorted(filled | {node.slot for node in by_id.values() if node.is_forward == lane})
            rank[lane] = {slot: number for number, slot in enumerate(slots)}
        for (kind, source, target), stretches in along.items():
            a, b = by_id[source], by_id[target]
            skips = kind != "saved" and abs(rank[a.is_forward][a.slot] - rank[b.is_forward][b.slot]) > 1
            carried = a.role == "port" == b.role
            first = min(filter(None, map(self._maker, stretches)), key=_exists_from, default=None)
            blobs = [stretch.blob for stretch in stretches]
            names = [self._nesting.words.get(blob) or short(blob) for blob in blobs]
            of_group = any(stretch.source != stretch.begin or stretch.target != stretch.end for stretch in stretches)
            yield Edge(
                next(self._edges), kind, source, target, tuple(dict.fromkeys(blobs) if of_group else blobs),
                tuple(dict.fromkeys(names) if of_group else names),
                max(a.exists_from, b.exists_from) if first is None else _exists_from(first), a.slot - b.slot,
                skips or carried, carried, first.id if of_group and first is not None else "",
            )  # fmt: skip


def _parts(placed: Sequence[Row], groups: Sequence[Group]) -> Iterator[Sequence[Line] | tuple[Group, Sequence[Row]]]:
    """What a level shows from top to bottom: the rows that stand in no group, and groups with their rows."""
    at = 0
    for group in groups:
        while at < len(placed) and placed[at][0] < group.first:
            yield placed[at][1]
            at += 1
        start = at
        while at < len(placed) and placed[at][0] <= group.last:
            at += 1
        yield group, placed[start:at]
    yield from (lines for _, lines in placed[at:])


def _range(members: Sequence[Row]) -> str:
    """Which operators these are, of a net that has them."""
    forward = [line for _, lines in members for line in lines if line.role == "forward"]
    return f"#{forward[0].number} – #{forward[-1].number + forward[-1].many - 1}"


def _exists_from(line: Line) -> int:
    """The net is there before anything happens to it."""
    return 0 if line.role == "forward" else line.made


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
            of_readers = (anchors[reader] for reader in readers.get(line.id, ()) if reader in anchors)
            above = max(of_readers, default=(last, 0))
            anchors[line.id] = (above[0], -0.5 if above[1] < 0 else 1, order)
    by_anchor: dict[Anchor, list[Line]] = {anchor: [] for anchor in sorted(set(anchors.values()))}
    for line in (*program.forward, *program.backward):
        by_anchor[anchors[line.id]].append(line)
    return [(int(anchor[0]), lines) for anchor, lines in by_anchor.items()]


def _anchor_gradients(program: Program, anchors: dict[str, Anchor]) -> None:
    """What came from a forward operator stands in its row or, where that has nested nets, around it."""
    of: dict[int, list[tuple[int, Line]]] = {}
    for order, line in enumerate(program.backward):
        if line.of is not None and line.role in ("gradient", "passed", "duplicate"):
            of.setdefault(line.of, []).append((order, line))
    places = program.places()
    for number, lines in of.items():
        index = places[number]
        if not program.forward[index].subnets:
            anchors.update({line.id: (index, 0) for _, line in lines})
            continue
        beside = next((order for order, line in lines if line.subnets), lines[-1][0])
        for order, line in lines:
            side = 0.5 if order < beside else -0.75
            anchors[line.id] = (index, 0) if order == beside else (index, side, -order)


def _anchor_sums(program: Program, anchors: dict[str, Anchor], sources: dict[str, list[str]]) -> None:
    """What adds, merges or hands over gradients stands above the maker of the first of them."""
    places = program.places()
    first_reader = {blob: index for index, line in reversed([*enumerate(program.forward)]) for blob in line.inputs}
    merged = program.merged()
    for order, line in enumerate(program.backward):
        if line.id in anchors or line.role == "seed":
            continue
        indices: list[float] = [first_reader[blob] for blob in merged.get(line.id, ()) if blob in first_reader]
        indices = indices or [anchors[source][0] for source in sources.get(line.id, ()) if source in anchors]
        without = 0 if line.role == "handover" else places.get(line.of, len(program.forward))
        anchors[line.id] = (min(indices) if indices else without, -1, -order)
