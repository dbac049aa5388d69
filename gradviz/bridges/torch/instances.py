"""Objects of a type that are there, whoever holds them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import chain, compress, tee
from typing import TypeVar

from ...runtime.watched import uncollected

T = TypeVar("T")


def instances(of: type[T]) -> list[T]:
    """All objects of a type, and of types derived from it.

    They are found in one call of C, in which no other thread goes on: PyTorch in another thread may be filling a tuple,
    which Python refuses it, and PyTorch does not survive, while somebody else refers to that tuple. It may not survive
    either that somebody refers to a tensor that it is about to hand over, which this does not rule out.
    """
    types = set(map(id, _derived(of)))
    with uncollected(is_asked=True):
        found, same = tee(chain.from_iterable(map(gc.get_objects, (None,))))
        return list(compress(found, map(types.__contains__, map(id, map(type, same)))))


def _derived(of: type) -> Iterator[type]:
    yield of
    derived: list[type] = type.__subclasses__(of)
    for one in derived:
        yield from _derived(one)
