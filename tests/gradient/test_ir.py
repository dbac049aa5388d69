"""The IR: what it generates, what it keeps, and what it refuses."""

import numpy as np
import pytest

from gradviz import IR, GradientError, Net, Operator, Workspace, register_gradient, register_kernel
from gradviz.program import Device
from gradviz.program.events import Accumulated, Completed, Played, RuleApplied, Seeded, Skipped, Visited


def skip_connection():
    net = Net("skip")
    net.Tanh("x", "a")
    net.Sigmoid("a", "u")
    net.Sum(["u", "a"], "y")
    return net


def text(operators):
    return [str(op) for op in operators]


def test_a_chain_is_walked_backwards():
    net = Net()
    net.Tanh("x", "h")
    net.Sigmoid("h", "y")
    gradients = net.add_gradient_operators(["y"])
    assert text(net.ops[2:]) == [
        "y_autogen_grad = ConstantFill(y)",
        "h_grad = SigmoidGradient(y, y_autogen_grad)",
        "x_grad = TanhGradient(h, h_grad)",
    ]
    assert gradients == {"y": "y_autogen_grad", "h": "h_grad", "x": "x_grad"}


def test_gradients_meet_at_the_first_reader():
    net = skip_connection()
    net.add_gradient_operators(["y"])
    assert text(net.ops[4:]) == [
        "a_grad = SigmoidGradient(u, y_autogen_grad)",
        "a_grad = Sum(a_grad, y_autogen_grad)",
        "x_grad = TanhGradient(a, a_grad)",
    ]


def test_events_tell_the_story_in_order():
    events = list(IR(skip_connection().ops).backward_events(["y"]))
    assert [type(event) for event in events if type(event) in (Played, Seeded, Visited, Accumulated, Completed)] == [
        *[Played] * 3,
        Seeded,
        *[Visited] * 2,
        Accumulated,
        Visited,
        Completed,
    ]
    (accumulated,) = [event for event in events if isinstance(event, Accumulated)]
    assert (accumulated.blob, accumulated.version, accumulated.index) == ("a", 0, 1)
    assert [c.how for c in accumulated.contributions] == ["passed", "generated"]
    (rule, *_) = [event.rule for event in events if isinstance(event, RuleApplied)]
    assert rule.startswith("gradviz/operators/arithmetic.py:")


def test_the_state_has_the_parts_of_the_original():
    ir = IR(skip_connection().ops)
    assert ir.input_usages["a"] == [[1, 2]]
    assert ir.frontier == {"x": 0, "a": 0, "u": 0, "y": 0}
    ir.get_backward_pass(["y"])
    assert ir.input_usages["y"] == [[3]]
    assert ir.gradient_frontier == {"y": 0, "u": 0, "a": 0, "x": 0}
    assert [g.gradient for g in ir.gradient_generators["a"][0]] == ["y_autogen_grad", "a_grad"]
    assert [version for _, version in ir.in_version_history["a"]] == [0, 0]
    assert [version for _, version in ir.out_version_history["a"]] == [0]
    assert [ssa.out_versions for ssa in ir.ssa] == [(0,), (0,), (0,)]


def test_what_no_gradient_reaches_is_skipped():
    net = skip_connection()
    net.Exp("x", "unused")
    events = list(IR(net.ops).backward_events(["y"]))
    assert [(e.index, e.reason) for e in events if isinstance(e, Skipped)] == [(3, "no output of it has a gradient")]


def test_versions_keep_gradients_of_one_name_apart():
    net = Net()
    net.Tanh("x", "t")
    net.Tanh("t", "t")
    net.Tanh("t", "t")
    with pytest.raises(GradientError) as caught:
        net.add_gradient_operators(["t"])
    error = caught.value
    assert (error.kind, error.operator_index, error.blobs) == ("version_overwritten", 1, ("t",))
    assert "t@1" in error.message
    assert "operator #2" in error.message
    assert len(error.ways_out) == 3
    assert len(net.ops) == 3


def test_a_net_in_ssa_is_differentiable_where_versions_were_overwritten():
    net = Net()
    net.Tanh("x", "t")
    net.Mul(["t", "t"], "t")
    net.Tanh("t", "x")
    with pytest.raises(GradientError, match="to_ssa"):
        net.add_gradient_operators(["x"])
    apart = net.to_ssa()
    assert text(apart.ops) == ["t_0 = Tanh(x)", "t = Mul(t_0, t_0)", "x_1 = Tanh(t)"]
    ws = Workspace()
    ws.feed("x", np.array([0.3, -0.7]))
    gradients = apart.add_gradient_operators(["x_1"])
    ws.run(apart)
    t = np.tanh(ws["x"])
    np.testing.assert_allclose(ws[gradients["x"]], (1 - np.tanh(t * t) ** 2) * 2 * t * (1 - t * t))


