"""Parameters without a gradient in programs that are right: idle experts, models of another loss, copies."""

import copy
import random

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import gradviz
from tests.bridges.torch.doctor import ordinary


class Experts(nn.Module):
    """Of four experts those run to which a row goes."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 4)
        self.experts = nn.ModuleList([nn.Linear(4, 4) for _ in range(4)])
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        weight, chosen = self.gate(x).softmax(-1).max(-1)
        y = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = (chosen == number).nonzero().squeeze(-1)
            if rows.numel():
                y = y.index_add(0, rows, expert(x[rows]) * weight[rows, None])
        return self.head(y)


class Skipping(nn.Module):
    """A layer is left out at random."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

    def forward(self, x):
        for layer, chance in zip(self.layers, torch.tensor([0.9, 0.1]), strict=True):
            if chance > 0.5:
                x = layer(x)
        return x


@pytest.mark.parametrize("is_captured", [True, False])
@pytest.mark.parametrize("is_after", [True, False])
def test_experts_that_a_pass_does_not_choose_are_a_remark(is_captured, is_after):
    model = Experts()
    with gradviz.torch.capture(model) if is_captured else torch.enable_grad():
        loss = model(torch.ones(2, 4)).square().mean()
    if is_after:
        loss.backward()
    (found,) = gradviz.diagnose(loss, model).findings
    assert (found.kind, found.harm) == ("unused", False)
    assert {name.partition(".")[0] for name in found.names} == {"experts"}
    assert "Others like them are used, and the pass chooses by numbers which, so this seems to be on purpose." in (
        found.evidence
    )


def test_a_layer_that_is_left_out_by_a_number_is_a_remark():
    model = Skipping()
    with gradviz.torch.capture(model):
        loss = model(torch.ones(2, 4)).sum()
    (found,) = gradviz.diagnose(loss, model).findings
    assert (found.kind, found.harm, found.names) == ("unused", False, ("layers.1.weight", "layers.1.bias"))


