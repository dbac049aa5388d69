"""Recording: everything that happened while a backward pass was generated and run, kept for looking at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import is_
from typing import Any, Generic, TypeVar, cast

import numpy as np

from ...gradient import Ys
from ...operators.registry import Array
from ...program import GradvizError, NetDef, Operator
from ...program.code_line import CodeLine
from ...program.control_flow import NETS, take_apart
from ...program.events import (
    Accumulated,
    Aggregator,
    ChangedByHand,
    Completed,
    Deduplicated,
    EnteredSubnet,
    Event,
    Failed,
    GeneratorAdded,
    HookRan,
    Played,
    Ran,
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
)
from ...program.net_halves import Key, NetHalves
from ...program.operator import key_of, parts_of
from ...runtime.notes import FAILED, NOWHERE, Notes, Runs
from ...runtime.store import Store
from ...runtime.watched import Again, Journal, Lending, uncollected
from ..document import Trace
from .naming import inner_words, is_part, part_words
from .run_events import RunEvents
from .statements import Reading, Statement
from .text import NetText
from .timeline import Indices, Timeline, codes_of

T = TypeVar("T")
E = TypeVar("E", bound=Event)


class OfJournal(Generic[T]):
    """A field of the journal that an engine hands on, which is read when one of them is first looked at."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, recording: Recording, owner: type) -> T:
        value: T = getattr(recording._journal, self._name)
        return value

    def __set__(self, recording: Recording, value: T) -> None:
        raise AttributeError(f"{self._name} of a recording cannot be set")