@pytest.mark.parametrize("other", ["w", "t"])
def test_in_place_mul_is_refused_because_it_overwrites_what_its_rule_reads(other):
    net = Net()
    net.Mul(["t", other], "t")
    with pytest.raises(GradientError, match="in place") as caught:
        net.add_gradient_operators(["t"])
    assert caught.value.kind == "version_overwritten"


def test_in_place_relu_needs_only_its_output():
    net = Net()
    net.Relu("t", "t")
    assert net.add_gradient_operators(["t"])["t"] == "t_grad"


def test_dict_ys_take_given_gradients_and_none():
    net = skip_connection()
    gradients = net.add_gradient_operators({"y": "given", "u": None})
    assert gradients["y"] == "given"
    assert text(net.ops[3:5]) == ["u_autogen_grad = ConstantFill(u)", "u_autogen_grad = Sum(u_autogen_grad, given)"]


def test_skip_leaves_the_first_operators_out():
    net = Net()
    net.Tanh("x", "data")
    net.Sigmoid("data", "y")
    gradients = net.add_gradient_operators(["y"], skip=1)
    assert set(gradients) == {"y", "data"}


def test_generated_names_never_take_the_users():
    net = Net()
    net.Tanh("x", "x_grad")
    net.Sigmoid("x_grad", "y")
    net.Copy("y", "y_autogen_grad")
    gradients = net.add_gradient_operators(["y"])
    forward = {name for op in net.ops[:3] for name in (*op.inputs, *op.outputs)}
    assert forward.isdisjoint(name for op in net.ops[3:] for name in op.outputs)
    assert gradients["x"] == "x_grad_1"


def test_a_given_gradient_of_a_blob_elsewhere_passes_straight_through_with_a_warning():
    net = skip_connection()
    with pytest.warns(UserWarning, match="no blob elsewhere"):
        gradients = net.add_gradient_operators({"y": None, "elsewhere": "given"})
    assert gradients["elsewhere"] == "given"
    assert gradients["x"] == "x_grad"


def test_an_orphan_stop_gradient_is_refused():
    net = skip_connection()
    net.StopGradient("y", "stopped")
    with pytest.raises(GradientError) as caught:
        net.add_gradient_operators(["y"])
    assert (caught.value.kind, caught.value.operator_index) == ("orphan_stop_gradient", 3)


def test_an_operator_in_place_keeps_the_gradient_of_one_slot_where_another_has_none():
    net = Net()
    net.CopyOnDeviceLike(["x", "x"], "x")
    assert net.add_gradient_operators(["x"]) == {"x": "x_grad"}


def test_stop_gradient_in_place_cuts_the_flow():
    net = Net()
    net.Tanh("x", "t")
    net.StopGradient("t", "t")
    net.Sigmoid("t", "y")
    assert net.add_gradient_operators(["y"]) == {"y": "y_autogen_grad"}


def test_an_operator_that_writes_one_name_twice_is_refused():
    net = Net.from_dict({"ops": [{"type": "Split", "inputs": ["x"], "outputs": ["y", "y"]}]})
    with pytest.raises(GradientError) as caught:
        net.add_gradient_operators(["y"])
    assert (caught.value.kind, caught.value.blobs) == ("bad_net", ("y",))


def test_steps_of_one_rule_are_one_gradient(own_types):
    @register_gradient("Cubed")
    def rule(op, g_output):
        x, dx = op.inputs[0], f"{op.inputs[0]}_grad"
        return [
            Operator("Mul", [x, x], [dx]),
            Operator("Mul", [dx, g_output[0]], [dx]),
            Operator("Scale", [dx], [dx], {"scale": 3.0}),
        ], [dx]

    net = Net()
    net.Tanh("w", "x")
    net.add("Cubed", "x", "p")
    net.add("Cubed", "x", "q")
    net.Add(["p", "q"], "y")
    net.add_gradient_operators(["y"])
    assert text(net.ops[6:-1]) == [
        "x_grad = Mul(x, x)",
        "x_grad = Mul(x_grad, q_grad)",
        "x_grad = Scale(x_grad)",
        "_x_grad_autosplit_0 = Mul(x, x)",
        "_x_grad_autosplit_0 = Mul(_x_grad_autosplit_0, p_grad)",
        "_x_grad_autosplit_0 = Scale(_x_grad_autosplit_0)",
        "x_grad = Sum(x_grad, _x_grad_autosplit_0)",
    ]


def test_a_rule_may_read_an_output_gradient_after_it_wrote_over_its_name(own_types):
    @register_gradient("Swap")
    def rule(op, g_output):
        t, w = op.inputs
        return [
            Operator("Scale", [g_output[0]], [f"{t}_grad"], {"scale": 2.0}),
            Operator("Scale", [g_output[0]], [f"{w}_grad"], {"scale": 3.0}),
        ], [f"{t}_grad", f"{w}_grad"]

    net = Net()
    net.add("Swap", ["t", "w"], "t")
    net.Tanh("t", "y")
    gradients = net.add_gradient_operators(["y"])
    assert text(net.ops[4:]) == ["t_grad_1 = Scale(t_grad)", "w_grad = Scale(t_grad)"]
    assert gradients["t"] == "t_grad_1"


