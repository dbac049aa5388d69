"""The tape schedule: what its passes bring, beyond what they have in common with the other schedule."""

import gc
from typing import Any

import numpy as np
import pytest

from gradviz import (
    Function,
    FunctionHook,
    GradientError,
    Operator,
    RunError,
    TensorPool,
    Variable,
    functions,
    grad,
    register_gradient,
    register_kernel,
)
from gradviz.eager.call import Call
from gradviz.eager.tape.flow import Sharing
from gradviz.eager.tape.run import run_by_tape
from tests.eager.differences import Array, floats


class Order(FunctionHook):
    """The functions that run, forward and backward, by label."""

    def __init__(self) -> None:
        self.forward: list[str] = []
        self.backward: list[Function] = []

    def forward_postprocess(self, function: Function, in_data: Any) -> None:
        self.forward.append(function.label)

    def backward_preprocess(self, function: Function, in_data: Any, out_grad: Any) -> None:
        self.backward.append(function)


class Picky(Function):
    """x + y, with a gradient for x alone."""

    def forward(self, xs: tuple[Array, ...]) -> Any:
        return xs[0] + xs[1]

    def backward(self, xs: tuple[Array, ...], gys: tuple[Array | None, ...]) -> Any:
        return gys[0], None


def both(program: Any, *arrays: Array, **options: Any) -> list[list[Any]]:
    """The gradients that a program's leaves get by each schedule."""
    found = []
    for schedule in ("rank", "tape"):
        leaves = [Variable(array) for array in arrays]
        program(*leaves).backward(schedule=schedule, **options)
        found.append([leaf.grad for leaf in leaves])
    return found


def test_functions_run_backward_in_the_reverse_order_of_creation() -> None:
    x = Variable(1.0)
    short = x * 2
    long = functions.exp(functions.sin(x))
    late = functions.tanh(x)
    y = short * long + late
    with Order() as order:
        y.backward(schedule="tape")
    assert [f.label for f in order.backward] == ["Add", "Mul", "Tanh", "Exp", "Sin", "Scale"]
    assert order.forward == []
    uids = [function.uid for function in order.backward]
    assert uids == sorted(uids, reverse=True)


def test_gradients_that_come_in_several_are_added_when_the_last_is_in() -> None:
    one, other = both(lambda x: functions.tanh(x) * x * x + x, np.array([0.7, 0.8]), gradient=np.ones(2))
    np.testing.assert_allclose(other[0], one[0], rtol=1e-15)


def test_what_a_backward_method_has_no_gradient_for_has_none() -> None:
    for x, y in both(lambda x, y: (Picky()(x, functions.exp(y)) * x).sum(), floats(3), floats(3, seed=1)):
        assert x is not None
        assert y is None
    (x, y), (tape_x, tape_y) = both(lambda x, y: (Picky()(x, y) + y).sum(), floats(3), floats(3, seed=1))
    np.testing.assert_array_equal([tape_x, tape_y], [x, y])


def test_a_function_that_no_gradient_reaches_after_all_does_not_run() -> None:
    x, y = Variable(1.0), Variable(2.0)
    z = Picky()(x, functions.exp(functions.sin(y))) * 2
    with Order() as order:
        z.backward(schedule="tape")
    assert [f.label for f in order.backward] == ["Scale", "Picky"]
    assert y.grad is None


def test_an_output_that_lacks_a_gradient_after_all_counts_as_zeros() -> None:
    def program(x: Variable, y: Variable) -> Variable:
        left, right = functions.split_axis(functions.tanh(y), 2, 0)
        return (Picky()(x, left) + right).sum()

    (x, y), (tape_x, tape_y) = both(program, floats(2), floats(4, seed=1))
    np.testing.assert_array_equal(tape_x, x)
    np.testing.assert_array_equal(tape_y, y)
    assert (y[:2] == 0).all()


def test_dtypes_that_meet_come_back_apart() -> None:
    def program(x: Variable, w: Variable) -> Variable:
        return (x * w + w).sum()

    for _ in range(2):  # the second time by a plan that is there
        x, w = Variable(np.ones(3, np.float32)), Variable(np.ones(3))
        program(x, w).backward(schedule="tape")
        assert (x.grad.dtype, w.grad.dtype) == (np.float32, np.float64)


