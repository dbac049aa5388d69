"""What each event of a recording writes, as rows: what conditions ask about.

An event has a row for each blob that it writes, and one for the first blob that it is about where it writes none.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..document import Line, Revision, Trace, TraceEvent, Value
from .conditions import BLOB_FIELDS, Result, bare, is_blob
from .places import all_lines, path_of

if TYPE_CHECKING:  # it takes its time to import
    from numpy.typing import NDArray


class Row(NamedTuple):
    """A blob that an event writes, or else is about.

    Attributes:
        position: after the event.
        blob: its version; empty where the event is about none.
        value: what the event computed; None: nothing.
    """

    position: int
    blob: str
    value: Value | None
    is_written: bool
    is_gradient: bool


class Writings:
    """The rows of a trace, in the order of their events."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._lines = {line.id: line for line in all_lines(trace)}
        backward = [trace.backward, *(net.backward for net in trace.subnets)]
        self._gradients = {
            (line.id.rpartition(".")[0], blob)
            for part in backward
            for line in part
            if line.kind == "operator"
            for blob in line.outputs
        }
        self._slots = {net.id: {blob: slot for slot, blob in enumerate(net.blobs)} for net in trace.subnets}
        self.rows = [row for position, event in enumerate(trace.events, 1) for row in self._rows(position, event)]
        self._iterations: dict[int | None, float | None] = {None: None}

    def _rows(self, position: int, event: TraceEvent) -> Iterator[Row]:
        written = self._written(position, event)
        net = event.subnet or ""
        if not written:
            blob = event.blobs[0] if event.blobs else ""
            yield Row(position, blob, None, False, (net, blob) in self._gradients)
        computes = event.kind in ("Ran", "GradWritten")
        for blob in written:
            value = self.value(blob, event.frame) if computes else None
            yield Row(position, blob, value, True, event.kind == "GradWritten" or (net, blob) in self._gradients)

    def _written(self, position: int, event: TraceEvent) -> list[str]:
        if event.kind == "GradWritten":
            return [blob for blob in event.blobs[:1] if blob == event.detail.get("after")]
        lines = [self._lines[line] for line in event.lines]
        return [
            blob
            for line in lines
            if line.kind == "operator" and (event.kind == "Ran" or line.made == position)
            for blob in line.outputs
        ]

    def value(self, blob: str, frame: int | None) -> Value | None:
        """What is known of a blob version in a run of a nested net, None: around all of them."""
        if frame is None:
            return self.trace.values.get(blob)
        run = self.trace.frames[frame]
        slot = self._slots[run.subnet].get(blob)
        number = run.values[slot] if slot is not None and slot < len(run.values) else None
        return None if number is None else self.trace.arrays[number]

    def line(self, event: TraceEvent) -> Line | None:
        """The operator that an event is about: the one that ran, else the forward one, else the last one made."""
        if event.kind != "Ran" and event.forward is not None:
            return self._lines[f"{event.subnet}.f{event.forward}" if event.subnet else f"f{event.forward}"]
        return self._lines[event.lines[-1]] if event.lines else None

    @cached_property
    def positions(self) -> NDArray[np.int64]:
        """The position of each row."""
        return np.array([row.position for row in self.rows], np.int64)

    @cached_property
    def devices(self) -> frozenset[str]:
        """Where values lie."""
        return frozenset(value.device for value in (*self.trace.values.values(), *self.trace.arrays))

    @cached_property
    def computed(self) -> Mapping[str, tuple[list[int], list[tuple[str, Value]]]]:
        """By name and by version of a blob: the positions at which it got a value, and which. Fed ones are at 0."""
        found: dict[str, tuple[list[int], list[tuple[str, Value]]]] = {}
        written = {row.blob for row in self.rows if row.is_written}
        fed = [(0, blob, value) for blob, value in self.trace.values.items() if blob not in written]
        computed = ((row.position, row.blob, row.value) for row in self.rows if row.value is not None)
        for position, blob, value in [*fed, *computed]:
            for name in (blob, bare(blob)):
                positions, values = found.setdefault(name, ([], []))
                positions.append(position)
                values.append((blob, value))
        return found

    @cached_property
    def blobs(self) -> frozenset[str]:
        """Every blob by its name, and every version of it."""
        forms: list[Line | Revision] = [*self._lines.values()]
        forms += [form for line in self._lines.values() for form in line.history]
        named = [blob for form in forms for blob in (*form.inputs, *form.outputs)]
        versions = {*named, *self.trace.values, *(row.blob for row in self.rows if row.blob)}
        return frozenset([*versions, *(bare(version) for version in versions)])

    def iteration(self, frame: int | None) -> float | None:
        """Of the innermost loop that is open in a run of a nested net; None: there is none."""
        if frame not in self._iterations:
            run = self.trace.frames[frame or 0]
            self._iterations[frame] = self.iteration(run.around) if run.iteration is None else float(run.iteration)
        return self._iterations[frame]

    def latest(self, blob: str, position: int) -> tuple[str, Value] | None:
        """The version and value of a blob that were computed last, by `position`; None: there is none."""
        positions, values = self.computed.get(blob, ((), ()))
        at = bisect_right(positions, position)
        return values[at - 1] if at else None


