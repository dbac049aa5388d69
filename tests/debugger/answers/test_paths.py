"""Paths: how many there are, what flows along each, and that the parts add up to the gradient."""

import numpy as np
import pytest
from msgspec.structs import replace

from gradviz import Net, Variable, Workspace, debug, functions, load
from gradviz.debugger import CursorError
from gradviz.debugger.answers.paths import answer
from gradviz.debugger.journal import Pace
from tests.debugger.answers.nets import diamond, ladder, random_sessions, recorded
from tests.debugger.conftest import fed_workspace, skip_net
from tests.debugger.loops import fed, gated, recurrent
from tests.random_cases import counts


def test_each_path_carries_what_was_computed_by_hand():
    view = diamond().paths("x")
    assert view.count == 3
    assert view.starts == [("loss@0", "loss_autogen_grad@0")]
    assert [path.steps for path in view.paths] == [
        ["x@0", "#1", "triple@0", "#2", "s@0", "#3", "loss@0"],
        ["x@0", "#0 (input 0)", "square@0", "#2", "s@0", "#3", "loss@0"],
        ["x@0", "#0 (input 1)", "square@0", "#2", "s@0", "#3", "loss@0"],
    ]
    np.testing.assert_allclose(view.parts[0], [3.0, 3.0])
    np.testing.assert_allclose(view.parts[1], [1.0, -2.0])
    total = np.array([5.0, -1.0])
    assert view.norm == pytest.approx(np.linalg.norm(total))
    assert view.difference == 0
    for path, part in zip(view.paths, view.parts, strict=True):
        assert path.norm == pytest.approx(np.linalg.norm(part))
        assert path.share == pytest.approx(part @ total / (total @ total))
        assert path.cosine == pytest.approx(part @ total / np.linalg.norm(part) / np.linalg.norm(total))
    assert sum(path.share for path in view.paths) == pytest.approx(1)
    assert view.is_complete
    assert "add up to the gradient" in str(view)


def test_paths_start_from_the_seed_of_one_y_or_from_the_gradient_of_another_blob():
    net = Net()
    net.Tanh("x", "h")
    net.Scale("h", "y1", scale=2.0)
    net.Scale("h", "y2", scale=5.0)
    session = recorded(net, {"y1": None, "y2": "dy2"}, x=[0.0], dy2=[10.0])
    assert session.paths("x").count == 2
    np.testing.assert_allclose(session.paths("y1", "x").parts, [[2.0]])
    np.testing.assert_allclose(session.paths("y2", "x").parts, [[50.0]])
    assert session.paths("y2", "x").difference is None
    whole = session.paths("h", "x")
    assert whole.starts == [("h@0", "h_grad@1")]
    np.testing.assert_allclose(whole.parts, [[52.0]])


def test_a_y_is_its_own_path():
    view = diamond().paths("loss")
    assert (view.count, view.paths[0].blobs, view.paths[0].norm) == (1, ["loss@0"], 1.0)


def test_where_no_gradient_flows_there_is_no_path():
    session = debug(skip_net(), ["loss"], workspace=fed_workspace())
    assert session.paths("label").count == 0
    assert session.paths("a", "loss").count == 0
    assert "why_none" in str(session.paths("label"))


def test_paths_through_operators_that_overwrite_are_told_apart_by_version():
    net = Net()
    net.Tanh("x", "t")
    net.Mul(["t", "x"], "q")
    net.Relu("q", "q")
    net.SumElements("q", "loss")
    view = recorded(net, x=[2.0]).paths("x")
    assert ["x@0", "#1", "q@0", "#2", "q@1", "#3", "loss@0"] in [path.steps for path in view.paths]
    np.testing.assert_allclose(sum(view.parts), 2 * (1 - np.tanh(2.0) ** 2) + np.tanh(2.0))


def test_the_number_of_paths_is_exact_where_no_float_could_hold_it():
    net = ladder(50)
    session = recorded(net, ["b49"], x=[0.3])
    view = session.paths("x", k=2)
    assert view.count == 3**50
    assert len(view.paths) == 2
    assert not view.is_complete
    assert f"{3**50:,}" in str(view)


def test_the_greatest_paths_are_proven_where_jacobians_are_small():
    """Of x one element, so that norms multiply; what is left aside can be bounded exactly."""
    view = recorded(ladder(30), ["b29"], x=[0.001]).paths("x", k=1)
    assert view.count == 3**30
    assert view.is_proven
    assert all("u" not in blob for blob in view.paths[0].blobs)
    assert view.paths[0].norm == pytest.approx(1.0)


