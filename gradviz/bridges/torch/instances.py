"""Objects of a type that are there, whoever holds them."""

from __future__ import annotations

import gc
from itertools import chain, compress, repeat, tee
from typing import TypeVar

from ...runtime.watched import uncollected

T = TypeVar("T")

OLD = (1, 2)
"""The generations of objects that a collection of the youngest leaves behind."""


def instances(of: type[T]) -> list[T]:
    """All objects of a type, and of types derived from it.

    They are found in one call of C, in which no other thread goes on, and which leaves nothing behind that refers to
    another object: PyTorch in another thread may be filling a tuple, which Python refuses it, and PyTorch does not
    survive, while somebody else refers to that tuple. `tee` refers to what its iterators have not both passed, in
    blocks: the youngest objects are made old before, so that no block finds itself among them and stays for ever, and
    the last block is filled with None.
    """
    types = set(map(id, derived(of)))
    with uncollected(is_asked=True):
        gc.collect(0)
        objects = chain.from_iterable(map(gc.get_objects, OLD))
        candidates, same = tee(chain(objects, repeat(None, BLOCK)))
        return list(compress(candidates, map(types.__contains__, map(id, map(type, same)))))


BLOCK = 64
"""Objects: more than one block of `tee` holds."""


def derived(of: type[T]) -> list[type[T]]:
    """A type and all that are derived from it."""
    types = [of]
    for one in types:
        types += type.__subclasses__(one)
    return types
