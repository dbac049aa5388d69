"""Workspaces: feeding, running with everything checked first, and staying as they were when it fails."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event

import numpy as np
import pytest

from gradviz import (
    GradvizError,
    Net,
    NetError,
    Operator,
    RunError,
    Workspace,
    immediate,
    register_gradient,
    register_kernel,
)


def layer():
    net = Net("layer")
    net.FC(["x", "w", "b"], "h")
    net.Relu("h", "y")
    return net


def fed():
    ws = Workspace()
    ws.feed("x", np.ones((2, 3), "f4"))
    ws.feed("w", np.full((4, 3), 0.5, "f4"))
    ws["b"] = np.zeros(4, "f4")
    return ws


def test_a_net_runs_on_what_was_fed():
    ws = fed()
    ws.run(layer())
    np.testing.assert_array_equal(ws.fetch("y"), np.full((2, 4), 1.5, "f4"))
    assert ws["y"].dtype == np.float32
    assert "h" in ws
    assert len(ws) == 5


def test_gradients_run_like_any_operator():
    ws, net = fed(), layer()
    gradients = net.add_gradient_operators(["y"])
    ws.run(net)
    np.testing.assert_array_equal(ws.fetch(gradients["x"]), np.full((2, 3), 2.0, "f4"))


def test_feeding_copies_and_values_are_read_only():
    ws = Workspace()
    mine = np.zeros(2)
    ws.feed("x", mine)
    mine[0] = 5
    assert ws["x"][0] == 0
    ws.run_operator(Operator("Copy", ["x"], ["y"]))
    for name in ("x", "y"):
        with pytest.raises(ValueError, match="read-only"):
            ws[name][0] = 1


def test_running_again_with_other_shapes_works():
    ws, net = fed(), layer()
    ws.run(net)
    ws.feed("x", np.ones((7, 3), "f4"))
    ws.run(net)
    assert ws["y"].shape == (7, 4)
    net.Scale("y", "z", scale=2.0)
    ws.run(net)
    assert ws["z"].shape == (7, 4)


def test_one_operator_runs_alone():
    ws = fed()
    ws.run_operator(Operator("Scale", ["x"], ["x2"], {"scale": 3.0}))
    assert ws["x2"].max() == 3


def test_immediate_mode_is_refused_on_what_is_no_workspace():
    with pytest.raises(RunError, match="not on Net") as caught, immediate(Net()):
        pass
    assert caught.value.kind == "bad_value"


def test_immediate_mode_runs_operators_as_they_are_added():
    ws, net = fed(), Net()
    with immediate(ws):
        net.FC(["x", "w", "b"], "h")
        assert ws["h"].shape == (2, 4)
        gradients = net.add_gradient_operators(["h"])
        assert ws[gradients["x"]].shape == (2, 3)
        with pytest.raises(RunError):
            net.Relu("nowhere", "z")
    net.Relu("h", "y")
    assert "y" not in ws
    assert [op.outputs for op in net.ops][-1] == ["y"]


def test_a_fork_goes_its_own_way():
    ws = fed()
    other = ws.fork()
    other.feed("x", np.zeros(1))
    assert ws["x"].shape == (2, 3)
    assert other["w"] is ws["w"]


BAD_VALUES = [
    np.array([object()]),
    np.array(["text"]),
    [[1, 2], [3]],
    "text",
    None,
    {"a": 1},
    np.array(["2020-01-01"], "M8[D]"),
    np.ma.masked_greater([1.0, 2.0], 1.5),
]


@pytest.mark.parametrize("value", BAD_VALUES, ids=lambda value: repr(value)[:24])
def test_what_is_no_numeric_array_is_not_fed(value):
    ws = fed()
    with pytest.raises(RunError) as caught:
        ws.feed("x", value)
    assert caught.value.kind == "bad_value"
    assert caught.value.blobs == ("x",)
    assert ws["x"].shape == (2, 3)


@pytest.mark.parametrize("name", ["two words", "<script>", "a\nb", "n" * 10_000, '"', 3])
def test_a_bad_name_is_not_fed(name):
    with pytest.raises(NetError):
        Workspace().feed(name, [1.0])


def wrong_shape(ws, net):
    ws.feed("w", np.ones((4, 5), "f4"))


def unfed(ws, net):
    net.Sum(["y", "nowhere"], "z")


def unknown_type(ws, net):
    net.ops.append(Operator("Reluu", ["y"], ["z"]))


def wrong_arity(ws, net):
    net.ops.append(Operator("Sqr", ["y", "x"], ["z"]))


def written_twice(ws, net):
    net.ops.append(Operator("Split", ["y"], ["z", "z"], {"axis": 1}))


def other_device(ws, net):
    net.Relu("y", "z", device="cuda:99")


FAULTS = {
    "shape_mismatch": (wrong_shape, 0, "w"),
    "undefined_blob": (unfed, 2, "nowhere"),
    "unknown_operator": (unknown_type, 2, "z"),
    "bad_arity": (wrong_arity, 2, "y"),
    "bad_device": (other_device, 2, "y"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_is_found_before_anything_runs(own_types, kind):
    fault, index, blob = FAULTS[kind]
    ran = []

    @register_kernel("Relu")
    def relu(op, x):
        ran.append(op)
        return np.maximum(x, 0)

    ws, net = fed(), layer()
    fault(ws, net)
    before = {name: ws[name] for name in ws}
    with pytest.raises(RunError) as caught:
        ws.run(net)
    error = caught.value
    assert (error.kind, error.operator_index) == (kind, index)
    assert blob in error.blobs
    assert f"#{index}" in error.message
    assert error.ways_out
    assert {name: ws[name] for name in ws} == before
    assert not ran


def test_writing_one_name_twice_is_refused():
    ws, net = fed(), layer()
    written_twice(ws, net)
    with pytest.raises(GradvizError, match="twice"):
        ws.run(net)


@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        (lambda op, x: 1 / 0, "ZeroDivisionError"),
        (lambda op, x: next(iter([])), "raised StopIteration. Its inputs are"),
        (lambda op, x: (x, x), "2 arrays for 1 outputs"),
        (lambda op, x: "text", "instead of an array"),
        (lambda op, x: x.__setitem__(0, 1), "read-only"),
    ],
)
def test_a_kernel_that_fails_leaves_the_workspace_as_it_was(own_types, kernel, says):
    register_kernel("Own")(kernel)
    ws, net = fed(), layer()
    net.add("Own", "y", "z")
    with pytest.raises(RunError) as caught:
        ws.run(net)
    assert caught.value.kind == "kernel_failed"
    assert caught.value.operator_index == 2
    assert says in caught.value.message
    assert "h" not in ws
    assert "y" not in ws


def test_a_type_that_has_a_rule_alone_is_asked_for_a_kernel_and_not_taken_for_a_mistake(own_types):
    register_gradient("Own")(lambda op, g_output: ([], [None]))
    with pytest.raises(RunError) as caught:
        fed().run_operator(Operator("Own", ["x"], ["y"]))
    assert caught.value.ways_out == ('Give it a kernel: @gradviz.register_kernel("Own").',)


def test_a_sparse_gradient_is_fetched_by_its_two_names():
    net, ws = Net(), Workspace()
    net.Gather(["table", "rows"], "y")
    ws.feed("table", np.ones((3, 2)))
    ws.feed("rows", [2, 0])
    gradient = net.add_gradient_operators(["y"])["table"]
    ws.run(net)
    for get in (ws.fetch, ws.__getitem__):
        with pytest.raises(RunError, match="it names two blobs") as caught:
            get(gradient)
        assert caught.value.blobs == (gradient.indices, gradient.values)
    assert ws.fetch(gradient.indices).tolist() == [2, 0]


def test_fetching_what_is_not_there_offers_the_nearest():
    with pytest.raises(RunError, match="Did you mean") as caught:
        Workspace.fetch(fed_with("hidden"), "hiden")
    assert caught.value.kind == "undefined_blob"


def fed_with(name):
    ws = Workspace()
    ws.feed(name, 1.0)
    return ws


def test_a_blob_is_let_go_once():
    ws = Workspace()
    ws.feed("x", [1.0, -2.0])
    ws.run(Net("net", [Operator("Relu", ["x"], ["y"])]))
    del ws["x"]
    assert list(ws) == ["y"]
    with pytest.raises(RunError, match="no blob x") as caught:
        del ws["x"]
    assert caught.value.kind == "undefined_blob"
    with pytest.raises(RunError, match="reads x, which nobody fed"):
        ws.run(Net("net", [Operator("Relu", ["x"], ["y"])]))


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(RunError, match=r"cuda:99(.|\n)*cpu") as caught:
        Workspace(device="cuda:99")
    assert caught.value.kind == "bad_device"


# Several threads


class Halfway:
    """A run of `y = Wait(x)` in another thread, in the middle of which what is done in a `with` block happens."""

    def __init__(self, ws, net=None):
        self._reached, self._goes_on = Event(), Event()
        register_kernel("Wait")(self._kernel)
        self._pool = ThreadPoolExecutor(1)
        self._run = partial(ws.run, net or Net("waiting", [Operator("Wait", ["x"], ["y"])]))

    def _kernel(self, op, x):
        self._reached.set()
        assert self._goes_on.wait(60)
        if x.size > 3:
            raise ValueError("too much")
        return x + 1

    def __enter__(self):
        self.ran = self._pool.submit(self._run)
        assert self._reached.wait(60)

    def __exit__(self, *_):
        self._goes_on.set()
        self.ran.exception(60)
        self._pool.shutdown()


def numbers(**values):
    ws = Workspace()
    for name, value in values.items():
        ws.feed(name, value)
    return ws


def test_what_is_fed_while_another_thread_runs_stays(own_types):
    ws = numbers(x=1.0, w=1.0)
    with Halfway(ws):
        ws.feed("w", 5.0)
        ws.feed("x", 7.0)
        ws.feed("new", 3.0)
        assert "y" not in ws
    assert {name: float(ws[name]) for name in ws} == {"x": 7.0, "w": 5.0, "new": 3.0, "y": 2.0}


def test_what_two_threads_run_at_once_both_stays(own_types):
    ws = numbers(x=1.0, w=0.0)
    with Halfway(ws):
        ws.run_operator(Operator("Cos", ["w"], ["z"]))
        ws.run(Net("other", [Operator("Copy", ["w"], ["y"])]))
    assert (ws["z"], ws["y"]) == (1.0, 2.0)


def test_a_run_that_fails_undoes_nothing_that_another_thread_did(own_types):
    ws = numbers(x=np.ones(4), w=1.0)
    halfway = Halfway(ws, Net("fails", [Operator("Copy", ["w"], ["v"]), Operator("Wait", ["x"], ["y"])]))
    with halfway:
        ws.feed("w", 5.0)
    assert isinstance(halfway.ran.exception(), RunError)
    assert (sorted(ws), ws["w"]) == (["w", "x"], 5.0)


def test_branches_that_were_not_taken_write_nothing_beside_another_thread(own_types):
    ws = numbers(x=1.0, c=False, z=2.0)
    net = Net()
    with net.If("c"):
        net.Copy("x", "z")
    net.ops.append(Operator("Wait", ["x"], ["y"]))
    with Halfway(ws, net):
        ws.feed("w", 1.0)
    assert (ws["z"], ws["y"], ws["w"]) == (2.0, 2.0, 1.0)


def test_a_kernel_may_feed_the_workspace_that_it_runs_in(own_types):
    ws = numbers(x=1.0)
    register_kernel("Note")(lambda op, x: ws.feed("noted", x) or x + 1)
    ws.run(Net("notes", [Operator("Note", ["x"], ["y"])]))
    assert (ws["noted"], ws["y"]) == (1.0, 2.0)


def test_bytes_in_the_other_order_are_brought_into_that_of_the_machine() -> None:
    ws = Workspace()
    ws.feed("x", np.array([1.0, 2.0], ">f4"))
    assert ws["x"].dtype == np.float32
    assert ws["x"].dtype.isnative
    np.testing.assert_array_equal(ws["x"], [1, 2])


def test_what_is_no_name_and_no_operator_is_told() -> None:
    ws = Workspace()
    with pytest.raises(RunError, match=r"no blob \"?\['y'\]") as caught:
        ws.fetch(["y"])  # type: ignore[arg-type]
    assert caught.value.kind == "undefined_blob"
    with pytest.raises(RunError, match="takes an operator, not None") as caught:
        ws.run_operator(None)  # type: ignore[arg-type]
    assert caught.value.kind == "bad_argument"
