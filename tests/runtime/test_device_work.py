"""What a GPU is asked to do: nothing is copied to it or from it that nobody wants there."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradviz
from gradviz import Net, Variable, Workspace, debug
from gradviz.functions import softmax_cross_entropy, tanh
from tests.cupy_stand_in import WORK, stand_in


@pytest.fixture(autouse=True)
def _gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cupy", stand_in(gpus=1))


def copies_of(work: Callable[[], Any]) -> dict[str, int]:
    """How often something was copied to the GPU, and from it to the host.

    Only labels are looked at besides, whether they are in range, where they are read and where their gradient is made.
    """
    WORK.clear()
    work()
    assert WORK["kernels"]
    assert WORK["reads"] <= 2
    return {way: WORK[way] for way in ("to_gpu", "to_host")}


def training_net() -> tuple[Net, Workspace]:
    """A step of gradient descent for two layers; x, labels and the loss are all that people give and read."""
    net, ws, draw = Net("training"), Workspace("cuda:0"), np.random.default_rng(0)
    net.FC(["x", "w1", "b1"], "h")
    net.Tanh("h", "a")
    net.FC(["a", "w2", "b2"], "scores")
    net.SoftmaxWithLoss(["scores", "labels"], ["p", "loss"])
    gradients = net.add_gradient_operators(["loss"])
    for name, shape in {"w1": (8, 4), "b1": (8,), "w2": (3, 8), "b2": (3,)}.items():
        ws.feed(name, draw.normal(size=shape))
        net.Scale(gradients[name], f"{name}_step", scale=-0.1)
        net.Add([name, f"{name}_step"], name)
    return net, ws


def test_a_training_step_of_a_net_copies_its_input_and_its_loss_alone() -> None:
    net, ws = training_net()
    ws.feed("labels", np.array([0, 2]))
    x = np.random.default_rng(1).normal(size=(2, 4))
    losses = []

    def step() -> None:
        ws.feed("x", x)
        ws.run(net)
        losses.append(float(ws["loss"]))

    for _ in range(3):
        assert copies_of(step) == {"to_gpu": 1, "to_host": 1}
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize("schedule", ["rank", "tape"])
def test_a_training_step_of_variables_copies_its_input_and_its_loss_alone(schedule: str) -> None:
    draw = np.random.default_rng(0)
    with gradviz.device("cuda:0"):
        w, b = Variable(draw.normal(size=(4, 3))), Variable(np.zeros(3))
        labels = Variable(np.array([0, 2]))
    x = draw.normal(size=(2, 4))
    losses = []

    def step() -> None:
        with gradviz.device("cuda:0"):
            loss = softmax_cross_entropy(tanh(Variable(x, requires_grad=False) @ w + b), labels)
        loss.backward(schedule=schedule)
        for one in (w, b):
            one.data = one.data - 0.1 * one.grad
            one.cleargrad()
        losses.append(float(loss.data.get()))

    for _ in range(3):
        assert copies_of(step) == {"to_gpu": 1, "to_host": 1}
    assert losses == sorted(losses, reverse=True)


def test_recording_and_stepping_copy_nothing_until_somebody_looks() -> None:
    net, ws = training_net()
    ws.feed("labels", np.array([0, 2]))
    ws.feed("x", np.ones((2, 4)))
    forward = Net("forward", net.ops[:4])
    made = []

    def record() -> None:
        made.append(debug(forward, ["loss"], workspace=ws))

    assert copies_of(record) == {"to_gpu": 0, "to_host": 0}
    session = made[0]
    WORK.clear()
    for _ in range(len(session)):
        session.step()
    session.restart()
    session.run_to("a_grad")
    session.copies()
    assert not WORK["to_host"]
    session.finish()
    assert "norm" in session.narration
    assert WORK["to_host"]


def test_a_blob_that_an_operator_reads_twice_on_another_device_is_copied_once() -> None:
    net, ws = Net("twice"), Workspace()
    net.Mul(["x", "x"], "y", device="cuda:0")
    ws.feed("x", np.arange(3.0))
    assert copies_of(lambda: ws.run(net)) == {"to_gpu": 1, "to_host": 0}
