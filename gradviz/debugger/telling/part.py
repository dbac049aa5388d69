"""The document of a part of a recording: a large one is shown in parts, each with the events around a position.

A part has the operators that its events are about, line by line. Those between them are stretches: one line stands for
thousands of operators, so that the program is whole in it, and so is what flows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from ...operators.registry import Array
from ...operators.scopes import ScopeStack
from ...program import NetDef
from ...program.events import Accumulated, Deduplicated, Ran
from ...program.operator import key_of
from ..document import (
    Entered,
    Frame,
    Ledger,
    Line,
    Part,
    Subnet,
    Trace,
    TraceEvent,
    Value,
    Workspaces,
    all_lines,
    forward_id,
)
from ..journal import NOWHERE, Key, Recording, Statement
from ..statistics import all_statistics, of_stack
from .sources import rules_of, sources_of
from .stretches import Outermost, PartProgram
from .sums import ledger_of, placed
from .trace_document import Writer, formulas_of, is_scheduled
from .values import frame_of, values_of

EVENTS = 600
MOST_OPERATORS = 600
"""Of a part, where nothing else is asked for."""
MOST_ENTRIES = 200
"""Lines, blobs and entries of a list that an event has; an accumulation may have one for each operator there is."""
MOST_ADDED = 2_000
"""Gradients that a ledger adds up."""


class Parts:
    """A recording in parts.

    Args:
        events: of a part.
        operators: forward operators around all nested nets that have lines of their own; where there are no more, all.

    Attributes:
        recording, values, outermost, is_called: what each part is written from.
    """

    def __init__(self, recording: Recording, events: int = EVENTS, operators: int = MOST_OPERATORS) -> None:
        self._events = events
        self._operators = operators
        self.recording = recording
        self.values = values_of(recording)
        self.outermost = Outermost(recording.text.outermost)
        self.is_called = is_scheduled(recording)

    def around(self, position: int) -> Trace:
        """The part in whose middle `position` is, but for where the recording begins and ends; it is not drawn yet."""
        length = len(self.recording.events)
        first = max(0, min(position - self._events // 2, length - self._events))
        positions = range(first + 1, min(first + self._events, length) + 1)
        with np.errstate(all="ignore"):
            return _Part(self, positions, position, self._operators).trace()


class _Part:
    """A part while it is written."""

    def __init__(self, parts: Parts, positions: range, position: int, operators: int) -> None:
        self._recording, self._text = parts.recording, parts.recording.text
        self._values = parts.values
        self._writer = Writer(parts.recording, parts.values)
        self._positions = positions
        self._events = [self._writer.event(self._recording.events[at - 1], at) for at in positions]
        chosen = self._chosen(position, len(parts.outermost.forward), operators)
        self._program = PartProgram(parts.outermost, chosen, self._writer.line)
        self._open = self._open_at(positions[0] - 1) if positions else []
        self._is_called = parts.is_called
        self._frames = self._frame_numbers()
        self._stacks: list[Workspaces] = []

    def trace(self) -> Trace:
        """The document, not drawn yet."""
        recording, text, program = self._recording, self._text, self._program
        paths = [path for path in text.ids if self._is_shown(path)]
        nets = [self._net(path) for path in paths]
        program.ids |= {line.id for net in nets for line in (*net.forward, *net.backward)}
        ledgers = list(self._ledgers())
        numbers = {one.at: number for number, one in reversed([*enumerate(ledgers)])}
        events = [self._shown(event, numbers.get(at)) for at, event in zip(self._positions, self._events, strict=True)]
        header = self._writer.header(NetDef(recording.net.name, [one.op for one in program.shown]))
        obstacle = header.obstacle and replace(header.obstacle, lines=program.located(header.obstacle.lines))
        values = self._outermost_values([*program.forward, *program.backward])
        frames, arrays = self._runs({tuple(net.path): net for net in nets})
        trace = replace(
            header,
            part=self._described(),
            obstacle=obstacle,
            forward=program.forward,
            backward=program.backward,
            subnets=nets,
            templates=self._writer.templates,
            events=events,
            values=values,
            frames=frames,
            arrays=arrays,
            stacks=self._stacks,
            ledgers=ledgers,
            merges=[
                self._writer.story.merge(event, at)
                for at, event in recording.events_of(Deduplicated)
                if at in self._positions
            ],
        )
        return replace(trace, formulas=formulas_of(trace), **self._texts(trace))

    def _texts(self, trace: Trace) -> dict[str, Any]:
        """The user's code around the lines that are here, and the rules that are applied."""
        saved, rules = self._recording.saved, set(self._writer.rule_places(self._positions))
        codes = [line.code for line in all_lines(trace) if line.code is not None]
        if saved is None:
            return {"sources": sources_of(codes), "rules": rules_of(sorted(rules))}
        files = {one.file for one in codes}
        return {
            "sources": [one for one in saved.sources if one.file in files],
            "rules": {place: text for place, text in saved.rules.items() if place in rules},
        }

    def _chosen(self, position: int, count: int, most: int) -> set[int]:
        """The forward operators that have lines of their own: those that the events nearest to `position` are about,
        and those of all sums and of the nested nets in which events are."""
        if count <= most:
            return set(range(count))
        begin = self._recording.net_after(self._positions[0] - 1).id if self._positions else ""
        nets = {begin, *(event.subnet for event in self._events)} - {"", None}
        sums = [event.lines[-1] for event in self._events if event.kind == "Accumulated" and event.lines]
        chosen = set(self._numbers([*(f"{net}." for net in nets), *sums]))
        for at in sorted(self._positions, key=lambda at: abs(at - position)):
            chosen.update(self._about(at))
            if len(chosen) >= most:
                break
        return chosen

    def _about(self, at: int) -> Iterator[int]:
        """The forward operators around all nested nets that an event is about."""
        event = self._events[at - self._positions[0]]
        return self._numbers(filter(None, [*event.lines[-MOST_ENTRIES:], forward_id(event)]))

    def _numbers(self, ids: Iterable[str]) -> Iterator[int]:
        """The forward operators around all nested nets that lines, by their ids, are or come from, or are inside of."""
        for id in ids:
            statement = self._statement(id)
            number = statement.number if statement.role in ("forward", "passed") else statement.of
            if number is not None:
                yield number

    def _statement(self, id: str) -> Statement:
        """The statement around all nested nets that has an id, or runs the nested net of the one that has it."""
        text = self._text.outermost
        while "." in id:
            owners = self._text.owners[id.rpartition(".")[0]]
            id = next(owner.id for owner in owners if owner is not None)
        number = int(id[1:])
        return text.operators[number] if id[0] == "b" else text.forward[number]

    def _is_shown(self, path: tuple[str, ...]) -> bool:
        """Whether a nested net is run by an operator that has a line."""
        return self._statement(f"{self._text.ids[path]}.").id in self._program.alone

    def _net(self, path: tuple[str, ...]) -> Subnet:
        """A nested net with its lines."""
        recording = self._recording
        for is_backward in (False, True):
            for run in recording.halves.get((path, is_backward), [])[:1]:
                for at, event in recording.ran_in(run):
                    self._writer.ran[recording.operator(run, event.position)] = at
        return self._writer.subnet(path, has_lines=True)

    def _open_at(self, position: int) -> list[Entered]:
        """The nested nets that are open at a position, from the outside in, with the runs as they are numbered."""
        recording, timeline = self._recording, self._recording.timeline
        entered: list[Entered] = []
        number = int(timeline.inside[position])
        while number != NOWHERE:
            at = number + 1
            entered.append(Entered(recording.net_after(at).id, recording.run_after(at), at))
            number = int(timeline.around[number])
        return entered[::-1]

    def _frame_numbers(self) -> dict[int, int]:
        """The runs that the events are in, and those around them: by their numbers among all the numbers here."""
        runs = self._recording.runs
        frames = {event.frame for event in self._events} | {one.frame for one in self._open}
        for frame in [*frames]:
            while frame is not None:
                frames.add(frame)
                frame = runs[frame].around
        return {frame: number for number, frame in enumerate(sorted(one for one in frames if one is not None))}

    def _described(self) -> Part:
        net = self._text.outermost
        return Part(
            first=self._positions[0] - 1 if self._positions else 0,
            length=len(self._recording.events),
            forward=len(net.forward),
            backward=len(net.operators),
            whole=self._text.whole,
            entered=[replace(one, frame=self._number(one.frame)) for one in self._open],
            is_called=self._is_called,
        )

    def _number(self, frame: int | None) -> int | None:
        """The number that a run has here; None: it is not here."""
        return None if frame is None else self._frames.get(frame)

    def _shown(self, event: TraceEvent, ledger: int | None) -> TraceEvent:
        """An event as it is shown here: of its lines, the last of which it makes, their end, of other lists their
        beginning."""
        lines = self._program.located(event.lines[-MOST_ENTRIES:])
        detail = _cut(event.detail) if len(event.blobs) > MOST_ENTRIES else event.detail
        row = event.row if event.row.operator in self._program.ids else replace(event.row, operator=None)
        return replace(
            event,
            frame=self._number(event.frame),
            lines=lines,
            blobs=event.blobs[:MOST_ENTRIES],
            targets=event.targets[:MOST_ENTRIES],
            ledger=ledger,
            detail=detail,
            row=row,
        )

    def _ledgers(self) -> Iterator[Ledger]:
        """Those of the sums that are shown, in nested nets by the events here, but for the longest."""
        events, writer = self._recording.events, self._writer
        positions = {line.made for line in self._program.backward if line.role == "accumulation"}
        positions.update(at for at in self._positions if events[at - 1].path)
        sums = []
        for at in sorted(positions):
            event = events[at - 1]
            if isinstance(event, Accumulated) and writer.story.is_sum(event) and len(event.contributions) <= MOST_ADDED:
                sums.append((at, event))
        for at, event, frame in placed(sums, self._recording):
            if frame is None or frame in self._frames:
                yield replace(ledger_of(writer.story, at, event, frame), frame=self._number(frame))

    def _outermost_values(self, lines: Sequence[Line]) -> dict[str, Value]:
        """The statistics of the blobs that lines read and write."""
        blobs = list(dict.fromkeys(blob for line in lines for blob in (*line.inputs, *line.outputs)))
        keys = list(map(key_of, blobs))
        found = zip(blobs, keys, self._values.together(keys), strict=True)
        return {
            blob: self._here(replace(value, seconds=self._seconds(key)), None, key)
            for blob, key, value in found
            if value is not None
        }

    def _seconds(self, key: Key) -> float | None:
        """How long the operator that writes a blob took."""
        writer = self._text.outermost.version(*key).statement
        event = None if writer is None or writer.ran is None else self._recording.events[writer.ran - 1]
        return event.seconds if isinstance(event, Ran) else None

    def _runs(self, nets: Mapping[tuple[str, ...], Subnet]) -> tuple[list[Frame], list[Value]]:
        """The runs, and the values that they refer to by number; what several of them see has one."""
        recording, is_saved = self._recording, self._recording.saved is not None
        number: dict[int, int] = {}
        distinct: list[tuple[Any, int, Key]] = []
        frames = []
        for old in self._frames:
            run, note = recording.runs[old], recording.runs.notes[old]
            net = nets[run.net.path]
            places: list[int | None] = []
            for key in map(key_of, net.blobs):
                one = self._values.of(old, key) if is_saved else run.values.get(key)
                places.append(None if one is None else number.setdefault(id(one), len(distinct)))
                if places[-1] == len(distinct):
                    distinct.append((one, old, key))
            frames.append(frame_of(note, recording.rounds[old], net.id, self._number(run.around), places))
        values = [one for one, _, _ in distinct] if is_saved else _measured([one for one, _, _ in distinct])
        pairs = zip(values, distinct, strict=True)
        return frames, [self._here(value, old, key) for value, (_, old, key) in pairs]

    def _here(self, value: Value, run: int | None, key: Key) -> Value:
        """The statistics of a version; those of a stack name the run of the workspace on top, if it is here."""
        if value.stack is None:
            return value
        self._stacks.append(Workspaces(count=value.size, frame=self._number(self._values.left_by(run, key))))
        return replace(value, stack=len(self._stacks) - 1)


def _measured(arrays: Sequence[Array | ScopeStack]) -> list[Value]:
    """Their statistics, in all digits."""
    measured = iter(all_statistics(one for one in arrays if not isinstance(one, ScopeStack)))
    return [of_stack(0, len(one)) if isinstance(one, ScopeStack) else next(measured) for one in arrays]


def _cut(value: Any) -> Any:
    """The same with the beginnings of long lists."""
    if isinstance(value, dict):
        return {name: _cut(one) for name, one in value.items()}
    return [_cut(one) for one in value[:MOST_ENTRIES]] if isinstance(value, list) else value
