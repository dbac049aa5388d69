"""Recording through nested nets: every iteration and its values, workspaces, faults inside, and what is said of it."""

import numpy as np
import pytest

import gradviz
from gradviz import Net, debug, load
from gradviz.debugger import CursorError
from gradviz.operators.scopes import ScopeStack
from gradviz.program.events import EnteredSubnet, Failed, LeftSubnet, Ran
from tests.debugger.loops import H, W, fed, gated, recurrent, states, weight_gradients

ROUNDS = 4
BODY = ("2.loop_net", "0.net")


@pytest.fixture(scope="module")
def session():
    return debug(recurrent(), ["loss"], workspace=fed(ROUNDS))


@pytest.fixture(autouse=True)
def at_the_start(request):
    if "session" in request.fixturenames:
        request.getfixturevalue("session").restart()


def ran_in(session, element):
    """The operators that ran in runs whose path ends with an element."""
    return [event.op.type for event in session.events if isinstance(event, Ran) and event.path[-1:] == (element,)]


def line(session, id):
    trace = session.trace()
    return next(one for net in (trace, *trace.subnets) for one in (*net.forward, *net.backward) if one.id == id)


def test_generation_goes_through_the_body_of_a_loop_once(session):
    inside = [event.kind for event in session.events if event.path == BODY]
    assert inside[:4] == ["Played", "Played", "Played", "Seeded"]
    assert inside[-1] == "Completed"
    assert inside.count("RuleApplied") == 2


def test_execution_goes_through_every_iteration(session):
    entered = [event for event in session.events if isinstance(event, EnteredSubnet) and event.argument == "loop_net"]
    assert [event.iteration for event in entered] == [None, *range(ROUNDS), *range(ROUNDS)]
    left = [event for event in session.events if isinstance(event, LeftSubnet)]
    assert len(left) == len([event for event in session.events if isinstance(event, EnteredSubnet)])
    paths = {event.path for event in session.events if isinstance(event, Ran) and event.path[-1:] == ("0.net",)}
    backward = len(session.trace().forward) + next(
        index for index, one in enumerate(session.trace().backward) if one.type == "While"
    )
    assert paths == {(f"{place}.loop_net[{k}]", "0.net") for place in (2, backward) for k in range(ROUNDS)}


def test_the_condition_is_tested_once_more_than_the_loop_runs(session):
    for k in range(ROUNDS + 1):
        assert ran_in(session, f"2.cond_net[{k}]") == ["LT"]
    assert ran_in(session, f"2.cond_net[{ROUNDS + 1}]") == []


def test_each_iteration_keeps_its_values(session):
    h = states(ROUNDS)
    for k in range(ROUNDS):
        run = f"2.loop_net[{k}]/0.net"
        np.testing.assert_allclose(session.value(f"{run}:h@0"), h[k])
        np.testing.assert_allclose(session.value(f"{run}:a"), W @ h[k])
        np.testing.assert_allclose(session.value(f"{run}:h"), h[k + 1])
        assert session.value(f"{run}:i@1") == k + 1


def test_names_mean_what_they_mean_where_one_stands(session):
    h = states(ROUNDS)
    session.run_to("2.loop_net[2]/0.net")
    np.testing.assert_allclose(session.value("h@0"), h[2])
    assert session.value("n") == ROUNDS
    session.finish()
    np.testing.assert_allclose(session.value("h"), h[ROUNDS])


@pytest.mark.parametrize("blob", ["h", "h@1", "w", "h_grad"])
def test_a_nested_net_alone_has_no_values_and_the_way_to_those_of_its_runs_is_told(session, blob):
    with pytest.raises(CursorError, match="no run is named") as caught:
        session.value(f"2.loop_net/0.net:{blob}")
    (way_out,) = caught.value.ways_out
    named = way_out.removeprefix("Name one, as ").removesuffix(".")
    assert named.startswith("2.loop_net[0]/0.net:")
    session.value(named)


def test_a_branch_that_is_not_taken_is_said_not_to_have_run():
    net = Net("branches")
    with net.If("c"):
        net.Tanh("x", "h")
        net.Sin("h", "x")
    with net.Else():
        net.Cos("x", "q")
        net.Sin("q", "x")
    ws = gradviz.Workspace()
    ws.feed("c", np.array(True))
    ws.feed("x", np.ones(3))
    made = debug(net, ["x"], workspace=ws)
    np.testing.assert_allclose(made.value("2.then_net/0.net:h"), np.tanh(np.ones(3)))
    with pytest.raises(CursorError, match="this nested net did not run") as caught:
        made.value("2.else_net/0.net:q")
    assert "Feed the net's inputs" not in str(caught.value)


