"""Mistakes of who learns to train: units that are all the same, sums that keep graphs, a learning rate of 0."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import gradviz

X, Y = torch.linspace(-1, 1, 24).view(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


@pytest.mark.parametrize("is_after", [True, False])
def test_units_that_are_all_the_same_are_harm_after_steps_too(is_after):
    model = net()
    for parameter in model.parameters():
        nn.init.constant_(parameter, 0.5)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(X), Y)
        if is_after:
            loss.backward()
        found = gradviz.diagnose(loss, model).findings
        assert [(one.kind, one.harm, one.names) for one in found] == [("symmetric", True, ("0.weight",))]
        optimizer.step()
    assert found[0].sentence.startswith("The 8 units of `0` have the same weights and get the same gradient")


@pytest.mark.parametrize("is_after", [True, False])
def test_weights_of_zeros_are_harm_before_and_after_a_pass(is_after):
    model = net()
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    loss = F.cross_entropy(model(X), torch.tensor([0, 0, 1, 0, 0, 2]))
    if is_after:
        loss.backward()
    (found,) = gradviz.diagnose(loss, model).findings
    assert (found.kind, found.harm) == ("zero", True)
    assert "`0.weight` are all zeros, and so is what is computed with them." in found.sentence


def test_units_that_dropout_makes_different_are_no_finding():
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Tanh(), nn.Linear(8, 3))
    for parameter in model.parameters():
        nn.init.constant_(parameter, 0.5)
    torch.manual_seed(0)
    assert not gradviz.diagnose(F.cross_entropy(model(X), Y), model).findings


def test_outputs_that_are_all_the_same_are_no_finding():
    model = net()
    nn.init.constant_(model[2].weight, 0.5)
    nn.init.constant_(model[2].bias, 0.5)
    assert not gradviz.diagnose(model(X).sum(), model).findings


@pytest.mark.parametrize("decay", [0, 0.1])
@pytest.mark.parametrize("is_of_numbers", [True, False])
def test_a_sum_of_losses_with_their_graphs_is_a_remark(is_of_numbers, decay):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    total = 0
    with gradviz.torch.capture(model):
        for _ in range(4):
            loss = F.cross_entropy(model(X), Y)
            loss = loss + decay * model[0].weight.square().sum() if decay else loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach() if is_of_numbers else loss
    found = gradviz.diagnose(loss, model).findings
    if is_of_numbers:
        assert not found
        return
    (found,) = found
    assert (found.kind, found.harm, found.names) == ("running", False, ("total",))
    assert found.sentence.startswith("`total` adds up the losses of 4 passes in test_learners.py:")


def test_a_loss_of_several_terms_is_no_sum_over_passes():
    model = net()
    terms = [F.cross_entropy(model(X), Y), *(one.square().sum() for one in model.parameters())]
    loss = terms[0]
    total = sum(terms)
    total.backward()
    assert gradviz.diagnose(loss, model).findings == []


@pytest.mark.parametrize("is_warming_up", [True, False])
def test_a_learning_rate_of_0_is_found_unless_it_is_that_of_the_first_step_alone(is_warming_up):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1 if is_warming_up else 0.0)
    optimizer.param_groups[0]["lr"] = 0.0
    found = gradviz.diagnose(F.cross_entropy(model(X), Y), model).findings
    with gradviz.torch.capture(model):
        loss = F.cross_entropy(model(X), Y)
        loss.backward()
        optimizer.step()
    then = gradviz.diagnose(loss, model).findings
    assert [(one.kind, one.harm) for one in (*found, *then)] == (
        [] if is_warming_up else [("still", False), ("still", True)]
    )
