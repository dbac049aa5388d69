"""Nets that cross from one device to another: copies are operators, gradients are added where their blobs lie."""

import random
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import gradviz
from gradviz import (
    Device,
    GradientError,
    Net,
    NetError,
    Operator,
    RunError,
    Session,
    Workspace,
    debug,
    immediate,
    live,
    load,
)
from gradviz.program import Gradient
from gradviz.program.crossing import COPIES, CPU
from gradviz.program.events import Completed, Failed, Ran
from gradviz.program.operator import parts_of
from gradviz.runtime.devices import moved
from tests.debugger.answers.nets import random_sessions, workspace_of
from tests.random_cases import counts, fresh_seed

PLACES = (None, None, Device(), Device("cuda", 0), Device("cuda", 1))


def crossing(device: str | None = None) -> Net:
    """h is read on both devices; `device`: of what is on the host."""
    net = Net("crossing")
    net.FC(["x", "w", "b"], "h", device=device)
    with gradviz.device("cuda:0"):
        net.Tanh("h", "t")
        net.Sigmoid("t", "g")
    net.Relu("h", "r", device=device)
    net.Sum(["g", "r"], "s", device=device)
    net.SumElements("s", "loss", device=device)
    return net


def fed(device: str = "cpu") -> Workspace:
    ws, draw = Workspace(device), np.random.default_rng(0)
    for name, shape in {"x": (2, 3), "w": (4, 3), "b": (4,)}.items():
        ws.feed(name, draw.normal(size=shape))
    return ws


def gradients(session: Session) -> dict[str, Any]:
    """The gradient of every blob that has one, as it lies on its device; of sparse ones the rows added up."""
    session.finish()
    assert isinstance(session.events[-1], Ran)
    whole = next(event for event in session.events if isinstance(event, Completed) and not event.path)
    return {name: dense(session, name, gradient) for name, gradient in whole.gradients.items()}


def dense(session: Session, blob: str, gradient: Gradient) -> Any:
    if isinstance(gradient, str):
        return session.value(gradient)
    indices, values = (moved(session.value(part), CPU) for part in parts_of(gradient))
    version = session.state().gradient_frontier[blob]
    total = np.zeros(session.value(f"{blob}@{version}").shape, values.dtype)
    np.add.at(total, indices, values)
    return total


def plain(net: Net) -> Net:
    return Net(net.name, [replace(op, device=None) for op in net.ops])


def test_what_crosses_is_copied_by_operators_and_comes_back(cupy: Any) -> None:
    net = crossing()
    session = debug(net, ["loss"], workspace=fed())
    assert [op.type for op in session.net.ops if op.type in COPIES] == [
        *("CopyCPUToGPU", "CopyGPUToCPU"),
        *("CopyCPUToGPU", "CopyGPUToCPU"),
    ]
    assert [op.type for op in net.ops if op.type in COPIES] == []
    found, wanted = gradients(session), gradients(debug(plain(net), ["loss"], workspace=fed()))
    for name in ("x", "w", "b", "h"):
        assert isinstance(found[name], np.ndarray), name
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-12)
    copies = session.copies()
    assert [(one.blob, one.source, one.target, one.bytes) for one in copies.copies] == [
        ("h@0", "cpu", "cuda:0", 64),
        ("g@0", "cuda:0", "cpu", 64),
        ("s_grad@0", "cpu", "cuda:0", 64),
        ("h_cuda_0_grad@0", "cuda:0", "cpu", 64),
    ]
    assert copies.bytes == 256
    for one in copies.copies:
        assert one.seconds is not None
        session.move_to(one.position)
        assert f"a copy of 64 bytes from {one.source}" in session.narration
    assert "2 from cpu to cuda:0, 2 from cuda:0 to cpu; 256 bytes" in str(copies)


def test_copies_are_told_of_a_recording_from_a_file_too(cupy: Any, tmp_path: Any) -> None:
    session = debug(crossing(), ["loss"], workspace=fed())
    session.save(tmp_path / "crossing.gradviz.json")
    assert load(tmp_path / "crossing.gradviz.json").copies() == session.copies()
    assert debug(crossing(), ["loss"], workspace=fed(), budget=100).copies().bytes == 256


