"""What a recording tells: the generation of the pass event by event, while the lines of every net grow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import cast

import msgspec

from ...program import Gradient, GradientSlice
from ...program.events import (
    Accumulated,
    Completed,
    Contribution,
    Deduplicated,
    EnteredSubnet,
    Event,
    Failed,
    GeneratorAdded,
    InputChecked,
    LeftSubnet,
    Played,
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
    to_dict,
)
from ...program.operator import parts_of
from ...runtime.devices import CPU, moved
from ..document import Kind, Merge, TraceEvent, json_safe
from ..journal import Pace, Recording
from . import control_narration, narration
from .event_groups import EventGroups
from .lines import GrowingLine, Lines, Written
from .merge import Arrays, merge
from .programs import Program
from .sums import Sum

Focus = Iterable[Written | str | None]


class Told(msgspec.Struct):
    """An event with what is said of it; `focus` and `lines` get their final names at the end."""

    event: Event
    narration: str
    group: int
    subnet: str
    forward: int | None = None
    lines: list[GrowingLine] = []
    focus: list[Written | str] = []
    ledger: int | None = None
    words: list[str] = []


class Story:
    """Plays the events of a pass once.

    Attributes:
        sums: the accumulations, in their order.
        merges: where rows of equal index were merged.
        gradients: blob -> the versions of its gradient.
    """

    def __init__(self, recording: Recording, program: Program, groups: EventGroups, pace: Pace) -> None:
        self.sums: list[Sum] = []
        self.merges: list[Merge] = []
        self.gradients: dict[str, Gradient] = {}
        self._recording = recording
        self._program = program
        self._groups = groups
        self._readers: dict[tuple[tuple[str, ...], str, int], list[str]] = defaultdict(list)
        self._ys: dict[tuple[str, ...], list[str]] = defaultdict(list)
        self._told = [self._tell(event, at) for at, event in enumerate(pace.over(recording.generation), 1)]

    def events(self) -> list[TraceEvent]:
        """The events under their final names."""
        return [finished(told) for told in self._told]

    def _tell(self, event: Event, at: int) -> Told:
        """Grow the lines by one event and say what happened."""
        match event:
            case Played():
                return self._tell_played(event, at)
            case Seeded():
                return self._tell_seeded(event, at)
            case Visited():
                return self._tell_visited(event)
            case Skipped():
                return self._tell_skipped(event)
            case RuleApplied():
                return self._tell_rule_applied(event, at)
            case InputChecked():
                return self._tell_input_checked(event)
            case GeneratorAdded():
                return self._tell_generator_added(event)
            case Accumulated():
                return self._tell_accumulated(event, at)
            case Deduplicated():
                return self._tell_deduplicated(event, at)
            case EnteredSubnet() | LeftSubnet():
                return self._tell_passage(event)
            case Completed():
                return self._tell_completed(event)
            case Failed():
                return self._tell_failed(event)
        raise TypeError(f"{event.kind} is no event of a symbolic pass")

    def _tell_played(self, event: Played, at: int) -> Told:
        lines = self._program.lines(event)
        line = lines.forward[event.index] if event.path else self._program.play(event.index, at)
        if event.path or event.index >= self._recording.skip:
            for name, number in zip(event.op.inputs, event.in_versions, strict=True):
                self._readers[event.path, name, number].append(narration.name(line))
        focus = [*line.outputs, *line.inputs]
        return self._say(event, narration.played(event, line), event.index, [line], focus, [event.op.type])

    def _tell_seeded(self, event: Seeded, at: int) -> Told:
        self._readers[event.path, event.y, event.version].append("the y itself" if not event.path else "what follows")
        self._ys[event.path].append(event.y)
        line = self._program.lines(event).seed(event, at)
        gradient = line.outputs[0] if line else self._gradient(event, event.gradient)
        focus: Focus = [gradient, f"{event.y}@{event.version}"]
        return self._say(event, narration.seeded(event, line), None, [line] if line else [], focus)

    def _tell_visited(self, event: Visited) -> Told:
        line = self._line(event, event.index)
        gradients = [self._gradient(event, gradient) for gradient in event.g_output]
        text = narration.visited(event, line, gradients)
        return self._say(event, text, event.index, [], [*gradients, *line.outputs], [line.op.type])

    def _tell_skipped(self, event: Skipped) -> Told:
        line = self._line(event, event.index)
        text = narration.skipped(event, line)
        return self._say(event, text, event.index, [], line.outputs, [line.op.type])

    def _tell_rule_applied(self, event: RuleApplied, at: int) -> Told:
        line = self._line(event, event.index)
        made = self._program.apply(event, at)
        focus = [written for new in made for written in (new.inputs if new.role == "passed" else new.outputs)]
        tell = control_narration.rule_applied if line.subnets else narration.rule_applied
        words = [line.op.type, *(new.op.type for new in made)]
        return self._say(event, tell(event, line, made), event.index, made, focus, words)

    def _tell_input_checked(self, event: InputChecked) -> Told:
        lines = self._program.lines(event)
        gradient_line = lines.operator(event.position)
        text = narration.input_checked(event, self._line(event, event.index), gradient_line, lines)
        return self._say(event, text, event.index, [gradient_line], gradient_line.inputs)

    def _tell_generator_added(self, event: GeneratorAdded) -> Told:
        gradient = self._generated(event)
        readers = self._readers[event.path, event.blob, event.version]
        lines = [gradient.line] if gradient.line and event.position is not None else []
        text = narration.generator_added(event, gradient, readers)
        return self._say(event, text, event.index, lines, [gradient, f"{event.blob}@{event.version}"])

    def _tell_accumulated(self, event: Accumulated, at: int) -> Told:
        all_lines = self._program.lines(event)
        before = {rename: str(all_lines.operator(rename.position).outputs[rename.slot]) for rename in event.renames}
        lines = all_lines.accumulate(event, at)
        renamed = [(before[rename], rename.new) for rename in event.renames if rename.slot >= 0]
        read = [written for line in lines for written in line.inputs]
        terms = [self._parts(event, contribution.gradient, read) for contribution in event.contributions]
        total = self._parts(event, event.gradient, [written for line in lines for written in line.outputs])
        producers = [producer(all_lines, contribution) for contribution in event.contributions]
        self.sums.append(Sum(event, at, total, terms, producers, all_lines, self._ys[event.path]))
        readers = self._readers[event.path, event.blob, event.version]
        text = narration.accumulated(event, self._line(event, event.index), lines, readers, dict.fromkeys(renamed))
        blob = f"{event.blob}@{event.version}"
        focus: list[Written | str | None] = [*reversed(total), blob, *(term[-1] for term in terms)]
        told = self._say(event, text, event.index, lines, focus, ["Σ", *(line.op.type for line in lines)])
        told.ledger = len(self.sums) - 1
        return told

    def _tell_deduplicated(self, event: Deduplicated, at: int) -> Told:
        lines = self._program.outermost.merge(event, at)
        was = self._parts(event, event.before, [written for line in lines for written in line.inputs])
        became = self._parts(event, event.after, [written for line in lines for written in line.outputs])
        before, after = GradientSlice(*map(str, was)), GradientSlice(*map(str, became))
        made = merge(event, at, before, after, self._arrays(was), self._arrays(became))
        self.merges.append(made)
        self.gradients[event.blob] = after
        text = narration.deduplicated(made, lines)
        focus: Focus = [*reversed(became), made.blob, *reversed(was)]
        return self._say(event, text, None, lines, focus, [line.op.type for line in lines])

    def _arrays(self, gradient: Sequence[Written]) -> Arrays:
        arrays = [self._recording.values.get((written.name, written.version)) for written in gradient]
        indices, values = (None if array is None else moved(array, CPU) for array in arrays)
        return indices, values

    def _tell_passage(self, event: EnteredSubnet | LeftSubnet) -> Told:
        line = self._line(event, event.index)
        inner = line.subnets[event.argument]
        if isinstance(event, LeftSubnet):
            return self._say(event, control_narration.pass_left(event, line, inner), None, [line], [], [event.name])
        told = self._say(event, control_narration.pass_entered(event, line), None, [line], [], [event.name])
        told.subnet = inner.id
        return told

    def _tell_completed(self, event: Completed) -> Told:
        lines = self._program.lines(event)
        operators = sum(line.role != "passed" for line in lines.backward)
        if event.path:
            return self._say(event, control_narration.completed(event, operators), None, [], [])
        self.gradients = versions_of(event, lines)
        text = narration.completed(event, operators, self._recording.ys, is_run=self._recording.obstacle is None)
        return self._say(event, text, None, [], [])

    def _tell_failed(self, event: Failed) -> Told:
        return self._say(event, narration.failed(event), event.index, [], [], [event.error])

    def _say(
        self,
        event: Event,
        text: str,
        forward: int | None,
        lines: Sequence[GrowingLine],
        focus: Focus,
        words: Sequence[str] = (),
    ) -> Told:
        shown = [blob for blob in focus if blob is not None]
        subnet = self._program.lines(event).id
        return Told(event, text, self._groups.of(event), subnet, forward, list(lines), shown, None, list(words))

    def _line(self, event: Event, index: int) -> GrowingLine:
        """A forward line of the net in which an event happened."""
        return self._program.lines(event).forward[index]

    def _gradient(self, event: Event, gradient: Gradient | None) -> Written | None:
        return None if gradient is None else self._program.lines(event).latest(parts_of(gradient)[-1])

    def _generated(self, event: GeneratorAdded) -> Written:
        """The writing that a gradient's name stands for, by the operator that wrote it where one did."""
        lines, name = self._program.lines(event), parts_of(event.gradient)[-1]
        places = lines.operator(event.position).outputs if event.position is not None else []
        return next((written for written in places if written.name == name), None) or lines.latest(name)

    def _parts(self, event: Event, gradient: Gradient, among: Iterable[Written]) -> list[Written]:
        """The writings that a gradient consists of, those `among` the given ones where they are there."""
        found = {written.name: written for written in among}
        lines = self._program.lines(event)
        return [found.get(name) or lines.latest(name) for name in parts_of(gradient)]


