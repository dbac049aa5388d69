"""Gradients held against finite differences."""

import numpy as np
import pytest

from gradviz import Net, Operator, Workspace, debug, live, load, register_gradient, register_kernel
from gradviz.debugger import CursorError
from gradviz.debugger.answers.comparison import Differences
from tests.debugger.answers.nets import dead, diamond, overwritten, random_programs, random_sessions, recorded
from tests.debugger.conftest import fed_workspace, skip_net
from tests.debugger.loops import fed, gated
from tests.random_cases import counts


def cubes(factor: float):
    """loss = sum of x³, by an operator whose rule sends back `factor` x²."""
    register_kernel("OwnCube")(lambda op, x: x**3)
    register_kernel("OwnCubeGradient")(lambda op, x, dy: factor * x**2 * dy)

    @register_gradient("OwnCube")
    def rule(op, g_output):
        made = Operator("OwnCubeGradient", [op.inputs[0], g_output[0]], ["x_grad"])
        return made, ["x_grad"]

    net = Net("cubes")
    net.add("OwnCube", "x", "y")
    net.SumElements("y", "loss")
    return recorded(net, x=[1.0, -2.0, 0.5])


def test_every_operator_of_a_net_agrees_with_the_gradient_that_really_arrives(session):
    for index in range(7):
        view = session.check(f"#{index}")
        assert view.verdict == "agrees", view
        assert all(one.error < 1e-9 for one in view.checks)
        assert {one.method for one in view.checks} == {"complex step"}


def test_a_rule_that_is_wrong_differs_and_it_is_said_where(own_types):
    assert cubes(3.0).check("#0").verdict == "agrees"
    session = cubes(2.0)
    (one,) = session.check("#0").checks
    assert (one.verdict, one.checked, one.differing) == ("differs", 3, 3)
    assert one.error == pytest.approx(1 / 3)
    assert one.difference == pytest.approx(1.5 * one.gradient)
    assert session.check("x").verdict == "differs"
    assert "differs from differences" in str(session.check("x"))


def test_a_fault_in_one_element_is_found(own_types):
    register_kernel("OwnCopy")(lambda op, x: x.copy())
    register_kernel("OwnCopyGradient")(lambda op, dy: dy * np.where(np.arange(dy.size) == 2, 1.001, 1.0))
    register_gradient("OwnCopy")(lambda op, g: (Operator("OwnCopyGradient", [g[0]], ["x_grad"]), ["x_grad"]))
    net = Net()
    net.add("OwnCopy", "x", "y")
    net.Tanh("y", "z")
    view = recorded(net, ["z"], x=np.linspace(-1, 1, 5)).check("#0")
    (one,) = view.checks
    assert (view.verdict, one.differing, one.index) == ("differs", 1, [2])
    assert one.error == pytest.approx(1e-3, rel=0.01)


@pytest.mark.parametrize("word", ["x", "#0", "all"])
def test_an_infinity_and_a_NaN_differ_and_hide_no_fault_beside_them(own_types, word):
    register_kernel("OwnTriple")(lambda op, x: 3 * x)
    register_kernel("OwnTripleGradient")(lambda op, g: np.array([3.0, -np.inf, 5.0, np.nan, 3.0]))
    register_gradient("OwnTriple")(lambda op, g: (Operator("OwnTripleGradient", g, ["x_grad"]), ["x_grad"]))
    net = Net("three of five elements are wrong")
    net.add("OwnTriple", "x", "y")
    (checked,) = recorded(net, ["y"], x=np.arange(5.0)).check(word).checks
    assert (checked.verdict, checked.differing, checked.error) == ("differs", 3, "inf")


def test_a_gradient_of_another_shape_cannot_be_checked(own_types):
    register_kernel("OwnSum")(lambda op, x: x * 1)
    register_gradient("OwnSum")(lambda op, g: (Operator("SumElements", [g[0]], ["x_grad"]), ["x_grad"]))
    net = Net()
    net.add("OwnSum", "x", "y")
    session = recorded(net, ["y"], x=[1.0, 2.0])
    assert session.finish().kind == "Failed"
    assert "shape" in session.check("#0").notes[0]


