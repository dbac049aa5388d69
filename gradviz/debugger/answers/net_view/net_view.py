"""Views of nets: one net of a recording, one run of it where it ran, and what its names mean at a position.

Blob versions are known by their final names, as the document has them. What a line reads or writes may have been
called otherwise before an accumulation renamed it; `NetView.final` knows the names of the time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ....operators.registry import Array
from ....operators.scopes import ScopeStack
from ....program import Device, Operator
from ....program.events import EnteredSubnet, Event, Failed, LeftSubnet, Ran
from ...document import Frame, Line, Subnet, Value
from ...steering import CursorError, no_value, path_of, unknown
from .recorded import Recorded
from .wording import by_name, number, split

if TYPE_CHECKING:
    from .flow import Flow


KEPT = 64
"""Views that are kept: a loop can have thousands of runs."""


class NetView:
    """One net, and one run of it.

    Attributes:
        id: the net's, None for the outermost one.
        path: the nested nets to go through to reach it, without iterations.
        frame: the run that was asked for, a number among the frames.
        forward, backward: its lines.
        runs: its run forward and the run of its backward pass, as numbers among the frames; None: it did not run, or
            it is the outermost net.
        flow: what the pass over the net did, once `flow_of` has looked.

    Args:
        frame: a run forward or backward; the other one is found.
    """

    def __init__(self, recorded: Recorded, subnet: Subnet | None, frame: int | None) -> None:
        self.recorded = recorded
        self.id = subnet.id if subnet else None
        self.path = tuple(subnet.path) if subnet else ()
        self.forward: Sequence[Line] = (subnet or recorded.trace).forward
        self.backward: Sequence[Line] = (subnet or recorded.trace).backward
        self.runs: tuple[int | None, int | None] = (None, None) if frame is None else self._pair(frame)
        self._subnet = subnet
        self.frame = frame
        self.flow: Flow | None = None
        self._slots = {blob: slot for slot, blob in enumerate(subnet.blobs)} if subnet else {}

    def _pair(self, frame: int) -> tuple[int | None, int | None]:
        other = self.recorded.counterpart(frame)
        return (other, frame) if self.recorded.trace.frames[frame].is_backward else (frame, other)

    @property
    def where(self) -> str:
        """The way to this run, or to the net, as it stands before a colon in a question; empty for the outermost."""
        if self.frame is not None:
            return "/".join(path_of(self.recorded.trace, self.frame))
        return "/".join(self.path)

    def named(self, blob: str) -> str:
        """A blob of this net as it can be asked for from anywhere."""
        return f"{self.where}:{blob}" if self.where else blob

    @property
    def position(self) -> int:
        return self.recorded.position

    @cached_property
    def operators(self) -> list[Line]:
        """The lines of the gradient operators, in order."""
        return [line for line in self.backward if line.kind == "operator"]

    @cached_property
    def events(self) -> list[tuple[int, Event]]:
        """The events of generating its pass, each with the position after it."""
        told = zip(self.recorded.trace.events, self.recorded.events, strict=True)
        return [
            (at, event)
            for at, (about, event) in enumerate(told, 1)
            if event.path == self.path
            and about.kind not in _OF_RUNNING
            and not (about.kind == "Failed" and about.phase == "run")
        ]

    @cached_property
    def failures(self) -> list[tuple[int, Failed]]:
        """Where and with what generating its pass has stopped; not more than one."""
        return [(at, event) for at, event in self.events if isinstance(event, Failed)]

    @cached_property
    def versions(self) -> dict[str, list[int]]:
        """The versions of each name, as the lines read in the end."""
        return by_name(self._mentioned())

    def _mentioned(self) -> Iterator[str]:
        for line in (*self.forward, *self.backward):
            yield from line.inputs
            yield from line.outputs
        yield from self._slots
        if not self.path:
            yield from self.recorded.trace.values

    @cached_property
    def writers(self) -> dict[str, Line]:
        """Who writes each version; versions from outside have nobody."""
        return {blob: line for line in (*self.forward, *self.operators) for blob in line.outputs}

    @cached_property
    def readers(self) -> dict[str, list[Line]]:
        """Who reads each version, forward lines first; one that reads it twice stands there once."""
        found: dict[str, list[Line]] = defaultdict(list)
        for line in (*self.forward, *self.operators):
            for blob in dict.fromkeys(line.inputs):
                found[blob].append(line)
        return found

    @cached_property
    def owner(self) -> Line | None:
        """The forward line of the net around that runs this net; None: there is none."""
        around = next(around_of(self.recorded, self._subnet, None), None) if self._subnet else None
        owner = self._subnet.owner if self._subnet else None
        return None if around is None else next((line for line in around.forward if line.id == owner), None)

    @cached_property
    def bound(self) -> dict[str, str]:
        """Blob around this net -> what it is called in here."""
        if self.owner is None:
            return {}
        names = [split(blob)[0] for blob in (*self.owner.inputs, *self.owner.outputs)]
        return bindings(self.owner) if self.owner.type == "Do" else dict(zip(names, names, strict=True))

    @cached_property
    def leaving(self) -> set[str]:
        """What the net around can read of the names in here."""
        outputs = [split(blob)[0] for blob in self.owner.outputs] if self.owner else []
        return {self.bound[name] for name in outputs if name in self.bound}

    @cached_property
    def from_outside(self) -> set[str]:
        """The versions that are there before the first operator, as far as operators read them."""
        initial = {f"{name}@0" for name in self.leaving} if self.owner and self.owner.type == "Do" else set()
        read = {blob for line in self.forward for blob in line.inputs} | initial
        return read - {blob for line in self.forward for blob in line.outputs}

    def inside(self, line: Line) -> Iterator[tuple[str, NetView]]:
        """The nested nets of a forward line that have a backward pass, each with the way there, in no run of them."""
        for argument, id in line.subnets.items():
            if argument == "cond_net":
                continue
            net = next(net for net in self.recorded.trace.subnets if net.id == id)
            view = view_of(self.recorded, net, None)
            body = view.forward[0] if argument == "loop_net" and len(view.forward) == 1 else None
            if body is not None and body.type == "Do":
                yield from ((f"{argument}/0.{way}", inner) for way, inner in view.inside(body))
            else:
                yield argument, view

    def final(self, blob: str, at: int | None = None) -> str:
        """What a version, or the latest version of a name, that was called `blob` at position `at` is in the end."""
        name, _, version = blob.rpartition("@")
        at = self.position if at is None else at
        if not name or not version.isdigit():
            name, version = blob, ""
        found = [
            (reading.version, reading.final)
            for reading in self._readings.get(name, ())
            if reading.start <= at < reading.end and version in ("", str(reading.version))
        ]
        return max(found)[1] if found else f"{name}@{version or 0}"

    @cached_property
    def _readings(self) -> dict[str, list[_Reading]]:
        found: dict[str, list[_Reading]] = defaultdict(list)
        for line in (*self.forward, *self.operators):
            ends = [revision.at for revision in line.history[1:]] + [len(self.recorded.events) + 1]
            for revision, end in zip(line.history, ends, strict=True):
                for then, final in zip(revision.outputs, line.outputs, strict=True):
                    name, version = split(then)
                    found[name].append(_Reading(revision.at, end, version, final))
        return found

    def value(self, blob: str) -> Value | None:
        """The statistics of a version; None: not computed."""
        trace = self.recorded.trace
        if not self.path:
            return trace.values.get(blob)
        place = self.number_of(blob)
        return None if place is None else trace.arrays[place]

    def number_of(self, blob: str) -> int | None:
        """The number of a version's array among those of all nested nets; None: not computed."""
        run, slot = self.run_with(blob), self._slots.get(blob)
        return None if run is None or slot is None else self.recorded.trace.frames[run].values[slot]

    def run_with(self, blob: str) -> int | None:
        """Which of the two runs knows a version; None: neither does."""
        slot = self._slots.get(blob)
        for run in self.runs:
            values = [] if run is None else self.recorded.trace.frames[run].values
            if slot is not None and slot < len(values) and values[slot] is not None:
                return run
        return None

    def runs_of(self, line: Line) -> list[int]:
        """The runs of the nested nets of a line, in order, as numbers among the frames."""
        is_backward = line.role != "forward"
        place = self.operators.index(line) if is_backward else number(line)
        if is_backward and not self.path:
            place += len(self.forward)
        around = self.runs[is_backward]
        nets = set(line.subnets.values())
        return [
            frame
            for frame, run in enumerate(self.recorded.trace.frames)
            if (run.around, run.operator, run.is_backward) == (around, place, is_backward) and run.subnet in nets
        ]

    def run_operator(self, run: Frame) -> Line:
        """The line of the operator that ran a nested net of this one."""
        count = 0 if self.path else len(self.forward)
        return self.operators[run.operator - count] if run.is_backward else self.forward[run.operator]

    def array(self, blob: str) -> Array | ScopeStack | None:
        """The array of a version; None: not computed, or the recording was read from a file."""
        recording, key = self.recorded.recording, split(blob)
        if recording is None:
            return None
        if not self.path:
            return recording.values.get(key)
        for run in self.runs:
            if run is not None and key in recording.runs[run].values:
                return recording.runs[run].values[key]
        return None

    def needed(self, blob: str) -> Array:
        """The array of a version; raises CursorError ``not_computed``."""
        array = self.array(blob)
        if array is None:
            raise self.no_value(blob)
        return array

    def no_value(self, blob: str) -> CursorError:
        """That a version was not computed, and why."""
        has_stopped = self.recorded.trace.events[-1].kind == "Failed"
        is_read = self.recorded.recording is None and self.value(blob) is not None
        obstacle = self.recorded.trace.obstacle
        return no_value(self.named(blob), is_read=is_read, has_stopped=has_stopped, obstacle=obstacle)

    def operator(self, line: Line) -> Operator:
        """The operator of a line, its nested nets included, with final names and no versions."""
        net = self._nested(line)
        if net is not None:
            return net
        device = Device.parse(line.device) if line.device else None
        inputs, outputs = ([split(blob)[0] for blob in blobs] for blobs in (line.inputs, line.outputs))
        return Operator(line.type, inputs, outputs, dict(line.args), device, "", line.role == "gradient")

    def _nested(self, line: Line) -> Operator | None:
        """The recorded operator of a line that runs nested nets."""
        recording = self.recorded.recording
        if not line.subnets or recording is None:
            return None
        net = next(net for net in recording.nets if net.path == self.path)
        if line in self.forward:
            return net.forward[self.forward.index(line)]
        return net.backward[self.operators.index(line)]

    def line(self, word: str) -> Line:
        """The forward line that ``"#3"`` names; raises CursorError."""
        number = word[1:]
        if number.isdigit() and int(number) < len(self.forward):
            return self.forward[int(number)]
        raise unknown("operator", word, [f"#{index}" for index in range(len(self.forward))])


