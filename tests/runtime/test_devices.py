"""Devices: what is there, where operators run, and that values move where an operator needs them."""

import inspect
import sys
from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import astuple

from gradviz import Net, NetError, Operator, RunError, Workspace, immediate, register_kernel
from gradviz.program import Device
from gradviz.runtime.devices import CPU, available, device_of, place
from tests.cupy_stand_in import ELEMENTWISE, FUNCTIONS, METHODS, SCATTERED, stand_in

GPU, SECOND = Device("cuda", 0), Device("cuda", 1)


@pytest.fixture
def two_gpus(cupy):
    """CuPy on a machine with two GPUs at least."""
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("there is one GPU only")
    return cupy


def lies(ws, name):
    return str(device_of(ws.fetch(name, device=None)))


def layer(device=None):
    net = Net("layer")
    net.FC(["x", "w", "b"], "h", device=device)
    net.Tanh("h", "y")
    return net


def fed(device="cpu"):
    random = np.random.default_rng(0)
    ws = Workspace(device)
    for name, shape in {"x": (2, 3), "w": (4, 3), "b": (4,)}.items():
        ws.feed(name, random.normal(size=shape))
    return ws


# What is there


MISSING = {
    "no CuPy": (None, "cuda:0", "CuPy, which cuda:0 needs, cannot be imported", "pip install gradviz[cuda12]"),
    "no GPU": (stand_in(gpus=0), "cuda:0", "finds no GPU", "nvidia-smi"),
    "one GPU": (stand_in(gpus=1), "cuda:1", "no cuda:1: CuPy finds one GPU, cuda:0", "Use one that is there"),
    "two GPUs": (stand_in(gpus=2), "cuda:2", "no cuda:2: CuPy finds 2 GPUs, cuda:0 to cuda:1", "Use one that is there"),
}


@pytest.mark.parametrize("found", MISSING)
def test_a_gpu_that_is_not_there_is_refused_with_what_is_missing(monkeypatch, found):
    module, device, says, way_out = MISSING[found]
    monkeypatch.setitem(sys.modules, "cupy", module)
    ws = fed()
    net = layer()
    net.Relu("y", "z", device=device)
    for asked, index in ((lambda: Workspace(device), None), (lambda: ws.run(net), 2)):
        with pytest.raises(RunError) as caught:
            asked()
        assert (caught.value.kind, caught.value.operator_index) == ("bad_device", index)
        assert says in caught.value.message
        assert way_out in caught.value.ways_out[0]
        assert caught.value.ways_out[-1] == 'Use "cpu".'
    assert "h" not in ws


