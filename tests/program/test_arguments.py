"""Arguments of operators: what a type does not take is refused wherever a net is written, read, run or generated."""

import json

import numpy as np
import pytest

import gradviz
from gradviz import IR, GradientError, GradvizError, Net, NetError, Operator, RunError, Variable, Workspace
from gradviz import functions as F
from gradviz.operators import registry
from gradviz.operators.arguments import HINTS
from gradviz.program import NetDef

X = np.arange(6.0).reshape(2, 3)
WRONG = Operator("Softmax", ["x"], ["y"], {"axes": 0})
IN_AN_IF = Operator("If", ["c", "x"], ["y"], {"then_net": NetDef("then", [WRONG]), "else_net": NetDef("else", [WRONG])})


def fed():
    ws = Workspace()
    ws.feed("x", X)
    ws.feed("c", True)
    return ws


def described(op):
    return NetDef("described", [op]).to_dict()


def loaded(op, folder):
    (folder / "net.json").write_text(json.dumps(described(op)))
    return Net.load(folder / "net.json")


WAYS_IN = {
    "a net of operators": (NetError, lambda op, folder: Net("n", [op])),
    "from_dict": (NetError, lambda op, folder: Net.from_dict(described(op))),
    "from_json": (NetError, lambda op, folder: Net.from_json(json.dumps(described(op)))),
    "load": (NetError, loaded),
    "add": (NetError, lambda op, folder: Net().add(op.type, op.inputs, op.outputs, **op.args)),
    "generating": (GradientError, lambda op, folder: IR([op]).get_backward_pass(["y"])),
    "running": (RunError, lambda op, folder: fed().run(NetDef("n", [op]))),
    "running an operator": (RunError, lambda op, folder: fed().run_operator(op)),
}


@pytest.mark.parametrize("op", [WRONG, IN_AN_IF], ids=["in the net", "in a nested net"])
@pytest.mark.parametrize("way_in", WAYS_IN)
def test_an_argument_that_its_type_does_not_take_is_refused(way_in, op, tmp_path):
    expected, enter = WAYS_IN[way_in]
    with pytest.raises(expected) as caught:
        enter(op, tmp_path)
    error = caught.value
    assert (error.kind, error.operator_index, error.blobs) == ("bad_argument", 0, ("y",))
    assert "Softmax takes no argument 'axes'" in error.message
    assert error.ways_out == ("Did you mean axis?", "It takes axis.")


def test_nothing_runs_and_the_workspace_is_as_it_was_where_an_argument_is_refused():
    ws = fed()
    with pytest.raises(RunError, match=r"operator #1"):
        ws.run(NetDef("n", [Operator("Tanh", ["x"], ["t"]), WRONG]))
    assert sorted(ws) == ["c", "x"]


def test_a_type_of_ones_own_takes_any_argument(monkeypatch):
    monkeypatch.setattr(registry, "_TABLE", dict(registry._TABLE))
    gradviz.register_kernel("Power")(lambda op, x: x ** op.args["to_the"])
    net = Net.from_dict(described(Operator("Power", ["x"], ["y"], {"to_the": 2, "note": "squares"})))
    ws = fed()
    ws.run(net)
    np.testing.assert_array_equal(ws["y"], X**2)


@pytest.mark.parametrize("hint", sorted(HINTS))
def test_what_tells_caffe2_how_to_compute_is_taken_by_every_type(hint):
    net = Net.from_dict(described(Operator("Relu", ["x"], ["y"], {hint: "NCHW" if hint == "order" else 1})))
    gradients = net.add_gradient_operators(["y"])
    ws = fed()
    ws.run(net)
    np.testing.assert_array_equal(ws[gradients["x"]], X > 0)


def split():
    """A Split, whose gradient is a Concat that carries `split` along."""
    net = Net()
    net.Split("x", ["a", "b"], axis=1, split=[1, 2])
    net.Mul(["a", "a"], "y")
    return net


def test_gradient_operators_carry_the_arguments_of_their_forward_operators():
    net = split()
    gradients = net.add_gradient_operators(["y", "b"])
    net = Net.from_json(net.to_json())
    carried = next(op for op in net.ops if op.type == "Concat")
    assert carried.is_gradient
    assert carried.args == {"axis": 1, "split": [1, 2]}
    ws = fed()
    ws.run(net)
    np.testing.assert_array_equal(ws[gradients["x"]], np.hstack([2 * X[:, :1], np.ones((2, 2))]))


