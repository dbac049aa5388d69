"""The places of a recording: where operators and nested nets begin and end, and what each verb of a cursor leads to.

Position p means that p events have happened; it stands between event number p - 1, the current one, and number p, the
next one. An `EnteredSubnet` opens a nested net that the `LeftSubnet` of it closes; a net in which the recording stops
stays open.

There are two linked clocks: the event that made an operator, and the event that ran it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

import numpy as np

from ...program.events import Accumulated, EnteredSubnet, Event, Ran, element
from ..document import Trace
from ..journal import NOWHERE, Recording, Statement, Timeline
from ..telling import Subjects
from .faults import FEED, CursorError
from .runs import Runs


def after(positions: Sequence[int], position: int) -> int | None:
    """The first of sorted positions that lies behind `position`; None: there is none."""
    at = bisect_right(positions, position)
    return positions[at] if at < len(positions) else None


def before(positions: Sequence[int], position: int) -> int | None:
    """The last of sorted positions that lies before `position`; None: there is none."""
    at = bisect_left(positions, position)
    return positions[at - 1] if at else None


class Places:
    """Where things begin and end in the events of a recording."""

    def __init__(self, events: Sequence[Event], timeline: Timeline) -> None:
        self._events = events
        self._timeline = timeline

    def over(self, position: int) -> int:
        """After what begins at `position`: an operator with all that it brings, a net that is entered, or one event."""
        if position == len(self._events):
            return position
        timeline = self._timeline
        if timeline.first[timeline.group[position]] < position:
            if timeline.enters(position):
                return int(timeline.other[position]) + 1
            if timeline.leaves(position):
                return position + 1
        return int(timeline.last[timeline.group[position]]) + 1

    def back_over(self, position: int) -> int:
        """Before what ends at `position`: the reverse of `over`."""
        if position == 0:
            return 0
        timeline, event = self._timeline, position - 1
        if timeline.last[timeline.group[event]] > event:
            if timeline.leaves(event):
                return int(timeline.other[event])
            if timeline.enters(event):
                return event
        return int(timeline.first[timeline.group[event]])

    def into(self, position: int) -> int:
        """Inside the next nested net that the operator at `position` enters; a step where it enters none."""
        if position == len(self._events):
            return position
        timeline = self._timeline
        ahead = timeline.passages[np.searchsorted(timeline.passages, position) :][:1]
        if len(ahead) and ahead[0] <= timeline.last[timeline.group[position]] and timeline.enters(ahead[0]):
            return int(ahead[0]) + 1
        return position + 1

    def out(self, position: int) -> int:
        """After the innermost nested net that is open; in the outermost one, after what the operator brings."""
        entered = self._timeline.inside[position]
        if entered != NOWHERE:
            return int(self._timeline.other[entered]) + 1
        end = int(self._timeline.last[self._timeline.group[position - 1]]) + 1 if position else 0
        return end if end > position else self.over(position)

    def path(self, position: int) -> tuple[str, ...]:
        """The nested nets that are open, each as ``<operator>.<argument>``, in a loop with ``[<iteration>]``."""
        inside = int(self._timeline.inside[position])
        event = None if inside == NOWHERE else self._events[inside]
        return event.inner_path if isinstance(event, EnteredSubnet) else ()


def passage_words(path: tuple[str, ...], *, is_run: bool) -> Iterator[str]:
    """The words by which the entering of the net at `path` is found, beside the event's own."""
    yield path[-1]
    if len(path) > 1:
        yield "/".join(path)
    if is_run and path[-1].endswith("]"):
        name, _, iteration = path[-1].rstrip("]").partition("[")
        yield name
        if name.endswith(".loop_net"):
            yield f"iteration {iteration}"


def path_of(trace: Trace, frame: int) -> tuple[str, ...]:
    """The way to a run of a nested net: ``("2.loop_net[3]", "0.net")``."""
    arguments = {net.id: net.argument for net in trace.subnets}
    path = []
    number: int | None = frame
    while number is not None:
        run = trace.frames[number]
        path.append(element(run.operator, arguments[run.subnet], run.iteration))
        number = run.around
    return tuple(reversed(path))


def other_clock(recording: Recording, subjects: Subjects, runs: Runs, position: int) -> int:
    """From where an operator was made the position where it ran; from where it ran the one where it was made.

    An operator in a loop runs often: the first time counts.

    Raises:
        CursorError: ``not_found`` where the event makes and runs none; ``not_computed`` where it was never run.
    """
    event = recording.events[position - 1] if position else None
    about: list[Statement] = []
    if event is not None:
        subject = subjects.of(event, position)
        operator = subjects.operator(event, position, subject)
        about = list(subject.statements) or ([] if operator is None else [operator])
    about = [one for one in about if one.role != "passed"]
    if not about:
        raise CursorError(
            f"The event at position {position} makes and runs no operator.",
            kind="not_found",
            ways_out=["Move to one that makes or runs an operator: Played, RuleApplied, Accumulated, Ran."],
        )
    if isinstance(event, Ran):
        return about[0].made
    if isinstance(event, Accumulated):
        # The last line is the sum; the others were only renamed.
        about.reverse()
    ran_at = next((at for one in about if (at := runs.first(one)) is not None), None)
    if ran_at is None:
        raise CursorError(
            f"{about[0].op.type} was made at event {about[0].made} and never run.",
            kind="not_computed",
            blobs=list(map(str, about[0].outputs)),
            ways_out=[FEED],
        )
    return ran_at
