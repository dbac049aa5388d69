"""Picking what one operator reads, from the blobs of a draft or as new inputs of the net."""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import torch

from gradviz.program.operator import numbered_name

from .call import WIDE, Range, Shape, Value
from .draft import Draft

SHAPES: tuple[Shape, ...] = ((), (3,), (4,), (2, 3), (3, 4), (4, 3), (3, 3), (4, 2), (2, 3, 4), (3, 2, 2), (1, 3))
"""What a new input may look like where a call does not say."""

REUSED, LATEST, UNREAD = 0.92, 0.4, 0.35
"""How often a blob that is there is read rather than a new input; and then the latest, or one that nobody reads yet."""


class NothingFits(Exception):
    """No blob fits a call, and no new input would."""


class Pick:
    """Picks for one operator of a draft.

    What it picks depends on `seed` and on the names that there are, and little on their number: the net stays much the
    same when hypothesis takes an operator out of it.

    Attributes:
        random: what else is left to chance.
        fresh, arrays: the new inputs of the net, as values and as what to feed.
    """

    def __init__(self, draft: Draft, seed: int, attempt: int = 0) -> None:
        self.draft, self.seed = draft, seed
        self.random = random.Random(f"{seed} {attempt}")
        self.fresh: dict[str, Value] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self._picked = 0

    def rank(self, name: str) -> int:
        """A number for `name` that stays the same whatever other names there are."""
        return crc32(f"{self.seed} {self._picked} {name}".encode())

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def one_of(self, choices: Sequence[Any]) -> Any:
        return self.random.choice(choices)

    def existing(self, fits: Callable[[Value], bool]) -> str | None:
        """A blob that is there, or None."""
        self._picked += 1
        roll = self.random.random()
        names = [name for name, value in {**self.draft.values, **self.fresh}.items() if fits(value)]
        if not names:
            return None
        if roll < LATEST:
            return names[-1]
        unread = [name for name in names if name not in self.draft.read] if roll < LATEST + UNREAD else []
        return max(unread or names, key=self.rank)

    def existing_floats(self, accepts: Callable[[Shape], bool]) -> str | None:
        """A float64 blob that is there, of a shape that is accepted, or None."""
        return self.existing(lambda value: value.dtype == "float64" and accepts(value.shape))

    def favourite(self, accepts: Callable[[Shape], bool]) -> str | None:
        """The float64 blob of an accepted shape that other operators would pick as well, as long as it is there."""
        names = [name for name in self.draft.names() if accepts(self.draft.values[name].shape)]
        return max(names, key=lambda name: crc32(name.encode()), default=None)

    def feed(self, array: np.ndarray, letter: str) -> str:
        """A new input of the net."""
        taken = {**self.draft.values, **self.fresh}
        name = f"{letter}{self.seed}"
        name = numbered_name(name, taken.__contains__) if name in taken else name
        self.arrays[name] = array
        self.fresh[name] = Value.of(torch.from_numpy(array), str(array.dtype))
        return name

    def _pick(self, fits: Callable[[Value], bool], make: Callable[[], np.ndarray], letter: str) -> str:
        reused = self.chance(REUSED)
        name = self.existing(fits)
        return name if reused and name is not None else self.feed(make(), letter)

    def floats(self, where: Callable[[Shape], bool] | Shape = lambda shape: True, within: Range = WIDE) -> str:
        """A float64 blob of the shape, or of a shape that the predicate accepts, with values `within` limits."""
        accepts = where if callable(where) else where.__eq__

        def make() -> np.ndarray:
            shapes = [shape for shape in SHAPES if accepts(shape)] if callable(where) else [where]
            if not shapes:
                raise NothingFits
            shape = self.one_of(shapes)
            return np.array([self._number(within) for _ in range(math.prod(shape))]).reshape(shape)

        return self._pick(lambda v: v.dtype == "float64" and accepts(v.shape) and v.within(within), make, "x")

    def _number(self, within: Range) -> float:
        if within == WIDE:
            return self.random.uniform(0.2, 1.7) * self.one_of((-1, 1))
        low, high = max(within[0], -3.0), min(within[1], 3.0)
        return self.random.uniform(low + 0.1 * (high - low), high - 0.1 * (high - low))

    def integers(self, shape: Shape, high: int, low: int = 0) -> str:
        """Integers of the shape, each from `low` to below `high`."""
        return self._pick(
            lambda v: v.dtype in ("int64", "int32") and v.shape == shape and v.within((low, high - 1)),
            lambda: self._whole([self.random.randrange(low, high) for _ in range(math.prod(shape))]).reshape(shape),
            "i",
        )

    def list_of(self, numbers: Sequence[int], fits: Callable[[list[int]], bool] | None = None) -> str:
        """A vector of integers: `numbers`, or one that is there and `fits`."""
        wanted = list(numbers)
        fits = fits or wanted.__eq__
        return self._pick(
            lambda v: v.dtype in ("int64", "int32") and len(v.shape) == 1 and fits([int(n) for n in v.tensor]),
            lambda: self._whole(wanted),
            "i",
        )

    def lengths(self, total: int) -> str:
        """Lengths of segments that add up to `total`; some are 0."""
        ends = sorted(self.random.randint(0, total) for _ in range(self.random.randint(1, 3)))
        numbers = [end - start for start, end in zip([0, *ends], [*ends, total], strict=True)]
        return self.list_of(numbers, lambda said: sum(said) == total and min(said) >= 0)

    def truths(self, shape: Shape) -> str:
        """Truth values of the shape."""
        return self._pick(
            lambda v: v.dtype == "bool" and v.shape == shape,
            lambda: np.array([self.chance(0.6) for _ in range(math.prod(shape))]).reshape(shape),
            "c",
        )

    def _whole(self, numbers: Sequence[int]) -> np.ndarray:
        return np.array(numbers, dtype=self.one_of(("int64", "int64", "int32")))

    def shape(self, name: str) -> Shape:
        """The shape of a blob that was picked."""
        return (self.fresh.get(name) or self.draft.values[name]).shape
