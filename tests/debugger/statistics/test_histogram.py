"""Histograms of values: what they count, what stands apart, and what of them a document may not claim."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gradviz
from gradviz.debugger.document import Trace, TraceError, decode, encode
from gradviz.debugger.statistics import short_statistics, statistics
from gradviz.debugger.statistics.measuring import BINS


@given(st.integers(0, 2**32 - 1), st.integers(100, 400), st.sampled_from([1e-30, 1.0, 1e30]))
def test_it_counts_as_numpy_does(seed: int, size: int, scale: float) -> None:
    array = np.random.default_rng(seed).normal(size=(1, size)) * scale
    counts, edges = np.histogram(array, BINS)
    found = np.asarray(statistics(array).histogram)
    assert found.sum() == size
    # An element on the edge between two bins may be counted in either, by the rounding of its place.
    near = [int(np.isclose(array, edge, rtol=1e-9, atol=0).sum()) for edge in edges]
    assert np.abs(found - counts).sum() <= 2 * sum(near)


def test_nan_and_infinities_are_no_part_of_it_and_zeros_are() -> None:
    array = np.concatenate([np.linspace(-1, 1, 101), [np.nan, np.inf, -np.inf], np.zeros(9)])
    value = statistics(array)
    assert sum(value.histogram) == 110
    assert (value.nan, value.inf, value.zero) == (1, 2, 10)
    assert value.histogram[BINS // 2] >= 10


@pytest.mark.parametrize(
    "array",
    [np.zeros((0, 3)), np.ones((6, 16)), np.full((9, 30), 2.0), np.array([[-1.7e308, 1.7e308] * 60]), np.array(3.0)],
    ids=["empty", "shown whole", "all equal", "too far apart", "one number"],
)
def test_there_is_none_where_it_would_say_nothing(array: np.ndarray) -> None:
    assert statistics(array).histogram == []


def test_arrays_measured_together_have_those_of_each() -> None:
    arrays = [np.random.default_rng(seed).normal(size=(7, 20)) for seed in range(5)]
    arrays[2][0, 0] = np.nan
    arrays[3][:] = 1.0
    together = short_statistics(arrays, (4, 4))
    assert [value.histogram for value in together] == [statistics(array).histogram for array in arrays]


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.float16, np.complex64])
def test_every_dtype_is_counted(dtype: type[np.generic]) -> None:
    assert sum(statistics((np.arange(120) % 7).astype(dtype)).histogram) == 120


@pytest.fixture
def document() -> Trace:
    """With a value whose histogram is known."""
    net = gradviz.Net("n")
    net.Tanh("x", "y")
    ws = gradviz.Workspace()
    ws.feed("x", np.arange(200, dtype=np.float32))
    return gradviz.debug(net, ["y"], workspace=ws).trace()


def test_it_is_in_the_document_as_it_was(document: Trace) -> None:
    assert document.values["x@0"].histogram == [10] * BINS
    assert decode(encode(document)) == document


@pytest.mark.parametrize("counts", ["[1]", "[-10,210]", "[" + ",".join(["0"] * 99) + ",200]"])
def test_a_document_that_claims_other_counts_is_refused(document: Trace, counts: str) -> None:
    written = encode(document).decode().replace(str([10] * BINS).replace(" ", ""), counts, 1)
    with pytest.raises(TraceError, match="histogram"):
        decode(written)
