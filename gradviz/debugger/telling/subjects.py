"""What each event of a recording is about: operators, blobs, and the words by which it is found.

It follows from the event, the text of the program and the events that it refers to: in any order, and alone. Documents
have it, verbs and breakpoints look for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ...program import Operator
from ...program.events import (
    Accumulated,
    ChangedByHand,
    Completed,
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
    Ran,
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
    gradient_operators,
)
from ...program.operator import bare, version_in
from ..journal import NOWHERE, Recording, Statement, Writing
from .story import Story, latest
from .values import DocumentValues

OF_FORWARD = (Played, Visited, Skipped, RuleApplied, InputChecked, GeneratorAdded, Accumulated)
"""Kinds of events that are about the forward operator of their index."""

MOST_BLOBS = 12
"""Blob versions in focus on entering a net."""


class Subject(NamedTuple):
    """What an event is about.

    Attributes:
        forward: the forward operator.
        statements: what it made, changed or ran.
        focus: blobs, the most important one first.
        words: by which a search finds it, beside its kind, operator and blobs.
    """

    forward: int | None = None
    statements: Sequence[Statement] = ()
    focus: Sequence[Writing | str | None] = ()
    words: Sequence[str] = ()

    @property
    def blobs(self) -> list[str]:
        """What is in focus, each blob version once."""
        return list(dict.fromkeys([str(blob) for blob in self.focus if blob is not None]))


class Subjects:
    """Says what the events of a recording are about; in a run statements are what they are in the end.

    Args:
        values: says which values there are.
    """

    def __init__(self, recording: Recording, story: Story, values: DocumentValues) -> None:
        self._recording = recording
        self._text = recording.text
        self._story = story
        self._values = values

    def of(self, event: Event, at: int) -> Subject:
        """What the event before position `at` is about."""
        return RULES[type(event)](self, event, at)

    def operator(self, event: Event, at: int, subject: Subject) -> Statement | None:
        """The operator that ran, else the forward one that an event is about, else the last one made."""
        if type(event) is not Ran and subject.forward is not None:
            forward = self._recording.net_after(at).forward
            return forward[subject.forward] if subject.forward < len(forward) else None
        return subject.statements[-1] if subject.statements else None

    def writes(self, event: Event, at: int, subject: Subject) -> Iterator[Writing | str]:
        """The blobs that an event writes."""
        if type(event) is GradWritten:
            yield from [] if event.after is None else [event.after]
        elif brought(event):
            for statement in subject.statements:
                if statement.role != "passed" and (statement.made == at or type(event) is Ran):
                    yield from statement.outputs

    def is_gradient(self, event: Event, at: int, subject: Subject) -> bool:
        """Whether the first blob that an event writes, or else is about, is a gradient."""
        blobs = (*self.writes(event, at, subject), *subject.focus)
        blob = next((one for one in blobs if one is not None), None)
        if type(event) is GradWritten and blob == event.after:
            return blob is not None
        if isinstance(blob, str):
            key = version_in(blob)
            blob = None if key is None else self._recording.net_after(at).version(*key)
        maker = None if blob is None else blob.statement
        return maker is not None and maker.role not in ("forward", "passed")

    def _played(self, event: Played, at: int) -> Subject:
        statement = self._text.of(event).forward[event.index]
        return Subject(event.index, [statement], [*statement.outputs, *statement.inputs], [event.op.type])

    def _seeded(self, event: Seeded, at: int) -> Subject:
        net = self._text.of(event)
        statements = net.new_statements(at)
        gradient = statements[0].outputs[0] if statements else latest(net, event.gradient, at)
        return Subject(None, statements, [gradient, net.version(event.y, event.version)])

    def _visited(self, event: Visited, at: int) -> Subject:
        net = self._text.of(event)
        statement = net.forward[event.index]
        arrived = [latest(net, gradient, at) for gradient in event.g_output]
        return Subject(event.index, [], [*arrived, *statement.outputs], [statement.op.type])

    def _skipped(self, event: Skipped, at: int) -> Subject:
        statement = self._text.of(event).forward[event.index]
        return Subject(event.index, [], statement.outputs, [statement.op.type])

    def _rule_applied(self, event: RuleApplied, at: int) -> Subject:
        net = self._text.of(event)
        statements = net.new_statements(at)
        focus = [one for new in statements for one in (new.inputs if new.role == "passed" else new.outputs)]
        types = [net.forward[event.index].op.type, *[new.op.type for new in statements]]
        return Subject(event.index, statements, focus, types)

    def _input_checked(self, event: InputChecked, at: int) -> Subject:
        statement = self._text.of(event).operators[event.position]
        return Subject(event.index, [statement], statement.inputs)

    def _generator_added(self, event: GeneratorAdded, at: int) -> Subject:
        net = self._text.of(event)
        gradient = self._story.brought(event, at)[-1]
        maker = None if event.position is None else gradient.statement
        focus = [gradient, net.version(event.blob, event.version)]
        return Subject(event.index, [] if maker is None else [maker], focus)

    def _accumulated(self, event: Accumulated, at: int) -> Subject:
        net = self._text.of(event)
        statements = net.new_statements(at)
        blob = net.version(event.blob, event.version)
        if not self._story.is_sum(event):
            return Subject(event.index, statements, [statements[0].outputs[0], blob], ["SparseToDense"])
        terms = [term.parts[-1] for term in self._story.terms(event, at)]
        focus = [*reversed(self._story.brought(event, at)), blob, *terms]
        return Subject(event.index, statements, focus, ["Σ", *[new.op.type for new in statements]])

    def _hooked(self, event: HookRan, at: int) -> Subject:
        net = self._text.of(event)
        statements = net.new_statements(at)
        gradients = [one for new in statements for one in (*new.outputs, *new.inputs)]
        focus = [*gradients, net.version(event.blob, event.version)]
        return Subject(event.index, statements, focus, [new.op.type for new in statements])

    def _changed(self, event: ChangedByHand, at: int) -> Subject:
        given = self._text.of(event).version(event.blob, event.version)
        assert given.statement is not None
        return Subject(forward_of(given.statement), [given.statement], [given, *given.statement.inputs])

    def _deduplicated(self, event: Deduplicated, at: int) -> Subject:
        net = self._text.outermost
        statements, (was, became) = net.new_statements(at), self._story.merged(event, at)
        focus = [*reversed(became), net.version(event.blob, event.version), *reversed(was)]
        return Subject(None, statements, focus, [new.op.type for new in statements])

    def _grad_written(self, event: GradWritten, at: int) -> Subject:
        net = self._text.outermost
        x = net.version(event.blob, 0)
        gradient = latest(net, event.gradient, at)
        maker = None if x.statement is None else x.statement.number
        return Subject(maker, [], [event.after, gradient, f"{event.blob}@0", event.before], [f"{event.blob}.grad"])

    def _passage(self, event: EnteredSubnet | LeftSubnet, at: int) -> Subject:
        entered = int(self._recording.inside[at if type(event) is EnteredSubnet else at - 1])
        if entered == NOWHERE or not self._text.is_run(event, at):
            return Subject(None, [self._text.of(event).forward[event.index]], [], [event.name])
        run = self._recording.runs[entered]
        focus: list[str] = []
        if type(event) is EnteredSubnet:
            # All runs of a net name the blobs that the first of them reads.
            reads = run.net.parts[run.is_backward].reads
            first = self._recording.halves[run.net.path, run.is_backward][0]
            there = set(self._values.keys(first))
            keys = [key for key in reads if key in there]
            focus = [f"{name}@{version}" for name, version in keys[:MOST_BLOBS]]
        return Subject(None, [self._recording.operator(run.around, run.operator)], focus, [event.name])

    def _ran(self, event: Ran, at: int) -> Subject:
        return ran(self._recording.operator(self._recording.run_after(at), event.position))

    def _failed(self, event: Failed, at: int) -> Subject:
        if event.index is None:
            return Subject(None, [], [], [event.error])
        if self._text.is_run(event, at):
            statement = self._recording.operator(self._recording.run_after(at), event.index)
            lines = [] if statement.role == "forward" else [statement]
            return Subject(forward_of(statement), lines, _at_fault(statement, event), [event.error])
        net = self._text.of(event)
        own = _at_fault(net.forward[event.index], event)
        missing = next((one for one in own if str(one) in event.versions[:1]), None)
        after = None if missing is None else net.version(missing.name, missing.version + 1).statement
        return Subject(event.index, [] if after is None else [after], [*event.versions, *own], [event.error])


RULES: dict[type[Event], Callable[[Subjects, Any, int], Subject]] = {
    Played: Subjects._played,
    Seeded: Subjects._seeded,
    Visited: Subjects._visited,
    Skipped: Subjects._skipped,
    RuleApplied: Subjects._rule_applied,
    InputChecked: Subjects._input_checked,
    GeneratorAdded: Subjects._generator_added,
    Accumulated: Subjects._accumulated,
    Deduplicated: Subjects._deduplicated,
    HookRan: Subjects._hooked,
    ChangedByHand: Subjects._changed,
    GradWritten: Subjects._grad_written,
    EnteredSubnet: Subjects._passage,
    LeftSubnet: Subjects._passage,
    Ran: Subjects._ran,
    Failed: Subjects._failed,
    Completed: lambda subjects, event, at: Subject(),
}
"""Of each kind of event."""


def _at_fault(statement: Statement, event: Failed) -> list[Writing]:
    """The blobs of an operator that has failed, first those that are at fault."""
    return sorted((*statement.outputs, *statement.inputs), key=lambda one: one.name not in event.blobs)


def ran(statement: Statement) -> Subject:
    """What the run of an operator is about."""
    return Subject(forward_of(statement), [statement], [*statement.outputs, *statement.inputs], [statement.op.type])


def brought(event: Event) -> Sequence[Operator]:
    """The operators that come with an event, or run; those of a nested net came with the one that runs it."""
    if isinstance(event, Ran) or (isinstance(event, Played) and not event.path):
        return [event.op]
    return gradient_operators(event)


def forward_of(statement: Statement) -> int | None:
    """The forward operator that an operator is, or came from."""
    return statement.number if statement.role == "forward" else statement.of


def targets(event: Event, subject: Subject, blobs: Iterable[str], forward: Sequence[Statement]) -> list[str]:
    """The words by which an event is found that is about a subject and these blobs.

    Args:
        forward: the operators of the outermost net.
    """
    of = [] if subject.forward is None or event.path else forward[subject.forward].words
    words = [event.kind, *subject.words, *of, *blobs]
    return list(dict.fromkeys([*words, *map(bare, blobs)]))


def added(event: Accumulated) -> tuple[int, int]:
    """How many of the gradients that an accumulation adds are sparse, and how many dense."""
    dense = sum(isinstance(one.gradient, str) for one in event.contributions)
    return len(event.contributions) - dense, dense