@pytest.mark.parametrize("schedule", ["rank", "tape"])
def test_gradients_of_gradients_do_not_carry_them(schedule):
    x = Variable(X)
    a, b = F.split_axis(x, [1], axis=1)
    F.sum(F.mul(F.concat([a * a, b * b * b], axis=1), X)).backward(create_graph=True, schedule=schedule)
    slope = x.grad
    x.cleargrad()
    slope.sum().backward(schedule=schedule)
    np.testing.assert_allclose(x.grad, np.hstack([2 * X[:, :1], 6 * X[:, 1:] ** 2]))


def reduced(**args):
    net = Net("n")
    net.add("ReduceSum", ["x"], "y", **args)
    return net


@pytest.mark.parametrize(
    "args", [{"axes": [np.int64(1)]}, {"axes": (1,), "keepdims": np.int32(0)}, {"keepdims": np.True_}]
)
def test_numbers_of_numpy_among_arguments_are_those_of_python(args, tmp_path):
    net, ws = reduced(**args), fed()
    assert all(type(value) in (int, bool, list, tuple) for value in net.ops[0].args.values())
    net.save(tmp_path / "net.json")
    ws.run(net)
    expected = ws["y"]
    ws.run(Net.load(tmp_path / "net.json"))
    np.testing.assert_array_equal(ws["y"], expected)
    gradviz.debug(net, ["y"], workspace=fed()).save(tmp_path / "n.gradviz.json")
    assert gradviz.load(tmp_path / "n.gradviz.json").run_to("x_grad").g_input == ["x_grad"]


class Thing:
    def __repr__(self):
        return "a thing"


@pytest.mark.parametrize(
    ("argument", "told"), [(np.ones(2), "[1.0, 1.0]"), (Thing(), "a thing"), ([Thing()], "a thing")]
)
def test_a_recording_shows_arguments_that_are_no_data(argument, told, tmp_path):
    gradviz.register_kernel("OfAThing")(lambda op, x: 2 * x)
    gradviz.register_gradient("OfAThing")(lambda op, g: (Operator("OfAThing", [g[0]], ["x_grad"], op.args), ["x_grad"]))
    net = Net("n", [Operator("Tanh", ["x"], ["x"]), Operator("OfAThing", ["x"], ["y"], {"thing": argument})])
    session = gradviz.debug(net, ["y"], workspace=fed())
    session.save(tmp_path / "n.gradviz.json")
    assert told in str(gradviz.load(tmp_path / "n.gradviz.json").trace().forward[1].args["thing"])
    if told == "a thing":
        with pytest.raises(NetError, match=r"^Operator #1 y = OfAThing\(x\): The argument 'a thing'") as caught:
            net.save(tmp_path / "net.json")
        assert (caught.value.kind, caught.value.operator_index) == ("bad_argument", 1)
        assert not (tmp_path / "net.json").exists()
    else:
        assert net.to_dict()["ops"][1]["args"] == {"thing": [1.0, 1.0]}


class Unshowable:
    def __repr__(self):
        raise ValueError("nothing to show")


def test_what_cannot_be_shown_as_text_is_told_by_its_class_and_hides_nothing():
    shown = "<Unshowable whose __repr__ raised ValueError>"
    gradviz.register_kernel("OfAThing")(lambda op, x: 2 * x)
    gradviz.register_gradient("OfAThing")(lambda op, g: (Operator("OfAThing", [g[0]], ["x_grad"], op.args), ["x_grad"]))
    session = gradviz.debug(Net("n", [Operator("OfAThing", ["x"], ["y"], {"thing": Unshowable()})]), ["y"])
    assert shown in str(session.trace().forward[0].args["thing"])
    for ask in (
        lambda: fed().run(Net("n", [Operator("Scale", ["x"], ["y"], {"scale": Unshowable()})])),
        lambda: gradviz.debug(Unshowable()),
        lambda: session.paths(Unshowable()),
        lambda: F.sum(Variable(X), axis=Unshowable()),
    ):
        with pytest.raises(GradvizError) as caught:
            ask()
        assert shown in caught.value.message
