"""The story of a recording: each event of the pass in words.

An event is told from itself, the text of the program, and the events that it refers to: in any order, and alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from ...operators.indexing import added_rows
from ...operators.registry import Array
from ...program import Gradient, GradientSlice
from ...program.errors import count_of
from ...program.events import (
    Accumulated,
    ChangedByHand,
    Completed,
    Contribution,
    Deduplicated,
    EnteredSubnet,
    Event,
    Failed,
    GeneratorAdded,
    GradWritten,
    HookRan,
    InputChecked,
    LeftSubnet,
    Played,
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
)
from ...program.operator import parts_of
from ...runtime.devices import CPU, moved
from ..document import MERGED_ROWS, Merge, MergedRow, Number, number
from ..journal import Key, NetText, Reading, Recording, Statement, Writing
from ..statistics import furthest
from . import control_narration, narration
from . import sentences as say
from .sentences import Sentences

Arrival = Seeded | GeneratorAdded
"""What brings a gradient."""


class Term(NamedTuple):
    """A gradient that went into a sum: what it consists of, who made it, and how it came."""

    parts: list[Writing]
    producer: str
    contribution: Contribution


class Story:
    """Tells what happened while a pass came into being.

    Attributes:
        recording: what it tells of.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._events = recording.events
        self._text = text = recording.text
        self._read: tuple[Writing | None, list[str]] = None, []
        whole = text.whole or len(self._events)
        self._is_generated = text.first_run is None or text.first_run > whole

    def tell(self, event: Event, at: int) -> Sentences:
        """The narration of the event before position `at`."""
        match event:
            case Played():
                return self._played(event, at)
            case Seeded():
                new, owner = self._since(event, at), self._maker(event, event.y, event.version, at)
                return narration.seeded(event, new[0] if new else None, owner, goes=self._goes(event))
            case Visited():
                return self._visited(event, at)
            case Skipped():
                return narration.skipped(self._text.statement(event, event.index, at), goes=self._goes(event))
            case RuleApplied():
                return self._rule_applied(event, at)
            case InputChecked():
                net, line = self._text.of(event), self._text.statement(event, event.index, at)
                return narration.input_checked(event, line, net.operators[event.position].at(at), net)
            case GeneratorAdded():
                return self._generator_added(event, at)
            case Accumulated():
                return self._accumulated(event, at)
            case HookRan():
                return narration.hooked(event, self._since(event, at))
            case ChangedByHand():
                return narration.changed(event, self.recording.stale_since(at))
            case Deduplicated():
                return narration.deduplicated(self.merge(event, at), self._since(event, at))
            case EnteredSubnet():
                return control_narration.pass_entered(event, self._text.statement(event, event.index, at))
            case LeftSubnet():
                line = self._text.statement(event, event.index, at)
                return control_narration.pass_left(event, line, line.nets[event.argument].backward_at(at))
            case GradWritten():
                return self._grad_written(event, at)
            case Completed():
                return self._completed(event, at)
            case Failed():
                return [(say.FAILED, event.message)]
        raise TypeError(f"{event.kind} is no event of a pass")

    def _goes(self, event: Event) -> bool:
        """Whether the pass that an event is of runs as it goes, and is not generated first, as of nested nets it is."""
        return not (self._is_generated or event.path)

    def is_sum(self, event: Accumulated) -> bool:
        """Whether an accumulation has a ledger: one that only makes a gradient dense has none."""
        return len(event.contributions) > 1

    def sums(self) -> Iterator[tuple[int, Accumulated]]:
        """The accumulations that have ledgers, each with the position after it."""
        return ((at, event) for at, event in self.recording.events_of(Accumulated) if self.is_sum(event))

    def is_last(self, event: Accumulated, at: int) -> bool:
        """Whether an accumulation is the last one of its blob."""
        sums = (position for position, one in self._arrived(event) if isinstance(one, Accumulated))
        return next(sums, at) == at

    def terms(self, event: Accumulated, at: int, *, is_whole: bool = False) -> list[Term]:
        """The gradients that an accumulation adds.

        One that adds each when it arrives lists the last ones, and before these the sum of all others, unless the
        terms are to be `is_whole`.
        """
        net = self._text.of(event)
        if event.so_far is None:
            read = {writing.at(at).name: writing for new in net.new_statements(at) for writing in new.inputs}
            return [
                Term(
                    [read.get(name) or net.latest(name, at) for name in parts_of(one.gradient)], producer(net, one), one
                )
                for one in event.contributions
            ]
        folded = 0 if is_whole else event.so_far - len(event.contributions) + 1
        terms = list[Term]()
        for position, one in self._arrived(event, before=at):
            if isinstance(one, Seeded | GeneratorAdded):
                terms.append(self._arrival(one, position))
            elif isinstance(one, Accumulated) and one.so_far == folded > 1 and self.is_sum(one):
                terms.append(Term(net.parts(one.gradient, position), f"the {folded} before", event.contributions[0]))
                break
        return terms[::-1]

    def _arrived(self, event: Accumulated, before: int | None = None) -> Iterator[tuple[int, Event]]:
        """What happened to the gradients of a blob, arrivals and accumulations, the last first; so far, or by then."""
        positions = self._text.of(event).version(event.blob, event.version).arrivals
        count = len(positions) if before is None else bisect_left(positions, before)
        return ((position, self._events[position - 1]) for position in reversed(positions[:count]))

    def _arrival(self, event: Arrival, position: int) -> Term:
        """A gradient that an event brought; of one that was given and is sparse its values."""
        parts, term = self.brought(event, position), arrival(event)
        if isinstance(event, Seeded):
            return Term(parts[-1:], term.how, term)
        return Term(parts, producer(self._text.of(event), term), term)

    def brought(self, event: Arrival | Accumulated, at: int) -> list[Writing]:
        """The gradient that an event brought, or formed as a sum; of a sparse one indices and values.

        An operator may give a blob several, as where it reads that twice: they are called alike and come in order.
        """
        net = self._text.of(event)
        if not isinstance(event, GeneratorAdded) or event.position is None:
            return net.parts(event.gradient, at)
        arrivals = net.version(event.blob, event.version).arrivals
        place = bisect_left(arrivals, at)
        before = (self._events[arrivals[earlier] - 1] for earlier in reversed(range(place)))
        number = sum(1 for _ in takewhile(lambda one: _are_alike(one, event), before))
        return [_written(net, name, event.position, at, number) for name in parts_of(event.gradient)]

    def arrived_at(self, at: int) -> tuple[Arrival | Accumulated, list[Writing]]:
        """The event before position `at`, at which a gradient arrived or a sum of several was formed, and what it
        brought."""
        event = self._events[at - 1]
        assert isinstance(event, Seeded | GeneratorAdded | Accumulated)
        return event, self.brought(event, at)

    def gradient(self, blob: Writing) -> Writing | None:
        """The gradient of a blob as it is in the end, of a sparse one its values; None: it gets none."""
        return self.arrived_at(blob.arrivals[-1])[1][-1] if blob.arrivals else None

    def first_gradient(self, statement: Statement) -> Writing | None:
        """That of the first output of a statement that gets one; None: none does."""
        return next((one for one in map(self.gradient, statement.outputs) if one is not None), None)

    def merged(self, event: Deduplicated, at: int) -> tuple[list[Writing], list[Writing]]:
        """The gradient whose rows were merged, and the one that this gave: indices and values."""
        net = self._text.outermost
        return net.parts(event.before, at), net.parts(event.after, at)

    def merge(self, event: Deduplicated, at: int) -> Merge:
        """What merging the rows of a gradient did."""
        if self.recording.saved is not None:
            return {one.at: one for one in self.recording.saved.merges}[at]
        was, became = self.merged(event, at)
        before, after = (_arrays(gradient, self.recording.values) for gradient in (was, became))
        return Merge(
            blob=f"{event.blob}@{event.version}",
            at=at,
            aggregator=event.aggregator,
            before=GradientSlice(*map(str, was)),
            after=GradientSlice(*map(str, became)),
            rows_before=_count(before[0]),
            rows_after=_count(after[0]),
            most_repeated=_most_repeated(before[0]),
            difference=_difference(before, after),
        )

    def merges(self) -> list[Merge]:
        """The same of all gradients whose rows were merged."""
        return [self.merge(event, at) for at, event in self.recording.events_of(Deduplicated)]

    def _played(self, event: Played, at: int) -> Sentences:
        line = self._text.statement(event, event.index, at)
        returned = [one for one in line.statement.inputs if one.statement]
        deepest = max(returned, key=self._depth, default=None) if event.rank else None
        return narration.played(event, line, deepest, goes=self._goes(event))

    def _visited(self, event: Visited, at: int) -> Sentences:
        net, line = self._text.of(event), self._text.statement(event, event.index, at)
        gradients = [latest(net, gradient, at) for gradient in event.g_output]
        waiting = [net.forward[one.index].at(at) for one in event.waiting]
        is_read = any(one.role == "forward" for writing in line.statement.outputs for one in writing.readers)
        return narration.visited(event, line, [one and one.at(at) for one in gradients], waiting, is_read)

    def _rule_applied(self, event: RuleApplied, at: int) -> Sentences:
        line, new = self._text.statement(event, event.index, at), self._since(event, at)
        if line.nets:
            return control_narration.rule_applied(line, new)
        return narration.rule_run(event, line, new) if self._goes(event) else narration.rule_applied(line, new)

    def _generator_added(self, event: GeneratorAdded, at: int) -> Sentences:
        net = self._text.of(event)
        gradient = self.brought(event, at)[-1].at(at)
        if not self._goes(event):
            readers = self._readers(net, net.version(event.blob, event.version), at)
            return narration.generator_added(event, gradient, readers)
        owner = self._maker(event, event.blob, event.version, at)
        return narration.arrived(event, gradient, owner, has_heap=self._rank(net.forward[event.index]) is not None)

    def _accumulated(self, event: Accumulated, at: int) -> Sentences:
        net = self._text.of(event)
        line, new = self._text.statement(event, event.index, at), self._since(event, at)
        blob = net.version(event.blob, event.version)
        if not self.is_sum(event):
            reader = say.DENSE_PASS if self._goes(event) else say.DENSE_RULE
            return [(reader, line.name), (say.SPARSE_TO_DENSE, blob, new[0].text)]
        if event.so_far is not None:
            return narration.added(event, new, self._readers(net, blob, 0))
        outputs = [net.operators[one.position].outputs[one.slot] for one in event.renames if one.slot >= 0]
        renames = dict.fromkeys((str(one.at(at - 1)), one.at(at).name) for one in outputs)
        return narration.accumulated(event, line, new, self._readers(net, blob, at), renames)

    def _grad_written(self, event: GradWritten, at: int) -> Sentences:
        net = self._text.outermost
        arrivals = net.version(event.blob, 0).arrivals
        sums = [one.so_far or 1 for one in (self._events[at - 1] for at in arrivals) if isinstance(one, Accumulated)]
        return narration.written(event, latest(net, event.gradient, at), max(sums, default=1))

    def _completed(self, event: Completed, at: int) -> Sentences:
        operators = sum(one.role != "passed" and one.made <= at for one in self._text.of(event).backward)
        if event.path:
            return control_narration.completed(event, operators)
        before = self._events[:at]
        if functions := sum(isinstance(one, Visited) and one.rank is not None for one in before):
            variables = sum(isinstance(one, GradWritten) and one.after is not None for one in before)
            their, got = "its" if variables == 1 else "their", count_of(variables, "Variable")
            went = count_of(functions, "function")
            return [(say.HEAP_EMPTIED, went, got, their) if variables else (say.NONE_WRITTEN, went)]
        ys = {(one.y, one.version) for _, one in self.recording.events_of(Seeded)}
        reached = ((one.blob, one.version) for _, one in self.recording.events_of(GeneratorAdded) if not one.path)
        is_alone = set(self.recording.ys).issuperset(event.gradients) and ys.issuperset(reached)
        is_run = self.recording.obstacle is None
        return narration.completed(event, operators, is_from_ys_alone=is_alone, is_run=is_run)

    def _maker(self, event: Event, name: str, version: int, at: int) -> Reading | None:
        """What returned a blob version; None: nothing did."""
        statement = self._text.of(event).version(name, version).statement
        return None if statement is None else statement.at(at)

    def _since(self, event: Event, at: int) -> list[Reading]:
        """The backward statements that came with an event, as they read then."""
        return [statement.at(at) for statement in self._text.of(event).new_statements(at)]

    def _rank(self, statement: Statement) -> int | None:
        """The rank of a forward operator that is a function; None: the pass asks for no ranks."""
        event = self._events[statement.made - 1]
        return event.rank if isinstance(event, Played) else None

    def _depth(self, writing: Writing) -> int:
        """The rank of the function that returned a blob."""
        return (writing.statement and self._rank(writing.statement)) or 0

    def _readers(self, net: NetText, blob: Writing, at: int) -> list[str]:
        """Who reads a blob: operators, and by position `at` the start of the pass."""
        if self._read[0] is not blob:
            # Each of the gradients of a blob asks this anew, and there may be thousands.
            skip = 0 if net.path else self.recording.skip
            self._read = blob, [one.name for one in blob.readers if one.role == "forward" and one.number >= skip]
        names = self._read[1]
        if net.ys.get(blob.key, at + 1) <= at:
            return [*names, "what follows" if net.path else "the y itself"]
        return names


