"""Who computed a blob version: the operator, in the run of the innermost net, whose kernel made the array."""

from __future__ import annotations

from typing import NamedTuple

from ..document import Line, Trace
from .net_view.net_view import NetView, bindings, view_of
from .net_view.recorded import Recorded
from .net_view.wording import split


class Producer(NamedTuple):
    """A blob version and the line that computed it; None: it was there before the program ran."""

    view: NetView
    blob: str
    line: Line | None


class Producers:
    """Finds who computed what.

    An array that goes from one iteration of a loop to the next, or into a nested net, is the same array; so the first
    kernel that made it is found by it, whatever it is called on the way.
    """

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._makers = _makers(recorded.trace)
        self._views: dict[int, NetView] = {}
        events = recorded.trace.events
        self._ran = {
            (event.frame, id): at for at, event in enumerate(events, 1) if event.kind == "Ran" for id in event.lines
        }

    def ran(self, producer: Producer) -> int | None:
        """The position after a version was computed; None: it was there before."""
        if producer.line is None:
            return None
        return self._ran.get((producer.view.runs[producer.line.role != "forward"], producer.line.id))

    def of(self, view: NetView, blob: str) -> Producer:
        """Who computed a version that a view knows."""
        line = view.writers.get(blob)
        if line is not None and line.subnets:
            return self._inside(view, line, blob) or Producer(view, blob, line)
        if line is not None or not view.path:
            return Producer(view, blob, line)
        return self._from_outside(view, blob)

    def _from_outside(self, view: NetView, blob: str) -> Producer:
        """Who computed what a run of a nested net found when it began."""
        run = view.run_with(blob)
        number = None if run is None else view.number_of(blob)
        if number in self._makers:
            frame, made = self._makers[number]
            return Producer(self._view(frame), made, self._view(frame).writers[made])
        around = None if run is None else self._around(view, run, blob)
        return Producer(view, blob, None) if around is None else self.of(*around)

    def _around(self, view: NetView, run: int, blob: str) -> tuple[NetView, str] | None:
        """The same version in the net around, None where it has none there."""
        frame = self._recorded.trace.frames[run]
        around = view_of(self._recorded, None, None) if frame.around is None else self._view(frame.around)
        line = around.run_operator(frame)
        name = split(blob)[0]
        if line.type == "Do":
            name = next((outer for outer, inner in bindings(line).items() if inner == name), "")
        found = [outer for outer in line.inputs if split(outer)[0] == name]
        return (around, found[0]) if found else None

    def _inside(self, view: NetView, line: Line, blob: str) -> Producer | None:
        """Who computed an output of an operator with nested nets; None: none of its runs wrote it."""
        name = split(blob)[0]
        inner = bindings(line).get(name, "") if line.type == "Do" else name
        for frame in reversed(view.runs_of(line)):
            inside = self._view(frame)
            is_backward = self._recorded.trace.frames[frame].is_backward
            written = [
                made
                for one in (inside.operators if is_backward else inside.forward)
                for made in one.outputs
                if split(made)[0] == inner and inside.value(made) is not None
            ]
            if written:
                return self.of(inside, written[-1])
        return None

    def _view(self, frame: int) -> NetView:
        if frame not in self._views:
            trace = self._recorded.trace
            net = next(net for net in trace.subnets if net.id == trace.frames[frame].subnet)
            self._views[frame] = view_of(self._recorded, net, frame)
        return self._views[frame]


def _makers(trace: Trace) -> dict[int | None, tuple[int, str]]:
    """The number of each array that a kernel in a nested net made -> the run and the version under which it did."""
    nets = {net.id: net for net in trace.subnets}
    slots = {net.id: {blob: slot for slot, blob in enumerate(net.blobs)} for net in trace.subnets}
    found: dict[int | None, tuple[int, str]] = {}
    for frame, run in enumerate(trace.frames):
        net = nets[run.subnet]
        numbers = dict(zip(net.blobs, run.values, strict=False))
        for line in net.backward if run.is_backward else net.forward:
            if line.subnets or line.kind == "passed":
                continue
            read = {numbers.get(blob) for blob in line.inputs}
            for blob in line.outputs:
                number = numbers.get(blob) if blob in slots[net.id] else None
                if number is not None and number not in read:
                    found.setdefault(number, (frame, blob))
    return found
