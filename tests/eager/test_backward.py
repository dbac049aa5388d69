"""Backward passes: what accumulates, what is kept, what is refused, and that nothing a person holds is written into."""

import gc
import tracemalloc
import weakref
from itertools import combinations
from time import process_time
from typing import Any

import numpy as np
import pytest

from gradviz import GradientError, Variable, functions, register_gradient
from gradviz.eager.gradients import Rows
from gradviz.operators import lookup
from gradviz.operators.gradients import gradient_name, gradient_operator
from tests.eager.differences import assert_close, differences, floats


def gradients(*variables: Variable) -> list[Any]:
    """Their gradients."""
    return [x.grad for x in variables]


def test_gradients_of_leaves_accumulate_over_calls(schedule: str) -> None:
    x = Variable([1.0, 2.0])
    (x * x).sum().backward(schedule=schedule)
    first = x.grad
    (3 * x).sum().backward(schedule=schedule)
    np.testing.assert_array_equal(x.grad, [5, 7])
    np.testing.assert_array_equal(first, [2, 4])


def test_two_calls_from_one_root_add_the_same_twice(schedule: str) -> None:
    x = Variable([1.0, 2.0])
    y = (x * x).sum()
    y.backward(schedule=schedule)
    y.backward(schedule=schedule)
    np.testing.assert_array_equal(x.grad, [4, 8])


def test_a_root_of_one_element_starts_with_1_and_others_need_a_gradient(schedule: str) -> None:
    x = Variable([[2.0]])
    y = x * x
    y.backward(schedule=schedule)
    np.testing.assert_array_equal(x.grad, [[4.0]])
    np.testing.assert_array_equal(y.grad, [[1.0]])
    z = Variable([1.0, 2.0], name="z") * 2
    with pytest.raises(GradientError, match="2 elements") as caught:
        z.backward(schedule=schedule)
    assert caught.value.kind == "missing_output_gradient"
    assert "gradient=array" in caught.value.explain()
    z.backward(gradient=np.array([1.0, 10.0]), schedule=schedule)
    np.testing.assert_array_equal(z.creator.inputs[0].grad, [2, 20])


def test_a_gradient_set_by_hand_is_where_the_pass_starts(schedule: str) -> None:
    x = Variable([1.0, 2.0])
    y = x * x
    y.grad = np.array([1.0, 10.0])
    y.backward(schedule=schedule)
    np.testing.assert_array_equal(x.grad, [2, 40])
    np.testing.assert_array_equal(y.grad, [1, 10])


def test_a_gradient_kept_from_another_pass_is_no_start(schedule: str) -> None:
    x = Variable(2.0)
    y = x * x
    (5 * y).backward(retain_grad=True, schedule=schedule)
    assert y.grad == 5
    x.cleargrad()
    y.backward(schedule=schedule)
    assert x.grad == 4


def test_intermediate_gradients_are_dropped_unless_they_are_retained(schedule: str) -> None:
    x = Variable([1.0, 2.0])
    y = x * x
    z = y.sum()
    y.grad = np.array([7.0, 7.0])
    z.backward(schedule=schedule)
    assert y.grad is None
    z.backward(retain_grad=True, schedule=schedule)
    np.testing.assert_array_equal(y.grad, [1, 1])
    z.backward(schedule=schedule)
    assert y.grad is None


def test_a_leaf_gets_the_sum_over_all_that_read_it(schedule: str) -> None:
    x = Variable(3.0)
    (x * x + 2 * x + functions.exp(x) * x).backward(schedule=schedule)
    np.testing.assert_allclose(x.grad, 2 * 3 + 2 + np.exp(3) * 4)


def test_what_requires_no_gradient_gets_none_and_lets_none_through(schedule: str) -> None:
    x, w = Variable([1.0, 2.0]), Variable([3.0, 4.0], requires_grad=False)
    y = w * w
    (x * y).sum().backward(schedule=schedule)
    np.testing.assert_array_equal(x.grad, [9, 16])
    assert gradients(w, y) == [None, None]


def test_a_leaf_that_is_frozen_after_the_forward_run_gets_none(schedule: str) -> None:
    x, w = Variable(2.0), Variable(3.0)
    y = x * w
    w.requires_grad = False
    y.backward(schedule=schedule)
    assert gradients(x, w) == [3, None]


def test_outputs_that_nobody_holds_have_no_gradient_and_count_as_zeros(schedule: str) -> None:
    x = Variable(floats(2, 4))
    left, _ = functions.split_axis(x, 2, 1)
    gc.collect()
    left.sum().backward(schedule=schedule)
    np.testing.assert_array_equal(x.grad, [[1, 1, 0, 0]] * 2)


def test_functions_of_which_nothing_is_left_are_freed() -> None:
    x = Variable([1.0, 2.0])
    y = functions.tanh(x)
    is_alive = weakref.ref(y)
    z = y * 2
    del y
    assert is_alive() is not None
    del z
    assert is_alive() is None


