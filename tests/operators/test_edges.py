"""At zeros, ties and tiny numbers a gradient is a number wherever the operator's value is one and its slope exists."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradviz.program import RunError
from tests.families import over
from tests.operators.cases import Array, Case
from tests.operators.test_gradients import DIFFERENTIABLE, dense, generated
from tests.operators.test_second_derivatives import DIFFERENTIABLE_TWICE, backward, differentiated, overwrites


def filled(number: float) -> Callable[[Array], Array]:
    """Arrays of one number."""
    return lambda x: np.full(x.shape, number)


def alternating(x: Array) -> Array:
    """0, 1, 0, 1, ..."""
    return np.asarray(np.arange(x.size, dtype=float).reshape(x.shape) % 2)


EDGES: dict[str, Callable[[Array], Array]] = {
    "zeros": filled(0.0),
    "negative zeros": filled(-0.0),
    "ones": filled(1.0),
    "zeros and ones": alternating,
    "numbers whose squares are 0": filled(1e-170),
    "the least normal number": filled(float(np.finfo(float).tiny)),
}

TOO_STEEP = {("DivGradient", "numbers whose squares are 0"), ("DivGradient", "the least normal number")}
"""Types and edges at which a gradient is beyond all floats, and nan as the sum of two such."""


def at_edge(case: Case, edge: str) -> dict[str, Array]:
    """The inputs of a case, floating-point ones filled anew."""
    fill = EDGES[edge]
    return {name: fill(x) if x.dtype.kind == "f" else x for name, x in case.inputs.items()}


def is_finite(values: Mapping[str, Any]) -> bool:
    """Whether all numbers are."""
    return all(np.isfinite(x).all() for x in values.values())


def finite_values(case: Case, edge: str) -> dict[str, Array] | None:
    """The inputs of a case at an edge; None where the operator refuses them, or gives what is not finite."""
    values = at_edge(case, edge)
    try:
        with np.errstate(all="ignore"):
            return values if is_finite(case.forward(values)) else None
    except RunError:
        return None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@over(DIFFERENTIABLE)
def test_a_gradient_is_a_number_where_the_value_is(case: Case) -> None:
    for edge in EDGES:
        values = finite_values(case, edge)
        if values is None or (case.type, edge) in TOO_STEEP:
            continue
        workspace, gradients = generated(case, values)
        for name in gradients.values():
            assert not np.isnan(workspace[name]).any(), f"{name} at {edge}"


def second_order(case: Case, values: Mapping[str, Array]) -> dict[str, Array]:
    """The gradients of all gradients of a case."""
    net, given, results = backward(replace(case, inputs=values))
    net = net.to_ssa() if overwrites(net, results) else net
    workspace, gradients = differentiated(net, given, results)
    return {name: workspace[dense(workspace, name, gradient)] for name, gradient in gradients.items() if name in values}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@over(DIFFERENTIABLE_TWICE)
def test_a_gradient_of_gradients_is_a_number_where_they_are(case: Case) -> None:
    for edge in ("zeros", "ones", "zeros and ones"):
        values = finite_values(case, edge)
        if values is None:
            continue
        workspace, gradients = generated(case, values)
        if is_finite({name: workspace[name] for name in gradients.values()}):
            for name, gradient in second_order(case, values).items():
                assert not np.isnan(gradient).any(), f"{name} at {edge}"
