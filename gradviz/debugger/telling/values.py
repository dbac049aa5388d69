"""The values of a recording as the trace document has them: statistics, runs of nested nets, stacks of workspaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from ...operators.registry import Array
from ...operators.scopes import ScopeStack
from ...program.operator import key_of
from ...runtime.notes import HEAD, RunNote
from ...runtime.store import StoredArray, entries_of
from ..document import Frame, Trace, Value, Workspaces
from ..journal import NOWHERE, Indices, Key, NetHalves, Recording
from ..statistics import FULL_PREVIEW, all_statistics, of_stack, short_statistics, statistics

RecordedValue = Array | ScopeStack | Value
"""An array, a stack of workspaces, or of a value without an array its statistics."""

Entry = Array | StoredArray | ScopeStack
"""A value, or what stands for it in a store, until it is measured; the same for the same one."""


PREVIEWED = 400_000
"""Numbers that the previews of all values in nested nets may have together: where there are many they are smaller."""

PREVIEWS = (FULL_PREVIEW, (6, 8), (4, 8), (4, 4), (2, 4))


class DocumentValues:
    """The values of a document that was read from a file; attributes as those of `Values`."""

    def __init__(self, trace: Trace) -> None:
        self.outermost, self.frames, self.arrays, self.stacks = trace.values, trace.frames, trace.arrays, trace.stacks
        self.blobs = {net.id: {key_of(blob): slot for slot, blob in enumerate(net.blobs)} for net in trace.subnets}

    def of(self, frame: int | None, key: Key) -> Value | None:
        """The statistics of a blob version in a run of a nested net, None: around all of them; None: not computed."""
        if frame is None:
            return self.outermost.get(f"{key[0]}@{key[1]}")
        number = self.number(frame, key)
        return None if number is None else self.arrays[number]

    def together(self, keys: Sequence[Key]) -> list[Value | None]:
        """The statistics of versions around all nested nets; None: not computed."""
        return [self.of(None, key) for key in keys]

    def each(self, runs: Indices, which: Indices, keys: Sequence[Key]) -> list[RecordedValue | None]:
        """Versions in runs of nested nets, or `NOWHERE`, one after the other; None: not computed.

        Args:
            which: of each its number among `keys`, which are those of one half of a net each.
        """
        pairs = zip(runs.tolist(), which.tolist(), strict=True)
        return [self.of(None if run == NOWHERE else run, keys[number]) for run, number in pairs]

    def number(self, frame: int, key: Key) -> int | None:
        """The number of an array in a run among those of the document; None: not computed."""
        run = self.frames[frame]
        slot = self.blobs[run.subnet].get(key)
        return run.values[slot] if slot is not None and slot < len(run.values) else None

    def keys(self, frame: int | None) -> Iterator[Key]:
        """The blob versions that were fed or computed around all nested nets, or in a run of one."""
        if frame is None:
            return map(key_of, self.outermost)
        return (key for key in self.blobs[self.frames[frame].subnet] if self.number(frame, key) is not None)

    def names(self, frame: int) -> set[str]:
        """Their names."""
        return {name for name, _ in self.keys(frame)}

    def last(self, frame: int, name: str) -> Value | None:
        """The last version of a blob in a run; None: not computed."""
        keys = [key for key in self.keys(frame) if key[0] == name]
        return self.of(frame, max(keys)) if keys else None

    def left_by(self, frame: int | None, key: Key) -> int | None:
        """The number of the run that has left the workspace on top of a stack; None: not known."""
        value = self.of(frame, key)
        return None if value is None or value.stack is None else self.stacks[value.stack].frame


class MeasuredValues(DocumentValues):
    """The values of a recording, each measured when it is asked for, and once where all are in memory anyway."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        # By the identities of arrays, which are kept with their statistics, so that these stay their own.
        self._measured: dict[tuple[int, bool], tuple[object, Value]] = {}

    @cached_property
    def blobs(self) -> dict[str, dict[Key, int]]:  # type: ignore[override]
        """For each nested net the places of its blob versions in its runs."""
        return _slots(self._recording)

    def keys(self, frame: int | None) -> Iterator[Key]:
        """The blob versions that were fed or computed around all nested nets, or in a run of one."""
        return iter(self._recording.values_of(frame))

    def each(self, runs: Indices, which: Indices, keys: Sequence[Key]) -> list[RecordedValue | None]:
        """Versions in runs of nested nets, or `NOWHERE`, one after the other, unmeasured; None: not computed."""
        recorded, one_run = self._recording, np.full(len(keys), NOWHERE)
        one_run[which] = runs
        places = np.array([*map(recorded.runs.place, keys, one_run.tolist())], np.int64)[which]
        values: list[RecordedValue | None] = recorded.runs.each(runs.tolist(), places.tolist())
        around = np.flatnonzero(runs == NOWHERE)
        for at, number in zip(around.tolist(), which[around].tolist(), strict=True):
            values[at] = recorded.values.get(keys[number])
        return values

    def left_by(self, frame: int | None, key: Key) -> int | None:
        """The number of the run that has left the workspace on top of a stack; None: not known."""
        stack = self._recording.values_of(frame).get(key)
        top = stack.top if isinstance(stack, ScopeStack) else None
        return None if top is None else self._recording.left_by.get(id(top))

    def of(self, frame: int | None, key: Key) -> Value | None:
        """The statistics of a blob version; None: not computed."""
        array, is_short = self._recording.values_of(frame).get(key), frame is not None
        if array is None:
            return None
        if self._recording.store is not None:
            return measure(array, is_short=is_short)
        entry = self._measured.get((id(array), is_short))
        if entry is None:
            entry = self._measured[id(array), is_short] = array, measure(array, is_short=is_short)
        return entry[1]

    def together(self, keys: Sequence[Key]) -> list[Value | None]:
        """The same, of which those in memory are measured at once."""
        if self._recording.store is None:
            found = (self._recording.values.get(key) for key in keys)
            arrays = {id(one): one for one in found if one is not None and not isinstance(one, ScopeStack)}
            new = {number: one for number, one in arrays.items() if (number, False) not in self._measured}
            for number, value in zip(new, all_statistics(new.values()), strict=True):
                self._measured[number, False] = new[number], value
        return super().together(keys)


