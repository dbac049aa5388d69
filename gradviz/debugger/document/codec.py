"""How a trace document is written as JSON and read from it; nothing in it is executed.

It stays small where loops repeat themselves, with rows of JSON in place of objects. An event with the details of
an earlier one says only what differs, a row of `Again`. Arrays of one shape, dtype and device name that once, a row of
`Measured` each has its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from ...program import GradvizError
from ...program.events import Event, from_dict, from_dicts
from ...runtime.watched import uncollected
from .bounds import TraceError, contradiction, too_deep, wrong
from .check import check, distinct
from .packed import PackedTrace, RanColumns, unpacked
from .parts import Narration, Number, TraceEvent, Value
from .schema import FORMAT, VERSION, Again, Arrays, Measured, Trace, WrittenTrace, all_lines


def encode(trace: Trace) -> bytes:
    """The document as JSON, UTF-8.

    Raises TraceError where a reference leads nowhere or a number is not JSON (`number` makes it so): a document
    that is written can be read.
    """
    with uncollected():
        check(trace)
        fields = msgspec.structs.asdict(trace)
        fields |= {"events": shortened(trace.events), "arrays": as_rows(trace.arrays)}
        return msgspec.json.encode(WrittenTrace(**fields))


def _packed(data: bytes | str) -> PackedTrace | None:
    try:
        return msgspec.json.decode(data, type=PackedTrace)
    except (RecursionError, msgspec.DecodeError, UnicodeError):
        return None


def decode(data: bytes | str) -> Trace:
    """Read a document and check that it holds together; nothing in it is executed.

    Raises TraceError: kinds "not_json", "too_deep", "not_a_trace", "newer_version", "bad_structure", "bad_reference".
    """
    return decode_with_events(data)[0]


def decode_with_events(data: bytes | str) -> tuple[Trace, list[Event], RanColumns | None]:
    """The same, with the events that the details of its events describe, without what the document says
    once for all iterations of a loop, and how long an operator ran.

    The document of a large recording has no lines and no events of its own; what ran behind its pass is in columns.
    """
    with uncollected():
        try:
            written = msgspec.json.decode(data, type=WrittenTrace)
        except (RecursionError, msgspec.DecodeError, UnicodeError) as error:
            if (packed := _packed(data)) is not None:
                return unpacked(packed)
            raise _refusal(data, error) from None
        if written.part is not None:
            raise TraceError(
                f"This is a part of a recording of {written.part.length} events, as a view shows it.",
                kind="not_a_trace",
                ways_out=["session.save(path) writes the whole recording."],
            )
        fields = msgspec.structs.asdict(written)
        fields |= {"events": lengthened(written.events, written.templates), "arrays": as_values(written.arrays)}
        trace = Trace(**fields)
        check(trace)
        return trace, _described_events(trace), None


def _refusal(data: bytes | str, error: Exception) -> TraceError:
    """Why `data` cannot be read as a trace, which `error` says; that it is none, or a newer one, comes first."""
    try:
        document = msgspec.json.decode(data)
    except RecursionError:
        return too_deep("The trace")
    except (msgspec.DecodeError, UnicodeError) as fault:
        return TraceError(
            f"This is not JSON: {fault}.",
            kind="not_json",
            ways_out=["The file may be cut off or damaged: save the session again."],
        )
    if isinstance(error, RecursionError):
        return too_deep("The trace")
    return _header_fault(document) or TraceError(
        f"The trace is not built as version {VERSION} says: {error}.", kind="bad_structure"
    )


def _header_fault(document: object) -> TraceError | None:
    """What is wrong with what is no trace, or one of another version."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return TraceError(
            f'This is JSON, but not a gradviz trace: it has no "format": "{FORMAT}".',
            kind="not_a_trace",
            ways_out=[
                "session.save(path) writes a trace, and so does gradviz grad NET -o FILE.",
                "gradviz.Net.load(path) reads a net.",
            ],
        )
    version = document.get("version")
    if type(version) is not int or version < 1:
        return TraceError(f"There is no version {version!r:.40} of a gradviz trace.", kind="not_a_trace")
    if version < VERSION:
        return TraceError(
            f"The trace has version {version}; this gradviz reads version {VERSION}.",
            kind="older_version",
            ways_out=["Record it again with this gradviz, or open it with the gradviz that wrote it."],
        )
    if version > VERSION:
        return TraceError(
            f"The trace has version {version}; this gradviz reads up to version {VERSION}.",
            kind="newer_version",
            ways_out=["Upgrade gradviz: pip install --upgrade gradviz."],
        )
    return None