def test_nothing_is_shared_and_nothing_a_person_holds_is_written_into(schedule: str) -> None:
    a, b, seed = Variable(floats(3)), Variable(floats(3, seed=1)), np.array([1.0, 2.0, 3.0])
    for retain in (True, False):
        z = (a + b) + (a + b).reshape(3, 1).reshape(3)
        t = z.T
        before = [x.grad for x in (a, b)]
        copies = [None if g is None else g.copy() for g in before]
        t.backward(gradient=seed, retain_grad=retain, schedule=schedule)
        held = [a.data, b.data, seed, *(x.grad for x in (a, b, z, t) if x.grad is not None)]
        assert not any(np.shares_memory(one, other) for one, other in combinations(held, 2))
        for old, copy in zip(before, copies, strict=True):
            assert old is None or (old == copy).all()
    np.testing.assert_array_equal(seed, [1, 2, 3])
    np.testing.assert_array_equal(a.grad, [4, 8, 12])


def test_gradients_belong_to_the_person_who_gets_them(schedule: str) -> None:
    x = Variable([1.0, 2.0])
    y = x + Variable([0.0, 0.0])
    y.backward(gradient=np.ones(2), schedule=schedule)
    x.grad *= 10
    y.grad[:] = 3
    y.backward(schedule=schedule)
    np.testing.assert_array_equal(x.grad, [13, 13])


def test_data_replaced_after_the_forward_run_do_not_change_its_gradient(schedule: str) -> None:
    x = Variable([1.0, 2.0])
    y = (x * x).sum()
    x.data = [10.0, 20.0]
    y.backward(schedule=schedule)
    np.testing.assert_array_equal(x.grad, [2, 4])


def test_a_gradient_that_does_not_fit_replaced_data_is_refused_and_all_stay_as_they_were(schedule: str) -> None:
    x, w = Variable([1.0, 2.0], name="x"), Variable([1.0, 2.0])
    y = (x * w).sum()
    x.data = [1.0, 2.0, 3.0]
    with pytest.raises(GradientError, match="gradient of x") as caught:
        y.backward(schedule=schedule)
    assert caught.value.kind == "bad_gradient"
    assert gradients(x, w, y) == [None, None, None]


@pytest.mark.parametrize("bad", [np.ones(3), np.ones(2, np.float32), [1.0, 1.0], 1.0, np.ones((2, 1))])
def test_a_start_of_another_type_dtype_or_shape_is_refused(bad: Any, schedule: str) -> None:
    x = Variable([1.0, 2.0])
    y = x * x
    with pytest.raises(GradientError) as caught:
        y.backward(gradient=bad, schedule=schedule)
    assert caught.value.kind == "bad_gradient"
    assert gradients(x, y) == [None, None]


def test_a_chain_of_any_length_is_run_and_deleted_in_linear_time_without_recursion(schedule: str) -> None:
    seconds = {}
    for length in (10_000, 100_000):
        x = Variable(np.ones(2))
        start = process_time()
        y = x
        for _ in range(length):
            y = -y
        y.backward(gradient=np.ones(2), schedule=schedule)
        assert y.rank == length
        del y
        seconds[length] = process_time() - start
        np.testing.assert_array_equal(x.grad, [1, 1])
    assert seconds[100_000] < 30 * seconds[10_000]


def test_a_chain_is_not_kept_in_memory_when_gradients_are_dropped(schedule: str) -> None:
    x = Variable(np.ones(10_000))
    y = x
    for _ in range(100):
        y = -y
    tracemalloc.start()
    y.backward(gradient=np.ones(10_000), schedule=schedule)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * x.data.nbytes


def test_ranks_put_functions_behind_all_that_read_their_outputs() -> None:
    x = Variable(1.0)
    short, long = x * 2, functions.exp(functions.tanh(functions.sin(x * 3)))
    y = short * long
    assert [v.rank for v in (x, short, long, y)] == [0, 1, 4, 5]


class TestUnchaining:
    """Graphs that are cut."""

    def test_unchain_makes_a_leaf_of_one_variable(self, schedule: str) -> None:
        x = Variable([1.0, 2.0])
        y = x * x
        y.unchain()
        assert y.creator is None
        (3 * y).sum().backward(schedule=schedule)
        np.testing.assert_array_equal(y.grad, [3, 3])
        assert x.grad is None

    def test_unchain_backward_makes_leaves_of_all_variables_on_the_way(self, schedule: str) -> None:
        x = Variable(floats(4))
        left, right = functions.split_axis(functions.tanh(x), 2, 0)
        y = functions.exp(left)
        y.unchain_backward()
        assert [v.creator for v in (left, right, y)] == [None] * 3
        (y * 2).sum().backward(schedule=schedule)
        right.sum().backward(schedule=schedule)
        np.testing.assert_array_equal(y.grad, [2, 2])
        assert left.grad is None
        assert x.grad is None

    def test_unchain_backward_frees_what_lies_behind(self) -> None:
        x = Variable(floats(4))
        y = functions.tanh(x)
        dead = weakref.ref(y)
        z = functions.exp(y)
        del y
        z.unchain_backward()
        assert dead() is None

    @pytest.mark.parametrize("cut", [Variable.unchain, Variable.unchain_backward])
    def test_a_pass_from_a_variable_that_was_cut_off_warns(self, cut: Any, schedule: str) -> None:
        x = Variable(2.0)
        y = x * x
        y.backward(schedule=schedule)
        cut(y)
        with pytest.warns(UserWarning, match="has been cut off, by unchain"):
            y.backward(schedule=schedule)
        assert x.grad == 4


