"""Hooks: what they see of functions that run forward and backward, and when."""

import io
import threading
from typing import Any

import numpy as np
import pytest

from gradviz import Function, FunctionHook, NaNGuard, PrintHook, RunError, TimerHook, Variable, functions, grad
from tests.eager.differences import Array


class Diary(FunctionHook):
    """Notes everything that it is told."""

    def __init__(self) -> None:
        self.notes: list[tuple[Any, ...]] = []

    def forward_preprocess(self, function: Function, in_data: tuple[Array, ...]) -> None:
        self.notes.append(("forward", function.label, in_data))

    def forward_postprocess(self, function: Function, in_data: tuple[Array, ...]) -> None:
        self.notes.append(("did forward", function.label, in_data, function.out_data))

    def backward_preprocess(self, function: Function, in_data: Any, out_grad: Any) -> None:
        self.notes.append(("backward", function.label, in_data, out_grad))

    def backward_result(self, function: Function, in_data: Any, in_grad: Any) -> None:
        self.notes.append(("gave", function.label, in_data, in_grad))

    def backward_postprocess(self, function: Function, in_data: Any, out_grad: Any) -> None:
        self.notes.append(("did backward", function.label, in_data, out_grad))

    @property
    def calls(self) -> list[str]:
        """What happened, without the arrays."""
        return [f"{what} {label}" for what, label, *_ in self.notes]


def test_a_hook_is_told_before_and_after_each_run_forward_and_backward(schedule: str) -> None:
    x = Variable([1.0, 2.0])
    with Diary() as diary:
        y = functions.tanh(x * x).sum()
        y.backward(schedule=schedule)
    forward = [f"{what} {label}" for label in ("Mul", "Tanh", "ReduceSum") for what in ("forward", "did forward")]
    told = ("backward", "gave", "did backward")
    backward = [f"{what} {label}" for label in ("ReduceSum", "Tanh", "Mul") for what in told]
    assert diary.calls == forward + backward


def test_a_hook_sees_data_and_gradients(schedule: str) -> None:
    x, w = Variable([1.0, 2.0]), Variable([3.0, 4.0], requires_grad=False)
    with Diary() as diary:
        (x * w).backward(gradient=np.array([1.0, 10.0]), schedule=schedule)
    (_, _, read), (_, _, _, made), (_, _, _, out_grad), (_, _, _, in_grad), _ = diary.notes
    assert (read[0] is x.data, read[1] is w.data) == (True, True)
    np.testing.assert_array_equal(made[0], [3, 8])
    np.testing.assert_array_equal(out_grad[0], [1, 10])
    np.testing.assert_array_equal(in_grad[0], [3, 40])
    assert in_grad[1] is None


def test_outputs_without_gradient_are_none(schedule: str) -> None:
    x = Variable(np.ones(4))
    with Diary() as diary:
        functions.split_axis(x, 2, 0)[1].sum().backward(schedule=schedule)
    (out_grad,) = [note[3] for note in diary.notes if note[:2] == ("backward", "Split")]
    assert out_grad[0] is None
    np.testing.assert_array_equal(out_grad[1], [1, 1])


def test_what_a_hook_gets_it_cannot_write_into(schedule: str) -> None:
    class Scribbler(FunctionHook):
        def backward_preprocess(self, function: Function, in_data: Any, out_grad: Any) -> None:
            out_grad[0][:] = 0

    x = Variable([1.0, 2.0])
    y = x * x
    with Scribbler(), pytest.raises(ValueError, match="read-only"):
        y.backward(gradient=np.ones(2), schedule=schedule)
    assert x.grad is None


def test_hooks_act_inside_their_block_alone_and_outer_ones_first() -> None:
    x, order = Variable(1.0), []

    class Noted(FunctionHook):
        def __init__(self, name: str) -> None:
            self.name = name

        def forward_preprocess(self, function: Function, in_data: tuple[Array, ...]) -> None:
            order.append(self.name)

    outer, inner = Noted("outer"), Noted("inner")
    with outer:
        functions.tanh(x)
        with inner, outer:
            functions.tanh(x)
        functions.tanh(x)
    functions.tanh(x)
    assert order == ["outer", "outer", "inner", "outer", "outer"]


def test_hooks_end_with_an_error_in_their_block() -> None:
    diary = Diary()
    with pytest.raises(RunError), diary:
        functions.tanh([1])
    functions.tanh([1.0])
    assert diary.calls == []


def test_hooks_of_one_thread_do_not_see_another() -> None:
    with Diary() as diary:
        thread = threading.Thread(target=lambda: functions.tanh([1.0]))
        thread.start()
        thread.join()
    assert diary.calls == []


