"""What a recording tells of running the program: an event for each operator and each passage into and out of a net.

The iterations of a loop say the same things of other numbers, so what they say is put together once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from ...program.events import EnteredSubnet, Event, Failed, GradWritten, LeftSubnet, Ran, to_dict
from ...program.operator import parts_of
from ..document import Kind, TraceEvent, Value, json_safe
from ..journal import Key, NetHalves, Pace, Recording, Run
from . import narration
from .eager_narration import known_before, written
from .event_groups import EventGroups
from .lines import GrowingLine, Lines
from .programs import Program
from .run_narration import Passage, entered, left
from .story import targets
from .values import Values

MOST_BLOBS = 12
"""Blob versions in focus on entering a net."""


class Execution:
    """The events of running a program.

    Attributes:
        events: what the document keeps of them.
        ended: (frame around, operator) -> the position after the operator ran, for those that run nested nets.
    """

    def __init__(self, recording: Recording, program: Program, values: Values, groups: EventGroups, pace: Pace) -> None:
        self.events: list[TraceEvent] = []
        self.ended: dict[tuple[int | None, int], int] = {}
        self._recording = recording
        self._program = program
        self._values = values
        self._groups = groups
        self._frames: list[int] = []
        self._begun = 0
        self._like: dict[object, TraceEvent] = {}
        self._texts: dict[str, str] = {}
        for at, event in enumerate(pace.over(recording.execution), len(recording.generation) + 1):
            self.events.append(self._tell(event, at))

    def _tell(self, event: Event, at: int) -> TraceEvent:
        group = self._groups.of(event, runs=True)
        match event:
            case Ran():
                return self._tell_ran(event, at, group)
            case GradWritten():
                return self._tell_written(event, group)
            case EnteredSubnet():
                return self._tell_entered(event, group)
            case LeftSubnet():
                return self._tell_left(event, group)
            case Failed():
                return self._tell_failed(event, group)
        raise TypeError(f"{event.kind} is no event of running a program")

    @property
    def _run(self) -> Run | None:
        """The run that we are in, None in the outermost net."""
        return self._recording.runs[self._frames[-1]] if self._frames else None

    def _tell_ran(self, event: Ran, at: int, group: int) -> TraceEvent:
        run, frame = self._run, self._frames[-1] if self._frames else None
        net, lines, line = self._place(run, event.position)
        if line.ran is None:
            line.ran = at
        if line.subnets:
            self.ended[frame, event.position] = at
        keys = [(written.name, written.version) for written in line.outputs]
        found = [(f"{key[0]}@{key[1]}", value) for key in keys if (value := self._value(frame, net, key)) is not None]
        words = oddities([value for _, value in found])
        known = self._like.get(key := (line.id, words, event.device))
        if known is None:
            blobs = list(map(str, [*line.outputs, *line.inputs]))
            forward = _number(line) if line.role == "forward" else line.of
            known = self._like[key] = self._whole(
                event, lines, forward, [line], blobs, [event.op.type, *words], is_named=run is None
            )
            self._texts[line.id] = narration.running(line)
        described = [(blob, narration.shape(value)) for blob, value in found]
        if event.seconds is None:
            text = known_before(line, found)
        else:
            text = narration.ran(self._texts[line.id], event.device, event.seconds, described)
        return _again(known, text, group, frame, event.seconds)

    def _tell_written(self, event: GradWritten, group: int) -> TraceEvent:
        lines = self._program.outermost
        gradient = None if event.gradient is None else lines.latest(parts_of(event.gradient)[-1])
        maker = next((number for number, line in enumerate(lines.forward) if event.blob in line.op.outputs), None)
        focus = [event.after, None if gradient is None else str(gradient), f"{event.blob}@0", event.before]
        blobs = [blob for blob in focus if blob is not None]
        whole = self._whole(event, lines, maker, [], blobs, [f"{event.blob}.grad"])
        return _again(whole, written(event, gradient, 1), group, None, None)

    def _tell_entered(self, event: EnteredSubnet, group: int) -> TraceEvent:
        around = self._run
        self._frames.append(self._begun)
        self._begun += 1
        run = self._run
        assert run is not None
        passage = self._passage(around, run)
        known = self._like.get(key := ("entered", run.net.path, run.is_backward))
        if known is None:
            found = [key for key in run.net.part(run.is_backward).reads if key in run.values]
            blobs = [f"{name}@{version}" for name, version in found[:MOST_BLOBS]]
            lines = self._program.of(run.net)
            known = self._like[key] = self._whole(event, lines, None, [passage.line], blobs, [event.name])
        return _again(known, entered(passage), group, self._frames[-1], None)

    def _tell_left(self, event: LeftSubnet, group: int) -> TraceEvent:
        run = self._run
        assert run is not None
        self._frames.pop()
        around = self._run
        passage = self._passage(around, run)
        known = self._like.get(key := ("left", run.net.path, run.is_backward))
        if known is None:
            lines = self._program.outermost if around is None else self._program.of(around.net)
            known = self._like[key] = self._whole(event, lines, None, [passage.line], [], [event.name])
        return _again(known, left(passage), group, self._frames[-1] if self._frames else None, None)

    def _tell_failed(self, event: Failed, group: int) -> TraceEvent:
        run = self._run if event.path else None
        lines = self._program.outermost if run is None else self._program.of(run.net)
        line = None if event.index is None else self._place(run, event.index)[2]
        forward = None if line is None else _number(line) if line.role == "forward" else line.of
        told = [] if line is None or line.role == "forward" else [line]
        whole = self._whole(event, lines, forward, told, [], [event.error], is_named=run is None)
        frame = self._frames[-1] if run is not None else None
        obstacle = self._recording.obstacle
        text = narration.failed(event) if obstacle is None else narration.not_run(obstacle)
        return _again(whole, text, group, frame, None)

    def _place(self, run: Run | None, position: int) -> tuple[NetHalves, Lines, GrowingLine]:
        """The net that runs, its lines, and the line of the operator at a position of it."""
        if run is None:
            net, lines = self._recording.nets, self._program.outermost
            count = len(net.forward)
            return net, lines, lines.forward[position] if position < count else lines.operator(position - count)
        lines = self._program.of(run.net)
        return run.net, lines, lines.operator(position) if run.is_backward else lines.forward[position]

    def _passage(self, around: Run | None, run: Run) -> Passage:
        line = self._place(around, run.operator)[2]
        return Passage(self._recording, run, line, self._program.of(run.net), around)

    def _value(self, frame: int | None, net: NetHalves, key: Key) -> Value | None:
        if frame is None:
            return self._values.outermost.get(f"{key[0]}@{key[1]}")
        return self._values.of(frame, net, key)

    def _whole(
        self,
        event: Event,
        lines: Lines,
        forward: int | None,
        about: Sequence[GrowingLine],
        blobs: list[str],
        words: Sequence[str],
        *,
        is_named: bool = False,
    ) -> TraceEvent:
        """An event with everything that it shares with others like it."""
        blobs = list(dict.fromkeys(blobs))
        return TraceEvent(
            kind=cast(Kind, event.kind),
            narration="",
            group=0,
            phase="run",
            subnet=lines.id or None,
            forward=forward,
            lines=[line.id for line in about],
            blobs=blobs,
            targets=targets(event, words, forward if is_named else None, blobs),
            detail=detail_of_run(event),
        )


def detail_of_run(event: Event) -> dict[str, Any]:
    """The event's own fields, but for those that differ from run to run."""
    detail = to_dict(event)
    for name in ("event", "path", "seconds", "iteration"):
        detail.pop(name, None)
    if isinstance(event, Failed):
        detail["path"] = list(event.path)
    safe: dict[str, Any] = json_safe(detail)
    return safe


def _again(known: TraceEvent, text: str, group: int, frame: int | None, seconds: float | None) -> TraceEvent:
    """An event like `known`, of another run."""
    return msgspec.structs.replace(known, narration=text, group=group, frame=frame, seconds=seconds)


def _number(line: GrowingLine) -> int:
    """The index of a forward line in its net."""
    return int(line.id.rpartition("f")[2])


def oddities(values: Sequence[Value]) -> tuple[str, ...]:
    """What a person looks for in the outputs of an operator."""
    there = {"NaN": any(value.nan for value in values), "Inf": any(value.inf for value in values)}
    return tuple(word for word, is_there in there.items() if is_there)
