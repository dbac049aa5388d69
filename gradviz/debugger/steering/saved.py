"""What a document that was read from a file says of a recording: all but the arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import eq
from typing import Any, overload

import numpy as np
from msgspec.structs import replace

from ...program import GradvizError, NetDef, Operator
from ...program.control_flow import NETS
from ...program.events import Accumulated, Deduplicated, Event, Played, Ran, from_dict, gradient_operators
from ...program.net_halves import nets_of
from ...program.renaming import rename_steps
from ...runtime.notes import Notes
from ...runtime.watched import Journal, uncollected
from ..document import Obstacle, RanColumns, Trace, TraceError, described
from ..journal import NOWHERE, Half, Recording
from .places import path_of


class SavedEvents(Sequence[Event]):
    """Every event of `trace`, first to last.

    Args:
        detail_events: those that its details describe, where they have been read.
    """

    def __init__(self, trace: Trace, detail_events: Sequence[Event] | None) -> None:
        self._trace = trace
        self._detail_events = detail_events
        self._events: dict[int, Event] = {}

    def __len__(self) -> int:
        return len(self._trace.events)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Event, ...]: ...
    def __getitem__(self, index: int | slice) -> Event | tuple[Event, ...]:
        if isinstance(index, slice):
            return tuple(self[number] for number in range(*index.indices(len(self))))
        number = range(len(self))[index]
        if number not in self._events:
            self._events[number] = self._read(number)
        return self._events[number]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    def _read(self, number: int) -> Event:
        """The event as it was recorded: what the document says once for all iterations of a loop is put back."""
        event = self._trace.events[number]
        of_detail = from_dict(described(event)) if self._detail_events is None else self._detail_events[number]
        back: dict[str, Any] = {"seconds": event.seconds} if event.kind == "Ran" else {}
        if event.phase == "run" and event.kind != "Failed":
            frame = event.frame
            if event.kind in ("EnteredSubnet", "LeftSubnet"):
                is_entered = event.kind == "EnteredSubnet"
                passed = frame if is_entered else self._trace.events[number - 1].frame
                assert passed is not None
                run = self._trace.frames[passed]
                back["iteration"] = run.iteration
                frame = run.around if is_entered else frame
            back["path"] = () if frame is None else path_of(self._trace, frame)
        return replace(of_detail, **back) if back else of_detail


def saved_recording(trace: Trace, events: Sequence[Event], ran: RanColumns | None = None) -> Recording:
    """The recording that a document describes, without values; `ran`: what ran behind the events, if anything did."""
    outermost = [event for event in events if not event.path]
    net = NetDef.from_dict(trace.net)
    # Of an operator with nested nets, its event also lists what it may leave as it was.
    played = {event.index: event.op for event in outermost if isinstance(event, Played) and event.op.type not in NETS}
    if not net.ops:  # packed
        net.ops = [played[index] for index in sorted(played)]
    forward = [played.get(index, op) for index, op in enumerate(net.ops)]
    backward = _gradient_operators(outermost)
    nets = nets_of(forward, backward, events)
    nested = nets.nested
    halves: dict[tuple[str, int, bool], Half] = {}
    for one in trace.frames:
        if (place := (one.subnet, one.operator, one.is_backward)) not in halves:
            halves[place] = Half(nested[one.subnet], one.operator, len(halves), is_backward=one.is_backward)
    notes = Notes(nets)
    notes.steps, *steps = repeat((), 1 + len(trace.frames)) if ran is None else ran.steps()
    notes.halves += halves.values()
    notes.noted += [
        [half, NOWHERE if one.around is None else one.around, one.iteration, planned, None]
        for one, planned in zip(trace.frames, steps, strict=True)
        for half in [halves[one.subnet, one.operator, one.is_backward]]
    ]
    if ran is not None:
        notes.codes, notes.seconds, notes.failed = bytearray(ran.codes), ran.times(), ran.failed
    journal = Journal(
        trace.engine,
        net,
        trace.ys,
        (*forward, *backward),
        tuple(events),
        {},
        lambda _: trace.summary,
        lambda _: nets,
        skip=trace.skip,
        notes=None if ran is None else notes,
        runs=notes.runs,
        obstacle=None if trace.obstacle is None else _error(trace.obstacle),
    )
    return Recording(lambda: journal, saved=trace)


def _gradient_operators(events: Iterable[Event]) -> list[Operator]:
    """The gradient operators that come with events, as they read at the end."""
    operators: list[Operator] = []
    for event in events:
        if isinstance(event, Accumulated):
            rename_steps(operators, event.renames)
        operators += gradient_operators(event)
    return operators


def unpacked_recording(outline: Trace, events: Sequence[Event], ran: RanColumns | None) -> Recording:
    """The recording of which a file has the events packed, and what ran behind them in columns.

    Raises:
        TraceError: ``bad_reference``: the events contradict each other.
    """
    try:
        with uncollected():
            recording = saved_recording(outline, events, ran)
            assert {id: net.path for id, net in recording.nets.nested.items()} == {
                net.id: tuple(net.path) for net in outline.subnets
            }
            merged = [at for at, event in enumerate(events, 1) if isinstance(event, Deduplicated)]
            assert [merge.at for merge in outline.merges] == merged
            if ran is not None:
                _check_runs(recording)
    except (AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise TraceError(
            f"The events of the trace contradict each other ({error!r}).",
            kind="bad_reference",
            ways_out=["The file may be damaged: save the session again."],
        ) from None
    return recording


def _check_runs(recording: Recording) -> None:
    """Raise ValueError where what ran is more than there is to run, or the runs of nested nets lie otherwise."""
    timeline, runs, (_, notes) = recording.timeline, recording.runs, recording.noted
    assert notes is not None
    ran, begun = timeline.of(Ran), timeline.begun
    operators = [*(len(note[0].program) for note in notes.noted), len(recording.nets.program)]
    steps = [*(len(note[3]) for note in notes.noted), len(notes.steps)]
    count = np.minimum(operators, steps)
    if len(begun) != len(runs) or (timeline.runs[begun] != runs.around).any():
        raise ValueError("nested nets ran elsewhere")
    if (timeline.ran_before[ran] >= count[timeline.runs[ran]]).any():
        raise ValueError("more operators ran than there are")


def _error(obstacle: Obstacle) -> GradvizError:
    return GradvizError(
        obstacle.message, kind=obstacle.kind, blobs=list(obstacle.blobs), ways_out=list(obstacle.ways_out)
    )
