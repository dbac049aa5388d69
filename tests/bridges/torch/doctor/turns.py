"""Networks that take turns, copies that follow, adapters, physics: the doctor finds no harm."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

import gradviz

capture = gradviz.torch.capture


class Salon(nn.Module):
    def __init__(self):
        super().__init__()
        self.alice = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        self.bob = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 1))

    def forward(self, z, real):
        fake = self.alice(z)
        judged = F.softplus(self.bob(fake.detach())).mean() + F.softplus(-self.bob(real)).mean()
        return judged, F.softplus(-self.bob(fake)).mean()


def judged_in_one_module():
    salon = Salon()
    with capture(salon):
        judged, _ = salon(torch.randn(8, 4), torch.randn(8, 2))
    return judged, salon


def judged_without_gradients():
    salon = Salon()
    with capture(salon):
        with torch.no_grad():
            fake = salon.alice(torch.randn(8, 4))
        loss = salon.bob(fake).mean() - salon.bob(torch.randn(8, 2)).mean()
    return loss, salon


def painted_for_a_frozen_one():
    salon = Salon()
    salon.bob.requires_grad_(False)
    with capture(salon):
        _, loss = salon(torch.randn(8, 4), torch.randn(8, 2))
    return loss, salon


class Smoothed(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(6, 4)
        self.smooth = copy.deepcopy(self.net)

    def forward(self, x):
        return self.net(x)


def followed_by_a_copy():
    model = Smoothed()
    optimizer = torch.optim.SGD(model.net.parameters(), 0.1)
    with capture(model):
        for _ in range(2):
            loss = model(torch.randn(3, 6)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for mean, own in zip(model.smooth.parameters(), model.net.parameters(), strict=True):
                    mean.lerp_(own, 0.1)
        optimizer.zero_grad()
        loss = model(torch.randn(3, 6)).square().mean()
    return loss, model


class Adapted(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + x @ self.a.t() @ self.b.t()


def adapted_twice():
    model = nn.Sequential(Adapted(nn.Linear(6, 6)), nn.ReLU(), Adapted(nn.Linear(6, 3)))
    with capture(model):
        loss = F.cross_entropy(model(torch.randn(8, 6)), torch.randint(0, 3, (8,)))
    return loss, model


def of_second_order():
    u = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    with capture(u):
        x = torch.linspace(0, 1, 8).unsqueeze(1).requires_grad_()
        y = u(x)
        (dy,) = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)
        (d2y,) = torch.autograd.grad(dy, x, torch.ones_like(dy), create_graph=True)
        residual = (d2y + math.pi**2 * torch.sin(math.pi * x)).square().mean()
        losses = [residual, u(torch.zeros(1, 1)).square().mean()]
        loss = sum(losses)
    return loss, u


def with_a_baseline():
    policy = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    with capture(policy):
        said, rewards = [], []
        for _ in range(5):
            choice = torch.distributions.Categorical(logits=policy(torch.randn(4)))
            action = choice.sample()
            said.append(choice.log_prob(action))
            rewards.append(torch.randn(()).item())
        loss = -torch.stack(said).sum() * (sum(rewards) - 0.1)
    return loss, policy


def scaled_and_clipped():
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    scaler = torch.amp.GradScaler("cpu")
    with capture(model):
        for is_last in (False, True):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(torch.randn(4, 6)), torch.tensor([0, 1, 2, 0]))
            loss = scaler.scale(loss)
            if not is_last:
                loss.backward()
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
                schedule.step()
    return loss, model


def _scaled(backwards):
    """Passes that are each in a capture of their own, of which so many have gone backward."""
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model.scaler = scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40)
    for number in range(2):
        optimizer.zero_grad()
        with capture(model):
            loss = scaler.scale(F.cross_entropy(model(torch.randn(4, 6)), torch.tensor([0, 1, 2, 0])))
            if number < backwards:
                loss.backward()
                scaler.step(optimizer)
                scaler.update()
    return loss, model


def scaled_in_a_capture_of_its_own():
    return _scaled(1)


def scaled_and_stepped_in_a_capture_of_its_own():
    return _scaled(2)


def in_micro_batches():
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with capture(model):
        for number in range(6):
            if number % 3 == 0:
                optimizer.zero_grad()
            loss = F.cross_entropy(model(torch.randn(4, 6)), torch.randint(0, 3, (4,))) / 3
            if number == 5:
                break
            loss.backward()
            if number % 3 == 2:
                optimizer.step()
    return loss, model
