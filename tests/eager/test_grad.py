"""gradviz.grad, and gradients that are Variables: derivatives of higher order."""

import gc
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from gradviz import Function, GradientError, Variable, functions, grad, no_grad
from tests.eager.differences import Array, assert_close, differences, floats, positive


class Cubed(Function):
    """x³, by hand."""

    def forward(self, xs: tuple[Array, ...]) -> Any:
        return xs[0] ** 3

    def backward(self, xs: tuple[Array, ...], gys: tuple[Array | None, ...]) -> Any:
        return 3 * xs[0] ** 2 * gys[0]


class TestGrad:
    """gradviz.grad."""

    def test_gives_gradients_and_touches_none(self) -> None:
        x, w = Variable([1.0, 2.0]), Variable([3.0, 4.0])
        y = x * w
        z = (y * y).sum()
        y.grad = before = np.array([1.0, 1.0])
        dx, dw, dy = grad([z], [x, w, y])
        np.testing.assert_array_equal(dy, 2 * y.data)
        np.testing.assert_array_equal(dx, 2 * y.data * w.data)
        np.testing.assert_array_equal(dw, 2 * y.data * x.data)
        assert [v.grad for v in (x, w, z)] == [None, None, None]
        np.testing.assert_array_equal(y.grad, before)

    def test_adds_up_what_several_outputs_bring(self) -> None:
        x = Variable([1.0, 2.0])
        y = x * x
        gradient = grad([y, y.sum(), x], x, [np.array([1.0, 10.0]), None, np.array([100.0, 100.0])])
        np.testing.assert_array_equal(gradient, [2 + 2 + 100, 40 + 4 + 100])

    def test_is_none_where_no_way_leads(self) -> None:
        x, other = Variable(1.0), Variable(1.0)
        assert grad([x * 2], [other]) == [None]
        assert grad([x * 2], [other * 2, x])[0] is None
        assert grad([Variable(1.0, requires_grad=False)], [x]) == [None]

    def test_of_an_output_itself_is_the_start(self) -> None:
        x = Variable(2.0)
        y = x * x
        assert grad([y], [y]) == [1.0]
        assert grad(x, x) == 1.0

    def test_runs_only_functions_on_the_way(self) -> None:
        x, w = Variable([1.0]), Variable([1.0])
        (dx,) = grad([(functions.apply("Floor", w * 2) * x).sum()], [x])
        np.testing.assert_array_equal(dx, [2])

    def test_hands_out_arrays_of_their_own(self) -> None:
        x, y = Variable([1.0]), Variable([1.0])
        dx, dy, again = grad([x + y], [x, y, x])
        assert not any(np.shares_memory(one, other) for one, other in combinations([dx, dy, again], 2))

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ((1.0, [Variable(1.0)]), "outputs of grad must be Variables, not float"),
            (([1.0], [Variable(1.0)]), "outputs of grad must be Variables, not float"),
            (([Variable(1.0)], ["x"]), "inputs of grad must be Variables, not str"),
            (([Variable(1.0)], [Variable(1.0)], [None, None]), "2 gradients are given for 1 outputs"),
        ],
    )
    def test_refuses_what_it_cannot_take(self, arguments: Any, words: str) -> None:
        with pytest.raises(GradientError, match=words):
            grad(*arguments)


class TestDoubleBackward:
    """Gradients that are Variables."""

    def test_gradients_are_variables_that_can_be_differentiated_again(self, schedule: str) -> None:
        x = Variable([1.0, 2.0])
        (x * x * x).sum().backward(create_graph=True, schedule=schedule)
        assert isinstance(x.grad, Variable)
        np.testing.assert_array_equal(x.grad.data, [3, 12])
        np.testing.assert_array_equal(grad(x.grad.sum(), x), [6, 12])

    def test_derivatives_of_every_order(self) -> None:
        x = Variable(0.7)
        y = functions.sin(x)
        for expected in (np.cos(0.7), -np.sin(0.7), -np.cos(0.7), np.sin(0.7)):
            y = grad(y, x, create_graph=True)
            np.testing.assert_allclose(y.data, expected)

    def test_reaches_the_gradient_that_it_started_with(self) -> None:
        x, v = Variable(positive(3)), Variable(floats(3, seed=1))
        (dx,) = grad([functions.log(x)], [x], [v], create_graph=True)
        np.testing.assert_allclose(grad(dx.sum(), v), 1 / x.data)

    def test_of_a_penalty_on_gradients(self, schedule: str) -> None:
        def penalty(x: Variable, w: Variable, b: Variable) -> Variable:
            y = functions.tanh(functions.linear(x, w, b)).sum()
            return functions.square(grad(y, x, create_graph=True)).sum()

        arrays = [floats(2, 3), floats(4, 3, seed=1), floats(4, seed=2)]
        variables = [Variable(array) for array in arrays]
        penalty(*variables).backward(schedule=schedule)
        for position, x in enumerate(variables):
            assert_close(x.grad, differences(penalty, arrays, position, np.ones(())))

    def test_through_outputs_that_nobody_holds_any_more(self) -> None:
        x = Variable([0.3, 0.4])
        z = functions.exp(functions.tanh(x)).sum()
        gc.collect()
        slope = grad(z, x, create_graph=True)
        curvature = grad(slope.sum(), x)
        t = np.tanh(x.data)
        np.testing.assert_allclose(curvature, np.exp(t) * (1 - t**2) * (1 - t**2 - 2 * t))

    def test_through_rows_of_a_table(self) -> None:
        table = Variable(floats(4, 2))
        y = functions.square(functions.embed_id([2, 0, 2], table)).sum()
        slope = grad(y, table, create_graph=True)
        np.testing.assert_allclose(grad((slope * slope).sum(), table), 32 * table.data * [[0.25], [0], [1], [0]])

    def test_works_inside_no_grad(self) -> None:
        x = Variable(2.0)
        y = x * x
        with no_grad():
            slope = grad(y, x, create_graph=True)
        assert grad(slope, x) == 2

    def test_of_a_weighted_sum_of_two(self) -> None:
        variables = [Variable(value) for value in (2.0, 3.0, 5.0, 7.0)]
        y = functions.apply("WeightedSum", *variables, grad_on_w=1)
        slopes = grad(y * y, variables, create_graph=True)
        assert grad(slopes, variables) == [2 * (factor * 17 + 41) for factor in (3, 2, 7, 5)]

    def test_without_a_rule_of_second_order_says_which(self, schedule: str) -> None:
        x = Variable([1.0, -2.0])
        y = Cubed()(x).sum()
        slope = grad(y, x, create_graph=True)
        np.testing.assert_array_equal(slope.data, [3, 12])
        with pytest.raises(GradientError, match="Cubed works on arrays") as caught:
            slope.sum().backward(schedule=schedule)
        assert caught.value.kind == "no_gradient_rule"

    def test_refuses_where_data_were_replaced_since(self, schedule: str) -> None:
        x = Variable(2.0, name="x")
        y = x * x
        x.data = 3.0
        with pytest.raises(GradientError, match="x got other data after Mul read it") as caught:
            y.backward(create_graph=True, schedule=schedule)
        assert caught.value.kind == "version_overwritten"

    def test_a_plain_pass_adds_to_a_gradient_that_is_a_variable(self, schedule: str) -> None:
        x = Variable(2.0)
        (x * x).backward(create_graph=True, schedule=schedule)
        (x * x).backward(schedule=schedule)
        assert x.grad == 8
        (x * x).backward(create_graph=True, schedule=schedule)
        assert x.grad.data == 12
