"""The places of a recording: where operators and nested nets begin and end, and what each verb of a cursor leads to.

Position p means that p events have happened; it stands between event number p - 1, the current one, and number p, the
next one. An `EnteredSubnet` opens a nested net that the `LeftSubnet` of it closes; a net in which the recording stops
stays open.

There are two linked clocks: the event that made an operator, and the event that ran it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

from ..document import Frame, Line, Trace, TraceEvent
from .faults import CursorError

NOWHERE = -1


def after(positions: Sequence[int], position: int) -> int | None:
    """The first of sorted positions that lies behind `position`; None: there is none."""
    at = bisect_right(positions, position)
    return positions[at] if at < len(positions) else None


def before(positions: Sequence[int], position: int) -> int | None:
    """The last of sorted positions that lies before `position`; None: there is none."""
    at = bisect_left(positions, position)
    return positions[at - 1] if at else None


class Places:
    """Where things begin and end in the events of a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._events = trace.events
        count = len(trace.events)
        # Of each event that enters a nested net the one that leaves it, and the reverse; of others themselves.
        self._end, self._start = list(range(count)), list(range(count))
        # Of each position the event that entered the innermost net that is open there.
        self._inside = [NOWHERE] * (count + 1)
        # Of each group its first and its last event.
        self._first: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._find_passages()
        self._find_groups()

    def _find_passages(self) -> None:
        open_: list[int] = []
        for number, event in enumerate(self._events):
            if event.kind == "EnteredSubnet":
                open_.append(number)
                self._end[number] = len(self._events) - 1
            elif event.kind == "LeftSubnet":
                entered = open_.pop()
                self._end[entered], self._start[number] = number, entered
            self._inside[number + 1] = open_[-1] if open_ else NOWHERE

    def _find_groups(self) -> None:
        for number, event in enumerate(self._events):
            self._first.setdefault(event.group, number)
            self._last[event.group] = number

    def over(self, position: int) -> int:
        """After what begins at `position`: an operator with all that it brings, a net that is entered, or one event."""
        if position == len(self._events):
            return position
        event = self._events[position]
        if self._first[event.group] < position:
            if event.kind == "EnteredSubnet":
                return self._end[position] + 1
            if event.kind == "LeftSubnet":
                return position + 1
        return self._last[event.group] + 1

    def back_over(self, position: int) -> int:
        """Before what ends at `position`: the reverse of `over`."""
        if position == 0:
            return 0
        event = self._events[position - 1]
        if self._last[event.group] > position - 1:
            if event.kind == "LeftSubnet":
                return self._start[position - 1]
            if event.kind == "EnteredSubnet":
                return position - 1
        return self._first[event.group]

    def into(self, position: int) -> int:
        """Inside the next nested net that the operator at `position` enters; a step where it enters none."""
        if position == len(self._events):
            return position
        end = self._last[self._events[position].group] + 1
        for number in range(position, end):
            if self._events[number].kind == "EnteredSubnet":
                return number + 1
            if self._events[number].kind == "LeftSubnet":
                break
        return position + 1

    def out(self, position: int) -> int:
        """After the innermost nested net that is open; in the outermost one, after what the operator brings."""
        entered = self._inside[position]
        if entered != NOWHERE:
            return self._end[entered] + 1
        end = self._last[self._events[position - 1].group] + 1 if position else 0
        return end if end > position else self.over(position)

    def path(self, position: int) -> tuple[str, ...]:
        """The nested nets that are open, each as ``<operator>.<argument>``, in a loop with ``[<iteration>]``."""
        entered = self._inside[position]
        return () if entered == NOWHERE else self._path(self._events[entered])

    def frame(self, position: int) -> int | None:
        """The run of a nested net at `position`, None in the outermost net or while the pass is generated."""
        return self._events[position - 1].frame if position else None

    def subnet(self, position: int) -> str | None:
        """The nested net at `position`, None for the outermost one."""
        return self._events[position - 1].subnet if position else None

    def find(self, target: str, position: int) -> int | None:
        """The first position behind `position` whose event is about `target`; None: there is none."""
        return after(self.words.get(target, ()), position)

    def find_back(self, target: str, position: int) -> int | None:
        """The last position before `position` whose event is about `target`; None: there is none."""
        return before(self.words.get(target, ()), position)

    @cached_property
    def words(self) -> dict[str, list[int]]:
        """Every target and the positions whose events are about it."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for position, event in enumerate(self._events, 1):
            for word in event.targets:
                found[word].append(position)
        words = dict(found)
        for word, positions in self._passages().items():
            words[word] = sorted([*words.get(word, ()), *positions])
        return words

    def _passages(self) -> dict[str, list[int]]:
        """The words by which the entering of nested nets is found, beside the events' own."""
        words: dict[str, list[int]] = {}
        for position, event in enumerate(self._events, 1):
            if event.kind == "EnteredSubnet":
                for word in self._passage_words(event):
                    words.setdefault(word, []).append(position)
        return words

    def _passage_words(self, event: TraceEvent) -> Iterator[str]:
        path = self._paths[event.frame] if event.frame is not None else self._path(event)
        yield path[-1]
        if len(path) > 1:
            yield "/".join(path)
        if event.frame is not None and path[-1].endswith("]"):
            name = path[-1].partition("[")[0]
            yield name
            if name.endswith(".loop_net"):
                yield f"iteration {self._trace.frames[event.frame].iteration}"

    @cached_property
    def _paths(self) -> list[tuple[str, ...]]:
        """The way to each frame."""
        arguments = {net.id: net.argument for net in self._trace.subnets}
        paths: list[tuple[str, ...]] = []
        for run in self._trace.frames:
            around = () if run.around is None else paths[run.around]
            paths.append((*around, _element(run, arguments[run.subnet])))
        return paths

    def _path(self, event: TraceEvent) -> tuple[str, ...]:
        """The path of the net that is entered by an event."""
        if event.frame is not None:
            return path_of(self._trace, event.frame)
        return tuple(next(net.path for net in self._trace.subnets if net.id == event.subnet))


