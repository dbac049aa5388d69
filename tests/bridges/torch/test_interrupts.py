"""What ends a pass in the middle: an interrupt is the last event; whatever is raised leaves everything as it was."""

import os
import signal

import pytest
import torch

import gradviz
from tests.bridges.torch.models import Checkpointed, classified

pytestmark = pytest.mark.usefixtures("ctrl_c")

GOES_ON = (KeyboardInterrupt, SystemExit)
"""What no recording keeps from the user."""


def interrupted(times):
    """A loss whose backward pass is interrupted so often before its second node runs; with what is on the way."""
    w = torch.ones(3, requires_grad=True)
    h = w * 3
    y = h * 2

    def interrupt(gradient):
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)

    y.register_hook(interrupt)
    return y.sum(), h, w


@pytest.mark.parametrize("options", [{}, {"budget": 0}])
def test_an_interrupt_ends_the_pass_after_the_node_that_runs(options):
    loss, _, w = interrupted(1)
    session = gradviz.debug(loss, **options)
    session.finish()
    assert (session.event.kind, session.event.error) == ("Failed", "interrupted")
    assert "Interrupted by you after MulBackward0 had run" in session.narration
    assert session.value("mul_1_grad").tolist() == [1, 1, 1]
    assert w.grad is None


def test_a_second_interrupt_goes_on():
    loss, h, w = interrupted(2)
    h.retain_grad()
    h.grad = held = torch.zeros(3)
    with pytest.raises(KeyboardInterrupt):
        gradviz.debug(loss)
    assert h.grad is held
    assert w.grad is None


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("kind", [*GOES_ON, MemoryError])
def test_whatever_a_hook_raises_leaves_everything_as_it_was(kind, write):
    w = torch.ones(3, requires_grad=True)
    h = w * 3
    h.retain_grad()
    h.grad = held = torch.zeros(3)

    def fail(gradient):
        raise kind("no more")

    handle = h.register_hook(fail)
    loss = (h * 2).sum()
    state = torch.get_rng_state()
    if issubclass(kind, GOES_ON):
        with pytest.raises(kind):
            gradviz.debug(loss, write=write)
    else:
        session = gradviz.debug(loss, write=write)
        session.finish()
        who = "A hook" if write else "A hook of the gradient of h"  # which tensors have hooks is not looked for then
        assert session.narration == f"The pass stops here. {who} raised MemoryError: no more."
    assert write or h.grad is held
    assert w.grad is None
    assert torch.is_grad_enabled()
    assert torch.equal(state, torch.get_rng_state())
    handle.remove()
    if not write:
        loss.backward()
        assert w.grad.tolist() == [6, 6, 6]


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, ArithmeticError])
def test_a_checkpoint_that_is_left_has_put_every_gradient_back(kind, write):
    model, loss = classified(Checkpointed(reentrant=True), 3, 4)
    weight = model.middle[0].weight
    weight.grad = held = torch.ones_like(weight)

    def fail(gradient):
        raise kind

    handle = weight.register_hook(fail)
    backward = torch.autograd.backward
    if kind is KeyboardInterrupt:
        with pytest.raises(kind):
            gradviz.debug(loss, write=write)
    else:
        assert gradviz.debug(loss, write=write).events[-1].kind == "Failed"
    handle.remove()
    assert torch.autograd.backward is backward
    assert weight.grad is held
    assert held.eq(1).all()
    assert write or model.first.weight.grad is None
