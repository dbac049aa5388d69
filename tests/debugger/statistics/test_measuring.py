"""Arrays measured together have the statistics that each has alone, to the last bit."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from gradviz.debugger.document import Value, number
from gradviz.debugger.statistics import FULL_PREVIEW, all_statistics, previews, short_statistics, statistics

DTYPES = ("?", "i1", "u1", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
EXTREME = (0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1e-310, 6e-8, 1e-40, 1.7e308, -1.7e308, 1e-17, 1e22)


@st.composite
def alike(draw: st.DrawFn) -> list[np.ndarray]:
    """Some arrays of one shape and dtype."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
    bits = 8 * dtype.itemsize // (2 if dtype.kind == "c" else 1)
    ordinary = arrays_of.from_dtype(dtype)
    if dtype.kind in "fc":
        with np.errstate(over="ignore"):
            extreme = [np.array(one).astype(f"f{bits // 8}").astype(dtype)[()] for one in EXTREME]
        ordinary = ordinary | st.sampled_from(extreme)
    return draw(st.lists(arrays_of.arrays(dtype, shape, elements=ordinary), min_size=1, max_size=5))


def written(value: Value) -> str:
    """All that it says; unlike `==` it tells 0 from -0."""
    return repr(value)


@settings(max_examples=150, deadline=None)
@given(st.lists(alike(), min_size=1, max_size=3))
def test_together_as_alone(groups: list[list[np.ndarray]]) -> None:
    mixed = [array for group in groups for array in group]
    assert [*map(written, all_statistics(mixed))] == [written(statistics(array)) for array in mixed]
    for preview in (FULL_PREVIEW, (2, 3)):
        alone = [short_statistics([array], preview)[0] for array in mixed]
        assert [*map(written, short_statistics(mixed, preview))] == [*map(written, alone)]


def test_thousands_of_small_arrays_as_alone() -> None:
    random = np.random.default_rng(0)
    table = (random.normal(size=(40_000, 4)) * 10.0 ** random.integers(-12, 12, size=(40_000, 1))).astype("f4")
    chosen = random.integers(0, len(table), size=200).tolist()
    together = all_statistics([*table])
    assert [written(together[row]) for row in chosen] == [written(statistics(table[row])) for row in chosen]


digits = st.integers(-(10**7), 10**7)


@given(st.lists(st.floats() | st.builds(lambda whole, power: whole * 10.0**power, digits, st.integers(-30, 30))))
def test_a_preview_has_the_six_digits_of_text(numbers: list[float]) -> None:
    together = np.array(numbers * 30)[None, None]  # as many as are rounded together
    assert repr(previews(together)[0]) == repr(
        [[number(float(f"{one:.6g}")) for one in numbers * 30]] if numbers else []
    )


def test_the_middle_between_two_numbers_of_six_digits_goes_to_the_even_one() -> None:
    ties = [whole + 0.5 for whole in range(100_000, 100_100)] + [(whole + 0.5) / 8 for whole in range(800_000, 800_100)]
    assert previews(np.array([[ties]]))[0][0] == [float(f"{tie:.6g}") for tie in ties]
