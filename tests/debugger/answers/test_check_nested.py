"""Checks of what branches, loops and blocks compute: what they keep back from differences is no fault of a gradient."""

from contextlib import suppress

import numpy as np
import pytest

from gradviz import Net, Session, debug
from gradviz.debugger import CursorError
from tests.debugger.answers.nets import random_blocks, recorded
from tests.debugger.loops import fed
from tests.random_cases import counts, fresh_seed

X, T = [0.5, -1.5], [0.2, 0.9]


def block(*calls: tuple[str, str, str]) -> Session:
    """A block of operators on x and t that computes y."""
    net = Net("block")
    with net.Do(outputs=["y"]):
        for type, inputs, output in calls:
            casts = {"to": "float" if output == "h" else "double"} if type == "Cast" else {}
            net.add(type, inputs.split(), output, **casts)
    net.Mul(["y", "x"], "z")
    return recorded(net, ["z"], x=X, t=T)


KEPT_BACK = {
    "SigmoidCrossEntropyWithLogits #1 sends no gradient to s@0": [
        ("Sigmoid", "x", "s"),
        ("SigmoidCrossEntropyWithLogits", "x s", "y"),
    ],
    "StopGradient #0 sends no gradient to x@0": [("StopGradient", "x", "s"), ("Mul", "s x", "y")],
    "NegateGradient #1 sends back another gradient than its function's, on purpose": [
        ("Tanh", "x", "s"),
        ("NegateGradient", "s", "r"),
        ("Mul", "r x", "y"),
    ],
}


@pytest.mark.parametrize("said", KEPT_BACK)
def test_what_a_block_keeps_back_is_not_failed(said: str) -> None:
    session = block(*KEPT_BACK[said])
    for question in ("x", "#1", "all"):
        view = session.check(question)
        assert view.verdict != "differs", view
        assert any(f"In 1.net {said}, which differences cannot know: ask in that net." in note for note in view.notes)


def test_what_a_block_is_given_besides_keeps_nothing_back() -> None:
    session = block(("Sigmoid", "t", "s"), ("SigmoidCrossEntropyWithLogits", "x s", "y"))
    assert [session.check(question).verdict for question in ("x", "#1")] == ["agrees", "agrees"]


def test_a_branch_that_is_not_taken_keeps_nothing_back() -> None:
    net = Net("branches")
    with net.If("yes"):
        net.Mul(["x", "x"], "y")
    with net.Else():
        net.StopGradient("x", "s")
        net.Mul(["s", "x"], "y")
    for yes, verdict in ((True, "agrees"), (False, "not checkable")):
        assert recorded(net, ["y"], yes=np.array(yes), x=X).check("x").verdict == verdict


def test_what_one_round_keeps_back_of_what_another_made_is_found() -> None:
    net = Net("rounds")
    net.Scale("l0", "l", scale=1.0)
    net.LT(["i", "n"], "go")
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        net.Sigmoid("b", "s")  # of b, which the round before has made of h
        net.SigmoidCrossEntropyWithLogits(["h", "s"], "l")
        net.Add(["h", "b"], "b")
        net.Add(["i", "one"], "i")
    for rounds, verdict in ((1, "agrees"), (2, "not checkable")):
        session = debug(net, ["l"], workspace=fed(rounds, l0=np.zeros(2)))
        assert session.check("h").verdict == verdict, session.check("h")


def test_where_a_difference_changes_a_shape_there_is_a_kink() -> None:
    net = Net("above")
    with net.Do(outputs=["y"]):
        net.GT(["x", "t"], "above")
        net.BooleanMask(["x", "above"], "y")
    view = recorded(net, ["y"], x=[1.0, 2.0, -1.0], t=[0.0, 2.0, 0.0]).check("x")
    assert (view.verdict, view.checks[0].kinks) == ("kink", 1)
    apart = recorded(net, ["y"], x=[1.0, 3.0, -1.0], t=[0.0, 2.0, 0.0]).check("x")
    assert apart.verdict == "agrees"


def test_a_block_that_casts_is_compared_in_double_precision() -> None:
    session = block(("Cast", "x", "h"), ("Cast", "h", "k"), ("Mul", "k x", "y"))
    assert [session.check(question).verdict for question in ("x", "#1")] == ["agrees", "agrees"]


@counts(40)
def test_no_gradient_of_random_blocks_differs(count: int) -> None:
    for case, session in random_blocks(count, fresh_seed()):
        with suppress(CursorError):  # it stopped before the first gradient
            view = session.check("all")
            assert view.verdict != "differs", (case, view)
