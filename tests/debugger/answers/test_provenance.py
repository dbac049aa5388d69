"""Where NaN, Inf, zeros and explosions are born."""

import numpy as np
import pytest

from gradviz import Net, Workspace, debug, load
from gradviz.debugger import CursorError
from tests.debugger.answers.nets import dead, overwritten, random_sessions, recorded
from tests.debugger.conftest import skip_net
from tests.debugger.loops import fed, gated, recurrent
from tests.random_cases import counts


def logs():
    """The loss is NaN, since Log #0 is asked for the logarithm of -2 and of 0."""
    net = Net("logs")
    net.Log("x", "l")
    net.Mul(["l", "w"], "m")
    net.SumElements("m", "loss")
    return recorded(net, x=[1.0, -2.0, 3.0, -1.0], w=[1.0, 2.0, 3.0, 4.0])


def test_a_nan_of_the_forward_pass_is_followed_to_the_operator_that_made_it():
    session = logs()
    view = session.provenance("loss")
    assert (view.what, view.count, view.first) == ("nan", 1, [])
    assert [link.blob for link in view.chain] == ["loss@0", "m@0", "l@0"]
    assert (view.born.blob, view.born.side) == ("l@0", "forward")
    assert session.events[view.born.at - 1].op.type == "Log"
    assert [link.blob for link in view.inputs] == ["x@0"]
    assert "negative" in view.cause
    assert session.provenance("l").first == [1]
    assert session.provenance("l").count == 2


def test_a_gradient_is_followed_into_the_forward_pass_where_its_nan_came_from_there():
    view = logs().provenance("w_grad")
    assert [link.side for link in view.chain] == ["backward", "forward"]
    assert view.born.blob == "l@0"
    assert view.first == [1]


def test_an_infinity_of_the_backward_pass_is_told_from_one_of_the_forward_pass():
    net = Net()
    net.Sqrt("x", "r")
    net.SumElements("r", "loss")
    session = recorded(net, x=[4.0, 0.0])
    assert session.provenance("loss").what is None
    view = session.provenance("x_grad")
    assert (view.what, view.born.side, view.born.blob, view.first) == ("inf", "backward", "x_grad@1", [1])
    assert "in the backward pass" in str(view)


def test_a_nan_made_of_an_infinity_is_born_where_that_was():
    net = Net()
    net.Exp("x", "e")
    net.Sub(["e", "e"], "d")
    net.SumElements("d", "loss")
    view = recorded(net, x=[1000.0, 1.0]).provenance("loss")
    assert (view.what, view.born.blob, view.born.inf, view.born.nan) == ("nan", "e@0", 1, 0)
    assert "Born as Inf" in str(view)
    assert "too large" in view.cause


def test_zeros_of_a_gradient_lead_to_the_dead_relu():
    view = dead().provenance("w_grad")
    assert (view.what, view.count, view.first) == ("zero", 12, [0, 0])
    assert [link.blob for link in view.chain] == ["w_grad@0", "h_grad@0", "a@0"]
    assert view.born.side == "forward"
    assert "dead Relu" in view.cause
    assert [(link.blob, link.max) for link in view.inputs] == [("h@0", -3.0)]


def test_what_was_fed_so_is_nobodys_fault():
    view = dead().provenance("b")
    assert (view.what, view.born.side, view.born.at) == ("zero", "fed", None)
    assert "was fed so" in str(view)


def test_an_explosion_is_followed_along_the_greatest_norms():
    net, blob = Net(), "x"
    for step, weight in enumerate(("one", "big", "one", "one")):
        blob = net.Mul([blob, weight], f"h{step}")
    net.SumElements(blob, "loss")
    session = recorded(net, x=[1.0, 2.0], one=[1.0, 1.0], big=[1e6, 2e6])
    view = session.provenance("x_grad")
    assert view.what == "explosion"
    assert view.born.blob == "h0_grad@0"
    assert view.born.growth == pytest.approx(np.hypot(1e6, 2e6) / np.hypot(1, 1))
    assert view.chain[-1].blob == "loss_autogen_grad@0"
    assert view.first == [1]
    assert session.provenance("x_grad", factor=1e8).what is None
    assert session.provenance("x_grad", "nan").what is None


def test_where_nothing_is_wrong_it_says_so(session):
    for what in (None, "nan", "inf", "zero", "explosion"):
        view = session.provenance("w1_grad", what)
        assert view.what is None
        assert view.chain == ()
    assert "nothing wrong" in str(session.provenance("w1_grad"))


