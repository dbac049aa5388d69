"""Nets that stand still between operators: what comes of one by one is what comes of all at once."""

import itertools
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from gradviz import (
    GradientError,
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
    register_gradient,
    register_kernel,
)
from gradviz.debugger import CursorError
from gradviz.runtime import watched
from tests.debugger.answers.nets import random_sessions, workspace_of
from tests.debugger.conftest import fed_workspace, skip_net
from tests.random_cases import counts


def begun(**more: Any) -> Live:
    return live(skip_net(), ["loss"], workspace=fed_workspace(), **more)


def gradients_of(session: Session) -> Iterator[tuple[str, Any]]:
    """The last value of each name that gradient operators have written."""
    recording = session._recording
    assert recording is not None
    last: dict[str, int] = {}
    for name, version in recording.values:
        last[name] = max(version, last.get(name, 0))
    for name, version in sorted(last.items()):
        yield name, recording.values[name, version]


def test_every_operator_runs_when_it_is_told_to_and_the_end_is_that_of_debug():
    one, whole = begun(), debug(skip_net(), ["loss"], workspace=fed_workspace())
    steps, lengths = [], []
    while one.next is not None:
        steps.append(one.next)
        one.step()
        lengths.append(len(one.session))
    assert steps[0] == "#0 FC"
    assert lengths == sorted(set(lengths))
    assert sum(event.kind == "Ran" for event in one.session.events) == len(steps)
    assert [name for name, _ in gradients_of(one.session)] == [name for name, _ in gradients_of(whole)]
    for (_, own), (name, other) in zip(gradients_of(one.session), gradients_of(whole), strict=True):
        assert own.tobytes() == other.tobytes(), name


@counts(160)
def test_random_nets_end_as_when_they_are_recorded_at_once(count):
    compared = 0
    for case, whole in random_sessions(count, 20):
        try:
            one = live(case.net, case.ys, workspace=workspace_of(case), skip=case.skip).finish()
        except GradvizError:
            assert whole.events[-1].kind == "Failed"
            continue
        if whole.events[-1].kind == "Failed":
            assert one.events[-1].kind == "Failed"
            continue
        compared += 1
        own, other = dict(gradients_of(one)), dict(gradients_of(whole))
        assert own.keys() == other.keys()
        for name, array in other.items():
            assert np.array_equal(own[name], array, equal_nan=array.dtype.kind in "fc"), name
    assert compared > 0.4 * count


def test_what_has_happened_is_a_recording_at_every_step(tmp_path):
    one = begun()
    while one.next is not None:
        session = one.session
        assert session.narration
        assert session.trace().events or not len(session)
        session.restart()
        session.finish()
        one.step()
    one.session.save(tmp_path / "live.gradviz.json")
    loaded = load(tmp_path / "live.gradviz.json")
    assert [event.kind for event in loaded.trace().events] == [event.kind for event in one.session.trace().events]
    assert "sum of 2 contributions" in str(one.session.ledger("a"))


def test_before_the_first_operator_a_session_is_asked_as_at_any_step(tmp_path):
    session = begun().session
    session.save(tmp_path / "empty.gradviz.json")
    for empty in (session, load(tmp_path / "empty.gradviz.json")):
        assert (len(empty), empty.path) == (0, ())
        assert str(empty.code()) == "The recording knows no line of the user's code."
        with pytest.raises(CursorError, match="no blob x"):
            empty.why_none("x")


@counts(12)
def test_every_step_of_random_nets_can_be_looked_at(count):
    for case, _ in random_sessions(count, 21):
        with suppress(GradvizError):
            one = live(case.net, case.ys, workspace=workspace_of(case), skip=case.skip)
            while one.next is not None:
                one.step()
                document = one.session.trace()
                assert len(document.events) == len(one.session)
                assert one.session.narration


def test_it_stops_at_targets_and_breakpoints():
    one = begun()
    one.run_to("a")
    assert one.next == "#2 FC"
    one.break_on("Accumulated")
    one.continue_()
    assert one.session.event is not None
    assert one.session.event.kind == "Accumulated"
    assert one.next == "ReluGradient of the backward pass"


def test_what_ran_before_an_operator_that_fails_is_a_session_at_once():
    net, ws = skip_net(), fed_workspace()
    net.Mul(["loss", "missing"], "scaled")
    one = live(net, ["scaled"], workspace=ws)
    with pytest.raises(RunError, match="missing"):
        one.finish()
    assert [event.op.type for event in one.session.events if event.kind == "Ran"] == [op.type for op in net.ops[:-1]]
    one.feed("missing", 2.0)
    assert one.finish().event.kind == "Completed"


