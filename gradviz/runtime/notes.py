"""What is noted while a program runs: numbers, and arrays by reference. Runs are made of it when they are looked at.

Every time that a nested net runs, the same steps of it run; so all that is noted of such a run is which net it was and
in which run and round it began, and the arrays that it found and wrote, one after the other.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import cached_property
from itertools import chain, repeat
from typing import Any, NamedTuple, Protocol, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..operators.registry import Array
from ..program.events import KINDS, EnteredSubnet, Failed, LeftSubnet, Ran, element
from ..program.net_halves import Key, NetHalves, Part
from ..program.operator import BlobVersion, Ssa
from .devices import CPU
from .store import Shelf, Store, new_values

NOWHERE = -1
"""Stands for no run, and for no event."""

ENTERED, LEFT, RAN, FAILED = (KINDS.index(kind) for kind in (EnteredSubnet, LeftSubnet, Ran, Failed))

Blobs = MutableMapping[str, Array]
Values = MutableMapping[Key, Array]

RunNote = list[Any]
"""Of a run of a nested net its `Half`, the number of the run around or `NOWHERE`, its round in a loop or None, its
steps as they were planned, and of a Do the mapping that it works on, else None. Behind these what it found and what it
wrote: arrays, stacks of workspaces, and what stands for arrays in a store; None: nothing was there.
"""
HEAD, BEHIND = 5, 1 << 32
"""How much of a note stands before what the run found, and a place that no note has."""

Lookup = Callable[[str], Any]
"""Gives what stands for a blob, of which nothing is read back; None: it is not there."""


class Planned(Protocol):
    """An operator as it was planned; of one that was read from a file, where it ran."""

    @property
    def device(self) -> Any:
        """Where it runs."""


class Half(msgspec.Struct, eq=False, dict=True):
    """A nested net forward, or its backward pass: what all runs of it have in common.

    Attributes:
        net: it.
        operator: index of the operator that runs it, in the whole program or in the net around.
        number: among all halves that have run.
        is_backward: whether this is the net's backward pass.
        inside: the halves in it that have run, by the places of their operators and their arguments.
    """

    net: NetHalves
    operator: int
    number: int
    is_backward: bool = False
    inside: dict[tuple[int, str], Half] = {}

    @property
    def part(self) -> Part:
        """What it consists of."""
        return self.net.parts[self.is_backward]

    @property
    def program(self) -> Sequence[Ssa[BlobVersion]]:
        """Its operators with their versions."""
        return self.part.program

    @cached_property
    def names_read(self) -> list[str]:
        """The blobs that a run finds."""
        return [name for name, _ in self.part.reads]

    @cached_property
    def slots(self) -> dict[Key, int]:
        """Of each version that it finds or writes the place among the entries that a run notes."""
        return {key: slot for slot, key in enumerate([*self.part.reads, *self.part.writes])}

    def element(self, iteration: int | None) -> str:
        """A run of it in a path: ``2.loop_net[3]``."""
        return element(self.operator, self.net.argument, iteration)


class Run(NamedTuple):
    """One run of a nested net.

    Attributes:
        number: among all runs.
        half: what ran, with what all runs of it have in common.
        around: the run in which the operator ran that runs the net, by its number; None: the outermost net.
        iteration: of a loop, from 0.
    """

    number: int
    half: Half
    around: int | None
    iteration: int | None
    runs: Runs

    @property
    def net(self) -> NetHalves:
        """What ran."""
        return self.half.net

    @property
    def is_backward(self) -> bool:
        """Whether the net's backward pass ran."""
        return self.half.is_backward

    @property
    def operator(self) -> int:
        """Index of the operator that runs the net, in the whole program or in the net that ran around."""
        return self.half.operator

    @property
    def path(self) -> tuple[str, ...]:
        """The way to it: ``("2.loop_net[3]", "0.net")``."""
        return self.runs.path(self.number)

    @property
    def workspace(self) -> Blobs:
        """The blobs that a Do worked on."""
        return self.runs.notes[self.number][4] or {}

    @property
    def values(self) -> Mapping[Key, Array]:
        """Blob version -> array of what it found and what it wrote."""
        return self.runs.values(self.number)