def versions_of(event: Completed, lines: Lines) -> dict[str, Gradient]:
    """The map of a pass with the versions of the gradients."""
    return {
        blob: GradientSlice(str(lines.latest(g.indices)), str(lines.latest(g.values)))
        if isinstance(g, GradientSlice)
        else str(lines.latest(g))
        for blob, g in event.gradients.items()
    }


def producer(lines: Lines, contribution: Contribution) -> str:
    """``FCGradient #2``, ``Mul of Sqr #7`` or, where the gradient passed through, ``Sum #4``."""
    if contribution.index is None:
        return "seed" if contribution.how == "seed" else "given"
    forward = lines.forward[contribution.index]
    if contribution.position is None:
        return narration.name(forward)
    maker = lines.operator(contribution.position).op.type
    if maker == f"{forward.op.type}Gradient":
        return f"{maker} #{contribution.index}"
    if forward.subnets:
        return f"backward pass of {narration.name(forward)}"
    return f"{maker} of {narration.name(forward)}"


def finished(told: Told) -> TraceEvent:
    """The event with the names that its blobs have now."""
    blobs = list(dict.fromkeys(str(blob) for blob in told.focus))
    detail = to_dict(told.event)
    del detail["event"]
    return TraceEvent(
        kind=cast(Kind, told.event.kind),
        narration=told.narration,
        group=told.group,
        phase="play" if isinstance(told.event, Played) and not told.event.path else "generate",
        subnet=told.subnet or None,
        forward=told.forward,
        lines=[line.id for line in told.lines],
        blobs=blobs,
        ledger=told.ledger,
        targets=targets(told.event, told.words, None if told.event.path else told.forward, blobs),
        detail=json_safe(detail),
    )


def targets(event: Event, words: Iterable[str], forward: int | None, blobs: Iterable[str]) -> list[str]:
    """The words by which `run_to` finds an event."""
    number = [] if forward is None else [f"#{forward}"]
    names = [blob.rpartition("@")[0] for blob in blobs]
    return list(dict.fromkeys([event.kind, *words, *number, *blobs, *names]))
