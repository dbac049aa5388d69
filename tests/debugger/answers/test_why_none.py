"""Why a blob has no gradient, at any position, and where it has one."""

import re

import numpy as np
import pytest

from gradviz import IR, Net, Variable, Workspace, debug, functions, load
from gradviz.debugger import CursorError
from tests.debugger.answers.nets import overwritten, random_programs, random_sessions, recorded
from tests.debugger.conftest import fed_workspace, skip_net
from tests.debugger.loops import fed, gated
from tests.handwritten import counted, do, if_, op, scope
from tests.random_cases import counts


def test_what_is_never_made_is_told_at_every_position(session):
    for position in range(len(session) + 1):
        session.move_to(position)
        view = session.why_none("label")
        assert view.status == "none"
        assert [cut.reason for cut in view.cuts] == ["no_gradient_for_input"]
        assert view.position == position


def test_a_gradient_is_not_yet_there_until_its_event(session):
    made = next(
        at for at, event in enumerate(session.events, 1) if event.kind == "GeneratorAdded" and event.blob == "a"
    )
    session.move_to(made - 1)
    view = session.why_none("a")
    assert view.status == "not yet"
    assert "has no gradient yet" in str(view)
    assert "Not computed yet is not zero" in str(view)
    session.step()
    view = session.why_none("a")
    assert view.status == "has one"
    assert [one.gradient for one in view.gradients] == ["s_grad@0"]


def test_a_blob_with_a_gradient_says_where_each_came_from(session):
    session.finish()
    view = session.why_none("a@0")
    assert [(one.gradient, one.origin) for one in view.gradients] == [
        ("s_grad@0", "passed through Sum #4"),
        ("a_grad@0", "FCGradient of FC #2"),
        ("a_grad@1", "Sum, when all had come"),
    ]
    assert [session.events[one.at - 1].kind for one in view.gradients] == [
        "GeneratorAdded",
        "GeneratorAdded",
        "Accumulated",
    ]
    assert "a seed of ones" in str(session.why_none("loss"))


def test_versions_are_asked_for_one_by_one():
    net = Net()
    net.Tanh("x", "t")
    net.Sigmoid("w", "t")
    net.SumElements("t", "loss")
    session = recorded(net, x=[1.0], w=[1.0])
    session.finish()
    assert session.why_none("t").blob == "t@1"
    assert session.why_none("t@0").status == "none"
    assert "overwritten" in str(session.why_none("t@0"))
    assert "overwritten" in str(session.why_none("x"))


def asked(session, word):
    """What is said of a gradient, and of which blob the answer is."""
    view = session.why_none(word)
    assert str(view).startswith(view.asked)
    assert view.asked in view._repr_html_()
    return view.asked, view.blob, view.status


@pytest.mark.parametrize(
    ("word", "said", "blob", "status"),
    [
        ("x_grad", "x_grad@0 is the gradient of x@0. FCGradient of #0, made with event ", "x@0", "has one"),
        ("a_grad", "a_grad@1 is the gradient of a@0. Sum of #2, made with event ", "a@0", "has one"),
        ("a_grad@0", "a_grad@0 is one of the terms in the gradient of a@0. FCGradient of #2, ", "a@0", "has one"),
        ("s_grad", "s_grad@0 is the gradient of s@0. FCGradient of #5, ", "s@0", "has one"),
        ("label_grad", "There is no label_grad: it would be the gradient of label@0.", "label@0", "none"),
        ("loss_grad", "There is no loss_grad: the gradient of loss@0 is loss_autogen_grad@0.", "loss@0", "has one"),
        ("x_grad@7", "There is no x_grad@7: the gradient of x@0 is x_grad@0.", "x@0", "has one"),
        ("x", "", "x@0", "has one"),
    ],
)
def test_a_gradient_is_taken_for_a_question_about_its_blob(session, word, said, blob, status):
    session.finish()
    told = asked(session, word)
    assert told[0].startswith(said)
    assert bool(told[0]) == bool(said)
    assert told[1:] == (blob, status)


