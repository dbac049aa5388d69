"""Interrupted recordings: what was recorded until then stays, and nothing else is changed."""

import os
import signal

import numpy as np
import pytest

import gradviz
from gradviz import Function, Net, Operator, Variable, Workspace, bridges, debug, functions
from gradviz.debugger import record
from gradviz.debugger.journal import SoFar, record_any, record_backward
from gradviz.debugger.telling import document
from gradviz.notebook.progress import words
from tests.debugger.loops import fed, recurrent

pytestmark = pytest.mark.usefixtures("ctrl_c")


def interrupt():
    """What Ctrl+C and Jupyter's stop button do."""
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True)
def kernels():
    def stop(op, x):
        interrupt()
        return x * 1

    def stop_twice(op, x):
        interrupt()
        interrupt()
        return x * 1

    gradviz.register_kernel("Stop")(stop)
    gradviz.register_kernel("StopTwice")(stop_twice)
    gradviz.register_gradient("Stop")(
        lambda op, g: (Operator("Copy", [g[0]], [op.inputs[0] + "_grad"]), [op.inputs[0] + "_grad"])
    )


class Halt(Function):
    """Does nothing forward, and is interrupted backward."""

    def forward(self, xs):
        return xs[0] * 1

    def backward(self, xs, gys):
        interrupt()
        return gys[0] * 1


def stopping_net():
    net, ws = Net("stopping"), Workspace()
    net.Tanh("x", "a")
    net.Stop("a", "b")
    net.Tanh("b", "y")
    ws.feed("x", np.linspace(0, 1, 4))
    return net, ws


@pytest.mark.parametrize("options", [{}, {"budget": 0}])
def test_an_interrupt_ends_the_recording_after_the_operator_that_runs(options):
    net, ws = stopping_net()
    session = debug(net, ["y"], workspace=ws, **options)
    session.finish()
    assert (session.event.error, session.event.index) == ("interrupted", 1)
    assert "Interrupted by you after operator #1 b = Stop(a)" in session.narration
    np.testing.assert_array_equal(session.value("b"), np.tanh(ws["x"]))
    with pytest.raises(gradviz.GradvizError, match="it stopped before"):
        session.value("y")
    assert [*ws] == ["x"]
    assert len(net.ops) == 3
    assert "x" in str(session.why_none("x"))


def test_an_interrupt_in_a_loop_says_in_which_iteration():
    net = recurrent()
    (loop,) = (op for op in net.ops if op.type == "While")
    body = loop.args["loop_net"].ops[0].args["net"]
    body.ops = [Operator("Stop", op.inputs, op.outputs) if op.type == "Tanh" else op for op in body.ops]
    session = debug(net, ["loss"], workspace=fed(4))
    session.finish()
    assert session.event.error == "interrupted"
    assert session.path[0].endswith("loop_net[0]")
    assert "iteration 0" in session.narration


def test_a_second_interrupt_ends_it_at_once():
    net, ws = Net("twice"), Workspace()
    net.StopTwice("x", "y")
    ws.feed("x", np.ones(2))
    with pytest.raises(KeyboardInterrupt):
        debug(net, ["x"], workspace=ws)


@pytest.mark.parametrize("schedule", ["rank", "tape"])
@pytest.mark.parametrize("budget", [None, 0])
def test_an_interrupted_pass_of_code_keeps_what_was_run(schedule, budget):
    x = Variable(np.linspace(0, 1, 4), name="x")
    y = functions.sum(functions.exp(Halt()(functions.tanh(x))))
    session = debug(y, schedule=schedule, budget=budget)
    session.finish()
    assert session.event.error == "interrupted"
    assert "Interrupted by you" in session.narration
    assert x.grad is None
    assert any(event.kind == "Ran" and event.op.is_gradient for event in session.events)
    assert not any("no gradient has reached" in event.reason for event in session.events if event.kind == "Skipped")


def test_the_page_and_the_file_of_an_interrupted_recording_can_be_written(tmp_path):
    net, ws = stopping_net()
    session = debug(net, ["y"], workspace=ws)
    session.to_html(tmp_path / "stopped.html")
    session.save(tmp_path / "stopped.gradviz.json")
    assert gradviz.load(tmp_path / "stopped.gradviz.json").finish().error == "interrupted"