class RowContext(NamedTuple):
    """What a condition finds in a row."""

    writings: Writings
    row: Row

    def field(self, thing: str, attribute: str) -> Result:
        """A field of a thing, or its name."""
        row = self.row
        if thing == "x":
            return blob_field(row.blob, row.value, attribute)
        if thing == "g":
            return blob_field(row.blob, row.value, attribute) if row.is_gradient else None
        if is_blob(thing):
            found = self.writings.latest(thing[1:], row.position)
            return None if found is None else blob_field(*found, attribute)
        event = self.writings.trace.events[row.position - 1]
        if thing == "event":
            return self._of_event(event, attribute or "kind")
        if thing == "op":
            return self._of_operator(event, attribute or "type")
        return self._of_inputs(event, attribute)

    def _of_event(self, event: TraceEvent, attribute: str) -> Result:
        match attribute:
            case "kind":
                return event.kind
            case "phase":
                return event.phase
            case "step":
                return float(self.row.position)
            case "seconds":
                return event.seconds
            case "path":
                return self._path(event)
            case "iteration":
                return self.writings.iteration(event.frame)
        contributions = event.detail.get("contributions")
        if event.kind != "Accumulated" or not isinstance(contributions, list):
            return None
        # A document that was written by hand can have anything in the details of an event.
        gradients = [one.get("gradient") for one in contributions if isinstance(one, dict)]
        sparse = sum(not isinstance(gradient, str) for gradient in gradients)
        return float({"n": len(gradients), "sparse": sparse, "dense": len(gradients) - sparse}[attribute])

    def _path(self, event: TraceEvent) -> str:
        if event.frame is not None:
            return "/".join(path_of(self.writings.trace, event.frame))
        return next(("/".join(net.path) for net in self.writings.trace.subnets if net.id == event.subnet), "")

    def _of_operator(self, event: TraceEvent, attribute: str) -> Result:
        if attribute == "index":
            return None if event.forward is None else float(event.forward)
        line = self.writings.line(event)
        if line is None:
            return None
        if attribute == "device":
            return str(event.detail.get("device") or line.device or "") or None
        return {"type": line.type, "role": line.role, "name": line.name}[attribute]

    def _of_inputs(self, event: TraceEvent, attribute: str) -> Result:
        line = self.writings.line(event)
        if event.kind != "Ran" or line is None:
            return None
        read = _known(self.writings.value(blob, event.frame) for blob in line.inputs)
        if attribute == "devices":
            wrote = _known(self.writings.value(blob, event.frame) for blob in line.outputs)
            return float(len({value.device for value in (*read, *wrote)}))
        counts = [getattr(value, attribute) for value in read]
        return None if None in counts else float(sum(counts))


def blob_field(blob: str, value: Value | None, attribute: str) -> Result:
    """A field of a blob version of which `value` is known; None: not computed."""
    if not blob:
        return None
    if not attribute:
        return blob
    if attribute == "name":
        return bare(blob)
    if attribute == "version":
        version = blob.removeprefix(bare(blob)).removeprefix("@")
        return float(version) if version else None
    found = None if value is None else getattr(value, attribute)
    if attribute == "shape" and found is not None:
        return [float(extent) for extent in found]
    # NaN and the infinities are words in a document.
    return float(found) if found is not None and BLOB_FIELDS[attribute] == "number" else found


def _known(values: Iterable[Value | None]) -> list[Value]:
    return [value for value in values if value is not None]
