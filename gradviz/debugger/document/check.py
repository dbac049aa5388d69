"""Whether a trace document holds together: the rules of its types, and those that several parts keep together.

A type says its rule as `Annotated[..., msgspec.Meta(extra={"rule": ...})]`, which is that of everything inside: a whole
number is a count, or an index of what the rule names; a text is the id of one, or a blob version. {"most": n} is the
greatest length of a list or a text. Who changes a struct changes nothing here, and writes TypeScript's types and its
table of rules again: `python -m tests.debugger.document.typescript`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable
from functools import cache, partial
from itertools import chain, islice, pairwise
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec import inspect

from ...program.errors import has_half_character, shorten
from .bounds import (
    BLOB_VERSION,
    LARGEST,
    LONGEST_MARK,
    MAX_DEPTH,
    MOST,
    MOST_MARKS,
    WHOLE,
    TraceError,
    contradiction,
    too_deep,
    wrong,
)
from .parts import Graph, Line, Marked, Subnet, Value
from .schema import PLACE, Trace, all_lines

_NET = re.compile(r"s[0-9]{1,9}")


def check(trace: Trace) -> None:
    """Raise TraceError at the first place where `trace` contradicts itself."""
    check_rules(trace)
    _check_narrations(trace)
    _check_nets(trace)
    _check_forward(trace)
    _check_groups(trace)
    _check_frames(trace)
    for index, merge in enumerate(trace.merges):
        at = merge.at - (trace.part.first if trace.part else 0)
        if not 0 < at <= len(trace.events) or trace.events[at - 1].kind != "Deduplicated":
            wrong(f"merges[{index}].at", f"there is no Deduplicated event at position {merge.at}")
    for name, values in (("values", trace.values), ("arrays", dict(enumerate(trace.arrays)))):
        for key, value in values.items():
            _check_value(name, key, value)
    _check_schedule(trace)
    if (fault := fault_of_marks(trace)) is not None:
        wrong(*fault)
    _check_graph(trace.graph, {"", *(net.id for net in trace.subnets)})


def fault_of_marks(marked: Trace | Marked) -> tuple[str, str] | None:
    """Where breakpoints and watches cannot be kept as they are, and why; None: they can."""
    if len({entry.id for entry in marked.breakpoints}) < len(marked.breakpoints):
        return "breakpoints", "two of them have the same number"
    if len(marked.breakpoints) + len(marked.watches) > MOST_MARKS:
        return "breakpoints", f"with the watches they are more than {MOST_MARKS}"
    texts = [(f"watches[{at}]", watch) for at, watch in enumerate(marked.watches)]
    for at, entry in enumerate(marked.breakpoints):
        texts += [(f"breakpoints[{at}].on", entry.on), (f"breakpoints[{at}].log", entry.log or "")]
    for where, text in texts:
        if len(text) > LONGEST_MARK:
            return where, f"its length is {len(text)}, more than {LONGEST_MARK}"
        if has_half_character(text):
            return where, "it holds half a character, which no file can"
    return None


def check_outline(trace: Trace) -> None:
    """The same for the texts of code, and for the runs of nested nets, which refer to each other and to arrays."""
    check_rules(trace, "frames", "stacks", "sources", "rules")
    _check_frames(trace)


def _parts(trace: Trace) -> Parts:
    """What the rules of the types are about, by their names."""
    counts = {name: len(getattr(trace, name)) for name in ("frames", "ledgers", "arrays", "stacks", "templates")}
    length, forward = _whole(trace)
    counts |= {"count": LARGEST + 1, "positions": length + 1, "operators": forward, "shapes": len(trace.graph.shapes)}
    lines = {line.id for line in all_lines(trace)}
    return Parts(counts, {"lines": lines, "subnets": {net.id for net in trace.subnets}})


def _whole(trace: Trace) -> tuple[int, int]:
    """How many events the recording has, and forward operators around all nested nets."""
    part = trace.part
    if part is None:
        return len(trace.events), len(trace.forward)
    if part.first + len(trace.events) > part.length or len(trace.forward) > part.forward:
        wrong("part", f"{len(trace.events)} events from {part.first} on are more than the {part.length} of the whole")
    return part.length, part.forward


def _check_narrations(trace: Trace) -> None:
    places = [len(PLACE.findall(template)) for template in trace.templates]
    for index, event in enumerate(trace.events):
        if len(event.narration.arguments) != places[event.narration.template]:
            why = f"it has {len(event.narration.arguments)} arguments for {places[event.narration.template]} places"
            wrong(f"events[{index}].narration", why)


def _check_nets(trace: Trace) -> None:
    """Ids say what a net or a line is; an owner is in a net before it."""
    lines = _check_lines("", "", trace)
    for index, net in enumerate(trace.subnets):
        where = f"subnets[{index}]"
        if net.id != f"s{index}" and (trace.part is None or not _NET.fullmatch(net.id)):
            wrong(f"{where}.id", f'"{shorten(net.id)}" has to be "s{index}"')
        for owner in (net.owner, net.backward_owner):
            if owner is not None and owner not in lines:
                wrong(where, f"there is no line {shorten(owner)} before it that could run it")
        if not net.path:
            wrong(f"{where}.path", "it is empty: there is one element for each net around and itself")
        lines |= _check_lines(f"{where}.", f"{net.id}.", net)


def _check_lines(where: str, prefix: str, net: Trace | Subnet) -> set[str]:
    """The ids of the lines of a net, each of which is there once; of a part some, with rising numbers."""
    ids: set[str] = set()
    is_part = isinstance(net, Trace) and net.part is not None
    for part, lines in (("forward", net.forward), ("backward", net.backward)):
        due = 0
        for index, line in enumerate(lines):
            here = f"{where}{part}[{index}]"
            if (line.role == "passed", line.role == "forward") != (line.kind == "passed", part == "forward"):
                wrong(here, f'kind "{line.kind}" and role "{line.role}" contradict each other')
            if line.kind != "passed":
                letter = part[0]
                if is_part and line.id[:1] == letter and line.id[1:].isdecimal():
                    due = max(due, int(line.id[1:]))
                own, due = f"{letter}{due}", due + 1
            else:
                own = f"p{line.of}"
            if line.id != prefix + own or line.id in ids:
                wrong(f"{here}.id", f'"{shorten(line.id)}" has to be "{prefix}{own}", once')
            ids.add(line.id)
            _check_history(f"{here}.history", line)
    return ids


def _check_history(where: str, line: Line) -> None:
    times = [revision.at for revision in line.history]
    if times[:1] != [line.made] or any(before >= after for before, after in pairwise(times)):
        wrong(where, f"its times {times!r:.80} have to rise from {line.made}")
    for part in line.history:
        if len(part.inputs) != len(line.inputs) or len(part.outputs) != len(line.outputs):
            wrong(where, "it reads or writes more blobs, or fewer, than the line does in the end")


def _check_forward(trace: Trace) -> None:
    """A number of a forward operator is one of its net."""
    nets: dict[str | None, Trace | Subnet] = {None: trace} | {net.id: net for net in trace.subnets}
    counts = {name: len(net.forward) for name, net in nets.items()} | {None: _whole(trace)[1]}

    def check(where: str, net: str | None, index: int | None) -> None:
        if index is not None and index >= counts[net]:
            wrong(where, f"there is no number {index} among {counts[net]} forward operators")

    for name, net in nets.items():
        for line in (*net.forward, *net.backward):
            check(f"line {line.id}.of", name, line.of)
    for number, ledger in enumerate(trace.ledgers):
        for one in ledger.contributions:
            check(f"ledgers[{number}].contributions", ledger.subnet, one.of)
    for number in distinct(trace):
        check(f"events[{number}].forward", trace.events[number].subnet, trace.events[number].forward)


def distinct(trace: Trace) -> list[int]:
    """The first event that has each detail: iterations share theirs, which are checked once."""
    first: dict[int, int] = {}
    for index, event in enumerate(trace.events):
        first.setdefault(id(event.detail), index)
    return list(first.values())


def _check_groups(trace: Trace) -> None:
    """Groups are contiguous, but that those of nested nets may lie inside; events are in the net last entered."""
    open_: list[int | None] = [None]
    inside: list[tuple[str | None, int | None]] = [(None, None)]
    for entered in trace.part.entered if trace.part else ():
        open_.append(None)
        inside.append((entered.subnet, entered.frame))
    groups: set[int] = set()
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
            if event.group in groups:
                wrong(f"events[{index}].group", f"group {event.group} had already ended; groups are contiguous")
            groups.add(event.group)
            open_[-1] = event.group
        if event.kind == "EnteredSubnet":
            open_.append(None)


def _check_frames(trace: Trace) -> None:
    """Frames lie in those before them, as stacks do on others; what a frame has values of are blobs of its net."""
    blobs = {net.id: len(net.blobs) for net in trace.subnets}
    for index, frame in enumerate(trace.frames):
        if frame.around is not None and frame.around >= index:
            wrong(f"frames[{index}].around", f"there is no number {frame.around} among {index} frames before it")
        if len(frame.values) > blobs[frame.subnet]:
            wrong(f"frames[{index}].values", f"they are more than the {blobs[frame.subnet]} blobs of {frame.subnet}")
    for index, stack in enumerate(trace.stacks):
        if stack.below is not None and stack.below >= index:
            wrong(f"stacks[{index}].below", f"there is no number {stack.below} among {index} stacks before it")


def _check_value(part: str, key: object, value: Value) -> None:
    where = f"{part}[{shorten(str(key))}]"
    if math.prod(value.shape) != value.size or value.size > LARGEST:
        wrong(f"{where}.size", f"shape {value.shape!r:.80} does not hold {value.size} numbers")
    if value.histogram and sum(value.histogram) != value.size - value.nan - value.inf:
        wrong(f"{where}.histogram", "its counts are not those of the finite elements")


def _check_schedule(trace: Trace) -> None:
    if trace.schedule is None:
        return
    if len(trace.schedule.ranks) != len(trace.forward):
        wrong("schedule.ranks", f"they are {len(trace.schedule.ranks)} for {len(trace.forward)} forward operators")
    for index, wait in enumerate(trace.schedule.waits):
        if wait.until is not None and wait.since > wait.until:
            wrong(f"schedule.waits[{index}]", f"it lasts from {wait.since} to {wait.until}")


def _check_graph(graph: Graph, nets: set[str]) -> None:
    """Each group lies in one before it, if in any, and no line in two: they are trees, of a depth that is bounded."""
    if (graph.svg is None) != (graph.omitted is not None):
        wrong("graph", "it has to be either svg, or the reason why it was omitted")
    depths: dict[str, int] = {}
    lines: set[str] = set()
    for index, group in enumerate(graph.groups):
        where = f"graph.groups[{index}]"
        net, _, own = group.id.rpartition(".")
        if group.id in depths or not own.startswith("g") or net not in nets:
            wrong(f"{where}.id", f"{shorten(group.id)} has to be a new one, in a net that there is")
        if group.around is not None and (group.around not in depths or group.around.rpartition(".")[0] != net):
            wrong(f"{where}.around", f"there is no group {shorten(group.around)} of its net before it")
        depths[group.id] = 1 + depths.get(group.around or "", 0)
        if depths[group.id] > MAX_DEPTH:
            raise too_deep(where)
        for line in group.lines:
            if line in lines or line.rpartition(".")[0] != net:
                wrong(f"{where}.lines", f"line {shorten(line)} is not of its net, or in another group")
            lines.add(line)


class Parts(NamedTuple):
    """What a document has, by the names of the rules."""

    counts: dict[str, int]
    names: dict[str, Collection[str]]


class _Fault(Exception):
    """The number of the item that is wrong, what makes the error for its place, and the way to that inside of it."""

    def __init__(self, number: int, error: Callable[[str], TraceError], way: str = "") -> None:
        self.number, self.error, self.way = number, error, way


Check = Callable[[Collection[Any], Parts], None]
"""Takes all that stands in one field anywhere in a document, so what is right costs little. Raises _Fault."""


def check_rules(trace: Trace, *names: str) -> None:
    """Raise TraceError at the first field, of all or of some names, that breaks its rule, is no JSON, or too deep."""
    parts = _parts(trace)
    try:
        for check in _checks_of_trace(*names):
            check([trace], parts)
    except _Fault as fault:
        raise fault.error(fault.way.removeprefix(".")) from None


@cache
def _checks_of_trace(*names: str) -> list[Check]:
    return _checks(inspect.type_info(Trace), None, names)


def _checks(type: inspect.Type, rule: str | None, names: Collection[str] = ()) -> list[Check]:
    """What checks items of a type, of a struct all fields or those of some names; a rule around them is theirs."""
    match type:
        case inspect.Metadata(type=inner, extra=extra):
            extra = extra or {}
            length: list[Check] = [partial(_check_length, extra["most"])] if "most" in extra else []
            return length + _checks(inner, extra.get("rule", rule))
        case inspect.StructType(fields=fields):
            checked = [one for one in fields if not names or one.name in names]
            return [check for one in checked for check in _of_field(one.name, _checks(one.type, rule))]
        case inspect.DictType(value_type=inspect.AnyType()) | inspect.AnyType():
            return _of_each_once([_check_json])
        case inspect.ListType(item_type=item):
            return _of_each_once(_of_entries(list, enumerate, _checks(item, rule)))
        case inspect.DictType(key_type=key, value_type=item):
            keys = _of_entries(list, lambda entries: zip(entries, entries, strict=True), _checks(key, rule))
            return keys + _of_entries(dict.values, dict.items, _checks(item, rule))
        case inspect.UnionType(types=types) if not any(isinstance(one, inspect.FloatType) for one in types):
            return [check for one in types for check in _of_members(_class(one), _checks(one, rule))]
        case inspect.UnionType() | inspect.FloatType():
            return [_check_json]
        case inspect.IntType() if rule:
            return [partial(_check_whole, rule)]
        case inspect.StrType() if rule:
            return [partial(_check_text, rule)]
    return []


def _class(type: inspect.Type) -> Any:
    match type:
        case inspect.Metadata(type=inner):
            return _class(inner)
        case inspect.StructType(cls=structure):
            return structure
    classes = {inspect.StrType: str, inspect.IntType: int, inspect.ListType: list, inspect.DictType: dict}
    return classes.get(type.__class__)


Place = tuple[int, str]
"""The number of an item, and the way to something inside of it."""


def _through(
    column: Callable[[Any], Collection[Any]], places: Callable[[Any], Iterable[Place]], checks: list[Check]
) -> list[Check]:
    """Checks what `column` finds in the items; where that is, `places` says, asked only where something is wrong."""

    def through(items: Collection[Any], parts: Parts) -> None:
        values = column(items)
        try:
            for check in checks:
                check(values, parts)
        except _Fault as fault:
            number, way = next(islice(iter(places(items)), fault.number, None))
            raise _Fault(number, fault.error, way + fault.way) from None

    return [through] if checks else []


def _of_field(name: str, checks: list[Check]) -> list[Check]:
    field = attrgetter(name)
    return _through(
        lambda items: list(map(field, items)),
        lambda items: ((number, f".{name}") for number in range(len(items))),
        checks,
    )


def _of_entries(
    values: Callable[[Any], Iterable[Any]], entries: Callable[[Any], Iterable[tuple[Any, Any]]], checks: list[Check]
) -> list[Check]:
    """Of lists or dictionaries; the `entries` of one are indices or keys with what stands there."""
    return _through(
        lambda items: list(chain.from_iterable(map(values, items))),
        lambda items: (
            (number, f"[{shorten(str(key))}]") for number, item in enumerate(items) for key, _ in entries(item)
        ),
        checks,
    )


def _of_members(kind: Any, checks: list[Check]) -> list[Check]:
    return _through(
        lambda items: [item for item in items if isinstance(item, kind)],
        lambda items: ((number, "") for number, item in enumerate(items) if isinstance(item, kind)),
        checks,
    )


def _of_each_once(checks: list[Check]) -> list[Check]:
    """Iterations share what they say in the same words."""

    def firsts(items: Collection[Any]) -> Iterable[Place]:
        numbers = {id(item): number for number, item in reversed(list(enumerate(items)))}
        return ((number, "") for number in sorted(numbers.values()))

    return _through(lambda items: {id(item): item for item in items}.values(), firsts, checks)


def _check_whole(rule: str, items: Collection[int], parts: Parts) -> None:
    end = parts.counts[rule]
    if items and (min(items) < 0 or max(items) >= end):
        number, item = next((number, item) for number, item in enumerate(items) if not 0 <= item < end)
        why = "it is negative" if item < 0 else f"there is no number {item} among {end} {rule}"
        raise _Fault(number, partial(contradiction, why=why))


ABSENT = {
    "lines": "there is no line {}",
    "subnets": "there is no nested net {}",
    "versions": "{} is no blob version as x@0 is",
}


def _check_text(rule: str, items: Collection[str], parts: Parts) -> None:
    for item in dict.fromkeys(items):
        if item not in parts.names[rule] if rule != "versions" else not BLOB_VERSION.fullmatch(item):
            error = partial(contradiction, why=ABSENT[rule].format(shorten(item)))
            raise _Fault(list(items).index(item), error)


def _check_length(most: int, items: Collection[Any], parts: Parts) -> None:
    for number, item in enumerate(items):
        if len(item) > most:
            raise _Fault(number, partial(contradiction, why=f"its length is {len(item)}, more than {most}"))


def _check_json(items: Collection[Any], parts: Parts) -> None:
    """Bounded depth and finite numbers, in parts whose form is open."""
    if _json_fault(items) is None:
        return
    for number, item in enumerate(items):
        if error := _json_fault([item]):
            raise _Fault(number, error)


def _json_fault(level: Iterable[Any]) -> Callable[[str], TraceError] | None:
    """What is wrong in any of these; level by level, for the stack is not theirs to fill."""
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
