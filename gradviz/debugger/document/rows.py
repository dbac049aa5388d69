"""How a trace document stays small where loops repeat themselves: rows of JSON in place of objects.

An event that is told like an earlier one says only what differs, a row of `Again`. Arrays of one shape, dtype and
device name that once, a row of `Measured` each has its numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from .bounds import Count, FrameIndex, StackIndex, TraceError, contradiction
from .numbers import Histogram, Number, Preview, Value
from .parts import TraceEvent

MOST_TOLD = 200_000_000
"""Characters that the narrations of all rows may have together. A row is short, and what it repeats need not be."""


class Again(NamedTuple):
    """An event that is the same as event number `like` but for these fields.

    Of the other's narration, cut at spaces, it has the first `before` words, then `words`, then the last `behind`.
    """

    like: Count
    group: Count
    frame: FrameIndex | None
    seconds: float | None
    before: Count
    behind: Count
    words: str


class Measured(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The statistics of an array; without `numbers` it has one element, the one in the preview, which is finite."""

    kind: Count
    """Shape, dtype and device, an index into the kinds."""
    preview: Preview
    numbers: list[Number | None] = []
    """min, max, mean, mean_abs, norm."""
    counts: list[Count] = []
    """nan, inf, zero, and subnormal where it was counted."""
    stack: StackIndex | None = None
    histogram: Histogram = []


class Arrays(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every array that frames refer to."""

    kinds: list[tuple[list[Count], str, str]] = []
    """Shape, dtype and device."""
    rows: list[Measured] = []


def shortened(events: Sequence[TraceEvent]) -> list[TraceEvent | Again]:
    """`events` with rows for those that share the details of an earlier one."""
    first: dict[int, int] = {}
    rows: list[TraceEvent | Again] = []
    for number, event in enumerate(events):
        like = first.setdefault(id(event.detail), number)
        known = events[like]
        if like < number and _without_row(event) == _without_row(known):
            words = _difference(known.narration, event.narration)
            rows.append(Again(like, event.group, event.frame, event.seconds, *words))
        else:
            rows.append(event)
    return rows


def _without_row(event: TraceEvent) -> tuple[object, ...]:
    """What a row does not say."""
    return (
        event.kind, event.phase, event.subnet, event.forward, event.lines, event.blobs, event.ledger, event.targets,
        event.row,
    )  # fmt: skip


def _difference(known: str, text: str) -> tuple[int, int, str]:
    """The row's `before`, `behind` and `words`."""
    if known == text:
        return known.count(" ") + 1, 0, ""
    old, new = known.split(" "), text.split(" ")
    most = min(len(old), len(new))
    before = 0
    while before < most and old[before] == new[before]:
        before += 1
    behind = 0
    while behind < most - before and old[-behind - 1] == new[-behind - 1]:
        behind += 1
    return before, behind, " ".join(new[before : len(new) - behind])


def lengthened(rows: Sequence[TraceEvent | Again]) -> list[TraceEvent]:
    """The events that `rows` stand for.

    Raises TraceError where a row refers to no event before it, or where their narrations become too long.
    """
    events: list[TraceEvent] = []
    words: dict[int, list[str]] = {}
    told = 0
    for number, row in enumerate(rows):
        if isinstance(row, TraceEvent):
            events.append(row)
            continue
        known = rows[row.like] if 0 <= row.like < number else None
        if not isinstance(known, TraceEvent):
            raise contradiction(f"events[{number}]", f"event {row.like}, which it is like, is no whole event before it")
        if row.like not in words:
            words[row.like] = known.narration.split(" ")
        narration = _told(known.narration, words[row.like], row, number)
        if narration is not known.narration:
            told += len(narration)
            if told > MOST_TOLD:
                raise TraceError(
                    f"events[{number}]: up to it the narrations of repeated events have more than {MOST_TOLD:,} "
                    "characters.",
                    kind="bad_structure",
                    ways_out=["A recording that gradviz saved is shorter: save the session again."],
                )
        events.append(_event(known, row, narration))
    return events


def _event(known: TraceEvent, row: Again, narration: str) -> TraceEvent:
    return TraceEvent(
        kind=known.kind,
        narration=narration,
        group=row.group,
        phase=known.phase,
        subnet=known.subnet,
        frame=row.frame,
        forward=known.forward,
        lines=known.lines,
        blobs=known.blobs,
        ledger=known.ledger,
        targets=known.targets,
        seconds=row.seconds,
        detail=known.detail,
        row=known.row,
    )


def _told(known: str, words: list[str], row: Again, number: int) -> str:
    if row.before < 0 or row.behind < 0 or row.before + row.behind > len(words):
        raise contradiction(
            f"events[{number}]", f"its narration keeps more words than the {len(words)} of event {row.like}"
        )
    if row.before + row.behind == len(words):
        return known
    return " ".join([*words[: row.before], row.words, *words[len(words) - row.behind :]])


def as_rows(values: Sequence[Value]) -> Arrays:
    """`values` with their kinds apart."""
    numbers: dict[tuple[tuple[int, ...], str, str], int] = {}
    rows = []
    for value in values:
        kind = numbers.setdefault((tuple(value.shape), value.dtype, value.device), len(numbers))
        if _is_one_number(value):
            rows.append(Measured(kind, value.preview))
            continue
        found = [value.min, value.max, value.mean, value.mean_abs, value.norm]
        counts = [value.nan, value.inf, value.zero, *([] if value.subnormal is None else [value.subnormal])]
        rows.append(Measured(kind, value.preview, found, counts, value.stack, value.histogram))
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
        numbers, counts = [one, one, one, abs(one), abs(one)], [0, 0, int(one == 0), _is_subnormal(one, dtype)]
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


def _is_one_number(value: Value) -> bool:
    """Whether everything follows from the one number in the preview."""
    if value.size != 1 or value.stack is not None or not value.preview:
        return False
    one = value.preview[0][0]
    if isinstance(one, str):
        return False
    told = [value.min, value.max, value.mean, value.mean_abs, value.norm, value.nan, value.inf, value.zero]
    tiny = _is_subnormal(one, value.dtype)
    return told == [one, one, one, abs(one), abs(one), 0, 0, int(one == 0)] and value.subnormal == tiny


SMALLEST = {"float16": 2.0**-14, "float32": 2.0**-126, "float64": 2.0**-1022}
"""The smallest number that a dtype has at its full precision."""


def _is_subnormal(one: float, dtype: str) -> int:
    """1 where a number is too small for the precision of its dtype, else 0."""
    return int(0 < abs(one) < SMALLEST.get(dtype, 0.0))


def rows_and_columns(shape: Sequence[int]) -> tuple[int, int]:
    """An array of this shape seen as a table: the last axis lies along the rows."""
    size = 1
    for extent in shape:
        size *= extent
    if size == 0:
        return 0, 0
    columns = shape[-1] if shape else 1
    return size // columns, columns
