"""Every function of gradviz.functions: its values are numpy's, its gradients those of central differences."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from gradviz import Variable, compare, device, grad
from gradviz import functions as F
from tests.eager.differences import assert_close, differences, floats
from tests.eager.functions import function_cases, image_cases
from tests.eager.functions.function_cases import Case
from tests.families import over

CONSTANTS = {"argmax", "argmin", "ceil", "floor", "sign", "stop_gradient"}
APART = {*CONSTANTS, "apply", "cast", "dropout"}
"""Functions without a gradient, and those of which a table cannot tell; tests below do."""

CASES = [*function_cases.CASES, *image_cases.CASES]
EVERY_CASE = over(CASES)


def backward(
    case: Case, dtype: Any = np.float64, schedule: str = "rank"
) -> tuple[Variable, np.ndarray, list[Variable]]:
    """What the function gives, a gradient of it, and the inputs after the backward pass from there."""
    inputs = [Variable(array.astype(dtype)) for array in case.arrays]
    y = case.function(*inputs)
    weight = floats(*y.shape, seed=7).astype(dtype)
    y.backward(gradient=weight, schedule=schedule)
    return y, weight, inputs


@EVERY_CASE
def test_values_are_those_of_numpy(case: Case) -> None:
    y, expected = case.function(*map(Variable, case.arrays)), np.asarray(case.numpy(*case.arrays))
    assert y.shape == expected.shape
    assert y.dtype == expected.dtype
    np.testing.assert_allclose(y.data, expected, rtol=1e-12, atol=1e-14)


@EVERY_CASE
def test_gradients_are_those_of_central_differences(case: Case) -> None:
    _, weight, inputs = backward(case)
    for position, x in enumerate(inputs):
        assert_close(x.grad, differences(case.function, case.arrays, position, weight))


@EVERY_CASE
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_tape_gives_the_same_gradients(case: Case, dtype: Any) -> None:
    (*_, expected), (*_, inputs) = backward(case, dtype), backward(case, dtype, "tape")
    for x, y in zip(inputs, expected, strict=True):
        assert x.grad.dtype == y.grad.dtype
        np.testing.assert_array_equal(x.grad, y.grad)


@EVERY_CASE
def test_run_as_a_net_it_gives_the_same_gradients(case: Case) -> None:
    def program(*inputs: Variable) -> Variable:
        return F.identity(case.function(*inputs))

    gradient = floats(*program(*map(Variable, case.arrays)).shape, seed=7)
    found = compare(program, *case.arrays, gradient=gradient)
    assert found.agree, str(found)


@EVERY_CASE
def test_gradients_of_gradients_are_those_of_central_differences(case: Case) -> None:
    def slopes(*inputs: Variable) -> Variable:
        y = case.function(*inputs)
        made = grad([y], inputs, [floats(*y.shape, seed=7)], create_graph=True)
        terms = [F.sum(g * floats(*g.shape, seed=20 + at)) for at, g in enumerate(made)]
        return sum(terms[1:], terms[0])

    inputs = [Variable(array) for array in case.arrays]
    for position, second in enumerate(grad([slopes(*inputs)], inputs)):
        expected = differences(slopes, case.arrays, position, np.ones(()))
        assert_close(np.zeros(expected.shape) if second is None else second, expected, 3e-6)


@EVERY_CASE
def test_float32_stays_float32(case: Case) -> None:
    (single, _, inputs), (double, _, expected) = backward(case, np.float32), backward(case)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single.data, double.data, rtol=1e-4, atol=1e-5)
    for x, y in zip(inputs, expected, strict=True):
        assert x.grad.dtype == np.float32
        np.testing.assert_allclose(x.grad, y.grad, rtol=2e-4, atol=2e-5)


@EVERY_CASE
def test_on_a_gpu_it_gives_the_same(case: Case, cupy: Any) -> None:
    with device("cuda:0"):
        there = [Variable(array) for array in case.arrays]
        y = case.function(*there)
    on_host, weight, here = backward(case)
    y.backward(gradient=cupy.asarray(weight))
    np.testing.assert_allclose(y.data.get(), on_host.data, rtol=1e-9, atol=1e-12)
    for x, expected in zip(there, here, strict=True):
        assert isinstance(x.grad, cupy.ndarray)
        np.testing.assert_allclose(x.grad.get(), expected.grad, rtol=1e-9, atol=1e-12)


def test_the_functions_are_a_module_to_import() -> None:
    assert import_module("gradviz.functions") is F
    assert F.tanh is import_module("gradviz.eager.functions").tanh


def test_every_function_has_a_case() -> None:
    assert {case.name for case in CASES} | APART == set(F.__all__)
    assert len(F.__all__) >= 80


def test_every_function_says_what_it_does() -> None:
    assert [name for name in F.__all__ if not getattr(F, name).__doc__] == []
    assert "hyperbolic tangent" in F.tanh.__doc__.lower()


@pytest.mark.parametrize("name", sorted(CONSTANTS))
def test_constants_have_the_values_of_numpy_and_no_gradient(name: str) -> None:
    x = Variable([[0.5, -1.5, 2.0], [-0.25, 0.0, 3.5]])
    y = getattr(F, name)(x)
    np.testing.assert_array_equal(y.data, getattr(np, name, np.array)(x.data))
    assert not y.requires_grad


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_along_an_axis(name: str) -> None:
    x = floats(3, 4)
    np.testing.assert_array_equal(getattr(F, name)(x, axis=1).data, getattr(np, name)(x, axis=1))


def test_gradients_come_back_from_another_dtype() -> None:
    x = Variable([0.25, 1.5])
    y = F.cast(x, np.float32)
    (y * y).sum().backward(retain_grad=True)
    assert (y.dtype, y.grad.dtype, x.grad.dtype) == (np.float32, np.float32, np.float64)
    np.testing.assert_array_equal(x.grad, [0.5, 3])
    assert F.cast(x, "float64") is x
    assert not F.cast(x, int).requires_grad


def test_dropout_keeps_the_mean_drops_the_same_for_a_seed_and_another_for_each_call() -> None:
    x = Variable(np.ones(20_000))
    y = F.dropout(x, 0.25, seed=3)
    y.backward(gradient=np.ones(20_000))
    assert set(np.unique(y.data)) == {0, 1 / 0.75}
    assert abs(y.data.mean() - 1) < 0.01
    np.testing.assert_array_equal(x.grad, y.data)
    np.testing.assert_array_equal(F.dropout(x, 0.25, seed=3).data, y.data)
    assert (F.dropout(x, 0.25).data != F.dropout(x, 0.25).data).any()


def test_dropout_repeats_with_the_seed_of_numpy() -> None:
    np.random.seed(5)
    first = F.dropout(np.ones(100)).data
    np.random.seed(5)
    np.testing.assert_array_equal(F.dropout(np.ones(100)).data, first)


def test_any_type_of_the_table_can_be_applied() -> None:
    x = Variable(floats(3, 4))
    mean, variance = F.apply("Moments", x, outputs=2, axes=[1])
    np.testing.assert_allclose(mean.data, x.data.mean(axis=1, keepdims=True))
    F.sum(F.apply("Scale", variance, scale=2.0)).backward(retain_grad=True)
    np.testing.assert_array_equal(variance.grad, np.full((3, 1), 2.0))
    assert mean.grad is None
