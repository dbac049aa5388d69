"""Recordings of the tape schedule: the IR's events over what is there already, the run of the flow, the pools."""

import gc

import numpy as np
import pytest

import gradviz
from gradviz import Function, Variable, debug, functions
from gradviz.eager.tape import OperatorPool, TensorPool
from gradviz.program.events import Failed, GradWritten, Played, Ran
from tests.eager.journal.passes import gradients
from tests.eager.journal.test_faults import Halves, Raises, WrongCount


def program():
    x, w = Variable([1.0, 2.0], name="x"), Variable([3.0, 4.0], name="w")
    loss = functions.sum(functions.tanh(x * w) + x * x * 2.0)
    loss.name = "loss"
    return x, w, loss


@pytest.fixture
def session():
    return debug(program()[2], schedule="tape")


def test_the_pass_is_made_first_and_then_run(session):
    kinds = [event.kind for event in session.events]
    completed = kinds.index("Completed")
    assert set(kinds[completed + 1 :]) == {"Ran", "GradWritten"}
    assert "Ran" not in kinds[:completed]
    assert {"Seeded", "Visited", "RuleApplied", "InputChecked", "GeneratorAdded", "Accumulated"} <= set(kinds)
    assert kinds[-3:] == ["GradWritten"] * 3
    assert session.trace().engine == "tape"


def test_no_forward_operator_runs_again(session):
    count = sum(isinstance(event, Played) for event in session.events)
    ran = [event for event in session.events if isinstance(event, Ran)]
    assert [event.position for event in ran if event.seconds is None] == list(range(count))
    assert all(event.position >= count for event in ran if event.seconds is not None)
    x, w, _ = program()
    np.testing.assert_array_equal(session.value("mul@0"), x.data * w.data)


def test_gradients_that_nobody_wants_are_not_computed(session):
    unwanted = [line for line in session.trace().backward if line.ran is None]
    assert {line.type for line in unwanted} <= {"MulGradient", "ScaleGradient", "Scale", "Cast"}
    for event in session.events:
        if isinstance(event, GradWritten):
            assert session.trace().values[event.after]


CONSTANT_FIRST = {
    "of several parts": lambda c, x: functions.concat([c, x * x, c], 0),
    "read before": lambda c, x: c * x + c * functions.tanh(x),
    "read in between": lambda c, x: x * c + functions.tanh(c * x) * c,
}


@pytest.mark.parametrize("name", CONSTANT_FIRST)
def test_the_sums_that_run_are_those_of_what_wants_a_gradient(name):
    c, x = Variable([[2.0, 3.0]], requires_grad=False, name="c"), Variable([[0.5, -1.0]], name="x")
    loss = functions.sum(CONSTANT_FIRST[name](c, x))
    session = debug(loss, schedule="tape")
    session.finish()
    loss.backward(schedule="tape")
    np.testing.assert_array_equal(session.value(session.ledger("x").ledger.total), x.grad)
    assert sum(one.share for one in session.ledger("x").ledger.contributions) == pytest.approx(1)
    assert session.ledger("c").ledger.norm is None  # nobody wants it, so it is not added up
    assert str(session.check("x")).startswith("The gradient of x@0 agrees")


@pytest.mark.parametrize("retain_grad", [False, True])
def test_the_gradients_are_those_of_backward(retain_grad):
    x, w, loss = program()
    middle = loss.creator.inputs[0]
    middle.name = "middle"
    w.grad = np.ones(2)
    recorded = gradients(debug(loss, schedule="tape", retain_grad=retain_grad))
    assert x.grad is None
    loss.backward(schedule="tape", retain_grad=retain_grad)
    for variable in (x, w, loss, *([middle] if retain_grad else [])):
        np.testing.assert_array_equal(recorded[variable.name], variable.grad)
    assert ("middle" in recorded) == retain_grad


def test_a_given_gradient_several_outputs_and_sparse_rows():
    table = Variable(np.ones((4, 2)), name="table")
    rows = functions.embed_id([1, 1, 3], table)
    loss = functions.sum(functions.embed_id([0, 2], table))
    seed = np.arange(6.0).reshape(3, 2)
    session = debug([rows, loss], gradient=[seed, None], schedule="tape")
    rows.backward(seed, schedule="tape")
    loss.backward(schedule="tape")
    np.testing.assert_array_equal(session.value("table.grad"), table.grad)
    session.run_to("Seeded")
    assert "from the gradient that was given" in session.narration


