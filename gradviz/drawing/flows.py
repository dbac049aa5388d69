"""What flows where: every reading of a blob that another line of the same net wrote, and what crosses its border.

An edge runs from the maker of a blob to its reader. A gradient that passes through an operator unchanged runs through
the node that says so, although the document names the same blob before and behind it.

A cluster has a port for each way across the border of its net: forward data goes in at its top and out at its bottom,
gradients go in at its bottom and out at its top. What leaves a loop's net and enters it again with the next iteration
is carried.

What flows from one group into another is an edge between the two where both are shown side by side; within each it goes
on from the port at its border to the line that reads it, or to the group that this line is in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple

import msgspec

from ..debugger.document import Ledger, Line, Merge, Subnet, Trace, TraceError
from ..debugger.journal import inner_words
from ..program.control_flow import INNER_RESULT, bindings, saved_name
from ..program.errors import shorten
from ..program.operator import BlobVersion, Operator, bare, version_in
from .theme import in_one_line, short

EdgeKind = Literal["forward", "backward", "saved"]

_LINE = re.compile(r"[fbp]\d{1,9}")
_NET = re.compile(r"s\d{1,9}")

Flow = tuple[EdgeKind, str, str, str]
"""Kind, source, target, blob."""

Lane = Literal["forward", "backward"]
LANES: tuple[Lane, Lane] = ("forward", "backward")
Way = Literal["in", "out"]
TOP: dict[Lane, Way] = {"forward": "in", "backward": "out"}
BOTTOM: dict[Lane, Way] = {"forward": "out", "backward": "in"}
"""Where the ports are."""

Holders = tuple[str, ...]
"""The ids of the groups that hold something, the outermost first."""

VALUES = "values"
"""What is saved within a group for gradient operators in it."""

LOOPS = ("cond_net", "loop_net")
"""The arguments whose nets run again and again."""


class Program(msgspec.Struct, frozen=True):
    """One net of a trace, forward and backward.

    Attributes:
        id: of the nested net; "" for the outermost.
        merges: what merged rows; only gradients of the outermost net are merged.
    """

    id: str
    forward: list[Line]
    backward: list[Line]
    ledgers: list[Ledger]
    merges: list[Merge]

    @property
    def prefix(self) -> str:
        """What the ids of its lines begin with."""
        return f"{self.id}." if self.id else ""

    def places(self) -> dict[int | None, int]:
        """Where each forward operator stands, by its number; a part of a recording has not all of them."""
        return {line.number: place for place, line in enumerate(self.forward)}

    def merged(self) -> dict[str, list[str]]:
        """The blob whose gradient's rows a line merges, by the line's id."""
        slices = {name: merge.blob for merge in self.merges for name in (merge.after.indices, merge.after.values)}
        return {
            line.id: [slices[name] for name in line.outputs if name in slices]
            for line in self.backward
            if line.role == "deduplication"
        }


def programs(trace: Trace) -> dict[str, Program]:
    """The nets of a trace by their ids: the outermost first, then the nested ones in the order of the document.

    Raises TraceError where a line or a net has an id that none can have.
    """
    ledgers: dict[str, list[Ledger]] = {}
    for ledger in trace.ledgers:
        ledgers.setdefault(ledger.subnet or "", []).append(ledger)
    nets = {"": Program("", trace.forward, trace.backward, ledgers.get("", []), trace.merges)}
    for subnet in trace.subnets:
        if not _NET.fullmatch(subnet.id):
            raise TraceError(f"{shorten(subnet.id)} is not the id of a nested net.", kind="bad_reference")
        nets[subnet.id] = Program(subnet.id, subnet.forward, subnet.backward, ledgers.get(subnet.id, []), [])
    for net in nets.values():
        for line in (*net.forward, *net.backward):
            if not line.id.startswith(net.prefix) or not _LINE.fullmatch(line.id, len(net.prefix)):
                raise TraceError(f"{shorten(line.id)} is not the id of a line.", kind="bad_reference")
    return nets


class Flows(msgspec.Struct, frozen=True):
    """What flows in a net.

    Attributes:
        inside: from line to line.
        entering: for each lane line and blob, for what comes from around the net.
        makers: for each lane who makes a blob, by the blob.
    """

    inside: list[Flow]
    entering: dict[Lane, list[tuple[str, str]]]
    makers: dict[Lane, dict[str, str]]


def flows(program: Program) -> Flows:
    """The readings of blobs in a net, in the order of its lines."""
    maker = {blob: line.id for line in program.forward for blob in line.outputs}
    source_of = _GradientSources(program)
    readings = Flows([], {"forward": [], "backward": []}, {"forward": maker, "backward": source_of.makers})
    for line in program.forward:
        for blob in line.inputs:
            if blob in maker:
                readings.inside.append(("forward", maker[blob], line.id, blob))
            else:
                readings.entering["forward"].append((line.id, blob))
    saved = _saved(program)
    for line in program.backward:
        for blob, source in source_of(line):
            if source is not None:
                readings.inside.append(("backward", source, line.id, blob))
            elif blob not in saved:
                readings.entering["backward"].append((line.id, blob))
            elif line.role in ("gradient", "duplicate") and line.of is not None:
                readings.inside.append(("saved", f"{program.prefix}f{line.of}", line.id, saved[blob]))
    return readings


def _saved(program: Program) -> dict[str, str]:
    """Blob versions of the forward half by the names under which the backward half can read them.

    What a Do overwrites is kept under a name of its own.
    """
    blobs = {blob: blob for line in program.forward for blob in (*line.inputs, *line.outputs)}
    overwritten: dict[str, str] = {}
    for blob in blobs:
        if (key := version_in(blob)) is not None:
            overwritten[f"{saved_name(BlobVersion(*key))}@0"] = blob
    return overwritten | blobs


class _GradientSources:
    """Who hands a gradient to a backward line: its maker, or the operator through which it passed last."""

    def __init__(self, program: Program) -> None:
        self._forward = {line.number: line for line in program.forward}
        self._prefix = program.prefix
        self.makers = {blob: line.id for line in program.backward if line.role != "passed" for blob in line.outputs}
        self._passing: dict[tuple[str, str], str] = {
            (gradient, blob): line.id
            for line in program.backward
            if line.role == "passed"
            for gradient in line.inputs
            for blob in line.outputs
        }
        self._ledger_of = {ledger.total: ledger for ledger in program.ledgers}
        self._merged = program.merged()

    def __call__(self, line: Line) -> list[tuple[str, str | None]]:
        if line.role == "accumulation":
            return self._into_sum(line)
        blobs = self._merged.get(line.id, [])
        if line.role == "handover":
            blobs = [f"{blob.rpartition('@')[0].removesuffix(INNER_RESULT)}@0" for blob in line.outputs]
        elif line.of is not None:
            blobs = self._forward[line.of].outputs
        return [(gradient, self._source(gradient, blobs, line.id)) for gradient in line.inputs]

    def _source(self, gradient: str, blobs: Iterable[str], reader: str) -> str | None:
        for blob in blobs:
            passing = self._passing.get((gradient, blob))
            if passing is not None and passing != reader:
                return passing
        return self.makers.get(gradient)

    def _into_sum(self, line: Line) -> list[tuple[str, str | None]]:
        """A sum can receive one gradient on several ways: the ledger tells through which operators."""
        ledger = next((self._ledger_of[total] for total in line.outputs if total in self._ledger_of), None)
        if ledger is None:
            return [(gradient, self.makers.get(gradient)) for gradient in line.inputs]
        ways: dict[str, list[str]] = {}
        for contribution in ledger.contributions:
            is_passed = contribution.how == "passed" and contribution.of is not None
            way = f"{self._prefix}p{contribution.of}" if is_passed else self.makers.get(contribution.gradient, "")
            ways.setdefault(contribution.gradient, []).append(way)
        sources = []
        for gradient in line.inputs:
            left = ways.get(gradient)
            sources.append((gradient, left.pop(0) or None if left else self.makers.get(gradient)))
        return sources


class Binding(msgspec.Struct, frozen=True):
    """What names in a nested net stand for: inner name -> the outer version that comes in, or the one that goes out."""

    enters: Mapping[str, str]
    leaves: Mapping[str, str]


def port(subnet: str, lane: Lane, way: Way) -> str:
    """The id of a port."""
    return f"{subnet}.{lane}-{way}"


def binding(owner: Line | None) -> Binding:
    """The names in the nets that `owner` runs: those around them, but for a Do, which says what stands for what."""
    if owner is None:
        return Binding({}, {})
    enters = {bare(blob): blob for blob in reversed(owner.inputs)}
    leaves = {bare(blob): blob for blob in owner.outputs}
    if owner.type != "Do":
        return Binding(enters, leaves)
    bound = bindings(Operator(owner.type, owner.inputs, owner.outputs, owner.args))
    outer = {inner: bare(blob) for inner, blob in bound}
    return Binding(
        {inner: enters[name] for inner, name in outer.items() if name in enters},
        {inner: leaves[name] for inner, name in outer.items() if name in leaves},
    )


def crossings(subnet: Subnet, flows: Flows, bound: Mapping[Lane, Binding]) -> Iterator[Flow]:
    """What flows between the lines of a net and its ports, and from port to port where it is carried on."""
    for lane in LANES:
        enter, leave = port(subnet.id, lane, "in"), port(subnet.id, lane, "out")
        entered: set[str] = set()
        for line, blob in flows.entering[lane]:
            entered.add(bare(blob))
            yield lane, enter, line, crossing(bound[lane].enters.get(bare(blob)), blob)
        last = _last(flows.makers[lane])
        for inner, outer in bound[lane].leaves.items():
            if inner in last:
                yield lane, last[inner][0], leave, crossing(last[inner][1], outer)
        carried = [short(inner) for inner in bound[lane].leaves if inner in last and inner in entered]
        if carried and subnet.argument in LOOPS:
            yield lane, leave, enter, f"↻ {in_one_line(carried)}"


def crossing(source: str | None, target: str) -> str:
    """A blob that crosses the border, by its names on both sides."""
    if source is None or source == target or inner_words(target):
        return short(target)
    return f"{short(source)} → {short(target)}"


def _last(makers: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Who makes the last version of a name, and that version; makers stand in the order of versions."""
    return {bare(blob): (line, blob) for blob, line in makers.items()}


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


