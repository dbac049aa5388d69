"""Whether a trace document holds together: references lead somewhere, numbers are JSON, nothing is too deep."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

from ..program.errors import GradvizError, shorten

if TYPE_CHECKING:
    from .trace import Ledger, Line, Merge, Trace, TraceEvent, Value

MAX_DEPTH = 200
"""Nesting of nets, arguments and details. Deeper ones could exhaust the stack of whoever walks them."""

PREVIEW_ROWS, PREVIEW_COLUMNS = 6, 16
MERGED_ROWS = 8
"""Indices of a merge that a document lists."""


class TraceError(GradvizError):
    """A trace document that cannot be read, or one that must not be written.

    ``kind`` is one of ``not_json``, ``too_deep``, ``not_a_trace``, ``newer_version``, ``bad_structure``,
    ``bad_reference``, ``bad_number``.
    """


def check(trace: Trace) -> None:
    """Raise TraceError at the first place where `trace` contradicts itself."""
    _check_lines(trace)
    group_ends: set[int] = set()
    ids = {line.id for line in trace.forward} | {line.id for line in trace.backward}
    for index, event in enumerate(trace.events):
        _check_event(trace, index, event, ids)
        if index and event.group != trace.events[index - 1].group:
            group_ends.add(trace.events[index - 1].group)
        if event.group in group_ends:
            _wrong(f"events[{index}].group", f"group {event.group} had already ended; groups are contiguous")
    for index, ledger in enumerate(trace.ledgers):
        _check_ledger(trace, index, ledger)
    for index, merge in enumerate(trace.merges):
        _check_merge(trace, index, merge)
    for version, value in trace.values.items():
        _check_value(f"values[{shorten(version)}]", value)
    graph = trace.graph
    drawn = graph.svg is not None and graph.dot is not None
    if drawn == (graph.omitted is not None) or (graph.svg is None) != (graph.dot is None):
        _wrong("graph", "it has to be either svg and dot, or the reason why it was omitted")
    _check_json("net", trace.net)


def _check_lines(trace: Trace) -> None:
    """Ids say what a line is and are unique; times lie inside the recording."""
    for index, line in enumerate(trace.forward):
        if line.id != f"f{index}" or line.role != "forward" or line.kind != "operator":
            _wrong(f"forward[{index}]", f'it has to be an operator of role forward with the id "f{index}"')
        _check_line(trace, f"forward[{index}]", line)
    emitted = 0
    passed: set[str] = set()
    for index, line in enumerate(trace.backward):
        where = f"backward[{index}]"
        if (line.role == "passed") != (line.kind == "passed") or line.role == "forward":
            _wrong(where, f'kind "{line.kind}" and role "{line.role}" contradict each other')
        expected = f"p{line.of}" if line.kind == "passed" else f"b{emitted}"
        if line.id != expected or line.id in passed:
            _wrong(f"{where}.id", f'"{shorten(line.id)}" has to be "{expected}", once')
        if line.kind == "passed":
            passed.add(line.id)
        else:
            emitted += 1
        _check_line(trace, where, line)


def _check_line(trace: Trace, where: str, line: Line) -> None:
    end = len(trace.events)
    _check_index(f"{where}.of", line.of, len(trace.forward), "forward operators")
    if not 0 <= line.made <= end or (line.ran is not None and not 0 <= line.ran <= end):
        _wrong(where, f"it was made at {line.made} and ran at {line.ran}; the recording goes from 0 to {end}")
    times = [revision.at for revision in line.history]
    if not times or times[0] != line.made or times != sorted(set(times)) or times[-1] > end:
        _wrong(f"{where}.history", f"its times {times!r:.80} have to rise from {line.made}, at most to {end}")
    _check_json(f"{where}.args", line.args)


def _check_event(trace: Trace, index: int, event: TraceEvent, ids: set[str]) -> None:
    where = f"events[{index}]"
    _check_index(f"{where}.forward", event.forward, len(trace.forward), "forward operators")
    _check_index(f"{where}.ledger", event.ledger, len(trace.ledgers), "ledgers")
    for line in event.lines:
        if line not in ids:
            _wrong(f"{where}.lines", f"there is no line {shorten(line)}")
    _check_json(f"{where}.detail", event.detail)


def _check_ledger(trace: Trace, index: int, ledger: Ledger) -> None:
    where = f"ledgers[{index}]"
    if not 0 <= ledger.at <= len(trace.events):
        _wrong(f"{where}.at", f"position {ledger.at} is outside the recording, 0 to {len(trace.events)}")
    numbers: list[object] = [ledger.norm, ledger.cancellation]
    for k, contribution in enumerate(ledger.contributions):
        _check_index(f"{where}.contributions[{k}].of", contribution.of, len(trace.forward), "forward operators")
        numbers += [contribution.norm, contribution.share, contribution.cosine]
    _check_json(where, numbers)


def _check_merge(trace: Trace, index: int, merge: Merge) -> None:
    where = f"merges[{index}]"
    if not 0 < merge.at <= len(trace.events) or trace.events[merge.at - 1].kind != "Deduplicated":
        _wrong(f"{where}.at", f"there is no Deduplicated event at position {merge.at}")
    if len(merge.most_repeated) > MERGED_ROWS:
        _wrong(f"{where}.most_repeated", f"it lists more than {MERGED_ROWS} indices")
    counts = [merge.rows_before, merge.rows_after, *(row.times for row in merge.most_repeated)]
    if any(count is not None and count < 0 for count in counts):
        _wrong(where, "a count is negative")
    _check_json(where, [merge.difference])


def _check_value(where: str, value: Value) -> None:
    if min(value.size, value.rows, value.columns, value.nan, value.inf, value.zero, *value.shape) < 0:
        _wrong(where, "a size or a count is negative")
    if math.prod(value.shape) != value.size:
        _wrong(f"{where}.size", f"shape {value.shape!r:.80} does not hold {value.size} numbers")
    if len(value.preview) > PREVIEW_ROWS or any(len(row) > PREVIEW_COLUMNS for row in value.preview):
        _wrong(f"{where}.preview", f"it is larger than {PREVIEW_ROWS} rows and {PREVIEW_COLUMNS} columns")
    statistics = [value.min, value.max, value.mean, value.mean_abs, value.norm, value.seconds]
    _check_json(where, [statistics, *value.preview])


def _check_index(where: str, index: int | None, count: int, of_what: str) -> None:
    if index is not None and not 0 <= index < count:
        _wrong(where, f"there is no number {index} among {count} {of_what}")


def _check_json(where: str, content: Any) -> None:
    """Bounded depth and finite numbers, in parts whose form is open. A stack of its own: the depth is not trusted."""
    stack = [(content, 0)]
    while stack:
        item, depth = stack.pop()
        if isinstance(item, float):
            if not math.isfinite(item):
                raise TraceError(
                    f"{where}: {item!r} is not a number in JSON.",
                    kind="bad_number",
                    ways_out=["Write numbers with gradviz.debugger.trace.number."],
                )
        elif isinstance(item, (dict, list, tuple)):
            if depth >= MAX_DEPTH:
                raise too_deep(where)
            stack.extend((child, depth + 1) for child in (item.values() if isinstance(item, dict) else item))


def too_deep(where: str) -> TraceError:
    """The error for nesting beyond MAX_DEPTH."""
    return TraceError(f"{where}: nested deeper than {MAX_DEPTH} levels.", kind="too_deep")


def _wrong(where: str, why: str) -> NoReturn:
    raise TraceError(f"The trace contradicts itself at {where}: {why}.", kind="bad_reference")
