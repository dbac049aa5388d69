"""Programs with nothing wrong: the doctor finds no harm, and leaves everything as it was."""

import inspect
import re
from contextlib import nullcontext, suppress

import pytest
import torch
from torch.nn import functional as F

import gradviz
from tests.bridges.torch.doctor import healthy, loops, on_purpose, ordinary, turns
from tests.bridges.torch.models import MODELS

PROGRAMS = {
    name: (module, one)
    for module in (healthy, on_purpose, ordinary, loops, turns)
    for name, one in vars(module).items()
    if inspect.isfunction(one) and one.__module__ == module.__name__ and not inspect.signature(one).parameters
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_is_harmful(program):
    found = gradviz.diagnose(*PROGRAMS[program][1]())
    assert found.is_healthy, str(found)
    assert str(found).startswith("Nothing is wrong: ")


@pytest.mark.parametrize("program", PROGRAMS)
def test_nor_without_a_capture(program, monkeypatch):
    monkeypatch.setattr(PROGRAMS[program][0], "capture", lambda *models: nullcontext())
    found = gradviz.diagnose(*PROGRAMS[program][1]())
    assert found.is_healthy, str(found)


@pytest.mark.parametrize("program", PROGRAMS)
def test_nor_after_backward(program):
    loss, model = PROGRAMS[program][1]()
    if not gradviz.diagnose(loss, model).findings and loss.grad_fn is not None:
        with suppress(RuntimeError):  # the program itself has gone backward
            loss.backward()
    found = gradviz.diagnose(loss, model)
    assert found.is_healthy, str(found)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("is_captured", [True, False])
def test_models_are_healthy_before_and_after_backward(name, is_captured):
    torch.manual_seed(0)
    with gradviz.torch.capture() if is_captured else nullcontext():
        model, loss = MODELS[name]()
    before = gradviz.diagnose(loss, model)
    assert before.is_healthy, str(before)
    loss.backward()
    after = gradviz.diagnose(loss, model)
    assert after.is_healthy, str(after)


def test_one_sentence_says_what_was_looked_at():
    loss, model = healthy.rich()
    said = r"Nothing is wrong: 6 parameters, \d+ operators and \d+ saved tensors were looked at\."
    assert re.fullmatch(said, str(gradviz.diagnose(loss, model)))


def test_everything_stays_as_it_was():
    torch.manual_seed(0)
    loss, model = healthy.rich()
    grads = [torch.ones_like(one) for one in model.parameters()]
    for one, grad in zip(model.parameters(), grads, strict=True):
        one.grad = grad
    state, versions = torch.get_rng_state(), [grad._version for grad in grads]
    gradviz.diagnose(loss, model)
    assert torch.equal(state, torch.get_rng_state())
    assert torch.is_grad_enabled()
    assert all(one.grad is grad for one, grad in zip(model.parameters(), grads, strict=True))
    assert [grad._version for grad in grads] == versions
    loss.backward()


def test_inside_a_capture_the_diagnosis_is_not_captured():
    model, (x, y) = healthy.Two(), healthy.data()
    with gradviz.torch.capture(model) as seen:
        loss = F.cross_entropy(model(x), y)
        count = len(seen.flow.steps)
        assert gradviz.diagnose(loss, model).is_healthy
        assert len(seen.flow.steps) == count