def test_where_one_sided_differences_disagree_there_is_a_kink_and_no_fault():
    net = Net()
    net.Relu("x", "y")
    net.SumElements("y", "loss")
    session = recorded(net, x=[0.0, 1.0, -1.0])
    for question in ("#0", "x"):
        view = session.check(question)
        assert view.verdict == "kink"
        assert (view.checks[0].kinks, view.checks[0].differing) == (1, 0)
        assert "no gradient is right or wrong" in str(view)
    assert recorded(net, x=[1e-7, -1e-7, 3.0]).check("#0").verdict == "agrees"


def test_a_fault_beside_a_kink_is_still_a_fault(own_types):
    register_kernel("OwnRelu")(lambda op, x: np.maximum(x, 0))
    register_kernel("OwnReluGradient")(lambda op, x, dy: 2 * dy * (x > 0))
    rule = lambda op, g: (Operator("OwnReluGradient", [op.inputs[0], g[0]], ["x_grad"]), ["x_grad"])  # noqa: E731
    register_gradient("OwnRelu")(rule)
    net = Net()
    net.add("OwnRelu", "x", "y")
    view = recorded(net, ["y"], x=[0.0, 1.0, -1.0]).check("#0")
    assert view.verdict == "differs"
    assert (view.checks[0].kinks, view.checks[0].differing) == (1, 1)


def test_where_a_function_ends_no_gradient_is_right_or_wrong():
    net = Net()
    net.Sqrt("x", "y")
    net.SumElements("y", "loss")
    assert recorded(net, x=[0.0, 4.0]).check("#0").verdict == "kink"
    assert recorded(net, x=[1e-7, 4.0]).check("#0").verdict == "agrees"


def test_a_curve_at_its_bottom_is_no_kink():
    net = Net()
    net.Sqr("x", "y")
    net.SumElements("y", "loss")
    assert recorded(net, x=[0.0, 1e-7]).check("x").verdict == "agrees"


def test_a_deep_net_that_makes_much_of_rounding_has_neither_faults_nor_kinks():
    net, ws, rng = Net("deep"), Workspace(), np.random.default_rng(0)
    ws.feed("h0", rng.normal(size=(4, 5)))
    for block in range(70):
        net.FC([f"h{block}", f"w{block}", f"b{block}"], f"a{block}")
        net.Tanh(f"a{block}", f"t{block}")
        net.Sum([f"h{block}", f"t{block}"], f"h{block + 1}")
        ws.feed(f"w{block}", 2 * rng.normal(size=(5, 5)))
        ws.feed(f"b{block}", np.zeros(5))
    session = debug(net, ["h70"], workspace=ws)
    assert [session.check(leaf).verdict for leaf in ("w15", "w25", "b28", "w30")] == ["agrees"] * 4
    values = session._recording.values
    key = next(key for key in values if key[0] == "w30_grad")
    values[key] = 1.01 * values[key]
    assert session.check("w30").verdict == "differs"


def test_dropout_is_held_at_what_it_dropped():
    net = Net()
    net.Dropout("x", ["y", "mask"])
    net.SumElements("y", "loss")
    session = recorded(net, x=np.linspace(1, 2, 8))
    assert session.check("#0").verdict == "agrees"
    assert "held" in session.check("#0").notes[0]
    assert session.check("x").verdict == "agrees"


def test_an_operator_that_gives_something_else_each_time_cannot_be_checked(own_types):
    random = np.random.default_rng(0)
    register_kernel("OwnNoise")(lambda op, x: x + random.normal(size=x.shape))
    register_gradient("OwnNoise")(lambda op, g: (None, [g[0]]))
    net = Net()
    net.add("OwnNoise", "x", "y")
    net.SumElements("y", "loss")
    session = recorded(net, x=[1.0, 2.0])
    for question in ("#0", "x"):
        view = session.check(question)
        assert view.verdict == "not checkable"
        assert "random" in view.notes[0]


def test_integers_are_not_checked_and_not_failed(session):
    view = session.check("#6")
    assert view.verdict == "agrees"
    assert [one.blob for one in view.checks] == ["z@0"]
    assert "label@0" in view.notes[0]
    assert session.check("label").verdict == "not checkable"


