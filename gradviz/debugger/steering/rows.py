"""The rows of a recording: what each event writes, or else is about, and columns of what conditions ask of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...program.events import (
    BRING_OPERATORS,
    KINDS,
    Accumulated,
    Deduplicated,
    EnteredSubnet,
    Event,
    GradWritten,
    Played,
    Ran,
    Seeded,
)
from ...program.operator import bare, key_of, version_in
from ..document import Value
from ..journal import NOWHERE, Indices, Recording, Statement, Writing
from ..telling import OF_FORWARD, DocumentValues, Subject, Subjects, added, brought, ran
from .conditions import NOTHING, Column, Result, column_of
from .entries import Entries
from .faults import consistent
from .runs import Runs

Mask = NDArray[np.bool_]
NAMING = ("", "name", "version")
"""Fields that a blob has though nothing was computed."""


class Computed(NamedTuple):
    """When a blob got values, and which."""

    positions: Sequence[int]
    blobs: list[str]
    entries: Entries


class Rows:
    """One row for each blob that an event writes; else one for the first blob that it is about, if any.

    A column is made when a condition asks for it.

    Attributes:
        runs: what ran.

    Args:
        since: the first event that has rows; what asks for blobs by name needs all of them.
    """

    def __init__(
        self, recording: Recording, subjects: Subjects, runs: Runs, values: DocumentValues, since: int = 0
    ) -> None:
        self._recording = recording
        self._live = recording if recording.saved is None else None
        self._events = recording.events
        self._timeline = recording.timeline
        self._subjects = subjects
        self._values = values
        self._since = since
        self.runs = runs.since(since) if since else runs
        self._columns: dict[tuple[str, str], Column] = {}
        self._computed: dict[str, Computed] = {}

    @cached_property
    @consistent
    def events(self) -> Indices:
        """Of each row the index of its event."""
        return np.repeat(np.arange(len(self._events)), self._counts)

    @cached_property
    def positions(self) -> Indices:
        """Of each row the position after its event."""
        return self.events + 1

    @cached_property
    def _first(self) -> Indices:
        """The first row of each event."""
        return np.cumsum(self._counts) - self._counts

    @cached_property
    def _counts(self) -> Indices:
        """How many rows each event has."""
        counts = np.maximum(self._writes, 1)
        counts[: self._since] = 0
        return counts

    def _of(self, *kinds: type[Event]) -> Indices:
        """The events of some kinds, of those that have rows."""
        events = self._timeline.of(*kinds)
        return events[np.searchsorted(events, self._since) :]

    @cached_property
    def _writes(self) -> Indices:
        """How many blobs each event writes."""
        counts, runs = np.zeros(len(self._events), np.int64), self.runs
        for number in self._of(Played, *BRING_OPERATORS).tolist():
            counts[number] = sum([len(op.outputs) for op in brought(self._events[number])])
        counts[self._of(GradWritten)] = [one.after is not None for one in self._of_kind(GradWritten)]
        counts[runs.events] = np.fromiter((len(one.outputs) for one in runs.statements), np.int64)[runs.numbers]
        return counts

    def subject(self, number: int) -> Subject:
        """What an event is about."""
        return self._subjects.of(self._events[number], number + 1)

    def written(self, number: int) -> list[str]:
        """The blobs that an event writes."""
        return list(map(str, self._subjects.writes(self._events[number], number + 1, self.subject(number))))

    def blob(self, row: int) -> str:
        """The blob of a row; empty where its event is about none."""
        number = int(self.events[row])
        if self._writes[number]:
            return self.written(number)[row - int(self._first[number])]
        return next(iter(self.subject(number).blobs), "")

    @cached_property
    def _numbers(self) -> Indices:
        """Of each row of what ran the number of its blob among the outputs of all operators; else `NOWHERE`."""
        runs = self.runs
        begins = np.full(len(self._events), NOWHERE)
        outputs = np.cumsum([0, *(len(one.outputs) for one in runs.statements)])[runs.numbers]
        begins[runs.events] = np.where(self._writes[runs.events] > 0, outputs, NOWHERE)
        numbers = np.repeat(begins, self._counts)
        slots = np.arange(len(numbers)) - np.repeat(self._first, self._counts)
        return np.where(numbers == NOWHERE, NOWHERE, numbers + slots)

    @cached_property
    def _outputs(self) -> list[Writing]:
        return [writing for one in self.runs.statements for writing in one.outputs]

    def _frames_of(self, rows: Indices) -> Indices:
        """The runs of nested nets that rows of what ran are in; else `NOWHERE`."""
        return self._recording.inside[self.positions[rows]]

    @cached_property
    def _gradients_written(self) -> list[tuple[int, str]]:
        """The rows of a written ``grad`` and their blobs."""
        pairs = zip(self._first[self._of(GradWritten)].tolist(), self._of_kind(GradWritten), strict=True)
        return [(row, one.after) for row, one in pairs if one.after]

    @cached_property
    def _entries(self) -> tuple[Indices, Entries]:
        """Every row of which the event computed something, and these values."""
        ran_, given = np.flatnonzero(self._numbers != NOWHERE), self._gradients_written
        keys = [*(one.key for one in self._outputs), *(key_of(after) for _, after in given)]
        which = np.append(self._numbers[ran_], np.arange(len(self._outputs), len(keys)))
        rows = np.append(ran_, np.array([row for row, _ in given], np.int64))
        frames = np.append(self._frames_of(ran_), np.full(len(given), NOWHERE))
        return rows, Entries(self._values.each(frames, which, keys), frames)

    @consistent
    def odd(self, count: str) -> Indices:
        """The events that ran an operator and wrote elements of which there is such a count."""
        rows, entries = self._entries
        column = entries.column(count)
        is_odd = column.has_value & (column.values > 0) & (self._numbers[rows] != NOWHERE)
        return np.unique(self.events[rows[is_odd]])

    @consistent
    def has_blob(self, blob: str) -> bool:
        """Whether anything is called so, or was: a blob, or a version of one."""
        name, version = version_in(blob) or (blob, None)
        for net in self.runs.nets:
            numbers = net.every(name)
            if numbers if version is None else str(version) in numbers:
                return True
        versions = (f"{key[0]}@{key[1]}" for key in self._values.keys(None) if key[0] == name)
        if any(blob in (one, name) for one in versions):
            return True
        return any(blob in (one, bare(one)) for one in self._given_and_written)

    @cached_property
    def _given_and_written(self) -> set[str]:
        """The first blobs of events about gradients of ys, which may be given, and about the ``grad`` of Variables."""
        numbers = self._timeline.of(Seeded, GradWritten).tolist()
        return {blob for number in numbers for blob in self.subject(number).blobs[:1]}

    @property
    @consistent
    def has_values(self) -> bool:
        """Whether anything was computed."""
        return bool(self._entries[1].has_value.any())

    @consistent
    def computed(self, blob: str) -> Computed:
        """When a blob, or a version of one, got values; what was fed is at position 0."""
        if blob not in self._computed:
            self._computed[blob] = self._find_computed(blob)
        return self._computed[blob]

    def _find_computed(self, blob: str) -> Computed:
        name = bare(blob)
        is_meant = np.array([one.name == name and blob in (name, str(one)) for one in self._outputs] + [False])
        rows = np.flatnonzero(is_meant[self._numbers])
        names = [str(self._outputs[number]) for number in self._numbers[rows].tolist()]
        given = [(row, one) for row, one in self._gradients_written if blob in (one, bare(one))]
        # Of each writing the position after it, the version, and the run of a nested net.
        writes: list[tuple[int, str, int]] = [
            *((0, one, NOWHERE) for one in self._fed(blob)),
            *zip(self.positions[rows].tolist(), names, self._frames_of(rows).tolist(), strict=True),
            *((int(self.positions[row]), one, NOWHERE) for row, one in given),
        ]
        runs = np.array([run for _, _, run in writes], np.int64)
        values = self._values.each(runs, np.arange(len(writes)), [key_of(one) for _, one, _ in writes])
        order = sorted((at for at, one in enumerate(values) if one is not None), key=lambda at: writes[at][0])
        entries = Entries([values[at] for at in order], runs[order])
        return Computed([writes[at][0] for at in order], [writes[at][1] for at in order], entries)

    def _fed(self, blob: str) -> list[str]:
        """The versions of a blob that have values around all nested nets and that nothing writes there."""
        written = {after for _, after in self._gradients_written}
        net, name = self._recording.text.outermost, bare(blob)
        keys = {f"{name}@{key[1]}": key for key in self._values.keys(None) if key[0] == name}
        meant = [one for one in keys if blob in (name, one) and one not in written]
        return [one for one in meant if net.version(*keys[one]).statement is None]

    def computed_at(self, names: Iterable[str]) -> list[int]:
        """Every position at which one of these blobs gets a value."""
        return sorted({at for name in names for at in self.computed(name).positions})

    def latest(self, blob: str, position: int) -> tuple[str, Value] | None:
        """The version and value of a blob that were computed last, by `position`; None: there is none."""
        computed = self.computed(blob)
        at = bisect_right(computed.positions, position) - 1
        return None if at < 0 else (computed.blobs[at], computed.entries.value(at))

    def as_of(self, blob: str, attribute: str, positions: Indices) -> Column:
        """A field of what was computed last of a blob, by each of some positions."""
        computed = self.computed(blob)
        if not computed.positions:
            return NOTHING
        if attribute in NAMING:
            column = column_of(_naming(one, attribute) for one in computed.blobs)
        else:
            column = computed.entries.column(attribute)
        return column.take(np.searchsorted(computed.positions, positions, "right") - 1)

    @consistent
    def column(self, thing: str, attribute: str, rows: Indices | None = None) -> Column:
        """A field of a thing in each row, or its name; of some `rows` alone where they are given."""
        if thing.startswith(":"):
            return self.as_of(thing[1:], attribute, self.positions if rows is None else self.positions[rows])
        if rows is None:
            rows = np.arange(len(self.events))
        if thing in ("x", "g"):
            column = self._naming(attribute, rows) if attribute in NAMING else self._whole("x", attribute).take(rows)
            if thing == "x":
                return column
            return column._replace(has_value=column.has_value & self._are_gradients(rows, column))
        return self._whole(thing, attribute).take(self.events[rows])

    def _whole(self, thing: str, attribute: str) -> Column:
        """A field of what the event of each row computed; of other things than `x` a field in each event."""
        key = thing, attribute
        if key not in self._columns:
            self._columns[key] = self._new_column(thing, attribute)
        return self._columns[key]

    def _new_column(self, thing: str, attribute: str) -> Column:
        match thing:
            case "x":
                rows, entries = self._entries
                return _scattered(entries.column(attribute), rows, len(self.events))
            case "event":
                return self._of_event(attribute or "kind")
            case "op":
                return self._of_operator(attribute or "type")
        return self._of_inputs(attribute) if attribute else NOTHING

    def _naming(self, attribute: str, rows: Indices) -> Column:
        """The blobs of some rows, or their names or versions; those of one kind have one blob."""
        kinds, runs, count = self._numbers.copy(), self.runs, len(self._outputs)
        kinds[self._first[runs.passages]] = count + runs.alike
        others = np.flatnonzero(kinds == NOWHERE)
        kinds[others] = count + len(runs.passages) + others
        distinct, first, each = np.unique(kinds[rows], return_index=True, return_inverse=True)
        pairs = zip(distinct.tolist(), rows[first].tolist(), strict=True)
        blobs = (str(self._outputs[kind]) if kind < count else self.blob(row) for kind, row in pairs)
        return column_of(_naming(blob, attribute) for blob in blobs).take(each)

    def _are_gradients(self, rows: Indices, column: Column) -> Mask:
        """Of each row in which a column has a value whether its event is about a gradient."""
        are_gradients = np.zeros(len(rows), bool)
        has_value = np.broadcast_to(column.has_value, len(rows))
        numbers = self._numbers[rows]
        is_gradient = np.array([one.role != "forward" for one in self.runs.statements for _ in one.outputs], bool)
        are_gradients[numbers != NOWHERE] = is_gradient[numbers[numbers != NOWHERE]]
        for place in np.flatnonzero(has_value & (numbers == NOWHERE)).tolist():
            number = int(self.events[rows[place]])
            are_gradients[place] = self._subjects.is_gradient(self._events[number], number + 1, self.subject(number))
        return are_gradients

    def _of_event(self, attribute: str) -> Column:
        count, codes = len(self._events), self._timeline.codes
        everywhere = np.ones(count, bool)
        match attribute:
            case "kind":
                return Column(codes.astype(np.int64), everywhere, [kind.__name__ for kind in KINDS])
            case "step":
                return Column(np.arange(1.0, count + 1), everywhere)
            case "phase":
                return Column(self._phases, everywhere, ["play", "generate", "run"])
            case "path" | "iteration":
                return self._of_place(attribute)
            case "seconds":
                seconds = self._recording.ran_seconds
                return _scattered(Column(seconds, ~np.isnan(seconds)), self._timeline.of(Ran), count)
        pairs = map(added, self._of_kind(Accumulated))
        counts = (sum(pair) if attribute == "n" else pair[attribute == "dense"] for pair in pairs)
        return self._scattered(self._of(Accumulated), counts)

    def _of_kind(self, kind: type[Event]) -> Iterator[Any]:
        return map(self._events.__getitem__, self._of(kind).tolist())

    def _scattered(self, events: Indices, results: Iterable[Result]) -> Column:
        """What some events have, and others have not."""
        return _scattered(column_of(results), events, len(self._events))

    @cached_property
    def _phases(self) -> Indices:
        whole = self._recording.text.whole
        phases = np.ones(len(self._events), np.int64)
        phases[[number for number in self._of(Played).tolist() if not self._events[number].path]] = 0
        if whole is not None:
            phases[whole:] = 2
            phases[[at for at in self._timeline.of(Deduplicated).tolist() if at >= whole]] = 1
        phases[self._timeline.running] = 2
        return phases

    def _of_place(self, attribute: str) -> Column:
        """The path of the nested net that we are in after each event, or its innermost iteration."""
        runs = self._recording.runs
        if attribute == "iteration":
            iterations: list[Result] = []
            for run in runs:
                around = None if run.around is None else iterations[run.around]
                iterations.append(around if run.iteration is None else run.iteration)
            return column_of(iterations).take(self._frames)
        place = np.where(self._frames == NOWHERE, len(runs), self._frames)
        nested = [
            (number, "/".join(self._recording.net_after(number + 1).path))
            for number, event in enumerate(self._events[self._since : self._recording.text.whole], self._since)
            if (event.path or type(event) is EnteredSubnet) and self._frames[number] == NOWHERE
        ]
        place[[number for number, _ in nested]] = len(runs) + 1 + np.arange(len(nested))
        return column_of([*("/".join(run.path) for run in runs), "", *(path for _, path in nested)]).take(place)

    @cached_property
    def _frames(self) -> Indices:
        """Of each event the run of a nested net that we are in after it, else `NOWHERE`."""
        frames = self._recording.inside[1:].copy()
        last = len(frames) - 1
        if last >= 0 and self._recording.run_after(last + 1) is None:
            frames[last] = NOWHERE  # a program that stopped is nowhere
        return frames

    @cached_property
    def _operators(self) -> tuple[Indices, Indices]:
        """Of each event the number of its operator, and the index of its forward operator; else `NOWHERE`."""
        runs, subjects = self.runs, self._subjects
        operators, forwards = (np.full(len(self._events), NOWHERE) for _ in range(2))
        of_forward = self._of(*OF_FORWARD)
        indices = np.fromiter((self._events[at].index for at in of_forward.tolist()), np.int64)
        forwards[of_forward] = operators[of_forward] = indices
        is_other = np.arange(len(self._events)) >= self._since
        for some in (of_forward, runs.events, runs.passages):
            is_other[some] = False
        nested = [at for at in of_forward.tolist() if self._events[at].path]
        for number in [*np.flatnonzero(is_other).tolist(), *nested]:
            event, subject = self._events[number], self.subject(number)
            operator = subjects.operator(event, number + 1, subject)
            if operator is not None and operator.role != "passed":
                operators[number] = runs.number(operator)
            if subject.forward is not None:
                forwards[number] = subject.forward
        operators[runs.events], operators[runs.passages] = runs.numbers, runs.around
        of_statements = (ran(one).forward for one in runs.statements)
        forward = np.fromiter(
            (NOWHERE if one is None else one for one in of_statements), np.int64, len(runs.statements)
        )
        forwards[runs.events] = forward[runs.numbers]
        return operators, forwards

    def _of_operator(self, attribute: str) -> Column:
        operators, forwards = self._operators
        if attribute == "index":
            return Column(forwards.astype(np.float64), forwards != NOWHERE)
        column = column_of(_of_statement(one, attribute) for one in self.runs.statements).take(operators)
        if attribute != "device":
            return column
        ran_on = self._scattered(self.runs.events, (one or None for one in self.runs.devices))
        words = [*(ran_on.words or ()), *(column.words or ())]
        if not words:
            return column
        elsewhere = column.values + len(ran_on.words or ())
        values = np.where(ran_on.has_value, ran_on.values, elsewhere).astype(np.int64)
        return Column(values, ran_on.has_value | column.has_value, words)

    def _of_inputs(self, attribute: str) -> Column:
        """A field of all that the operator of a `Ran` event reads, added up; no value where one of them has none."""
        runs, count, is_devices = self.runs, len(self.runs.events), attribute == "devices"
        keys = [[one.key for one in (*op.inputs, *(op.outputs if is_devices else ()))] for op in runs.statements]
        many = np.fromiter(map(len, keys), np.int64, len(keys))[runs.numbers]
        at, frames = np.repeat(np.arange(count), many), np.repeat(runs.frames, many)
        begins = np.cumsum([0, *map(len, keys)])[runs.numbers]
        which = np.repeat(begins - np.cumsum(many) + many, many) + np.arange(len(at))
        entries = Entries(self._values.each(frames, which, list(chain.from_iterable(keys))), frames)
        column, is_there = entries.column("device" if is_devices else attribute), entries.has_value
        values, has_value = (np.broadcast_to(one, at.shape)[is_there] for one in (column.values, column.has_value))
        at = at[is_there]
        if is_devices:
            kinds = len(column.words or ()) or 1
            pairs = np.unique(at * kinds + values.astype(np.int64))
            numbers, is_complete = np.bincount(pairs // kinds, minlength=count), np.ones(count, bool)
        else:
            numbers = np.bincount(at, weights=np.where(has_value, values, 0.0), minlength=count)
            is_complete = np.bincount(at, weights=~has_value, minlength=count) == 0
        return _scattered(Column(numbers.astype(np.float64), is_complete), runs.events, len(self._events))


def _scattered(column: Column, places: Indices, count: int) -> Column:
    """A column of `count` rows, which has the values of another one at some `places` alone."""
    values, has_value = np.zeros(count, column.values.dtype), np.zeros(count, bool)
    values[places], has_value[places] = column.values, column.has_value
    return column._replace(values=values, has_value=has_value)


def _of_statement(statement: Statement, attribute: str) -> Result:
    op = statement.op
    fields = {"type": op.type, "role": statement.role, "name": op.name, "device": str(op.device or "") or None}
    return fields[attribute]


def _naming(blob: str, attribute: str) -> Result:
    """A blob version, or its name or version; None: there is none."""
    if attribute == "version":
        key = version_in(blob)
        return None if key is None else float(key[1])
    return (bare(blob) if attribute else blob) or None
