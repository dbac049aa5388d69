"""Groups: how a net of thousands of operators becomes a picture of some dozens of nodes.

A group is a stretch of the forward operators, with all that belongs to them in the backward pass. Groups nest, so that
no level shows more than MOST_CHILDREN things:

1. Operators whose names share a scope ("encoder/layer1/fc") make a group, scopes in scopes groups in groups.
2. On a level that is still too long, blocks of types that repeat ("FC, Relu, FC, Relu, ...") make one: for each period
   up to LONGEST_BLOCK the types are held against themselves, shifted by it, which is O(n · LONGEST_BLOCK) in a few
   array operations each. The stretch that covers most is taken first, of equal ones that of the shorter block.
3. What is still too long is cut into pieces of equal length.

What flows from one group into another is an edge between the two where both are shown side by side; within each it goes
on from the port at its border to the line that reads it, or to the group that this line is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby, zip_longest
from math import ceil, log
from typing import NamedTuple

import numpy as np

from .flows import EdgeKind, Flow, Lane, Program, port
from .words import fit

GROUPED = 150
"""Forward operators of a net that are drawn one by one; a net of more is drawn in groups."""
MOST_CHILDREN = 50
LONGEST_BLOCK = 256
SHORTEST_GROUP = 4
"""Operators of a block that gets a group of its own."""
MOST_SCOPES = 8
"""Scopes within scopes that are told apart."""
MAX_TITLE = 26
"""Characters, as one node of the picture has room for."""

Symbols = dict[object, int]

Way = tuple[str, ...]
"""The ids of the groups that hold something, the outermost first."""

VALUES = "values"
"""What is saved within a group for gradient operators in it."""


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
    """What a level shows: an operator, or a group with `children`. Items that are built alike have one symbol."""

    first: int
    last: int
    title: str
    symbol: int
    children: tuple[_Item, ...] = ()
    is_scope: bool = False


def groups(program: Program) -> tuple[Group, ...]:
    """The outermost groups of a net, none where it can be drawn whole."""
    if len(program.forward) <= GROUPED:
        return ()
    symbols: Symbols = {}
    leaves = [_leaf(index, line.type, symbols) for index, line in enumerate(program.forward)]
    scopes = [tuple(line.name.split("/")[:-1])[:MOST_SCOPES] for line in program.forward]
    items = _scoped(leaves, scopes, 0, symbols)
    while len(items) == 1:
        items = items[0].children
    return _numbered(items, program.prefix, count())


def holding(outermost: Iterable[Group], index: int | None) -> list[Group]:
    """The groups that hold a forward operator of their net, the outermost first."""
    if index is None:
        return []
    found = next((group for group in outermost if group.first <= index <= group.last), None)
    return [] if found is None else [found, *holding(found.inside, index)]


def _numbered(items: Sequence[_Item], prefix: str, number: Iterator[int]) -> tuple[Group, ...]:
    found = []
    for item in items:
        if item.children:
            id = f"{prefix}g{next(number)}"
            found.append(Group(id, item.title, item.first, item.last, _numbered(item.children, prefix, number)))
    return tuple(found)


def _leaf(index: int, type: str, symbols: Symbols) -> _Item:
    return _Item(index, index, type, symbols.setdefault(type, len(symbols)))


def _group(title: str, children: Sequence[_Item], symbols: Symbols, is_scope: bool = False) -> _Item:
    """A group of `children`; one that has a single group in it is that group."""
    if len(children) == 1 and (children[0].children or not is_scope):
        [only] = children
        joined = f"{title}/{only.title}" if is_scope and only.is_scope else title if is_scope else only.title
        return _Item(only.first, only.last, fit(joined, MAX_TITLE), only.symbol, only.children, only.is_scope)
    symbol = symbols.setdefault(tuple(child.symbol for child in children), len(symbols))
    title = fit(title, MAX_TITLE)
    return _Item(children[0].first, children[-1].last, title, symbol, tuple(children), is_scope)


def _scoped(
    leaves: Sequence[_Item], scopes: Sequence[tuple[str, ...]], depth: int, symbols: Symbols
) -> Sequence[_Item]:
    """The items of a scope that lies in `depth` others."""
    items: list[_Item] = []
    for scope, run in groupby(leaves, lambda leaf: scopes[leaf.first][depth : depth + 1]):
        held = list(run)
        if scope and len(held) > 1:
            items.append(_group(scope[0] or "/", _scoped(held, scopes, depth + 1, symbols), symbols, is_scope=True))
        else:
            items += held
    return _shortened(items, symbols)


def _shortened(items: Sequence[_Item], symbols: Symbols) -> Sequence[_Item]:
    """At most MOST_CHILDREN items that hold `items`: repeated blocks first, then pieces."""
    if len(items) <= MOST_CHILDREN:
        return items
    found: list[_Item] = []
    at = 0
    repeats = _repeats([item.symbol for item in items])
    for start, period, times in repeats:
        found += items[at:start]
        at = start + period * times
        blocks = _blocks(items[start:at], period, symbols)
        pieces = _pieces(blocks, _called, symbols, period)
        # The only one stands there in its pieces: one node that holds nearly everything says little.
        is_roomy = len(repeats) == 1 and len(items) - period * times + len(pieces) <= MOST_CHILDREN
        found += pieces if is_roomy else [_group(_called(blocks), pieces, symbols)]
    found += items[at:]
    return _pieces(found, _counted, symbols)


def _blocks(items: Sequence[_Item], period: int, symbols: Symbols) -> Sequence[_Item]:
    """A repeated stretch as one item for each block, where blocks are long enough for that."""
    if period < SHORTEST_GROUP:
        return items
    blocks = [items[start : start + period] for start in range(0, len(items), period)]
    return [_group(_types(block), _shortened(block, symbols), symbols) for block in blocks]


def _pieces(
    items: Sequence[_Item], called: Callable[[Sequence[_Item]], str], symbols: Symbols, step: int = 1
) -> Sequence[_Item]:
    """At most MOST_CHILDREN items that hold `items`, on as few levels as will do, cut only at multiples of `step`."""
    if len(items) <= MOST_CHILDREN:
        return items
    levels = ceil(log(len(items), MOST_CHILDREN) - 1e-9)
    size = ceil(ceil(len(items) ** ((levels - 1) / levels)) / step) * step
    pieces = [items[start : start + size] for start in range(0, len(items), size)]
    return [_group(called(piece), _pieces(piece, called, symbols, step), symbols) for piece in pieces]


def _repeats(symbols: Sequence[int]) -> list[tuple[int, int, int]]:
    """Stretches in which a block repeats, as (start, period, count); they do not overlap and stand in their order."""
    row = np.asarray(symbols)
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
    return fit(title, MAX_TITLE - len(times)) + times


def _counted(items: Sequence[_Item]) -> str:
    if all(item.is_scope for item in items):
        return f"{items[0].title} … {items[-1].title}"
    return f"{_types(items)} …"


def _types(items: Sequence[_Item]) -> str:
    """As many of the titles as have room, each once."""
    names = [*dict.fromkeys(item.title for item in items)]
    title = names[0]
    for name in names[1:]:
        if len(title) + len(name) > MAX_TITLE - 10:
            return f"{title}, …"
        title = f"{title}, {name}"
    return title


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