@pytest.mark.parametrize("is_captured", [True, False])
def test_what_an_optimizer_has_moved_before_is_a_remark(is_captured):
    layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
    optimizer = torch.optim.Adam(layers.parameters())
    for number in range(2):
        with gradviz.torch.capture(layers) if is_captured else torch.enable_grad():
            loss = layers[number](torch.ones(2, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    (found,) = gradviz.diagnose(loss, layers).findings
    assert (found.kind, found.harm, found.names) == ("unused", False, ("0.weight", "0.bias"))
    assert "An optimizer has moved them in an earlier step, so this seems to be on purpose." in found.evidence


def losses_of_several():
    """A critic whose target is an average of it, and an actor, in one capture."""
    actor, critic = nn.Linear(4, 4), nn.Linear(4, 1)
    target = copy.deepcopy(critic)
    with torch.no_grad():
        value = target(actor(torch.ones(2, 4)))
    F.mse_loss(critic(torch.ones(2, 4)), value).backward()
    return -critic(actor(torch.ones(2, 4))).mean(), (actor, critic, target)


@pytest.mark.parametrize("is_given", [True, False])
def test_a_copy_that_another_loss_reads_is_a_remark(is_given):
    with gradviz.torch.capture():
        loss, models = losses_of_several()
        found = gradviz.diagnose(loss, models if is_given else None)
    assert found.is_healthy, str(found)
    assert [one.names for one in found.findings if one.kind == "unused"] == [("target.weight", "target.bias")]


def test_a_model_that_was_given_and_whose_result_is_not_used_is_harm():
    encoder, decoder = nn.Linear(4, 4), nn.Linear(4, 3)
    with gradviz.torch.capture():
        x = torch.ones(2, 4)
        encoder(x)
        loss = decoder(x).sum()
    assert not gradviz.diagnose(loss, [encoder, decoder]).is_healthy
    assert gradviz.diagnose(loss).is_healthy


def penalized():
    """The gradient penalty of a critic, for data that another model makes without gradients."""
    maker, critic = nn.Linear(4, 4), nn.Linear(4, 1)
    with torch.no_grad():
        fake = maker(torch.ones(3, 4))
    mix = (fake / 2 + 1).requires_grad_()
    out = critic(mix).tanh()
    (gradient,) = torch.autograd.grad(out.sum(), mix, create_graph=True)
    loss = critic(fake).mean() - critic(torch.ones(3, 4)).mean() + (gradient.norm(dim=1) - 1).square().mean()
    return loss, (maker, critic)


def test_a_model_that_makes_data_for_a_critic_with_a_penalty_is_a_remark():
    with gradviz.torch.capture():
        loss, _models = penalized()
    found = gradviz.diagnose(loss)
    assert found.is_healthy, str(found)
    assert {"maker.weight", "maker.bias"} in [{*one.names} for one in found.findings]


def test_a_copy_of_a_model_does_not_read_it():
    model = nn.Linear(4, 1)
    with gradviz.torch.capture(model):
        fast = copy.deepcopy(model)
        loss = fast(torch.ones(2, 4)).square().mean()
    assert gradviz.diagnose(loss).is_healthy


def test_gradients_that_a_scaler_has_made_larger_are_not_huge_whichever_loss_is_asked_about():
    model, scaler = nn.Linear(4, 1), torch.amp.GradScaler("cpu", init_scale=2.0**20)
    loss = (model(torch.ones(2, 4)) - 3).square().mean()
    scaler.scale(loss).backward()
    assert not gradviz.diagnose(loss, model).findings


class Heads(nn.Module):
    """A trunk, and a head for each task, of which a pass uses one."""

    def __init__(self, heads):
        super().__init__()
        self.trunk, self.heads = nn.Linear(4, 4), heads

    def forward(self, x, task):
        return self.heads[task](self.trunk(x))


@pytest.mark.parametrize("is_captured", [True, False])
@pytest.mark.parametrize(
    ("heads", "tasks"),
    [
        (lambda: nn.ModuleList([nn.Linear(4, 2) for _ in range(3)]), [0, 1, 2, 0]),
        (lambda: nn.ModuleDict({task: nn.Linear(4, 2) for task in "abc"}), ["a", "b", "c", "a"]),
    ],
)
def test_heads_of_which_each_step_uses_one_are_a_remark(heads, tasks, is_captured):
    model = Heads(heads())
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    findings = []
    for task in tasks:
        with gradviz.torch.capture(model) if is_captured else torch.enable_grad():
            loss = model(torch.ones(2, 4), task).square().mean()
        found = gradviz.diagnose(loss, model)
        assert found.is_healthy, str(found)
        findings.append(found.findings[0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert (findings[0].kind, len(findings[0].names)) == ("unused", 4)
    assert findings[0].sentence.endswith(
        "Others in `heads` are used: one pass does not tell whether it chooses, or they are forgotten."
    )


class Drawing(nn.Module):
    """Two layers without a number, one of which is left out at random."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, chance=1.0):
        x = self.first(x)
        return x if random.random() < chance else self.last(x)


@pytest.mark.parametrize("is_captured", [True, False])
def test_a_layer_that_is_left_out_by_a_random_number_of_python_is_a_remark(is_captured):
    model = Drawing()
    with gradviz.torch.capture(model) if is_captured else torch.enable_grad():
        loss = model(torch.ones(2, 4)).sum()
    (found,) = gradviz.diagnose(loss, model).findings
    assert (found.kind, found.harm, found.names) == ("unused", False, ("last.weight", "last.bias"))
    assert "`Drawing` draws random numbers in Python" in found.evidence[-1]


class Branches(nn.Module):
    """Two heads without a number."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, *, is_right):
        return self.right(x) if is_right else self.left(x)


@pytest.mark.parametrize("is_captured", [True, False])
def test_a_branch_that_earlier_passes_have_used_is_a_remark(is_captured):
    model = Branches()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for step in range(2 if is_captured else 40):
        with gradviz.torch.capture(model) if is_captured else torch.enable_grad():
            loss = model(torch.ones(2, 4), is_right=step % 2).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    optimizer.zero_grad()
    found = gradviz.diagnose(loss, model)
    (unused,) = [one for one in found.findings if one.kind == "unused"]
    assert (unused.harm, unused.names) == (False, ("left.weight", "left.bias"))


def test_a_member_of_a_list_that_is_read_for_nothing_is_harm():
    model = nn.Module()
    model.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
    with gradviz.torch.capture(model):
        x = torch.ones(2, 4)
        for layer in model.layers:
            y = layer(x)
        loss = y.sum()
    (found,) = gradviz.diagnose(loss, model).findings
    assert (found.kind, found.harm, len(found.names)) == ("unused", True, 4)


def criticized(smaller):
    """A policy, its two critics, of which one is greater everywhere, and what the smaller one says of it."""
    policy, *critics = (nn.Sequential(nn.Linear(start, 3), nn.Tanh(), nn.Linear(3, end)) for start, end in SIZES)
    with torch.no_grad():
        critics[0][2].bias.add_(9)
    x = torch.randn(5, 4)
    pair = torch.cat([x, policy(x)], 1)
    return policy, critics, -smaller(critics[0](pair), critics[1](pair)).mean()


SIZES = [(4, 2), (6, 1), (6, 1)]


@pytest.mark.parametrize("smaller", [torch.minimum, torch.fmin, lambda one, other: torch.cat([one, other], 1).amin(1)])
@pytest.mark.parametrize("is_captured", [True, False])
def test_a_critic_that_another_one_undercuts_everywhere_is_a_remark(smaller, is_captured):
    with gradviz.torch.capture() if is_captured else torch.enable_grad():
        policy, critics, loss = criticized(smaller)
    (found,) = gradviz.diagnose(loss, [policy, *critics]).findings
    assert (found.kind, found.harm) == ("zero", False)
    assert "sends only zeros on the way to" in found.sentence
    assert gradviz.diagnose(loss, policy).is_healthy


def test_parameters_of_another_model_are_not_said_to_be_all_of_this_one():
    with gradviz.torch.capture():
        policy, _, loss = criticized(torch.minimum)
    (found,) = gradviz.diagnose(loss, policy).findings
    assert not found.sentence.startswith("All")


def test_after_a_pass_gates_of_zeros_are_no_dead_relu():
    loss, model = ordinary.residual_zero_gates()
    loss.backward()
    (found,) = gradviz.diagnose(loss, model).findings
    assert (found.kind, found.harm) == ("zero", False)
    assert {name.partition(".")[0] for name in found.names} == {"layers"}


@pytest.mark.parametrize("is_given", [True, False])
def test_a_trunk_that_two_models_share_is_one_module_of_both(is_given):
    trunk = nn.Linear(4, 3)
    actor, critic = nn.Sequential(trunk, nn.Tanh(), nn.Linear(3, 2)), nn.Sequential(trunk, nn.Tanh(), nn.Linear(3, 1))
    x = torch.ones(2, 4)
    with gradviz.torch.capture():
        loss = actor(x).square().mean() + critic(x).square().mean()
    del trunk
    found = gradviz.diagnose(loss, [actor, critic] if is_given else None)
    assert not found.findings, str(found)
    assert "6 parameters" in str(found)
