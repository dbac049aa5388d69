"""What changed between two positions."""

import pytest

from gradviz import Net, debug, load
from gradviz.debugger import CursorError
from tests.debugger.answers.nets import overwritten, recorded
from tests.debugger.loops import fed, recurrent


@pytest.fixture
def split():
    """Both gradients of x have one name until they are added."""
    net = Net("split")
    net.Tanh("x", "a")
    net.Sigmoid("x", "b")
    net.Add(["a", "b"], "y")
    return recorded(net, ["y"], x=[1.0, 2.0])


def position_of(session, kind):
    return next(at for at, event in enumerate(session.events, 1) if event.kind == kind)


def test_an_accumulation_makes_a_sum_and_renames(split):
    at = position_of(split, "Accumulated")
    view = split.diff(at - 1, at)
    assert view.made == ["x_grad@1 = Sum(x_grad@0, _x_grad_autosplit_0@0)"]
    assert [(one.before, one.after) for one in view.rewritten] == [
        ("x_grad@1 = TanhGradient(a@0, a_grad@0)", "_x_grad_autosplit_0@0 = TanhGradient(a@0, a_grad@0)")
    ]
    assert view.ledgers == [("x@0", "x_grad@1")]
    assert (view.played, view.gradients, view.computed) == ([], [], [])


def test_the_map_and_the_gradients_that_arrived(split):
    done = position_of(split, "Completed")
    view = split.diff(0, done)
    assert view.played == ["#0 a@0 = Tanh(x@0)", "#1 b@0 = Sigmoid(x@0)", "#2 y@0 = Add(a@0, b@0)"]
    assert {one.blob: (one.before, one.after) for one in view.map} == {
        "y": (None, "y_autogen_grad"),
        "a": (None, "a_grad"),
        "b": (None, "b_grad"),
        "x": (None, "x_grad"),
    }
    assert [blob for blob, _ in view.gradients] == ["a@0", "b@0", "x@0", "x@0"]


def test_values_are_those_of_the_operators_that_ran_in_between(split):
    done = position_of(split, "Completed")
    view = split.diff(done, done + 2)
    assert [(one.blob, one.shape) for one in view.computed] == [("a@0", "2 float64"), ("b@0", "2 float64")]
    assert split.diff(done, len(split)).made == []


def test_the_order_of_the_positions_does_not_matter_and_one_may_be_here(split):
    split.move_to(7)
    assert split.diff(3) == split.diff(7, 3) == split.diff(3, 7)
    assert "Nothing changed" in str(split.diff(7))


def test_changes_add_up_over_the_way(split):
    middle = len(split) // 2
    first, second, whole = split.diff(0, middle), split.diff(middle, len(split)), split.diff(0, len(split))
    assert first.played + second.played == whole.played
    assert first.gradients + second.gradients == whole.gradients
    assert first.computed + second.computed == whole.computed
    assert len(first.made) + len(second.made) == len(whole.made)


def test_an_operator_in_place_without_gradient_takes_an_entry_out_of_the_map():
    net = Net()
    net.Tanh("x", "y")
    net.ConstantFill("y", "y", value=1.0)
    net.Mul(["y", "w"], "z")
    session = debug(net, ["z"])
    at = next(at for at, event in enumerate(session.events, 1) if event.kind == "RuleApplied" and event.index == 1)
    (entry,) = session.diff(at - 1, at).map
    assert (entry.blob, entry.before, entry.after) == ("y", "y_grad", None)
    assert "has none any more" in str(session.diff(at - 1, at))


def test_what_it_stopped_with_is_told():
    session = overwritten()
    assert "needs y@0" in session.diff(0, len(session)).stopped
    assert session.diff(0, len(session) - 1).stopped == ""


def test_blobs_of_nested_nets_stand_behind_their_path():
    session = debug(recurrent(), ["loss"], workspace=fed(2))
    view = session.diff(0, len(session))
    assert "2.loop_net/0.net:#0 a@0 = MatMul(w@0, h@0)" in view.played
    assert ("2.loop_net/0.net:a@0", "a_grad") in view.gradients
    assert [one.blob for one in view.computed if one.blob.endswith(":a@0")] == [
        "2.loop_net[0]/0.net:a@0",
        "2.loop_net[1]/0.net:a@0",
    ]


def test_it_answers_from_a_file(split, tmp_path):
    split.save(tmp_path / "s.gradviz.json")
    assert load(tmp_path / "s.gradviz.json").diff(0, len(split)) == split.diff(0, len(split))


@pytest.mark.parametrize("positions", [(-1,), (0, 10_000), ("a",), (1.5,), (True,), (None,)])
def test_positions_that_are_not_there_are_refused(split, positions):
    with pytest.raises(CursorError) as caught:
        split.diff(*positions)
    assert caught.value.kind == "bad_argument"
    assert caught.value.ways_out