NUMBERS = ("index", "position", "version", "in_versions", "out_versions")
"""Fields of events that count operators or versions."""


def _described_events(trace: Trace) -> list[Event]:
    """For each event of a trace the one that its detail describes.

    What the document says once for all iterations of a loop, and how long an operator ran, is not in it. Raises
    TraceError where a detail is not what events of its kind have.
    """
    first = distinct(trace)
    trace_events = [trace.events[index] for index in first]
    try:
        events = from_dicts(map(described, trace_events))
    except (msgspec.ValidationError, GradvizError):
        for index, trace_event in zip(first, trace_events, strict=True):
            _check_detail(f"events[{index}].detail", trace_event)
        raise
    most = sum(1 for _ in all_lines(trace))
    for index, event in zip(first, events, strict=True):
        _check_numbers(f"events[{index}].detail", event, most)
    by_detail = {id(trace_event.detail): event for trace_event, event in zip(trace_events, events, strict=True)}
    return [by_detail[id(trace_event.detail)] for trace_event in trace.events]


def described(event: TraceEvent) -> dict[str, Any]:
    """What the detail of an event describes, as `from_dict` reads it."""
    return {"seconds": None, **event.detail, "event": event.kind}


def _check_detail(where: str, event: TraceEvent) -> None:
    try:
        from_dict(described(event))
    except (msgspec.ValidationError, GradvizError) as error:
        raise TraceError(
            f"The trace is not built as {event.kind} events are, at {where}: {error}.",
            kind="bad_structure",
            ways_out=["The file may be damaged: save the session again."],
        ) from None


def _check_numbers(where: str, event: Event, most: int) -> None:
    """`most` lines there are: no operator, position or version has a greater number."""
    for field in NUMBERS:
        given = getattr(event, field, None)
        for number in given if isinstance(given, tuple) else (given,):
            if number is not None and not 0 <= number <= most:
                wrong(f"{where}.{field}", f"it is {number}, and there are {most} lines")


MOST_CHARACTERS = 200_000_000
"""Characters that all narrations may have together. A row is short, and what it repeats need not be."""


def shortened(events: Sequence[TraceEvent]) -> list[TraceEvent | Again]:
    """`events` with rows for those that share the details of an earlier one, and its template."""
    first: dict[int, int] = {}
    rows: list[TraceEvent | Again] = []
    for number, event in enumerate(events):
        like = first.setdefault(id(event.detail), number)
        earlier = events[like]
        if like < number and _without_row(event) == _without_row(earlier):
            new, old = event.narration.arguments, earlier.narration.arguments
            differ = [at for at, argument in enumerate(new) if argument != old[at]] or [0, -1]
            arguments = new[differ[0] : differ[-1] + 1]
            rows.append(Again(like, event.group, event.frame, event.seconds, differ[0], arguments))
        else:
            rows.append(event)
    return rows


def _without_row(event: TraceEvent) -> tuple[object, ...]:
    """What a row does not say."""
    return (
        event.kind, event.phase, event.subnet, event.forward, event.lines, event.blobs, event.ledger, event.targets,
        event.row, event.narration.template,
    )  # fmt: skip


def lengthened(rows: Sequence[TraceEvent | Again], templates: Sequence[str]) -> list[TraceEvent]:
    """The events that `rows` stand for.

    Raises TraceError where a row refers to no event before it, or where the narrations become too long.
    """
    events: list[TraceEvent] = []
    lengths = dict(enumerate(map(len, templates)))
    characters = 0
    for number, row in enumerate(rows):
        event = row if isinstance(row, TraceEvent) else _event(rows, row, number)
        template, arguments = event.narration.template, event.narration.arguments
        characters += lengths.get(template, 0) + len(arguments) + sum(map(len, arguments))
        if characters > MOST_CHARACTERS:
            raise TraceError(
                f"events[{number}]: up to it the narrations have more than {MOST_CHARACTERS:,} characters.",
                kind="bad_structure",
                ways_out=["A recording that gradviz saved is shorter: save the session again."],
            )
        events.append(event)
    return events


