"""From a recording to its trace document: lines, narration, groups, ledgers and statistics."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, cast

import msgspec
import numpy as np

from ..operators.registry import Array
from ..program import Gradient, GradientSlice
from ..program.events import (
    Accumulated,
    Completed,
    Contribution,
    Deduplicated,
    Event,
    Failed,
    GeneratorAdded,
    InputChecked,
    Played,
    Ran,
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
    to_dict,
)
from ..program.operator import parts_of
from ..runtime.devices import CPU, current, device_of, moved
from ..version import __version__
from . import narration
from .fit import are_rows
from .ledger import ledger
from .lines import GrowingLine, Lines, Written
from .merge import Arrays, merge
from .recording import Recording
from .statistics import statistics
from .trace import Kind, Ledger, Merge, Trace, TraceEvent, Value, json_safe

PATH_LENGTH = 12
"""Words of a path that are shown before it is cut."""

Focus = Iterable[Written | str | None]


def document(recording: Recording) -> Trace:
    """The trace document of `recording`, its graph not drawn yet."""
    return _Document(recording).trace()


class _Told(msgspec.Struct):
    """An event with what is said of it; `focus` and `lines` get their final names at the end."""

    event: Event
    narration: str
    group: int
    forward: int | None = None
    lines: list[GrowingLine] = []
    focus: list[Written | str] = []
    ledger: int | None = None
    words: list[str] = []


class _Sum(msgspec.Struct, frozen=True):
    """An accumulation at position `at`: the writings that the sum and each term consist of, and who made the terms."""

    event: Accumulated
    at: int
    total: list[Written]
    terms: list[list[Written]]
    producers: list[str]


class _Document:
    """Plays the events once, growing the lines, then freezes everything under its final names."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.lines = Lines()
        self.readers: dict[tuple[str, int], list[str]] = defaultdict(list)
        self.values = {f"{name}@{number}": array for (name, number), array in recording.values.items()}
        self.seconds: dict[str, float] = {}
        self.told: list[_Told] = []
        self.sums: list[_Sum] = []
        self.merges: list[Merge] = []
        self.gradients: dict[str, Gradient] = {}
        self.group = -1
        for at, event in enumerate(recording.events, 1):
            self._tell(event, at)

    def _tell(self, event: Event, at: int) -> None:
        """Grow the lines by one event and say what happened."""
        opens_group = not isinstance(event, RuleApplied | InputChecked | GeneratorAdded | Accumulated)
        self.group += opens_group
        self.told.append(self._dispatch(event, at))

    def _dispatch(self, event: Event, at: int) -> _Told:
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
            case Completed():
                return self._tell_completed(event)
            case Ran():
                return self._tell_ran(event, at)
            case Failed():
                return self._tell_failed(event)
        raise TypeError(f"{event.kind} is no event of a symbolic pass")

    def _tell_played(self, event: Played, at: int) -> _Told:
        line = self.lines.play(event, at)
        if event.index >= self.recording.skip:
            for name, number in zip(event.op.inputs, event.in_versions, strict=True):
                self.readers[name, number].append(narration.name(line))
        return self._say(
            event, narration.played(event, line), event.index, [line], [*line.outputs, *line.inputs], [event.op.type]
        )

    def _tell_seeded(self, event: Seeded, at: int) -> _Told:
        self.readers[event.y, event.version].append("the y itself")
        line = self.lines.seed(event, at)
        gradient = line.outputs[0] if line else self._gradient(event.gradient)
        focus: Focus = [gradient, f"{event.y}@{event.version}"]
        return self._say(event, narration.seeded(event, line), None, [line] if line else [], focus)

    def _tell_visited(self, event: Visited) -> _Told:
        line = self.lines.forward[event.index]
        gradients = [self._gradient(gradient) for gradient in event.g_output]
        text = narration.visited(event, line, gradients)
        return self._say(event, text, event.index, [], [*gradients, *line.outputs], [line.op.type])

    def _tell_skipped(self, event: Skipped) -> _Told:
        line = self.lines.forward[event.index]
        text = narration.skipped(event, line)
        return self._say(event, text, event.index, [], line.outputs, [line.op.type])

    def _tell_rule_applied(self, event: RuleApplied, at: int) -> _Told:
        line = self.lines.forward[event.index]
        made = self.lines.apply(event, at)
        focus = [written for new in made for written in (new.inputs if new.role == "passed" else new.outputs)]
        text = narration.rule_applied(event, line, made)
        return self._say(event, text, event.index, made, focus, [line.op.type, *(new.op.type for new in made)])

    def _tell_input_checked(self, event: InputChecked) -> _Told:
        gradient_line = self.lines.operator(event.position)
        text = narration.input_checked(event, self.lines.forward[event.index], gradient_line)
        return self._say(event, text, event.index, [gradient_line], gradient_line.inputs)

    def _tell_generator_added(self, event: GeneratorAdded) -> _Told:
        gradient = self._generated(event.gradient, event.position)
        readers = self.readers[event.blob, event.version]
        lines = [gradient.line] if gradient.line and event.position is not None else []
        text = narration.generator_added(event, gradient, readers)
        return self._say(event, text, event.index, lines, [gradient, f"{event.blob}@{event.version}"])

    def _tell_accumulated(self, event: Accumulated, at: int) -> _Told:
        before = {rename: str(self.lines.operator(rename.position).outputs[rename.slot]) for rename in event.renames}
        lines = self.lines.accumulate(event, at)
        renamed = [(before[rename], rename.new) for rename in event.renames if rename.slot >= 0]
        read = [written for line in lines for written in line.inputs]
        terms = [self._parts(contribution.gradient, read) for contribution in event.contributions]
        total = self._parts(event.gradient, [written for line in lines for written in line.outputs])
        self.sums.append(_Sum(event, at, total, terms, [self._producer(c) for c in event.contributions]))
        readers = self.readers[event.blob, event.version]
        text = narration.accumulated(event, self.lines.forward[event.index], lines, readers, dict.fromkeys(renamed))
        focus: list[Written | str | None] = [
            *reversed(total),
            f"{event.blob}@{event.version}",
            *(term[-1] for term in terms),
        ]
        told = self._say(event, text, event.index, lines, focus, ["Σ", *(line.op.type for line in lines)])
        told.ledger = len(self.sums) - 1
        return told

    def _tell_deduplicated(self, event: Deduplicated, at: int) -> _Told:
        lines = self.lines.merge(event, at)
        was = self._parts(event.before, [written for line in lines for written in line.inputs])
        became = self._parts(event.after, [written for line in lines for written in line.outputs])
        before, after = GradientSlice(*map(str, was)), GradientSlice(*map(str, became))
        made = merge(event, at, before, after, self._arrays(before), self._arrays(after))
        self.merges.append(made)
        self.gradients[event.blob] = after
        text = narration.deduplicated(made, lines)
        focus: Focus = [*reversed(became), made.blob, *reversed(was)]
        return self._say(event, text, None, lines, focus, [line.op.type for line in lines])

    def _arrays(self, gradient: GradientSlice) -> Arrays:
        indices, values = (self.values.get(name) for name in parts_of(gradient))
        return indices if indices is None else moved(indices, CPU), values if values is None else moved(values, CPU)

    def _tell_completed(self, event: Completed) -> _Told:
        self.gradients = {
            blob: GradientSlice(str(self.lines.latest(g.indices)), str(self.lines.latest(g.values)))
            if isinstance(g, GradientSlice)
            else str(self.lines.latest(g))
            for blob, g in event.gradients.items()
        }
        operators = sum(line.role != "passed" for line in self.lines.backward)
        text = narration.completed(event, operators, self.recording.missing)
        return self._say(event, text, None, [], [])

    def _tell_ran(self, event: Ran, at: int) -> _Told:
        line = self.lines.ran(event, at)
        for written in line.outputs:
            self.seconds[str(written)] = event.seconds
        arrays = [self.values[str(written)] for written in line.outputs]
        forward = event.position if event.position < len(self.lines.forward) else line.of
        words = [event.op.type, *_oddities(arrays)]
        text = narration.ran(event, line, arrays)
        return self._say(event, text, forward, [line], [*line.outputs, *line.inputs], words)

    def _tell_failed(self, event: Failed) -> _Told:
        made = None if event.index is None else event.index - len(self.lines.forward)
        line = self.lines.operator(made) if made is not None and made >= 0 else None
        forward = event.index if line is None else line.of
        return self._say(event, narration.failed(event), forward, [line] if line else [], [], [event.error])

    def _say(
        self,
        event: Event,
        text: str,
        forward: int | None,
        lines: Sequence[GrowingLine],
        focus: Focus,
        words: Sequence[str] = (),
    ) -> _Told:
        shown = [blob for blob in focus if blob is not None]
        return _Told(event, text, self.group, forward, list(lines), shown, None, list(words))

    def _gradient(self, gradient: Gradient | None) -> Written | None:
        if gradient is None:
            return None
        return self.lines.latest(parts_of(gradient)[-1])

    def _generated(self, gradient: Gradient, position: int | None) -> Written:
        """The writing that a gradient's name stands for, by operator `position` where one wrote it."""
        name = parts_of(gradient)[-1]
        places = self.lines.operator(position).outputs if position is not None else []
        return next((written for written in places if written.name == name), None) or self.lines.latest(name)

    def _parts(self, gradient: Gradient, among: Iterable[Written]) -> list[Written]:
        """The writings that a gradient consists of, those `among` the given ones where they are there."""
        found = {written.name: written for written in among}
        return [found.get(name) or self.lines.latest(name) for name in parts_of(gradient)]

    def _producer(self, contribution: Contribution) -> str:
        """``FCGradient #2``, ``Mul of Sqr #7`` or, where the gradient passed through, ``Sum #4``."""
        if contribution.index is None:
            return "seed" if contribution.how == "seed" else "given"
        forward = self.lines.forward[contribution.index]
        if contribution.position is None:
            return narration.name(forward)
        maker = self.lines.operator(contribution.position).op.type
        if maker == f"{forward.op.type}Gradient":
            return f"{maker} #{contribution.index}"
        return f"{maker} of {narration.name(forward)}"

    def trace(self) -> Trace:
        """Everything under its final names."""
        recording = self.recording
        ledgers = [self._ledger(sum_) for sum_ in self.sums]
        return Trace(
            producer=f"gradviz {__version__}",
            name=recording.net.name,
            summary=narration.summary(recording),
            net=json_safe(recording.net.to_dict()),
            ys=_ys(recording.ys),
            skip=recording.skip,
            forward=[line.finish() for line in self.lines.forward],
            backward=[line.finish() for line in self.lines.backward],
            events=[self._event(told) for told in self.told],
            values=self._values(),
            ledgers=ledgers,
            merges=self.merges,
            gradients=self.gradients,
        )

    def _event(self, told: _Told) -> TraceEvent:
        blobs = list(dict.fromkeys(str(blob) for blob in told.focus))
        detail = to_dict(told.event)
        del detail["event"]
        return TraceEvent(
            kind=cast(Kind, told.event.kind),
            narration=told.narration,
            group=told.group,
            phase=_phase(told.event),
            forward=told.forward,
            lines=[line.id for line in told.lines],
            blobs=blobs,
            ledger=told.ledger,
            targets=self._targets(told, blobs),
            detail=json_safe(detail),
        )

    def _targets(self, told: _Told, blobs: list[str]) -> list[str]:
        words = [told.event.kind, *told.words]
        if told.forward is not None:
            words.append(f"#{told.forward}")
        words += blobs
        words += [blob.rpartition("@")[0] for blob in blobs]
        return list(dict.fromkeys(words))

    def _values(self) -> dict[str, Value]:
        return {name: statistics(array, self.seconds.get(name)) for name, array in self.values.items()}

    def _ledger(self, sum_: _Sum) -> Ledger:
        event = sum_.event
        names = [str(term[-1]) for term in sum_.terms]
        paths = [self._path(contribution.index, event.blob) for contribution in event.contributions]
        arrays = [self._dense(term, event) for term in sum_.terms]
        total = self._dense(sum_.total, event)
        device = CPU if total is None else device_of(total)
        arrays = [None if array is None else moved(array, device) for array in arrays]
        with current(device):
            return ledger(event, sum_.at, str(sum_.total[-1]), names, sum_.producers, paths, arrays, total)

    def _dense(self, parts: Sequence[Written], event: Accumulated) -> Array | None:
        """The value of a gradient as one array, None where it was not computed."""
        values = self.values.get(str(parts[-1]))
        if len(parts) == 1 or values is None:
            return values
        table, indices = self.values.get(f"{event.blob}@{event.version}"), self.values.get(str(parts[0]))
        if table is None or indices is None:
            return None
        if not are_rows(indices, values, table):
            return None
        device = device_of(values)
        with current(device):
            whole = np.zeros_like(moved(table, device), dtype=values.dtype)
            np.add.at(whole, moved(indices, device), values)
        return whole

    def _path(self, index: int | None, blob: str) -> list[str]:
        """One shortest way from forward operator `index` to a y, as words; for a seed, the `blob` it belongs to."""
        path = [blob] if index is None else [f"#{index}"]
        while index is not None and index in self.hops:
            if len(path) == PATH_LENGTH:
                return [*path, "…"]
            name, index = self.hops[index]
            path.append(name)
        return path

    @cached_property
    def hops(self) -> dict[int, tuple[str, int | None]]:
        """Forward operator -> the blob and the operator that it reaches a y through, None when the blob is the y."""
        hops: dict[int, tuple[str, int | None]] = {}
        queue: deque[GrowingLine] = deque()
        for y in self.recording.ys:
            line = self.lines.latest(y).line
            if line is not None and line.role == "forward" and int(line.id[1:]) not in hops:
                hops[int(line.id[1:])] = (y, None)
                queue.append(line)
        while queue:
            line = queue.popleft()
            for written in line.inputs:
                before = written.line
                if before is not None and int(before.id[1:]) not in hops:
                    hops[int(before.id[1:])] = (written.name, int(line.id[1:]))
                    queue.append(before)
        return hops


def _phase(event: Event) -> Any:
    return "play" if isinstance(event, Played) else "run" if isinstance(event, Ran) else "generate"


def _ys(ys: Any) -> Any:
    if isinstance(ys, list):
        return list(ys)
    return dict(ys)


def _oddities(arrays: Iterable[Array]) -> list[str]:
    floats = [array for array in arrays if array.dtype.kind in "fc"]
    questions = {"NaN": np.isnan, "Inf": np.isinf}
    return [word for word, question in questions.items() if any(_holds_any(question, array) for array in floats)]


def _holds_any(question: Callable[[Array], Array], array: Array) -> bool:
    with current(device_of(array)):
        return bool(question(array).any())