class TestPlans:
    """Rules are asked once for all tapes in which a function is called alike."""

    @pytest.fixture(autouse=True)
    def asked(self) -> list[str]:
        """The outputs of whose gradients the rule of the operator type Tripled has been asked."""
        asked: list[str] = []

        def rule(op: Operator, g_output: Any) -> Any:
            asked.append(str(g_output[0]))
            return Operator("Scale", [g_output[0]], ["dx"], {"scale": 3.0}), ["dx"]

        register_kernel("Tripled")(lambda op, x: x * 3)
        register_gradient("Tripled")(rule)
        return asked

    def test_a_training_loop_asks_once(self, asked: list[str]) -> None:
        tripled = Call("tripled", "Tripled")
        x, w = Variable(floats(4, 3)), Variable(floats(3, 2, seed=1))
        for step in range(5):
            functions.tanh(tripled(x) @ w).sum().backward(schedule="tape")
            assert len(asked) == 1
            np.testing.assert_allclose(w.grad, (step + 1) * grad(functions.tanh(tripled(x) @ w).sum(), w))

    def test_dropout_drops_anew_on_every_tape(self) -> None:
        for _ in range(3):
            x = Variable(floats(20))
            y = functions.dropout(x, 0.5)
            y.sum().backward(schedule="tape")
            np.testing.assert_array_equal(x.grad, 2.0 * (y.data != 0))

    def test_what_is_read_twice_in_one_program_and_once_in_another_is_told_apart(self) -> None:
        a, b = np.array([1.0, 2.0]), np.array([5.0, 7.0])

        def program(x: Variable, one: Variable, other: Variable) -> Variable:
            return (functions.embed_id([0, 1, 1], x * one) * 2).sum() + (x * other).sum() + x.sum()

        same, another = Variable(a, requires_grad=False), Variable(b, requires_grad=False)
        for one, other in ((same, same), (same, another), (another, same), (same, same)):
            expected, x = Variable([3.0, 4.0]), Variable([3.0, 4.0])
            program(expected, one, other).backward()
            program(x, one, other).backward(schedule="tape")
            np.testing.assert_array_equal(x.grad, expected.grad)

    def test_other_shapes_wishes_and_roots_are_told_apart(self) -> None:
        def step(size: int, *, wants: bool = True, retain: bool = False) -> None:
            x, w = Variable(np.ones(size)), Variable(np.ones(size), requires_grad=wants)
            y = x * w
            y.sum().backward(schedule="tape", retain_grad=retain)
            assert (w.grad is not None, y.grad is not None) == (wants, retain)

        for _ in range(2):
            step(2)
            step(3)
            step(2, wants=False)
            step(2, retain=True)

    def test_a_rule_that_is_registered_anew_is_asked_anew(self, asked: list[str], own_types: None) -> None:
        tripled, x = Call("tripled", "Tripled"), Variable([1.0])
        tripled(x).backward(schedule="tape")
        register_gradient("Tripled")(lambda op, g: (Operator("Scale", [g[0]], ["dx"], {"scale": 30.0}), ["dx"]))
        tripled(x).backward(schedule="tape")
        np.testing.assert_array_equal(x.grad, [33.0])


class TestSharing:
    """Gradients that take turns in shared buffers."""

    def test_a_chain_needs_two_buffers(self) -> None:
        x = Variable(np.ones(1000))
        y = x
        for _ in range(100):
            y = functions.tanh(y)
        told = y.backward(gradient=np.ones(1000), schedule="tape", share_grads=True)
        assert isinstance(told, Sharing)
        assert told.buffers == 2
        assert (told.bytes_shared, told.bytes_apart) == (2 * 8000, 99 * 8000)
        assert str(told) == "99 gradients took turns in 2 buffers: 16,000 bytes instead of 792,000."
        expected = Variable(np.ones(1000))
        y = expected
        for _ in range(100):
            y = functions.tanh(y)
        assert y.backward(gradient=np.ones(1000), schedule="tape") is None
        np.testing.assert_array_equal(x.grad, expected.grad)

    def test_gradients_that_are_retained_do_not_share(self) -> None:
        x = Variable(np.ones(10))
        y = functions.tanh(functions.tanh(x))
        told = y.sum().backward(schedule="tape", share_grads=True, retain_grad=True)
        assert told == Sharing(0, 0, 0, 0)
        assert y.grad is not None

    def test_a_pass_from_a_leaf_shares_nothing(self) -> None:
        assert Variable(1.0).backward(schedule="tape", share_grads=True) == Sharing(0, 0, 0, 0)

    def test_the_other_schedule_has_no_buffers(self) -> None:
        x = Variable(1.0)
        with pytest.raises(GradientError, match="no gradient buffers to share") as caught:
            (x * x).backward(share_grads=True)
        assert caught.value.kind == "bad_argument"
        assert x.grad is None