def test_when_a_gradient_is_written_is_told_by_the_events_that_do_it(session):
    session.finish()
    said = session.why_none("x_grad").asked
    made, ran = (session.events[int(number) - 1] for number in re.findall(r"event (\d+)", said))
    assert (made.kind, ran.kind) == ("RuleApplied", "Ran")
    assert "x_grad" in ran.op.outputs
    assert "made with event" in debug(skip_net(), ["loss"]).why_none("x_grad").asked
    assert "not run" in debug(skip_net(), ["loss"]).why_none("x_grad").asked


def test_gradients_that_were_given_are_sparse_or_belong_to_the_pass_alone():
    net = Net()
    net.Gather(["t", "i"], "r")
    net.Split("r", ["left", "right"], axis=1)
    session = debug(net, {"left": "given"})
    assert asked(session, "given")[0] == "given@0 is the gradient of left@0, and was given."
    assert asked(session, "t_grad")[0] == "There is no t_grad: the gradient of t@0 is r_grad@0 in the rows i@0."
    said, blob, status = asked(session, "_r_grad_zeros_1")
    assert said.startswith("_r_grad_zeros_1@0 is the gradient of no blob: ConstantFill of #1 makes it")
    assert (blob, status) == ("_r_grad_zeros_1@0", "none")
    assert "belongs to the backward pass" in str(session.why_none("_r_grad_zeros_1"))
    with pytest.raises(CursorError) as caught:
        session.why_none("nothing_grad")
    assert caught.value.kind == "not_found"


def test_a_gradient_in_a_nested_net_and_what_a_variable_holds():
    session = debug(gated(), ["loss"], workspace=fed(2))
    assert asked(session, "2.loop_net/0.net:h_grad")[:2] == (
        f"2.loop_net/0.net:h_grad@0 is the gradient of 2.loop_net/0.net:h@1. AddGradient of #5, made with event "
        f"{1 + next(at for at, one in enumerate(session.events) if one.kind == 'RuleApplied' and one.index == 5)}, "
        "writes it.",
        "2.loop_net/0.net:h@1",
    )
    assert asked(session, "2.loop_net/0.net:zero_grad")[2] == "none"
    x = Variable([1.0, 2.0], name="x")
    x.grad = np.ones(2)
    session = debug(functions.sum(x * x))
    assert asked(session, "x.grad@0")[:2] == ("x.grad@0 is what x held in grad before the pass.", "x@0")
    assert "and the gradient of this pass" in asked(session, "x.grad")[0]


def test_a_pass_that_stopped_before_says_why_and_the_ways_out():
    session = overwritten()
    session.finish()
    view = session.why_none("x")
    assert view.status == "stopped"
    assert "needs y@0" in view.reason
    assert any("Copy y" in way for way in view.ways_out)
    assert all(way in view._repr_html_() for way in view.ways_out)


def test_where_the_pass_stopped_does_not_matter_if_every_way_was_cut():
    net = Net()
    net.StopGradient("p", "s")
    net.Sigmoid("x", "y")
    net.Scale("y", "y", scale=2.0)
    net.Add(["y", "s"], "loss")
    session = recorded(net, x=[1.0], p=[2.0])
    assert session.finish().kind == "Failed"
    assert session.why_none("p").status == "none"
    assert session.why_none("x").status == "stopped"


def test_skipped_operators_cut():
    net = Net()
    net.Tanh("raw", "x")
    net.Sigmoid("x", "y")
    view = recorded(net, ["y"], skip=1, raw=[1.0]).why_none("raw")
    assert [cut.reason for cut in view.cuts] == ["skipped"]


def test_blobs_of_nested_nets_are_asked_for_there_or_by_their_path():
    session = debug(gated(), ["loss"], workspace=fed(2))
    assert session.why_none("2.loop_net/0.net:zero").status == "none"
    assert session.why_none("n").status == "none"
    session.run_to("2.loop_net[1]/0.net")
    view = session.why_none("low")
    assert view.blob == "2.loop_net[1]/0.net:low@0"
    assert view.status == "none"


def test_it_answers_without_values_and_from_a_file(tmp_path):
    session = debug(skip_net(), ["loss"])
    session.finish()
    session.save(tmp_path / "s.gradviz.json")
    again = load(tmp_path / "s.gradviz.json")
    again.finish()
    for blob in ("label", "a", "p"):
        assert again.why_none(blob) == session.why_none(blob)


