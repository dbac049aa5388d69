"""The store: what it keeps within a budget, what it writes, and that what comes back is what was there."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradviz.runtime.spill import Spill
from gradviz.runtime.store import Shelf, Store, StoredArray, share, written

ARRAY = 80
Made = Callable[[int], Store]


def ten(start: float = 0.0) -> Any:
    """An array of `ARRAY` bytes."""
    return np.arange(start, start + 10)


def bits(array: Any) -> object:
    """What an array is, and how it lies in memory."""
    return array.shape, array.dtype.str, array.strides, array.tobytes()


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Makes a store with a budget."""
    return lambda budget: Store(budget, Spill(tmp_path))


def chain(store: Store, length: int) -> list[StoredArray]:
    """Arrays of which each is the one before plus 1; the first one is fed."""
    stored = [store.keep(ten(), is_fed=True)]
    for _ in range(length):
        stored.append(store.keep(store.fetch(stored[-1]) + 1))
    return stored


def test_bytes_as_people_read_them() -> None:
    assert [written(count) for count in (0, 1, 999, 1500, 2_340_000, 10**9)] == [
        "0 bytes", "1 byte", "999 bytes", "1.5 KB", "2.34 MB", "1 GB",
    ]  # fmt: skip


def test_within_the_budget_everything_is_a_reference(made: Made) -> None:
    store = made(100 * ARRAY)
    array = ten()
    stored = store.keep(array)
    assert store.fetch(stored) is array
    assert store.keep(array) is stored
    assert store.contents.kept == (1, ARRAY)
    assert store.contents.spilled == (0, 0)


def test_what_was_used_longest_ago_is_written_first(made: Made) -> None:
    store = made(3 * ARRAY)
    stored = [store.keep(ten(place)) for place in range(3)]
    store.fetch(stored[0])
    store.keep(ten(3))
    assert [one.memory.owner is None for one in stored] == [False, True, False]
    store.keep(ten(4))
    assert [one.memory.owner is None for one in stored] == [False, True, True]


def test_views_of_one_memory_count_once_and_are_written_once(made: Made) -> None:
    store = made(ARRAY)
    base = ten()
    arrays = [base, base[2:], base.reshape(5, 2), base[::-2], np.broadcast_to(base[3:4], (1000,))]
    wanted = list(map(bits, arrays))
    stored = [store.keep(array) for array in arrays]
    assert store.contents.kept == (5, ARRAY)
    del base, arrays
    store.keep(ten(1))
    assert store.contents.spilled == (5, ARRAY)
    assert [bits(store.fetch(one)) for one in stored] == wanted
    back = [store.fetch(one) for one in stored]
    assert all(np.shares_memory(back[0], one) for one in back)


def test_what_an_operator_passes_on_is_not_written_again(made: Made) -> None:
    store = made(0)
    stored = store.keep(ten())
    back = store.fetch(stored)
    assert store.fetch(stored) is back
    assert store.keep(back) is stored
    view = store.keep(back[2:].reshape(4, 2))
    assert store.contents.spilled == (2, ARRAY)
    assert store.contents.read_again == 1
    del back
    np.testing.assert_array_equal(store.fetch(view), ten()[2:].reshape(4, 2))


def test_another_array_at_the_place_of_one_that_went_is_another_one(made: Made) -> None:
    store = made(0)
    stored = [store.keep(ten(place)) for place in range(500)]
    assert len(set(stored)) == 500
    assert [store.fetch(one)[0] for one in stored] == [*range(500)]


def test_what_is_fed_neither_counts_nor_goes(made: Made) -> None:
    store = made(0)
    array = ten()
    stored = store.keep(array, is_fed=True)
    view = store.keep(array[1:])
    assert store.fetch(stored) is array
    np.testing.assert_array_equal(store.fetch(view), ten()[1:])
    assert store.contents.fed == (2, ARRAY)
    assert store.contents.kept == store.contents.spilled == (0, 0)


@pytest.mark.parametrize("slots", [0, 1, 2, 5, 20])
def test_a_chain_comes_back_whatever_the_budget(slots: int, made: Made) -> None:
    store = made(slots * ARRAY)
    stored = chain(store, 100)
    assert store.contents.kept == (slots, slots * ARRAY)
    assert store.contents.spilled == (100 - slots, (100 - slots) * ARRAY)
    before = store.contents.read_again
    for place in [*range(100, -1, -1), *range(0, 101, 7)]:
        np.testing.assert_array_equal(store.fetch(stored[place]), ten(place))
    assert store.contents.kept == (slots, slots * ARRAY)
    assert 0 < store.contents.read_again - before <= 115 - slots
    assert store.contents.seconds > 0


