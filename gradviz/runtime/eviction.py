"""Eviction: which array goes first when not all fit.

Of the CHOICE pieces of memory that were not looked at for longest, the one whose arrays are soonest had again, for its
bytes and for how long nobody looked at it; those that the program reads no more before the others. (Source: the
heuristic of Kirisame et al., Dynamic tensor rematerialization, 2021.)

An array whose making would run more than SPACING operators one after the other is a checkpoint and stays. When
checkpoints fill half of the budget, every second one becomes an array like others, and the spacing doubles. (After
Griewank, Walther, Revolve, 2000, where the length of the program is known.)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container, Iterable
from math import inf

from .held import Buffer, Held, Making

CHOICE = 32
"""So many pieces of memory are weighed against each other when one of them must go."""

SPACING = 32
"""Operators that run one after the other to make an array again, at most, as long as the budget allows."""


class Eviction:
    """Knows the pieces of memory that may go.

    Args:
        budget: bytes.
        seconds: about how long it takes to have an array again; infinity: it must stay.
    """

    def __init__(self, budget: int, seconds: Callable[[Held], float]) -> None:
        self._budget = budget
        self._seconds = seconds
        self._movable: OrderedDict[int, Buffer] = OrderedDict()
        self._checkpoints: dict[Held, None] = {}
        self._checkpoint_bytes = 0
        self._makings: list[Making] = []
        self._spacing = SPACING
        self._clock = 0

    def enter(self, making: Making, made: Iterable[Held]) -> None:
        """`made` can be made again, in this way."""
        self._makings.append(making)
        for held in made:
            held.making = making
            held.price()
            if held.steps > self._spacing:
                held.is_checkpoint = True
                self._checkpoints[held] = None
                self._checkpoint_bytes += held.nbytes
            self.weigh(held)

    def weigh(self, held: Held) -> None:
        """Something has changed about an array: perhaps it can go."""
        buffer = held.buffer
        if buffer is not None and buffer.nbytes and not buffer.is_fed:
            self._movable[buffer.key] = buffer

    def touch(self, buffer: Buffer) -> None:
        """Somebody looks at it."""
        self._clock += 1
        buffer.used = self._clock
        if buffer.key in self._movable and buffer.is_needed:
            self._movable.move_to_end(buffer.key)

    def release(self, held: Held) -> None:
        """The program that runs reads it no more."""
        held.is_needed = False
        if held.buffer is not None and held.buffer.key in self._movable:
            self._movable.move_to_end(held.buffer.key, last=False)

    def gone(self, buffer: Buffer) -> None:
        """It is not in memory any more."""
        self._movable.pop(buffer.key, None)
        for held in buffer.held:
            self._forget_checkpoint(held)

    def can_go(self, buffer: Buffer) -> bool:
        """Whether every array in it can be had again."""
        return all(self._seconds(held) < inf for held in buffer.held)

    def next(self, used: Container[int]) -> Buffer | None:
        """What to give up next, but for the pieces of memory whose keys are `used`; None: the rest must stay."""
        while 2 * self._checkpoint_bytes > self._budget:
            self._thin()
        best, least, weighed = None, (True, inf), 0
        stay = []
        for key, buffer in self._movable.items():
            if key in used:
                continue
            if not self.can_go(buffer):
                stay.append(key)
                continue
            rank = buffer.is_needed, self._price(buffer)
            if rank < least:
                best, least = buffer, rank
            weighed += 1
            if weighed == CHOICE:
                break
        for key in stay:  # until something changes about them
            del self._movable[key]
        return best

    def _price(self, buffer: Buffer) -> float:
        seconds = sum(map(self._seconds, buffer.held))
        return seconds / buffer.nbytes / (self._clock - buffer.used + 1)

    def _thin(self) -> None:
        """Let every second checkpoint be an array like others."""
        self._spacing *= 2
        for held in [*self._checkpoints][::2]:
            held.is_checkpoint = False
            self._forget_checkpoint(held)
            self.weigh(held)
        for making in self._makings:
            for output in making.outputs:
                if (one := output()) is not None and one.making is making:
                    one.price()

    def _forget_checkpoint(self, held: Held) -> None:
        if held in self._checkpoints:
            del self._checkpoints[held]
            self._checkpoint_bytes -= held.nbytes