def test_on_one_device_nothing_is_inserted(cupy: Any) -> None:
    for net, device in ((plain(crossing()), "cpu"), (plain(crossing()), "cuda:0")):
        session = debug(net, ["loss"], workspace=fed(device))
        assert session.net.ops[: len(net.ops)] == net.ops
        assert session.copies().copies == []
        assert str(session.copies()) == "Nothing was copied between devices."


def test_a_sum_over_devices_is_refused_until_the_net_asks_for_copies(cupy: Any) -> None:
    net = crossing("cpu")
    for workspace in (None, fed()):
        refused = debug(net, ["loss"], workspace=workspace)
        assert isinstance(refused.events[-1], Failed)
        assert refused.events[-1].error == "device_conflict"
        assert "net.copies = True" in " ".join(refused.events[-1].ways_out)
    net.copies = True
    for workspace in (None, fed()):
        session = debug(net, ["loss"], workspace=workspace)
        assert not any(isinstance(event, Failed) for event in session.events)
        assert [op.type for op in session.net.ops].count("CopyGPUToCPU") == 2
    wanted = gradients(debug(plain(net), ["loss"], workspace=fed()))
    np.testing.assert_allclose(gradients(session)["x"], wanted["x"], rtol=1e-12)


def test_a_net_that_asks_for_copies_gets_them_with_its_gradient_operators(cupy: Any) -> None:
    net, ws = crossing("cpu"), fed()
    with pytest.raises(GradientError):
        net.add_gradient_operators(["loss"])
    assert net.ops == crossing("cpu").ops
    net.copies = True
    again = Net.from_json(net.to_json())
    assert again.copies
    assert net.copy().copies
    assert "copies" not in crossing().to_dict()
    found = net.add_gradient_operators(["loss"])
    ws.run(net)
    wanted = gradients(debug(plain(crossing()), ["loss"], workspace=fed()))
    for name in ("x", "w", "b"):
        np.testing.assert_allclose(ws[str(found[name])], wanted[name], rtol=1e-12)
    assert str(net.calls.line_of(net.ops[1])).startswith("test_crossing.py:")


def test_where_an_operator_ran_behind_a_branch_is_said_as_it_was(cupy: Any, tmp_path: Any) -> None:
    net, ws = Net("left"), Workspace()
    net.LT(["zero", "one"], "holds")
    with net.If("holds"):
        net.Tanh("w", "w", device="cuda:0")
    net.Sqr("w", "s")  # nothing but running tells where w lies
    for name, value in {"w": np.arange(3.0), "zero": 0.0, "one": 1.0}.items():
        ws.feed(name, value)
    session = debug(net, ["s"], workspace=ws)
    session.save(tmp_path / "left.gradviz.json")
    for one in (session, load(tmp_path / "left.gradviz.json")):
        ran = {event.op.outputs[0]: event.device for event in one.events if isinstance(event, Ran) and not event.path}
        assert ran["s"] == "cuda:0"
        assert [(copy.source, copy.target) for copy in one.copies().copies] == [("cpu", "cuda:0")]


def test_differences_through_a_branch_on_a_gpu_are_taken(cupy: Any) -> None:
    net, ws = Net("checked"), Workspace()
    net.LT(["zero", "one"], "holds")
    with net.If("holds"):
        net.Tanh("w", "w", device="cuda:0")
    net.Sqr("w", "s", device="cpu")
    for name, value in {"w": np.arange(3.0), "zero": 0.0, "one": 1.0}.items():
        ws.feed(name, value)
    session = debug(net, ["s"], workspace=ws)
    session.finish()
    assert session.check("w").verdict == "agrees"


def test_sparse_gradients_may_lie_on_any_gpu(cupy: Any) -> None:
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("there is one GPU only")
    net, ws = Net("rows"), Workspace("cuda:1")
    net.Gather(["table", "rows"], "y")
    ws.feed("table", np.arange(6.0).reshape(3, 2))
    ws.feed("rows", np.array([2, 0]))
    np.testing.assert_array_equal(gradients(debug(net, ["y"], workspace=ws))["table"], [[1, 1], [0, 0], [1, 1]])


