"""Sessions whose arrays lie on GPUs: the same story and numbers, and where each operator ran."""

import numpy as np
import pytest

from gradviz import Net, Operator, RunError, Workspace, debug
from tests.debugger.conftest import fed_workspace, skip_net
from tests.debugger.loops import fed, gated


def on_device(ws, device):
    other = Workspace(device)
    for name in ws:
        other.feed(name, ws[name])
    return other


def same_numbers(found, wanted):
    """Whether two documents are equal but for rounding."""
    if isinstance(wanted, float):
        return found == pytest.approx(wanted, rel=1e-5, abs=1e-9)
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(same_numbers(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same_numbers, found, wanted))
    return bool(found == wanted)


def numbers_of(session):
    """Statistics and ledgers of a session, without where and how long."""
    values = {
        name: {key: getattr(value, key) for key in value.__struct_fields__ if key not in ("device", "seconds")}
        for name, value in session.trace().values.items()
    }
    ledgers = [
        [ledger.norm, ledger.cancellation, *([c.norm, c.share, c.cosine] for c in ledger.contributions)]
        for ledger in session.trace().ledgers
    ]
    return {"values": values, "ledgers": ledgers}


def sparse_session(device):
    """Two gathers of one table, whose sparse gradients are added."""
    net, ws = Net(), Workspace(device)
    for i in range(2):
        net.Gather(["table", f"rows{i}"], f"picked{i}")
        ws.feed(f"rows{i}", np.array([2, i, 2]))
    net.Sum(["picked0", "picked1"], "y")
    ws.feed("table", np.arange(8.0).reshape(4, 2))
    return debug(net, ["y"], workspace=ws, deduplicate="sum")


def test_a_session_on_a_gpu_tells_what_one_on_the_cpu_tells(cupy):
    ws = fed_workspace()
    on_cpu = debug(skip_net(), ["loss"], workspace=ws)
    session = debug(skip_net(), ["loss"], workspace=on_device(ws, "cuda:0"))
    ran = [event for event in session.events if event.kind == "Ran"]
    assert {event.device for event in ran} == {"cuda:0"}
    assert len(ran) == len([event for event in on_cpu.events if event.kind == "Ran"])
    assert {value.device for value in session.trace().values.values()} == {"cuda:0"}
    assert same_numbers(numbers_of(session), numbers_of(on_cpu))


QUESTIONS = {
    "ledger": ["a"], "paths": ["w1"], "why_none": ["x"], "provenance": ["loss"], "check": ["#3"], "checkable": ["w1"],
    "versions": ["s"], "numbers": ["s"], "diff": [3, 20], "state": [], "code": [], "copies": [],
}  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_session_on_a_gpu_answers_as_one_on_the_cpu(cupy, question):
    found, wanted = (
        debug(skip_net(), ["loss"], workspace=on_device(fed_workspace(), device)) for device in ("cuda:0", "cpu")
    )
    asked = [getattr(session.at(len(session)), question)(*QUESTIONS[question]) for session in (found, wanted)]
    first, second = (answer.to_dict() for answer in asked)
    assert same_numbers(first, second)


def test_all_gradients_on_a_gpu_are_checked(cupy):
    session = debug(skip_net(), ["loss"], workspace=on_device(fed_workspace(), "cuda:0"))
    assert session.check("all").verdict == "agrees"
    assert session.check("w1").verdict == "agrees"


def test_a_session_on_the_second_gpu(cupy):
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("there is one GPU only")
    on_cpu, session = (
        debug(skip_net(), ["loss"], workspace=on_device(fed_workspace(), device)) for device in ("cpu", "cuda:1")
    )
    assert {value.device for value in session.trace().values.values()} == {"cuda:1"}
    assert same_numbers(numbers_of(session), numbers_of(on_cpu))


def test_a_session_on_two_devices_tells_where_each_operator_ran(cupy):
    net = skip_net()
    for index in (2, 3):
        net.ops[index] = Operator(net.ops[index].type, net.ops[index].inputs, net.ops[index].outputs, device="cuda:0")
    session = debug(net, ["loss"], workspace=fed_workspace())
    ran = {event.op.outputs[0]: event.device for event in session.events if event.kind == "Ran"}
    assert [ran[name] for name in ("a", "u", "v", "s", "z")] == ["cpu", "cuda:0", "cuda:0", "cpu", "cpu"]
    where = {name: value.device for name, value in session.trace().values.items()}
    assert (where["w2@0"], where["v@0"], where["w2_grad@0"]) == ("cpu", "cuda:0", "cpu")
    values = numbers_of(debug(skip_net(), ["loss"], workspace=fed_workspace()))["values"]
    found = numbers_of(session)["values"]
    assert same_numbers({name: found[name] for name in values}, values)


def test_a_session_on_a_gpu_adds_sparse_gradients(cupy):
    assert same_numbers(numbers_of(sparse_session("cuda:0")), numbers_of(sparse_session("cpu")))


def test_a_given_gradient_with_nan_is_refused_on_a_gpu(cupy):
    ws = on_device(fed_workspace(), "cuda:0")
    ws.feed("given", np.full((6, 5), np.nan))
    with pytest.raises(RunError, match="30 NaN"):
        debug(skip_net(), {"s": "given"}, workspace=ws)


def test_a_loop_on_a_gpu_tells_what_one_on_the_cpu_tells(cupy):
    def numbers(ws):
        session = debug(gated(), ["loss"], workspace=ws)
        trace = session.trace()
        measured = [[value.shape, value.norm, value.preview, value.zero] for value in trace.arrays]
        runs = [list(frame.values) for frame in trace.frames]
        return {"runs": runs, "arrays": measured, **numbers_of(session)}

    assert same_numbers(numbers(on_device(fed(3), "cuda:0")), numbers(fed(3)))
