"""What is done with gradients after a backward pass, and reaches no parameter."""

from contextlib import nullcontext

import pytest
import torch
from msgspec.structs import replace
from torch import nn

import gradviz

X, Y = torch.linspace(-1, 1, 32).view(8, 4), torch.linspace(0, 1, 8)


def sgd(*tensors):
    return torch.optim.SGD(tensors, 0.1)


def loss_of(model):
    return (model(X).squeeze(1) - Y).square().mean()


def test_gradients_that_are_put_to_zero_before_the_step_are_found():
    model = nn.Linear(4, 1)
    optimizer = sgd(*model.parameters())
    with gradviz.torch.capture(model):
        for _ in range(2):
            loss = loss_of(model)
            loss.backward()
            optimizer.zero_grad()
            optimizer.step()
    (found,) = gradviz.diagnose(loss, model).findings
    assert (found.kind, found.harm, set(found.names)) == ("emptied", True, {"weight", "bias"})
    assert found.line.text == "optimizer.zero_grad()"
    step = replace(found.line, number=found.line.number + 1)
    assert found.sentence == (
        f"The optimizer's step in {step} has no gradient to use: they were put to zero in {found.line}, after "
        "backward() and before it."
    )


@pytest.mark.parametrize("goes_back", [True, False])
def test_a_step_without_a_pass_is_found(goes_back):
    model = nn.Linear(4, 1)
    optimizer = sgd(*model.parameters())
    with gradviz.torch.capture(model):
        for _ in range(2):
            optimizer.zero_grad()
            loss = loss_of(model)
            if goes_back:
                loss.backward()
            optimizer.step()
    findings = gradviz.diagnose(loss, model).findings
    assert [(one.kind, one.harm, one.line.text) for one in findings] == (
        [] if goes_back else [("forgotten", True, "optimizer.step()")]
    )


@pytest.mark.parametrize("is_late", [True, False])
def test_gradients_that_are_clipped_after_the_step_are_found(is_late):
    model = nn.Linear(4, 1)
    optimizer = sgd(*model.parameters())
    with gradviz.torch.capture(model):
        for _ in range(2):
            optimizer.zero_grad()
            loss = loss_of(model)
            loss.backward()
            if is_late:
                optimizer.step()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if not is_late:
                optimizer.step()
    findings = [one for one in gradviz.diagnose(loss, model).findings if one.harm]
    assert [(one.kind, one.line.text) for one in findings] == (
        [("late", "nn.utils.clip_grad_norm_(model.parameters(), 1.0)")] if is_late else []
    )


def test_gradients_that_are_kept_and_changed_after_the_step_are_the_users():
    model = nn.Linear(4, 1)
    optimizer = sgd(*model.parameters())
    with gradviz.torch.capture(model):
        for _ in range(2):
            loss = loss_of(model)
            loss.backward()
            optimizer.step()
            for one in model.parameters():
                one.grad.mul_(0.9)
    assert "late" not in [one.kind for one in gradviz.diagnose(loss, model).findings]


def test_a_step_that_comes_before_the_pass_of_its_round_is_found():
    model = nn.Linear(4, 1)
    optimizer = sgd(*model.parameters())
    with gradviz.torch.capture(model):
        for _ in range(2):
            optimizer.zero_grad()
            loss = loss_of(model)
            optimizer.step()
            loss.backward()
    (found,) = gradviz.diagnose(loss, model).findings
    assert (found.kind, found.line.text) == ("emptied", "optimizer.zero_grad()")


def test_gradients_of_tensors_that_no_module_has_are_found_to_be_put_away():
    w = torch.ones(4, requires_grad=True)
    with gradviz.torch.capture():
        loss = (X @ w - Y).square().mean()
        loss.backward()
        w.grad = None
        sgd(w).step()
    (found,) = gradviz.diagnose(loss).findings
    assert (found.kind, found.names, found.line.text) == ("emptied", ("w",), "w.grad = None")


def test_an_optimizer_of_another_model_is_found_though_that_is_still_there():
    model, other = nn.Linear(4, 1), nn.Linear(4, 1)
    optimizer = sgd(*other.parameters())
    with gradviz.torch.capture(model):
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
    (found,) = gradviz.diagnose(loss, model).findings
    assert (found.kind, found.harm, found.line.text) == ("replaced", True, "optimizer.step()")
    assert found.sentence == (
        "`weight` and `bias` get a gradient, but no optimizer holds them: the one that makes a step in "
        f"{found.line} was given others."
    )