class TestFaults:
    """Passes that fail leave gradients and names as they were."""

    def test_of_a_rule(self) -> None:
        x, w = Variable([1.5, 2.5], name="x"), Variable([1.0, 1.0])
        w.grad = np.ones(2)
        y = (functions.apply("Floor", x) * w).sum()
        used = len(TensorPool.current())
        with pytest.raises(GradientError, match=r"no gradient rule for Floor\(x: float64 \(2,\)\)"):
            y.backward(schedule="tape")
        gc.collect()
        assert len(TensorPool.current()) <= used + 2  # the leaves have names now
        assert "join" not in {name.split("/")[0] for name in TensorPool.current()._holders}
        assert x.grad is None

    def test_of_data_of_another_shape(self) -> None:
        x = Variable([1.0, 2.0])
        y = (x * x).sum()
        x.data = [1.0, 2.0, 3.0]
        z = y + (x * x).sum()
        with pytest.raises(GradientError, match="another shape") as caught:
            z.backward(schedule="tape")
        assert caught.value.kind == "bad_gradient"
        assert x.grad is None

    def test_of_a_hook_are_its_own(self) -> None:
        class Failing(FunctionHook):
            def backward_preprocess(self, function: Function, in_data: Any, out_grad: Any) -> None:
                raise KeyError("mine")

        x = Variable(1.0)
        with Failing(), pytest.raises(KeyError, match="mine"):
            (x * x).backward(schedule="tape")
        assert x.grad is None

    @pytest.mark.parametrize("bad", ["rnak", "", None, 3, ["tape"]])
    def test_of_an_unknown_schedule(self, bad: Any) -> None:
        with pytest.raises(GradientError, match="Choose one of 'rank', 'tape'") as caught:
            Variable(1.0).backward(schedule=bad)
        assert caught.value.kind == "bad_argument"


def test_seeds_of_one_output_add_up() -> None:
    x = Variable(2.0)
    y = x * x
    assert y.creator is not None
    again = y.creator.output(0)
    arrived = run_by_tape([(y, np.array(1.0)), (again, np.array(10.0)), (x, np.array(100.0))], create_graph=False)
    assert arrived.leaves == {x: 144.0}


def test_a_gradient_operator_without_kernel_is_refused_alike(schedule: str, own_types: None) -> None:
    register_kernel("Quartered")(lambda op, x: x / 4)
    register_gradient("Quartered")(lambda op, g: (Operator("NoSuchKernel", [str(g[0])], ["dx"]), ["dx"]))
    x = Variable([1.0], name="x")
    with pytest.raises(RunError, match=r"The gradient of Quartered\(.*is of a type that has no kernel") as caught:
        functions.apply("Quartered", x).backward(schedule=schedule)
    assert caught.value.kind == "unknown_operator"
    assert x.grad is None


def test_a_variable_read_twice_by_one_function_and_as_a_constant(schedule: str) -> None:
    x, w = Variable(3.0), Variable(5.0)
    y = x * x + functions.tanh(x.detach()) * w + functions.concat([x.reshape(1), x.reshape(1), w.reshape(1)], 0).sum()
    y.backward(schedule=schedule)
    np.testing.assert_allclose([x.grad, w.grad], [6 + 2, np.tanh(3) + 1])


def test_errors_of_rules_speak_of_the_call_and_not_of_names_in_pools(own_types: None) -> None:
    def needs_both(op: Operator, g_output: Any) -> Any:
        return Operator("Add", [g_output[0], g_output[1]], ["dx"]), ["dx"]

    register_kernel("Twofold")(lambda op, x: (x * 1, x * 2))
    register_gradient("Twofold")(needs_both)
    y, _ = functions.apply("Twofold", Variable([1.0]) * 1.5, outputs=2)
    with pytest.raises(GradientError, match=r"of Twofold\(x0: float64 \(1,\)\).* needs the gradient of y1") as caught:
        y.backward(schedule="tape")
    assert caught.value.blobs == ("y1",)
    assert "tensor:" not in caught.value.explain()