@pytest.mark.parametrize("type", ["NegateGradient", "StopGradient"])
def test_what_is_not_the_gradient_on_purpose_is_not_failed(type):
    net = Net()
    net.add(type, "x", "r")
    net.Mul(["r", "x"], "q")
    net.SumElements("q", "loss")
    session = recorded(net, x=[1.0, 2.0])
    assert session.check("#0").verdict == "not checkable"
    whole = session.check("x")
    if type == "StopGradient":
        assert whole.verdict == "agrees"
        assert whole.notes == ["StopGradient #0 sends no gradient to x@0, so what it makes of it was kept constant."]
    else:
        assert whole.verdict == "not checkable"


def test_a_value_that_is_not_finite_is_not_checked():
    net = Net()
    net.Log("x", "y")
    net.SumElements("y", "loss")
    session = recorded(net, x=[np.nan, 1.0])
    assert "provenance" in session.check("x").notes[0]
    assert session.check("#0").verdict == "not checkable"


@pytest.mark.parametrize(("to", "factor"), [("float", 1.1), (1, 1.1), ("float16", 1.5)])
def test_what_casts_leave_no_digits_of_is_compared_all_the_same(to, factor, own_types):
    net = Net()
    net.Cast("x", "h", to=to)
    net.Cast("h", "k", to="double")
    net.Mul(["k", "x"], "y")
    session = recorded(net, ["y"], x=np.linspace(0.3, 40, 5))
    assert session.check("x").verdict == "agrees"
    net.Mul(["y", "x"], "z")
    net.add("Cast", "z", "narrow", to=to)
    register_kernel("OwnFactor")(lambda op, x: 1.0 * x)
    register_gradient("OwnFactor")(lambda op, g: (Operator("Scale", g, ["y_grad"], {"scale": factor}), ["y_grad"]))
    net.add("OwnFactor", "narrow", "wrong")
    assert recorded(net, ["wrong"], x=np.linspace(0.3, 4, 5)).check("x").verdict == "differs"


def test_of_large_blobs_some_elements_are_drawn_from_a_seed():
    net = Net()
    net.Tanh("x", "y")
    net.SumElements("y", "loss")
    session = recorded(net, x=np.linspace(-1, 1, 1000).reshape(10, 100))
    (one,) = session.check("x").checks
    assert (one.checked, one.size) == (64, 1000)
    assert session.check("x") == session.check("x")
    assert "looks at 64 elements, drawn from seed 0" in str(session.check("x"))


def cancelled(seed, own_type):
    """Where the gradients of all that softmax gives are the same, that of what it is given is 0."""
    net = Net()
    net.Transpose("x", "t")
    net.Softmax("t", "p")
    net.add(own_type, "p", "q")
    net.Transpose("q", "s")
    ys = ["s"] if own_type == "Scale" else ["s", net.Mul(["q", "p"], "squares")]
    return recorded(net, ys, x=np.random.default_rng(seed).normal(size=(3, 4)).astype(np.float32))


@pytest.mark.parametrize("seed", range(5))
def test_where_all_cancels_further_down_what_rounding_leaves_is_no_fault(seed, own_types):
    assert cancelled(seed, "Scale").check("x").verdict == "agrees"
    register_kernel("OwnFactor")(lambda op, x: 1.0 * x)
    register_gradient("OwnFactor")(lambda op, g: (Operator("Scale", g, ["p_grad"], {"scale": 1.1}), ["p_grad"]))
    assert cancelled(seed, "OwnFactor").check("x").verdict == "differs"


def test_of_a_gradient_that_rounding_hides_elements_that_happen_to_be_near_prove_nothing(own_types):
    register_kernel("OwnSquare")(lambda op, x: x * x)
    register_kernel("OwnSquareGradient")(lambda op, x, dy: 2 * dy * (x.T if op.args["turned"] else x))

    @register_gradient("OwnSquare")
    def rule(op, g_output):
        return Operator("OwnSquareGradient", [op.inputs[0], g_output[0]], ["x_grad"], op.args), ["x_grad"]

    for turned, verdict in ((False, "agrees"), (True, "not checkable")):
        net = Net("all but the diagonal of the gradient is wrong")
        net.add("OwnSquare", "x", "y", turned=turned)
        view = recorded(net, ["y"], x=1e-30 * np.arange(1.0, 10).reshape(3, 3)).check("#0")
        assert view.verdict == verdict, view