def test_copies_are_no_way_out_where_a_nested_net_reads_on_another_device(cupy: Any) -> None:
    net = Net("inside")
    with net.Do(outputs=["y"]):
        net.Tanh("x", "t", device="cpu")
        net.Mul(["t", "x"], "y", device="cuda:0")
    gpu = replace(net.ops[-1], device=Device("cuda", 0))
    around = Net("around", [Operator("Tanh", ["x"], ["t"], device=Device()), *net.ops[:-1], gpu])
    around.Mul(["t", "y"], "y")
    for one in (net, around):
        one.copies = True
        with pytest.raises(GradientError) as caught:
            one.add_gradient_operators(["y"])
        assert caught.value.kind == "device_conflict"
        assert "net.copies" not in " ".join(caught.value.ways_out)


def test_immediate_mode_says_that_it_is_too_late_for_copies(cupy: Any) -> None:
    net = Net("now")
    net.copies = True
    with immediate(fed()):
        net.FC(["x", "w", "b"], "h", device="cpu")
        net.Tanh("h", "t", device="cuda:0")
        before = list(net.ops)
        with pytest.raises(NetError) as caught:
            net.add_gradient_operators(["t"])
    assert caught.value.kind == "bad_device"
    assert net.ops == before


def test_from_one_gpu_to_another_it_goes_through_the_host(cupy: Any) -> None:
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("there is one GPU only")
    net, ws = Net("two"), Workspace()
    net.Tanh("x", "t", device="cuda:0")
    net.Sigmoid("t", "s", device="cuda:1")
    net.Relu("t", "r", device="cuda:1")
    ws.feed("x", np.arange(3.0))
    session = debug(net, ["s", "r"], workspace=ws)
    forward = [str(op) for op in session.net.ops if not op.is_gradient and op.type in COPIES]
    assert forward == [
        "x_cuda_0 = CopyCPUToGPU(x)",
        "t_cpu = CopyGPUToCPU(t)",
        "t_cuda_1 = CopyCPUToGPU(t_cpu)",
    ]
    wanted = gradients(debug(plain(net), ["s", "r"], workspace=ws))
    np.testing.assert_allclose(gradients(session)["x"], wanted["x"], rtol=1e-12)


def test_what_is_written_again_is_copied_again() -> None:
    net = Net("again")
    net.copies = True
    net.Tanh("x", "h", device="cpu")
    net.Relu("h", "a", device="cuda:0")
    net.Sum(["h", "x"], "h", device="cpu")
    net.Relu("h", "b", device="cuda:0")
    net.Relu("h", "c", device="cuda:0")
    found = [str(op) for op in debug(net, ["a", "b", "c"]).net.ops if op.type in COPIES and not op.is_gradient]
    assert found == ["h_cuda_0 = CopyCPUToGPU(h)", "h_cuda_0_1 = CopyCPUToGPU(h)"]


def test_skipped_operators_stay_skipped(cupy: Any) -> None:
    net, ws = Net("skipped"), Workspace()
    net.Tanh("x", "h", device="cuda:0")
    net.Relu("h", "y", device="cuda:0")
    ws.feed("x", np.arange(3.0))
    session = debug(net, ["y"], workspace=ws, skip=1)
    found = gradients(session)
    assert "x" not in found
    assert set(found) == {"y", "h"}


@counts(60)
def test_random_nets_on_random_devices_give_the_gradients_of_the_host(cupy: Any, count: int) -> None:
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("there is one GPU only")
    compared = 0
    rng = random.Random(fresh_seed())
    for case, wanted in random_sessions(count, rng.randrange(2**32)):
        if isinstance(wanted.events[-1], Failed) or wanted._recording.obstacle is not None:
            continue
        net = Net("placed", [replace(op, device=rng.choice(PLACES)) for op in case.net.ops])
        net.copies = True
        session = debug(net, case.ys, workspace=workspace_of(case), skip=case.skip)
        found, before = gradients(session), gradients(wanted)
        assert found.keys() >= before.keys()
        for name, value in before.items():
            np.testing.assert_allclose(moved(found[name], CPU), value, rtol=1e-9, atol=1e-12, err_msg=name)
        explicit = [one for one in session.copies().copies if one.seconds is not None]
        compared += len(explicit)
    assert compared > 60 or count < 60