def test_a_pass_from_a_variable_that_requires_no_gradient_warns_and_does_nothing(schedule: str) -> None:
    x = Variable(2.0, requires_grad=False)
    y = x * x
    with pytest.warns(UserWarning, match="requires no gradient"):
        y.backward(schedule=schedule)
    assert gradients(x, y) == [None, None]


def test_a_pass_from_a_leaf_gives_it_what_it_starts_with(schedule: str) -> None:
    x = Variable([1.0, 2.0])
    x.backward(gradient=np.array([3.0, 4.0]), schedule=schedule)
    x.backward(gradient=np.array([3.0, 4.0]), schedule=schedule)
    np.testing.assert_array_equal(x.grad, [6, 8])


def test_an_unknown_schedule_is_refused() -> None:
    with pytest.raises(GradientError, match="Choose one of 'rank'"):
        Variable(1.0).backward(schedule="random")


def test_a_cycle_made_by_hand_is_refused_and_cutting_it_ends(schedule: str) -> None:
    x = Variable(2.0)
    y = functions.tanh(x)
    z = functions.exp(y)
    y.creator.inputs = (z,)
    with pytest.raises(GradientError, match="depends on its own output") as caught:
        z.backward(schedule=schedule)
    assert caught.value.kind == "cycle"
    assert gradients(x, y, z) == [None, None, None]
    z.unchain_backward()


def test_a_function_without_a_rule_says_so_and_gradients_stay_as_they_were(schedule: str) -> None:
    x, w = Variable([1.5, 2.5]), Variable([1.0, 1.0])
    w.grad = np.ones(2)
    y = (functions.apply("Floor", x) * w).sum()
    with pytest.raises(GradientError, match=r"no gradient rule for Floor\(x: float64 \(2,\)\)") as caught:
        y.backward(schedule=schedule)
    assert caught.value.kind == "no_gradient_rule"
    assert "functions.stop_gradient(...) around Floor(...)" in caught.value.explain()
    np.testing.assert_array_equal(w.grad, [1, 1])
    assert gradients(x, y) == [None, None]


def test_a_registered_rule_replaces_the_one_in_use(schedule: str, own_types: None) -> None:
    x, known = Variable(2.0), lookup("Tanh")
    assert known is not None
    functions.tanh(x).backward(schedule=schedule)
    before = x.grad

    def minus(op: Any, g_output: Any) -> Any:
        x_grad = gradient_name(op.inputs[0])
        return gradient_operator(op, "Negative", [g_output[0]], [x_grad]), [x_grad]

    for rule, expected in ((minus, -1), (known.rule, before)):
        register_gradient("Tanh")(rule)
        x.cleargrad()
        functions.tanh(x).backward(schedule=schedule)
        assert x.grad == expected


class TestSparse:
    """Gradients of tables of which some rows are read."""

    def test_rows_add_up_in_an_array_like_the_table(self, schedule: str) -> None:
        table = Variable(floats(5, 2))
        y = functions.embed_id([[0, 3], [3, 3]], table)
        y.backward(gradient=np.ones((2, 2, 2)), schedule=schedule)
        np.testing.assert_array_equal(table.grad, [[1, 1], [0, 0], [0, 0], [3, 3], [0, 0]])

    def test_rows_stay_rows_until_an_array_is_needed(self, schedule: str) -> None:
        table = Variable(floats(5, 2))
        y = functions.embed_id([0, 3], table)
        assert type(y.creator.input_gradients([np.ones((2, 2))], 1)[0]) is Rows
        (y.sum() + functions.embed_id([[3]], table).sum() + table.sum()).backward(schedule=schedule)
        np.testing.assert_array_equal(table.grad, [[2, 2], [1, 1], [1, 1], [3, 3], [1, 1]])

    def test_a_table_that_was_computed_hands_its_gradient_on(self, schedule: str) -> None:
        def lookup(w: Variable) -> Variable:
            return functions.embed_id([1, 1, 0], functions.tanh(w)) * functions.embed_id([2, 0, 2], functions.tanh(w))

        w, weight = Variable(floats(3, 2)), floats(3, 2, seed=4)
        lookup(w).backward(gradient=weight, schedule=schedule)
        assert_close(w.grad, differences(lookup, [w.data], 0, weight))
