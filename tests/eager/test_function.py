"""Functions of one's own: forward and backward methods on arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from gradviz import Function, GradientError, RunError, Variable, functions
from tests.eager.differences import Array, assert_close, differences, floats


class Cubed(Function):
    """x³, by hand."""

    def forward(self, xs: tuple[Array, ...]) -> Any:
        return xs[0] ** 3

    def backward(self, xs: tuple[Array, ...], gys: tuple[Array | None, ...]) -> Any:
        return 3 * xs[0] ** 2 * gys[0]


class SumAndProduct(Function):
    """x + y and x · y; an output without gradient counts as zeros."""

    def forward(self, xs: tuple[Array, ...]) -> Any:
        return xs[0] + xs[1], xs[0] * xs[1]

    def backward(self, xs: tuple[Array, ...], gys: tuple[Array | None, ...]) -> Any:
        of_sum, of_product = (np.zeros_like(xs[0]) if gy is None else gy for gy in gys)
        return of_sum + of_product * xs[1], of_sum + of_product * xs[0]


def test_takes_part_like_any_other(schedule: str) -> None:
    x, y = floats(3), floats(3, seed=1)

    def program(a: Variable, b: Variable) -> Variable:
        total, product = SumAndProduct()(a, b)
        return functions.tanh(total) * product + Cubed()(a)

    variables = [Variable(x), Variable(y)]
    z, weight = program(*variables), floats(3, seed=2)
    z.backward(gradient=weight, schedule=schedule)
    for position, v in enumerate(variables):
        assert_close(v.grad, differences(program, [x, y], position, weight))


def test_may_fill_one_array_in_every_backward(schedule: str) -> None:
    class Doubled(Function):
        gx = np.zeros(2)

        def forward(self, xs: tuple[Array, ...]) -> Any:
            return 2 * xs[0]

        def backward(self, xs: tuple[Array, ...], gys: tuple[Array | None, ...]) -> Any:
            return np.multiply(2, gys[0], out=self.gx)

    x, y = Variable(np.ones(2)), Variable(np.ones(2))
    functions.sum(Doubled()(x) + 10 * Doubled()(y)).backward(schedule=schedule)
    assert [v.grad.tolist() for v in (x, y)] == [[2, 2], [20, 20]]


def test_has_none_for_an_output_without_gradient(schedule: str) -> None:
    x, y = Variable(2.0), Variable(3.0)
    SumAndProduct()(x, y)[1].backward(schedule=schedule)
    assert [v.grad for v in (x, y)] == [3, 2]


def test_may_keep_what_it_likes_for_each_call(schedule: str) -> None:
    class Masked(Function):
        def __init__(self, least: float) -> None:
            self.least = least

        def forward(self, xs: tuple[Array, ...]) -> Any:
            self.mask = xs[0] > self.least
            return xs[0] * self.mask

        def backward(self, xs: tuple[Array, ...], gys: tuple[Array | None, ...]) -> Any:
            return gys[0] * self.mask

    masked = Masked(0.0)
    x, y = Variable([1.0, -1.0]), Variable([-1.0, 1.0])
    (masked(x) + masked(y)).sum().backward(schedule=schedule)
    np.testing.assert_array_equal([v.grad for v in (x, y)], [[1, 0], [0, 1]])
    assert masked(x).creator.mask.tolist() == [True, False]


def test_may_be_a_dataclass(schedule: str) -> None:
    @dataclass
    class Scaled(Function):
        factor: float

        def forward(self, xs: tuple[Array, ...]) -> Any:
            return xs[0] * self.factor

        def backward(self, xs: tuple[Array, ...], gys: tuple[Array | None, ...]) -> Any:
            return [gys[0] * self.factor]

    x = Variable(1.0)
    Scaled(3.0)(Scaled(3.0)(x)).backward(schedule=schedule)
    assert x.grad == 9


def test_gets_arrays_that_it_cannot_write_into(schedule: str) -> None:
    class Careless(Function):
        def forward(self, xs: tuple[Array, ...]) -> Any:
            return xs[0] * 2

        def backward(self, xs: tuple[Array, ...], gys: tuple[Array | None, ...]) -> Any:
            gys[0][:] = 0
            return gys[0]

    x = Variable([1.0])
    with pytest.raises(ValueError, match="read-only"):
        Careless()(x).backward(schedule=schedule)
    assert x.grad is None


def test_may_return_what_it_was_given(schedule: str) -> None:
    class Same(Function):
        def forward(self, xs: tuple[Array, ...]) -> Any:
            return xs[0]

        def backward(self, xs: tuple[Array, ...], gys: tuple[Array | None, ...]) -> Any:
            return gys[0]

    x = Variable([1.0, 2.0])
    y = Same()(x)
    y.backward(gradient=np.ones(2), schedule=schedule)
    x.grad[:] = 5
    np.testing.assert_array_equal(y.grad, [1, 1])
    assert not np.shares_memory(x.data, y.data)


def test_what_a_backward_method_returns_is_never_handed_out_itself(schedule: str) -> None:
    class Cached(Function):
        gradient = np.ones(2)

        def forward(self, xs: tuple[Array, ...]) -> Any:
            return xs[0] * 1

        def backward(self, xs: tuple[Array, ...], gys: tuple[Array | None, ...]) -> Any:
            return self.gradient

    x = Variable([1.0, 2.0])
    Cached()(x).sum().backward(schedule=schedule)
    x.grad[:] = 7
    np.testing.assert_array_equal(Cached.gradient, [1, 1])


def test_gets_the_gradient_of_a_table_as_an_array(schedule: str) -> None:
    table = Variable(floats(3, 2))
    doubled = SumAndProduct()(table, table)[0]
    functions.embed_id([0, 0], doubled).backward(gradient=np.ones((2, 2)), schedule=schedule)
    np.testing.assert_array_equal(table.grad, [[4, 4], [0, 0], [0, 0]])


def test_array_and_number_inputs_are_constants(schedule: str) -> None:
    x = Variable([2.0, 3.0])
    total, product = SumAndProduct()(x, np.array([5.0, 7.0]))
    (total + product).sum().backward(schedule=schedule)
    np.testing.assert_array_equal(x.grad, [6, 8])


@pytest.mark.parametrize(
    ("made", "words", "kind"),
    [
        ((1.0, 2.0), "2 gradients for 1 input", "rule_failed"),
        ((), "0 gradients for 1 input", "rule_failed"),
        (1.0, "must be an array, not float", "bad_gradient"),
        (np.ones(3), r"got float64 \(3,\)", "bad_gradient"),
        (np.ones(2, np.float32), r"got float32 \(2,\)", "bad_gradient"),
    ],
)
def test_a_backward_method_that_returns_what_does_not_fit_is_refused(
    made: Any, words: str, kind: str, schedule: str
) -> None:
    class Wrong(Function):
        def forward(self, xs: tuple[Array, ...]) -> Any:
            return xs[0] * 2

        def backward(self, xs: tuple[Array, ...], gys: tuple[Array | None, ...]) -> Any:
            return made

    x, w = Variable([1.0, 2.0]), Variable([1.0, 2.0])
    y = Wrong()(x) * w
    with pytest.raises(GradientError, match=words) as caught:
        y.backward(gradient=np.ones(2), schedule=schedule)
    assert caught.value.kind == kind
    assert "The backward method of Wrong returned" in caught.value.message
    assert [v.grad for v in (x, w, y)] == [None, None, None]


def test_a_forward_method_that_returns_no_arrays_is_refused() -> None:
    class Wrong(Function):
        def forward(self, xs: tuple[Array, ...]) -> Any:
            return "text"

    with pytest.raises(RunError, match=r"Wrong.*returned str 'text' instead of an array") as caught:
        Wrong()(Variable(1.0))
    assert caught.value.kind == "kernel_failed"
