"""The cycle collector stays out of recordings, and what was dropped of them is given back all the same."""

import gc
import weakref

import pytest

from gradviz.runtime import watched
from gradviz.runtime.watched import MANY, MOST_SPARED, uncollected


class Knot:
    """Something that only the cycle collector can give back, with many objects in it."""

    def __init__(self, size: int) -> None:
        self.itself = self
        self.objects = [[] for _ in range(size)]


def test_no_collection_looks_at_what_a_block_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "_spared", 0)  # else the block may begin with what other tests have put off
    collections: list[dict[str, int]] = []
    watch = lambda phase, about: collections.append(about) if phase == "start" else None  # noqa: E731
    gc.collect()
    gc.callbacks.append(watch)
    try:
        with uncollected():
            knot = Knot(2 * MANY)
        oldest = [about for about in collections if about["generation"] == 2]
    finally:
        gc.callbacks.remove(watch)
    assert oldest == []
    assert any(one is knot.objects for one in gc.get_objects(generation=2))


def test_the_collector_is_left_as_it_was() -> None:
    gc.disable()
    try:
        with uncollected():
            Knot(2 * MANY)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_somebody_else_has_frozen_stays_so_and_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "_is_frozen", False)
    monkeypatch.setattr(watched, "_spared", 0)
    counted = []
    count = gc.get_freeze_count
    monkeypatch.setattr(gc, "get_freeze_count", lambda: counted.append(1) or count())
    gc.freeze()
    try:
        for _ in range(3):
            with uncollected():
                Knot(2 * MANY)
        assert count() > 0
        assert len(counted) == 1
    finally:
        gc.unfreeze()


def test_what_was_dropped_is_given_back_by_later_blocks() -> None:
    size, dropped = 4 * MANY, []
    for _ in range(MOST_SPARED // size + 4):
        with uncollected():
            knot = Knot(size)
        dropped.append(weakref.ref(knot))
        del knot
    assert sum(one() is not None for one in dropped) * size <= MOST_SPARED + 2 * size
    gc.collect()
    assert all(one() is None for one in dropped)
