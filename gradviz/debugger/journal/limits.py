"""The limits of a recording: what it may take, how it can be ended, and who hears how far it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from ...runtime.byte_counts import bytes_of
from ...runtime.spill import Spill
from ...runtime.store import Store
from ...runtime.store_faults import bad_spill
from ...runtime.watched import Interrupts, Limits, Pace, Progress
from ..statistics import facts

Budget = int | str | None
Folder = str | PathLike[str] | bool | None


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
    wants_files = spill is not None and spill is not False
    if budget is not None:
        return Store(bytes_of(budget), facts, Spill(spill) if wants_files else None)
    if wants_files:
        raise bad_spill("spill says where arrays go that do not fit, and no budget is given.", 'Add budget="1 GB".')
    return None