class Runs(Sequence[Run]):
    """The runs of nested nets, in the order in which they began.

    Attributes:
        halves: what ran.
        notes: of each run.

    Args:
        store: keeps the values; None: they are kept by references.
    """

    def __init__(self, halves: Sequence[Half], notes: Sequence[RunNote], store: Store | None = None) -> None:
        self.halves = halves
        self.notes = notes
        self._store = store
        self._values: dict[int, Values] = {}

    def __len__(self) -> int:
        return len(self.notes)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> list[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | list[Run]:
        if isinstance(index, slice):
            return list(map(self._run, range(len(self))[index]))
        return self._run(index if 0 <= index < len(self.notes) else range(len(self))[index])

    def _run(self, number: int) -> Run:
        half, around, iteration = self.notes[number][:3]
        return Run(number, half, None if around == NOWHERE else around, iteration, self)

    @cached_property
    def half(self) -> NDArray[np.int32]:
        """Of each the number of its half."""
        return np.fromiter([note[0].number for note in self.notes], np.int32, len(self))

    @cached_property
    def around(self) -> NDArray[np.int32]:
        """Of each the run around it, else `NOWHERE`."""
        return np.fromiter([note[1] for note in self.notes], np.int32, len(self))

    def half_of(self, number: int) -> Half:
        """What ran in a run."""
        half: Half = self.notes[number][0]
        return half

    def path(self, number: int) -> tuple[str, ...]:
        """The way to a run; `NOWHERE` leads to the outermost net."""
        path: list[str] = []
        while number != NOWHERE:
            half, number, iteration = self.notes[number][:3]
            path.append(half.element(iteration))
        return tuple(reversed(path))

    def values(self, number: int) -> Mapping[Key, Array]:
        """Blob version -> array of what a run found and what it wrote."""
        if number not in self._values:
            values = self._values[number] = new_values(self._store)
            put(values, self.notes[number][0].slots, self.notes[number][HEAD:])
        return self._values[number]

    def entry(self, number: int, key: Key) -> Any:
        """What stands for a version in a run, of which nothing is read back; None: not computed."""
        note, place = self.notes[number], self.place(key, number)
        return note[place] if place < len(note) else None

    def column(self, key: Key, numbers: Sequence[int]) -> list[Any]:
        """What stands for a version in some runs of one half, of which nothing is read back; None: not computed."""
        return self.each(numbers, repeat(self.place(key, numbers[0] if numbers else NOWHERE)))

    def place(self, key: Key, number: int) -> int:
        """Where the notes of a run, and of others of its half, have a version; `BEHIND` all: nowhere."""
        return BEHIND if number == NOWHERE else HEAD + self.half_of(number).slots.get(key, BEHIND)

    def each(self, numbers: Iterable[int], places: Iterable[int]) -> list[Any]:
        """What stands at places of the notes of runs, one after the other; None: nothing was computed."""
        notes = self.notes or [[]]  # of `NOWHERE` any, of which the place is behind all
        pairs = zip(map(notes.__getitem__, numbers), places, strict=False)
        return [note[place] if place < len(note) else None for note, place in pairs]


NO_RUNS = Runs([], [])


def device_name(step: Planned) -> str:
    """On which device a step runs, as its event says it."""
    return "cpu" if step.device is CPU else str(step.device)


def put(values: Values, keys: Iterable[Key], entries: Iterable[Any]) -> None:
    """Let `values` have what stands for versions, one after the other; of None there are none."""
    target = values.entries if type(values) is Shelf else values
    for key, entry in zip(keys, entries, strict=False):
        if entry is not None:
            target[key] = entry


class Notes:
    """What has happened in a run of a program, growing with it.

    Attributes:
        codes: of each event the number of its kind among `KINDS`.
        seconds: of each operator that ran, in the order in which they ended.
        net: the outermost net; None: what runs it tells of its operators.
        steps: its operators as they were planned; empty: the program was not run.
        halves: the nested nets that ran.
        noted: of each run of one.
        runs: they.
        failed: what ended it; None: nothing has.

    Args:
        store: keeps the values; None: they are kept by references.
        before: of the operators that have run before, which these notes go on with, and which stay as they are.
    """

    def __init__(self, net: NetHalves | None, store: Store | None = None, before: Notes | None = None) -> None:
        self.codes: bytearray = bytearray() if before is None else before.codes[:]
        self.seconds: array[float] = array("d") if before is None else before.seconds[:]
        self.steps: Sequence[Planned] = ()
        self.net = net
        self.halves: list[Half] = [] if before is None else before.halves[:]
        self.noted: list[RunNote] = [] if before is None else before.noted[:]
        self.runs = Runs(self.halves, self.noted, store)
        self.failed: Failed | None = None

    @property
    def planned(self) -> Iterator[Sequence[Planned]]:
        """The steps of the outermost net, and of each run of a nested one."""
        return chain([self.steps], (note[3] for note in self.noted))

    def seconds_of(self, some: slice) -> NDArray[np.float64]:
        """Of some operators that ran how long each took, as its event says it."""
        return np.round(self.seconds[some], 8)

    def new_half(self, around: Half, place: int, argument: str) -> Half:
        """The net in an argument of operator `place` of what runs, which runs for the first time."""
        is_outermost = around.operator == NOWHERE
        count = len(around.net.forward) if is_outermost else 0
        is_backward = place >= count if is_outermost else around.is_backward
        net = around.net.inside[is_backward, place - count * is_backward, argument]
        half = around.inside[place, argument] = Half(net, place, len(self.halves), is_backward=is_backward)
        self.halves.append(half)
        return half

    def renamed(self, net: NetHalves) -> Notes:
        """The same of a program some of whose blobs are called otherwise since; `net`: its outermost net."""
        notes = Notes(None)
        notes.codes, notes.seconds = self.codes, self.seconds
        outermost = Half(net, NOWHERE, NOWHERE)
        for half, number, *more in self.noted:
            around = outermost if number == NOWHERE else notes.noted[number][0]
            place = half.operator, half.net.argument
            notes.noted.append([around.inside.get(place) or notes.new_half(around, *place), number, *more])
        return notes
