"""How many bytes the arrays take that are alive while code runs: counted as they come and go."""

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, Self
from weakref import ref

import numpy as np

from ...operators.registry import Array
from ...runtime.store import owner_of


class LiveBytes:
    """Counts the arrays that Python functions return inside its ``with`` block, as long as anybody holds them.

    Views count as what they are views of, once. Kernels are Python functions, so what operators write is counted; what
    only numpy's own functions see while they run is not.

    Attributes:
        now, peak: bytes.

    Args:
        known: arrays that are not counted, nor are views of them.
    """

    def __init__(self, known: Iterable[Array]) -> None:
        self.now = self.peak = 0
        self._known = {id(owner): owner for owner in map(owner_of, known)}
        self._alive: dict[int, ref[Any]] = {}
        self._before: Callable[..., Any] | None = None

    def __enter__(self) -> Self:
        self._before = sys.getprofile()
        sys.setprofile(self._look)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    def _look(self, frame: FrameType, event: str, value: Any) -> None:
        if event == "return":
            for array in value if type(value) in (tuple, list) else (value,):
                if isinstance(array, np.ndarray):
                    self._count(owner_of(array))

    def _count(self, array: Array) -> None:
        key = id(array)
        if key not in self._known and key not in self._alive:
            size = array.nbytes
            self._alive[key] = ref(array, lambda _: self._gone(key, size))
            self.now += size
            self.peak = max(self.peak, self.now)

    def _gone(self, key: int, size: int) -> None:
        if self._alive.pop(key, None) is not None:
            self.now -= size