@pytest.mark.parametrize(("blob", "near"), [("lable", "label"), ("lss", "loss"), ("zzz", "There are"), (None, "x@1")])
def test_an_unknown_blob_is_answered_with_those_called_alike(session, blob, near):
    with pytest.raises(CursorError) as caught:
        session.why_none(blob)
    assert caught.value.kind == "not_found"
    assert near in " ".join(caught.value.ways_out)


def proofs_hold(session, ys, skip, operators) -> int:
    """Hold each proof against the state of the IR; says how many there were."""
    ir = IR(operators, skip)
    ir.get_backward_pass(ys)
    session.finish()
    versions = {str(blob): blob for blobs in ir.blobs.values() for blob in blobs}
    proven = 0
    for name in ir.blobs:
        view = session.why_none(name)
        if name in ir.gradient_map:
            assert view.status == "has one"
        elif view.status == "none":
            assert view.cuts
            for cut in view.cuts:
                way = [versions[step] for step in cut.way if step in versions]
                assert way[0] is ir.blobs[name][0]
                assert all(blob.gradient is None for blob in way)
                readers = [index for index, ssa in enumerate(ir.ssa) if way[-1] in ssa.reads]
                assert cut.index in readers if readers else cut.index is None
            proven += 1
    return proven


@counts(90)
def test_proofs_of_random_nets_hold_in_the_ir(count):
    pytest.importorskip("torch", reason="random nets are drawn with PyTorch")
    sessions = [
        (case, session) for case, session in random_sessions(count, seed=3) if session.events[-1].kind != "Failed"
    ]
    assert sum(proofs_hold(session, case.ys, case.skip, case.net.ops) for case, session in sessions) > 2.3 * count


@counts(24)
def test_proofs_of_random_programs_hold_in_the_ir(count):
    pytest.importorskip("torch", reason="random programs are compared with PyTorch")
    programs = [one for one in random_programs(count, seed=4) if one[1].events[-1].kind != "Failed"]
    assert sum(proofs_hold(session, case.ys, case.skip, case.net.ops) for case, session in programs) > 2.1 * count


def test_the_skip_net_needs_no_workspace_to_be_asked():
    assert debug(skip_net(), ["loss"], workspace=fed_workspace()).why_none("x").status == "not yet"


# What cuts the ways


def reasons(net, ys, blob, skip=0):
    """What cuts the ways of a blob."""
    return [cut.reason for cut in debug(net, ys, skip=skip).why_none(blob).cuts]


def test_a_stop_gradient_cuts():
    net = Net()
    net.StopGradient("x", "s")
    net.Tanh("s", "y")
    assert reasons(net, ["y"], "x") == ["stop"]


def test_an_operator_without_gradient_cuts():
    net = Net()
    net.ConstantFill("x", "k", value=1.0)
    net.Mul(["k", "w"], "y")
    assert reasons(net, ["y"], "x") == ["no_gradient_operator"]


def test_a_rule_that_gives_an_input_none_cuts():
    net = Net()
    net.SoftmaxWithLoss(["z", "label"], ["p", "loss"])
    assert reasons(net, ["loss"], "label") == ["no_gradient_for_input"]


def test_a_blob_that_leads_nowhere_is_followed_to_its_end():
    net = Net()
    net.Tanh("x", "y")
    net.Sigmoid("side", "a")
    net.Tanh("a", "b")
    proof = debug(net, ["y"]).why_none("side")
    assert [cut.way for cut in proof.cuts] == [["side@0", "a@0", "b@0"]]
    assert "nobody reads b@0" in str(proof)
    assert "<li>" in proof._repr_html_()


def test_an_output_overwritten_before_it_is_read_cuts():
    net = Net()
    net.Tanh("x", "t")
    net.Sigmoid("w", "t")
    net.Exp("t", "y")
    (cut,) = debug(net, ["y"]).why_none("x").cuts
    assert cut.reason == "unused_output"
    assert "overwritten" in cut.text


def test_a_skipped_operator_cuts():
    net = Net()
    net.Tanh("raw", "x")
    net.Sigmoid("x", "y")
    assert reasons(net, ["y"], "raw", skip=1) == ["skipped"]


