"""Bad input raises before anything is recorded; a fault met on the way is the last event of the recording."""

import numpy as np
import pytest

import gradviz
from gradviz import Function, GradientError, Net, Variable, debug, functions
from gradviz.debugger.document import TraceError, decode, encode
from gradviz.program.events import Failed, Ran
from tests.debugger.document.test_trace_document import changed


class WrongCount(Function):
    """Its backward method returns two gradients for one input."""

    def forward(self, xs):
        return xs[0] * 2

    def backward(self, xs, gys):
        return gys[0], gys[0]


class Raises(Function):
    """Its backward method raises."""

    def forward(self, xs):
        return xs[0] * 2

    def backward(self, xs, gys):
        return {}["missing"]


class Halves(Function):
    """Sends a gradient to its second input alone; its backward method keeps the array that it returns."""

    kept = np.array([0.5, 0.5])

    def forward(self, xs):
        return xs[0] + xs[1] / 2

    def backward(self, xs, gys):
        return None, self.kept


def x():
    return Variable([1.0, 2.0], name="x")


@pytest.mark.parametrize(
    ("make", "options", "kind"),
    [
        (lambda: x() * x(), {}, "missing_output_gradient"),
        (lambda: functions.sum(x()), {"gradient": np.ones(3)}, "bad_gradient"),
        (lambda: functions.sum(x()), {"gradient": np.float32(1)}, "bad_gradient"),
        (lambda: functions.sum(x()), {"gradient": 1.0}, "bad_gradient"),
        (lambda: functions.sum(x()), {"schedule": "random"}, "bad_argument"),
        (lambda: functions.sum(x()), {"schedule": ["rank"]}, "bad_argument"),
        (lambda: Variable([1.0], requires_grad=False), {}, "bad_ys"),
        (lambda: [functions.sum(x()), 3], {}, "bad_ys"),
        (lambda: [functions.sum(x()), functions.sum(x())], {"gradient": [None]}, "bad_ys"),
        (lambda: [functions.sum(x())] * 2, {}, "bad_ys"),
        (lambda: functions.sum(x()), {"workspace": gradviz.Workspace()}, "bad_argument"),
        (lambda: functions.sum(x()), {"ys": ["loss"]}, "bad_argument"),
        (lambda: functions.sum(x()), {"colour": "red"}, "bad_argument"),
    ],
)
def test_what_cannot_start_raises(make, options, kind):
    y = make()
    with pytest.raises(GradientError) as caught:
        debug(y, **options)
    assert caught.value.kind == kind
    assert caught.value.ways_out


def test_options_of_variables_are_refused_for_nets():
    with pytest.raises(GradientError, match="gradient") as caught:
        debug(Net("n"), ["y"], gradient=np.ones(1))
    assert caught.value.kind == "bad_argument"


def test_both_kinds_can_be_told_by_name():
    y = functions.sum(x())
    assert debug(y=y).trace().engine == "rank"
    net = Net("n")
    net.Tanh("x", "y")
    assert debug(net=net, ys=["y"]).trace().engine == "symbolic"


def test_a_function_that_returns_the_wrong_number_of_gradients():
    y = functions.sum(WrongCount()(functions.tanh(x())))
    session = debug(y)
    event = session.finish()
    assert isinstance(event, Failed)
    assert (event.error, event.index) == ("rule_failed", 1)
    assert "returned 2 gradients for 1 input" in session.narration
    assert session.events[-2].kind == "Visited"
    assert "stops at the last event" in debug(y).narration
    assert session.trace().gradients == {}


def test_a_function_that_raises():
    session = debug(functions.sum(Raises()(x())))
    event = session.finish()
    assert (event.kind, event.error) == ("Failed", "rule_failed")
    assert event.message == "The backward method of Raises #0 raised KeyError: 'missing'."


@pytest.mark.parametrize("schedule", ["rank", "tape"])
def test_the_sentence_of_an_exception_is_closed_once(schedule):
    class Forward(gradviz.Function):
        def forward(self, xs):
            return 2 * xs[0]

    event = debug(functions.sum(Forward()(x())), schedule=schedule).finish()
    assert event.message == (
        "The backward method of Forward #0 raised NotImplementedError: Forward has no backward method."
    )


def test_a_rule_that_is_missing():
    @gradviz.register_kernel("EagerWithoutRule")
    def twice(op, array):
        return array * 2

    session = debug(functions.sum(functions.apply("EagerWithoutRule", x())))
    assert session.finish().error == "no_gradient_rule"
    assert session.events[-2].kind == "Visited"