def arrival(event: Arrival) -> Contribution:
    """The gradient that an event brought."""
    if isinstance(event, GeneratorAdded):
        return Contribution(event.gradient, event.how, event.index, event.position)
    return Contribution(event.gradient, "given" if event.operator is None else "seed", None, event.position)


def _are_alike(one: Event, other: GeneratorAdded) -> bool:
    """Whether two gradients come from one operator and are called the same."""
    return isinstance(one, GeneratorAdded) and (one.position, one.gradient) == (other.position, other.gradient)


def _written(net: NetText, name: str, operator: int, at: int, number: int) -> Writing:
    """Of the outputs of an operator that have a name at a position the one with a number, else the last."""
    named = [one for one in net.operators[operator].outputs if one.at(at).name == name]
    return named[min(number, len(named) - 1)] if named else net.latest(name, at)


def latest(net: NetText, gradient: Gradient | None, at: int) -> Writing | None:
    """The writing that a gradient's name stands for at a position, of a sparse one its values."""
    parts = net.parts(gradient, at)
    return parts[-1] if parts else None


def versions_of(event: Completed, net: NetText, at: int) -> dict[str, Gradient]:
    """The map of a pass with the versions of the gradients."""
    return {
        blob: GradientSlice(*map(str, net.parts(gradient, at)))
        if isinstance(gradient, GradientSlice)
        else str(net.latest(gradient, at))
        for blob, gradient in event.gradients.items()
    }