def test_recording_keeps_references_and_copies_nothing(session):
    session.run_to("2.loop_net[1]/0.net")
    for one, other in (("w", "2.loop_net[3]/0.net:w"), ("2.loop_net[1]/0.net:h@0", "2.loop_net[0]/0.net:h@1")):
        assert np.shares_memory(session.value(one), session.value(other))


def test_the_document_has_statistics_of_every_run(session):
    trace = session.trace()
    h = states(ROUNDS)
    net = next(net for net in trace.subnets if tuple(net.path) == BODY)
    slot = net.blobs.index("h@1")
    forward = [frame for frame in trace.frames if frame.subnet == net.id and not frame.is_backward]
    norms = [trace.arrays[frame.values[slot]].norm for frame in forward]
    np.testing.assert_allclose(norms, [np.linalg.norm(state) for state in h[1:]], 1e-5)
    rounds = [trace.frames[frame.around] for frame in forward]
    assert [(frame.iteration, frame.iterations) for frame in rounds] == [(k, ROUNDS) for k in range(ROUNDS)]


def test_a_scope_holds_the_workspace_of_each_iteration_the_last_one_first(session):
    session.run_to("loss")
    scope = line(session, "f2").outputs[-1]
    stack = session.value(scope)
    assert isinstance(stack, ScopeStack)
    for workspace, before, after in zip(stack, states(ROUNDS)[-2::-1], states(ROUNDS)[:0:-1], strict=True):
        np.testing.assert_allclose(workspace["h"], after)
        np.testing.assert_allclose(workspace["a"], W @ before)


def test_the_document_tells_which_run_left_each_workspace(session):
    trace = session.trace()
    value = trace.values[line(session, "f2").outputs[-1]]
    assert (value.shape, value.dtype, value.min) == ([ROUNDS], "workspaces", None)
    found, at = [], value.stack
    while at is not None:
        stack = trace.stacks[at]
        if stack.frame is not None:
            found.append(trace.frames[trace.frames[stack.frame].around].iteration)
        at = stack.below
    assert found == [3, 2, 1, 0]


def test_the_backward_pass_takes_the_last_workspace_first(session):
    trace = session.trace()
    frames = trace.frames
    taken = [
        trace.narration(at)
        for at, event in enumerate(trace.events, 1)
        if event.kind == "EnteredSubnet" and event.detail["argument"] == "net"
        if event.frame is not None and frames[event.frame].is_backward
    ]
    assert len(taken) == ROUNDS
    for narration, iteration in zip(taken, reversed(range(ROUNDS)), strict=True):
        assert f"takes the workspace that iteration {iteration} of While #2 left off" in narration


def test_the_rule_of_a_loop_is_told(session):
    session.run_to("Visited")
    while not (session.event.kind == "RuleApplied" and session.event.index == 2 and not session.path):
        session.step()
    assert "for each workspace that an iteration left" in session.narration
    assert "handed on from iteration to iteration" in session.narration
    assert "running sum, from zero" in session.narration


def test_a_version_that_the_body_overwrites_is_told_to_be_kept(session):
    trace = session.trace()
    told = [trace.narration(at) for at, event in enumerate(trace.events, 1) if event.kind == "InputChecked"]
    assert any("`h@0`, which Tanh #1 overwrote; the workspace has kept it" in narration for narration in told)


def test_the_lines_of_nested_nets_stand_in_the_document(session):
    trace = session.trace()
    body = next(net for net in trace.subnets if tuple(net.path) == BODY)
    assert (body.owner, body.argument) == ("s1.f0", "net")
    assert [one.type for one in body.forward] == ["MatMul", "Tanh", "Add"]
    assert [one.role for one in body.backward].count("accumulation") == 1
    assert line(session, body.backward_owner).type == "Do"
    condition = next(net for net in trace.subnets if net.owner is None)
    assert [one.type for one in condition.backward] == ["HasScope"]
    assert set(line(session, "f2").subnets) == {"cond_net", "loop_net"}
    assert not set(line(session, "f2").args) & {"cond_net", "loop_net"}