def test_single_precision_is_held_to_single_precision():
    net = Net()
    net.Tanh("x", "y")
    net.SumElements("y", "loss")
    session = recorded(net, x=np.linspace(-1, 1, 5, dtype=np.float32))
    assert session.check("#0").verdict == "agrees"
    assert session.check("x").verdict == "agrees"


def test_rows_of_a_table_are_checked_as_the_table():
    net = Net()
    net.Gather(["table", "rows"], "g")
    net.Tanh("g", "t")
    net.SumElements("t", "loss")
    ws = Workspace()
    ws.feed("table", np.linspace(-1, 1, 6).reshape(3, 2))
    ws.feed("rows", np.array([1, 1, 0]))
    session = debug(net, ["loss"], workspace=ws)
    assert session.check("table").verdict == "agrees"
    assert session.check("#0").verdict == "agrees"


def test_loops_and_what_is_inside_of_them_are_checked():
    session = debug(gated(), ["loss"], workspace=fed(3))
    for question in ("#2", "w", "h", "2.loop_net[1]/0.net:#5", "2.loop_net[1]/0.net:#4", "2.loop_net[2]/0.net:h"):
        assert session.check(question).verdict == "agrees", question
    session.run_to("2.loop_net[1]/0.net")
    assert session.check("#5").subject.startswith("2.loop_net[1]/0.net:#5")


def test_what_the_pass_did_not_ask_is_not_checkable():
    net = Net()
    net.Tanh("x", "unused")
    net.Sigmoid("x", "loss")
    session = recorded(net, x=[1.0])
    assert "did not ask" in session.check("#0").notes[0]
    assert "why_none" in session.check("unused").notes[0]


def test_everything_agrees_in_the_other_nets():
    for session in (diamond(), dead()):
        for blob in session.trace().gradients:
            assert session.check(blob).verdict in ("agrees", "not checkable"), session.check(blob)


@counts(24)
def test_no_gradient_of_a_random_net_differs(count):
    pytest.importorskip("torch", reason="random nets are drawn with PyTorch")
    agreed = exact = 0
    for case, session in random_sessions(count, seed=7):
        if session.events[-1].kind != "Ran":
            continue
        questions = [*session.trace().gradients, *(f"#{index}" for index in range(len(case.net.ops)))]
        for view in map(session.check, questions):
            assert view.verdict != "differs", f"{view}\n{case}"
            agreed += view.verdict == "agrees"
            exact += any(one.method == "complex step" for one in view.checks)
    assert agreed > 2.9 * count
    assert exact > 1.25 * count


@counts(40)
def test_a_fault_of_one_in_a_thousand_in_the_greatest_element_is_found_in_random_nets(count):
    pytest.importorskip("torch", reason="random nets are drawn with PyTorch")
    found = 0
    for case, session in random_sessions(count, seed=11):
        if session.events[-1].kind != "Ran":
            continue
        values, sent = session._recording.values, sent_in(session)
        for index in range(len(case.net.ops)):
            view = session.check(f"#{index}")
            gradients = [sent[index, one.blob] for one in view.checks if (index, one.blob) in sent]
            if view.verdict != "agrees" or not gradients or not np.abs(values[gradients[0]]).max(initial=0) > 1e-9:
                continue
            right = values[gradients[0]]
            wrong = right.copy()
            wrong.flat[np.abs(wrong).argmax()] *= 1.001
            values[gradients[0]] = wrong
            assert session.check(f"#{index}").verdict == "differs", f"#{index}\n{case}"
            values[gradients[0]] = right
            found += 1
    assert found > 1.5 * count


