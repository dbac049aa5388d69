"""From a recording to its trace document: what happened in words, the lines of every net, values and ledgers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec
import numpy as np
from msgspec.structs import replace

from ...operators import lookup
from ...program import NetDef
from ...program.events import (
    Accumulated,
    Completed,
    Event,
    Failed,
    GeneratorAdded,
    GradWritten,
    Played,
    Ran,
    RuleApplied,
    Seeded,
    Visited,
    to_dict,
)
from ...program.net import shown_argument
from ...program.operator import bare
from ...runtime.watched import uncollected
from ...version import __version__
from ..document import (
    EventRow,
    Formula,
    Grad,
    Kind,
    Line,
    Narration,
    Pool,
    Revision,
    Schedule,
    Subnet,
    Trace,
    TraceEvent,
    Wait,
    all_lines,
    json_safe,
)
from ..journal import Lending, Pace, Progress, Recording, Statement, arguments
from .narration import entry
from .narrator import Description, Narrator
from .sentences import joined
from .sources import rules_of, sources_of
from .story import versions_of
from .subjects import Subject, Subjects, added, targets
from .sums import ledger_of, loop_ledger, placed, sums_of_loops
from .values import DocumentValues, Values


def document(recording: Recording, progress: Progress | None = None) -> Trace:
    """The trace document of `recording`, its graph not drawn yet. `progress` is told how far it is if it takes long."""
    with uncollected(), np.errstate(all="ignore"):
        pace = Pace(progress, "describe")
        trace = Writer(recording, _all_values(recording)).whole(pace)
        pace.before = 0
        pace.end(len(trace.events))
        return replace(trace, formulas=formulas_of(trace))


def outline(recording: Recording) -> Trace:
    """What a document has that does not follow from the events: values, ledgers, and what the pass is about.

    Where no operator runs nested nets, the operators of the net are those of the events.
    """
    net = recording.net.copy()
    if not recording.text.ids:
        net.ops = []
    with uncollected(), np.errstate(all="ignore"):
        return Writer(recording, _all_values(recording)).outline(net)


def _all_values(recording: Recording) -> DocumentValues:
    return Values(recording) if recording.saved is None else DocumentValues(recording.saved)


class Writer:
    """Writes the entries of a document.

    Args:
        values: the statistics of the recorded values.

    Attributes:
        story: tells the events of the pass.
        ran: the positions after the first runs of operators in nested nets, of those whose events have been written.
    """

    def __init__(self, recording: Recording, values: DocumentValues) -> None:
        self._recording = recording
        self._text = recording.text
        self._values = values
        self._narrator = Narrator(recording, values)
        self.story = self._narrator.story
        self._subjects = Subjects(recording, self.story, self._values)
        self.ran: dict[Statement, int] = {}
        self._templates: dict[str, int] = {}
        # Events of a run that share all but what fills their narration.
        self._alike: dict[object, TraceEvent] = {}

    def outline(self, net: NetDef) -> Trace:
        """All but events and lines, with `net`."""
        recording, text, values = self._recording, self._text, self._values
        if recording.saved is not None:
            return recording.saved
        merges = self.story.merges()
        whole = text.whole or 0
        completed = recording.events[whole - 1] if whole else None
        gradients = versions_of(completed, text.outermost, whole) if isinstance(completed, Completed) else {}
        return replace(
            self.header(net),
            subnets=list(map(self.subnet, text.ids)),
            frames=values.frames,
            values=values.outermost,
            arrays=values.arrays,
            stacks=values.stacks,
            ledgers=[
                *(ledger_of(self.story, *one) for one in placed(self.story.sums(), recording)),
                *(loop_ledger(recording, one) for one in sums_of_loops(recording)),
            ],
            merges=merges,
            gradients=gradients | {bare(one.blob): one.after for one in merges},
            schedule=schedule_of(recording),
            sources=sources_of(text.codes),
            rules=rules_of(self.rule_places(range(1, len(recording.events) + 1))),
        )

    def rule_places(self, positions: range) -> Iterator[str]:
        """The places of the rules that the events before some positions applied."""
        for at, event in self._recording.events_of(RuleApplied):
            if at in positions and event.rule:
                yield event.rule

    def header(self, net: NetDef) -> Trace:
        """What a document says of the recording as a whole, with `net`, all of its net or a part."""
        recording = self._recording
        return Trace(
            producer=f"gradviz {__version__}",
            engine=recording.engine,
            name=recording.net.name,
            summary=self._narrator.summary(),
            obstacle=None if recording.obstacle is None else entry(recording.obstacle, self._text.outermost),
            net=json_safe(net.to_dict(shown_argument)),
            ys=dict(recording.ys) if isinstance(recording.ys, Mapping) else list(recording.ys),
            skip=recording.skip,
            forward=[],
            backward=[],
            events=[],
        )

    def whole(self, pace: Pace) -> Trace:
        """All of it."""
        recording, text = self._recording, self._text
        ledgers = {at: number for number, (at, _) in enumerate(self.story.sums())}
        events = [self.event(event, at, ledgers.get(at)) for at, event in enumerate(pace.over(recording.events), 1)]
        return replace(
            self.outline(recording.net),
            templates=self.templates,
            events=events,
            forward=list(map(self.line, text.outermost.forward)),
            backward=list(map(self.line, text.outermost.backward)),
            subnets=[self.subnet(path, has_lines=True) for path in text.ids],
        )

    @property
    def templates(self) -> list[str]:
        """The templates of the narrations that have been written."""
        return list(self._templates)

    def event(self, event: Event, at: int, ledger: int | None = None) -> TraceEvent:
        """The event before position `at`, which has a `ledger` of this number."""
        description, frame = self._narrator.tell(at), self._recording.run_after(at)
        seconds = None
        if type(event) is Ran:
            self.ran.setdefault(self._recording.operator(frame, event.position), at)
            seconds = event.seconds
        narration = self._narration(description)
        key = (description.alike, narration.template)
        one = None if description.alike is None else self._alike.get(key)
        if one is None:
            one = self._whole(event, at, description, narration)
            if description.alike is not None:
                self._alike[key] = one
        group = int(self._recording.timeline.group[at - 1])
        return replace(one, narration=narration, group=group, frame=frame, seconds=seconds, ledger=ledger)

    def _narration(self, description: Description) -> Narration:
        template, arguments = joined(description.narration)
        return Narration(self._templates.setdefault(template, len(self._templates)), arguments)

    def _whole(self, event: Event, at: int, description: Description, narration: Narration) -> TraceEvent:
        """An event with all its fields, but for its group and run."""
        subjects = self._subjects
        subject = subjects.of(event, at)
        subject = subject._replace(words=[*subject.words, *description.words])
        blobs, is_run = subject.blobs, self._text.is_run(event, at)
        return TraceEvent(
            kind=cast(Kind, event.kind),
            narration=narration,
            group=0,
            phase="run" if is_run else "play" if isinstance(event, Played) and not event.path else "generate",
            subnet=self._recording.net_after(at).id or None,
            forward=subject.forward,
            lines=[one.id for one in subject.statements],
            blobs=blobs,
            targets=targets(event, subject, blobs, self._text.outermost.forward),
            detail=_detail(event, is_run=is_run),
            row=self._row(event, at, subject),
        )

    def _row(self, event: Event, at: int, subject: Subject) -> EventRow:
        """What conditions ask about."""
        subjects = self._subjects
        operator = subjects.operator(event, at, subject)
        return EventRow(
            None if operator is None else operator.id,
            list(map(str, subjects.writes(event, at, subject))),
            subjects.is_gradient(event, at, subject),
            added(event) if isinstance(event, Accumulated) else None,
        )

    def line(self, statement: Statement) -> Line:
        """A statement of the program."""
        op, is_passed = statement.op, statement.role == "passed"
        operator_type = None if is_passed else lookup(op.type)
        gradient = self.story.first_gradient(statement) if statement.role == "forward" else None
        readings = [statement.at(position) for position in statement.changes()]
        history = [
            Revision(at=one.position, inputs=list(map(str, one.inputs)), outputs=list(map(str, one.outputs)))
            for one in readings
        ]
        return Line(
            id=statement.id,
            kind="passed" if is_passed else "operator",
            type=op.type,
            inputs=history[-1].inputs,
            outputs=history[-1].outputs,
            args={} if is_passed else json_safe(msgspec.to_builtins(arguments(op), enc_hook=shown_argument)),
            subnets={argument: net.id for argument, net in statement.nets.items()},
            device=str(op.device) if op.device else None,
            name=op.name,
            code=statement.code,
            of=statement.of,
            role=statement.role,
            made=statement.made,
            history=history,
            formula=operator_type.formula if operator_type else "",
            gradient=None if gradient is None else str(gradient),
            ran=self.ran.get(statement) if statement.net.path else statement.ran,
            stale=self._recording.stale.get(statement),
        )

    def subnet(self, path: tuple[str, ...], *, has_lines: bool = False) -> Subnet:
        """A nested net."""
        id, net, text = self._text.ids[path], self._text.halves[path], self._text.net(path)
        owner, backward_owner = self._text.owners[id]
        return Subnet(
            id=id,
            owner=None if owner is None else owner.id,
            backward_owner=None if backward_owner is None else backward_owner.id,
            argument=net.argument,
            name=net.name,
            path=list(path),
            forward=list(map(self.line, text.forward)) if has_lines else [],
            backward=list(map(self.line, text.backward)) if has_lines else [],
            blobs=[f"{name}@{version}" for name, version in self._values.blobs[id]],
        )


def _detail(event: Event, *, is_run: bool) -> dict[str, Any]:
    """The event's own fields, in a run but for those that differ from run to run."""
    detail = to_dict(event)
    del detail["event"]
    if is_run:
        for name in ("path", "seconds", "iteration"):
            detail.pop(name, None)
        if isinstance(event, Failed):
            detail["path"] = list(event.path)
    safe: dict[str, Any] = json_safe(detail)
    return safe