def test_each_iteration_contributes_to_the_ledger_of_what_all_of_them_read(session):
    ledger = session.ledger("w").ledger
    wanted = weight_gradients(ROUNDS)
    total = sum(wanted)
    assert [c.producer for c in ledger.contributions] == [f"iteration {k}" for k in range(ROUNDS)]
    np.testing.assert_allclose([c.norm for c in ledger.contributions], [np.linalg.norm(g) for g in wanted])
    cosines = [(g * total).sum() / np.linalg.norm(g) / np.linalg.norm(total) for g in wanted]
    np.testing.assert_allclose([c.cosine for c in ledger.contributions], cosines)
    assert sum(c.share for c in ledger.contributions) == pytest.approx(1)
    assert ledger.norm == pytest.approx(np.linalg.norm(total))
    session.finish()
    np.testing.assert_allclose(session.value(ledger.total), total)
    assert "iteration 3" in repr(session.ledger("w@0"))


def test_the_ledger_of_a_loop_leads_to_the_runs(session):
    trace = session.trace()
    frames = [trace.frames[c.frame] for c in session.ledger("w").ledger.contributions]
    rounds = [trace.frames[frame.around].iteration for frame in frames]
    assert rounds == list(reversed(range(ROUNDS)))
    assert all(frame.is_backward for frame in frames)


def test_no_iteration_contributes_nothing():
    session = debug(recurrent(), ["loss"], workspace=fed(0))
    session.finish()
    assert session.ledger("w").ledger.contributions == []
    np.testing.assert_array_equal(session.value("loss"), H.sum())
    entered = [event for event in session.events if isinstance(event, EnteredSubnet) and event.iteration is not None]
    assert [(event.argument, event.iteration) for event in entered] == 2 * [("cond_net", 0)]


def test_only_the_branch_that_is_taken_runs():
    session = debug(gated(), ["loss"], workspace=fed(3))
    ws = fed(3)
    net = gated()
    net.add_gradient_operators(["loss"])
    ws.run(net)
    session.finish()
    np.testing.assert_array_equal(session.value("w_grad"), ws["w_grad"])
    taken = [e.argument for e in session.events if isinstance(e, EnteredSubnet) and e.argument.endswith("_net")]
    taken = [argument for argument in taken[taken.index("cond_net") :] if argument in ("then_net", "else_net")]
    assert taken[3:] == taken[2::-1], "the backward pass goes through the same branches, last one first"
    assert {"then_net", "else_net"} == set(taken)


def test_a_branch_says_why_it_runs_and_what_the_other_one_would_have_computed():
    session = debug(gated(), ["loss"], workspace=fed(3))
    told = list(map(session.trace().narration, range(1, len(session) + 1)))
    assert any("is true, so If #4 runs its then_net" in narration for narration in told)
    assert any("was false, so the gradient of If #4 runs the backward pass of the else_net" in text for text in told)
    assert any("fills `w_grad` with zeros: a gradient that only the other branch computes" in text for text in told)


def test_an_output_that_no_branch_may_write_is_read_as_it_was():
    net = Net("kept")
    net.Sqr("x", "z")
    with net.If("c", outputs="z"):
        net.Sin("x", "z")
    for holds, wanted in ((True, np.sin), (False, np.square)):
        ws = fed(x=np.array([0.3]), c=holds)
        session = debug(net, ["z"], workspace=ws)
        assert session.events[-1].kind == "Ran"
        branch = next(one for one in session.trace().forward if one.type == "If")
        assert "z@0" in branch.inputs
        session.finish()
        np.testing.assert_allclose(session.value("z"), wanted([0.3]))


def two_outputs():
    net = Net("twice")
    with net.Do(outputs=("p", "q")):
        net.Sin("x", "p")
        net.Tanh("x", "q")
    net.Sum(["p", "q"], "y")
    return net


def test_the_copy_of_a_gradient_for_a_second_output_is_marked_and_told():
    session = debug(two_outputs(), ["y"], workspace=fed(x=np.array([0.3, -1.0])))
    (copy,) = [one for one in session.trace().backward if one.role == "duplicate"]
    assert copy.type == "Copy"
    assert "_DEDUP" in copy.outputs[0]
    made = next(at for at, event in enumerate(session.trace().events, 1) if copy.id in event.lines)
    assert session.trace().events[made - 1].kind == "RuleApplied"
    assert "arrives at several outputs of Do" in session.trace().narration(made)
    x = np.array([0.3, -1.0])
    np.testing.assert_allclose(session.value(session.trace().gradients["x"]), np.cos(x) + 1 - np.tanh(x) ** 2)


