"""What a store knows of an array, whether the array is in memory or not, and of the memory that arrays share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from ..operators import ArraySpec
from ..operators.registry import Array
from ..operators.scopes import ScopeStack
from .devices import device_of

READING = 2e-9
"""Seconds that a byte takes on its way to a file and back; a guess, for comparing it with running an operator."""


class Making(NamedTuple):
    """How an array was made, so that it can be made again, bit for bit.

    Attributes:
        what: the type of the operator.
        kind: what is made alike: where one of a kind comes out the same again, so do the others. None: all do that.
        run: from what the operator reads to what it makes.
        inputs: what it read.
        outputs: what it made; they are not kept alive by this.
        seconds: how long it took.
    """

    what: str
    kind: Hashable
    run: Callable[[Sequence[Any]], Sequence[Array]]
    inputs: Sequence[Held | ScopeStack]
    outputs: Sequence[ref[Held]]
    seconds: float


class Held:
    """An array that a store keeps, or can have again.

    Attributes:
        array: itself, None while it is not in memory.
        spec, device, nbytes: of the array.
        is_fed: whether it came from outside, where it is kept anyway.
        buffer: the memory that it lies in, None while it is not in memory.
        making: how it can be made again; None: it cannot.
        is_checkpoint: whether it stays although it could be made again, so that others are made of it soon.
        is_needed: whether the program that runs may read it again.
        steps, seconds: so many operators one after the other, at most, make it again of what stays, in about so many
            seconds.
        facts: what was measured of it before it was given up.
        fingerprint: its own before it was given up, see `fingerprint`.
        file: where it was written to; None: it was not.
    """

    __slots__ = (
        "__weakref__", "array", "buffer", "device", "facts", "file", "fingerprint", "is_checkpoint", "is_fed",
        "is_needed", "making", "nbytes", "seconds", "spec", "steps",
    )  # fmt: skip

    def __init__(self, array: Array, is_fed: bool) -> None:
        self.array: Array | None = array
        self.spec = ArraySpec(array.shape, array.dtype)
        self.device = device_of(array)
        self.nbytes = bytes_in(array)
        self.is_fed = is_fed
        self.buffer: Buffer | None = None
        self.making: Making | None = None
        self.is_checkpoint = False
        self.is_needed = True
        self.steps = 0
        self.seconds = 0.0
        self.facts: Any = None
        self.fingerprint: str | None = None
        self.file: Path | None = None

    @property
    def can_go(self) -> bool:
        """Whether it may be dropped, and made again."""
        return self.making is not None and not self.is_checkpoint

    @property
    def behind(self) -> tuple[int, float]:
        """The steps and seconds that it adds to what is made of it."""
        if self.file is not None:
            return 0, self.nbytes * READING
        return (self.steps, self.seconds) if self.can_go else (0, 0.0)

    def price(self) -> None:
        """Count its steps and seconds anew."""
        assert self.making is not None
        inputs = [one.behind for one in self.making.inputs if isinstance(one, Held)]
        self.steps = 1 + max((steps for steps, _ in inputs), default=0)
        self.seconds = self.making.seconds + max((seconds for _, seconds in inputs), default=0.0)


class Buffer:
    """A piece of memory, in which one array lies or several do that are views of it.

    Attributes:
        nbytes: what it takes.
        is_fed: whether what lies in it came from outside.
        held: the arrays in it.
        used: when one of them was last looked at, by the clock of the store.
    """

    __slots__ = ("held", "is_fed", "key", "nbytes", "used")

    def __init__(self, owner: Array, is_fed: bool) -> None:
        self.key = id(owner)
        self.nbytes = bytes_in(owner)
        self.is_fed = is_fed
        self.held: list[Held] = []
        self.used = 0

    @property
    def is_needed(self) -> bool:
        """Whether the program that runs may read one of its arrays again."""
        return any(held.is_needed for held in self.held)


def owner_of(array: Array) -> Array:
    """The array whose memory `array` lies in: what it is a view of, or itself."""
    arrays = np.ndarray | type(array)
    while True:
        base = getattr(array, "base", None)
        if base is not None and not isinstance(base, arrays):  # numpy's views with strides of their own have it there
            base = getattr(base, "base", None)
        if not isinstance(base, arrays):
            return array
        array = base


def bytes_in(array: Array) -> int:
    """The bytes of its elements."""
    return int(array.size * array.dtype.itemsize)
