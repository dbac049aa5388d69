"""Recordings of define-by-run passes hold what backward does and change nothing, whatever the program looks like."""

import re
from typing import Any

import msgspec
import numpy as np
import pytest

from gradviz import Function, FunctionHook, Variable, debug, functions, no_grad
from gradviz.debugger.document import encode
from gradviz.debugger.journal import record_backward
from tests.eager.journal.passes import gradients


def chain(length: int = 4) -> tuple[Variable, Variable]:
    x = Variable([0.5, -0.5], name="x")
    y = x
    for _ in range(length):
        y = functions.tanh(y) * x
    return x, functions.sum(y)


def test_no_variable_is_changed():
    x, y = chain()
    middle = y.creator.inputs[0]
    middle.grad = np.array([7.0, 8.0])
    for retain_grad in (False, True):
        debug(y, retain_grad=retain_grad)
        assert x.grad is None
        assert y.grad is None
        np.testing.assert_array_equal(middle.grad, [7, 8])
    y.backward()
    assert x.grad is not None
    assert middle.grad is None


def test_what_is_recorded_stays_as_it_is():
    x, y = chain()
    seed = np.array(2.0)
    session = debug(y, gradient=seed)
    kept = session.value("x_grad").copy()
    seed[...] = 100
    x.data = x.data + 1
    y.backward()
    y.unchain_backward()
    np.testing.assert_array_equal(session.value("x_grad"), kept)
    assert all(not array.flags.writeable for array in session._recording.values.values())
    assert session.trace().ys == {"reducesum": "reducesum_grad"}


class Cubed(Function):
    def forward(self, xs: Any) -> Any:
        return xs[0] ** 3

    def backward(self, xs: Any, gys: Any) -> Any:
        return 3 * xs[0] ** 2 * gys[0]


@pytest.mark.parametrize("schedule", ["rank", "tape"])
@pytest.mark.parametrize("options", [{}, {"budget": 0}])
def test_what_becomes_of_variables_between_recording_and_looking_is_not_seen(schedule, options):
    def program() -> tuple[Variable, Variable, Variable]:
        table = Variable(np.linspace(-1, 1, 12).reshape(4, 3), name="table")
        table.grad = np.ones((4, 3))
        rows = functions.tanh(table[np.array([[0, 2], [2, 1]])])
        rows.name = "rows"
        table.data = table.data * 2
        return table, rows, functions.sum(Cubed()(rows) * rows) + functions.sum(table)

    def told(y: Variable, *changed: Variable) -> Any:
        recording = record_backward(y, schedule=schedule, **options)
        for one in changed:
            one.name = "other"
            one.data = one.data + 1
            one.grad = np.full(one.shape, 9.0)
            one.unchain()
        if changed:
            y.unchain_backward()
        values = {key: recording.values[key].tobytes() for key in recording.values}
        plain = [msgspec.to_builtins(event) for event in recording.events]
        for event in plain:
            event.pop("seconds", None)
        return (
            plain,
            values,
            dict(recording.grads_before),
            list(recording.ys),
            [event.rank for event in recording.events if event.kind == "Played"],
            [*map(str, recording.operators)],
        )

    _, _, y = program()
    table, rows, changed = program()
    assert re.sub(r"'uid': \d+", "", str(told(y))) == re.sub(r"'uid': \d+", "", str(told(changed, table, rows)))


def test_hooks_in_force_are_not_told():
    class Loud(FunctionHook):
        def backward_preprocess(self, function: Function, in_data: Any, out_grad: Any) -> None:
            raise AssertionError("a recording is no pass of the program's")

    _, y = chain()
    with Loud():
        session = debug(y)
    assert session.finish().kind == "Completed"


def test_a_recording_can_be_made_inside_no_grad():
    _, y = chain()
    with no_grad():
        assert debug(y).finish().kind == "Completed"


def test_a_gradient_set_by_hand_is_where_the_pass_starts():
    _, y = chain()
    y.grad = np.array(3.0)
    session = debug(y)
    session.run_to("Seeded")
    assert "the gradient that was given" in session.narration
    np.testing.assert_array_equal(session.value("reducesum_grad"), 3)


def test_several_outputs_start_at_once():
    x = Variable([1.0, 2.0], name="x")
    a, b = functions.sum(x * x), functions.sum(functions.exp(x))
    session = debug([a, b], gradient=[None, np.array(2.0)])
    assert "they go backward as `reducesum` and `b` ask, the greatest rank first" in session.narration
    assert [event.kind for event in session.events].count("Seeded") == 2
    recorded = gradients(session)
    a.backward()
    b.backward(np.array(2.0))
    np.testing.assert_allclose(recorded["x"], x.grad)


def test_an_output_on_the_way_to_another_gets_both_gradients():
    x = Variable([1.0, 2.0], name="x")
    a = functions.tanh(x)
    a.name = "a"
    b = functions.sum(a * a)
    session = debug([a, b], gradient=[np.ones(2), None])
    np.testing.assert_allclose(gradients(session)["a"], 1 + 2 * a.data)
    assert session.ledger("a").ledger.contributions[0].producer == "given"


