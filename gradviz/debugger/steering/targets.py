"""The words that `run_to` and breakpoints understand, and where each is found.

A word is looked for among the events that can be about it, by the operators and names in them; what an event is about
decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from ...program import Gradient
from ...program.events import (
    KINDS,
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
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
    gradient_operators,
)
from ...program.operator import bare, parts_of, version_in
from ..journal import Indices, Recording, Statement, Writing
from ..telling import ODDITIES, Subject, forward_of, ran
from .faults import consistent
from .places import passage_words
from .rows import Rows
from .runs import Runs

FEW = (Deduplicated, HookRan, ChangedByHand, GradWritten, Failed, Completed, EnteredSubnet, LeftSubnet)
"""Kinds of which there are few events in a pass."""

TYPED = (Played, Visited, Skipped, RuleApplied)
"""Kinds that are about a forward operator, and found by its type and by those of the operators that come with them."""


class Targets:
    """Every word by which events are found, and the positions after them."""

    def __init__(self, recording: Recording, rows: Rows) -> None:
        self._recording = recording
        self._live = recording if recording.saved is None else None
        self._events = recording.events
        self._timeline = recording.timeline
        self._runs = rows.runs
        self._rows = rows
        self._positions: dict[str, list[int]] = {}

    @consistent
    def find(self, word: str) -> list[int]:
        """The positions after the events that a word names; none: it names nothing."""
        if word not in self._positions:
            near = Near(self._runs, word, self._forward.get(word, set()), self._given)
            ran_ = (one for one in near.statements if self._names(word, ran(one), one.net.path))
            numbers = [
                self._timeline.of(*[kind for kind in KINDS if kind.__name__ == word]),
                np.array([number for number in self._candidates(near) if self._is_about(word, number)], np.int64),
                self._runs.events[self._runs.of(ran_)],
                self._odd(word),
                *self._passages(word),
            ]
            is_named = np.zeros(len(self._events) + 1, bool)
            is_named[np.concatenate(numbers) + 1] = True
            self._positions[word] = np.flatnonzero(is_named).tolist()
        return self._positions[word]

    @consistent
    def written(self, version: str) -> list[int]:
        """The positions of the events that write a blob version."""
        statements = Near(self._runs, version, set(), self._given).statements
        numbers = {*self._runs.events[self._runs.of(statements)].tolist(), *self._timeline.of(GradWritten).tolist()}
        numbers.update(one.made - 1 for one in statements if one.made)
        return sorted(number + 1 for number in numbers if version in self._rows.written(number))

    def _candidates(self, near: Near) -> Iterator[int]:
        """The events that can be about what a word names, but for those of running the program."""
        of_pass = self._recording.noted[0]
        for kind, can_be in near.filters.items():
            for number in self._timeline.of(kind).tolist():
                event = of_pass[number]
                if event.path or can_be(event):
                    yield number
        yield from self._few.tolist()

    @cached_property
    def _given(self) -> set[str]:
        """The names of the gradients that ys start with."""
        return {name for _, event in self._recording.events_of(Seeded) for name in parts_of(event.gradient)}

    @property
    def _few(self) -> Indices:
        """What happened in the pass but for what makes it, or stopped it or the run."""
        few = self._timeline.of(*FEW)
        return few[~self._timeline.running[few]]

    def _is_about(self, word: str, number: int) -> bool:
        event = self._events[number]
        # The blobs that an event names itself are in focus, and the types of its operators are words for it.
        if isinstance(event, GeneratorAdded | Accumulated) and event.blob == word:
            return True
        if isinstance(event, Played) and (word in event.op.inputs or word in event.op.outputs):
            return True
        if isinstance(event, TYPED):
            forward = self._recording.text.of(event).forward[event.index]
            if forward.op.type == word or word in [op.type for op in gradient_operators(event)]:
                return True
        return self._names(word, self._rows.subject(number), event.path) or (
            isinstance(event, EnteredSubnet) and word in passage_words(event.inner_path, is_run=False)
        )

    def _odd(self, word: str) -> Indices:
        """What wrote NaN, or infinities."""
        return self._rows.odd(ODDITIES[word]) if word in ODDITIES else np.zeros(0, np.int64)

    def _passages(self, word: str) -> Iterator[Indices]:
        """What begins or ends a run of a nested net that a word names."""
        begun, ended = self._passed
        for half, subjects in enumerate(self._of_halves):
            for subject, passed, kind in zip(subjects, (begun, ended), (EnteredSubnet, LeftSubnet), strict=True):
                if self._names(word, subject, ("",)):
                    yield passed[(self._runs.halves == half) & np.isin(passed, self._timeline.of(kind))]
        last, begins = word.rpartition("/")[2], f"{word}["
        round_ = f".loop_net[{word.removeprefix('iteration ')}]"
        first = [self._recording.runs[runs[0]] for runs in self._recording.halves.values()]
        nets = {run.path[-1].partition("[")[0] for run in first}
        if last.partition("[")[0] not in nets and not word.startswith("iteration "):
            return
        for number, run in enumerate(self._recording.runs):
            place = run.path[-1]
            can_be = place == last or place.startswith(begins) or place.endswith(round_)
            if can_be and word in passage_words(run.path, is_run=True):
                yield begun[number : number + 1]

    @property
    def _passed(self) -> tuple[Indices, Indices]:
        """The events that begin the runs of nested nets, and the last ones in them."""
        return self._recording.begun, self._timeline.other[self._recording.begun]

    @cached_property
    def _of_halves(self) -> list[tuple[Subject, Subject]]:
        """What beginning and ending a run of each half of a nested net is about: that of the first run is of all."""
        begun, ended = self._passed
        pairs = []
        for runs in self._recording.halves.values():
            begin, end = int(begun[runs[0]]), int(ended[runs[0]])
            is_left = isinstance(self._events[end], LeftSubnet)
            subjects = [self._rows.subject(number) for number in (begin, end)]
            pairs.append((subjects[0], subjects[1] if is_left else Subject()))
        return pairs

    @cached_property
    @consistent
    def words(self) -> set[str]:
        """Every word that finds an event."""
        words = {KINDS[code].__name__ for code in np.unique(self._timeline.codes).tolist()}
        words.update(word for word in ODDITIES if len(self._odd(word)))
        words.update(self._forward)
        has_run = np.bincount(self._runs.numbers, minlength=len(self._runs.statements)).tolist()
        for one, times in zip(self._runs.statements, has_run, strict=True):
            if times or self._has_come(one):
                words.update(_words(ran(one)))
        sums = self._timeline.of(Accumulated).tolist()
        single = [number for number in sums if len(self._events[number].contributions) == 1]
        if len(single) < len(sums):
            words.add("Σ")
        for number in [*single, *self._timeline.of(Seeded).tolist(), *self._few.tolist()]:
            event = self._events[number]
            words.update(_words(self._rows.subject(number)))
            if isinstance(event, EnteredSubnet):
                words.update(passage_words(event.inner_path, is_run=False))
        for subjects in self._of_halves:
            for subject in subjects:
                words.update(_words(subject))
        for run in self._recording.runs:
            words.update(passage_words(run.path, is_run=True))
        return words

    @property
    def _forward(self) -> Mapping[str, set[int]]:
        """The forward operators of the outermost net by their numbers, scopes and lines."""
        return self._recording.text.outermost.words

    def _names(self, word: str, subject: Subject, path: tuple[str, ...]) -> bool:
        """Whether a word finds an event about `subject`, in the net at `path`."""
        if word in subject.words or (not path and subject.forward in self._forward.get(word, ())):
            return True
        name = bare(word)
        for blob in subject.focus:
            if isinstance(blob, Writing):
                if blob.name == word or (blob.name == name and str(blob) == word):
                    return True
            elif blob and word in (blob, bare(blob)):
                return True
        return False

    def _has_come(self, statement: Statement) -> bool:
        """Whether an event tells of a statement that came, by its type and blobs.

        Of a seed, of nested nets that have no pass, and of what the rule of a control operator adds to them, only a
        run tells.
        """
        path = statement.net.path
        if statement.role == "forward":
            return not path or (path, statement.number) in self._played
        return statement.role != "seed" and self._events[statement.made - 1].path == path

    @cached_property
    def _played(self) -> set[tuple[tuple[str, ...], int]]:
        """The forward operators that came by events of nested nets, by net and number."""
        return {(event.path, event.index) for _, event in self._recording.events_of(Played) if event.path}


class Near:
    """What can make an event one about a word: it has to do with some operators, or names a blob.

    Args:
        named: the forward operators of the outermost net that the word names.
        given: names of gradients which perhaps no operator writes or reads.

    Attributes:
        statements: those of which it is the type or the forward operator, and those that write or read it.
        filters: kinds of events, and what those of them let pass that can be about the word.
    """

    def __init__(self, runs: Runs, word: str, named: set[int], given: set[str]) -> None:
        writings = list(_called(runs, word))
        blobs = [one for writing in writings for one in (writing.statement, *writing.readers) if one is not None]
        typed = [one for one in runs.statements if one.op.type == word]
        numbered = [one for one in runs.statements if forward_of(one) in named] if named else []
        self.statements = [*blobs, *numbered, *typed]
        names = {word, bare(word), *(name for one in writings for _, name, _ in one.former)}

        def has(*gradients: Gradient | None) -> bool:
            """Whether one of some gradients is called so, or was."""
            return not names.isdisjoint(chain.from_iterable(map(parts_of, gradients)))

        forward, rules = _of_forward([*blobs, *numbered])
        visited, _ = _of_forward([one.statement for one in writings if one.statement is not None])
        forward_typed, rules_typed = _of_forward(typed)
        typed_anywhere = forward_typed | rules_typed
        if numbered:
            visited = forward = rules = forward | rules
        self.filters: dict[type[Event], Callable[[Any], bool]] = {
            Seeded: lambda event: event.y in names or has(event.gradient)
        }
        is_near = bool(self.statements) or word == "Σ" or not names.isdisjoint(given)
        if not is_near and not any(net.every(name) for net in runs.nets for name in names):
            return  # most texts that are looked up here are conditions, and name nothing
        self.filters |= {
            Played: lambda event: event.index in forward or event.index in forward_typed,
            Skipped: lambda event: event.index in visited or event.index in forward_typed,
            Visited: lambda event: event.index in visited or event.index in forward_typed or has(*event.g_output),
            RuleApplied: lambda event: event.index in rules or event.index in typed_anywhere or has(*event.g_input),
            InputChecked: lambda event: event.index in rules,
            GeneratorAdded: lambda event: event.index in rules or event.blob in names or has(event.gradient),
            Accumulated: lambda event: (
                event.index in rules
                or event.index in rules_typed
                or event.blob in names
                or word == "Σ"
                or has(*[one.gradient for one in event.contributions])
            ),
        }


def _of_forward(statements: Iterable[Statement]) -> tuple[set[int], set[int]]:
    """The forward operators of the outermost net among some statements, and those that others came from."""
    outermost = [one for one in statements if not one.net.path]
    others = {one.of for one in outermost if one.role != "forward" and one.of is not None}
    return {one.number for one in outermost if one.role == "forward"}, others


def _called(runs: Runs, word: str) -> Iterator[Writing]:
    """The writings of a name, or of a version, by what they are called in the end."""
    key = version_in(word)
    for net in runs.nets:
        yield from net.writings.get(word, ())
        if key is not None:
            name, version = key
            yield from net.writings.get(name, ())[version:][:1]


def _words(subject: Subject) -> Iterable[str]:
    blobs = subject.blobs
    return [*subject.words, *blobs, *map(bare, blobs)]
