"""A position in a recording, what a person marks there, and the moves to what is marked or named.

Position p means that p events have happened; the current event is the p-th, and at 0 nothing has happened yet.
Moving never runs anything again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, Literal, Self

import msgspec

from ...program.errors import meant, shorten
from ...program.events import Event
from ..document import Marked, Trace, Value
from ..journal import Progress, Recording, Timeline, codes_of
from ..telling import DocumentValues, MeasuredValues, Story, Subjects, document, table
from .breakpoints import Breakpoint, Breakpoints, entry_of
from .conditions import ConditionError
from .faults import CursorError, bad_argument, check_marks, consistent, position_of
from .occurrences import Finder
from .places import Places, after, before, other_clock
from .rows import Rows
from .runs import Runs
from .saved import SavedEvents, saved_recording
from .targets import Targets
from .watches import Watch, Watches


class Placed:
    """A recording, and where one is in it.

    Args:
        trace: the trace document; None: that of the recording, written when it is needed.
        recording: what it describes; None for a document read from a file, which has statistics but no arrays.
        detail_events: those that the details of such a document describe, where they have been read, see `SavedEvents`.
    """

    def __init__(
        self, trace: Trace | None, recording: Recording | None = None, detail_events: Sequence[Event] | None = None
    ) -> None:
        self._recording = recording
        self._detail_events = detail_events
        if trace is not None:
            self._trace = trace
        elif recording is not None and recording.store is not None:
            # Its statistics are measured while the values are still there: files may be lost later on.
            _ = self._trace
        self._position = 0
        self._observers: list[Callable[[Any], None]] = []
        self._mark_observers: list[Callable[[Any], None]] = []

    @cached_property
    def _trace(self) -> Trace:
        assert self._recording is not None
        with self._waiting() as progress:
            return document(self._recording, progress)

    def _waiting(self) -> AbstractContextManager[Progress | None]:
        """What hears how far something is, as long as it is waited for."""
        return nullcontext()

    @property
    def _saved(self) -> Trace | None:
        """The document that was read from a file; None: none was."""
        return self._trace if self._recording is None else self._recording.saved

    @property
    def _live(self) -> Recording | None:
        """The recording; None: it was read from a file, and there are no arrays."""
        return self._recording if self._saved is None else None

    @cached_property
    def _places(self) -> Places:
        if self._recording is not None:
            return Places(self.events, self._recording.timeline)
        return Places(self.events, Timeline(codes_of(map(type, self.events))))

    @property
    def _measured(self) -> Trace | None:
        """The document that has the statistics of the values; None: there are arrays to measure."""
        if self._live is None:
            return self._saved
        # Values within a budget may be gone by now, and what was measured of them is not.
        return None if self._live.store is None else self._trace

    @cached_property
    def _journal(self) -> Recording:
        """What was recorded, or what a document says of it."""
        return self._recording or saved_recording(self._trace, self.events)

    @cached_property
    def _recorded_values(self) -> DocumentValues:
        trace = self._measured
        return MeasuredValues(self._journal) if trace is None else DocumentValues(trace)

    @cached_property
    def _subjects(self) -> Subjects:
        return Subjects(self._journal, Story(self._journal), self._recorded_values)

    @property
    def name(self) -> str:
        """The net's name."""
        return self._trace.name if self._recording is None else self._recording.net.name

    @property
    def position(self) -> int:
        """How many events have happened, from 0 to ``len(self)``."""
        return self._position

    def __len__(self) -> int:
        return len(self.events)

    @property
    def event(self) -> Event | None:
        """The event that happened last, None at the start."""
        return self.events[self._position - 1] if self._position else None

    @cached_property
    def events(self) -> Sequence[Event]:
        """Every event, first to last."""
        if self._recording is not None:
            return self._recording.events
        return SavedEvents(self._trace, self._detail_events)

    def move_to(self, position: int) -> Event | None:
        """Move to `position`, or the end nearest to it, and tell the observers.

        Raises:
            CursorError: ``bad_argument``: it is no integer.
        """
        position = min(max(position_of("position", position), 0), len(self))
        if position != self._position:
            self._position = position
            for observer in tuple(self._observers):
                observer(self)
        return self.event

    def observe(self, observer: Callable[[Any], None]) -> Callable[[], None]:
        """Call `observer(self)` after each move; the function returned ends that."""
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)


