"""Branches and loops in nets that stand still: each runs as one step, which brings all that happens in it."""

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

from gradviz import (
    GradientSlice,
    GradvizError,
    Live,
    Net,
    Operator,
    RunError,
    Session,
    Workspace,
    debug,
    live,
    load,
    register_kernel,
)
from gradviz.operators.scopes import ScopeStack
from tests.debugger.answers.nets import random_blocks, random_programs, workspace_of
from tests.debugger.loops import H, W, fed, gated, recurrent, states, weight_gradients
from tests.random_cases import counts

ROUNDS = 4


@pytest.fixture
def one() -> Live:
    return live(recurrent(), ["loss"], workspace=fed(ROUNDS))


@pytest.fixture(scope="module")
def whole() -> Session:
    return debug(recurrent(), ["loss"], workspace=fed(ROUNDS))


def is_same(one: Any, other: Any) -> bool:
    if isinstance(one, ScopeStack):
        return isinstance(other, ScopeStack) and len(one) == len(other)
    return (one.tobytes(), one.shape, one.dtype) == (other.tobytes(), other.shape, other.dtype)


def assert_ends_alike(one: Session, whole: Session) -> None:
    """What ran, in every run of every nested net, and all that was computed, to the bit."""
    mine, other = one._recording, whole._recording
    assert mine is not None
    assert other is not None
    pairs = [(mine.values, other.values), *((a.values, b.values) for a, b in zip(mine.runs, other.runs, strict=True))]
    for own, theirs in pairs:
        assert own.keys() == theirs.keys()
        assert all(is_same(array, theirs[key]) for key, array in own.items())
    assert [run.path for run in mine.runs] == [run.path for run in other.runs]
    assert Counter(event.kind for event in one.events) == Counter(event.kind for event in whole.events)
    assert ran(one) == ran(whole)


def ran(session: Session) -> list[Any]:
    return [(event.path, event.position, str(event.op)) for event in session.events if event.kind == "Ran"]


def told(session: Session, path: str) -> list[str]:
    """What is said in a run of a nested net, but for times."""
    session.restart()
    session.run_to(path)
    said = []
    while session.path:
        said.append(re.sub(r" in [\d.]+ \S?s\b", "", session.narration))
        session.step()
    return said


@pytest.mark.parametrize("make", [recurrent, gated])
def test_it_ends_as_when_it_is_recorded_at_once(make):
    assert_ends_alike(live(make(), ["loss"], workspace=fed()).finish(), debug(make(), ["loss"], workspace=fed()))


@pytest.mark.parametrize("random_nets", [random_programs, random_blocks])
@counts(32)
def test_random_nets_end_as_when_they_are_recorded_at_once(random_nets, count):
    compared = 0
    for case, other in random_nets(count, 23):
        session = live(case.net, case.ys, workspace=workspace_of(case), skip=case.skip).finish()
        if other.events[-1].kind == "Failed":
            assert session.events[-1] == other.events[-1]
            continue
        assert_ends_alike(session, other)
        compared += 1
    assert compared > count / 6


def test_an_operator_with_nested_nets_is_one_step(one):
    one.step()
    one.step()
    assert one.next == "#2 While"
    event = one.over()
    assert one.next == "#3 SumElements"
    assert str(event.op.type) == "While"
    np.testing.assert_allclose(one.workspace["h"], states(ROUNDS)[-1])
    kinds = Counter(event.kind for event in one.session.events)
    assert kinds["EnteredSubnet"] == kinds["LeftSubnet"] == 3 * ROUNDS + 1


def test_what_happened_inside_is_recorded_at_every_step(one, tmp_path):
    while one.next is not None:
        one.step()
        session = one.session
        assert session.narration
        session.save(tmp_path / "live.gradviz.json")
        loaded = load(tmp_path / "live.gradviz.json")
        loaded.finish()
        assert loaded.narration == session.narration
        assert loaded.state() == session.state()
        assert session.graph().source
    assert len(session.trace().frames) == 6 * ROUNDS + 2


def test_each_iteration_has_its_values_forward_and_backward(one):
    session, h = one.finish(), states(ROUNDS)
    for k in range(ROUNDS):
        np.testing.assert_allclose(session.value(f"2.loop_net[{k}]/0.net:h"), h[k + 1])
    np.testing.assert_allclose(session.value("w_grad"), sum(weight_gradients(ROUNDS)))
    assert "sum of 4 contributions" in str(session.ledger("w"))
    assert str(session.ledger("w")) == str(debug(recurrent(), ["loss"], workspace=fed(ROUNDS)).ledger("w"))
    assert session.why_none("i").cuts