def test_a_user_function_is_shown_like_any_other():
    x, w = Variable([1.0, 2.0], name="x"), Variable([3.0, 4.0], name="w")
    loss = functions.sum(Halves()(functions.tanh(x), w))
    session = debug(loss, schedule="tape")
    trace = session.trace()
    assert [line.type for line in trace.forward] == ["Tanh", "Halves", "ReduceSum"]
    assert "HalvesGradient" in [line.type for line in trace.backward]
    recorded = gradients(session)
    assert "x" not in recorded
    np.testing.assert_array_equal(recorded["w"], [0.5, 0.5])
    assert "tanh_grad@0" not in trace.values


def test_of_a_gradient_that_is_not_there_it_is_said_why():
    x, z = Variable([1.0, 2.0], name="x"), Variable([3.0, 4.0], name="z")
    session = debug(functions.sum(Halves()(functions.tanh(z), x)), schedule="tape")
    np.testing.assert_array_equal(session.value("x_grad"), [0.5, 0.5])
    with pytest.raises(gradviz.GradvizError, match="a function gave no gradient that it would be made of") as caught:
        session.value("z_grad")
    assert not any("workspace" in way for way in caught.value.ways_out)


@pytest.mark.parametrize("faulty", [WrongCount, Raises])
def test_a_fault_on_the_way_is_the_last_event(faulty):
    x = Variable([1.0, 2.0], name="x")
    loss = functions.sum(faulty()(functions.tanh(x)))
    event = debug(loss, schedule="tape").finish()
    assert isinstance(event, Failed)
    assert (event.error, event.index) == ("rule_failed", 1)
    assert faulty.__name__ in event.message
    assert x.grad is None


def test_a_rule_that_is_missing_stops_the_making():
    @gradviz.register_kernel("TapeWithoutRule")
    def twice(op, array):
        return array * 2

    session = debug(functions.sum(functions.apply("TapeWithoutRule", Variable([1.0]))), schedule="tape")
    assert session.finish().error == "no_gradient_rule"
    assert not any(isinstance(event, Ran) for event in session.events)


def test_what_the_pools_lend_and_get_back(session):
    start, end = (session.at(position).state().schedule.pools for position in (0, len(session)))
    session.run_to("Accumulated")
    during = session.state().schedule.pools
    lent = {one.name: one.in_use - before.in_use for one, before in zip(during, start, strict=True)}
    assert lent == {"tensors: join": 6, "operators": 6}
    assert [one.in_use for one in end] == [one.in_use for one in start]
    assert all(one.free >= 0 for one in (*start, *during, *end))


def test_the_pools_are_lent_as_told_and_a_recording_takes_nothing():
    gc.collect()  # what other tests have left gives its names back
    _, _, loss = program()
    loss.backward(schedule="tape")
    before = TensorPool.current().occupancy(), OperatorPool.current().occupancy()
    trace = debug(loss, schedule="tape").trace()
    assert (TensorPool.current().occupancy(), OperatorPool.current().occupancy()) == before
    seen = []

    class Watching(Function):
        def forward(self, xs):
            return xs[0]

        def backward(self, xs, gys):
            seen.append(TensorPool.current().occupancy()["join"])
            return gys[0]

    watched = functions.sum(Watching()(functions.tanh(Variable([1.0]))))
    position = 1 + next(at for at, event in enumerate(debug(watched, schedule="tape").events) if event.kind == "Seeded")
    told = debug(watched, schedule="tape").at(position).state().schedule.pools[0]
    seen.clear()
    watched.backward(schedule="tape")
    assert (told.in_use, told.free) == tuple(seen[0])
    assert trace.schedule.waits == []


def test_a_recording_saved_and_loaded_is_the_same_to_look_at(session, tmp_path):
    session.save(tmp_path / "tape.gradviz.json")
    again = gradviz.load(tmp_path / "tape.gradviz.json")
    assert again.trace() == session.trace()
    assert again.events == session.events
    again.run_to("x.grad")
    assert again.narration.startswith("`x.grad` was empty")


def test_new_data_between_two_readings():
    x = Variable([1.0, 2.0], name="x")
    a = x * x
    x.data = np.array([3.0, 4.0])
    loss = functions.sum(a + functions.exp(x))
    recorded = gradients(debug(loss, schedule="tape"))
    loss.backward(schedule="tape")
    np.testing.assert_array_equal(recorded["x"], x.grad)


def test_a_leaf_alone_needs_no_tape():
    session = debug(Variable(2.0, name="x"), schedule="tape")
    assert session.finish().kind == "Completed"
    assert session.value("x.grad") == 1