def test_who_hears_of_progress_hears_that_all_operators_were_looked_through():
    heard = []
    pace = Pace(heard.append, "answer")
    pace.due = 0
    session = recorded(ladder(4), ["b3"], x=[0.5])
    answer(session._here, None, "x", 5, pace)
    assert heard[-1].operators == heard[-1].of == 12


def test_it_says_where_the_greatest_paths_are_not_proven():
    view = recorded(ladder(30), ["b29"], x=np.linspace(0.1, 0.5, 100)).paths("x")
    assert not view.is_proven
    assert "not proven" in str(view)


def test_of_many_paths_the_greatest_are_those_of_following_all():
    net = ladder(6)
    session = recorded(net, ["b5"], x=[0.9, -1.4])
    everything = session.paths("x", k=3**6)
    assert everything.is_complete
    few = session.paths("x", k=7)
    assert [path.norm for path in few.paths] == [path.norm for path in everything.paths[:7]]
    np.testing.assert_allclose(sum(everything.parts), session.value("x_grad"), atol=1e-10)


@counts(60)
def test_parts_of_random_nets_add_up_to_the_gradient(count):
    pytest.importorskip("torch", reason="random nets are drawn with PyTorch")
    added = several = 0
    for _, session in random_sessions(count, seed=1):
        if session.events[-1].kind != "Ran":
            continue
        for blob, gradient in session.trace().gradients.items():
            view = session.paths(blob, k=300)
            if not (view.is_complete and view.norm is not None and isinstance(gradient, str)):
                continue
            total = session.value(gradient)
            digits = 1e-5 if total.dtype == np.float32 else 1e-10
            scale = max(1.0, float(np.abs(total).max(initial=0.0)))
            np.testing.assert_allclose(sum(view.parts), total, rtol=0, atol=digits * scale, err_msg=f"{blob}\n{view}")
            assert len(view.paths) == view.count
            added += 1
            several += view.count > 1
    assert added > 1.7 * count
    assert several > count / 2.4


@counts(40)
def test_the_number_of_paths_is_that_of_walking_them_all(count):
    pytest.importorskip("torch", reason="random nets are drawn with PyTorch")
    for _, session in random_sessions(count, seed=2):
        if session.events[-1].kind == "Failed":
            continue
        sends = {event.index: event for event in session.events if event.kind == "RuleApplied"}
        reached = {event.index: event for event in session.events if event.kind == "Visited"}
        forward = session.trace().forward

        def ways(blob: str, x: str, forward=forward, sends=sends, reached=reached) -> int:
            if blob == x:
                return 1
            for index, line in enumerate(forward):
                if blob in line.outputs and index in reached:
                    if reached[index].g_output[line.outputs.index(blob)] is None:
                        return 0
                    pairs = zip(line.inputs, sends[index].g_input, strict=True)
                    return sum(ways(read, x) for read, gradient in pairs if gradient is not None)
            return 0

        for blob in session.trace().gradients:
            view = session.paths(blob, k=1)
            assert view.count == sum(ways(y, view.x) for y, _ in view.starts)


def test_a_control_operator_is_one_step_and_the_paths_inside_are_found_there():
    session = debug(gated(), ["loss"], workspace=fed(3))
    outside = session.paths("w")
    assert outside.count == 1
    np.testing.assert_allclose(outside.parts[0], session.value("w_grad@1"))
    inside = session.paths("2.loop_net[1]/0.net:h")
    assert inside.x == "2.loop_net[1]/0.net:h@0"
    assert [path.operators for path in inside.paths] == [[4, 5]]
    assert inside.difference == 0
    session.run_to("2.loop_net[1]/0.net")
    assert session.paths("h").x == "2.loop_net[1]/0.net:h@0"


def test_every_iteration_has_its_own_values():
    session = debug(recurrent(), ["loss"], workspace=fed(3))
    parts = [session.paths(f"2.loop_net[{k}]/0.net:w").parts[0] for k in range(3)]
    np.testing.assert_allclose(sum(parts), session.value("w_grad@1"))
    assert not np.allclose(parts[0], parts[2])


def test_from_one_of_several_ys_it_is_not_said_to_be_the_whole_gradient():
    net = Net()
    net.Sqr("x", "p")
    net.Exp("x", "q")
    net.Sqr("z", "r")
    session = recorded(net, ["p", "q", "r"], x=[1.0, 2.0], z=[1.0])
    of_one = session.paths("p", "x")
    assert not of_one.is_whole
    assert str(of_one).startswith("From p@0 (p_autogen_grad@0) a gradient flows to x@0 along 1 path")
    assert "This is the only one from there; the gradient of x@0 may have other parts." in str(of_one)
    whole = str(session.paths("x"))
    assert whole.startswith("The gradient of x@0 comes along 2 paths")
    assert "These are all; their parts add up to the gradient." in whole
    assert "This is the only one; what flows along it is the gradient." in str(session.paths("z"))