def test_what_an_operator_writes_that_has_joined_and_not_run_is_not_computed_yet():
    net = Net("square")
    net.Tanh("x", "a")
    net.Sqr("a", "y")  # its rule makes two operators
    ws = Workspace()
    ws.feed("x", [0.5])
    one = live(net, ["y"], workspace=ws)
    while one.next != "Mul of the backward pass":
        one.step()
    assert "Its value is not computed yet." in str(one.session.why_none("a"))
    with pytest.raises(CursorError, match=r"has not run yet\.\n.*live\.step\(\)"):
        one.session.value("a_grad")
    one.step()
    assert one.session.value("a_grad").tolist() == [2 * np.tanh(0.5)]
    assert "not computed" not in str(one.session.why_none("a"))


def test_a_pass_from_an_array_is_not_said_to_start_at_a_number():
    net, ws = Net("array"), Workspace()
    net.Tanh("x", "a")
    ws.feed("x", [1.0, 2.0])
    session = live(net, ["a"], workspace=ws).finish()
    session.run_back_to("Seeded")
    assert session.narration == "The pass starts at `a@0`: its own gradient is one, `a_autogen_grad@0`."
    assert str(session.state()).startswith("The state at event 3: 1 operator played, 1 gradient operator made.")


def test_an_operator_that_fails_leaves_everything_as_it_was_and_runs_when_its_input_is_mended():
    net = Net("mended")
    net.Tanh("x", "a")
    net.Mul(["a", "w"], "b")
    net.SumElements("b", "loss")
    ws = Workspace()
    ws.feed("x", [1.0, 2.0])
    one = live(net, ["loss"], workspace=ws)
    one.step()
    for _ in range(2):
        with pytest.raises(RunError) as caught:
            one.step()
        assert caught.value.kind == "undefined_blob"
        assert caught.value.ways_out[-1] == 'Feed it first: live.feed("w", array).'
        assert caught.value.message.startswith("Operator #1 b = Mul(a, w) reads w")
        assert caught.value.ways_out == ('Feed it first: live.feed("w", array).',)
        assert one.next == "#1 Mul"
        assert len(one.session) == 2
    one.feed("w", [3.0, 4.0])
    assert sorted(one.workspace) == ["a", "w", "x"]
    session = one.finish()
    assert np.array_equal(one.workspace["w_grad"], session.value("w_grad"))
    assert np.allclose(session.value("w_grad"), np.tanh([1.0, 2.0]))
    assert "w" not in ws


def test_a_gradient_operator_that_fails_leaves_everything_as_it_was_and_runs_when_its_gradient_is_mended(own_types):
    @register_kernel("Double")
    def double(op, x):
        return 2 * x

    @register_kernel("DoubleFinite")
    def double_finite(op, dy):
        if not np.isfinite(dy).all():
            raise ValueError("not finite")
        return 2 * dy

    @register_gradient("Double")
    def rule(op, g_output):
        return [Operator("DoubleFinite", g_output, ["a_grad"])], ["a_grad"]

    net = Net("mended backward")
    net.Scale("x", "a", scale=3.0)
    net.add("Double", "a", "b")
    net.Sqrt("b", "y")
    ws = Workspace()
    ws.feed("x", [0.0, 6.0])  # the root has no finite slope at zero
    one = live(net, ["y"], workspace=ws)
    one.run_to("Sqrt")
    while one.next != "DoubleFinite of the backward pass":
        one.step()
    before = len(one.session), one.session.narration, sorted(one.workspace)
    for _ in range(2):
        with pytest.raises(RunError, match="not finite"):
            one.step()
        assert one.next == "DoubleFinite of the backward pass"
        assert (len(one.session), one.session.narration, sorted(one.workspace)) == before
    one.feed("b_grad", [1.0, 0.5])
    assert one.finish().value("x_grad").tolist() == [6.0, 3.0]