def test_a_kernel_that_fails_on_the_way_back():
    @gradviz.register_kernel("EagerBadGradient")
    def bad(op, array):
        return array[:1]

    @gradviz.register_kernel("EagerBad")
    def same(op, array):
        return array * 1

    @gradviz.register_gradient("EagerBad")
    def rule(op, g_output):
        return gradviz.Operator("EagerBadGradient", g_output, ["x_grad"]), ["x_grad"]

    session = debug(functions.sum(functions.apply("EagerBad", x())))
    assert session.finish().kind == "Failed"
    assert [event.kind for event in session.events[-4:]] == ["Visited", "RuleApplied", "Ran", "Failed"]
    assert session.value("x_grad").shape == (1,)


def test_a_pass_that_fails_changes_nothing_and_can_be_saved(tmp_path):
    leaf = x()
    leaf.grad = np.ones(2)
    session = debug(functions.sum(WrongCount()(leaf * leaf) + leaf))
    np.testing.assert_array_equal(leaf.grad, [1, 1])
    session.save(tmp_path / "failed.gradviz.json")
    again = gradviz.load(tmp_path / "failed.gradviz.json")
    assert again.events == session.events


def test_a_leaf_that_got_data_of_another_shape():
    leaf = x()
    y = functions.sum(leaf * leaf)
    leaf.data = np.ones(3)
    session = debug(y)
    assert session.finish().error == "bad_gradient"
    assert session.event.index is None


def test_a_user_function_is_shown_like_any_other():
    leaf, other = x(), Variable([3.0, 4.0], name="w")
    session = debug(functions.sum(Halves()(functions.tanh(leaf), other)))
    trace = session.trace()
    assert [line.type for line in trace.forward] == ["Tanh", "Halves", "ReduceSum"]
    (line,) = [line for line in trace.backward if line.type == "HalvesGradient"]
    assert (line.inputs, line.outputs) == (["tanh@0", "w@0", "halves_grad@0"], ["w_grad@0"])
    session.run_to("HalvesGradient")
    assert "test_faults.py" in session.event.rule
    assert session.narration == (
        "The backward method of Halves #1 ran: `w_grad@0 = HalvesGradient(tanh@0, w@0, halves_grad@0)`. "
        "It gave no gradient of `tanh@0`: the flow ends there."
    )
    session.run_to("Skipped")
    assert session.narration == "Tanh #0 is passed by: no gradient has reached `tanh@0`. Not computed is not zero."
    Halves.kept[:] = 9
    np.testing.assert_array_equal(session.value("w_grad"), [0.5, 0.5])
    Halves.kept[:] = 0.5
    assert any(isinstance(event, Ran) and event.op.type == "HalvesGradient" for event in session.events)


def test_a_user_function_called_like_an_operator_is_told_apart():
    class Relu(Function):
        def forward(self, xs):
            return xs[0]

        def backward(self, xs, gys):
            return gys[0]

    trace = debug(functions.sum(Relu()(x()))).trace()
    assert trace.forward[0].type == "Python.Relu"
    assert trace.forward[0].formula == ""


def test_a_function_on_no_path_is_not_there():
    leaf = x()
    functions.exp(leaf)
    assert [line.type for line in debug(functions.sum(leaf)).trace().forward] == ["ReduceSum"]


def test_what_was_cut_off_is_a_leaf():
    leaf = x()
    middle = functions.tanh(leaf)
    middle.name = "middle"
    y = functions.sum(middle * middle)
    middle.unchain()
    session = debug(y)
    assert [line.type for line in session.trace().forward] == ["Mul", "ReduceSum"]
    session.run_to("GradWritten")
    assert session.event.blob == "middle"


@pytest.mark.parametrize(
    "schedule",
    [
        {"ranks": [0], "waits": [], "grads": [], "pools": []},
        {"ranks": [0] * 7, "waits": [[9, 0, 1, 1, 2]], "grads": [], "pools": []},
        {"ranks": [0] * 7, "waits": [[0, 0, 1, 3, 2]], "grads": [], "pools": []},
        {"ranks": [0] * 7, "waits": [[0, 0, 1, 3, 999]], "grads": [], "pools": []},
        {"ranks": [0] * 7, "waits": [], "grads": [["x", 999, None, "new"]], "pools": [["operators", 999, 0, 0]]},
        {"ranks": [0] * 7, "waits": [], "grads": [["x", 1, None, "stolen"]], "pools": []},
    ],
)
def test_a_schedule_that_contradicts_its_document_is_refused(schedule):
    with pytest.raises(TraceError) as caught:
        decode(changed(schedule=schedule))
    assert caught.value.kind in ("bad_reference", "bad_structure")


def test_a_document_without_a_schedule_is_read():
    document = debug(functions.sum(x())).trace()
    assert decode(encode(document)).schedule == document.schedule
    assert decode(changed()).schedule is None