def test_without_cupy_everything_runs_on_the_cpu(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    ws, net = fed(), layer(device="cpu")
    net.add_gradient_operators(["y"])
    ws.run(net)
    assert {lies(ws, name) for name in ws} == {"cpu"}


def test_what_is_no_device_is_refused():
    with pytest.raises(NetError) as caught:
        Workspace(device="gpu")
    assert caught.value.kind == "bad_device"


def test_a_device_counts_without_what_it_carries_unread(cupy):
    noted = Device("cuda", 0, "a node", ["a tag"])
    assert astuple(available(noted)) == astuple(GPU)
    assert astuple(available(Device("cpu", 3))) == astuple(CPU)
    assert astuple(Workspace(device=noted).device) == astuple(GPU)


# Where operators run


@pytest.mark.parametrize(
    ("device", "lying", "default", "runs"),
    [
        (None, [GPU, GPU], CPU, GPU),
        (None, [CPU], GPU, CPU),
        (None, [], GPU, GPU),
        (None, [CPU, GPU], CPU, CPU),
        (None, [CPU, GPU], GPU, GPU),
        (None, [GPU, SECOND], CPU, CPU),
        (GPU, [CPU, CPU], CPU, GPU),
        (CPU, [GPU], GPU, CPU),
        (SECOND, [], CPU, SECOND),
    ],
)
def test_an_operator_runs_where_it_says_or_where_its_inputs_lie(monkeypatch, device, lying, default, runs):
    monkeypatch.setitem(sys.modules, "cupy", stand_in(gpus=2))
    op = Operator("Sum", [f"x{i}" for i in range(len(lying))], ["y"], device=device)
    assert place(op, lying, default) == runs


def test_copy_on_device_like_runs_where_its_second_input_lies():
    for device in (None, GPU, CPU):
        op = Operator("CopyOnDeviceLike", ["x", "like"], ["y"], device=device)
        assert place(op, [GPU, CPU], GPU) == CPU
        assert place(op, [CPU, GPU], CPU) == GPU


def test_a_workspace_on_a_gpu_has_everything_there(cupy):
    ws, on_cpu, net = fed("cuda:0"), fed(), layer()
    net.ConstantFill([], "two", shape=[2, 4], value=2.0, dtype="float64")
    net.Mul(["y", "two"], "z")
    net.ReduceSum("z", "total", keepdims=0)
    gradients = net.add_gradient_operators(["total"])
    ws.run(net)
    on_cpu.run(net)
    assert {lies(ws, name) for name in ws} == {"cuda:0"}
    assert ws.fetch("total", device=None).shape == ()
    for name in ("total", *gradients.values()):
        np.testing.assert_allclose(ws[name], on_cpu[name], rtol=1e-9)
    assert repr(ws).startswith("<Workspace on cuda:0")


def test_an_operator_on_a_gpu_gets_what_it_reads_and_leaves_it_where_it_was(cupy):
    ws, on_cpu, net = fed(), fed(), layer(device="cuda:0")
    gradients = net.add_gradient_operators(["y"])
    ws.run(net)
    on_cpu.run(Net("plain", [Operator(op.type, op.inputs, op.outputs, op.args) for op in net.ops]))
    assert [lies(ws, name) for name in ("x", "w", "h", "y")] == ["cpu", "cpu", "cuda:0", "cuda:0"]
    assert "\n  h: (2, 4) float64 on cuda:0" in repr(ws)
    for name in ("y", *gradients.values()):
        np.testing.assert_allclose(ws[name], on_cpu[name], rtol=1e-9)


def test_a_seed_lies_where_its_y_does(cupy):
    for device, where in (("cuda:0", "cuda:0"), (None, "cpu")):
        ws, net = fed(), layer()
        net.Sqr("y", "loss", device=device)
        net.add_gradient_operators(["loss"])
        ws.run(net)
        assert lies(ws, "loss_autogen_grad") == where


def test_an_operator_on_the_cpu_in_a_workspace_on_a_gpu(cupy):
    ws, net = fed("cuda:0"), layer()
    net.Sqr("y", "s", device="cpu")
    net.Sum(["s", "y"], "t")
    ws.run(net)
    assert [lies(ws, name) for name in ("y", "s", "t")] == ["cuda:0", "cpu", "cuda:0"]
    np.testing.assert_allclose(ws["t"], ws["y"] ** 2 + ws["y"], rtol=1e-9)
    with pytest.raises(ValueError, match="read-only"):
        ws["s"][0] = 0


def test_copies_move_values_and_their_gradients_come_back(cupy):
    ws, net = fed(), Net()
    net.Copy("x", "there", device="cuda:0")
    net.Sqr("there", "s")
    net.Copy("s", "here", device="cpu")
    gradients = net.add_gradient_operators({"here": "given"})
    ws.feed("given", np.ones((2, 3)))
    ws.run(net)
    assert [lies(ws, name) for name in ("there", "s", "here")] == ["cuda:0", "cuda:0", "cpu"]
    assert [lies(ws, gradients[name]) for name in ("s", "there", "x")] == ["cuda:0", "cuda:0", "cpu"]
    np.testing.assert_allclose(ws[gradients["x"]], 2 * ws["x"])


def test_values_move_from_one_gpu_to_another(two_gpus):
    ws, net = fed("cuda:0"), layer(device="cuda:1")
    net.Sum(["h", "y"], "t")
    net.Mul(["h", "given"], "u")
    ws.feed("given", np.ones(4))
    ws.run(net)
    assert [lies(ws, name) for name in ("x", "h", "y", "t", "u")] == ["cuda:0", *["cuda:1"] * 3, "cuda:0"]
    assert lies(fed_copy(ws, "cuda:1", "u"), "u") == "cuda:1"


def fed_copy(ws, device, name):
    """A workspace on `device`, fed with a blob of another as it lies there."""
    other = Workspace(device)
    other.feed(name, ws.fetch(name, device=None))
    np.testing.assert_array_equal(other[name], ws[name])
    return other


def test_a_net_runs_again_on_values_that_lie_elsewhere(cupy):
    ws, net = fed(), Net()
    net.Sqr("x", "y")
    ws.run(net)
    assert lies(ws, "y") == "cpu"
    ws.run_operator(Operator("Copy", ["x"], ["x"], device="cuda:0"))
    ws.run(net)
    assert lies(ws, "y") == "cuda:0"
    ws.feed("x", np.ones(2))
    ws.run(net)
    assert lies(ws, "y") == "cpu"


def test_immediate_mode_and_forks_keep_the_device(cupy):
    ws = fed("cuda:0").fork()
    with immediate(ws):
        Net().Sqr("x", "y")
    assert (str(ws.device), lies(ws, "y")) == ("cuda:0", "cuda:0")


# Feeding and fetching


def test_feeding_copies_to_the_device_and_fetching_gives_numpy(cupy):
    ws, mine = Workspace("cuda:0"), np.arange(3, dtype="f4")
    ws.feed("x", mine)
    mine[0] = 5
    assert isinstance(ws["x"], np.ndarray)
    assert ws["x"].dtype == np.float32
    np.testing.assert_array_equal(ws["x"], [0, 1, 2])
    with pytest.raises(ValueError, match="read-only"):
        ws["x"][0] = 1
    assert isinstance(ws.fetch("x", device=None), cupy.ndarray)
    assert isinstance(ws.fetch("x", device="cuda:0"), cupy.ndarray)


def test_cupy_arrays_are_fed_to_either_device(cupy):
    theirs = cupy.asarray(np.arange(3.0))
    for device in ("cpu", "cuda:0"):
        ws = Workspace(device)
        ws.feed("x", theirs)
        theirs[0] = 7.0
        assert lies(ws, "x") == device
        np.testing.assert_array_equal(ws["x"], [0, 1, 2])
        theirs[0] = 0.0


@pytest.mark.parametrize(
    "value", ["text", [[1, 2], [3]], None, np.array([object()])], ids=("text", "ragged", "none", "objects")
)
def test_what_is_no_numeric_array_is_not_fed_to_a_gpu(cupy, value):
    ws = fed("cuda:0")
    with pytest.raises(RunError) as caught:
        ws.feed("x", value)
    assert caught.value.kind == "bad_value"
    assert ws["x"].shape == (2, 3)


# Kernels of one's own


def test_what_a_kernel_returns_is_brought_to_where_it_ran(cupy, own_types):
    register_kernel("Host")(lambda op, x: (np.float64(x.sum()), np.zeros(2)))
    ws, net = fed("cuda:0"), Net()
    net.add("Host", "x", ["total", "zeros"])
    ws.run(net)
    assert (lies(ws, "total"), lies(ws, "zeros")) == ("cuda:0", "cuda:0")


def test_a_kernel_that_fails_on_a_gpu_leaves_the_workspace_as_it_was(cupy, own_types):
    register_kernel("Host")(lambda op, x: np.zeros(x.shape) + x)
    register_kernel("Text")(lambda op, x: "text")
    for type, says in (("Host", "raised TypeError"), ("Text", "instead of an array")):
        ws, net = fed("cuda:0"), layer()
        net.add(type, "y", "z")
        with pytest.raises(RunError, match=says) as caught:
            ws.run(net)
        assert (caught.value.kind, caught.value.operator_index) == ("kernel_failed", 2)
        assert "h" not in ws


# A net that learns


def test_an_mlp_learns_on_a_gpu_as_on_the_cpu(cupy):
    random = np.random.default_rng(1)
    sizes, net = (8, 16, 16, 3), Net("mlp")
    x = random.normal(size=(32, 8)).astype("f4")
    fed = {"x0": x, "labels": (x @ random.normal(size=(8, 3))).argmax(axis=1)}
    for i, (inputs, outputs) in enumerate(pairwise(sizes)):
        fed[f"w{i}"] = random.normal(size=(outputs, inputs), scale=0.3).astype("f4")
        fed[f"b{i}"] = np.zeros(outputs, "f4")
        net.FC([f"x{i}", f"w{i}", f"b{i}"], f"h{i}")
        net.Relu(f"h{i}", f"x{i + 1}")
    net.SoftmaxWithLoss(["h2", "labels"], ["p", "loss"])
    gradients = net.add_gradient_operators(["loss"])
    fed["rate"], fed["one"] = np.array([-0.5], "f4"), np.ones(1, "f4")
    weights = [name for name in fed if name[0] in "wb"]
    for name in weights:
        net.WeightedSum([name, "one", gradients[name], "rate"], name)
    losses = {}
    for device in ("cpu", "cuda:0"):
        ws = Workspace(device)
        for name, array in fed.items():
            ws.feed(name, array)
        losses[device] = []
        for _ in range(20):
            ws.run(net)
            losses[device].append(float(ws["loss"]))
        assert {lies(ws, name) for name in ws} == {device}
    assert losses["cpu"][-1] < 0.5 * losses["cpu"][0]
    np.testing.assert_allclose(losses["cuda:0"], losses["cpu"], rtol=1e-3)


@pytest.mark.gpu
def test_the_stand_in_takes_nothing_that_cupy_refuses():
    real = pytest.importorskip("cupy")
    for name, parameters in FUNCTIONS.items():
        has = {*inspect.signature(getattr(real, name)).parameters, *(["constant_values"] if name == "pad" else [])}
        assert set(parameters.split()) <= has, name
    for name, parameters in METHODS.items():
        said = getattr(real.ndarray, name).__doc__.partition(")")[0]
        assert all(f"{parameter}=" in said or f", {parameter}" in said for parameter in parameters.split()), name
    for name in ELEMENTWISE.split():
        assert callable(getattr(real, name)), name
    for name in SCATTERED:
        assert callable(getattr(real, name).at), name


@pytest.mark.parametrize("is_taken", [False, True])
def test_what_a_branch_leaves_on_one_device_or_another_is_read_where_it_lies(two_gpus, is_taken):
    net = Net("either")
    net.Tanh("x", "y", device=SECOND)
    with net.If("c"):
        net.Copy("x", "y")
    net.Tanh("y", "z")
    net.Mul(["z", "z"], "w")
    ws = Workspace()
    ws.feed("c", np.bool_(is_taken))
    ws.feed("x", np.ones(2))
    ws.run(net)
    assert lies(ws, "w") == ("cpu" if is_taken else "cuda:1")
    assert np.allclose(ws.fetch("w"), np.tanh(1 if is_taken else np.tanh(1)) ** 2)
