"""Central differences of functions of Variables, and arrays that keep away from kinks and poles."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradviz import Variable
from tests.central_differences import Array, central_differences


def floats(*shape: int, seed: int = 0, low: float = 0.2, high: float = 1.7) -> Array:
    """Random numbers of both signs whose magnitudes lie between `low` and `high`."""
    random = np.random.default_rng([seed, *shape])
    return np.asarray(random.uniform(low, high, shape) * random.choice([-1.0, 1.0], shape))


def positive(*shape: int, seed: int = 0) -> Array:
    """Random numbers above 0."""
    return np.abs(floats(*shape, seed=seed))


def inside(*shape: int, seed: int = 0) -> Array:
    """Random numbers from -0.9 to 0.9."""
    return floats(*shape, seed=seed, low=0.1, high=0.9)


def differences(function: Callable[..., Any], arrays: Sequence[Array], position: int, weight: Array) -> Array:
    """The gradient of Σ weight · function(*arrays) with regard to the array at `position`."""

    def total(x: Array) -> float:
        values = [*arrays[:position], x, *arrays[position + 1 :]]
        return float((np.asarray(function(*map(Variable, values)).data) * weight).sum())

    return central_differences(total, arrays[position])


def assert_close(actual: Array, expected: Array, tolerance: float = 1e-6) -> None:
    """The same shape, and the same numbers as closely as differences tell."""
    assert actual.shape == expected.shape
    assert np.linalg.norm(actual - expected) <= tolerance * max(np.linalg.norm(expected), 1e-2)