def test_gradients_on_different_devices_are_not_added():
    net = Net()
    net.Tanh("x", "a", device="cuda:0")
    net.Sigmoid("x", "b", device="cuda:1")
    with pytest.raises(GradientError) as caught:
        net.add_gradient_operators(["a", "b"])
    assert (caught.value.kind, caught.value.operator_index) == ("device_conflict", 0)


@pytest.mark.parametrize("type", ["cpu", "cuda"])
def test_what_is_noted_on_a_device_keeps_no_gradients_apart(type):
    net = Net()
    net.Tanh("x", "a", device=Device(type, 0, "worker 1", ["tagged"]))
    net.Sigmoid("x", "b", device=Device(type, 0, "worker 2"))
    net.add_gradient_operators(["a", "b"])
    assert net.ops[-1].type == "Sum"
    assert net.ops[-1].device == Device(type)


def test_a_blob_fanned_out_many_times_is_summed_once():
    net = Net()
    for index in range(500):
        net.Tanh("x", f"y{index}")
    net.Sum([f"y{index}" for index in range(500)], "z")
    net.add_gradient_operators(["z"])
    (total,) = [op for op in net.ops[501:] if op.type == "Sum"]
    assert len(set(total.inputs)) == 500
    assert total.outputs == ["x_grad"]


def test_every_error_explains_itself():
    net = Net()
    net.Mul(["t", "w"], "t")
    with pytest.raises(GradientError) as caught:
        net.add_gradient_operators(["t"])
    story = caught.value.explain()
    assert "Kind: version_overwritten" in story
    assert "Operator: #0" in story
    assert "Ways out:" in story


def test_a_copy_to_another_device_sends_its_gradient_back_to_where_the_blob_lies():
    net = Net()
    net.Tanh("x", "t", device="cpu")
    net.Copy("x", "far", device="cuda:0")
    net.Copy("far", "near", device="cpu")
    net.Add(["t", "near"], "y")
    gradients = net.add_gradient_operators(["y"])
    (total,) = [op for op in net.ops if op.type == "Sum"]
    assert total.outputs == [gradients["x"]]
    assert str(total.device) == "cpu"


def test_one_made_gradient_may_be_that_of_two_inputs(own_types):
    register_kernel("Plus")(lambda op, a, b: a + b)
    register_gradient("Plus")(lambda op, g: (Operator("Copy", [g[0]], ["both_grad"]), ["both_grad", "both_grad"]))
    net, ws = Net(), Workspace()
    net.Sqr("b", "q")
    net.add("Plus", ["a", "b"], "p")
    net.Sum(["p", "q"], "y")
    gradients = net.add_gradient_operators(["y"])
    ws.feed("a", np.array([1.0]))
    ws.feed("b", np.array([3.0]))
    ws.run(net)
    assert [ws.fetch(gradients[name]).item() for name in "ab"] == [1.0, 7.0]


def test_a_rule_reads_the_blob_it_means_where_the_user_named_one_like_a_gradient(own_types):
    register_kernel("Twice")(lambda op, y, y_grad: y * y_grad)

    @register_gradient("Twice")
    def twice_rule(op, g_output):
        y, other = op.inputs
        made = [
            Operator("Mul", [g_output[0], other], [f"{y}_grad"]),
            Operator("Mul", [other, other], ["squared"]),
            Operator("Mul", [g_output[0], y], [f"{other}_grad"]),
        ]
        return made, [f"{y}_grad", f"{other}_grad"]

    net, ws = Net(), Workspace()
    net.add("Twice", ["y", "y_grad"], "z")
    gradients = net.add_gradient_operators(["z"])
    ws.feed("y", np.array([2.0]))
    ws.feed("y_grad", np.array([5.0]))
    ws.run(net)
    assert ws.fetch("squared").item() == 25.0
    assert [ws.fetch(gradients[name]).item() for name in ("y", "y_grad")] == [5.0, 2.0]


def test_a_blob_read_in_two_slots_has_a_gradient_where_one_of_them_has():
    net = Net()
    net.MatMul(["a", "b", "a"], "y")
    assert net.add_gradient_operators(["y"]) == {"y": "y_autogen_grad", "a": "a_grad", "b": "b_grad"}


def test_a_given_gradient_called_like_an_overwritten_input_is_not_taken_for_it():
    net = Net()
    net.Mul(["x", "w"], "y")
    net.Tanh("v", "w")
    with pytest.raises(GradientError, match="needs w@0"):
        net.add_gradient_operators({"y": "w"})


def test_a_gradient_given_behind_skipped_operators_is_added():
    net = Net()
    net.StopGradient("t", "t")
    net.Tanh("t", "y")
    net.add_gradient_operators({"t": "g", "y": None}, skip=1)
    assert "g" in net.ops[-1].inputs
    assert net.ops[-1].type == "Sum"