def test_where_no_path_leads_it_is_not_said_that_there_is_no_gradient():
    net = Net()
    net.Sqr("x", "p")
    net.Sqr("z", "r")
    net.Sqr("u", "v")
    session = recorded(net, ["p", "r"], x=[1.0], z=[1.0], u=[1.0])
    elsewhere = 'Its gradient, x_grad@0, comes from elsewhere: session.why_none("x@0") says from where.'
    assert elsewhere in str(session.paths("r", "x"))
    assert 'session.why_none("u@0") says why it has none.' in str(session.paths("u"))
    assert "x_grad@0 belongs to the backward pass" in str(session.paths("x_grad"))


def test_where_a_block_reads_its_own_gradient_parts_of_it_are_not_made_up():
    net = Net()
    with net.Do(outputs=["y", "z"]):
        net.Mul(["x", "w"], "y")
        net.Mul(["x", "x"], "z")
    view = recorded(net, {"y": "x", "z": None}, x=[1.0, 2.0], w=[3.0, 4.0]).paths("x")
    assert view.count == 2
    assert (view.norm, [path.norm for path in view.paths]) == (None, [None] * view.count)
    assert "Do #1 reads or writes x@0, which is its gradient as well" in str(view)


def test_one_path_that_is_not_shown_is_one():
    text = str(diamond().paths("x", k=2))
    assert "The other path carries" in text
    assert "its norm is not greater." in text


def test_without_values_paths_are_counted_and_nothing_is_zero(tmp_path):
    session = debug(skip_net(), ["loss"])
    diamond().save(tmp_path / "s.gradviz.json")
    for view in (session.paths("x"), load(tmp_path / "s.gradviz.json").paths("x")):
        assert view.count == len(view.paths) > 1
        assert view.norm is None
        assert all(path.norm is None for path in view.paths)
        assert "not computed" in str(view)


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "3", None])
def test_a_number_of_paths_that_is_none_is_refused(k):
    with pytest.raises(CursorError) as caught:
        diamond().paths("x", k=k)
    assert caught.value.kind == "bad_argument"
    assert caught.value.ways_out


@pytest.mark.parametrize("blob", ["nowhere", "x@7", "tripel", "", "9.net:x", 3, None])
def test_blobs_that_are_not_there_are_refused(blob):
    with pytest.raises(CursorError) as caught:
        diamond().paths("loss", blob) if blob is not None else diamond().paths(None)
    assert caught.value.kind == "not_found"
    assert caught.value.ways_out


def test_rows_of_a_table_are_paths_too():
    net = Net()
    net.Gather(["table", "rows"], "g")
    net.Mul(["g", "g"], "q")
    net.SumElements("q", "loss")
    ws = Workspace()
    ws.feed("table", np.arange(6.0).reshape(3, 2))
    ws.feed("rows", np.array([1, 1, 0]))
    view = debug(net, ["loss"], workspace=ws).paths("table")
    assert view.count == 2
    np.testing.assert_allclose(sum(view.parts), [[0.0, 2.0], [8.0, 12.0], [0.0, 0.0]])
    assert view.difference == 0


def test_a_gradient_that_passes_through_a_loop_as_rows_made_dense_is_a_path():
    net = Net()
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        net.Add(["i", "one"], "i")
    net.ops[-1] = replace(net.ops[-1], outputs=[*net.ops[-1].outputs, "table"])  # and leaves it as it is
    net.Gather(["table", "rows"], "y")
    ws = Workspace()
    for name, value in {"go": True, "i": 0, "n": 2, "one": 1, "table": np.ones((3, 2)), "rows": [0, 2]}.items():
        ws.feed(name, value)
    view = debug(net, ["y"], workspace=ws).paths("table@0")
    np.testing.assert_array_equal(sum(view.parts), [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]])
    assert view.difference == 0


def test_what_rounding_leaves_where_paths_cancel_is_no_hook():
    x = Variable(np.ones(2), name="x")
    view = debug(functions.sum(x * -0.3 + x * 0.1 + x * 0.2)).paths("x")
    assert 0 < view.difference < 1e-16
    assert view.norm < 1e-16
    assert "that is the recorded gradient" in str(view)
    assert "add up to the gradient" in str(view)