def producer(net: NetText, contribution: Contribution) -> str:
    """``FCGradient #2``, ``Mul of Sqr #7`` or, where the gradient passed through, ``Sum #4``."""
    if contribution.index is None:
        return "seed" if contribution.how == "seed" else "given"
    forward = net.forward[contribution.index]
    if contribution.position is None:
        return forward.name
    maker = net.operators[contribution.position].op.type
    if maker == f"{forward.op.type}Gradient":
        return f"{maker} #{contribution.index}"
    if forward.nets:
        return f"backward pass of {forward.name}"
    return f"{maker} of {forward.name}"


Arrays = tuple[Array | None, Array | None]
"""Indices and values of a slice as numpy's arrays; None: not computed."""


def _arrays(gradient: Sequence[Writing], values: Mapping[Key, Array]) -> Arrays:
    arrays = [values.get(writing.key) for writing in gradient]
    indices, rows = (None if array is None else moved(array, CPU) for array in arrays)
    return indices, rows


def _count(indices: Array | None) -> int | None:
    return None if indices is None else int(indices.size)


def _most_repeated(indices: Array | None) -> list[MergedRow]:
    if indices is None:
        return []
    distinct, times = np.unique(indices, return_counts=True)
    first = np.argsort(-times, kind="stable")[:MERGED_ROWS]
    return [
        MergedRow(index=index, times=count)
        for index, count in zip(distinct[first].tolist(), times[first].tolist(), strict=True)
    ]


def _difference(was: Arrays, became: Arrays) -> Number | None:
    """The largest difference of the two slices as dense arrays, which need no row but those that they name."""
    (indices, values), (merged_indices, merged_values) = was, became
    if indices is None or values is None or merged_indices is None or merged_values is None:
        return None
    named = np.unique(np.concatenate([indices.reshape(-1), merged_indices.reshape(-1)]))
    dense = added_rows(np.searchsorted(named, indices), values, len(named))
    merged = added_rows(np.searchsorted(named, merged_indices), merged_values, len(named))
    return number(furthest(dense, merged))
