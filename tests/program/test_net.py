"""Nets: building them, their JSON form both ways, and their text in SSA."""

import doctest
import json

import pytest

from gradviz import GradientSlice, GradvizError, Net, NetError, Operator, Workspace, debug
from gradviz.program.operator import Device


def small_net():
    net = Net("small")
    net.FC(["x", "w", "b"], "y", name="first layer", device="cpu")
    net.add("Scale", "y", "z", scale=2.0)
    return net


def test_building_returns_the_output_names():
    net = Net()
    assert net.Relu("x", "y") == "y"
    assert net.add("SoftmaxWithLoss", ["y", "label"], ["p", "loss"]) == ["p", "loss"]
    assert [op.type for op in net.ops] == ["Relu", "SoftmaxWithLoss"]


@pytest.mark.parametrize("op", [3, "Tanh", Net()])
def test_a_net_is_made_of_operators(op):
    with pytest.raises(NetError, match="is no operator") as caught:
        Net("n", [op])
    assert (caught.value.kind, caught.value.operator_index) == ("bad_net", 0)


def test_the_example_of_nets_runs():
    names = {"Net": Net}
    for example in doctest.DocTestParser().get_examples(Net.__doc__):
        exec(example.source, names)
    assert names["net"].ops[-1].outputs == ["w_grad", "b_grad", "x_grad"]


def test_operator_types_complete_like_methods():
    net = Net()
    assert {"FC", "Relu", "SoftmaxWithLoss", "add", "ops"} <= set(dir(net))
    assert "max" in net.Relu.__doc__


def test_the_text_form_is_ssa():
    net = Net("n")
    net.FC(["x", "w", "b"], "y")
    net.Relu("y", "y")
    net.Scale("y", "z", scale=2.0)
    assert str(net).splitlines()[1:] == [
        "   0  y@0 = FC(x@0, w@0, b@0)",
        "   1  y@1 = Relu(y@0)",
        "   2  z@0 = Scale(y@1, scale=2.0)",
    ]


def test_a_net_survives_json_both_ways(tmp_path):
    net = small_net()
    net.save(tmp_path / "net.json")
    again = Net.load(tmp_path / "net.json")
    assert again.ops == net.ops
    assert again.to_dict() == net.to_dict()
    assert Net.from_dict(net.to_dict()).to_dict() == net.to_dict()


def test_devices_of_one_type_and_number_are_the_same_whatever_is_noted_on_them():
    noted = Device("cuda", 1, "a node", ["a tag"])
    assert noted == Device("cuda", 1)
    assert {noted, Device("cuda", 1, "another")} == {Device("cuda", 1)}
    assert Device("cuda", 0) != noted != Device("cpu", 1)
    assert Device("cpu", 1) == Device()  # there is one


def test_gradient_operators_are_marked_in_json():
    net = Net()
    net.Tanh("x", "y")
    net.add_gradient_operators(["y"])
    forward, seed, gradient = net.to_dict()["ops"]
    assert "is_gradient" not in forward
    assert "is_gradient" not in seed
    assert gradient["is_gradient"] is True


def test_operators_take_one_name_or_several_and_devices_as_text():
    op = Operator("Tanh", "x", ("y",), device="cuda:1")
    assert (op.inputs, op.outputs, op.device) == (["x"], ["y"], Device("cuda", 1))
    assert GradientSlice("i", "v") == GradientSlice(indices="i", values="v")


BAD_NAMES = ["two words", 'quo"te', "it's", "<script>alert(1)</script>", "new\nline", "n" * 10_000, "", "a@1", "a`b", 3]


@pytest.mark.parametrize("name", BAD_NAMES, ids=lambda name: repr(name)[:12])
def test_a_bad_name_is_refused_with_the_operators_index(name):
    net = small_net()
    before = net.to_dict()
    with pytest.raises(NetError) as caught:
        net.add("Relu", ["z"], [name])
    error = caught.value
    assert error.kind == "bad_name"
    assert error.operator_index == 2
    assert error.ways_out
    assert len(str(error)) < 500
    assert "\n" not in error.message
    assert net.to_dict() == before


@pytest.mark.parametrize("name", [1, None, "half a character \ud83d"])
def test_a_name_that_no_file_holds_is_refused(name):
    with pytest.raises(NetError, match="cannot be the name of a net") as caught:
        Net(name)
    assert caught.value.kind == "bad_name"
    net = Net("net")
    with pytest.raises(NetError, match="cannot be the name of an operator") as caught:
        net.Tanh("x", "y", name=name)
    assert (caught.value.kind, net.ops) == ("bad_name", [])


