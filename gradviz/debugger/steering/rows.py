"""The rows of a recording: what each event writes, or else is about, and columns of what conditions ask of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..document import Line, Revision, Trace, TraceEvent, Value, all_lines
from .conditions import FIELDS, NOTHING, Column, Result, bare, column_of
from .places import path_of
from .saved import SavedValues

Indices = NDArray[np.int64]


class Computed(NamedTuple):
    """When a blob got values, and which."""

    positions: list[int]
    values: list[tuple[str, Value]]


class Rows:
    """One row for each blob that an event writes; else one for the first blob that it is about, if any.

    A column is made when a condition asks for it.

    Attributes:
        blobs: of each row; empty where its event is about none.
        events: of each row the index of its event.
        positions: of each row the position after it.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        named = [event.row.writes or event.blobs[:1] or [""] for event in trace.events]
        self.blobs = [blob for blobs in named for blob in blobs]
        self.events: Indices = np.repeat(np.arange(len(named)), np.fromiter(map(len, named), np.int64))
        self.positions: Indices = self.events + 1
        self._value = SavedValues(trace).of
        self._lines = {line.id: line for line in all_lines(trace)}
        self._columns: dict[tuple[str, str], Column] = {}
        self._iterations: dict[int | None, int | None] = {None: None}

    @cached_property
    def values(self) -> list[Value | None]:
        """What the event of each row computed; None: nothing."""
        events = self._trace.events
        computes = [event.kind in ("Ran", "GradWritten") and bool(event.row.writes) for event in events]
        rows = zip(self.events.tolist(), self.blobs, strict=True)
        return [self._value(blob, events[at].frame) if computes[at] else None for at, blob in rows]

    @cached_property
    def computed(self) -> Mapping[str, Computed]:
        """By name and by version of a blob. What was fed is at position 0."""
        found: dict[str, Computed] = {}
        written = {blob for event in self._trace.events for blob in event.row.writes}
        fed = [(0, blob, value) for blob, value in self._trace.values.items() if blob not in written]
        for position, blob, value in [*fed, *zip(self.positions.tolist(), self.blobs, self.values, strict=True)]:
            if value is not None:
                for name in (blob, bare(blob)):
                    positions, values = found.setdefault(name, Computed([], []))
                    positions.append(position)
                    values.append((blob, value))
        return found

    @cached_property
    def names(self) -> frozenset[str]:
        """Every blob by its name, and every version of it."""
        lines = self._lines.values()
        forms: list[Line | Revision] = [*lines, *(form for line in lines for form in line.history)]
        versions = {blob for form in forms for blob in (*form.inputs, *form.outputs)}
        versions |= {*self._trace.values, *filter(None, self.blobs)}
        return frozenset([*versions, *map(bare, versions)])

    def written(self, version: str) -> list[int]:
        """The positions of the events that write a blob version."""
        return [at for at, event in enumerate(self._trace.events, 1) if version in event.row.writes]

    def computed_at(self, names: Iterable[str]) -> list[int]:
        """Every position at which one of these blobs gets a value."""
        return sorted({at for name in names if name in self.computed for at in self.computed[name].positions})

    def latest(self, blob: str, position: int) -> tuple[str, Value] | None:
        """The version and value of a blob that were computed last, by `position`; None: there is none."""
        positions, values = self.computed.get(blob, ((), ()))
        at = bisect_right(positions, position)
        return values[at - 1] if at else None

    def as_of(self, blob: str, attribute: str, positions: Indices) -> Column:
        """A field of what was computed last of a blob, by each of some positions."""
        if blob not in self.computed:
            return NOTHING
        found, values = self.computed[blob]
        column = self._once(f":{blob}", attribute, lambda: (_of_value(*one, attribute) for one in values))
        return column.take(np.searchsorted(found, positions, "right") - 1)

    def column(self, thing: str, attribute: str) -> Column:
        """A field of a thing in each row, or its name."""
        if thing.startswith(":"):
            return self.as_of(thing[1:], attribute, self.positions)
        if thing in ("x", "g"):
            pairs = zip(self.blobs, self.values, strict=True)
            column = self._once("x", attribute, lambda: (_of_value(*pair, attribute) for pair in pairs))
            return column if thing == "x" else column._replace(known=column.known & self._gradients)
        return self._once(thing, attribute, lambda: self._of_events(thing, attribute)).take(self.events)

    @cached_property
    def _gradients(self) -> NDArray[np.bool_]:
        events = self._trace.events
        return np.fromiter((event.row.is_gradient for event in events), bool, len(events))[self.events]

    def _once(self, thing: str, attribute: str, make: Callable[[], Iterable[Result]]) -> Column:
        if (thing, attribute) not in self._columns:
            self._columns[thing, attribute] = column_of(make())
        return self._columns[thing, attribute]

    def _of_events(self, thing: str, attribute: str) -> Iterable[Result]:
        """A field of each event, of its operator, or of what that reads."""
        events = self._trace.events
        if thing == "event":
            ask = self._of_event(attribute or "kind")
            return [ask(position, event) for position, event in enumerate(events, 1)]
        operators = [self._lines.get(event.row.operator or "") for event in events]
        of = _of_operator if thing == "op" else self._of_inputs
        return [of(event, line, attribute or "type") for event, line in zip(events, operators, strict=True)]

    def _of_event(self, attribute: str) -> Callable[[int, TraceEvent], Result]:
        match attribute:
            case "step":
                return lambda position, event: position
            case "path":
                return lambda position, event: self._path(event)
            case "iteration":
                return lambda position, event: self._iteration(event.frame)
            case "n":
                return lambda position, event: sum(event.row.added) if event.row.added else None
            case "sparse" | "dense":
                number = ("sparse", "dense").index(attribute)
                return lambda position, event: event.row.added[number] if event.row.added else None
        return lambda position, event: getattr(event, attribute)

    def _iteration(self, frame: int | None) -> int | None:
        """Of the innermost loop that is open in a run of a nested net; None: there is none."""
        if frame not in self._iterations:
            run = self._trace.frames[frame or 0]
            self._iterations[frame] = self._iteration(run.around) if run.iteration is None else run.iteration
        return self._iterations[frame]

    def _path(self, event: TraceEvent) -> str:
        if event.frame is not None:
            return "/".join(path_of(self._trace, event.frame))
        return next(("/".join(net.path) for net in self._trace.subnets if net.id == event.subnet), "")

    def _of_inputs(self, event: TraceEvent, line: Line | None, attribute: str) -> Result:
        if event.kind != "Ran" or line is None or attribute not in FIELDS["inputs"]:
            return None
        read = self._values_of(line.inputs, event)
        if attribute == "devices":
            return len({value.device for value in (*read, *self._values_of(line.outputs, event))})
        counts = [getattr(value, attribute) for value in read]
        return None if None in counts else sum(counts)

    def _values_of(self, blobs: Iterable[str], event: TraceEvent) -> list[Value]:
        return [value for blob in blobs if (value := self._value(blob, event.frame)) is not None]


class RowsAt(NamedTuple):
    """What watches look at: blobs alone, at some positions."""

    rows: Rows
    positions: Indices

    def column(self, thing: str, attribute: str) -> Column:
        """A field of a blob at each position, or its name."""
        return self.rows.as_of(thing.removeprefix(":"), attribute, self.positions)


def _of_operator(event: TraceEvent, line: Line | None, attribute: str) -> Result:
    if attribute == "index":
        return event.forward
    if line is not None and attribute == "device":
        return str(event.detail.get("device") or line.device or "") or None
    return None if line is None else getattr(line, attribute)


def _of_value(blob: str, value: Value | None, attribute: str) -> Result:
    """A field of a blob version of which `value` is known; None: not computed."""
    if attribute in ("", "name"):
        return (bare(blob) if attribute else blob) or None
    if attribute == "version":
        version = blob.removeprefix(bare(blob)).removeprefix("@")
        return float(version) if version else None
    found = None if value is None else getattr(value, attribute)
    if attribute == "shape" and found is not None:
        return [float(extent) for extent in found]
    # NaN and the infinities are words in a document.
    return float(found) if found is not None and FIELDS["blob"][attribute] == "number" else found
