"""Store: the arrays that a recording keeps, within a budget of bytes.

An array is kept by a reference, which costs nothing as long as somebody else holds it. Once those that operators made
take more bytes than the budget, some are given up, each in the cheaper of two ways:

    dropped    it is made again by running its operator on what that read, which may have to be made again first
    spilled    it is written to a file, and read from there

What is fed is kept outside anyway: it is neither counted nor given up. What an operator made that does not promise the
same bits every time, as kernels of users, is not dropped, only spilled; and where no test holds the promise, of each
kind of making one array is made again on trial before the first is dropped. Whatever comes back is held against its
fingerprint: there is no array, or the right one.

`gradviz.runtime.eviction` says which goes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import wraps
from math import inf
from threading import RLock
from time import perf_counter
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakSet

from ..operators.registry import Array
from ..operators.scopes import ScopeStack
from .devices import CPU
from .eviction import Eviction
from .fingerprint import fingerprint
from .held import READING, Buffer, Held, Making, owner_of
from .remaking import check, made_again, makings_of
from .spill import Spill
from .store_contents import Contents, Count

Given = ParamSpec("Given")
Result = TypeVar("Result")


def _one_at_a_time(
    method: Callable[Concatenate[Store, Given], Result],
) -> Callable[Concatenate[Store, Given], Result]:
    """`method` of a store, for which other threads wait until those before them are done with the store."""

    @wraps(method)
    def alone(self: Store, /, *args: Given.args, **options: Given.kwargs) -> Result:
        with self._lock:
            return method(self, *args, **options)

    return alone


class Store:
    """Keeps arrays. Several threads may use it.

    Attributes:
        is_running: whether a program runs on what is fetched. Until it settles, what was fetched stays in memory, since
            an operator may pass it on as it is.

    Args:
        budget: bytes that the arrays which operators made may take.
        measure: what is to be known of an array that is given up.
        spill: where arrays can be written; None: nowhere.
    """

    def __init__(self, budget: int, measure: Callable[[Array], Any], spill: Spill | None = None) -> None:
        self.budget = budget
        self.is_running = False
        self._measure = measure
        self._spill = spill
        self._may_write = spill is not None
        self._known: dict[int, Held] = {}
        self._buffers: dict[int, Buffer] = {}
        self._all: WeakSet[Held] = WeakSet()
        self._eviction = Eviction(budget, lambda held: self._way(held)[0])
        self._trials: dict[Hashable, bool] = {}
        self._bytes = self._peak = 0
        self._is_settling = False
        self._lent: dict[Held, Array] = {}
        self._made_again = self._read_again = 0
        self._seconds = 0.0
        self._refused: dict[str, None] = {}
        self._lock = RLock()

    @_one_at_a_time
    def keep(self, array: Array, *, is_fed: bool = False) -> Held:
        """What stands for `array`, the same for the same one."""
        held = self._known.get(id(array))
        if held is None or not (held.array is array or self._lent.get(held) is array):
            held = Held(array, is_fed)
            self._all.add(held)
            self._take(held, array)
        return held

    @_one_at_a_time
    def made(self, making: Making) -> None:
        """Arrays were made by an operator that makes the same of the same every time."""
        own = [held for output in making.outputs if (held := output()) is not None and _is_new(held, making)]
        if own:
            self._eviction.enter(making, own)

    @_one_at_a_time
    def gather(self, several: Iterable[Held]) -> None:
        """Bring several arrays into memory that an operator is to read; what is made on the way is made once."""
        start = perf_counter()
        absent = [held for held in several if held.array is None and held.file is None and held not in self._lent]
        if absent:
            found = self._make(absent)
            for held in absent:
                self._lend(held, found[held])
            self._seconds += perf_counter() - start
        for held in several:
            self.fetch(held)

    @_one_at_a_time
    def release(self, held: Held) -> None:
        """The program that runs needs an array no more: it goes before those that are needed."""
        self._eviction.release(held)

    @_one_at_a_time
    def fetch(self, held: Held) -> Array:
        """The array, whatever it takes to have it.

        Raises:
            StoreError: ``lost``, ``not_repeatable``.
        """
        array = self._lent.get(held)
        if array is not None:
            return array
        array = self._bring(held)
        if held.buffer is not None:
            self._eviction.touch(held.buffer)
        if self.is_running:
            self._lend(held, array)
        else:
            self.settle()
        return array

    @_one_at_a_time
    def settle(self) -> None:
        """Give arrays up until the rest fits into the budget, or nothing is left that can go.

        What was fetched is used no more: while a program runs this is to be called after each operator.
        """
        for held, array in self._lent.items():
            if held.array is not array:
                self._known.pop(id(array), None)
        self._lent.clear()
        self._shrink()

    def _shrink(self) -> None:
        if self._is_settling:
            return
        self._is_settling = True
        try:
            while self._bytes > self.budget:
                buffer = self._eviction.next({id(owner_of(array)) for array in self._lent.values()})
                if buffer is None:
                    break
                self._give_up(buffer)
        finally:
            self._is_settling = False

    @_one_at_a_time
    def close(self) -> None:
        """Remove the files."""
        if self._spill is not None:
            self._spill.remove()

    @property
    @_one_at_a_time
    def contents(self) -> Contents:
        """What is here."""
        buffers = self._buffers.values()
        own = [buffer for buffer in buffers if not buffer.is_fed]
        gone = [held for held in self._all if held.array is None]
        dropped = [held.nbytes for held in gone if held.file is None]
        spilled = [held.nbytes for held in gone if held.file is not None]
        return Contents(
            budget=self.budget,
            fed=Count(*_sums(buffer for buffer in buffers if buffer.is_fed)),
            kept=Count(*_sums(own)),
            dropped=Count(len(dropped), sum(dropped)),
            spilled=Count(len(spilled), sum(spilled)),
            peak=self._peak,
            made_again=self._made_again,
            read_again=self._read_again,
            seconds=self._seconds,
            cannot_go=sum(buffer.nbytes for buffer in own if not self._eviction.can_go(buffer)),
            refused=tuple(self._refused),
        )

    def _take(self, held: Held, array: Array) -> None:
        """The array of `held` is in memory."""
        owner = owner_of(array)
        buffer = self._buffers.get(id(owner))
        if buffer is None:
            buffer = self._buffers[id(owner)] = Buffer(owner, held.is_fed)
            if not buffer.is_fed:
                self._bytes += buffer.nbytes
                self._peak = max(self._peak, self._bytes)
        held.array, held.buffer = array, buffer
        self._known[id(array)] = held
        buffer.held.append(held)
        self._eviction.weigh(held)
        self._eviction.touch(buffer)

    def _lend(self, held: Held, array: Array) -> None:
        self._lent[held] = array
        self._known.setdefault(id(array), held)

    def _way(self, held: Held) -> tuple[float, bool]:
        """The seconds that it takes to have an array again, and whether it is spilled for that."""
        if held.file is not None:
            return held.nbytes * READING, True
        assert held.array is not None
        making, reading = held.making, held.nbytes * READING
        again = held.seconds if making and held.can_go and self._trials.get(making.kind, True) else inf
        spills = self._may_write and reading < again and Spill.takes(held.array)
        return (reading, True) if spills else (again, False)

    def _give_up(self, buffer: Buffer) -> None:
        """Drop or spill every array in a piece of memory; where one cannot be, all stay."""
        for held in buffer.held:
            if held.fingerprint is None:
                held.facts = self._measure(held.array)
                held.fingerprint = fingerprint(held.array)
            spills = self._way(held)[1]
            if not (self._written(held) if spills else self._repeats(held)):
                return
        del self._buffers[buffer.key]
        self._bytes -= buffer.nbytes
        self._eviction.gone(buffer)
        for held in buffer.held:
            self._known.pop(id(held.array), None)
            held.array = held.buffer = None

    def _written(self, held: Held) -> bool:
        """Write an array to a file, unless it is in one; where that fails, no more are written."""
        if held.file is None:
            assert self._spill is not None
            try:
                held.file = self._spill.write(held.array)
            except OSError as error:
                self._may_write = False
                self._refuse(f"Writing arrays to {self._spill.folder} stopped: {error.strerror or error}.")
                return False
        return True

    def _repeats(self, held: Held) -> bool:
        """Whether what is made alike comes out the same every time: the first is made once more to see it."""
        assert held.making is not None
        kind, what = held.making.kind, held.making.what
        if kind is None:
            return True
        if kind not in self._trials:
            self._trials[kind] = self._makes_the_same(held, held.making)
            if not self._trials[kind]:
                self._refuse(f"{what} does not make the same every time: what it makes is not dropped.")
        return self._trials[kind]

    def _makes_the_same(self, held: Held, making: Making) -> bool:
        place = [output() for output in making.outputs].index(held)
        try:
            arrays = [self._input(one, {}) for one in making.inputs]
            return fingerprint(making.run(arrays)[place]) == held.fingerprint
        except Exception:
            return False

    def _refuse(self, what: str) -> None:
        self._refused[what] = None

    def _bring(self, held: Held) -> Array:
        """The array, which may then take more bytes than the budget has left."""
        if held.array is not None:
            return held.array
        start = perf_counter()
        array = self._read(held) if held.file is not None else self._make([held])[held]
        self._seconds += perf_counter() - start
        return array

    def _read(self, held: Held) -> Array:
        """The array in a file. One on the CPU is not held, but for as long as it is lent: it is read as fast again."""
        assert held.file is not None
        assert held.fingerprint is not None
        array = Spill.read(held.file, held.device, held.fingerprint)
        self._read_again += 1
        if held.device != CPU:
            self._take(held, array)
        return array

    def _make(self, targets: Sequence[Held]) -> dict[Held, Array]:
        """Several arrays, made again.

        Of what else is made on the way to it, the last comes back too, the second but last, the fourth but last, and
        so on: who goes back through a long program asks for the one before next, and finds it or something near it.
        """
        order = makings_of(targets)
        read = [_arrays_read(making) for making in order]
        wanted = set(targets)
        left = Counter(one for inputs in read for one in inputs)
        found = {one: one.array for one in left if one.array is not None}
        left.update(targets)
        for place, (making, inputs) in enumerate(zip(order, read, strict=True), 1):
            arrays = [self._input(one, found) for one in making.inputs]
            is_near_the_end = (len(order) - place).bit_count() < 2
            for one, array in made_again(making, arrays):
                self._made_again += 1
                if one.array is None and (is_near_the_end or one in wanted):
                    check(one, array)
                    self._take(one, array)
                if left[one]:
                    found[one] = array if one.array is None else one.array
            left.subtract(inputs)
            for one in inputs:
                if not left[one]:
                    found.pop(one, None)
            self._shrink()
        return found

    def _input(self, one: Held | ScopeStack, found: Mapping[Held, Array]) -> Array | ScopeStack:
        if isinstance(one, ScopeStack):
            return one
        array = found.get(one)
        return self._bring(one) if array is None else array


def _is_new(held: Held, making: Making) -> bool:
    """Whether `making` made the array, and did not just pass on what was there."""
    if held.making is not None or held.buffer is None or held.buffer.is_fed:
        return False
    return not any(one is held for one in making.inputs)


def _arrays_read(making: Making) -> list[Held]:
    return [one for one in making.inputs if isinstance(one, Held)]


def _sums(buffers: Iterable[Buffer]) -> tuple[int, int]:
    """How many arrays lie in `buffers`, and how many bytes these take."""
    counts = [(len(buffer.held), buffer.nbytes) for buffer in buffers]
    return sum(arrays for arrays, _ in counts), sum(size for _, size in counts)