def measure(entry: Array | ScopeStack, *, is_short: bool) -> Value:
    """The statistics of a value; `is_short`: to few digits, as of all in the runs of nested nets."""
    if isinstance(entry, ScopeStack):
        return of_stack(0, len(entry))
    return short_statistics([entry], FULL_PREVIEW)[0] if is_short else statistics(entry)


class Values(DocumentValues):
    """Everything that was fed or computed, measured.

    Attributes:
        outermost: by blob version, around all nested nets.
        frames: the runs of nested nets, whose values are numbers of `arrays`.
        stacks: the values of scope blobs.
        blobs: by the id of each nested net its blob versions in the order in which its frames have their values.
    """

    def __init__(self, recording: Recording) -> None:
        self.stacks: list[Workspaces] = []
        self._stack_numbers: dict[int, int] = {}
        self._left_by = recording.left_by
        self._store = recording.store
        self.outermost = self._outermost(recording)
        self.blobs = _slots(recording)
        distinct: list[Entry] = []
        self.frames = list(self._frames(recording, distinct))
        self.arrays = self._measured(distinct)

    def _outermost(self, recording: Recording) -> dict[str, Value]:
        seconds = {
            (name, version): event.seconds
            for event in recording.ran_around()
            for name, version in zip(event.op.outputs, event.out_versions, strict=True)
        }
        recorded: Mapping[Key, Entry] = entries_of(recording.values)
        measured = iter(all_statistics(self._arrays(recorded.values())))
        return {
            f"{key[0]}@{key[1]}": self._stack(entry, seconds.get(key))
            if isinstance(entry, ScopeStack)
            else replace(next(measured), seconds=seconds.get(key))
            for key, entry in recorded.items()
        }

    def _arrays(self, values: Iterable[Entry]) -> Iterator[Array]:
        """The arrays among values, each read back when it is its turn."""
        for entry in values:
            if isinstance(entry, StoredArray):
                assert self._store is not None
                yield self._store.fetch(entry)
            elif not isinstance(entry, ScopeStack):
                yield entry

    def _frames(self, recording: Recording, distinct: list[Entry]) -> Iterator[Frame]:
        """The runs; what is in them goes to `distinct`, once where several see it."""
        numbers: dict[int, int] = {}
        ids = recording.text.ids
        halves = recording.runs.halves
        nets = [ids[half.net.path] for half in halves]
        places = [[self.blobs[net][key] for key in half.slots] for net, half in zip(nets, halves, strict=True)]
        # There may be a million: what they have in common is looked up once.
        for note, rounds in zip(recording.runs.notes, recording.rounds, strict=True):
            half, around = note[:2]
            net = nets[half.number]
            values: list[int | None] = [None] * len(self.blobs[net])
            for place, entry in zip(places[half.number], note[HEAD:], strict=False):
                if entry is not None:
                    number = numbers.get(id(entry))
                    if number is None:
                        number = numbers[id(entry)] = len(distinct)
                        distinct.append(entry)
                    values[place] = number
            yield frame_of(note, rounds, net, None if around == NOWHERE else around, values)

    def _measured(self, values: Sequence[Entry]) -> list[Value]:
        count = sum(not isinstance(entry, ScopeStack) for entry in values)
        preview = next((size for size in PREVIEWS if size[0] * size[1] * count <= PREVIEWED), PREVIEWS[-1])
        measured = iter(short_statistics(self._arrays(values), preview))
        return [self._stack(entry) if isinstance(entry, ScopeStack) else next(measured) for entry in values]

    def _stack(self, stack: ScopeStack, seconds: float | None = None) -> Value:
        return of_stack(self._stack_number(stack), len(stack), seconds)

    def _stack_number(self, stack: ScopeStack) -> int:
        """The number of a stack among all, which come after those below them; lines in between do not count."""
        pending: list[ScopeStack] = []
        one: ScopeStack | None = stack
        while one is not None and id(one) not in self._stack_numbers:
            pending.append(one)
            one = one.below
        below = None if one is None else self._stack_numbers[id(one)]
        for one in reversed(pending):
            if one.top is not None or below is None:
                frame = None if one.top is None else self._left_by.get(id(one.top))
                self.stacks.append(Workspaces(count=len(one), frame=frame, below=below))
                below = len(self.stacks) - 1
            self._stack_numbers[id(one)] = below
        return self._stack_numbers[id(stack)]


def values_of(recording: Recording) -> DocumentValues:
    """The values of a recording, each looked up in what was saved, or measured, when it is asked for."""
    return MeasuredValues(recording) if recording.saved is None else DocumentValues(recording.saved)


def frame_of(note: RunNote, rounds: int, net: str, around: int | None, values: list[int | None]) -> Frame:
    """A run in a document, with the id of its net there, the number of the run around it and those of its values, up to
    the last that there is; `rounds`: of its loop, if it is in one."""
    while values and values[-1] is None:
        values.pop()
    half, _, iteration = note[:3]
    return Frame(net, around, half.operator, iteration, None if iteration is None else rounds, half.is_backward, values)


def _slots(recording: Recording) -> dict[str, dict[Key, int]]:
    """For each nested net the places of its blob versions in its runs."""
    nets = {recording.text.ids[net.path]: net for net in recording.nets if net.path}
    return {id: {key: slot for slot, key in enumerate(_keys(net))} for id, net in nets.items()}


def _keys(net: NetHalves) -> dict[Key, None]:
    """The blob versions that the two halves of a net find and write."""
    return dict.fromkeys(key for part in net.parts for key in (*part.reads, *part.writes))