def test_a_name_means_its_last_version_that_was_computed():
    net = Net()
    net.Relu("x", "x")
    net.SumElements("x", "loss")
    session = recorded(net, x=[-1.0])
    assert session.provenance("x").blob == "x@1"
    assert session.provenance("x").what == "zero"
    assert session.provenance("x@0").what is None


def test_where_the_pass_stopped_the_error_says_so():
    with pytest.raises(CursorError, match="it stopped before") as caught:
        overwritten().provenance("y")
    assert caught.value.kind == "not_computed"
    assert "finish()" in caught.value.ways_out[0]


def test_arrays_are_followed_through_the_iterations_of_a_loop():
    session = debug(gated(), ["loss"], workspace=fed(3, u=np.array([[np.inf], [1.0]])))
    view = session.provenance("loss")
    assert view.what == "inf"
    assert [link.blob for link in view.chain] == [
        "loss@0",
        *(
            blob
            for iteration in (2, 1, 0)
            for blob in (
                f"2.loop_net[{iteration}]/0.net:h@2",
                f"2.loop_net[{iteration}]/0.net/4.else_net/0.net:h@1",
            )
        ),
        "u@0",
    ]
    assert view.born.side == "fed"


def test_the_operator_inside_of_a_loop_that_made_it_is_found():
    net = Net()
    net.LT(["i", "n"], "go")
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        net.Sub(["h", "one"], "h")
        net.Log("h", "l")
        net.Add(["total", "l"], "total")
        net.Add(["i", "one"], "i")
    net.SumElements("total", "loss")
    session = recorded(net, i=0.0, n=3.0, h=2.5, one=1.0, total=0.0)
    view = session.provenance("loss")
    assert view.born.blob.startswith("2.loop_net[2]/0.net:l")
    assert view.born.side == "forward"
    assert "negative" in view.cause
    assert session.events[view.born.at - 1].op.type == "Log"
    session.move_to(view.born.at)
    assert session.provenance("l").what == "nan"


def test_the_gradient_of_a_loop_is_followed_into_its_backward_pass():
    session = debug(recurrent(), ["loss"], workspace=fed(3, w=np.array([[np.inf, 1.0], [1.0, 1.0]])))
    view = session.provenance("w_grad")
    assert view.chain[0].side == "backward"
    assert (view.born.blob, view.born.side, view.what) == ("w@0", "fed", "nan")
    assert "with Inf" in str(view)


def test_what_a_loop_without_a_round_hands_out_comes_from_who_computed_it_before():
    net = Net("no round")
    net.Log("x", "h")
    net.LT(["i", "n"], "go")
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        net.Mul(["w", "h"], "h")
        net.Add(["i", "one"], "i")
    net.SumElements("h", "loss")
    session = recorded(net, x=-1.0, w=np.nan, i=0.0, n=0.0, one=1.0)
    view = session.provenance("h@1")
    assert view.born.blob == "h@0"
    assert [link.blob for link in view.chain] == ["h@0"]
    zeros = session.provenance("w_grad", what="zero")
    assert zeros.born.by.startswith("w_grad@0 = ConstantFill")


def test_a_branch_not_taken_leaves_zeros_and_it_says_so():
    view = debug(gated(), ["loss"], workspace=fed(1)).provenance("w_grad", "zero")
    assert view.what == "zero"
    assert "branch that ran does not use" in view.cause


@pytest.mark.parametrize(
    ("type", "args", "x", "what", "cause"),
    [
        ("Exp", {}, [-1000.0, -2000.0], "zero", ""),
        ("Exp", {}, [-1000.0, 1000.0], "inf", "x@0 reaches up to 1000, too large for the exponential of float64."),
        ("Cosh", {}, [-1000.0, 1.0], "inf", "x@0 reaches down to -1000, too far for the exponential of float64."),
        ("Sinh", {}, [-1.0, 1000.0], "inf", "x@0 reaches up to 1000, too large for the exponential of float64."),
        ("Log", {}, [0.0, -1.0], "inf", "x@0 has 1 zero."),
        ("Log", {}, [0.0, -1.0], "nan", "x@0 has negative elements, down to -1."),
        ("Rsqrt", {}, [0.0, -1.0], "inf", "x@0, which it divides by, has 1 zero."),
        ("Rsqrt", {}, [0.0, -1.0], "nan", "x@0 has negative elements, down to -1."),
        ("Pow", {"exponent": -0.5}, [0.0, -4.0], "inf", "x@0 has 1 zero."),
        ("Pow", {"exponent": -0.5}, [0.0, -4.0], "nan", "x@0 has negative elements, down to -4."),
        ("Pow", {"exponent": 2.0}, [-1e200, 0.0], "inf", ""),
        ("Pow", {"exponent": 2.0}, [-1e-200, 1e-200], "zero", ""),
    ],
)
def test_the_cause_is_that_of_the_fault_that_was_asked_for(type, args, x, what, cause):
    net = Net()
    net.add(type, "x", "y", **args)
    view = recorded(net, ["y"], x=x).provenance("y", what)
    assert (view.what, view.born.blob) == (what, "y@0")
    assert view.cause == cause