class Stop(msgspec.Struct, frozen=True):
    """Why a run ends at a position.

    Attributes:
        reason: ``breakpoint``, or ``end`` and ``start`` of the recording.
        breakpoint: the first that stops there.
        value: what its condition asks about: ``norm of h_grad@0 = 12.5``; empty where it has none.
    """

    position: int
    reason: Literal["breakpoint", "end", "start"]
    breakpoint: Breakpoint | None = None
    value: str = ""

    def __repr__(self) -> str:
        if self.breakpoint is None:
            return f"the {self.reason} of the recording"
        value = f", {self.value}" if self.value else ""
        return f"breakpoint {self.breakpoint.id} at event {self.position}: {self.breakpoint.on}{value}"


class Log(list[tuple[int, str]]):
    """What log points have said by now: positions and messages."""

    def __repr__(self) -> str:
        return "\n".join(f"event {position}: {message}" for position, message in self) or "No message yet."

    def _repr_html_(self) -> str:
        return table("Messages", (), ((str(at), message) for at, message in self)) if self else f"<p>{self!r}</p>"


class Marks(Placed):
    """Breakpoints, watches and the verbs that move to what they or a text mean."""

    # How many events there were in the recording before, and of texts where their conditions hold among these.
    _earlier_matches: tuple[int, Mapping[str, Iterable[int]]] = 0, {}

    @cached_property
    @consistent
    def _finder(self) -> Finder:
        journal, values = self._journal, self._recorded_values
        rows = Rows(journal, self._subjects, self._runs, values)
        since, earlier_matches = self._earlier_matches
        recent = Rows(journal, self._subjects, self._runs, values, since) if since else None
        return Finder(rows, Targets(journal, rows), recent, earlier_matches)

    def go_on(self, before: Self) -> None:
        """The matches in a recording that this one goes on with are taken over: only what came since is searched."""
        since, matches = len(before), before._finder.matches
        assert self._recording is not None
        if self._recording.text is before._journal.text:
            self._earlier_matches = since, matches

    @cached_property
    @consistent
    def _runs(self) -> Runs:
        return Runs(self._journal)

    @cached_property
    def breakpoints(self) -> Breakpoints:
        """The breakpoints, in the order in which they were set."""
        return Breakpoints(
            lambda: self._finder,
            self._changed,
            lambda entries: check_marks(Marked(breakpoints=entries, watches=self.marks.watches)),
            self._saved_marks.breakpoints,
        )

    @cached_property
    def watches(self) -> Watches:
        """What is watched, in the order in which it was asked for."""
        return Watches(
            lambda: self._finder,
            self._changed,
            lambda entries: check_marks(Marked(breakpoints=self.marks.breakpoints, watches=entries)),
            self._saved_marks.watches,
            lambda: self._position,
        )

    @property
    def _saved_marks(self) -> Marked:
        """The marks of a document that was read; that of a recording has none, and need not be written to say so."""
        saved = self._saved
        return Marked() if saved is None else Marked(breakpoints=saved.breakpoints, watches=saved.watches)

    @property
    def marks(self) -> Marked:
        """All breakpoints and watches as a document has them; may be set.

        Raises:
            CursorError: ``bad_argument``: no document can have them. Those that there are stay.
        """
        if self.__dict__.keys().isdisjoint(("breakpoints", "watches")):
            return self._saved_marks  # nobody has looked at them
        return Marked(breakpoints=self.breakpoints.entries, watches=self.watches.entries)

    @marks.setter
    def marks(self, marks: Marked) -> None:
        check_marks(marks)
        self.breakpoints.entries = marks.breakpoints
        self.watches.entries = marks.watches

    def observe_marks(self, observer: Callable[[Any], None]) -> Callable[[], None]:
        """Call `observer(self)` after each change of breakpoints or watches; the function returned ends that."""
        self._mark_observers.append(observer)
        return lambda: self._mark_observers.remove(observer)

    def _changed(self) -> None:
        for observer in tuple(self._mark_observers):
            observer(self)

    def break_on(
        self, on: str, *, when: str | None = None, log: str | None = None, ignore: int = 0, every: int = 1
    ) -> Breakpoint:
        """Set a breakpoint: `continue_` and `reverse_continue` stop where it happens.

        Args:
            on: a target of `run_to`: an operator (``"#3"``) or its type (``"FC"``), a blob (``"x"``), an event
                (``"Accumulated"``), a nested net or an iteration; a version (``"x@1"``), where it is written;
                ``"accumulation"``, ``"sparse meets dense"``, ``"device change"``, ``"NaN"``, ``"Inf"``,
                ``"subnormal"``, or one of these three with ``"appears"`` behind: in what an operator writes, and in
                nothing that it reads; a condition: ``"norm > 10"``, ``"h_grad.max > 1"``, ``"n >= 3"``, ``"op in
                ['FC', 'Conv'] and nan > 0"``; or a target, ``if`` and a condition.
            when: a condition that has to hold too; the same as ``if`` in `on`.
            log: a message with conditions between braces, ``"norm {norm}"``. It is added to `log` and nothing stops.
            ignore: so many of the first occurrences do not count.
            every: of those that count, each so many-th.

        Raises:
            ConditionError: `on`, `when` or `log` is malformed; the error shows where.
            CursorError: ``bad_argument``.
        """
        return self.breakpoints.add(entry_of(on, when=when, log=log, ignore=ignore, every=every))

    def watch(self, on: str) -> Watch:
        """Watch an expression about blobs: a version (``"x@1"``), a blob (``"x"``), ``"norm(x)"``, ``"h.max / 2"``.

        In an expression a name as 0.weight stands between backticks: ``"norm(`0.weight`)"``.

        Raises:
            ConditionError: it is malformed; the error shows where.
        """
        if not isinstance(on, str):
            raise bad_argument("on", on, "a blob or an expression, as text")
        return self.watches.add(on)

    def continue_(self) -> Event | None:
        """Move forward to the next breakpoint, else to the end; `stopped` says why."""
        stops = (after(one.hits, self._position) for one in self._stopping)
        return self.move_to(min((at for at in stops if at is not None), default=len(self)))

    def reverse_continue(self) -> Event | None:
        """Move back to the last breakpoint before this position, else to the start; `stopped` says why."""
        stops = (before(one.hits, self._position) for one in self._stopping)
        return self.move_to(max((at for at in stops if at is not None), default=0))

    @property
    def _stopping(self) -> Iterator[Breakpoint]:
        return (one for one in self.breakpoints if one.stops)

    @property
    def stopping(self) -> Breakpoint | None:
        """The first breakpoint that stops at this position."""
        at = self._position
        return next((one for one in self._stopping if after(one.hits, at - 1) == at), None)

    @property
    def stopped(self) -> Stop | None:
        """Why `continue_` or `reverse_continue` ends at this position; None: it would not."""
        position = self._position
        if (one := self.stopping) is not None:
            return Stop(position, "breakpoint", one, one.text_at(position))
        if position in (0, len(self)):
            return Stop(position, "start" if position == 0 else "end")
        return None

    @property
    def log(self) -> Log:
        """What log points have said up to this position, in the order of events."""
        messages = (message for one in self.breakpoints if one.enabled for message in one.messages)
        return Log(sorted(message for message in messages if message[0] <= self._position))

    def run_to(self, target: str | int) -> Event | None:
        """Move forward to the next event that `target` names.

        Args:
            target: an operator (``"#3"``) or operator type, a blob (``"x"``) or version (``"x@1"``), an event's name
                (``"Accumulated"``), ``"NaN"`` or ``"Inf"`` where an operator ran; a nested net (``"2.loop_net"``), a
                run of it (``"2.loop_net[3]"``, ``"2.loop_net[3]/0.net"``) or an ``"iteration 3"``; any other text
                that `break_on` takes, as ``"next accumulation"`` or ``"norm > 10"``; or a position. Blobs of nested
                nets are found by their names there.

        Raises:
            CursorError: ``not_found``, ``bad_argument``; the position stays. ConditionError: a condition is malformed.
        """
        return self._run_to(target, is_back=False)

    @property
    @consistent
    def words(self) -> set[str]:
        """The words by which `run_to` finds events: operators, types, blobs, versions, kinds of events."""
        return self._finder.targets.words

    @consistent
    def latest(self, blob: str, position: int | None = None) -> tuple[str, Value] | None:
        """The version of a blob that was computed last, and its statistics; None: none was.

        Args:
            position: by when; None: by this position.

        Raises:
            CursorError: ``bad_argument``: `blob` is no text.
        """
        if not isinstance(blob, str):
            raise bad_argument("blob", blob, "the name of a blob, as text")
        return self._finder.rows.latest(blob, self._position if position is None else position)

    @consistent
    def is_target(self, text: str, is_to_come: Callable[[str], bool] = lambda _: False) -> bool:
        """Whether a text names something that the recording has, or says what may happen: a target of `run_to`.

        Args:
            is_to_come: whether something may yet be called so that the recording does not have.
        """
        try:
            self._finder.find(text)
        except ConditionError as error:
            return is_to_come(error.unknown)
        return True

    def run_back_to(self, target: str | int) -> Event | None:
        """Move back to the last event before this position that `target` names, as in `run_to`.

        Raises:
            CursorError: ``not_found``; the position stays.
        """
        return self._run_to(target, is_back=True)

    @consistent
    def _run_to(self, target: str | int, *, is_back: bool) -> Event | None:
        if not isinstance(target, str):
            target = position_of("target", target, "what it is called, as text, or a position, as an integer")
            if not 0 <= target <= len(self):
                ways_out = [f"Positions go from 0 to {len(self)}."]
                raise CursorError(f"There is no position {target}.", kind="not_found", ways_out=ways_out)
            return self.move_to(target)
        try:
            position = self.nearest(target, is_back=is_back)
        except ConditionError as error:
            if any(sign in target for sign in "<>="):
                raise
            raise self._no_event(target, is_back=is_back) from error
        if position is None:
            raise self._no_event(target, is_back=is_back)
        return self.move_to(position)

    @consistent
    def nearest(self, target: str, *, is_back: bool = False) -> int | None:
        """The next position that a target of `run_to` names, or the last one before; None: there is none.

        Raises:
            ConditionError: nothing is called so.
        """
        beside = before if is_back else after
        position = beside(self._finder.targets.find(target), self._position)
        return position or beside(self._finder.find(target).positions, self._position)

    @consistent
    def other_clock(self) -> Event | None:
        """From the event that made an operator to the one that ran it, and from there back.

        Raises:
            CursorError: ``not_found`` where the event makes and runs none; ``not_computed`` where it was never run.
        """
        return self.move_to(other_clock(self._journal, self._subjects, self._runs, self._position))

    def _no_event(self, text: str, *, is_back: bool) -> CursorError:
        targets = self._finder.targets
        ways_out = ["Targets: an operator (#3) or type (FC), a blob (x) or version (x@1), an event (Accumulated)."]
        if targets.find(text):
            ways_out.insert(0, "It lies ahead: run_to." if is_back else "It lies behind: restart() first.")
        else:
            ways_out = [*meant(text, targets.words, 3), *ways_out]
        where = f"{'before' if is_back else 'after'} position {self._position}"
        return CursorError(f"No event {where} is about {shorten(text)}.", kind="not_found", ways_out=ways_out)