@pytest.mark.parametrize("is_after", [False, True])
def test_an_optimizer_of_a_model_that_was_since_made_anew_is_found_without_a_capture(is_after):
    model = nn.Linear(4, 1)
    optimizer = sgd(*model.parameters())  # it is looked for in variables
    model = nn.Linear(4, 1)
    loss = loss_of(model)
    if is_after:
        loss.backward()
    found = gradviz.diagnose(loss, model).findings[0]
    assert (found.kind, found.names) == ("replaced", ("weight", "bias"))
    assert found.sentence.endswith("one still holds 2 parameters that no module has any more.")
    optimizer = sgd(*model.parameters())  # noqa: F841
    assert gradviz.diagnose(loss, model).is_healthy


@pytest.mark.parametrize("is_tracked", [True, False])
def test_a_parameter_that_only_gives_its_name_to_its_new_value_is_found(is_tracked):
    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 1))
    with gradviz.torch.capture(model):
        for _ in range(2):
            loss = loss_of(model)
            loss.backward()
            with nullcontext() if is_tracked else torch.no_grad():
                for p in model.parameters():
                    p = p - 0.1 * p.grad
            model.zero_grad()
    (found,) = gradviz.diagnose(loss, model).findings
    assert (found.kind, len(found.names)) == ("rebuilt", 4)
    assert found.line.text.startswith("p = p - 0.1 * p.grad")
    assert found.sentence.startswith(f"All 4 parameters stay as they are in {found.line}: ")


def in_place():
    model = nn.Linear(4, 1)
    with gradviz.torch.capture(model):
        for _ in range(2):
            loss = loss_of(model)
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.1 * p.grad
                    p.grad.zero_()
    return loss, model


def written_back():
    model = nn.Linear(4, 1)
    with gradviz.torch.capture(model):
        loss = loss_of(model)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(p - 0.1 * p.grad)
    return loss, model


def in_an_inner_loop():
    model = nn.Linear(4, 1)
    with gradviz.torch.capture(model):
        loss = loss_of(model)
        loss.backward()
        fast = {name: one - 0.1 * one.grad for name, one in model.named_parameters()}
        torch.func.functional_call(model, fast, X).square().mean()
    return loss, model


def zeroed_for_the_next_pass():
    model = nn.Linear(4, 1)
    optimizer = sgd(*model.parameters())
    with gradviz.torch.capture(model):
        loss = loss_of(model)
        loss.backward()
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
    return loss, model


def zeroed_after_the_step_and_before_that_of_another():
    model, other = nn.Linear(4, 1), nn.Linear(4, 1)
    first, second = sgd(*model.parameters()), sgd(*other.parameters())
    with gradviz.torch.capture(model):
        loss = loss_of(model)
        loss.backward()
        first.step()
        first.zero_grad()
        second.step()
    return loss, model


def stepped_after_another():
    model, other = nn.Linear(4, 1), nn.Linear(4, 1)
    optimizers = sgd(*other.parameters()), sgd(*model.parameters())
    with gradviz.torch.capture(model, other):
        loss_of(other).backward()
        loss = loss_of(model)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
    return loss, model


def judged_and_forged():
    maker, judge = nn.Linear(4, 4), nn.Linear(4, 1)
    first, second = sgd(*judge.parameters()), sgd(*maker.parameters())
    with gradviz.torch.capture(maker, judge):
        for _ in range(2):
            fake = maker(X)
            loss = loss_of(judge) + judge(fake.detach()).mean()
            first.zero_grad()
            loss.backward()
            first.step()
            second.zero_grad()
            judge(fake).mean().backward()
            first.zero_grad()
            second.step()
    return loss, judge


@pytest.mark.parametrize(
    "program",
    [
        judged_and_forged,
        in_place,
        written_back,
        in_an_inner_loop,
        zeroed_for_the_next_pass,
        zeroed_after_the_step_and_before_that_of_another,
        stepped_after_another,
    ],
)
def test_updates_that_reach_parameters_are_healthy(program):
    found = gradviz.diagnose(*program())
    assert found.is_healthy, str(found)