def _event(rows: Sequence[TraceEvent | Again], row: Again, number: int) -> TraceEvent:
    """The event that a row stands for, which is number `number`."""
    earlier = rows[row.like] if 0 <= row.like < number else None
    if not isinstance(earlier, TraceEvent):
        raise contradiction(f"events[{number}]", f"event {row.like}, which it is like, is no whole event before it")
    arguments, end = earlier.narration.arguments, row.at + len(row.arguments)
    if not 0 <= row.at <= end <= len(arguments):
        why = f"it has arguments {row.at} to {end} of the {len(arguments)} of event {row.like}"
        raise contradiction(f"events[{number}]", why)
    if row.arguments:
        arguments = [*arguments[: row.at], *row.arguments, *arguments[end:]]
    narration = Narration(earlier.narration.template, arguments)
    return msgspec.structs.replace(earlier, narration=narration, group=row.group, frame=row.frame, seconds=row.seconds)


def as_rows(values: Sequence[Value]) -> Arrays:
    """`values` with their kinds apart."""
    numbers: dict[tuple[tuple[int, ...], str, str], int] = {}
    rows = []
    for value in values:
        kind = numbers.setdefault((tuple(value.shape), value.dtype, value.device), len(numbers))
        statistics = [value.min, value.max, value.mean, value.mean_abs, value.norm]
        counts = [value.nan, value.inf, value.zero, *([] if value.subnormal is None else [value.subnormal])]
        one = value.preview[0][0] if value.size == 1 and value.stack is None and value.preview else None
        if isinstance(one, int | float) and (statistics, counts) == _of_one(one, value.dtype):
            rows.append(Measured(kind, value.preview))
        else:
            rows.append(Measured(kind, value.preview, statistics, counts, value.stack, value.histogram))
    return Arrays([(list(shape), dtype, device) for shape, dtype, device in numbers], rows)


def as_values(arrays: Arrays) -> list[Value]:
    """The statistics that rows stand for.

    Raises TraceError where a row contradicts itself.
    """
    return [_value(arrays, row, f"arrays.rows[{number}]") for number, row in enumerate(arrays.rows)]


def _value(arrays: Arrays, row: Measured, where: str) -> Value:
    if not 0 <= row.kind < len(arrays.kinds):
        raise contradiction(where, f"there is no kind {row.kind} among {len(arrays.kinds)}")
    shape, dtype, device = arrays.kinds[row.kind]
    numbers, counts = row.numbers, row.counts
    if not numbers:
        one = row.preview[0][0] if row.preview and row.preview[0] else None
        if not isinstance(one, int | float):
            raise contradiction(where, "it has neither statistics nor a number")
        numbers, counts = _of_one(one, dtype)
    if len(numbers) != 5 or len(counts) not in (3, 4):
        raise contradiction(where, "it has 5 statistics and 3 or 4 counts, or none")
    rows, columns = rows_and_columns(shape)
    return Value(
        shape=shape,
        dtype=dtype,
        device=device,
        size=rows * columns,
        min=numbers[0],
        max=numbers[1],
        mean=numbers[2],
        mean_abs=numbers[3],
        norm=numbers[4],
        nan=counts[0],
        inf=counts[1],
        zero=counts[2],
        preview=row.preview,
        rows=0 if row.stack is not None else rows,
        columns=0 if row.stack is not None else columns,
        stack=row.stack,
        subnormal=counts[3] if len(counts) == 4 else None,
        histogram=row.histogram,
    )


SMALLEST = {"float16": 2.0**-14, "float32": 2.0**-126, "float64": 2.0**-1022}
"""The smallest number that a dtype has at its full precision."""


def _of_one(one: float, dtype: str) -> tuple[list[Number | None], list[int]]:
    """The statistics and counts of an array that consists of one finite number."""
    is_subnormal = 0 < abs(one) < SMALLEST.get(dtype, 0.0)
    return [one, one, one, abs(one), abs(one)], [0, 0, int(one == 0), int(is_subnormal)]


def rows_and_columns(shape: Sequence[int]) -> tuple[int, int]:
    """An array of this shape seen as a table: the last axis lies along the rows."""
    size = math.prod(shape)
    if size == 0:
        return 0, 0
    columns = shape[-1] if shape else 1
    return size // columns, columns