def test_an_infinity_does_not_come_from_a_nan_beside_it():
    net = Net()
    net.Log("x", "y")
    view = recorded(net, ["y"], x=[0.0, np.nan]).provenance("y", "inf")
    assert ([link.blob for link in view.chain], view.born.side) == (["y@0"], "forward")
    assert "has 1 zero" in view.cause


def test_a_saved_recording_knows_all_but_the_places(tmp_path):
    logs().save(tmp_path / "s.gradviz.json")
    live, read = logs().provenance("w_grad"), load(tmp_path / "s.gradviz.json").provenance("w_grad")
    assert read.first is None
    assert [link.blob for link in read.chain] == [link.blob for link in live.chain]
    assert (read.count, read.cause, read.born.by) == (live.count, live.cause, live.born.by)


def test_what_was_not_computed_is_no_zero():
    with pytest.raises(CursorError) as caught:
        debug(skip_net(), ["loss"]).provenance("h")
    assert caught.value.kind == "not_computed"


@pytest.mark.parametrize(
    "arguments", [{"what": "big"}, {"what": 3}, {"what": ["nan"]}, {"factor": 1}, {"factor": "x"}, {"factor": True}]
)
def test_questions_that_make_no_sense_are_refused(session, arguments):
    with pytest.raises(CursorError) as caught:
        session.provenance("a", **arguments)
    assert caught.value.kind == "bad_argument"
    assert caught.value.ways_out


def test_a_stack_of_workspaces_holds_no_numbers():
    session = debug(recurrent(), ["loss"], workspace=fed(2))
    scope = next(blob for blob, value in session.trace().values.items() if value.stack is not None)
    with pytest.raises(CursorError) as caught:
        session.provenance(scope)
    assert caught.value.kind == "bad_argument"


@counts(60)
def test_in_random_nets_every_step_of_the_way_and_the_birth_are_what_they_say(count):
    """Where a NaN is fed, each link has it, was computed of the next one, and the last of nothing that has it."""
    pytest.importorskip("torch", reason="random nets are drawn with PyTorch")
    walked = 0
    for case, _ in random_sessions(count, seed=10):
        floats = [name for name, array in case.feeds.items() if array.dtype == np.float64 and array.size]
        if not floats:
            continue
        ws = Workspace()
        for name, array in {**case.feeds, **case.given}.items():
            ws.feed(name, array)
        poisoned = ws[floats[0]].copy()
        poisoned.flat[0] = np.nan
        ws.feed(floats[0], poisoned)
        session = debug(case.net, case.ys, workspace=ws, skip=case.skip)
        trace = session.trace()
        lines = {
            blob: line for line in (*trace.forward, *trace.backward) if line.kind == "operator" for blob in line.outputs
        }

        def is_bad(blob, session=session):
            array = session.value(blob)
            return array.dtype.kind == "f" and not np.isfinite(array).all()

        for blob in trace.values:
            array = session.value(blob)
            if array.dtype.kind != "f" or not np.isnan(array).any():
                assert session.provenance(blob, "nan").what is None
                continue
            view = session.provenance(blob, "nan")
            assert (view.count, view.first) == (int(np.isnan(array).sum()), np.argwhere(np.isnan(array))[0].tolist())
            for link, after in zip(view.chain, view.chain[1:], strict=False):
                assert is_bad(link.blob)
                assert after.blob in lines[link.blob].inputs
            last = view.born
            assert is_bad(last.blob)
            assert (last.side == "fed") == (last.blob not in lines)
            assert not any(map(is_bad, lines[last.blob].inputs if last.blob in lines else ()))
            walked += 1
    assert walked > count
