"""Nets in single assignment form: control operators keep their meaning, and gradients need nothing that is lost."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gradviz import GradientError, Net, Workspace
from tests.handwritten import if_, op

BLOBS = ("x", "y", "z")
FEEDS = {"x": [0.3, -0.5], "y": [0.8, 0.2], "z": [-0.4, 0.6], "one": 1.0, "yes": True, "no": False}


def ran(net, **feeds):
    ws = Workspace()
    for name, value in {**FEEDS, **feeds}.items():
        ws.feed(name, np.array(value))
    ws.run(net)
    return ws


def doubled_three_times():
    """tanh(x), doubled in place by a loop."""
    net = Net()
    net.Tanh("x", "t")
    net.ConstantFill([], "i", value=0.0, dtype="float64")
    net.ConstantFill([], "n", value=3.0, dtype="float64")
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        net.Scale("t", "t", scale=2.0)
        net.Add(["i", "one"], "i")
    return net


def test_what_a_loop_overwrites_is_copied_for_it():
    net = doubled_three_times()
    with pytest.raises(GradientError, match="to_ssa") as caught:
        net.add_gradient_operators(["t"])
    assert caught.value.kind == "version_overwritten"
    apart = net.to_ssa()
    assert [str(op) for op in apart.ops] == [
        "t_0 = Tanh(x)",
        "i_0 = ConstantFill()",
        "n = ConstantFill()",
        "go_0 = ConstantFill()",
        "while_0/body/scope = CreateScope()",
        "go = Copy(go_0)",
        "t = Copy(t_0)",
        "i = Copy(i_0)",
        "go, t, i, while_0/body/scope = While(go, i, n, t, one, while_0/body/scope)",
    ]
    gradients = apart.add_gradient_operators(["t"])
    ws = ran(apart)
    np.testing.assert_allclose(ws["t"], 8 * np.tanh(FEEDS["x"]))
    np.testing.assert_allclose(ws[gradients["x"]], 8 * (1 - np.tanh(FEEDS["x"]) ** 2))


@pytest.mark.parametrize("condition", ["yes", "no"])
def test_a_branch_copies_what_it_leaves_as_it_is(condition):
    net = Net()
    net.Tanh("x", "t")
    with net.If(condition):
        net.Sin("y", "t")
    net.Sin("t", "t")
    apart = net.to_ssa()
    assert [str(op) for op in apart.ops] == [
        "t_0 = Tanh(x)",
        "if_0/then/scope = CreateScope()",
        f"t_1, if_0/then/scope = If({condition}, y, t_0, if_0/then/scope)",
        "t = Sin(t_1)",
    ]
    assert nested(apart.ops[2], "then_net") == ["t_1, if_0/then/scope = Do(y, if_0/then/scope)"]
    assert nested(apart.ops[2], "else_net") == ["t_1 = Copy(t_0)"]
    gradients = apart.add_gradient_operators(["t"])
    ws, x, y = ran(apart), np.array(FEEDS["x"]), np.array(FEEDS["y"])
    slope = np.cos(np.sin(y)) * np.cos(y) if condition == "yes" else np.cos(np.tanh(x)) * (1 - np.tanh(x) ** 2)
    np.testing.assert_allclose(ws[gradients["y" if condition == "yes" else "x"]], slope)


def nested(op, argument):
    return [str(inner) for inner in op.args[argument].ops]


def test_nested_nets_overwrite_nothing():
    net = Net()
    net.Copy("x", "h")
    with net.Do():
        net.Swish("h", "h")
        net.Mul(["h", "y"], "h")
        net.Tanh("h", "local")
        net.Sqr("local", "local")
    apart = net.to_ssa()
    assert [str(op) for op in apart.ops] == [
        "h_0 = Copy(x)",
        "do_0/scope = CreateScope()",
        "h, do_0/scope = Do(h_0, y, do_0/scope)",
    ]
    assert nested(apart.ops[2], "net") == [
        "h_2 = Swish(h)",
        "h_1 = Mul(h_2, y)",
        "local_0 = Tanh(h_1)",
        "local = Sqr(local_0)",
    ]
    np.testing.assert_array_equal(ran(apart)["h"], ran(net)["h"])


def test_a_loop_works_on_one_blob_and_overwrites_nothing_in_a_round():
    apart = doubled_three_times().to_ssa()
    (body,) = apart.ops[-1].args["loop_net"].ops
    assert nested(body, "net") == ["t_0 = Copy(t)", "i_0 = Copy(i)", "t = Scale(t_0)", "i = Add(i_0, one)"]


def test_nets_that_continue_in_a_workspace_find_its_blobs_by_name():
    net = Net()
    net.Copy("x", "h")
    with net.Do():
        net.Swish("h", "h")
    gradients = net.add_gradient_operators(["h"])
    (forward, _) = [made for made in net.to_ssa().ops if made.type == "Do"]
    assert nested(forward, "net") == ["h = Swish(h)"]
    np.testing.assert_array_equal(ran(net.to_ssa())[gradients["x"]], ran(net)[gradients["x"]])


def test_random_operators_draw_what_they_drew():
    net = Net()
    net.Dropout("x", ["x", "mask"], ratio=0.5, seed=1)
    net.GaussianFill([], "noise", shape=[50], dtype="float64")
    net.Add(["noise", "x"], "noise")
    with net.If("yes"):
        net.UniformFill([], "noise", shape=[50], dtype="float64")
        net.Sqr("noise", "noise")
    apart, many = net.to_ssa(), np.ones(50)
    assert str(apart.ops[0]) == "x_1, mask = Dropout(x)"
    for yes in (True, False):
        for name in ("mask", "noise"):
            np.testing.assert_array_equal(ran(apart, x=many, yes=yes)[name], ran(net, x=many, yes=yes)[name])
    assert apart.to_ssa().to_dict() == apart.to_dict()


def test_what_is_surely_written_needs_no_copy():
    net = Net()
    net.Tanh("x", "t")
    with net.Do():
        net.Sin("y", "t")
    assert [str(op) for op in net.to_ssa().ops] == [
        "t_0 = Tanh(x)",
        "do_0/scope = CreateScope()",
        "t, do_0/scope = Do(y, do_0/scope)",
    ]


def test_a_scope_is_one_blob_until_it_is_made_anew():
    net = Net()
    for blob in ("x", "y"):
        net.CreateScope([], "kept")
        for _ in range(2):
            with net.Do(scope="kept"):
                net.Tanh(blob, blob)
    apart = net.to_ssa()
    assert [op.outputs[-1] for op in apart.ops if op.type != "Copy"] == [*["kept_0"] * 3, *["kept"] * 3]
    ws = ran(apart)
    np.testing.assert_array_equal(ws["y_2"], np.tanh(np.tanh(FEEDS["y"])))
    assert [len(ws.fetch(scope)) for scope in ("kept_0", "kept")] == [2, 2]


def test_nets_on_the_blobs_around_them_are_renamed_with_these():
    net = Net()
    net.Tanh("x", "t")
    branch = [op("Mul", "t y", "t"), op("Sqr", "t", "t")]
    net.ops.append(if_("yes t y", "t", branch))
    net.Sin("t", "z")
    apart = net.to_ssa()
    assert list(map(str, apart.ops)) == ["t_0 = Tanh(x)", "t, t_1 = If(yes, t_0, y)", "z = Sin(t)"]
    assert nested(apart.ops[1], "then_net") == ["t_1 = Mul(t_0, y)", "t = Sqr(t_1)"]
    assert nested(apart.ops[1], "else_net") == ["t = Copy(t_0)"]
    np.testing.assert_array_equal(ran(apart)["z"], ran(net)["z"])


@pytest.mark.parametrize("condition", ["yes", "no"])
def test_what_is_fed_and_only_kept_stays_under_its_name(condition):
    net = Net()
    net.add("If", [condition, "x"], "y", then_net={"ops": [{"type": "Tanh", "inputs": ["x"], "outputs": ["y"]}]})
    net.Copy("y", "t")
    net.Sin("x", "y")
    apart = net.to_ssa()
    assert apart.ops[0].outputs == ["y"]
    np.testing.assert_array_equal(ran(apart)["t"], ran(net)["t"])


names = st.sampled_from(BLOBS)
calls = st.tuples(st.just("call"), st.sampled_from(["Tanh", "Sin", "Mul", "Sub"]), names, names, names)


def blocks(statements):
    body = st.lists(statements, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(st.just("if"), st.sampled_from(["yes", "no"]), body, st.none() | body),
        st.tuples(st.just("while"), st.integers(0, 3), body),
        st.tuples(st.just("do"), body),
    )


programs = st.lists(st.recursive(calls, blocks, max_leaves=6), min_size=1, max_size=4)


def build(net, program, depth=0):
    """Write `program` in blocks."""
    for kind, *parts in program:
        if kind == "call":
            type, first, second, output = parts
            net.add(type, [first, second] if type in ("Mul", "Sub") else first, output)
        elif kind == "if":
            condition, then, otherwise = parts
            with net.If(condition):
                build(net, then, depth + 1)
            if otherwise is not None:
                with net.Else():
                    build(net, otherwise, depth + 1)
        elif kind == "do":
            with net.Do():
                build(net, parts[0], depth + 1)
        else:
            left, (times, body) = f"left_{depth}", parts
            net.ConstantFill([], left, value=float(times), dtype="float64")
            with net.While("go") as loop:
                with loop.condition():
                    net.GT([left, "nothing"], "go")
                net.Sub([left, "one"], left)
                build(net, body, depth + 1)


def run(program, values):
    """Run `program` in Python."""
    for kind, *parts in program:
        if kind == "call":
            type, first, second, output = parts
            x, y = values[first], values[second]
            values[output] = {"Tanh": np.tanh(x), "Sin": np.sin(x), "Mul": x * y, "Sub": x - y}[type]
        elif kind == "if":
            condition, then, otherwise = parts
            run(then if condition == "yes" else otherwise or [], values)
        elif kind == "do":
            run(parts[0], values)
        else:
            for _ in range(parts[0]):
                run(parts[1], values)


def loss(program, **feeds):
    """The sum of all blobs after `program`."""
    values = {name: np.array({**FEEDS, **feeds}[name]) for name in BLOBS}
    run(program, values)
    return sum(values[name].sum() for name in BLOBS)


def slopes(program, name):
    """The gradient of the loss for blob `name`, exact to rounding: f'(x) = Im f(x + ih) / h for a tiny h."""
    step = 1e-30
    return [loss(program, **{name: FEEDS[name] + 1j * step * side}).imag / step for side in np.eye(2)]


@settings(max_examples=60, deadline=None)
@given(programs)
def test_random_nets_keep_their_values_and_have_their_true_gradients(program):
    net = Net()
    net.ConstantFill([], "nothing", value=0.0, dtype="float64")
    net.Sum(BLOBS, "there")
    build(net, program)
    net.Sum(BLOBS, "total")
    net.SumElements("total", "loss")
    expected = loss(program)
    assume(abs(expected) < 1e20)
    np.testing.assert_allclose(ran(net)["loss"], expected, 1e-12, 1e-12)
    apart = net.to_ssa()
    gradients = apart.add_gradient_operators(["loss"])
    ws = ran(apart)
    np.testing.assert_allclose(ws["loss"], expected, 1e-12, 1e-12)
    for name in BLOBS:
        gradient = ws[gradients[name]] if name in gradients else np.zeros(2)
        np.testing.assert_allclose(gradient, slopes(program, name), 1e-9, 1e-12, err_msg=name)
