"""The limits of a recording: what it may take, how it can be ended, and who hears how far it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

import numpy as np

from ...runtime.spill import Spill, StoreError, bad_spill
from ...runtime.store import Store
from ...runtime.watched import Interrupts, Limits, Pace, Progress

Budget = int | str | None
Folder = str | PathLike[str] | bool | None

UNITS = {
    "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip

_WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)


@contextmanager
def agreed(budget: Budget, spill: Folder, progress: Progress | None) -> Iterator[Limits]:
    """The limits of a recording that is made inside the ``with`` block; where it fails, it leaves no files.

    Raises:
        StoreError: ``bad_budget``, ``bad_spill``.
    """
    store = _store(budget, spill)
    try:
        with Interrupts() as interrupts:
            yield Limits(store, interrupts, Pace(progress))
    except BaseException:
        if store is not None:
            store.close()
        raise


def _store(budget: Budget, spill: Folder) -> Store | None:
    if budget is not None:
        return Store(bytes_of(budget), Spill(None if spill is False else spill))
    if spill is not None and spill is not False:
        raise bad_spill("spill says where arrays go that do not fit, and no budget is given.", 'Add budget="1 GB".')
    return None


def bytes_of(budget: object) -> int:
    """The bytes that a budget names: a number of them, or text such as ``"1 GB"``, ``"64 MiB"``.

    kB, MB, GB and TB are powers of 1000, KiB, MiB, GiB and TiB those of 1024; upper and lower case mean the same.

    Raises:
        StoreError: ``bad_budget``.
    """
    if isinstance(budget, int | np.integer) and not isinstance(budget, bool) and budget >= 0:
        return int(budget)
    if isinstance(budget, str) and (match := _WRITTEN.fullmatch(budget)) and match[2].lower() in UNITS:
        return int(float(match[1]) * UNITS[match[2].lower()])
    raise StoreError(
        f"{budget!r} is no budget of bytes.",
        kind="bad_budget",
        ways_out=['Write budget="500 MB", "1 GB" or "64 MiB", or a number of bytes such as 10**9.'],
    )