def test_what_several_blobs_share_is_named_apart():
    one, other = Variable([1.0], name="same"), Variable([2.0], name="same")
    odd, none = Variable([3.0], name="not a name!"), Variable([4.0])
    x_grad = Variable([5.0], name="same_grad")
    y = functions.sum(one * other + odd * none * x_grad)
    session = debug(y)
    recorded = gradients(session)
    assert len(recorded) == 6
    y.backward()
    held = sorted(float(v.grad.sum()) for v in (one, other, odd, none, x_grad, y))
    assert sorted(float(array.sum()) for array in recorded.values()) == held


def test_arrays_without_dimensions():
    x, w = Variable(2.0, name="x"), Variable(3.0, name="w")
    session = debug(x * w + x)
    assert session.value("x.grad") == 4
    assert session.value("x.grad").shape == ()
    assert session.trace().values["x@0"].preview == [[2.0]]


def test_a_leaf_alone():
    x = Variable(2.0, name="x")
    session = debug(x)
    assert [event.kind for event in session.events] == ["Seeded", "Ran", "GradWritten", "Completed"]


def test_sparse_gradients_are_told_row_by_row():
    table = Variable(np.ones((4, 2)), name="table")
    rows = functions.embed_id([1, 1, 3], table)
    more = functions.embed_id([[0, 1], [2, 3]], table)
    loss = functions.sum(rows * 2.0) + functions.sum(more)
    session = debug(loss)
    session.run_to("Accumulated")
    assert "their rows are laid one after the other" in session.narration
    ledger = session.ledger("table").ledger
    assert sum(one.share for one in ledger.contributions) == pytest.approx(1)
    loss.backward()
    np.testing.assert_array_equal(session.value("table.grad"), table.grad)
    session.run_to("GradWritten")
    assert "its rows added into zeros" in session.narration


def test_sparse_meets_dense():
    table = Variable(np.ones((4, 2)), name="table")
    loss = functions.sum(functions.embed_id([1, 1, 3], table)) + functions.sum(table * table)
    session = debug(loss)
    session.run_to("Accumulated")
    assert "SparseToDense" in {op.type for op in session.event.operators}
    loss.backward()
    np.testing.assert_array_equal(session.value("table.grad"), table.grad)
    np.testing.assert_array_equal(session.value(session.trace().gradients["table"]), table.grad)


def test_a_sparse_gradient_is_made_dense_for_a_function():
    x = Variable(np.ones((4, 2)), name="x")
    loss = functions.sum(functions.embed_id([1, 1, 3], functions.tanh(x)))
    session = debug(loss)
    session.run_to("SparseToDense")
    assert "goes backward on dense gradients" in session.narration
    loss.backward()
    np.testing.assert_array_equal(session.value("x.grad"), x.grad)


def test_a_gradient_of_another_dtype_is_cast():
    x, w = Variable(np.ones(3, np.float32), name="x"), Variable(np.ones(3), name="w")
    session = debug(functions.sum(x * w))
    session.run_to("Cast")
    assert session.value("x.grad").dtype == np.float32


def test_outputs_that_nobody_read_have_no_gradient():
    x = Variable(np.arange(4.0), name="x")
    _, b = functions.split_axis(x, 2, 0)
    session = debug(functions.sum(b))
    visited = [event for event in session.events if event.kind == "Visited"]
    assert visited[-1].g_output[0] is None
    while session.run_to("Visited").index != 0:
        pass
    assert "Nothing sends a gradient to `split@0`" in session.narration


def test_new_data_between_two_readings():
    x = Variable([1.0, 2.0], name="x")
    a = x * x
    x.data = np.array([3.0, 4.0])
    loss = functions.sum(a + functions.exp(x))
    session = debug(loss)
    recorded = gradients(session)
    loss.backward()
    np.testing.assert_array_equal(recorded["x"], x.grad)
    trace = session.trace()
    assert any("new data" in trace.narration(at) for at in range(len(trace.events) + 1))


def test_a_weight_that_hundreds_of_functions_read_has_a_ledger_of_all():
    w, y = Variable([0.999], name="w"), Variable([1.0], requires_grad=False)
    for _ in range(300):
        y = y * w + 0.001
    session = debug(functions.sum(y))
    trace = session.trace()
    ledgers = [ledger for ledger in trace.ledgers if ledger.blob == "w@0"]
    assert len(ledgers) == 299
    assert len(ledgers[-1].contributions) == 300
    assert max(len(ledger.contributions) for ledger in ledgers[:-1]) <= 8
    for ledger in (ledgers[0], ledgers[150], ledgers[-1]):
        assert sum(one.share for one in ledger.contributions) == pytest.approx(1)


def test_the_document_of_a_thousand_functions_is_a_few_megabytes():
    sizes = [len(encode(debug(chain(functions_)[1]).trace())) for functions_ in (50, 500)]
    assert sizes[1] < 11 * sizes[0]
    assert sizes[1] < 12_500_000


def test_a_wide_program_stays_small():
    x = Variable(np.ones(2), name="x")
    recording = record_backward(sum(functions.sum(functions.sin(x) * number) for number in range(300)))
    assert max(len(event.waiting) for event in recording.events if event.kind == "Visited") <= 8
    assert max(event.waits for event in recording.events if event.kind == "Visited") > 100