def formulas_of(trace: Trace) -> dict[str, Formula]:
    """The formulas of the operator types that occur in `trace`, by type; types without one are left out."""
    types = dict.fromkeys(line.type for line in all_lines(trace))
    return {type: formula for type in types if (formula := _formula_of(type)) is not None}


def _formula_of(type: str) -> Formula | None:
    """What the operator table says of `type`; None: it says nothing, or not what the inputs are called."""
    entry = lookup(type)
    if entry is None or entry.inputs is None or entry.outputs is None or not entry.formula:
        return None
    return Formula(
        formula=entry.formula,
        derivative=entry.derivative,
        inputs=entry.inputs.written(),
        outputs=entry.outputs.written(),
    )


def schedule_of(recording: Recording) -> Schedule | None:
    """The schedule of a recording, position by position; None: it says nothing of ranks, ``grad`` and pools."""
    if not is_scheduled(recording):
        return None
    events = recording.events
    played = _played(recording)
    ranks = [event.rank for _, event in played]
    grads = [Grad(blob, 0, value, "held") for blob, value in recording.grads_before.items()]
    waits: dict[int, Wait] = {}
    for at, event in recording.events_of(GradWritten, Seeded, GeneratorAdded, Visited):
        if isinstance(event, GradWritten):
            grads.append(Grad(event.blob, at, event.after, event.how))
        elif isinstance(event, Seeded | GeneratorAdded) and event.queued is not None:
            one = event.queued
            waits[one.index] = Wait(one.index, one.rank, one.arrival, at)
        elif isinstance(event, Visited) and event.index in waits:
            waits[event.index] = replace(waits[event.index], until=at)
    begin = played[-1][0] + 1 if played else 1
    end = next((at for at in range(len(events), 0, -1) if not isinstance(events[at - 1], GradWritten)), 0)
    pools = [row for lending in recording.pools for row in _pools(lending, begin, end)]
    return Schedule(ranks=ranks, waits=list(waits.values()), grads=grads, pools=pools)


def is_scheduled(recording: Recording) -> bool:
    """Whether a recording says something of ranks, ``grad`` or pools."""
    if recording.saved is not None:
        return recording.saved.schedule is not None
    if recording.grads_before or recording.pools or len(recording.timeline.of(GradWritten)):
        return True
    return any(event.rank is not None for _, event in _played(recording))


def _played(recording: Recording) -> list[tuple[int, Played]]:
    """The events that play the operators around all nested nets, each with the position after it."""
    return [(at, event) for at, event in recording.events_of(Played) if not event.path]


def _pools(lending: Lending, begin: int, end: int) -> Iterator[Pool]:
    """A pool of names from the start, from position `begin` on, and from position `end` on."""
    name, in_use, free, taken = lending
    yield Pool(name, 0, in_use, free)
    yield Pool(name, begin, in_use + taken, max(0, free - taken))
    yield Pool(name, end, in_use, max(free, taken))