def test_it_is_told_as_when_it_is_recorded_at_once(one, whole):
    session = one.finish()
    backward = next(event.path[0] for event in session.events if event.kind == "Ran" and event.path[:1] > ("3",))
    for path in ("2.loop_net[2]", "2.cond_net[4]", f"{backward.partition('.')[0]}.loop_net[1]/0.net"):
        assert told(session, path) == told(whole, path)
        assert len(told(session, path))
    generated = [event for event in session.events if event.path and event.kind != "Ran"]
    assert {event.kind for event in generated} >= {"Played", "Seeded", "Visited", "RuleApplied", "Completed"}
    session.restart()
    session.run_to("2.loop_net/0.net")
    session.step()
    assert session.narration.startswith("Operator #0")


def test_verbs_move_in_a_run_as_when_it_is_recorded_at_once(one, whole):
    positions = []
    for session in (one.finish(), whole):
        session.restart()
        session.run_to("2.loop_net[1]")
        begun, moves = session.position, []
        for verb in ("into", "over", "over", "over", "out", "back_over", "over", "out"):
            getattr(session, verb)()
            moves.append((session.position - begun, session.path))
        positions.append(moves)
    assert positions[0] == positions[1]


def test_it_runs_to_what_is_to_come_inside(one):
    event = one.run_to("2.loop_net[2]/0.net")
    assert event.kind == "EnteredSubnet"
    assert one.session.path == ("2.loop_net[2]", "0.net")
    np.testing.assert_allclose(one.session.value("h@0"), states(ROUNDS)[2])
    assert one.next == "#3 SumElements"
    one.run_to("TanhGradient")
    assert one.session.event.kind in ("RuleApplied", "Ran")
    with pytest.raises(GradvizError, match="nothing is called"):
        one.run_to("nothing is called so")


def test_breakpoints_stop_inside(one, whole):
    whole.restart()
    whole.break_on("op.type == 'Tanh' and event.iteration == 2")
    one.break_on("op.type == 'Tanh' and event.iteration == 2")
    one.continue_()
    whole.continue_()
    assert one.session.path == whole.path == ("2.loop_net[2]", "0.net")
    assert one.session.narration[:20] == whole.narration[:20]
    one.continue_()
    assert one.next is None
    whole.breakpoints.clear()


def test_a_gradient_that_is_renamed_later_keeps_the_runs_of_the_net_that_made_it():
    net = Net("both")
    with net.If("c"):
        net.Tanh("x", "a")
    with net.Else():
        net.Sin("x", "a")
    net.Exp("x", "b")
    net.Add(["a", "b"], "y")
    ws = Workspace()
    ws.feed("x", [0.5, 1.0])
    ws.feed("c", True)
    session, other = (make(net, ["y"], workspace=ws) for make in (live, debug))
    session = session.finish()
    assert_ends_alike(session, other)
    assert "sum of 2 contributions" in str(session.ledger("x"))


# Changed by hand
def branch() -> Net:
    """y = tanh(x) w where c holds, else x."""
    net = Net("branch")
    with net.If("c"):
        net.Tanh("x", "t")
        net.Mul(["t", "w"], "y")
    with net.Else():
        net.Copy("x", "y")
    net.SumElements("y", "loss")
    return net


def branched(**more: Any) -> Live:
    ws = Workspace()
    for name, value in {"x": [0.5, -1.0], "w": [2.0, 3.0], "c": True, **more}.items():
        ws.feed(name, value)
    return live(branch(), ["loss"], workspace=ws)


def run_past(one: Live, word: str) -> None:
    """Run up to and with the next operator of a type."""
    while word not in (one.next or word):
        one.step()
    one.step()


def test_a_blob_that_a_branch_has_read_may_be_changed_and_its_gradient_is_that_of_what_was_read():
    one = branched()
    run_past(one, "If")
    one.feed("x", [7.0, 7.0])
    one.feed("c", False)
    session = one.finish()
    np.testing.assert_allclose(session.value("w_grad"), np.tanh([0.5, -1.0]))
    np.testing.assert_allclose(session.value("x_grad"), np.array([2.0, 3.0]) / np.cosh([0.5, -1.0]) ** 2)
    assert session.why_none("x_by_hand").cuts


