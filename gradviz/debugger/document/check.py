"""Whether a trace document holds together: references lead somewhere, numbers are JSON, nothing is too deep."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from ...program.errors import shorten
from ...program.operator import parts_of
from .bounds import (
    BLOB_VERSION,
    LARGEST,
    LONGEST_MARK,
    MAX_DEPTH,
    MERGED_ROWS,
    MOST,
    MOST_BINS,
    MOST_MARKS,
    PREVIEW_COLUMNS,
    PREVIEW_ROWS,
    WHOLE,
    TraceError,
    too_deep,
    wrong,
)
from .numbers import Ledger, Merge, Value
from .parts import Frame, Graph, Line, Revision, Subnet, TraceEvent
from .schema import Trace


def check(trace: Trace) -> None:
    """Raise TraceError at the first place where `trace` contradicts itself."""
    lines = _Lines(trace)
    _check_events(trace, lines)
    _check_groups(trace)
    for index, frame in enumerate(trace.frames):
        _check_frame(trace, lines, index, frame)
    for index, stack in enumerate(trace.stacks):
        _check_index(f"stacks[{index}].frame", stack.frame, len(trace.frames), "frames")
        _check_index(f"stacks[{index}].below", stack.below, index, "stacks before it")
    for index, ledger in enumerate(trace.ledgers):
        _check_ledger(trace, lines, index, ledger)
    for index, merge in enumerate(trace.merges):
        _check_merge(trace, index, merge)
    for name, values in (("values", trace.values), ("arrays", dict(enumerate(trace.arrays)))):
        places = [f"{name}[{shorten(str(key))}]" for key in values]
        for where, value in zip(places, values.values(), strict=True):
            _check_value(trace, where, value)
        _check_json([_numbers(value) for value in values.values()], places.__getitem__)
    _check_versions("values", trace.values)
    _check_versions("gradients", [part for gradient in trace.gradients.values() for part in parts_of(gradient)])
    _check_schedule(trace)
    _check_breakpoints(trace)
    for line in trace.obstacle.lines if trace.obstacle else ():
        if line not in lines.ids:
            wrong("obstacle.lines", f"there is no line {shorten(line)}")
    graph = trace.graph
    drawn = graph.svg is not None and graph.dot is not None
    if drawn == (graph.omitted is not None) or (graph.svg is None) != (graph.dot is None):
        wrong("graph", "it has to be either svg and dot, or the reason why it was omitted")
    _check_node_groups(graph, lines)
    _check_json([trace.net], lambda _: "net")


class _Lines:
    """The lines of every net, checked: ids say what a line is and are unique; times lie inside the recording.

    Attributes:
        ids: those of all lines.
        forward: the id of a nested net, None for the outermost one -> how many forward lines it has.
        nets: the nested nets by their ids.
    """

    def __init__(self, trace: Trace) -> None:
        self.ids: set[str] = set()
        self.forward: dict[str | None, int] = {}
        self.nets: dict[str, Subnet] = {}
        self._trace = trace
        self._add(None, "", trace.forward, trace.backward)
        for index, net in enumerate(trace.subnets):
            if net.id != f"s{index}":
                wrong(f"subnets[{index}].id", f'"{shorten(net.id)}" has to be "s{index}"')
            for owner in (net.owner, net.backward_owner):
                if owner is not None and owner not in self.ids:
                    wrong(f"subnets[{index}]", f"there is no line {shorten(owner)} before it that could run it")
            if not net.path:
                wrong(f"subnets[{index}].path", "it is empty: there is one element for each net around and itself")
            _check_versions(f"subnets[{index}].blobs", net.blobs)
            self.nets[net.id] = net
            self._add(net.id, f"subnets[{index}].", net.forward, net.backward)
        every = list(self._all())
        for line in every:
            for id in line.subnets.values():
                if id not in self.nets:
                    wrong(f"line {line.id}", f"there is no nested net {shorten(id)}")
        _check_json([line.args for line in every], lambda index: f"line {every[index].id}.args")

    def _all(self) -> Iterator[Line]:
        yield from self._trace.forward
        yield from self._trace.backward
        for net in self._trace.subnets:
            yield from net.forward
            yield from net.backward

    def _add(self, net: str | None, where: str, forward: Sequence[Line], backward: Sequence[Line]) -> None:
        prefix = f"{net}." if net else ""
        self.forward[net] = len(forward)
        for index, line in enumerate(forward):
            here = f"{where}forward[{index}]"
            if line.id != f"{prefix}f{index}" or line.role != "forward" or line.kind != "operator":
                wrong(here, f'it has to be an operator of role forward with the id "{prefix}f{index}"')
            self._check(here, line, len(forward))
        emitted = 0
        for index, line in enumerate(backward):
            here = f"{where}backward[{index}]"
            if (line.role == "passed") != (line.kind == "passed") or line.role == "forward":
                wrong(here, f'kind "{line.kind}" and role "{line.role}" contradict each other')
            expected = f"{prefix}p{line.of}" if line.kind == "passed" else f"{prefix}b{emitted}"
            if line.id != expected or line.id in self.ids:
                wrong(f"{here}.id", f'"{shorten(line.id)}" has to be "{expected}", once')
            emitted += line.kind != "passed"
            self._check(here, line, len(forward))

    def _check(self, where: str, line: Line, forward: int) -> None:
        end = len(self._trace.events)
        self.ids.add(line.id)
        _check_index(f"{where}.of", line.of, forward, "forward operators")
        if not 0 <= line.made <= end or (line.ran is not None and not 0 <= line.ran <= end):
            wrong(where, f"it was made at {line.made} and ran at {line.ran}; the recording goes from 0 to {end}")
        times = [revision.at for revision in line.history]
        if not times or times[0] != line.made or times != sorted(set(times)) or times[-1] > end:
            wrong(f"{where}.history", f"its times {times!r:.80} have to rise from {line.made}, at most to {end}")
        parts: list[Line | Revision] = [line, *line.history]
        for part in parts:
            if len(part.inputs) != len(line.inputs) or len(part.outputs) != len(line.outputs):
                wrong(f"{where}.history", "it reads or writes more blobs, or fewer, than the line does in the end")
            _check_versions(where, (*part.inputs, *part.outputs))


def _check_events(trace: Trace, lines: _Lines) -> None:
    for index, event in enumerate(trace.events):
        _check_index(f"events[{index}].frame", event.frame, len(trace.frames), "frames")
    first = distinct(trace)
    for index in first:
        _check_event(trace, lines, f"events[{index}]", trace.events[index])
    contents = [[event.seconds, event.detail] for event in map(trace.events.__getitem__, first)]
    _check_json(contents, lambda number: f"events[{first[number]}].detail")


def distinct(trace: Trace) -> list[int]:
    """The first event that has each detail: iterations share theirs, which are checked once."""
    first: dict[int, int] = {}
    for index, event in enumerate(trace.events):
        first.setdefault(id(event.detail), index)
    return list(first.values())


def _check_event(trace: Trace, lines: _Lines, where: str, event: TraceEvent) -> None:
    if event.subnet not in lines.forward:
        wrong(f"{where}.subnet", f"there is no nested net {shorten(str(event.subnet))}")
    _check_index(f"{where}.forward", event.forward, lines.forward[event.subnet], "forward operators")
    _check_index(f"{where}.ledger", event.ledger, len(trace.ledgers), "ledgers")
    for line in event.lines:
        if line not in lines.ids:
            wrong(f"{where}.lines", f"there is no line {shorten(line)}")
    _check_versions(f"{where}.blobs", event.blobs)


def _check_groups(trace: Trace) -> None:
    """Groups are contiguous, but that those of nested nets may lie inside; events are in the net last entered."""
    open_: list[int | None] = [None]
    inside: list[tuple[str | None, int | None]] = [(None, None)]
    known: set[int] = set()
    for index, event in enumerate(trace.events):
        if event.kind == "LeftSubnet":
            if len(open_) == 1:
                wrong(f"events[{index}]", "it leaves a nested net that was not entered")
            open_.pop()
            inside.pop()
        if event.kind == "EnteredSubnet":
            if event.subnet is None:
                wrong(f"events[{index}].subnet", "it enters a nested net, and does not say which")
            inside.append((event.subnet, event.frame))
        if inside[-1] != (event.subnet, event.frame) and event.kind != "Failed":
            wrong(f"events[{index}]", f"it is in {event.subnet}, frame {event.frame}, and {inside[-1]} was entered")
        if open_[-1] != event.group:
            if event.group in known:
                wrong(f"events[{index}].group", f"group {event.group} had already ended; groups are contiguous")
            known.add(event.group)
            open_[-1] = event.group
        if event.kind == "EnteredSubnet":
            open_.append(None)


def _check_frame(trace: Trace, lines: _Lines, index: int, frame: Frame) -> None:
    where = f"frames[{index}]"
    net = lines.nets.get(frame.subnet)
    if net is None:
        wrong(where, f"there is no nested net {shorten(frame.subnet)}")
    _check_index(f"{where}.around", frame.around, index, "frames before it")
    if len(frame.values) > len(net.blobs):
        wrong(f"{where}.values", f"it has more values than {net.id} has blobs, {len(net.blobs)}")
    for value in frame.values:
        _check_index(f"{where}.values", value, len(trace.arrays), "arrays")


def _check_ledger(trace: Trace, lines: _Lines, index: int, ledger: Ledger) -> None:
    where = f"ledgers[{index}]"
    if ledger.subnet not in lines.forward:
        wrong(f"{where}.subnet", f"there is no nested net {shorten(str(ledger.subnet))}")
    _check_index(f"{where}.frame", ledger.frame, len(trace.frames), "frames")
    if not 0 <= ledger.at <= len(trace.events):
        wrong(f"{where}.at", f"position {ledger.at} is outside the recording, 0 to {len(trace.events)}")
    _check_versions(where, [ledger.blob, ledger.total, *(one.gradient for one in ledger.contributions)])
    numbers: list[object] = [ledger.norm, ledger.cancellation]
    for k, contribution in enumerate(ledger.contributions):
        _check_index(f"{where}.contributions[{k}].of", contribution.of, lines.forward[ledger.subnet], "operators")
        _check_index(f"{where}.contributions[{k}].frame", contribution.frame, len(trace.frames), "frames")
        numbers += [contribution.norm, contribution.share, contribution.cosine]
    _check_json([numbers], lambda _: where)


def _check_merge(trace: Trace, index: int, merge: Merge) -> None:
    where = f"merges[{index}]"
    if not 0 < merge.at <= len(trace.events) or trace.events[merge.at - 1].kind != "Deduplicated":
        wrong(f"{where}.at", f"there is no Deduplicated event at position {merge.at}")
    _check_versions(where, [merge.blob, *parts_of(merge.before), *parts_of(merge.after)])
    if len(merge.most_repeated) > MERGED_ROWS:
        wrong(f"{where}.most_repeated", f"it lists more than {MERGED_ROWS} indices")
    counts = [merge.rows_before, merge.rows_after, *(row.times for row in merge.most_repeated)]
    if any(count is not None and count < 0 for count in counts):
        wrong(where, "a count is negative")
    _check_json([[merge.difference]], lambda _: where)


def _check_schedule(trace: Trace) -> None:
    schedule, end = trace.schedule, len(trace.events)
    if schedule is None:
        return
    if len(schedule.ranks) != len(trace.forward):
        wrong("schedule.ranks", f"it has {len(schedule.ranks)} ranks for {len(trace.forward)} forward operators")
    for index, wait in enumerate(schedule.waits):
        where = f"schedule.waits[{index}]"
        _check_index(where, wait.function, len(trace.forward), "forward operators")
        if not 0 <= wait.since <= (end if wait.until is None else wait.until) <= end:
            wrong(where, f"it lasts from {wait.since} to {wait.until}; the recording goes from 0 to {end}")
    _check_versions("schedule.grads", [grad.value for grad in schedule.grads if grad.value is not None])
    for part, times in (("grads", schedule.grads), ("pools", schedule.pools)):
        for index, at in enumerate(row.at for row in times):
            if not 0 <= at <= end:
                wrong(f"schedule.{part}[{index}]", f"position {at} is outside the recording, 0 to {end}")


def _check_breakpoints(trace: Trace) -> None:
    for index, entry in enumerate(trace.breakpoints):
        if any(entry.id == other.id for other in trace.breakpoints[:index]):
            wrong(f"breakpoints[{index}].id", f"another one is number {entry.id}, too")
    texts = [*trace.watches, *(text for entry in trace.breakpoints for text in (entry.on, entry.log or ""))]
    if len(trace.breakpoints) + len(trace.watches) > MOST_MARKS:
        wrong("breakpoints", f"with the watches they are more than {MOST_MARKS}")
    if any(len(text) > LONGEST_MARK for text in texts):
        wrong("breakpoints", f"a text of theirs, or of watches, has more than {LONGEST_MARK} characters")


def _check_node_groups(graph: Graph, lines: _Lines) -> None:
    """Each lies in one before it, if in any, and no line in two: so they are trees, of a depth that is bounded."""
    depths: dict[str, int] = {}
    held: set[str] = set()
    for index, group in enumerate(graph.groups):
        where = f"graph.groups[{index}]"
        net, _, own = group.id.rpartition(".")
        if group.id in depths or not own.startswith("g") or (net or None) not in lines.forward:
            wrong(f"{where}.id", f"{shorten(group.id)} has to be a new one, in a net that there is")
        if group.around is not None and (group.around not in depths or group.around.rpartition(".")[0] != net):
            wrong(f"{where}.around", f"there is no group {shorten(group.around)} of its net before it")
        depths[group.id] = 1 + depths.get(group.around or "", 0)
        if depths[group.id] > MAX_DEPTH:
            raise too_deep(where)
        for line in group.lines:
            if line not in lines.ids or line in held or line.rpartition(".")[0] != net:
                wrong(f"{where}.lines", f"there is no line {shorten(line)} of its net, or it is in another group")
            held.add(line)
        _check_index(f"{where}.shape", group.shape, len(graph.shapes), "shapes")


def _check_value(trace: Trace, where: str, value: Value) -> None:
    _check_index(f"{where}.stack", value.stack, len(trace.stacks), "stacks")
    if min(value.size, value.rows, value.columns, value.nan, value.inf, value.zero, *value.shape) < 0:
        wrong(where, "a size or a count is negative")
    if math.prod(value.shape) != value.size or value.size > LARGEST:
        wrong(f"{where}.size", f"shape {value.shape!r:.80} does not hold {value.size} numbers")
    if len(value.preview) > PREVIEW_ROWS or any(len(row) > PREVIEW_COLUMNS for row in value.preview):
        wrong(f"{where}.preview", f"it is larger than {PREVIEW_ROWS} rows and {PREVIEW_COLUMNS} columns")
    if len(value.histogram) > MOST_BINS or min(value.histogram, default=0) < 0:
        wrong(f"{where}.histogram", f"it has more than {MOST_BINS} bins, or a negative count")
    if value.histogram and sum(value.histogram) != value.size - value.nan - value.inf:
        wrong(f"{where}.histogram", "its counts are not those of the finite elements")


def _numbers(value: Value) -> list[Any]:
    return [value.min, value.max, value.mean, value.mean_abs, value.norm, value.seconds, *value.preview]


def _check_versions(where: str, blobs: Iterable[str]) -> None:
    for blob in blobs:
        if not BLOB_VERSION.fullmatch(blob):
            wrong(where, f'"{shorten(blob)}" is no blob version as x@0 is')


def _check_index(where: str, index: int | None, count: int, of_what: str) -> None:
    if index is not None and not 0 <= index < count:
        wrong(where, f"there is no number {index} among {count} {of_what}")


def _check_json(contents: Sequence[Any], where: Callable[[int], str]) -> None:
    """Bounded depth and finite numbers, in parts whose form is open; `where` tells which of them is at fault.

    All are walked through at once, level by level: what is right costs little, and the stack is not theirs to fill.
    """
    if _fault(contents) is None:
        return
    for index, content in enumerate(contents):
        fault = _fault([content])
        if fault is not None:
            raise fault(where(index))


def _fault(contents: Sequence[Any]) -> Callable[[str], TraceError] | None:
    """What is wrong in any of `contents`, None where nothing is."""
    level = contents
    for _ in range(MAX_DEPTH + 1):
        inside: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is int and not -MOST <= item <= MOST:
                return partial(_no_number, item)
            if kind in WHOLE:
                continue
            if isinstance(item, float):
                if not math.isfinite(item):
                    return partial(_no_number, item)
            elif kind is dict:
                inside += item.values()
            elif isinstance(item, list | tuple):
                inside += item
        if not inside:
            return None
        level = inside
    return too_deep


def _no_number(item: float, where: str) -> TraceError:
    return TraceError(
        f"{where}: {str(item)[:40]} is no number that every reader of JSON takes.",
        kind="bad_number",
        ways_out=["Write numbers with gradviz.debugger.document.number."],
    )