def path_of(trace: Trace, frame: int) -> tuple[str, ...]:
    """The way to a run of a nested net: ``("2.loop_net[3]", "0.net")``."""
    arguments = {net.id: net.argument for net in trace.subnets}
    path = []
    number: int | None = frame
    while number is not None:
        run = trace.frames[number]
        path.append(_element(run, arguments[run.subnet]))
        number = run.around
    return tuple(reversed(path))


def _element(run: Frame, argument: str) -> str:
    element = f"{run.operator}.{argument}"
    return element if run.iteration is None else f"{element}[{run.iteration}]"


def all_lines(trace: Trace) -> Iterator[Line]:
    """Every line of the program, those of the outermost net first."""
    yield from trace.forward
    yield from trace.backward
    for net in trace.subnets:
        yield from net.forward
        yield from net.backward


def other_clock(trace: Trace, position: int) -> int:
    """From where an operator was made the position where it ran; from where it ran the one where it was made.

    An operator in a loop runs often: the first time counts.

    Raises:
        CursorError: ``not_found`` where the event is about no operator; ``not_computed`` where it was never run.
    """
    lines = {line.id: line for line in all_lines(trace)}
    event = trace.events[position - 1] if position else None
    about = [line for id in _about(event) if (line := lines[id]).kind == "operator"]
    if not about:
        raise CursorError(
            f"The event at position {position} is about no operator.",
            kind="not_found",
            ways_out=["Move to one that makes or runs an operator: Played, RuleApplied, Accumulated, Ran."],
        )
    return _other(position, event, about)


def _about(event: TraceEvent | None) -> list[str]:
    """The operators of an event: those that it makes or runs, else the forward operator."""
    if event is None:
        return []
    if event.lines or event.forward is None:
        # Of an accumulation the last line is the sum; the others were only renamed.
        return list(reversed(event.lines)) if event.kind == "Accumulated" else event.lines
    return [f"{event.subnet}.f{event.forward}" if event.subnet else f"f{event.forward}"]


def _other(position: int, event: TraceEvent | None, about: list[Line]) -> int:
    if event is not None and event.kind == "Ran":
        return about[0].made
    ran = next((line.ran for line in about if line.ran is not None), None)
    if ran is None:
        raise CursorError(
            f"{about[0].type} was made at event {about[0].made} and never run.",
            kind="not_computed",
            blobs=about[0].outputs,
            ways_out=["Feed the net's inputs and give the workspace: gradviz.debug(net, ys, workspace=ws)."],
        )
    return ran