_OF_RUNNING = {kind.__name__ for kind in (Ran, EnteredSubnet, LeftSubnet)}


class _Reading(NamedTuple):
    """From position `start` to before `end` a writing was called `version` of a name, and in the end `final`."""

    start: int
    end: int
    version: int
    final: str


def bindings(line: Line) -> dict[str, str]:
    """The blobs around a Do, each with what its net calls it."""
    inputs, outputs = [split(blob)[0] for blob in line.inputs], [split(blob)[0] for blob in line.outputs]
    candidates = [*inputs[: inputs.index(outputs[-1])], *outputs[:-1]]
    return {
        candidates[place]: inner
        for inner, place in zip(line.args["inner_blobs"], line.args["outer_blobs_idx"], strict=True)
    }


def view_of(recorded: Recorded, subnet: Subnet | None, frame: int | None) -> NetView:
    """The view of a net, or of a run of it; the latest ones are kept for the next question."""
    key = (subnet.id if subnet else None, frame)
    view = recorded.views.get(key)
    if view is None:
        view = recorded.views[key] = NetView(recorded, subnet, frame)
        for oldest in list(recorded.views)[:-KEPT]:
            recorded.views.pop(oldest, None)
    return view


def around_of(recorded: Recorded, net: Subnet, frame: int | None) -> Iterator[NetView]:
    """The views around a net, or around a run of it, from the inside out."""
    trace, path = recorded.trace, tuple(net.path)
    while path := path[:-1]:
        around = next((other for other in trace.subnets if tuple(other.path) == path), None)
        frame = None if frame is None else trace.frames[frame].around
        if around is not None:
            yield view_of(recorded, around, frame)
    yield view_of(recorded, None, None)