@pytest.mark.parametrize("word", ["a_grad", "_a_grad_autosplit_0"])
def test_a_gradient_that_was_changed_is_not_held_against_differences(word):
    net = Net("a square and a sine of one blob")
    net.Tanh("x", "a")
    net.Sqr("a", "b")
    net.Sin("a", "c")
    net.Sum(["b", "c"], "y")
    ws = Workspace()
    ws.feed("x", [0.5, 1.0])
    one = live(net, ["y"], workspace=ws)
    while word not in one.workspace:
        one.step()
    one.feed(word, [7.0, 7.0])
    one.finish()
    checked = str(one.session.check("x"))
    assert "live.feed has changed the gradient of a@0, which differences cannot know." in checked
    assert one.session.check("b").verdict == "agrees"
    if word == "a_grad":
        assert "live.feed, a hook, a rule" in str(one.session.paths("x"))


def test_a_given_gradient_may_be_given_anew_until_it_is_read():
    net = Net("square")
    net.Sqr("x", "y")
    ws = Workspace()
    ws.feed("x", [1.0, 2.0])
    ws.feed("given", [1.0, 1.0])
    one = live(net, {"y": "given"}, workspace=ws)
    one.step()
    one.step()  # makes the slope, and does not read what is given
    assert one.next == "Mul of the backward pass"
    with pytest.raises(RunError, match="given is float64"):
        one.feed("given", np.ones(3))
    one.feed("given", [10.0, 0.0])
    assert one.workspace["given"].tolist() == one.session.value("given").tolist() == [10.0, 0.0]
    session = one.finish()
    assert session.value("x_grad").tolist() == [20.0, 0.0]
    assert session.ledger("y").ledger.norm == 10.0
    assert ws["given"].tolist() == [1.0, 1.0]


def test_operators_may_join_until_the_backward_pass_begins_and_be_left_out():
    net = Net("grows")
    net.Tanh("x", "a")
    net.Sigmoid("x", "unused")
    ws = Workspace()
    ws.feed("x", [0.5])
    one = live(net, ["b"], workspace=ws)
    one.step()
    one.skip()
    with pytest.raises(GradientError):
        one.step()
    net.Scale("a", "wrong", scale=2.0)
    assert one.next == "#1 Scale"
    del net.ops[-1]  # what has not run may be another one
    net.Scale("a", "b", scale=3.0)
    assert one.next == "#1 Scale"
    one.step()
    one.step()
    assert np.allclose(one.finish().value("x_grad"), 3 / np.cosh(0.5) ** 2)
    net.Sin("b", "more")
    with pytest.raises(GradientError, match="was changed after its backward pass has begun"):
        one.step()