def sent_in(session):
    """(operator, blob version) -> the dense gradient that it sent there, where it is the only one."""
    sent: dict = {}
    for event, about in zip(session.events, session.trace().events, strict=True):
        if event.kind == "GeneratorAdded" and event.how == "generated" and isinstance(event.gradient, str):
            name, _, version = about.blobs[0].rpartition("@")
            key = event.index, f"{event.blob}@{event.version}"
            sent[key] = None if key in sent else (name, int(version))
    return {key: gradient for key, gradient in sent.items() if gradient is not None}


@counts(16)
def test_no_gradient_of_a_random_program_differs(count):
    pytest.importorskip("torch", reason="random programs are compared with PyTorch")
    agreed = 0
    for _, session in random_programs(count, seed=8):
        if session.events[-1].kind == "Failed":
            continue
        for view in map(session.check, session.trace().gradients):
            assert view.verdict != "differs", view
            agreed += view.verdict == "agrees"
    assert agreed > 20 or count < 16


@pytest.mark.parametrize("question", ["#9", "#-1", "#", "nowhere", "x@5", 3, None, "#x"])
def test_what_is_not_there_is_refused(session, question):
    with pytest.raises(CursorError) as caught:
        session.check(question)
    assert caught.value.kind == "not_found"
    assert caught.value.ways_out


def test_without_values_nothing_can_be_checked(tmp_path):
    with pytest.raises(CursorError, match="not computed"):
        debug(skip_net(), ["loss"]).check("x")
    debug(skip_net(), ["loss"], workspace=fed_workspace()).save(tmp_path / "s.gradviz.json")
    with pytest.raises(CursorError, match="no arrays"):
        load(tmp_path / "s.gradviz.json").check("#0")
    session = overwritten()
    assert session.check("x").verdict == "not checkable"
    with pytest.raises(CursorError, match="it stopped before"):
        session.check("#4")


def derivative(function, x):
    return Differences(lambda x: [function(x)], np.array([float(x)]), [np.ones(1)]).at(0)


def test_differences_know_derivatives_kinks_and_jumps():
    assert derivative(np.sin, 0.3).value == pytest.approx(np.cos(0.3), rel=1e-9)
    assert not derivative(lambda x: x**3, 0.0).is_kink
    assert not derivative(np.exp, 30.0).is_kink
    assert derivative(np.abs, 0.0).is_kink
    assert not derivative(np.abs, 1e-7).is_kink
    assert derivative(np.abs, 1e-7).value == pytest.approx(1.0)
    assert derivative(np.floor, 2.0).is_kink
    assert not derivative(np.floor, 2.5).is_kink


def test_it_is_said_before_anything_is_compared_whether_something_can_be_checked(session):
    session.finish()
    for word in ("#0", "w1", "h@0"):
        assert session.checkable(word).problem == ""
        assert session.check(word).verdict == "agrees"
    for word in ("label", "loss_autogen_grad"):
        view = session.checkable(word)
        assert view.problem == " ".join(session.check(word).notes)
        assert view.problem in str(view)


def test_a_gradient_of_which_more_comes_is_not_held_against_differences() -> None:
    net = Net("two ways")
    net.Tanh("x", "a")
    net.Mul(["a", "a"], "s")
    net.Scale("a", "t", scale=3.0)
    net.Add(["s", "t"], "u")
    ws = Workspace()
    ws.feed("x", [1.0, 2.0])
    one, verdicts = live(net, ["u"], workspace=ws), set[str]()
    while one.next is not None:
        one.step()
        session = one.session
        session.finish()
        if "a" in session.blobs:
            verdicts.add(session.check("a").verdict)
    assert verdicts == {"not checkable", "agrees"}
    assert "so far" not in str(session.ledger("a"))


@pytest.mark.parametrize("large", [1.0, 1e2, 1e3, 1e5])
def test_what_rounding_on_the_way_leaves_of_a_gradient_of_zero_is_no_gradient(large):
    net = Net("(x + large) - large - x")
    net.Add(["x", "large"], "y")
    net.Sub(["y", "large"], "z")
    net.Sub(["z", "x"], "loss")
    ws = Workspace()
    ws.feed("x", np.linspace(0.1, 1, 7))
    ws.feed("large", np.full(7, large))
    view = debug(net, ["loss"], workspace=ws).check("x")
    assert view.verdict == "agrees", view
    assert view.checks[0].kinks == 0
