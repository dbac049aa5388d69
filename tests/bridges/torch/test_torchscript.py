"""Modules of TorchScript: they are recorded and diagnosed as others are, and what cannot be asked of them is said."""

import pytest
import torch
from torch import nn

import gradviz

X = torch.randn(8, 3, generator=torch.Generator().manual_seed(2))

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")


@pytest.fixture(params=["script", "trace"])
def scripted(request):
    """A module, and the one that was made of it."""
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    return model, torch.jit.script(model) if request.param == "script" else torch.jit.trace(model, X)


@pytest.mark.parametrize("runs", [0, 3])
def test_it_is_recorded_and_healthy_before_and_after_it_is_optimized(scripted, runs):
    _, made = scripted
    for _ in range(runs):  # after two, operators of one region become one
        made(X).square().mean().backward()
    made.zero_grad()
    with gradviz.torch.capture(made):
        loss = made(X).square().mean()
    diagnosis = gradviz.diagnose(loss, made)
    assert diagnosis.is_healthy, diagnosis
    assert not diagnosis.findings
    session = gradviz.debug(loss)
    loss.backward()
    for name, parameter in made.named_parameters():
        assert torch.equal(torch.tensor(session.value(f"{name}_grad")), parameter.grad)


def test_a_relu_that_is_dead_in_it_is_told():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    nn.init.constant_(model[0].bias, -100.0)
    made = torch.jit.script(model)
    for _ in range(3):
        loss = made(X).square().mean()
    found = gradviz.diagnose(loss, made)
    assert "get a gradient of zeros" in str(found)


def test_it_cannot_be_checked_and_it_is_said_what_can(scripted):
    model, made = scripted
    for one, says in ((made, "A module of TorchScript runs outside of Python"), (model, "agree")):

        def compute(one=one):
            return one(X).square().mean()

        view = gradviz.debug(compute(), forward=compute).check("all")
        assert says in str(view), view