def test_several_threads_find_what_was_there(made: Made) -> None:
    store = made(5 * ARRAY)
    stored = chain(store, 60)

    def wrong(seed: int) -> int:
        places = np.random.default_rng(seed).integers(0, 61, 150).tolist()
        return sum(not np.array_equal(store.fetch(stored[place]), ten(place)) for place in places)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(6) as pool:
            assert sum(pool.map(wrong, range(6))) == 0
    finally:
        sys.setswitchinterval(interval)
    assert store.contents.kept.bytes == 5 * ARRAY


def test_a_view_with_strides_of_its_own_takes_no_memory_of_its_own(made: Made) -> None:
    store = made(1000 * ARRAY)
    source, array = ten(), ten()
    store.keep(source, is_fed=True)
    store.keep(np.lib.stride_tricks.sliding_window_view(source, 3))
    store.keep(array)
    store.keep(np.lib.stride_tricks.as_strided(array, (10, 10), (0, 8)))
    assert store.contents.fed == (2, ARRAY)
    assert store.contents.kept == (2, ARRAY)


@pytest.mark.parametrize(
    "make",
    [
        ten,
        lambda: np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        lambda: np.array(3, np.float32),
        lambda: np.array([True, False]),
        lambda: np.array([1 + 2j, np.nan]),
        lambda: np.array([-0.0, 0.0, np.inf, np.nan], np.float16),
        lambda: np.array([[1, 2], [3, 4]], ">i4"),
        lambda: np.array([1.5, -0.0], np.longdouble),
        lambda: np.arange(24.0).reshape(2, 3, 4).transpose(2, 1, 0),
        lambda: np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2).copy(order="K"),
        lambda: np.arange(24.0).reshape(2, 3, 4)[:, ::-1, 1:3],
    ],
)
def test_files_give_back_every_bit_and_the_order_in_memory(make: Callable[[], Any], made: Made) -> None:
    store, array = made(0), make()
    stored = store.keep(array)
    wanted = bits(array)
    assert store.contents.kept == (0, 0)
    del array
    back = store.fetch(stored)
    assert type(back) is np.ndarray
    assert bits(back) == wanted
    assert not back.flags.writeable


@pytest.mark.parametrize("shape", [(4, 0), (0, 3), (2, 0, 3)])
def test_parts_of_an_empty_array_come_back(shape: tuple[int, ...], made: Made) -> None:
    store = made(0)
    parts = np.split(np.zeros(0).reshape(2 * shape[0], *shape[1:]), 2, axis=0)  # the second begins behind the end
    shapes = [part.shape for part in parts]
    kept = [store.keep(part) for part in (*parts, parts[0].reshape(-1), parts[0].T)]
    del parts
    assert [store.fetch(one).shape for one in kept] == [*shapes, (0,), shapes[0][::-1]]


def test_memory_with_gaps_stays(made: Made) -> None:
    store = made(0)
    gaps = np.ndarray((3,), np.uint8, b"abcdef", 0, (2,))
    stored, view = store.keep(gaps), store.keep(gaps[1:])
    del gaps
    assert store.contents.kept.arrays == 2
    assert (store.fetch(stored).tobytes(), store.fetch(view).tobytes()) == (b"ace", b"ce")


def test_where_nothing_can_be_written_all_stays() -> None:
    store = Store(0, None)
    stored = chain(store, 5)
    assert store.contents.kept == (5, 5 * ARRAY)
    np.testing.assert_array_equal(store.fetch(stored[3]), ten(3))


def test_a_shelf_says_shapes_and_shares_without_reading(made: Made) -> None:
    store = made(0)
    one: Shelf[str] = Shelf(store)
    one["x"] = ten(5)
    other: Shelf[int] = Shelf(store)
    share(5, other, one, "x")
    assert one.entries["x"].shape == (10,)
    assert "x" in one
    assert store.contents.read_again == 0
    np.testing.assert_array_equal(other[5], ten(5))
    assert store.contents.read_again == 1