def test_a_live_step_on_another_device_joins_copies_of_what_it_reads(cupy: Any) -> None:
    one = live(plain(crossing()), ["loss"], workspace=fed())
    one.step()
    one.step(device="cuda:0")
    assert [str(op) for op in one.session.net.ops[1:3]] == ["h_cuda_0 = CopyCPUToGPU(h)", "t = Tanh(h_cuda_0)"]
    assert [event.kind for event in one.session.events[2:]] == ["Played", "Ran", "Played", "Ran"]
    one.session.move_to(4)
    assert "a copy of 64 bytes from cpu" in one.session.narration
    session = one.finish()
    wanted = gradients(debug(plain(crossing()), ["loss"], workspace=fed()))
    for name in ("x", "w", "b", "h"):
        assert isinstance(session.value(f"{name}_grad"), np.ndarray)
        np.testing.assert_allclose(session.value(f"{name}_grad"), wanted[name], rtol=1e-12)
    assert [one.blob for one in session.copies().copies] == ["h@0", "g@0", "s_grad@0", "h_cuda_0_grad@0"]


def test_a_live_pass_crosses_where_its_net_does(cupy: Any) -> None:
    session = live(crossing(), ["loss"], workspace=fed()).finish()
    wanted = debug(crossing(), ["loss"], workspace=fed())
    assert [op.type for op in session.net.ops[:8]] == [op.type for op in wanted.net.ops[:8]]
    assert sorted(map(str, session.net.ops)) == sorted(map(str, wanted.net.ops))
    assert len(session.copies().copies) == 4


def test_a_live_pass_copies_anew_behind_the_operators_that_it_skips(cupy: Any) -> None:
    net, ws = Net("skips"), Workspace()
    net.Tanh("x", "h")
    net.Relu("h", "unused", device="cuda:0")
    net.Sigmoid("h", "y", device="cuda:0")
    ws.feed("x", np.arange(3.0))
    wanted = debug(net, ["y"], workspace=ws, skip=2)
    session = live(net, ["y"], workspace=ws, skip=2).finish()
    assert [str(op) for op in session.net.ops[:5]] == [str(op) for op in wanted.net.ops[:5]]
    np.testing.assert_array_equal(session.value("h_grad"), gradients(wanted)["h"])


def test_copies_of_an_operator_that_fails_have_not_joined(cupy: Any) -> None:
    net, ws = Net("fails"), Workspace()
    net.Tanh("x", "h")
    net.MatMul(["h", "w"], "y")
    ws.feed("x", np.ones((2, 3)))
    ws.feed("w", np.ones((2, 2)))
    one = live(net, ["y"], workspace=ws)
    one.step()
    before = one.next, list(one.session.events), list(one.workspace)
    with pytest.raises(RunError, match="MatMul"):
        one.step(device="cuda:0")
    assert (one.next, list(one.session.events), list(one.workspace)) == before
    one.feed("w", np.ones((3, 2)))
    one.step(device="cuda:0")
    assert [op.type for op in one.session.net.ops] == ["Tanh", "CopyCPUToGPU", "CopyCPUToGPU", "MatMul"]
    assert one.finish().value("x_grad").shape == (2, 3)


def test_a_live_sum_over_devices_is_refused_until_the_net_asks_for_copies(cupy: Any) -> None:
    net = crossing("cpu")
    one = live(net, ["loss"], workspace=fed())
    for _ in net.ops:
        one.step()
    with pytest.raises(GradientError) as caught:
        one.step()
    assert caught.value.kind == "device_conflict"
    net.copies = True
    wanted = gradients(debug(plain(net), ["loss"], workspace=fed()))
    np.testing.assert_allclose(one.finish().value("x_grad"), wanted["x"], rtol=1e-12)