def test_a_blob_that_a_branch_has_written_may_be_changed_and_what_was_given_has_the_gradient():
    one = branched()
    run_past(one, "If")
    one.feed("y", [5.0, 6.0])
    session = one.finish()
    assert session.value("loss") == 11
    assert np.array_equal(session.value("y_by_hand_grad"), [1.0, 1.0])
    assert session.why_none("w").cuts


def test_a_blob_that_only_the_other_branch_would_have_written_may_be_given():
    net = Net("one-sided")
    inside = Net("then")
    inside.Tanh("x", "y")
    net.ops.append(Operator("If", ["c", "x"], ["y"], {"then_net": inside}))
    net.Scale("y", "z", scale=2.0)
    ws = Workspace()
    ws.feed("x", [0.5])
    ws.feed("c", False)
    one = live(net, ["z"], workspace=ws)
    one.step()
    with pytest.raises(RunError, match="reads y, which nobody fed or wrote"):
        one.step()
    one.feed("y", [3.0])
    session = one.finish()
    assert session.value("z") == 6
    assert session.value("y_by_hand_grad") == 2


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_state_of_a_loop_may_be_changed(when):
    given = np.array([[0.2], [0.4]])
    one = live(recurrent(), ["loss"], workspace=fed(2))
    run_past(one, "LT" if when == "before" else "While")
    one.feed("h", given)
    session = one.finish()
    other = debug(recurrent(), ["loss"], workspace=fed(2, h=given))
    if when == "before":
        assert np.array_equal(session.value("loss"), other.value("loss"))
        assert is_same(session.value("w_grad"), other.value("w_grad"))
        return
    assert np.array_equal(session.value("h_by_hand_grad"), np.ones((2, 1)))
    assert session.why_none("w").cuts


def test_what_loops_have_read_may_be_changed_and_each_has_its_own_gradient():
    net = Net("two loops")
    for number in range(2):
        net.ConstantFill([], f"i{number}", value=0.0, dtype="float64", shape=[1])
        net.LT([f"i{number}", "n"], f"go{number}")
        with net.While(f"go{number}") as loop:
            with loop.condition():
                net.LT([f"i{number}", "n"], f"go{number}")
            net.Mul(["h", "w"], "h")
            net.Add([f"i{number}", "one"], f"i{number}")
    net.SumElements("h", "loss")
    ws = Workspace()
    for name, value in {"h": [1.5], "w": [2.0], "n": [3.0], "one": [1.0]}.items():
        ws.feed(name, value)
    one = live(net, ["loss"], workspace=ws)
    run_past(one, "While")
    one.feed("w", [0.5])
    session = one.finish()
    # h = 1.5 w³ v³ with w = 2 and v = 0.5
    assert session.value("loss") == 1.5
    assert np.allclose(session.value("w_grad"), 1.5 * 3 * 2.0**2 * 0.5**3)
    assert np.allclose(session.value("w_by_hand_grad"), 1.5 * 2.0**3 * 3 * 0.5**2)


def test_the_gradient_that_a_loop_made_may_be_changed():
    net = Net("before a loop")
    net.Scale("x", "h", scale=2.0)
    net.ops += recurrent().ops
    one = live(net, ["loss"], workspace=fed(2, x=H))
    run_past(one, "While of the backward pass")
    gradient = next(op.outputs[0] for op in one.session._recording.operators if op.is_gradient and op.type == "While")
    one.feed(gradient, np.full((2, 1), 3.0))
    assert np.array_equal(one.finish().value("x_grad"), np.full((2, 1), 6.0))


def test_a_stack_of_workspaces_is_not_fed(one):
    run_past(one, "While")
    scope = next(name for name, _ in one.session._recording.values if name.endswith("scope"))
    assert scope not in one.workspace
    with pytest.raises(RunError, match="holds a stack of workspaces") as caught:
        one.feed(scope, np.zeros(()))
    assert caught.value.ways_out


# Elsewhere, and in vain
def test_an_operator_with_nested_nets_is_told_no_device(one, cupy):
    one.step()
    one.step()
    with pytest.raises(RunError, match="each operator of which runs where it says itself") as caught:
        one.step(device="cuda:0")
    assert caught.value.kind == "bad_device"
    assert one.next == "#2 While"
    one.step()