def test_an_unknown_type_is_answered_with_the_nearest():
    net = small_net()
    with pytest.raises(NetError, match="Did you mean Sigmoid") as caught:
        net.add("Sigmiod", "z", "y2")
    assert caught.value.kind == "unknown_operator"
    assert caught.value.operator_index == 2
    with pytest.raises(AttributeError, match="Sigmoid"):
        net.Sigmiod("z", "y2")
    assert len(net.ops) == 2


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        ("bad_arity", lambda net: net.FC(["x", "w"], "y2")),
        ("bad_arity", lambda net: net.Relu(["x", "z"], "y2")),
        ("bad_arity", lambda net: net.SoftmaxWithLoss(["z", "label"], ["p", "p"])),
        ("bad_name", lambda net: net.add(3, "z", "y2")),
        ("bad_name", lambda net: net.add("Relu", None, "y2")),
        ("bad_skip", lambda net: net.add_gradient_operators(["z"], skip="1")),
        ("bad_argument", lambda net: net.Scale("z", "y2", scael=2)),
        ("bad_device", lambda net: net.Relu("z", "y2", device="tpu")),
    ],
)
def test_what_does_not_fit_a_type_is_refused_and_the_net_stays(kind, call):
    net = small_net()
    before = net.to_dict()
    with pytest.raises(GradvizError) as caught:
        call(net)
    assert caught.value.kind == kind
    assert caught.value.ways_out
    assert net.to_dict() == before


GOOD = {"type": "Relu", "inputs": ["x"], "outputs": ["y"]}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"name": "n", "ops": [GOOD], "surprise": 1}, "surprise"),
        ({"name": "n", "ops": [GOOD, {**GOOD, "input": ["x"]}]}, "input"),
        ({"name": "n", "ops": [{"type": "Relu", "inputs": ["x"]}]}, "outputs"),
        ({"name": "n", "ops": [{**GOOD, "inputs": "x"}]}, "array"),
        ({"name": "n", "ops": "Relu"}, "array"),
        ({"name": "n", "ops": "\ud83d"}, "surrogates not allowed"),
        ({"name": "n", "ops": [], "\ud83d": 1}, "surrogates not allowed"),
        ({"name": "n"}, "ops"),
        ({"name": "n", "version": 2, "ops": []}, "version 2"),
        ([GOOD], "object"),
        (None, "object"),
    ],
)
def test_a_malformed_net_is_refused_in_words(data, says):
    with pytest.raises(NetError, match=says) as caught:
        Net.from_dict(data)
    assert caught.value.kind == "bad_file"
    assert caught.value.ways_out


def test_a_malformed_operator_is_named_by_its_index():
    with pytest.raises(NetError) as caught:
        Net.from_dict({"ops": [GOOD, GOOD, {**GOOD, "colour": "red"}]})
    assert caught.value.operator_index == 2


@pytest.mark.parametrize("cut", [1, 20, -2])
def test_a_truncated_file_is_refused(cut):
    with pytest.raises(NetError, match="JSON"):
        Net.from_json(small_net().to_json()[:cut])


def test_a_text_in_another_encoding_is_refused():
    with pytest.raises(NetError, match="can't decode byte 0xe9") as caught:
        Net.from_json('{"name": "é", "ops": []}'.encode("latin-1"))
    assert caught.value.kind == "bad_file"


def test_an_operator_without_its_outputs_is_named():
    with pytest.raises(TypeError, match=r"^Net\.Mul\(\) missing 1 required positional argument: 'outputs'"):
        Net().Mul(["x", "w"])


def test_a_recording_is_no_net_of_another_version(tmp_path):
    debug(small_net(), ["y"]).save(tmp_path / "made.gradviz.json")
    with pytest.raises(NetError, match="no net: its format is 'gradviz-trace'") as caught:
        Net.load(tmp_path / "made.gradviz.json")
    assert "session.net.save" in caught.value.ways_out[0]


def test_a_hostile_name_in_a_file_is_refused():
    data = {"ops": [{"type": "Relu", "inputs": ["<img src=x onerror=alert(1)>"], "outputs": ["y"]}]}
    with pytest.raises(NetError, match="cannot be a name"):
        Net.from_json(json.dumps(data))


def test_deep_nesting_is_refused_not_crashed():
    with pytest.raises(NetError):
        Net.from_json("[" * 100_000)


def test_what_there_is_one_of_is_counted_as_one():
    net, ws = Net("n"), Workspace()
    net.Tanh("x", "y")
    ws.feed("x", 1.0)
    assert repr(net) == "<Net 'n', 1 operator>"
    assert repr(ws).startswith("<Workspace on cpu, 1 blob>")
