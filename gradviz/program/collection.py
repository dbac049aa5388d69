"""Pausing Python's cycle collector where a great many objects are made that live on and form no cycles."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the cycle collector from passing over and over objects that are all still needed.

    Without it the time for n objects grows faster than n. What becomes garbage inside is collected after the block.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