def test_hooks_see_functions_of_ones_own_and_those_that_gradients_are_made_of(schedule: str) -> None:
    class Doubled(Function):
        def forward(self, xs: tuple[Array, ...]) -> Any:
            return 2 * xs[0]

        def backward(self, xs: tuple[Array, ...], gys: Any) -> Any:
            return 2 * gys[0]

    x = Variable(3.0)
    with Diary() as diary:
        Doubled()(x).backward(schedule=schedule)
        grad(functions.tanh(x), x, create_graph=True)
    assert [call for call in diary.calls if call.startswith("did")] == [
        *("did forward Doubled", "did backward Doubled", "did forward Tanh"),
        *("did forward TanhGradient", "did backward Tanh"),
    ]


def test_a_timer_adds_up_the_time_of_each_function(schedule: str) -> None:
    x = Variable(np.ones((50, 50)))
    with TimerHook() as timer:
        (x @ x @ x).sum().backward(schedule=schedule)
    assert [(label, direction) for label, direction, _ in timer.call_history] == [
        *[("MatMul", "forward")] * 2,
        *[("ReduceSum", "forward"), ("ReduceSum", "backward")],
        *[("MatMul", "backward")] * 2,
    ]
    summary = timer.summary()
    assert summary["MatMul", "backward"].runs == 2
    assert all(timing.seconds > 0 for timing in summary.values())
    assert timer.total_time == pytest.approx(sum(timing.seconds for timing in summary.values()))


def test_a_timer_goes_on_after_a_function_has_failed() -> None:
    class Failing(Function):
        def forward(self, xs: tuple[Array, ...]) -> Any:
            raise ArithmeticError

    with TimerHook() as timer:
        with pytest.raises(ArithmeticError):
            Failing()(1.0)
        functions.tanh(1.0)
    ((label, _, seconds),) = timer.call_history
    assert label == "Tanh"
    assert seconds < 0.5


def test_a_print_hook_prints_a_line_for_each_run(schedule: str) -> None:
    file = io.StringIO()
    with PrintHook(file):
        (Variable(np.ones((2, 3), np.float32)) * np.ones(3, np.float32)).sum().backward(schedule=schedule)
    assert file.getvalue().splitlines() == [
        "Mul: float32 (2, 3), float32 (3,) -> float32 (2, 3)",
        "ReduceSum: float32 (2, 3) -> float32 ()",
        "ReduceSum backward: float32 (2, 3) -> float32 (2, 3)",
        "Mul backward: float32 (2, 3), float32 (3,) -> float32 (2, 3), None",
    ]


def test_a_print_hook_prints_to_the_standard_output_of_the_moment(capsys: pytest.CaptureFixture[str]) -> None:
    with PrintHook():
        functions.tanh([1.0])
    assert capsys.readouterr().out == "Tanh: float64 (1,) -> float64 (1,)\n"


class TestNaNGuard:
    """The first function that gives what is not finite."""

    def test_stops_the_forward_run_where_it_comes_from(self) -> None:
        with (
            NaNGuard(),
            np.errstate(all="ignore"),
            pytest.raises(RunError, match="Log gave 1 number that is not finite in output 0") as caught,
        ):
            functions.exp(functions.log(Variable([1.0, -1.0])))
        assert caught.value.kind == "bad_value"
        assert "from finite numbers" in str(caught.value)

    def test_stops_the_backward_run_and_gradients_stay_as_they_were(self, schedule: str) -> None:
        x = Variable([0.0, 4.0])
        y = (functions.sqrt(x) * 2).sum()
        with NaNGuard(), pytest.raises(RunError, match=r"Sqrt gave 1 number .* in gradient of input 0.*from finite"):
            y.backward(schedule=schedule)
        assert x.grad is None

    def test_says_when_it_came_from_before(self) -> None:
        x = Variable([np.nan, 1.0])
        with NaNGuard(), pytest.raises(RunError, match=r"Tanh .*what it read was not finite either"):
            functions.tanh(x)

    def test_lets_infinities_pass_when_told(self) -> None:
        with NaNGuard(infinite=False), np.errstate(all="ignore"):
            y = functions.log(Variable([0.0]))
            with pytest.raises(RunError, match="Sub gave"):
                y - y

    def test_lets_integers_and_finite_numbers_pass(self, schedule: str) -> None:
        with NaNGuard():
            x = Variable(np.arange(4.0))
            (x[[0, 1]] * functions.argmax(x)).sum().backward(schedule=schedule)