def levels(flowing: Sequence[Flow], holders: Mapping[str, Holders]) -> dict[str, list[Stretch]]:
    """What flows on each level, by the id of its group; on that of the net itself by "". `holders` goes by line id."""
    stretches: dict[str, list[Stretch]] = {"": []}
    saving: dict[str, tuple[str, Stretch]] = {}
    for kind, begin, end, blob in flowing:
        a, b = holders.get(begin, ()), holders.get(end, ())
        shared = _shared(a, b)
        lane: Lane = "backward" if kind == "backward" else "forward"
        at, to = _end(begin, a, shared, lane), _end(end, b, shared, lane)
        _level(stretches, a, shared).append(Stretch(kind, at, to, blob, begin, end))
        for depth in range(shared + 1, len(a) + 1):
            inner = _end(begin, a, depth, lane)
            _level(stretches, a, depth).append(Stretch(kind, inner, port(a[depth - 1], lane, "out"), blob, begin, end))
        for depth in range(shared + 1, len(b) + 1):
            inner = _end(end, b, depth, lane)
            _level(stretches, b, depth).append(Stretch(kind, port(b[depth - 1], lane, "in"), inner, blob, begin, end))
        if kind == "saved":
            for depth, group in enumerate(a[:shared]):
                around = a[depth - 1] if depth else ""
                saving.setdefault(group, (around, Stretch(kind, group, gradients(group), VALUES, begin, end)))
    for around, stretch in saving.values():
        stretches.setdefault(around, []).append(stretch)
    return stretches


def _shared(a: Holders, b: Holders) -> int:
    """How many of the groups hold both."""
    if a == b:
        return len(a)
    return next(depth for depth, pair in enumerate(zip_longest(a, b)) if pair[0] != pair[1])


def _level(stretches: dict[str, list[Stretch]], holders: Holders, depth: int) -> list[Stretch]:
    return stretches.setdefault(holders[depth - 1] if depth else "", [])


def _end(line: str, holders: Holders, depth: int, lane: Lane) -> str:
    """What stands for a line on a level: itself, or the group that holds it."""
    if depth >= len(holders):
        return line
    return gradients(holders[depth]) if lane == "backward" else holders[depth]
