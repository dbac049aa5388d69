"""Control flow written as `with` blocks: what they compute, their gradients, their bindings, and what is local."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gradviz import Net, NetError, RunError, immediate
from gradviz.program.control_flow import nested_nets
from tests.built_nets import W, X, chosen, fed, power, ran, squared

ROOT = Path(__file__).resolve().parents[1]


def assert_gradients_are_true(net, y, /, *blobs, **values):
    """The gradients that are generated for the sum of `y` against central differences of the net that is run."""
    forward = Net("forward", net.ops)
    gradients = net.add_gradient_operators([y])
    ws = ran(net, **values)
    for blob in blobs:
        at, step = fed(**values)[blob], 1e-6
        slopes = np.zeros_like(at)
        for place in np.ndindex(at.shape):
            up, down = at.copy(), at.copy()
            up[place] += step
            down[place] -= step
            rise = ran(forward, **{**values, blob: up})[y] - ran(forward, **{**values, blob: down})[y]
            slopes[place] = rise.sum() / (2 * step)
        np.testing.assert_allclose(ws[gradients[blob]], slopes, 1e-6, 1e-8, err_msg=blob)


@pytest.mark.parametrize("c", [True, False])
def test_an_if_runs_one_of_its_branches(c):
    np.testing.assert_allclose(ran(chosen(), c=c)["y"], np.tanh(X) * W if c else np.sin(X) - W)
    assert_gradients_are_true(chosen(), "y", "x", "w", c=c)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_while_repeats_its_block(n):
    ws = ran(power(), n=n)
    np.testing.assert_allclose(ws["x"], X * W**n)
    assert ws["i"] == n
    assert_gradients_are_true(power(), "x", "x", "w", n=n)


def test_a_do_keeps_its_local_blobs_in_its_scope():
    ws = ran(squared())
    np.testing.assert_allclose(ws["y"], np.tanh(X) ** 2)
    assert "t" not in ws
    (workspace,) = ws.fetch("do_0/scope")
    np.testing.assert_allclose(workspace["t"], np.tanh(X))
    assert_gradients_are_true(squared(), "y", "x")


@pytest.mark.parametrize("c", [True, False])
def test_what_an_if_without_else_does_not_write_stays(c):
    net = Net()
    net.Copy("x", "y")
    with net.If("c"):
        net.Mul(["y", "w"], "y")
    np.testing.assert_allclose(ran(net, c=c)["y"], X * W if c else X)
    assert_gradients_are_true(net, "y", "x", "w", c=c)


def test_otherwise_is_else():
    net = Net("chosen")
    with net.If("c") as branch:
        net.Tanh("x", "t")
        net.Mul(["t", "w"], "y")
    with branch.otherwise():
        net.Sin("x", "s")
        net.Sub(["s", "w"], "y")
    assert net.to_dict() == chosen().to_dict()


def test_an_else_follows_the_if_of_its_own_level():
    net = Net()
    with net.If("c"):
        with net.If("d"):
            net.Tanh("x", "y")
        with net.Else():
            net.Sin("x", "y")
    with net.Else():
        net.Copy("x", "y")
    for c, d, y in [(True, True, np.tanh(X)), (True, False, np.sin(X)), (False, True, X)]:
        np.testing.assert_allclose(ran(net, c=c, d=d)["y"], y)


def test_the_body_of_a_while_may_write_the_condition():
    net = Net()
    net.LT(["i", "n"], "go")
    with net.While("go"):
        net.Mul(["x", "w"], "x")
        net.Add(["i", "one"], "i")
        net.LT(["i", "n"], "go")
    for n in (0, 3):
        np.testing.assert_allclose(ran(net, n=n)["x"], X * W**n)
    assert_gradients_are_true(net, "x", "x", "w", n=3)


def test_a_condition_may_count_have_local_blobs_and_compute_for_the_body():
    net = Net()
    with net.While("go") as loop:
        with loop.condition():
            net.Add(["i", "one"], "i")
            net.Sub(["n", "i"], "left")
            net.GE(["left", "zero"], "go")
            net.Scale("w", "half", scale=0.5)
        net.Mul(["x", "half"], "x")
    ws = ran(net, n=3, zero=0)
    np.testing.assert_allclose(ws["x"], X * (W / 2) ** 3)
    assert ws["i"] == 4
    assert "left" not in ws
    assert "half" in ws, "the body reads it, so it is seen outside of the condition"


def test_a_loop_may_run_a_limited_number_of_times():
    net = Net()
    with net.While("go", max_iterations=5):
        net.LT(["i", "one"], "go")
    with pytest.raises(RunError) as caught:
        ran(net, go=True)
    assert caught.value.kind == "too_many_iterations"


@pytest.mark.parametrize(("c", "n"), [(True, 5), (True, 0), (False, 5)])
def test_blocks_nest(c, n):
    net = Net()
    net.Copy("x", "y")
    with net.If("c"):
        net.Scale("y", "y", scale=2.0)
        with net.While("go") as loop:
            with loop.condition():
                net.LT(["i", "n"], "go")
            net.GT(["i", "one"], "late")
            with net.If("late"):
                net.Mul(["y", "w"], "y")
            with net.Else():
                net.Tanh("y", "y")
            net.Add(["i", "one"], "i")
    with net.Else():
        net.Sin("w", "y")
    y = 2 * X if c else np.sin(W)
    for i in range(n if c else 0):
        y = y * W if i > 1 else np.tanh(y)
    np.testing.assert_allclose(ran(net, c=c, n=n)["y"], y)
    assert_gradients_are_true(net, "y", *(("x", "w") if c else ("w",)), c=c, n=n)


def deep(levels):
    net = Net()

    def nest(depth):
        with net.If("c"):
            net.Mul(["x", "w"], "x")
            if depth:
                nest(depth - 1)

    nest(levels - 1)
    return net


def test_blocks_nest_deeply():
    np.testing.assert_allclose(ran(deep(25), c=True)["x"], X * W**25)
    assert_gradients_are_true(deep(3), "x", "x", "w", c=True)


def test_bindings_are_found():
    scope, op = squared().ops
    assert str(scope) == "do_0/scope = CreateScope()"
    assert str(op) == "y, do_0/scope = Do(x, do_0/scope)"
    assert (op.args["inner_blobs"], op.args["outer_blobs_idx"]) == (["x", "y"], [0, 1])

    op = chosen().ops[-1]
    assert str(op) == ("y, if_0/then/scope, if_0/else/scope = If(c, x, w, if_0/then/scope, if_0/else/scope)")
    start, scope, op = power().ops
    assert [str(start), str(scope)] == ["go = ConstantFill()", "while_0/body/scope = CreateScope()"]
    assert op.inputs == ["go", "i", "n", "x", "w", "one", "while_0/body/scope"]
    assert op.outputs == ["go", "x", "i", "while_0/body/scope"]


def test_the_text_shows_the_nested_nets():
    assert str(power()).splitlines() == [
        "net power",
        "   0  go@0 = ConstantFill(value=False, dtype='bool')",
        "   1  while_0/body/scope@0 = CreateScope()",
        "   2  go@1, x@1, i@1, while_0/body/scope@1 = While(go@0, i@0, n@0, x@0, w@0, one@0, while_0/body/scope@0, "
        "cond_net='while_0/condition', loop_net='while_0/loop_net')",
        "      cond_net: while_0/condition",
        "       0  go@0 = LT(i@0, n@0)",
        "      loop_net: while_0/loop_net",
        "       0  x@1, i@1, while_0/body/scope@1 = Do(x@0, w@0, i@0, one@0, while_0/body/scope@0, "
        "net='while_0/body', inner_blobs=['x', 'w', 'i', 'one'], outer_blobs_idx=[0, 1, 2, 3])",
        "          net: while_0/body",
        "           0  x@1 = Mul(x@0, w@0)",
        "           1  i@1 = Add(i@0, one@0)",
    ]


def test_what_was_there_before_is_an_output_and_the_rest_is_local():
    net = Net()
    net.Copy("x", "y")
    with net.If("c"):
        net.Tanh("w", "t")
        net.Sin("t", "y")
        net.Sin("w", "x")
    assert net.ops[-1].outputs == ["y", "x", "if_0/then/scope"]
    with net.Else():
        net.Sin("w", "t")
        net.Sin("w", "s")
    assert net.ops[-1].outputs[:3] == ["t", "y", "x"], "both branches write t"


def test_a_local_blob_cannot_be_read_outside_until_somebody_writes_it_there():
    net = Net()
    with net.While("go"):
        with net.If("c"):
            net.Tanh("x", "t")
        net.LT(["i", "n"], "go")
    before = net.to_dict()
    with pytest.raises(NetError, match="t, which is local to if_0/then") as caught:
        net.Sin("t", "y")
    assert (caught.value.kind, caught.value.operator_index, caught.value.blobs) == ("local_blob", 2, ("t",))
    assert len(caught.value.ways_out) == 2
    with pytest.raises(NetError, match="The condition of an If reads t"), net.If("t"):
        net.Sin("x", "y")
    assert net.to_dict() == before
    net.Sin("x", "t")
    net.Sin("t", "y")


def test_a_block_that_writes_a_name_first_may_call_its_local_blob_like_another():
    net = squared()
    with net.Do(outputs="z"):
        net.Sin("y", "t")
        net.Copy("t", "z")
    np.testing.assert_allclose(ran(net)["z"], np.sin(np.tanh(X) ** 2))


@pytest.mark.parametrize("c", [True, False])
def test_outputs_hand_out_what_the_net_has_not_heard_of(c):
    net = Net()
    with net.If("c", outputs=["y"]):
        net.Tanh("x", "y")
    net.Mul(["y", "w"], "z")
    start = np.array([4.0, 5.0])
    np.testing.assert_allclose(ran(net, c=c, y=start)["z"], (np.tanh(X) if c else start) * W)
    assert_gradients_are_true(net, "z", "w", "x", "y", c=c, y=start)
    with pytest.raises(RunError) as caught:
        ran(net, c=c)
    assert (caught.value.kind, caught.value.blobs) == ("undefined_blob", ("y",))


def test_an_else_hands_out_what_it_alone_writes():
    net = Net()
    with net.If("c"):
        net.Tanh("x", "t")
    with net.Else(outputs="y"):
        net.Sin("x", "y")
    np.testing.assert_allclose(ran(net, c=False, y=W)["y"], np.sin(X))
    np.testing.assert_allclose(ran(net, c=True, y=W)["y"], W)


def test_blocks_may_share_a_scope():
    net = Net()
    with net.Do(scope="kept", outputs="y") as first:
        net.Tanh("x", "y")
    with net.Do(scope="kept", outputs="z") as second:
        net.Mul(["y", "w"], "z")
    assert first == second == "kept"
    assert [op.type for op in net.ops] == ["CreateScope", "Do", "Do"]
    assert len(ran(net).fetch("kept")) == 2
    assert_gradients_are_true(net, "z", "x", "w")


def test_empty_blocks_do_nothing():
    net = Net()
    net.Copy("x", "y")
    with net.If("c"):
        pass
    with net.Else():
        pass
    with net.Do():
        pass
    with net.While("go") as loop, loop.condition():
        net.Not("c", "go")
    np.testing.assert_allclose(ran(net, c=True)["y"], X)
    assert_gradients_are_true(net, "y", "x", c=True)


@pytest.mark.parametrize("net", [chosen(), power(), squared()], ids=lambda net: net.name)
def test_nets_survive_json_both_ways(net):
    for again in (Net.from_dict(net.to_dict()), Net.from_json(net.to_json())):
        assert again.to_dict() == net.to_dict()
        assert str(again) == str(net)


def test_a_built_net_runs_in_another_process():
    net = power()
    gradients = net.add_gradient_operators(["x"])
    program = f"""