def test_an_operator_runs_on_the_device_that_the_step_names(cupy):
    one = begun()
    one.step(device="cuda:0")
    assert one.session.events[-1].device == "cuda:0"
    assert one.session.value("h").shape == debug(skip_net(), ["loss"], workspace=fed_workspace()).value("h").shape


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (lambda one: one.feed("x", np.ones(3)), "shape_mismatch"),
        (lambda one: one.feed("new", object()), "bad_value"),
        (lambda one: one.differentiate("loss"), "bad_ys"),
        (lambda one: one.step(device="cuda:7"), "bad_device"),
        (lambda one: one.step(device="nowhere"), "bad_device"),
        (lambda one: (one.finish(), one.skip()), "not_live"),
        (lambda one: one.run_to("nothing so called"), "not_found"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words_and_nothing_is_lost(wrong, kind):
    one = begun()
    one.step()
    with pytest.raises(GradvizError) as caught:
        wrong(one)
    assert caught.value.kind == kind
    assert caught.value.ways_out
    assert one.finish().value("w1_grad") is not None


def test_past_the_end_nothing_happens():
    one = begun()
    count = len(one.finish())
    assert one.next is None
    one.step()
    assert len(one.session) == count


@pytest.mark.parametrize("steps", [0, 3, 8, 10])
def test_it_ends_where_it_stands_when_it_is_aborted(steps):
    one = begun()
    for _ in range(steps):
        one.step()
    following, count = one.next, len(one.session)
    session = one.abort()
    assert one.next is None
    assert len(session) == count + 1
    assert f"before {following}" in session.narration
    one.step()
    assert len(one.session) == count + 1


def test_a_given_gradient_that_does_not_fit_ends_the_pass():
    net = Net("given")
    net.Tanh("x", "a")
    ws = Workspace()
    ws.feed("x", [0.5, 1.0])
    ws.feed("g", [1.0, 1.0, 1.0])
    session = live(net, {"a": "g"}, workspace=ws).finish()
    assert session.events[-1].kind == "Failed"
    assert "must have the shape (2,)" in session.narration


def test_a_missing_workspace_is_refused():
    with pytest.raises(GradientError, match="no workspace is given"):
        live(skip_net(), ["loss"])


def test_a_pass_that_is_refused_ends_with_the_fault():
    net = Net("in place")
    net.Sigmoid("x", "a")
    net.Relu("a", "a")
    net.SumElements("a", "loss")
    ws = Workspace()
    ws.feed("x", [0.5])
    session = live(net, ["loss"], workspace=ws).finish()
    assert session.events[-1].kind == "Failed"
    assert "a@0" in session.narration


def test_an_interrupt_in_the_middle_of_an_operator_leaves_it_next(own_types):
    calls = []

    @register_kernel("SlowOnce")
    def slow_once(op, x):
        calls.append(op)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return x * 2.0

    net = Net("slow")
    net.Tanh("x", "a")
    net.add("SlowOnce", "a", "b")
    ws = Workspace()
    ws.feed("x", [0.5])
    one = live(net, workspace=ws)
    one.step()
    with pytest.raises(KeyboardInterrupt):
        one.step()
    assert one.next == "#1 SlowOnce"
    assert len(one.session) == 2
    one.step()
    assert np.allclose(one.workspace["b"], 2 * np.tanh(0.5))


@pytest.mark.parametrize(
    ("following", "blob", "fails_at"),
    [
        ("the backward pass", "a", 0),
        ("the backward pass", "a", 1),
        ("TanhGradient of the backward pass", "a_grad", 0),
    ],
)
def test_a_feed_that_is_interrupted_changes_nothing(monkeypatch, following, blob, fails_at):
    def standing() -> Live:
        net, ws = Net("squares"), Workspace()
        net.Tanh("x", "a")
        net.Sqr("a", "y")
        ws.feed("x", [0.5, 2.0])
        one = live(net, ["y"], workspace=ws)
        while one.next != following:
            one.step()
        return one

    one, undisturbed = standing(), standing()
    names = list(one.workspace)
    with monkeypatch.context() as patch:
        interrupt(patch, fails_at)
        with pytest.raises(KeyboardInterrupt):
            one.feed(blob, [1.0, 3.0])
    assert list(one.workspace) == names
    assert len(one.session) == len(undisturbed.session)
    for each in (one, undisturbed):
        each.feed(blob, [1.0, 3.0])
        each.finish()
    assert str(one.session.net) == str(undisturbed.session.net)
    assert np.array_equal(one.workspace["x_grad"], undisturbed.workspace["x_grad"])


def interrupt(patch, fails_at):
    """Interrupt the operator of a number, from 0, of those that run from now on."""
    run, numbers = watched.run_step, itertools.count()

    def run_step(*args):
        if next(numbers) == fails_at:
            raise KeyboardInterrupt
        run(*args)

    patch.setattr(watched, "run_step", run_step)


def test_gradients_are_called_as_before_where_their_sum_is_interrupted(monkeypatch):
    net, ws = Net("sum"), Workspace()
    net.Tanh("x", "a")
    net.Mul(["a", "x"], "y")
    ws.feed("x", [0.5, 2.0])
    one = live(net, ["y"], workspace=ws)
    while one.next != "Sum of the backward pass":
        one.step()
    names = list(one.workspace)
    with monkeypatch.context() as patch:
        interrupt(patch, 0)
        with pytest.raises(KeyboardInterrupt):
            one.step()
    assert list(one.workspace) == names
    assert np.allclose(one.finish().value("x_grad"), np.tanh(ws["x"]) + ws["x"] / np.cosh(ws["x"]) ** 2)


def test_two_passes_on_one_workspace_know_nothing_of_each_other():
    ws = fed_workspace()
    before = {name: ws[name] for name in ws}
    one, other = live(skip_net(), ["loss"], workspace=ws), live(skip_net(), ["loss"], workspace=ws)
    one.step()
    one.feed("h", np.zeros_like(one.workspace["h"]))
    ws.feed("x", np.zeros_like(ws["x"]))
    assert np.array_equal(other.finish().value("x@0"), before["x"])
    assert np.array_equal(one.finish().value("x@0"), before["x"])
    assert list(ws) == list(before)


def test_a_pass_that_starts_at_several_numbers_does_not_call_them_one():
    net, ws = Net("n"), Workspace()
    net.Tanh("x", "y")
    ws.feed("x", np.zeros(3))
    one = live(net, ["y"], workspace=ws)
    one.finish().restart()
    one.session.run_to("Seeded")
    assert one.session.narration == "The pass starts at `y@0`: its own gradient is one, `y_autogen_grad@0`."
