"""Variables on GPUs: they stay there, gradients come back to where they belong, and devices are not mixed unasked."""

import sys
from typing import Any

import numpy as np
import pytest

from gradviz import Device, Function, GradientError, RunError, TimerHook, Variable, compare, functions, grad
from tests.cupy_stand_in import stand_in
from tests.eager.differences import Array, floats

GPU = Device("cuda", 0)


def on_gpu(cupy: Any, array: Any, **options: Any) -> Variable:
    """A Variable on GPU 0."""
    return Variable(cupy.asarray(array), **options)


def program(x: Variable, w: Variable, table: Variable) -> Variable:
    """Something of everything: broadcasting, rows, reductions, numbers, indices, masks, a loss."""
    h = functions.tanh(x @ w + 1) * 0.5 + functions.embed_id([[1, 0], [0, 3]], table).sum(axis=1)
    chosen = h[[0, 1, 1]] * functions.where([True, False, True, True], 2.0, x[:, :1].mean())
    return functions.softmax_cross_entropy(h[:, ::-1], [2, 0]) + (chosen**2).sum() + h[h > 0].mean()


def test_values_and_gradients_are_those_of_the_cpu(cupy: Any, schedule: str) -> None:
    arrays = [floats(2, 3), floats(3, 4, seed=1), floats(5, 4, seed=2)]
    here, there = [Variable(array) for array in arrays], [on_gpu(cupy, array) for array in arrays]
    y = program(*there)
    y.backward(retain_grad=True, schedule=schedule)
    program(*here).backward(schedule=schedule)
    assert y.device == GPU
    for x, other in zip(here, there, strict=True):
        assert other.device == GPU
        assert isinstance(other.grad, cupy.ndarray)
        np.testing.assert_allclose(other.grad.get(), x.grad, rtol=1e-9)


def test_gradients_of_gradients_stay_there(cupy: Any) -> None:
    x = on_gpu(cupy, [0.3, 0.4])
    slope = grad(functions.sin(x * x).sum(), x, create_graph=True)
    curvature = grad(slope.sum(), x)
    assert isinstance(curvature, cupy.ndarray)
    v = x.data.get()
    np.testing.assert_allclose(curvature.get(), 2 * np.cos(v * v) - 4 * v * v * np.sin(v * v), rtol=1e-9)


def test_dtypes_that_meet_come_back_apart(cupy: Any, schedule: str) -> None:
    x, w = on_gpu(cupy, np.ones(3, np.float32)), on_gpu(cupy, np.ones(3))
    (x * w).sum().backward(schedule=schedule)
    assert (x.grad.dtype, w.grad.dtype) == (np.float32, np.float64)


def test_moving_is_a_function_whose_gradient_moves_back(cupy: Any, schedule: str) -> None:
    x = Variable([1.0, 2.0])
    y = x.to_gpu()
    assert (x.device, y.device) == (Device("cpu"), GPU)
    z = (y * y).to_cpu()
    z.sum().backward(retain_grad=True, schedule=schedule)
    assert isinstance(y.grad, cupy.ndarray)
    assert isinstance(x.grad, np.ndarray)
    np.testing.assert_array_equal(x.grad, [2, 4])
    assert x.to_cpu() is x
    assert y.to_gpu(0) is y


def test_gradients_that_are_variables_move_back_too(cupy: Any) -> None:
    x = Variable([1.0, 2.0])
    y = x.to_gpu()
    slope = grad((y * y * y).sum(), x, create_graph=True)
    assert slope.device == Device("cpu")
    np.testing.assert_array_equal(grad(slope.sum(), x), [6, 12])


def test_inputs_on_different_devices_are_refused(cupy: Any) -> None:
    x, y = Variable([1.0]), on_gpu(cupy, [1.0])
    for mixed in (lambda: x * y, lambda: y + np.ones(1), lambda: Passed()(x, y)):
        with pytest.raises(RunError, match=r"on cuda:0.*lie on different devices") as caught:
            mixed()
        assert caught.value.kind == "bad_device"
        assert "to_gpu()" in caught.value.explain()


def test_numbers_and_lists_go_where_the_variables_are(cupy: Any) -> None:
    x = on_gpu(cupy, [[1.0, 2.0]])
    for y in (x * 2, 1 - x, x * [1, 2], x / [[2.0]], x[[0, 0]], functions.take(x, [1], 1)):
        assert y.device == GPU


@pytest.mark.parametrize("bad", [lambda cupy: np.ones(2), lambda cupy: cupy.asarray([1.0])])
def test_a_gradient_on_another_device_or_of_another_shape_is_refused(cupy: Any, bad: Any, schedule: str) -> None:
    x = on_gpu(cupy, [1.0, 2.0])
    with pytest.raises(GradientError, match="on cuda:0") as caught:
        x.grad = bad(cupy)
    assert caught.value.kind == "bad_gradient"
    with pytest.raises(GradientError):
        (x * 2).backward(gradient=bad(cupy), schedule=schedule)


def test_all_ways_to_differentiate_give_the_same_there(cupy: Any) -> None:
    variables = [on_gpu(cupy, array) for array in (floats(2, 3), floats(3, 4, seed=1), floats(5, 4, seed=2))]
    assert compare(program, *variables).agree
    assert compare(lambda x: functions.tanh(x.to_cpu() * 2), variables[0]).agree


def test_functions_of_ones_own_run_there(cupy: Any, schedule: str) -> None:
    x = on_gpu(cupy, [1.0, 2.0])
    y = Passed()(x * 1)
    (y * y).sum().backward(schedule=schedule)
    np.testing.assert_array_equal(x.grad.get(), [2, 4])


def test_hooks_see_arrays_of_the_gpu_and_timers_wait_for_it(cupy: Any, schedule: str) -> None:
    with TimerHook() as timer:
        (on_gpu(cupy, [1.0]) * 2).backward(schedule=schedule)
    assert [(label, direction) for label, direction, _ in timer.call_history] == [
        ("Scale", "forward"),
        ("Scale", "backward"),
    ]


def test_numpy_and_repr_read_a_copy(cupy: Any) -> None:
    x = on_gpu(cupy, [1.0, 2.0])
    np.testing.assert_array_equal(np.asarray(x), [1, 2])
    assert repr(x) == "Variable([1., 2.], device='cuda:0')"


def test_a_second_gpu_computes_on_itself(monkeypatch: pytest.MonkeyPatch, schedule: str) -> None:
    monkeypatch.setitem(sys.modules, "cupy", stand_in(gpus=2))
    arrays = [floats(2, 3), floats(3, 4, seed=1), floats(5, 4, seed=2)]
    here = [Variable(array) for array in arrays]
    there = [Variable(x.to_gpu(1).data) for x in here]
    program(*there).backward(schedule=schedule)
    program(*here).backward(schedule=schedule)
    for x, other in zip(here, there, strict=True):
        assert other.device == Device("cuda", 1)
        np.testing.assert_allclose(other.grad.get(), x.grad, rtol=1e-9)


class Passed(Function):
    """Its first input."""

    def forward(self, xs: tuple[Array, ...]) -> Any:
        return xs[0]

    def backward(self, xs: tuple[Array, ...], gys: tuple[Array | None, ...]) -> Any:
        return (gys[0], *[None] * (len(xs) - 1))
