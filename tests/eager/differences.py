"""Central differences of functions of Variables, and arrays that keep away from kinks and poles."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradviz import Variable

Array = np.ndarray[Any, Any]


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
    x, result = arrays[position], np.zeros(arrays[position].shape)
    for index in np.ndindex(x.shape):
        step = 6e-6 * max(1.0, abs(float(x[index])))
        sides = []
        for sign in (1, -1):
            moved = x.copy()
            moved[index] += sign * step
            values = [*arrays[:position], moved, *arrays[position + 1 :]]
            sides.append(float((np.asarray(function(*map(Variable, values)).data) * weight).sum()))
        result[index] = (sides[0] - sides[1]) / (2 * step)
    return result


def assert_close(actual: Array, expected: Array, tolerance: float = 1e-6) -> None:
    """The same shape, and the same numbers as closely as differences tell."""
    assert actual.shape == expected.shape
    assert np.linalg.norm(actual - expected) <= tolerance * max(np.linalg.norm(expected), 1e-2)
