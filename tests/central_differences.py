"""Central differences: gradients that know no rules."""

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def central_differences(function: Callable[[Array], float], x: Array) -> Array:
    """The gradient of `function` at `x`, moved one element at a time, in float64."""
    result = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        step = 6e-6 * max(1.0, abs(float(x[index])))
        sides = []
        for sign in (1, -1):
            moved = x.copy()
            moved[index] += sign * step
            sides.append(function(moved))
        result[index] = (sides[0] - sides[1]) / (2 * step)
    return result
