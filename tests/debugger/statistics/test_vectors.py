"""Contributions that are compared together are what each of them is alone, to the last bit."""

import math

import numpy as np
import pytest

from gradviz.debugger.statistics import compare, norm, vector

SHAPES = [(), (1,), (2,), (3, 5), (130,), (0, 2)]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128", "int64", "bool"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_together_as_alone(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(len(shape) + math.prod(shape))
    parts = [(rng.standard_normal(shape) * 3).astype(dtype) for _ in range(7)]
    if dtype == "float64":
        parts += [parts[0] * scale for scale in (0.0, 1e-200, 1e200, np.nan)]
    total = vector(parts[1] + parts[2])
    together = compare(parts, total)
    for place, part in enumerate(parts):
        alone = compare([part], total)
        for found, one in zip(together[:3], alone[:3], strict=True):
            assert (found[place] is None) == (one[0] is None)
            assert one[0] is None or np.array_equal(found[place], one[0], equal_nan=True)
        assert np.array_equal(together.norms[place], norm(vector(part)), equal_nan=True)


def test_more_parts_than_are_measured_at_once_keep_their_order() -> None:
    parts = [np.full(1 << 18, float(place)) for place in range(1, 10)]
    found = compare(parts, vector(sum(parts)))
    assert found.norms == [512.0 * place for place in range(1, 10)]
    assert found.shares == pytest.approx([place / 45 for place in range(1, 10)])
    assert found.cancellation == pytest.approx(0.0)


@pytest.mark.parametrize("total", [[4.0, 3.0], [4.0 + 0j, 3.0]])
@pytest.mark.parametrize("parts", [([1.0, 2.0], [3.0, 1.0]), ([1.0 + 1j, 2.0], [3.0 - 1j, 1.0])])
def test_real_numbers_among_complex_ones_are_taken_for_those(
    parts: tuple[list[complex], ...], total: list[float]
) -> None:
    compared = compare([np.array(part) for part in parts], vector(np.array(total)))
    assert compared == compare([np.array(part, complex) for part in parts], vector(np.array(total, complex)))
    assert compared.norms == pytest.approx([np.linalg.norm(part) for part in parts])
    assert sum(share or 0 for share in compared.shares) == pytest.approx(1)
