"""``with gradviz.device(...)``: what is made in it lies and runs there."""

import sys
from typing import Any

import numpy as np
import pytest

import gradviz
from gradviz import Device, Net, NetError, RunError, Variable, Workspace
from gradviz.functions import tanh

GPU = Device("cuda", 0)


def test_operators_run_there_unless_they_say_otherwise() -> None:
    net = Net("n")
    with gradviz.device("cuda:1") as where:
        net.Tanh("x", "a")
        net.Tanh("a", "b", device="cpu")
        with gradviz.device("cpu"):
            net.Tanh("b", "c")
        with net.If("positive"):
            net.Tanh("c", "d")
    net.Tanh("c", "e")
    assert str(where) == "cuda:1"
    assert [op.device and str(op.device) for op in net.ops] == ["cuda:1", "cpu", "cpu", None, None, None]
    inner = net.ops[-2].args["then_net"].ops[0].args["net"].ops[0]
    assert (inner.type, str(inner.device)) == ("Tanh", "cuda:1")


def test_workspaces_and_variables_lie_there(cupy: Any) -> None:
    on_host = Variable([1.0, 2.0])
    with gradviz.device("cuda:0"):
        ws, x = Workspace(), Variable([1.0, 2.0])
        same, other = Variable(on_host), Workspace("cpu")
        (on_host * 2 + [1.0, 0.0]).sum().backward()
    assert (ws.device, x.device, same.device, other.device) == (GPU, GPU, Device(), Device())
    np.testing.assert_array_equal(on_host.grad, [2, 2])
    y = tanh(x).sum()
    y.backward()
    assert isinstance(x.grad, cupy.ndarray)
    assert Workspace().device == Device()


def test_a_stack_of_workspaces_is_read_there_too(cupy: Any) -> None:
    net, ws = Net("stack"), Workspace()
    net.add("CreateScope", [], "scope")
    net.add("HasScope", "scope", "more", device="cuda:0")
    ws.run(net)
    assert isinstance(ws.fetch("more", None), cupy.ndarray)
    assert not ws["more"]


@pytest.mark.parametrize("schedule", ["rank", "tape"])
def test_gradients_of_gradients_stay_where_their_variables_lie(cupy: Any, schedule: str) -> None:
    x = Variable([0.3, 0.4])
    with gradviz.device("cuda:0"):
        y = (x * x * x).sum()
        y.backward(create_graph=True, schedule=schedule)
    assert x.grad.device == Device()
    np.testing.assert_allclose(x.grad.data, [0.27, 0.48])


def test_a_net_can_be_built_for_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    net = Net("n")
    with gradviz.device("cuda:0"):
        net.Tanh("x", "y")
        assert net.add_gradient_operators(["y"]) == {"y": "y_autogen_grad", "x": "x_grad"}
        for made in (Workspace, lambda: Variable([1.0])):
            with pytest.raises(RunError) as caught:
                made()
            assert caught.value.kind == "bad_device"
    assert [str(op.device) for op in net.ops if op.type != "ConstantFill"] == ["cuda:0"] * 2


def test_what_is_no_device_is_refused() -> None:
    with pytest.raises(NetError, match="'gpu' is not a device"), gradviz.device("gpu"):
        pass