import sys, gradviz
net, ws = gradviz.Net.from_json(sys.stdin.read()), gradviz.Workspace()
for name, value in dict(x=3.0, w=2.0, one=1, i=0, n=4).items():
    ws.feed(name, value)
ws.run(net)
print(float(ws["x"]), float(ws["{gradients["x"]}"]), float(ws["{gradients["w"]}"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], input=net.to_json(), cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert list(map(float, done.stdout.split())) == [3 * 2**4, 2**4, 3 * 4 * 2**3]


def names_of_nets(ops):
    return [name for op in ops for net in nested_nets(op).values() for name in (net.name, *names_of_nets(net.ops))]


def test_names_of_blocks_are_unique_and_avoid_those_in_use():
    net = Net.from_dict(chosen().to_dict())
    net.Copy("x", "if_1/mine")
    with net.If("c"):
        with net.If("c"):
            net.Copy("x", "y")
        with net.If("c"):
            net.Copy("x", "if_4")
    with net.If("c"):
        net.Copy("x", "y")
    names = names_of_nets(net.ops)
    assert len(set(names)) == len(names)
    assert [name for name in names if name.endswith("/then")] == [
        *("if_0/then", "if_2/then", "if_3/then", "if_4/then", "if_5/then"),
    ]


def test_in_immediate_mode_a_block_runs_when_it_closes():
    net = Net()
    with immediate(fed(n=3)) as ws:
        with net.While("go") as loop:
            with loop.condition():
                net.LT(["i", "n"], "go")
            net.Mul(["x", "w"], "x")
            net.Add(["i", "one"], "i")
            assert ws["i"] == 0
        assert ws["i"] == 3
        gradients = net.add_gradient_operators(["x"])
    np.testing.assert_allclose(ws["x"], X * W**3)
    np.testing.assert_allclose(ws[gradients["x"]], W**3)


@pytest.mark.parametrize("c", [True, False])
def test_in_immediate_mode_an_else_starts_from_what_was_before_its_if(c):
    net = Net()
    with immediate(fed(c=c)) as ws:
        with net.If("c"):
            net.Mul(["x", "w"], "x")
            net.Tanh("x", "y")
        np.testing.assert_allclose(ws["x"], X * W if c else X)
        with net.Else():
            net.Sin("x", "y")
        np.testing.assert_allclose(ws["x"], X * W if c else X)
        np.testing.assert_allclose(ws["y"], np.tanh(X * W) if c else np.sin(X))
        gradients = net.add_gradient_operators(["y"])
    again = ran(net, c=c)
    np.testing.assert_allclose(ws[gradients["x"]], again[gradients["x"]])


def test_blocks_go_before_operator_types_of_their_name():
    assert {"If", "Else", "While", "Do", "Tanh"} <= set(dir(Net()))
    assert "Else" in Net.If.__doc__


def test_a_block_in_the_condition_of_a_loop_shares_its_name_with_none_in_its_body() -> None:
    net = Net()
    with net.While("go") as loop:
        with loop.condition(), net.Do(outputs=["go"]):
            net.LT(["i", "n"], "go")
        with net.Do(outputs=["i"]):
            net.Add(["i", "one"], "i")
    text = str(net)
    assert "CreateScope" in text
    assert text.count("do_0/scope@0 = CreateScope()") == text.count("do_1/scope@0 = CreateScope()") == 1
