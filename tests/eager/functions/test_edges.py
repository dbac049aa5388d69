"""Every function at its edges: first derivatives are PyTorch's, or follow a convention that says why they are not."""

import warnings
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest

from gradviz import Variable, grad
from gradviz import functions as F

pytest.importorskip("torch", reason="the reference is PyTorch's autograd: pip install torch")

import torch

from tests.eager.functions import edge_cases, edge_rows, edge_shapes
from tests.eager.functions.conventions import CONVENTIONS, Convention
from tests.eager.functions.edge_cases import GREATEST, Edge
from tests.families import over

Array = np.ndarray[Any, Any]
EDGES = [*edge_cases.EDGES, *edge_rows.EDGES, *edge_shapes.EDGES]


def weight(shape: tuple[int, ...]) -> Array:
    """Numbers from 0.5 to 1.5, none twice."""
    return np.linspace(0.5, 1.5, max(prod(shape), 2))[: prod(shape)].reshape(shape)


def ours(edge: Edge, weight: Callable[..., Array] = weight) -> list[Array]:
    """The value, and the gradients by rank."""
    xs = [Variable(array) for array in edge.arrays]
    y = edge.ours(*xs)
    y.backward(gradient=weight(y.shape).astype(y.dtype))
    return [y.data, *[np.zeros(x.shape) if x.grad is None else x.grad for x in xs]]


def theirs(edge: Edge, weight: Callable[..., Array] = weight) -> list[Array]:
    """The same by PyTorch."""
    xs = [torch.tensor(array, requires_grad=True) for array in edge.arrays]
    y = edge.theirs(*xs)
    y.backward(torch.tensor(weight(tuple(y.shape))).to(y.dtype))
    return [y.detach().numpy(), *[np.zeros(tuple(x.shape)) if x.grad is None else x.grad.numpy() for x in xs]]


def differ(found: Array, expected: Array) -> bool:
    """Whether shapes or numbers differ."""
    close = found.shape == expected.shape and np.allclose(found, expected, rtol=1e-9, atol=1e-14, equal_nan=True)
    return not close


@over(EDGES)
def test_value_and_gradients_are_those_of_pytorch(edge: Edge) -> None:
    with np.errstate(all="ignore"):
        found = ours(edge)
    for one, expected in zip(found, theirs(edge), strict=True):
        assert one.shape == expected.shape
        np.testing.assert_allclose(one, expected, rtol=1e-9, atol=1e-14)


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("convention", CONVENTIONS, ids=str)
def test_a_convention_of_ours_holds_and_is_not_that_of_pytorch(convention: Convention) -> None:
    with np.errstate(all="ignore"):
        found = ours(convention.edge, np.ones)
    for one, expected in zip(found, (convention.value, *convention.gradients), strict=True):
        np.testing.assert_allclose(one, np.asarray(expected, float), rtol=1e-9, atol=1e-14)
    assert any(differ(one, other) for one, other in zip(found, theirs(convention.edge, np.ones), strict=True))
    assert convention.why


@pytest.mark.parametrize("name", ["std", "norm"])
@pytest.mark.parametrize("x", [[0.0, -0.0], [3.0, 3.0], [1e-200, 2e-200]])
def test_the_root_of_no_spread_and_no_length_does_not_bend(name: str, x: list[float]) -> None:
    x = Variable(np.array(x) - x[0])
    (slope,) = grad([getattr(F, name)(x)], [x], create_graph=True)
    np.testing.assert_array_equal(grad([F.sum(slope * [2.0, 3.0])], [x])[0], [0, 0])


def test_hubers_loss_bends_where_nothing_is_lost() -> None:
    x = Variable(np.array([1.0, 2.0, 9.0]))
    slope = grad(F.huber_loss(x, [1.0, 2.5, 2.0]), x, create_graph=True)
    np.testing.assert_allclose(grad(F.sum(slope), x), [1 / 3, 1 / 3, 0])


@pytest.mark.parametrize("x", [GREATEST, -GREATEST, 1e200])
def test_what_has_become_straight_does_not_bend(x: float) -> None:
    def fast_gelu(v: Variable) -> Any:
        return F.apply("Gelu", v, fast_gelu=1)

    for function in (F.arctan, F.tanh, F.sigmoid, F.swish, F.gelu, fast_gelu, F.mish, F.softsign, F.softplus):
        v = Variable(x)
        slope = grad(function(v), v, create_graph=True)
        assert grad(slope, v) == 0, function


def test_every_function_has_an_edge() -> None:
    assert {edge.name for edge in EDGES} == set(F.__all__)


def calls(edge: Edge) -> list[tuple[Array, ...]]:
    """The calls that an edge consists of: one for each element where each is one of its own."""
    if not edge.is_pointwise or edge.arrays[0].ndim != 1:
        return [edge.arrays]
    return [tuple(np.array(x) for x in xs) for xs in zip(*edge.arrays, strict=True)]


@over(edge for edge in EDGES if edge.about != "large")
def test_numpy_warns_only_where_a_number_that_is_not_finite_is_born(edge: Edge) -> None:
    for arrays in calls(edge):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            y = edge.ours(*map(Variable, arrays))
            if np.isfinite(y.data).all():
                y.backward(gradient=weight(y.shape).astype(y.dtype))
        if np.isfinite(y.data).all():
            assert [str(warning.message) for warning in warned] == [], arrays