def looking_up():
    """Reads row i of a table in round i."""
    net = Net("rows")
    net.LT(["i", "n"], "go")
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        net.Gather(["table", "i"], "row")
        net.Add(["h", "row"], "h")
        net.Add(["i", "one"], "i")
    net.SumElements("h", "loss")
    return net


def test_a_fault_in_an_iteration_is_the_last_event_with_the_path_to_it():
    ws = fed(i=np.array([0]), one=np.array([1]), n=np.array([5]), table=np.ones((3, 2)), h=np.zeros((1, 2)))
    before = {name: ws[name] for name in ws}
    session = debug(looking_up(), ["loss"], workspace=ws)
    last = session.events[-1]
    assert isinstance(last, Failed)
    assert last.path == ("2.loop_net[3]", "0.net")
    assert last.index == 0
    assert "iteration 3" in last.message
    session.finish()
    assert session.path == last.path
    assert session.value("i@0") == 3
    assert session.back_over() is not None
    assert {name: ws[name] for name in ws}.keys() == before.keys()
    assert all(ws[name] is before[name] for name in before)


def test_a_rule_that_refuses_inside_a_net_is_the_last_event_with_the_path_to_it():
    net = Net("stuck")
    with net.Do(outputs="y"):
        net.Floor("x", "y")
    session = debug(net, ["y"], workspace=fed(x=np.array([0.5])))
    session.finish()
    last = session.events[-1]
    assert isinstance(last, Failed)
    assert last.path == session.path == (f"{len(session.trace().forward) - 1}.net",)
    assert last.error == "no_gradient_rule"


def test_without_values_the_generation_alone_goes_through_nested_nets():
    session = debug(recurrent(), ["loss"])
    assert session.trace().frames == []
    session.run_to("2.loop_net/0.net")
    assert session.path == BODY
    with pytest.raises(CursorError, match="not computed"):
        session.value("h")


def test_a_session_saved_and_loaded_goes_the_same_ways(session, tmp_path):
    session.save(tmp_path / "loop.gradviz.json")
    again = load(tmp_path / "loop.gradviz.json")
    assert again.trace() == session.trace()
    assert len(again.events) == len(session.events)
    for read, recorded in zip(again.events, session.events, strict=True):
        assert (read.kind, read.path) == (recorded.kind, recorded.path)
        assert str(getattr(read, "op", "")) == str(getattr(recorded, "op", ""))
        assert getattr(read, "iteration", None) == getattr(recorded, "iteration", None)
        assert getattr(read, "seconds", None) == getattr(recorded, "seconds", None)
    assert repr(again.ledger("w")) == repr(session.ledger("w"))


def test_an_operator_read_back_has_its_nets(session, tmp_path):
    session.save(tmp_path / "loop.gradviz.json")
    played = load(tmp_path / "loop.gradviz.json").events[2]
    assert isinstance(played.op.args["loop_net"], gradviz.program.NetDef)


def test_what_a_recording_keeps_grows_with_the_iterations_as_they_do():
    counts = []
    for rounds in (20, 40, 60):
        trace = debug(recurrent(), ["loss"], workspace=fed(rounds)).trace()
        counts.append(np.array([len(trace.events), len(trace.frames), len(trace.arrays), len(trace.stacks)]))
    np.testing.assert_array_equal(counts[2] - counts[1], counts[1] - counts[0])
    assert (counts[1] - counts[0] < 20 * np.array([40, 10, 25, 4])).all()


@pytest.mark.parametrize("place", ["2.loop_net[1]", "11.loop_net[2]"])
def test_a_round_has_the_gradients_of_its_body_which_is_all_of_it(place):
    session = debug(gated(), ["loss"], workspace=fed(ROUNDS))
    session.run_to(place)
    assert session.path == (place,)
    for before, inside in {"w": "w@0", "h": "h@0", "h@1": "h@2"}.items():
        body = f"2.loop_net[1]/0.net:{inside}"
        for question in (session.why_none, session.paths, session.check):
            assert str(question(before)) == str(question(body))
        assert str(session.ledger(f"2.loop_net[1]:{before}")) == str(session.ledger(body))
    assert session.why_none("h").status == "has one"
    assert session.why_none("i").cuts[0].text == "i@0 → i@1: no gradient arrives at i@1 from around this net."
    gradients = [one.gradients for one in session.versions("h").versions]
    assert gradients == [["h_grad_1@0"], ["h/_DO_OPERATOR_INNER_GRAD_@0"]]