def test_operators_in_nested_nets_run_where_they_say(cupy):
    net = Net("there")
    net.Copy("x", "y")
    with net.If("c"):
        net.Tanh("x", "y", device="cuda:1")
    ws = Workspace()
    ws.feed("x", [0.5])
    ws.feed("c", True)
    one, whole = live(net, ["y"], workspace=ws).finish(), debug(net, ["y"], workspace=ws)
    devices = [[event.device for event in session.events if event.kind == "Ran"] for session in (one, whole)]
    assert devices[0] == devices[1]
    assert "cuda:1" in devices[0]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_fails_in_the_third_round_leaves_everything_as_it_was(error, own_types):
    calls = []

    @register_kernel("FailsAtThree")
    def fails_at_three(op, x):
        calls.append(op)
        if len(calls) == 3:
            raise error("no more")
        return x * 2.0

    net = Net("fails")
    net.LT(["i", "n"], "go")
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        net.add("FailsAtThree", "x", "x")
        net.Add(["i", "one"], "i")
    ws = Workspace()
    for name, value in {"x": [1.0], "i": 0.0, "n": 4.0, "one": 1.0}.items():
        ws.feed(name, value)
    one = live(net, workspace=ws)
    one.step()
    one.step()
    before, events = {name: one.workspace[name] for name in one.workspace}, len(one.session)
    if error is ValueError:
        with pytest.raises(RunError, match="In the loop_net of operator #2 While, iteration 2") as caught:
            one.step()
        assert caught.value.operator_index == 2
    else:
        with pytest.raises(KeyboardInterrupt):
            one.step()
    assert one.next == "#2 While"
    assert len(one.session) == events
    assert {name: one.workspace[name] for name in one.workspace} == before
    one.step()
    assert one.workspace["x"] == 16
    assert len(one.session._recording.runs) == 3 * 4 + 1


def test_a_loop_whose_input_does_not_fit_runs_when_that_is_mended():
    one = live(recurrent(), ["loss"], workspace=fed(ROUNDS, w=np.ones((3, 3))))
    one.step()
    one.step()
    with pytest.raises(RunError, match="loop_net"):
        one.step()
    one.feed("w", W)
    session = one.finish()
    np.testing.assert_allclose(session.value("w_grad"), sum(weight_gradients(ROUNDS)))
    assert np.array_equal(session.value("h@0"), H)


# Together with the rest
def test_nets_grow_by_loops_and_the_end_can_be_checked_and_run_again(tmp_path):
    net = Net("grows")
    one = live(net, workspace=fed(ROUNDS))
    net.LT(["i", "n"], "go")
    one.step()
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        net.MatMul(["w", "h"], "a")
        net.Tanh("a", "h")
        net.Add(["i", "one"], "i")
    one.step()
    one.step()
    assert "test_live_nested.py" in one.session.trace().subnets[-1].forward[0].code.file
    net.SumElements("h", "loss")
    one.differentiate(["loss"])
    session = one.finish()
    assert session.check("w").verdict == "agrees"
    session.to_notebook(tmp_path / "live.ipynb")
    session.to_html(tmp_path / "live.html")
    assert (tmp_path / "live.ipynb").exists()


def test_nested_nets_that_are_misbuilt_are_refused_at_once():
    net = Net("misbuilt")
    wrong = {"net": Net("inside"), "inner_blobs": ["x"], "outer_blobs_idx": [7]}
    net.ops.append(Operator("Do", ["x", "scope"], ["y", "scope"], wrong))
    with pytest.raises(GradvizError) as caught:
        live(net, ["y"], workspace=Workspace())
    assert caught.value.kind == "control_flow_structure"


def test_a_gradient_made_dense_for_a_branch_is_so_before_the_pass_goes_in_where_a_rule_refuses(tmp_path):
    net = Net("a rule refuses")
    net.Copy("ones", "std")
    with net.If("c"):
        net.LayerNorm("x", ["normed", "mean", "std"])
    ws = Workspace()
    fed = {
        "c": np.True_,
        "x": np.ones((2, 3)),
        "ones": np.ones((2, 1)),
        "rows": np.array([1]),
        "values": np.ones((1, 1)),
    }
    for name, value in fed.items():
        ws.feed(name, value)
    session = live(net, {"std": GradientSlice("rows", "values")}, workspace=ws).finish()
    *_, ran = (event for event in session.events if event.kind == "Ran")
    assert ran.op.type == "SparseToDense"
    assert session.events[-1].kind == "Failed"
    assert session.path == ("2.then_net", "0.net")
    session.save(tmp_path / "refused.gradviz.json")
    loaded = load(tmp_path / "refused.gradviz.json")
    loaded.finish()
    assert loaded.narration == session.narration