def test_who_handles_interrupts_himself_goes_on_doing_so():
    heard = []
    signal.signal(signal.SIGINT, lambda *_: heard.append("interrupt"))
    net, ws = stopping_net()
    try:
        session = debug(net, ["y"], workspace=ws)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert heard == ["interrupt"]
    assert session.finish().kind == "Ran"


def test_progress_is_told_of_a_recording_that_takes_long(monkeypatch):
    monkeypatch.setattr("gradviz.runtime.pace.PATIENCE", 0.0)
    monkeypatch.setattr("gradviz.runtime.pace.PAUSE", 0.0)
    net, ws = Net("chain"), Workspace()
    ws.feed("x0", np.ones(2))
    for place in range(300):
        net.Tanh(f"x{place}", f"x{place + 1}")
    heard: list[SoFar] = []
    recording = record(net, ["x300"], workspace=ws, progress=heard.append)
    running = [so_far for so_far in heard if so_far.of is not None]
    assert heard[0].of is None
    assert {so_far.of for so_far in running} == {601}
    assert [so_far.operators for so_far in running] == list(range(602))
    assert heard[-1].events == len(recording.events)
    assert words(SoFar(1200, 5000, 31400, 3.25)) == "Recorded 1,200 of 5,000 operators, 31,400 events in 3.2 s."


@pytest.mark.parametrize("budget", [None, 0])
@pytest.mark.parametrize("schedule", ["rank", "tape"])
def test_the_last_that_is_told_of_a_pass_of_code_is_all_of_it(monkeypatch, schedule, budget):
    monkeypatch.setattr("gradviz.runtime.pace.PATIENCE", 0.0)
    y = Variable(np.ones(3), name="x")
    for _ in range(20):
        y = functions.tanh(y)
    heard: list[SoFar] = []
    recording = record_backward(functions.sum(y), schedule=schedule, budget=budget, progress=heard.append)
    assert len(heard) >= 2
    assert heard[-1].operators == heard[-1].of == 21 or heard[-1].events == len(recording.events)


def test_the_last_that_is_told_of_a_pass_of_pytorch_is_all_of_it(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr("gradviz.runtime.pace.PATIENCE", 0.0)
    y = torch.ones(3, requires_grad=True)
    for _ in range(20):
        y = torch.tanh(y)
    heard: list[SoFar] = []
    loss = y.sum()
    bridges.cross(loss)
    record_any(loss, {}, heard.append)
    assert heard[-1].operators == heard[-1].of == 21


def test_the_last_that_is_told_of_a_pass_that_is_only_generated_is_all_of_it(monkeypatch):
    monkeypatch.setattr("gradviz.runtime.pace.PATIENCE", 0.0)
    net = Net("chain")
    for place in range(20):
        net.Tanh(f"x{place}", f"x{place + 1}")
    heard: list[SoFar] = []
    recording = record(net, ["x20"], progress=heard.append)
    assert len(heard) >= 2
    assert heard[-1].events == len(recording.events)


def test_progress_is_told_of_a_document_that_takes_long(monkeypatch):
    net, ws = Net("chain"), Workspace()
    ws.feed("x0", np.ones(2))
    for place in range(30):
        net.Tanh(f"x{place}", f"x{place + 1}")
    x = Variable(np.ones(3), name="x")
    recordings = [record(net, ["x30"], workspace=ws), record_backward(functions.sum(functions.tanh(x)))]
    monkeypatch.setattr("gradviz.runtime.pace.PATIENCE", 0.0)
    monkeypatch.setattr("gradviz.runtime.pace.PAUSE", 0.0)
    for recording in recordings:
        heard: list[SoFar] = []
        made = document(recording, heard.append)
        assert [so_far.events for so_far in heard] == list(range(len(made.events) + 1))
        assert {so_far.work for so_far in heard} == {"describe"}


def test_nobody_is_told_of_a_recording_that_is_done_at_once():
    net, ws = stopping_net()
    net.ops[1] = Operator("Copy", ["a"], ["b"])
    record(net, ["y"], workspace=ws, progress=lambda so_far: pytest.fail(f"told {so_far}"))
