"""The store: what it keeps within a budget, what it gives up, and that what comes back is what was there."""

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
import pytest

from gradviz.runtime.byte_counts import bytes_of, written
from gradviz.runtime.fingerprint import fingerprint
from gradviz.runtime.held import Held, Making
from gradviz.runtime.shelf import Shelf
from gradviz.runtime.spill import Spill
from gradviz.runtime.store import Store
from gradviz.runtime.store_faults import StoreError

ARRAY = 80
ROOT = Path(__file__).resolve().parents[2]


def ten(start: float = 0.0) -> Any:
    """An array of `ARRAY` bytes."""
    return np.arange(start, start + 10)


def chain(store: Store, length: int) -> list[Held]:
    """Arrays of which each is the one before plus 1; the first one is fed."""
    held = [store.keep(ten(), is_fed=True)]
    for _ in range(length):
        made = store.keep(store.fetch(held[-1]) + 1)
        store.made(Making("AddOne", "AddOne", lambda arrays: [arrays[0] + 1], [held[-1]], [ref(made)], 1e-9))
        held.append(made)
        store.settle()
    return held


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1 GB", 10**9),
        ("500MB", 5 * 10**8),
        ("64 MiB", 2**26),
        ("1.5 kb", 1500),
        ("0 B", 0),
        (12, 12),
        (np.int64(7), 7),
    ],
)
def test_budgets_as_people_write_them(text: object, count: int) -> None:
    assert bytes_of(text) == count


@pytest.mark.parametrize("text", ["1", "GB", "-1 GB", "1 GB of memory", -1, 1e9, None, True, "1 EB"])
def test_what_is_no_budget(text: object) -> None:
    with pytest.raises(StoreError) as caught:
        bytes_of(text)
    assert caught.value.kind == "bad_budget"


def test_bytes_as_people_read_them() -> None:
    assert [written(count) for count in (0, 1, 999, 1500, 2_340_000, 10**9)] == [
        "0 bytes", "1 byte", "999 bytes", "1.5 KB", "2.34 MB", "1 GB",
    ]  # fmt: skip


def test_within_the_budget_everything_is_a_reference() -> None:
    store = Store(100 * ARRAY, measure=len)
    array = ten()
    held = store.keep(array)
    store.settle()
    assert store.fetch(held) is array
    assert store.keep(array) is held
    assert store.contents.dropped.arrays == 0


def test_views_of_one_piece_of_memory_count_once_and_go_together() -> None:
    store = Store(0, measure=len)
    base = ten()
    held = [store.keep(array) for array in (base, base[2:], base.reshape(5, 2))]
    assert store.contents.kept == (3, ARRAY)
    store.settle()
    assert store.contents.kept == (3, ARRAY)  # of what nobody knows how to make it, nothing goes
    source = store.keep(ten(), is_fed=True)
    arrays = [held[0].array, held[1].array, held[2].array]
    making = Making(
        "Three", "Three", lambda _: [ten(), ten()[2:], ten().reshape(5, 2)], [source], [*map(ref, held)], 0.0
    )
    store.made(making)
    store.settle()
    assert store.contents.kept == (0, 0)
    for one, array in zip(held, arrays, strict=True):
        np.testing.assert_array_equal(store.fetch(one), array)


def test_what_is_fed_neither_counts_nor_goes() -> None:
    store = Store(0, measure=len)
    array = ten()
    held = store.keep(array, is_fed=True)
    view = store.keep(array[1:])
    store.settle()
    assert store.fetch(held) is array
    assert view.array is not None
    assert store.contents.fed == (2, ARRAY)
    assert store.contents.kept == (0, 0)


@pytest.mark.parametrize("slots", [0, 1, 2, 5, 20])
def test_a_chain_comes_back_whatever_the_budget(slots: int) -> None:
    store = Store(slots * ARRAY, measure=np.sum)
    held = chain(store, 100)
    assert store.contents.kept.bytes <= slots * ARRAY
    for place in [*range(100, -1, -1), *range(0, 101, 7)]:
        np.testing.assert_array_equal(store.fetch(held[place]), ten(place))
        assert store.contents.kept.bytes <= slots * ARRAY


def test_several_threads_find_what_was_there() -> None:
    store = Store(5 * ARRAY, measure=np.sum)
    held = chain(store, 60)

    def wrong(seed: int) -> int:
        places = np.random.default_rng(seed).integers(0, 61, 150).tolist()
        return sum(not np.array_equal(store.fetch(held[place]), ten(place)) for place in places)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(6) as pool:
            assert sum(pool.map(wrong, range(6))) == 0
    finally:
        sys.setswitchinterval(interval)
    assert store.contents.kept.bytes <= 5 * ARRAY


def test_a_view_with_strides_of_its_own_takes_no_memory_of_its_own() -> None:
    store = Store(1000 * ARRAY, measure=len)
    source, made = ten(), ten()
    store.keep(source, is_fed=True)
    store.keep(np.lib.stride_tricks.sliding_window_view(source, 3))
    store.keep(made)
    store.keep(np.lib.stride_tricks.as_strided(made, (10, 10), (0, 8)))
    assert store.contents.fed == (2, ARRAY)
    assert store.contents.kept == (2, ARRAY)


def test_what_is_given_up_was_measured_before() -> None:
    store = Store(0, measure=np.sum)
    held = chain(store, 3)
    assert [one.facts for one in held[1:]] == [ten(place).sum() for place in (1, 2, 3)]
    assert all(one.array is None for one in held[1:])