class Recording:
    """What an engine did, in order, and the value of every blob version. Immutable.

    Attributes:
        store: keeps the values within a budget; None: they are kept by references.
        saved: what a file that it was read from has of it beside its events: numbers, but no arrays; None: it was not
            read from a file.

    The others are those of `Journal`.

    Args:
        journal: gives what the engine hands on, when it is first looked at.
        size: about how many events that will be, where it takes long to give it; None: it is there.
        before: a recording that this one goes on with, of a pass that stood still; its text goes over to this one, so
            that it is of no use any more.
    """

    engine = OfJournal[str]()
    net = OfJournal[NetDef]()
    ys = OfJournal[Ys]()
    skip = OfJournal[int]()
    deduplicate = OfJournal[Aggregator | None]()
    operators = OfJournal[tuple[Operator, ...]]()
    values = OfJournal[Mapping[Key, Array]]()
    runs = OfJournal[Runs]()
    obstacle = OfJournal[GradvizError | None]()
    grads_before = OfJournal[Mapping[str, str]]()
    pools = OfJournal[Sequence[Lending]]()
    absent = OfJournal[Callable[[str], tuple[str, str]] | None]()
    beside = OfJournal[Callable[[str], tuple[str, Sequence[str]] | None] | None]()
    again = OfJournal[Again | None]()

    def __init__(
        self,
        journal: Callable[[], Journal],
        store: Store | None = None,
        saved: Trace | None = None,
        size: int | None = None,
        before: Recording | None = None,
    ) -> None:
        self.store = store
        self.saved = saved
        self._size = size
        self._read = journal
        self._before = before

    @cached_property
    def _journal(self) -> Journal:
        with uncollected():
            return self._read()

    @property
    def size(self) -> int:
        """About how many events there are."""
        return len(self.timeline.codes) if self._size is None else self._size

    @cached_property
    def summary(self) -> str:
        """What the pass is about: shown before anything has happened."""
        return self._journal.summary(self._journal)

    @cached_property
    def nets(self) -> NetHalves:
        """The outermost net as it is shown, with the nested ones inside."""
        return self._journal.nets(self._journal)

    @cached_property
    def left_by(self) -> Mapping[int, int]:
        """The identity of a workspace on a stack -> the number of the run that left it."""
        return {id(note[4]): number for number, note in enumerate(self.runs.notes) if note[4] is not None}

    @cached_property
    def text(self) -> ProgramText:
        """The statements of every net, and what each writing is called at each position."""
        with uncollected():
            text, self._before = self._text_before or ProgramText(), None
            new = text.followed
            text.follow(self.nets, self._journal.events, self.timeline)
            ran = self.timeline.of(Ran)
            is_new = (self.timeline.around[ran] == NOWHERE) & (ran >= new)
            text.mark_ran(ran[is_new].tolist(), self.ran_positions[is_new].tolist())
            return text

    @property
    def _text_before(self) -> ProgramText | None:
        """That of the recording before, if this one only has more events, and no nets that are nested."""
        if self._before is None or self.nets.inside:
            return None
        events, others = self._before.events, self.events
        goes_on = len(events) <= len(others) and all(map(is_, events, others))
        return self._before.text if goes_on else None

    @cached_property
    def timeline(self) -> Timeline:
        """Where nested nets and groups of events begin and end."""
        codes, notes = codes_of(map(type, self._journal.events)), self._journal.notes
        if notes is not None:
            ended = bytes([FAILED] if notes.failed is not None else [])
            codes = np.append(codes, np.frombuffer(notes.codes + ended, np.uint8))
        return Timeline(codes)

    @cached_property
    def events(self) -> Sequence[Event]:
        """What happened, first to last."""
        events, notes = self._journal.events, self._journal.notes
        return events if notes is None else RunEvents(events, notes, self.timeline)

    @property
    def failure(self) -> Failed | None:
        """With what it stopped, as the last event of all."""
        last = self.events[-1] if self.events else None
        return last if isinstance(last, Failed) else None

    @property
    def noted(self) -> tuple[Sequence[Event], Notes | None]:
        """The events of the pass, and the notes of the program that ran behind it; without notes all events."""
        return self._journal.events, self._journal.notes

    def events_of(self, *kinds: type[E]) -> Iterator[tuple[int, E]]:
        """The events of some kinds, first to last, each with the position after it."""
        numbers = self.timeline.of(*kinds).tolist()
        return ((number + 1, cast(E, self.events[number])) for number in numbers)

    @cached_property
    def ran_positions(self) -> Indices:
        """Of each `Ran` its operator's position."""
        ran = self.timeline.of(Ran)
        if self._journal.notes is not None:
            return self.timeline.ran_before[ran]  # in a net each runs in its turn
        events = self.events
        return np.fromiter((events[number].position for number in ran.tolist()), np.int64, len(ran))

    @cached_property
    def ran_seconds(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Of each `Ran` how long it took; NaN: that is not known."""
        ran, notes = self.timeline.of(Ran), self._journal.notes
        if notes is not None:
            return notes.seconds_of(slice(len(ran)))
        return np.array([self.events[number].seconds for number in ran.tolist()], np.float64)

    @cached_property
    def inside(self) -> Indices:
        """Of each position, one more than there are events, the run that we are in there; else `NOWHERE`."""
        return self.timeline.runs if self.runs else np.full(len(self.events) + 1, NOWHERE)

    @property
    def begun(self) -> Indices:
        """Of each run of a nested net the event that enters it."""
        return self.timeline.begun[: len(self.runs)]

    @cached_property
    def stale(self) -> Mapping[Statement, int]:
        """The operators that computed from a version which somebody replaced later, and the position from which on what
        they wrote is stale."""
        stale: dict[Statement, int] = {}
        for at, event in self.events_of(ChangedByHand):
            read = [self.text.of(event).version(event.blob, event.version - 1)]
            for writing in read:
                for one in writing.readers:
                    if one.ran is not None and one.ran < at and one not in stale:
                        stale[one] = at
                        read += one.outputs
        return stale

    def stale_since(self, at: int) -> list[Statement]:
        """What became stale with the event before a position."""
        return [statement for statement, since in self.stale.items() if since == at]

    def net_of(self, run: int | None) -> NetText:
        """The net that runs; None: the outermost one."""
        return self.text.outermost if run is None else self.text.net(self.runs[run].net.path)

    def values_of(self, run: int | None) -> Mapping[Key, Array]:
        """The values in a run of a nested net; None: around all of them."""
        return self.values if run is None else self.runs.values(run)

    def operator(self, run: int | None, position: int) -> Statement:
        """The operator at a position of what runs: a nested net, forward or backward, or the whole program."""
        net = self.net_of(run)
        if run is not None:
            return (net.operators if self.runs[run].is_backward else net.forward)[position]
        count = len(net.forward)
        return net.forward[position] if position < count else net.operators[position - count]

    @cached_property
    def halves(self) -> dict[tuple[tuple[str, ...], bool], list[int]]:
        """The runs of each nested net forward, and of its backward pass, by its path."""
        halves: dict[tuple[tuple[str, ...], bool], list[int]] = {}
        for one in self.runs.halves:
            runs = np.flatnonzero(self.runs.half == one.number).tolist()
            halves.setdefault((one.net.path, one.is_backward), []).extend(runs)
        return halves

    def ran_around(self) -> Iterator[Ran]:
        """The operators that ran around all nested nets."""
        ran = self.timeline.of(Ran)
        around = ran[self.timeline.around[ran] == NOWHERE].tolist()
        events = map(self.events.__getitem__, around) if len(around) < len(ran) else iter(self.events)
        return (event for event in events if type(event) is Ran)

    def ran_in(self, run: int) -> Iterator[tuple[int, Ran]]:
        """The operators that ran in a run of a nested net, not in nets inside of it, with the positions after them."""
        path = self.runs[run].path
        for at in range(int(self.begun[run]) + 1, len(self.events)):
            event = self.events[at]
            if type(event) is Ran and event.path == path:
                yield at + 1, event
            elif len(event.path) < len(path):
                return

    def run_after(self, position: int) -> int | None:
        """The run of a nested net that we are in at a position; None: in none, or the program has stopped."""
        event = self.events[position - 1] if position and self.runs else None
        if event is None or (type(event) is Failed and not event.path):
            return None
        run = int(self.inside[position])
        return None if run == NOWHERE else run

    def net_after(self, position: int) -> NetText:
        """The net that we are in at a position."""
        if not position or self.text.is_run(event := self.events[position - 1], position):
            return self.net_of(self.run_after(position))
        net = self.text.of(event)
        return net.forward[event.index].nets[event.argument] if type(event) is EnteredSubnet else net

    def ran(self, statement: Statement, run: int | None) -> int | None:
        """The position after a statement ran, in a run of its nested net, None: the first one; None: it never did."""
        if not statement.net.path:
            return statement.ran
        if run is None:
            runs = self.halves.get((statement.net.path, statement.role != "forward"))
            if runs is None:
                return None
            run = runs[0]
        return next((at for at, event in self.ran_in(run) if event.position == statement.number), None)

    @cached_property
    def by_path(self) -> dict[str, int]:
        """The number of each run of a nested net by its path, ``"2.loop_net[3]/0.net"``."""
        return {"/".join(self.runs.path(number)): number for number in range(len(self.runs))}

    @cached_property
    def rounds(self) -> list[int]:
        """Of each run of a nested net how many there are of it in the run around."""
        runs = self.runs
        loops = runs.around.astype(np.int64) * len(runs.halves) + runs.half
        _, loop, counts = np.unique(loops, return_inverse=True, return_counts=True)
        rounds: list[int] = counts[loop].tolist()
        return rounds


class ProgramText:
    """The statements and writings of a recording: a fold over the events of its pass.

    Attributes:
        followed: how many events it is a fold over.
        outermost: the statements around all nested nets.
        halves: path of a net -> its operators, forward and backward.
        ids: path of a nested net -> its id, an outer one before those in it.
        owners: id of a nested net -> the statement that runs it, and the one that runs its backward pass.
        whole: the position from which on the pass is whole; None: it has stopped before.
        first_run: the position after the first operator that ran around all nested nets; None: none did.
    """

    def __init__(self) -> None:
        self.outermost = NetText()
        self.followed = 0
        self.owners: dict[str, tuple[Statement | None, Statement | None]] = {}
        self.whole: int | None = None
        self.first_run: int | None = None
        self._nets: dict[tuple[str, ...], NetText] = {(): self.outermost}

    def follow(self, net: NetHalves, events: Sequence[Event], timeline: Timeline) -> None:
        """Go on to the events that were not followed yet.

        Args:
            net: the outermost net, with those nested in it.
            events: those of the pass, first to last.
            timeline: of these, and of running the program behind them.
        """
        self.ids = {inner.path: id for id, inner in net.nested.items()}
        self.halves = {inner.path: inner for inner in net}
        self._net, self._events, self._timeline = net, events, timeline
        follow = self._followers
        new = timeline.of(*follow)
        for number in new[np.searchsorted(new, self.followed) :].tolist():
            event = events[number]
            follow[type(event)](self._nets[event.path], event, number + 1)
        self.followed = len(events)

    def mark_ran(self, events: Sequence[int], positions: Sequence[int]) -> None:
        """Note of operators around all nested nets, by their positions, by which events they ran."""
        operators = [*self.outermost.forward, *self.outermost.operators]
        for number, position in zip(events, positions, strict=True):
            operators[position].ran = number + 1
        if self.first_run is None and events:
            self.first_run = events[0] + 1

    def net(self, path: tuple[str, ...]) -> NetText:
        """The statements of the net at a path, without iterations."""
        return self._nets[path]

    @property
    def nets(self) -> Iterator[NetText]:
        """The statements of the outermost net, and those of the nested ones."""
        return (self._nets[path] for path in ((), *self.ids))

    @property
    def codes(self) -> Iterator[CodeLine]:
        """The lines of the user's code that called operators."""
        return (one.code for net in self.nets for one in net.forward if one.code is not None)

    def of(self, event: Event) -> NetText:
        """The statements of the net in which an event of the pass happened."""
        return self._nets[event.path]

    def is_run(self, event: Event, at: int) -> bool:
        """Whether the event before position `at` is one of running the program, and not of making the pass."""
        if self.whole is not None and at > self.whole:
            return type(event) is not Deduplicated
        return bool(self._timeline.running[at - 1])

    def statement(self, event: Event, index: int, at: int) -> Reading:
        """A forward operator of the net in which an event happened, as it reads at a position."""
        return self._nets[event.path].forward[index].at(at)

    @property
    def _followers(self) -> dict[type[Event], Callable[[NetText, Any, int], None]]:
        """What each kind of event does to the text of its net; others leave it as it is."""
        return {
            Played: self._played,
            Visited: NetText.visit,
            Skipped: NetText.visit,
            GeneratorAdded: NetText.arrive,
            RuleApplied: self._rule_applied,
            Accumulated: NetText.accumulate,
            Seeded: NetText.seed,
            Deduplicated: NetText.merge,
            HookRan: NetText.hook,
            ChangedByHand: NetText.change,
            Completed: self._completed,
        }

    def words_for(self, blob: str, path: tuple[str, ...]) -> str | None:
        """What people read in place of a version in the net at a path; None: its name."""
        if (word := inner_words(blob)) is not None or not is_part(blob):
            return word
        name, version = key_of(blob)
        readers = self._nets[path].version(name, version).readers
        sums = (self._events[reader.made - 1] for reader in readers if reader.role == "accumulation")
        for event in sums:
            if isinstance(event, Accumulated):
                gradients = [parts_of(one.gradient)[-1] for one in event.contributions]
                before = 0 if event.so_far is None else event.so_far - len(gradients)
                if name in gradients:
                    count = len(gradients) if event.so_far is None else None
                    return part_words(f"{event.blob}@{event.version}", before + gradients.index(name), count)
        return None

    def _played(self, net: NetText, event: Played, at: int) -> None:
        # The forward operators of a nested net join with the one that runs them.
        if net is self.outermost:
            lines = (event.code, *event.inside)
            for statement, line in zip(self._play(self._net, event.index, at), lines, strict=False):
                statement.code, statement.numbered = line, event.numbered

    def _rule_applied(self, net: NetText, event: RuleApplied, at: int) -> None:
        statements = net.apply(event, at)
        if self._net.inside:
            halves = self.halves[event.path]
            for position, statement in zip(range(event.position, len(net.operators)), statements, strict=False):
                self._attach(halves, position, statement, at)

    def _completed(self, net: NetText, event: Completed, at: int) -> None:
        if net is self.outermost:
            self.whole = at

    def _play(self, net: NetHalves, index: int, at: int) -> list[Statement]:
        """The statement of a forward operator, and those in its nested nets."""
        op = net.forward[index]
        statement = self._nets[net.path].play(op, at)
        played = [statement]
        for (is_backward, place, argument), inner in net.inside.items():
            if is_backward or place != index:
                continue
            initial = take_apart(op, index).initial if op.type == "Do" else ()
            text = self._nets[inner.path] = NetText(self.ids[inner.path], inner.path, initial)
            self.owners[text.id] = statement, None
            statement.nets[argument] = text
            for number, _ in enumerate(inner.forward):
                played += self._play(inner, number, at)
        return played

    def _attach(self, net: NetHalves, position: int, statement: Statement, at: int) -> None:
        """Give gradient operator `position` of `net` its nested nets, and these their backward passes."""
        nets = {
            argument: inner
            for (is_backward, index, argument), inner in net.inside.items()
            if is_backward and index == position
        }
        for argument, inner in nets.items():
            id = self.ids[inner.path]
            statement.nets[argument] = self._nets.setdefault(inner.path, NetText(id, inner.path))
            self.owners[id] = self.owners.get(id, (None, None))[0], statement
        statement.adopt(at)
        for argument, inner in nets.items():
            for number, nested in enumerate(statement.nets[argument].operators):
                if nested.op.type in NETS and not nested.nets:
                    self._attach(inner, number, nested, at)
