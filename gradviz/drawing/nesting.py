"""What can open: operators with nested nets, and groups, by which thousands of operators become dozens of nodes.

A group is a stretch of the forward operators, with all that belongs to them in the backward pass. Groups nest, so that
no level shows more than MOST_CHILDREN things:

1. Operators whose names share a scope ("encoder/layer1/fc") or a module ("layer1.0.conv1") make a group, scopes in
   scopes groups in groups.
2. On a level that is still too long, blocks of types that repeat ("FC, Relu, FC, Relu, ...") make one: for each period
   up to LONGEST_BLOCK the types are compared with themselves, shifted by it, which is O(n · LONGEST_BLOCK) in a few
   array operations each. The stretch that covers most is taken first, of equal ones that of the shorter block.
3. What is still too long is cut into pieces of equal length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from math import ceil, log

import numpy as np

from ..debugger.document import Ledger, Line, Subnet, Trace
from ..debugger.journal import SEPARATOR, is_part, part_words
from ..program.errors import shorten
from .flows import Holders, Program, programs
from .plumbing import Plumbing, without_plumbing
from .theme import DrawingError, fit

GROUPED = 150
"""Forward operators of a net that are drawn one by one; a net of more is drawn in groups."""
GROUPED_BY_SCOPE = 30
"""The same where operators have scopes."""
MOST_CHILDREN = 50
MOST_BESIDE = 200
"""Things that the outermost level shows where some are stretches."""
LONGEST_BLOCK = 256
SHORTEST_GROUP = 4
"""Operators of a block that gets a group of its own."""
MOST_SCOPES = 8
"""Scopes within scopes that get groups of their own."""
MAX_GROUP_TITLE = 26
"""Characters, as one node of the picture has room for."""

MAX_DEPTH = 50
"""Nets within nets that can be shown."""

MOST_NAMED = 40
"""Of what can open, in an error."""

Opened = Iterable[str] | str
"""Ids of lines, of nested nets or of groups, one or several, or "all"."""


@dataclass(frozen=True)
class Group:
    """Neighbours in the forward half of a net.

    Attributes:
        id: "g0", "g1", ..., an outer one before those inside of it; in a nested net behind the id of the net: "s0.g0".
        title: the scope, or the types and how often they repeat.
        first, last: the forward operators that it holds, by their indices, both included.
        inside: the groups in it, in their order; operators stand between them.
    """

    id: str
    title: str
    first: int
    last: int
    inside: tuple[Group, ...]

    def nested(self) -> Iterator[Group]:
        """This one, then those inside of it, an outer one first."""
        yield self
        for group in self.inside:
            yield from group.nested()


@dataclass(frozen=True)
class _Item:
    """What a level shows: an operator, or a group with `children`.

    Attributes:
        symbol: the type of an operator, or the symbols of the children: equal for items that are built alike.
    """

    first: int
    last: int
    title: str
    symbol: object
    children: tuple[_Item, ...] = ()
    is_scope: bool = False


def groups(program: Program) -> tuple[Group, ...]:
    """The outermost groups of a net, none where it can be drawn whole. A stretch is in none: it is one by itself."""
    scopes = [tuple(SEPARATOR.split(line.name)[:-1])[:MOST_SCOPES] for line in program.forward]
    if len(program.forward) <= (GROUPED_BY_SCOPE if any(scopes) else GROUPED):
        return ()
    leaves = [_Item(index, index, line.type, line.type) for index, line in enumerate(program.forward)]
    items: Sequence[_Item] = []
    for is_stretch, run in groupby(leaves, lambda leaf: program.forward[leaf.first].kind == "stretch"):
        alike = list(run)
        items = [*items, *(alike if is_stretch else _scoped(alike, scopes, 0))]
    if len(items) > MOST_BESIDE:
        items = _shortened(items)
    while len(items) == 1:
        items = items[0].children
    return _numbered(items, program.prefix, count())


def ways(outermost: Iterable[Group], around: Holders = ()) -> dict[int | None, Holders]:
    """The groups that hold each forward operator, by its index; what is in no group is left out."""
    holders: dict[int | None, Holders] = {}
    for group in outermost:
        way = (*around, group.id)
        holders |= dict.fromkeys(range(group.first, group.last + 1), way)
        holders |= ways(group.inside, way)
    return holders


def _numbered(items: Sequence[_Item], prefix: str, number: Iterator[int]) -> tuple[Group, ...]:
    grouped = []
    for item in items:
        if item.children:
            id = f"{prefix}g{next(number)}"
            grouped.append(Group(id, item.title, item.first, item.last, _numbered(item.children, prefix, number)))
    return tuple(grouped)


def _group(title: str, children: Sequence[_Item], is_scope: bool = False) -> _Item:
    """A group of `children`; one that has a single group in it is that group."""
    if len(children) == 1 and (children[0].children or not is_scope):
        [only] = children
        joined = f"{title}/{only.title}" if is_scope and only.is_scope else title if is_scope else only.title
        return _Item(only.first, only.last, fit(joined, MAX_GROUP_TITLE), only.symbol, only.children, only.is_scope)
    symbol, title = tuple(child.symbol for child in children), fit(title, MAX_GROUP_TITLE)
    return _Item(children[0].first, children[-1].last, title, symbol, tuple(children), is_scope)


def _scoped(leaves: Sequence[_Item], scopes: Sequence[tuple[str, ...]], depth: int) -> Sequence[_Item]:
    """The items of a scope that lies in `depth` others."""
    items: list[_Item] = []
    for scope, run in groupby(leaves, lambda leaf: scopes[leaf.first][depth : depth + 1]):
        members = list(run)
        if scope and len(members) > 1:
            items.append(_group(scope[0] or "/", _scoped(members, scopes, depth + 1), is_scope=True))
        else:
            items += members
    return _shortened(items)


def _shortened(items: Sequence[_Item]) -> Sequence[_Item]:
    """At most MOST_CHILDREN items that hold `items`: repeated blocks first, then pieces."""
    if len(items) <= MOST_CHILDREN:
        return items
    shorter: list[_Item] = []
    at = 0
    repeats = _repeats([item.symbol for item in items])
    for start, period, times in repeats:
        shorter += items[at:start]
        at = start + period * times
        blocks = _blocks(items[start:at], period)
        pieces = _pieces(blocks, _called, period)
        # The only one stands there in its pieces: one node that holds nearly everything says little.
        is_roomy = len(repeats) == 1 and len(items) - period * times + len(pieces) <= MOST_CHILDREN
        shorter += pieces if is_roomy else [_group(_called(blocks), pieces)]
    shorter += items[at:]
    return _pieces(shorter, _counted)


def _blocks(items: Sequence[_Item], period: int) -> Sequence[_Item]:
    """A repeated stretch as one item for each block, where blocks are long enough for that."""
    if period < SHORTEST_GROUP:
        return items
    blocks = [items[start : start + period] for start in range(0, len(items), period)]
    return [_group(_types(block), _shortened(block)) for block in blocks]


def _pieces(items: Sequence[_Item], called: Callable[[Sequence[_Item]], str], step: int = 1) -> Sequence[_Item]:
    """At most MOST_CHILDREN items that hold `items`, on as few levels as will do, cut only at multiples of `step`."""
    if len(items) <= MOST_CHILDREN:
        return items
    levels = ceil(log(len(items), MOST_CHILDREN) - 1e-9)
    size = ceil(ceil(len(items) ** ((levels - 1) / levels)) / step) * step
    pieces = [items[start : start + size] for start in range(0, len(items), size)]
    return [_group(called(piece), _pieces(piece, called, step)) for piece in pieces]


def _repeats(symbols: Sequence[object]) -> list[tuple[int, int, int]]:
    """Stretches in which a block repeats, as (start, period, count); they do not overlap and stand in their order."""
    number = {symbol: place for place, symbol in enumerate(symbols)}
    row = np.array([number[symbol] for symbol in symbols])
    shortest = max(2 * SHORTEST_GROUP, ceil(len(row) / MOST_CHILDREN))
    candidates: list[tuple[int, int, int]] = []
    for period in range(1, min(LONGEST_BLOCK, len(row) // 2) + 1):
        same = np.concatenate(([0], row[period:] == row[:-period], [0])).astype(np.int8)
        edges = np.flatnonzero(np.diff(same)).reshape(-1, 2)
        for start, end in edges[edges[:, 1] - edges[:, 0] + period >= max(shortest, 2 * period)].tolist():
            candidates.append((start, period, (end - start + period) // period))
    taken = np.zeros(len(row), dtype=bool)
    chosen: list[tuple[int, int, int]] = []
    for start, period, times in sorted(candidates, key=lambda run: (-run[1] * run[2], run[1])):
        stretch = slice(start, start + period * times)
        if not taken[stretch].any():
            taken[stretch] = True
            chosen.append((start, period, times))
    return sorted(chosen)


def _called(blocks: Sequence[_Item]) -> str:
    """The title of blocks that repeat: of scopes the first and the last, else their types and how many there are."""
    if all(block.is_scope for block in blocks):
        return f"{blocks[0].title} … {blocks[-1].title}"
    if all(block.children for block in blocks):
        return _times(blocks[0].title, len(blocks))
    symbols = [block.symbol for block in blocks]
    period = next(p for p in range(1, len(blocks) + 1) if symbols[p:] == symbols[: len(blocks) - p])
    return _times(_types(blocks[:period]), len(blocks) // period)


def _times(title: str, count: int) -> str:
    times = f" × {count}"
    return fit(title, MAX_GROUP_TITLE - len(times)) + times


def _counted(items: Sequence[_Item]) -> str:
    if all(item.is_scope for item in items):
        return f"{items[0].title} … {items[-1].title}"
    return f"{_types(items)} …"


def _types(items: Sequence[_Item]) -> str:
    """As many of the titles as have room, each once."""
    names = [*dict.fromkeys(item.title for item in items)]
    title = names[0]
    for name in names[1:]:
        if len(title) + len(name) > MAX_GROUP_TITLE - 10:
            return f"{title}, …"
        title = f"{title}, {name}"
    return title


class Nesting:
    """The nets of a trace as a tree. A forward operator and its gradient operator open together.

    Attributes:
        nets: every net by its id, "" the outermost, an outer one before those inside of it.
        groups: those in which a large net is drawn, by the net's id: the outermost ones.
        ways: the groups that hold each of a net's forward operators, by the net's id.
        opener: line id -> the id under which the operator opens: the forward operator's, where there is one.
        obstacles: the lines that keep the program from being run.
        plumbing: what is folded: nothing, where that was not asked for or something is drawn in groups.
        words: what people read in place of a version that has a name which the pass made up, in one net only.
        shown: that id -> the nets that it shows, from top to bottom; at least one.
    """

    def __init__(self, trace: Trace, *, folded: bool = False) -> None:
        self.plumbing = Plumbing()
        self.nets: dict[str, Program] = programs(trace)
        self.groups: dict[str, tuple[Group, ...]] = {id: groups(net) for id, net in self.nets.items()}
        if folded and not any(self.groups.values()):
            trace, self.plumbing = without_plumbing(trace)
            self.nets = programs(trace)
            self.groups = dict.fromkeys(self.nets, ())
        self.obstacles = frozenset(trace.obstacle.lines if trace.obstacle else ())
        self.ways = {id: ways(outermost) for id, outermost in self.groups.items()}
        self.words = _words(trace.ledgers)
        self.opener: dict[str, str] = {}
        self.shown: dict[str, list[Subnet]] = {}
        self._subnets = {subnet.id: subnet for subnet in trace.subnets}
        every = (inner for outermost in self.groups.values() for group in outermost for inner in group.nested())
        self._group = {group.id: group for group in every}
        self._claimed: dict[str, list[str]] = {}
        self._order = {net: order for order, net in enumerate(self.nets)}
        self._depth = {"": 0}
        for net in self.nets.values():
            places = net.places()
            for lines in _owners(net):
                first = lines[0]
                place = places.get(first.number if first.role == "forward" else first.of)
                self._claim(net, lines, [first.id, *reversed(self.ways[net.id].get(place, ()))])

    def around(self, net: str | None) -> list[str]:
        """What has to be open for a net to be seen, the innermost first."""
        ids: list[str] = []
        net = self.plumbing.shown(net or "")
        while net in self._claimed:
            ids += self._claimed[net]
            net = self._claimed[net][0].rpartition(".")[0]
        return ids

    def chosen(self, opened: Opened) -> set[str]:
        """What has to be open for `opened` to be: ids of lines, nets or groups, or all that can open.

        Raises DrawingError, kind ``not_found``, where one of them cannot open.
        """
        if opened == "all":
            return {*self.shown, *self._group}
        ids: set[str] = set()
        for asked in [opened] if isinstance(opened, str) else opened:
            name = self.plumbing.shown(asked)
            if name in self._group:
                net = name.rpartition(".")[0]
                way = self.ways[net][self._group[name].first]
                ids |= {*way[: way.index(name) + 1], *self.around(net)}
            elif name in self.opener or name in self._claimed:
                first = self.opener.get(name) or self._claimed[name][0]
                ids |= {*self.around(self.shown[first][0].id)}
            else:
                can = ", ".join([*self.shown, *self._group][:MOST_NAMED])
                raise DrawingError(
                    f"There is no operator {shorten(name)} that can open, and no such group.",
                    kind="not_found",
                    ways_out=[f"Of this trace these can: {can or 'none, it has no nested nets'}."],
                )
        return ids

    def _claim(self, net: Program, lines: list[Line], way: list[str]) -> None:
        """Give `lines` of a net those that they run: an inner one, and each once, whatever a document says.

        `way`: what has to be open in the net for an inner one to be seen, the innermost first.
        """
        first, depth = lines[0].id, self._depth.get(net.id, MAX_DEPTH) + 1
        if depth > MAX_DEPTH:
            return
        for argument in dict.fromkeys(argument for line in lines for argument in line.subnets):
            for inner in dict.fromkeys(line.subnets[argument] for line in lines if argument in line.subnets):
                program = self.nets.get(inner)
                is_new = inner not in self._claimed and self._order.get(inner, 0) > self._order[net.id]
                if is_new and program and (program.forward or program.backward):
                    self._claimed[inner] = way
                    self._depth[inner] = depth
                    self.shown.setdefault(first, []).append(self._subnets[inner])
        if first in self.shown:
            # What has a forward half comes last, so that what leaves an open operator leaves it at its lower border.
            self.shown[first].sort(key=lambda subnet: bool(subnet.forward))
            self.opener.update({line.id: first for line in lines})


def _owners(net: Program) -> Iterator[list[Line]]:
    """The operators of a net that run nested ones: forward with its gradient operator, or either alone."""
    partner: dict[int, Line] = {}
    alone: list[Line] = []
    owners = {line.number for line in net.forward if line.subnets}
    for line in net.backward:
        if not line.subnets:
            continue
        if line.of in owners and line.of not in partner:
            partner[line.of] = line
        else:
            alone.append(line)
    for line in net.forward:
        if line.subnets:
            yield [line, partner[line.number]] if line.number in partner else [line]
    yield from ([line] for line in alone)


def _words(ledgers: Iterable[Ledger]) -> dict[str, str]:
    """The parts of sums by their versions; one that is called so in several nets keeps its name.

    A sum that is formed as its parts arrive has several ledgers, the last of them with all parts.
    """
    words: dict[str, str] = {}
    sums: dict[str, tuple[str | None, str]] = {}
    for ledger in ledgers:
        own = (ledger.subnet, ledger.blob)
        for number, one in enumerate(ledger.contributions):
            if is_part(one.gradient):
                word = part_words(ledger.blob, number, len(ledger.contributions))
                words[one.gradient] = word if sums.setdefault(one.gradient, own) == own else one.gradient
    return words