def test_going_back_through_a_long_chain_makes_little_again() -> None:
    store = Store(24 * ARRAY, measure=len)
    held = chain(store, 400)
    for one in reversed(held):
        store.fetch(one)
    assert store.contents.made_again < 8 * 400


def test_what_comes_out_differently_on_trial_is_not_dropped() -> None:
    store = Store(0, measure=len)
    source, made = store.keep(ten(), is_fed=True), store.keep(ten(1))
    store.made(Making("Other", "Other", lambda _: [ten(2)], [source], [ref(made)], 0.0))
    store.settle()
    assert made.array is not None
    assert store.contents.cannot_go == ARRAY
    assert "Other" in store.contents.refused[0]


def failing(_: Sequence[Any]) -> list[Any]:
    raise ValueError("no")


@pytest.mark.parametrize(("later", "why"), [(lambda _: [ten(7)], "another"), (failing, "ValueError: no")])
def test_what_comes_out_differently_later_is_an_error(later: Any, why: str) -> None:
    store = Store(0, measure=len)
    source, made = store.keep(ten(), is_fed=True), store.keep(ten(1))
    runs = iter([lambda _: [ten(1)], later])
    store.made(Making("Moody", "Moody", lambda arrays: next(runs)(arrays), [source], [ref(made)], 0.0))
    store.settle()
    with pytest.raises(StoreError, match=why) as caught:
        store.fetch(made)
    assert caught.value.kind == "not_repeatable"
    assert caught.value.ways_out


@pytest.mark.parametrize(
    "array",
    [
        ten(),
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.array(3, np.float32),
        np.array([True, False]),
        np.array([1 + 2j, np.nan]),
        np.array([-0.0, 0.0, np.inf, np.nan], np.float16),
        np.array([[1, 2], [3, 4]], ">i4"),
        np.array([1.5, -0.0], np.longdouble),
        np.arange(24.0).reshape(2, 3, 4).transpose(2, 1, 0),
    ],
)
def test_files_give_back_every_bit_and_the_order_in_memory(array: Any, tmp_path: Path) -> None:
    store = Store(0, measure=len if array.ndim else float, spill=Spill(tmp_path))
    held = store.keep(array)
    wanted = fingerprint(array)
    store.settle()
    assert held.array is None
    back = store.fetch(held)
    assert type(back) is np.ndarray
    assert fingerprint(back) == wanted
    assert not back.flags.writeable
    assert store.contents.kept.bytes == 0


def test_a_file_that_is_cut_off_while_its_array_is_in_use_harms_nobody(tmp_path: Path) -> None:
    program = f"""
import os
import numpy as np
from pathlib import Path
from gradviz.runtime.spill import Spill
from gradviz.runtime.store import Store
store = Store(0, measure=len, spill=Spill(Path({str(tmp_path)!r})))
held = store.keep(np.arange(100_000.0))
store.settle()
back = store.fetch(held)
os.truncate(held.file, 0)
print(int(back.sum()))
try:
    store.fetch(held)
except Exception as error:
    print(type(error).__name__, error.kind)
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.splitlines()) == (0, ["4999950000", "StoreError lost"])


@pytest.mark.parametrize("header", [b"nothing", b"PK\x03\x04", b"\x93NUMPY\x01\x00\xff\xff", None])
def test_a_file_that_holds_something_else_is_an_error_of_ours(header: bytes | None, tmp_path: Path) -> None:
    store = Store(0, measure=len, spill=Spill(tmp_path))
    held = store.keep(ten())
    store.settle()
    assert held.file is not None
    written = held.file.read_bytes()
    held.file.write_bytes(header or written.replace(b"(10,), }" + b" " * 14, b"(" + b"9" * 16 + b",), }"))
    with pytest.raises(StoreError) as caught:
        store.fetch(held)
    assert caught.value.kind == "lost"


def test_fingerprints_tell_bits_shapes_types_and_order_apart() -> None:
    a = np.arange(12.0).reshape(3, 4)
    others = [a + 1e-16 + 1e-15, a.reshape(4, 3), a.astype(np.float32), np.asfortranarray(a), np.where(a == 0, -0.0, a)]
    assert len({fingerprint(array) for array in (a, *others)}) == 6
    assert fingerprint(a) == fingerprint(a.copy())


def test_fingerprints_leave_out_bytes_that_stand_for_nothing() -> None:
    numbers = [1.5, -0.0, np.inf, 2.25]
    for dtype in (np.longdouble, np.clongdouble):
        found = set()
        for filling in (0, 255):
            room = np.full(4 * np.dtype(dtype).itemsize, filling, np.uint8).view(dtype)
            room[:] = numbers
            found.add(fingerprint(room))
        assert len(found) == 1
        assert fingerprint(np.array(numbers, dtype)) in found
        assert fingerprint(np.array([1.5, 0.0, np.inf, 2.25], dtype)) not in found


def test_a_shelf_says_shapes_without_fetching_and_shares_without_fetching() -> None:
    store = Store(0, measure=len)
    held = chain(store, 5)
    one: Shelf[str] = Shelf(store)
    for place, known in enumerate(held):
        one._held[f"x{place}"] = known
    before = store.contents.made_again
    other: Shelf[int] = Shelf(store)
    other.share(5, one, "x5")
    assert one.specs["x5"].shape == (10,)
    assert "x5" in one
    assert len(one) == 6
    assert store.contents.made_again == before
    np.testing.assert_array_equal(other[5], ten(5))
    assert store.contents.made_again > before
