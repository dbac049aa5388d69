"""What a recording of a pass that ran tells: its events in words, while lines grow and the schedule changes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from ...program import Gradient
from ...program.events import (
    Accumulated,
    Completed,
    Contribution,
    Event,
    Failed,
    GeneratorAdded,
    GradWritten,
    Played,
    Ran,
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
    Waiting,
)
from ...program.operator import parts_of
from ..document import Grad, Schedule, TraceEvent, Value, Wait
from ..journal import EagerRecording, Pace, is_python
from . import eager_narration
from .execution import detail_of_run, oddities
from .lines import GrowingLine, Lines, Written
from .narration import failed, ran
from .narration import name as name_of
from .narration import shape as shape_of
from .story import Focus, Told, finished, producer, versions_of
from .sums import Sum

Term = tuple[list[Written], str, Contribution]
"""A gradient of a blob: what it consists of, who made it, and how it came."""

BEGINS = (Played, Seeded, Visited, Skipped, GradWritten, Completed, Failed)
"""Events that begin a group: a function with all that it brings."""


class EagerStory:
    """Plays the events of a pass once.

    Attributes:
        events: as the document has them.
        lines: those of the program.
        sums: the accumulations, in their order.
        gradients: blob -> the versions of its gradient.
    """

    def __init__(self, recording: EagerRecording, values: Mapping[str, Value], pace: Pace) -> None:
        self.events: list[TraceEvent] = []
        self.lines = Lines()
        self.sums: list[Sum] = []
        self.gradients: dict[str, Gradient] = {}
        self._recording = recording
        self._values = values
        self._count = len(recording.net.ops)
        self._group = -1
        self._makers: dict[str, int] = {}
        self._readers: defaultdict[str, list[str]] = defaultdict(list)
        self._terms: defaultdict[str, list[Term]] = defaultdict(list)
        self._totals: defaultdict[str, list[list[Written]]] = defaultdict(list)
        self._last_sum: dict[str, int] = {}
        self._waits: dict[int, Wait] = {}
        self._grads = [Grad(blob, 0, value, "held") for blob, value in recording.held.items()]
        for at, event in enumerate(pace.over(recording.events), 1):
            self._group += isinstance(event, BEGINS)
            self.events.append(self._tell(event, at))
        self._complete_sums()

    def schedule(self) -> Schedule:
        """What happened to the heap and to every ``grad``."""
        ranks = [event.rank for event in self._recording.events if isinstance(event, Played)]
        return Schedule(ranks=ranks, waits=list(self._waits.values()), grads=self._grads)

    def _tell(self, event: Event, at: int) -> TraceEvent:
        match event:
            case Played():
                return self._tell_played(event, at)
            case Ran():
                return self._tell_ran(event, at)
            case Seeded():
                return self._tell_seeded(event, at)
            case Visited():
                return self._tell_visited(event, at)
            case RuleApplied():
                return self._tell_rule_applied(event, at)
            case GeneratorAdded():
                return self._tell_arrived(event, at)
            case Accumulated():
                return self._tell_accumulated(event, at)
            case Skipped():
                line = self.lines.forward[event.index]
                return self._say(
                    event, eager_narration.skipped(event, line), event.index, [], line.outputs, [line.op.type]
                )
            case GradWritten():
                return self._tell_written(event, at)
            case Completed():
                return self._tell_completed(event)
            case Failed():
                return self._say(event, failed(event), event.index, [], [], [event.error])
        raise TypeError(f"{event.kind} is no event of a pass that runs")

    def _tell_played(self, event: Played, at: int) -> TraceEvent:
        line = self.lines.play(event.op, at)
        for name, times in Counter(event.op.inputs).items():
            self._readers[name].append(name_of(line) + (f" ({times} times)" if times > 1 else ""))
        made = [(self._rank(written), written) for written in line.inputs if written.name in self._makers]
        deepest = max(made, key=lambda pair: pair[0])[1] if made and event.rank else None
        self._makers.update(dict.fromkeys(event.op.outputs, event.index))
        text = eager_narration.played(event, line, deepest)
        return self._say(event, text, event.index, [line], [*line.outputs, *line.inputs], [event.op.type])

    def _rank(self, written: Written) -> int:
        """The rank of a Variable that a function returned."""
        return self._recording.ranks[self._makers[written.name]] + 1

    def _tell_ran(self, event: Ran, at: int) -> TraceEvent:
        is_forward = event.position < self._count
        line = self._line_at(event.position)
        line.ran = line.ran or at
        blobs = [str(written) for written in line.outputs]
        values = [(blob, self._values[blob]) for blob in blobs if blob in self._values]
        words = [event.op.type, *oddities([value for _, value in values])]
        if is_forward:
            text = eager_narration.known_before(line, values)
        else:
            described = [(blob, shape_of(value)) for blob, value in values]
            text = ran(f"`{line.text}`", event.device, event.seconds, described)
        forward = event.position if is_forward else line.of
        told = self._say(event, text, forward, [line], [*line.outputs, *line.inputs], words)
        return msgspec.structs.replace(told, phase="run", seconds=event.seconds, detail=detail_of_run(event))

    def _line_at(self, position: int) -> GrowingLine:
        count = self._count
        return self.lines.forward[position] if position < count else self.lines.operator(position - count)

    def _tell_seeded(self, event: Seeded, at: int) -> TraceEvent:
        line = self.lines.seed(event, at)
        gradient = line.outputs[0] if line else self.lines.latest(parts_of(event.gradient)[-1])
        how = "seed" if line else "given"
        self._terms[event.y].append(
            ([gradient], how, Contribution(event.gradient, "seed" if line else "given", None, event.position))
        )
        queued = self._queue(event.queued, at)
        text = eager_narration.seeded(event, line, queued)
        return self._say(event, text, None, [line] if line else [], [gradient, f"{event.y}@{event.version}"])

    def _tell_visited(self, event: Visited, at: int) -> TraceEvent:
        line = self.lines.forward[event.index]
        if event.index in self._waits:
            self._waits[event.index] = msgspec.structs.replace(self._waits[event.index], until=at)
        gradients = [None if g is None else self.lines.latest(parts_of(g)[-1]) for g in event.g_output]
        waiting = [self.lines.forward[one.index] for one in event.waiting]
        is_read = any(self._readers[written.name] for written in line.outputs)
        text = eager_narration.visited(event, line, gradients, waiting, is_read)
        return self._say(event, text, event.index, [], [*gradients, *line.outputs], [line.op.type])

    def _tell_rule_applied(self, event: RuleApplied, at: int) -> TraceEvent:
        line = self.lines.forward[event.index]
        made = self.lines.apply(event, at)
        wanted = self._recording.wanted[event.index]
        unwanted = [written for slot, written in enumerate(line.inputs) if not wanted >> slot & 1]
        text = eager_narration.answered(event, line, made, unwanted, is_python(self._recording.operators[event.index]))
        focus = [written for new in made for written in (new.inputs if new.role == "passed" else new.outputs)]
        words = [line.op.type, *(new.op.type for new in made)]
        return self._say(event, text, event.index, made, focus, words)

    def _tell_arrived(self, event: GeneratorAdded, at: int) -> TraceEvent:
        parts = [self._written(name, event.position) for name in parts_of(event.gradient)]
        term = Contribution(event.gradient, event.how, event.index, event.position)
        self._terms[event.blob].append((parts, producer(self.lines, term), term))
        self._queue(event.queued, at)
        maker = self._makers.get(event.blob)
        owner = None if maker is None else self.lines.forward[maker]
        text = eager_narration.arrived(event, parts[-1], owner)
        lines = [parts[-1].line] if parts[-1].line is not None and event.position is not None else []
        return self._say(event, text, event.index, lines, [parts[-1], f"{event.blob}@{event.version}"])

    def _written(self, name: str, position: int | None) -> Written:
        """The writing that a name stands for, by the operator that wrote it where one did."""
        outputs = self.lines.operator(position).outputs if position is not None else []
        return next((written for written in outputs if written.name == name), None) or self.lines.latest(name)

    def _tell_accumulated(self, event: Accumulated, at: int) -> TraceEvent:
        lines = self.lines.accumulate(event, at)
        blob = f"{event.blob}@{event.version}"
        if event.so_far is None:
            line = self.lines.forward[event.index]
            text = eager_narration.densified(line, lines[0])
            return self._say(event, text, event.index, lines, [lines[0].outputs[0], blob], ["SparseToDense"])
        terms = self._terms[event.blob]
        folded = event.so_far - len(event.contributions) + 1
        if folded > 1:
            before = self._totals[event.blob][folded - 2]
            terms = [(before, f"the {folded} before", event.contributions[0]), *terms[folded:]]
        total = [self.lines.latest(name) for name in parts_of(event.gradient)]
        self._totals[event.blob].append(total)
        self._last_sum[event.blob] = len(self.sums)
        self.sums.append(self._sum(event, at, total, terms))
        text = eager_narration.added(event, lines, [parts[-1] for parts, _, _ in terms], self._readers[event.blob])
        focus: Focus = [*reversed(total), blob, *(parts[-1] for parts, _, _ in terms)]
        told = self._say(event, text, event.index, lines, focus, ["Σ", *(line.op.type for line in lines)])
        return msgspec.structs.replace(told, ledger=len(self.sums) - 1)

    def _sum(self, event: Accumulated, at: int, total: list[Written], terms: Sequence[Term]) -> Sum:
        event = msgspec.structs.replace(event, contributions=[term for _, _, term in terms])
        names = [maker for _, maker, _ in terms]
        return Sum(event, at, total, [parts for parts, _, _ in terms], names, self.lines, list(self._recording.ys))

    def _complete_sums(self) -> None:
        """The last sum of each blob lists every gradient that arrived."""
        for blob, number in self._last_sum.items():
            one = self.sums[number]
            if len(one.terms) < (one.event.so_far or 0):
                self.sums[number] = self._sum(one.event, one.at, one.total, self._terms[blob])

    def _tell_written(self, event: GradWritten, at: int) -> TraceEvent:
        self._grads.append(Grad(event.blob, at, event.after, event.how))
        gradient = None if event.gradient is None else self.lines.latest(parts_of(event.gradient)[-1])
        text = eager_narration.written(event, gradient, len(self._terms[event.blob]))
        maker = self._makers.get(event.blob)
        focus: Focus = [event.after, gradient, f"{event.blob}@0", event.before]
        return self._say(event, text, maker, [], focus, [f"{event.blob}.grad"])

    def _tell_completed(self, event: Completed) -> TraceEvent:
        self.gradients = versions_of(event, self.lines)
        events = self._recording.events
        visited = sum(isinstance(one, Visited) for one in events)
        written = sum(isinstance(one, GradWritten) and one.after is not None for one in events)
        return self._say(event, eager_narration.completed(event, visited, written), None, [], [])

    def _queue(self, queued: Waiting | None, at: int) -> GrowingLine | None:
        """A function joins the heap."""
        if queued is None:
            return None
        self._waits[queued.index] = Wait(queued.index, queued.rank, queued.arrival, at)
        return self.lines.forward[queued.index]

    def _say(
        self,
        event: Event,
        text: str,
        forward: int | None,
        lines: Sequence[GrowingLine],
        focus: Focus,
        words: Sequence[str] = (),
    ) -> TraceEvent:
        shown = [blob for blob in focus if blob is not None]
        return finished(Told(event, text, self._group, "", forward, list(lines), shown, None, list(words)))
