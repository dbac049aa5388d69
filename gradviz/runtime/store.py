"""Store: the arrays that a recording keeps, of which at most a budget of bytes stays in memory.

What counts is the memory that operators filled, in which one array lies or several do that are views of it; what was
fed is kept outside anyway. Where the sum exceeds the budget, the memory used longest ago is written to a file, as it
is, and let go: its arrays come back with the bits and the strides that they had, so that operators round as they did.

What comes back stays as long as somebody uses it: the system keeps in memory what is read often.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from threading import RLock
from time import perf_counter
from typing import Any, NamedTuple, TypeVar, final
from weakref import ref

import msgspec
import numpy as np

from ..operators.registry import Array
from ..operators.scopes import ScopeStack
from ..program import Device
from .devices import CPU, device_of, moved
from .spill import Spill

Entry = TypeVar("Entry")


class Count(NamedTuple):
    """How many arrays, and how many bytes of memory or of a file they take; views of one memory take it once."""

    arrays: int
    bytes: int


class Contents(NamedTuple):
    """What a store has, and what it has done.

    Attributes:
        budget: bytes.
        fed: from outside.
        kept, spilled: results of operators, in memory or in the file.
        read_again: how often an array was read back.
        seconds: how long writing and reading took.
        refused: why no more can be written, in words; empty: all can be.
    """

    budget: int
    fed: Count
    kept: Count
    spilled: Count
    read_again: int
    seconds: float
    refused: str


class Memory(msgspec.Struct, eq=False):
    """Memory that arrays lie in.

    Attributes:
        owner: the array that has it, None where it was let go.
        alive: the same as long as anybody has it.
        nbytes, device: its size, and where it is.
        is_fed: whether it came from outside.
        arrays: what lies in it.
        start: where it begins in the file, None where it was not written.
    """

    owner: Array | None
    alive: ref[Array]
    nbytes: int
    device: Device
    is_fed: bool
    arrays: list[StoredArray] = []
    start: int | None = None


class StoredArray(msgspec.Struct, eq=False):
    """An array of a store, in memory or not.

    Attributes:
        memory: what it lies in, from byte `offset` on.
        shape, dtype, strides: of the array; no strides stand for C's order.
        alive: itself as long as anybody has it.
    """

    memory: Memory
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    strides: tuple[int, ...] | None
    alive: ref[Array]


class Store:
    """Keeps arrays. Several threads may use it.

    Attributes:
        seconds: how long writing and reading took.

    Args:
        budget: bytes.
        spill: where to write; None: nowhere, and all stays in memory.
    """

    def __init__(self, budget: int, spill: Spill | None) -> None:
        self.budget = budget
        self.seconds = 0.0
        self._spill = spill
        self._memories: list[Memory] = []
        self._by_use: OrderedDict[Memory, None] = OrderedDict()
        self._bytes = self._read_again = 0
        self._array_of: dict[int, StoredArray] = {}
        self._memory_of: dict[int, Memory] = {}
        self._lock = RLock()

    def keep(self, array: Array, *, is_fed: bool = False) -> StoredArray:
        """What stands for `array`, the same for the same one."""
        with self._lock:
            stored = self._array_of.get(id(array))
            if stored is None:
                owner = owner_of(array)
                if not array.size or (owner is not array and _bytes_of(owner) is None):
                    owner = array  # an empty one lies nowhere
                memory = self._memory_of.get(id(owner)) or self._new_memory(owner, is_fed)
                offset = 0 if array is owner else array.ctypes.data - owner.ctypes.data
                strides = array.strides if memory.device == CPU and array.size else None
                alive = _while_alive(self._array_of, array)
                stored = StoredArray(memory, offset, array.shape, array.dtype, strides, alive)
                self._array_of[id(array)] = stored
                memory.arrays.append(stored)
            self._use(stored.memory)
            self._shrink()
            return stored

    def fetch(self, stored: StoredArray) -> Array:
        """The array, read-only where it had to be read from the file.

        Raises:
            StoreError: ``lost``.
        """
        with self._lock:
            self._use(stored.memory)
            array = stored.alive()
            if array is None:
                array = self._view(stored)
                stored.alive = _while_alive(self._array_of, array)
                self._array_of[id(array)] = stored
            return array

    def close(self) -> None:
        """Remove the file."""
        if self._spill is not None:
            self._spill.remove()

    @property
    def contents(self) -> Contents:
        """What is here."""
        with self._lock:
            ours = [memory for memory in self._memories if not memory.is_fed]
            return Contents(
                budget=self.budget,
                fed=_count(memory for memory in self._memories if memory.is_fed),
                kept=_count(memory for memory in ours if memory.owner is not None),
                spilled=_count(memory for memory in ours if memory.owner is None),
                read_again=self._read_again,
                seconds=self.seconds,
                refused="" if self._spill is None else self._spill.fault,
            )

    def _new_memory(self, owner: Array, is_fed: bool) -> Memory:
        size = int(owner.size * owner.dtype.itemsize)
        memory = Memory(owner, _while_alive(self._memory_of, owner), size, device_of(owner), is_fed)
        self._memory_of[id(owner)] = memory
        self._memories.append(memory)
        if not is_fed and memory.nbytes:
            self._by_use[memory] = None
            self._bytes += memory.nbytes
        return memory

    def _use(self, memory: Memory) -> None:
        if memory in self._by_use:
            self._by_use.move_to_end(memory)

    def _shrink(self) -> None:
        """Let memory go until the rest fits, or nothing is left that can be written."""
        while self._bytes > self.budget and self._by_use:
            memory, _ = self._by_use.popitem(last=False)
            self._write(memory)
            if memory.start is not None:
                memory.owner = None
                self._bytes -= memory.nbytes

    def _view(self, stored: StoredArray) -> Array:
        """An array over the memory that it lies in, which is read back where nobody has it any more."""
        memory, owner = stored.memory, stored.memory.alive()
        data = self._read(memory) if owner is None else _bytes_of(owner)
        array: Array = np.ndarray(stored.shape, stored.dtype, data, stored.offset, stored.strides)
        array.flags.writeable = False
        array = moved(array, memory.device)
        if owner is None:
            owner = owner_of(array)
            memory.alive = _while_alive(self._memory_of, owner)
            self._memory_of[id(owner)] = memory
        return array

    def _write(self, memory: Memory) -> None:
        begun = perf_counter()
        data = _bytes_of(moved(memory.owner, CPU))
        if self._spill is not None and data is not None:
            memory.start = self._spill.write(data)
        self.seconds += perf_counter() - begun

    def _read(self, memory: Memory) -> Array:
        assert self._spill is not None
        assert memory.start is not None
        begun = perf_counter()
        data = self._spill.read(memory.start, memory.nbytes)
        self._read_again += 1
        self.seconds += perf_counter() - begun
        return data


def _while_alive(entries: dict[int, Entry], array: Array) -> ref[Array]:
    """A reference to `array` at whose end its entry leaves `entries`: another array may have its identity then."""
    key = id(array)
    return ref(array, lambda _: entries.pop(key, None))


def _count(memories: Iterable[Memory]) -> Count:
    counts = [(len(memory.arrays), memory.nbytes) for memory in memories]
    return Count(sum(arrays for arrays, _ in counts), sum(size for _, size in counts))


def _bytes_of(array: Array) -> Array | None:
    """The bytes of a numpy array that owns its memory, uint8 (n,), not copied; None where there are gaps in them."""
    axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    ordered = array.transpose(axes)
    return ordered.reshape(-1).view(np.uint8) if ordered.flags.c_contiguous else None


def owner_of(array: Array) -> Array:
    """The array whose memory `array` lies in: what it is a view of, or itself; on a GPU itself."""
    if device_of(array) != CPU:
        return array
    while True:
        base = array.base
        if base is not None and not isinstance(base, np.ndarray):  # views with strides of their own have it there
            base = getattr(base, "base", None)
        if not isinstance(base, np.ndarray):
            return array
        array = base


def written(count: int) -> str:
    """Bytes as people read them: ``812 bytes``, ``1.5 MB``."""
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return "1 byte" if count == 1 else f"{count} bytes"


Key = TypeVar("Key")
Other = TypeVar("Other")


@final
class Shelf(MutableMapping[Key, Array]):
    """Arrays by key. Stacks of workspaces stand among them as they are; their workspaces are shelves themselves.

    Attributes:
        entries: what has the shape and dtype of each array, so that it need not be read; stacks as they are.

    Raises:
        StoreError: on reading an array whose file is gone.
    """

    __slots__ = ("__weakref__", "entries", "store")

    def __init__(self, store: Store) -> None:
        self.store = store
        self.entries: dict[Key, StoredArray | ScopeStack] = {}

    def __getitem__(self, key: Key) -> Array:
        entry = self.entries[key]
        return self.store.fetch(entry) if isinstance(entry, StoredArray) else entry

    def __setitem__(self, key: Key, array: Array) -> None:
        self.put(key, array, is_fed=False)

    def put(self, key: Key, array: Array, *, is_fed: bool) -> None:
        """The same as ``shelf[key] = array``; what `is_fed` is kept outside anyway."""
        self.entries[key] = array if isinstance(array, ScopeStack) else self.store.keep(array, is_fed=is_fed)

    def __delitem__(self, key: Key) -> None:
        del self.entries[key]

    def __contains__(self, key: object) -> bool:
        return key in self.entries

    def __iter__(self) -> Iterator[Key]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


def entries_of(values: Mapping[Key, Any]) -> Mapping[Key, Any]:
    """What stands for each of some arrays, of which nothing is read back: of a shelf its entries, else the arrays."""
    return values.entries if type(values) is Shelf else values


def new_values(store: Store | None) -> MutableMapping[Key, Array]:
    """An empty mapping whose arrays `store` keeps, or that keeps them itself."""
    return {} if store is None else Shelf(store)


def beside(values: Mapping[Any, Array], contents: Mapping[Key, Array]) -> MutableMapping[Key, Array]:
    """A mapping of its own with `contents`, which keeps arrays as `values` does; both do that in the same way."""
    if type(values) is not Shelf:
        return dict(contents)
    shelf: Shelf[Key] = Shelf(values.store)
    for key in contents:
        share(key, shelf, contents, key)
    return shelf


def feed(values: MutableMapping[Key, Array], arrays: Mapping[Key, Array]) -> None:
    """Put arrays into `values` that are kept outside anyway."""
    if type(values) is not Shelf:
        values.update(arrays)
        return
    for key, array in arrays.items():
        values.put(key, array, is_fed=True)


def share(key: Key, into: MutableMapping[Key, Array], other: Mapping[Other, Array], theirs: Other) -> None:
    """Put into a mapping what `other` has as `theirs`; between shelves without reading it."""
    if type(into) is Shelf and type(other) is Shelf:  # isinstance takes long for an abstract base class
        into.entries[key] = other.entries[theirs]
    else:
        into[key] = other[theirs]