def test_all_ways_are_told():
    net = Net()
    net.StopGradient("x", "s")
    net.Tanh("x", "unused")
    net.Tanh("s", "y")
    assert reasons(net, ["y"], "x") == ["stop", "unused_output"]


def proof(operators, ys, blob):
    """Why a blob of a net of operators has no gradient."""
    return debug(Net("n", operators), ys).why_none(blob)


def test_ways_go_on_in_branches():
    branch = if_(
        "yes x w",
        "s z",
        [op("StopGradient", "x", "s"), op("Mul", "s w", "z")],
        [op("ConstantFill", "x", "s", value=2.0), op("Mul", "s w", "z")],
    )
    of_x = proof([branch], ["z"], "x")
    assert [cut.reason for cut in of_x.cuts] == ["stop", "no_gradient_operator"]
    assert [cut.way for cut in of_x.cuts] == [["x@0", "0.then_net/x@0"], ["x@0", "0.else_net/x@0"]]
    assert "in 0.then_net of If, x@0: StopGradient #0 stops gradients" in str(of_x)
    assert "only decides by it" in str(proof([branch], ["z"], "yes"))


def test_ways_go_on_in_loops():
    inner = do("x s", "s", op("ConstantFill", "x", "c", value=2.0), op("Mul", "s c", "s"), scope="inner")
    (cut,) = proof(counted("x s", "s", scope("inner"), inner), ["s"], "x").cuts
    assert cut.reason == "no_gradient_operator"
    assert cut.way == ["x@0", "4.loop_net/0.net/x@0", "4.loop_net/0.net/1.net/x@0"]


def test_an_output_of_a_nested_net_at_which_nothing_arrives_is_told():
    operators = [scope(), do("x w", "y z", op("Tanh", "x", "z"), op("Mul", "w w", "y"))]
    assert "no gradient arrives at z@1 from around this net" in str(proof(operators, ["y"], "x"))


def test_a_copy_for_one_of_several_outputs_says_whose_gradient_it_is_and_why_it_was_copied():
    net = Net()
    with net.Do(outputs=["u", "v"]):
        net.Tanh("x", "u")
        net.Sigmoid("x", "v")
    net.Sum(["u", "v"], "s")
    net.SumElements("s", "loss")
    session = recorded(net, x=[1.0, 2.0])
    session.finish()
    view = session.why_none("v_s_grad_DEDUP")
    assert view.status == "has one"
    said = "is the gradient of v@0, a copy of s_grad@0: that arrives at several blobs of Do #1"
    assert said in str(view)


def test_a_blob_that_was_given_as_a_gradient_is_copied_where_the_net_has_it_too():
    net = Net()
    with net.Do(outputs=["u"]):
        net.Tanh("x", "u")
    session = recorded(net, {"u": "x"}, x=[1.0, 2.0])
    session.finish()
    assert "is the gradient of u@0, a copy of x@0: that is a blob of Do #1" in str(session.why_none("u_x_DEDUP"))


@pytest.mark.parametrize(("skip", "first"), [(1, "the first operator"), (2, "the first 2 operators")])
def test_what_the_pass_skips_is_counted(skip: int, first: str) -> None:
    net = Net("skipped")
    net.Tanh("x", "a")
    net.Tanh("a", "b")
    net.Tanh("b", "y")
    view = debug(net, ["y"], skip=skip).why_none("x")
    assert f"was skipped: the pass leaves {first} out." in str(view)


def test_what_merges_the_rows_of_a_gradient_makes_the_gradient_of_that_blob():
    net, workspace = Net("rows"), Workspace()
    net.Gather(["w", "i"], "y")
    workspace.feed("w", np.ones((3, 2)))
    workspace.feed("i", np.array([1, 1]))
    session = debug(net, ["y"], workspace=workspace, deduplicate="sum")
    session.finish()
    gradient = session.trace().gradients["w"]
    for part in ("indices", "values"):
        name = getattr(gradient, part)
        said = f"{name} holds the {part} of the rows in the gradient of w@0, rows of equal index merged. "
        assert str(session.why_none(name)).startswith(said)
