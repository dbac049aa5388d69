"""Programs with nothing wrong, some of them suspicious at first sight: the doctor finds no harm."""

import copy

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import gradviz
from tests.bridges.torch.doctor.faulty import Two, data

capture = gradviz.torch.capture


def step(model, optimizer, x, y):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def trained():
    x, y = data()
    model = Two()
    optimizer = torch.optim.Adam(model.parameters())
    with capture(model):
        for _ in range(3):
            loss = step(model, optimizer, x, y)
    return loss, model


def trained_and_again():
    x, y = data()
    model = Two()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with capture(model):
        for _ in range(2):
            step(model, optimizer, x, y)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
    return loss, model


def zeroed_after_the_step():
    x, y = data()
    model = Two()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with capture(model):
        for _ in range(2):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
    return loss, model


def not_captured():
    x, y = data()
    model = Two()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        loss = step(model, optimizer, x, y)
    return loss, model


def accumulated():
    x, y = data(8)
    model = Two()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with capture(model):
        for _ in range(2):
            optimizer.zero_grad()
            for part in range(4):
                loss = F.cross_entropy(model(x[2 * part : 2 * part + 2]), y[2 * part : 2 * part + 2]) / 4
                loss.backward()
            optimizer.step()
    return loss, model


def accumulating():
    x, y = data()
    model = Two()
    with capture(model):
        F.cross_entropy(model(x), y).backward()
        loss = F.cross_entropy(model(x), y)
    return loss, model


def clipped():
    x, y = data()
    model = Two()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with capture(model):
        for _ in range(2):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
    return loss, model


def stepped_by_hand():
    x, _ = data()
    w = torch.ones(6, 3, requires_grad=True)
    with capture():
        for _ in range(3):
            loss = (x @ w).square().mean()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
                w.grad = None
    return loss, None


def frozen_backbone():
    x, y = data()
    model = Two()
    model.encoder.requires_grad_(False)
    with capture(model):
        loss = F.cross_entropy(model(x), y)
    return loss, model


class Gan(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 8), nn.Linear(8, 6)

    def forward(self, x):
        return self.last(F.leaky_relu(self.first(x)))


def discriminator():
    x, _ = data()
    generator, judge = Gan(), Two()
    with capture(generator, judge):
        fake = generator(torch.randn(5, 6))
        loss = F.softplus(judge(fake.detach())).mean() + F.softplus(-judge(x)).mean()
    return loss, judge


def discriminator_of_both():
    loss, _ = discriminator()
    return loss, None


def generator():
    generator, judge = Gan(), Two()
    with capture(generator, judge):
        loss = F.softplus(-judge(generator(torch.randn(5, 6)))).mean()
    return loss, generator


class Student(nn.Module):
    """With a teacher that follows it."""

    def __init__(self):
        super().__init__()
        self.online = Two()
        self.target = copy.deepcopy(self.online)

    def forward(self, x):
        with torch.no_grad():
            aim = self.target(x)
        return F.mse_loss(self.online(x + 0.1), aim)


def target_network():
    x, _ = data()
    model = Student()
    with capture(model):
        loss = model(x)
    return loss, model


def moving_average():
    x, _ = data()
    model = Student()
    optimizer = torch.optim.SGD(model.online.parameters(), 0.1)
    with capture(model):
        for _ in range(2):
            loss = model(x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for own, other in zip(model.target.parameters(), model.online.parameters(), strict=True):
                    own.mul_(0.9).add_(other, alpha=0.1)
        loss = model(x)
    return loss, model


def value_and_target():
    x, _ = data()
    online = Two()
    target = copy.deepcopy(online)
    with capture(online, target):
        value = online(x).max(1).values
        with torch.no_grad():
            best = target(x).max(1).values
        loss = F.smooth_l1_loss(value, 1 + 0.9 * best)
    return loss, None


class Rich(nn.Module):
    """Dropout, batch normalization, relus in place."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(inplace=True), nn.Dropout(0.5), nn.Linear(32, 3)
        )

    def forward(self, x):
        return self.body(x)


def rich():
    x, y = data(16)
    model = Rich()
    with capture(model):
        loss = F.cross_entropy(model(x), y)
    return loss, model


def rich_twice():
    x, y = data(16)
    model = Rich()
    with capture(model):
        loss = F.cross_entropy(model(x), y) + F.cross_entropy(model(x + 1), y)
    return loss, model


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
        self.head.weight = self.words.weight

    def forward(self, x):
        return self.head(self.words(x))


def tied():
    model, x = Tied(), torch.randint(7, (9,))
    with capture(model):
        loss = F.cross_entropy(model(x), x)
    return loss, model


def logged():
    x, y = data()
    model = Two()
    history = []
    with capture(model):
        out = model(x)
        loss = F.cross_entropy(out, y)
        history.append(loss.item())
        (out.argmax(1) == y).float().mean().item()
        out.detach().numpy()
    return loss, model


class Masked(Two):
    """Attention that may not look everywhere."""

    def forward(self, x):
        h = torch.tanh(self.encoder(x))
        scores = (h @ h.T).masked_fill(~torch.ones(len(x), len(x), dtype=torch.bool).tril(), -torch.inf)
        return self.head(scores.softmax(1) @ h)


def masked():
    x, y = data()
    model = Masked()
    with capture(model):
        loss = F.cross_entropy(model(x), y)
    return loss, model


class StraightThrough(Two):
    def forward(self, x):
        h = torch.tanh(self.encoder(x))
        return self.head(h + (h.round() - h).detach())


def straight_through():
    x, y = data()
    model = StraightThrough()
    with capture(model):
        loss = F.cross_entropy(model(x), y)
    return loss, model


class Again(Two):
    def __init__(self, *, use_reentrant):
        super().__init__()
        self.use_reentrant = use_reentrant

    def forward(self, x):
        h = checkpoint(self.encoder, x, use_reentrant=self.use_reentrant)
        return self.head(torch.tanh(h))


def checkpointed():
    x, y = data()
    model = Again(use_reentrant=False)
    with capture(model):
        loss = F.cross_entropy(model(x), y)
    return loss, model


def checkpointed_by_reentering():
    x, y = data()
    model = Again(use_reentrant=True)
    x.requires_grad_()
    with capture(model):
        loss = F.cross_entropy(model(x), y)
    return loss, model


def penalty():
    x, y = data()
    model = Two()
    x.requires_grad_()
    with capture(model):
        loss = F.cross_entropy(model(x), y)
        (slope,) = torch.autograd.grad(loss, x, create_graph=True)
        loss = loss + slope.square().sum()
    return loss, model


class Adapter(nn.Module):
    """A low-rank addition that begins with zeros."""

    def __init__(self):
        super().__init__()
        self.base = nn.Linear(6, 3).requires_grad_(False)
        self.down, self.up = nn.Linear(6, 2, bias=False), nn.Linear(2, 3, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


def adapter():
    x, y = data()
    model = Adapter()
    with capture(model):
        loss = F.cross_entropy(model(x), y)
    return loss, model


def inner_loop():
    x, y = data()
    model = Two()
    with capture(model):
        weights = dict(model.named_parameters())
        for _ in range(2):
            first = F.cross_entropy(torch.func.functional_call(model, weights, (x,)), y)
            slopes = torch.autograd.grad(first, list(weights.values()), create_graph=True)
            weights = {name: w - 0.1 * slope for (name, w), slope in zip(weights.items(), slopes, strict=True)}
        loss = F.cross_entropy(torch.func.functional_call(model, weights, (x,)), y)
    return loss, model


def mixed():
    x, y = data()
    model = Two()
    with capture(model), torch.autocast("cpu", torch.bfloat16):
        loss = F.cross_entropy(model(x).float(), y)
    return loss, model


def converged():
    x, _ = data()
    model = nn.Linear(6, 3)
    with capture(model):
        out = model(x)
        loss = F.mse_loss(out, out.detach())
    return loss, model


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(6, 8), nn.Linear(8, 3)

    def forward(self, x):
        h = torch.zeros(len(x), 8)
        for _ in range(4):
            h = self.cell(x, h)
        return self.head(h)


def recurrent():
    x, y = data()
    model = Recurrent()
    with capture(model):
        loss = F.cross_entropy(model(x), y)
    return loss, model


def filled_piece_by_piece():
    x, y = data()
    model = Two()
    with capture(model):
        out = torch.zeros(5, 3)
        for row in range(5):
            out[row] = model(x[row])
        loss = F.cross_entropy(out, y)
    return loss, model


def kept_activation():
    x, y = data()
    model = Two()
    with capture(model):
        model.last = model.encoder(x)
        loss = F.cross_entropy(model.head(model.last.tanh()), y)
    return loss, model


def retained():
    x, y = data()
    model = Two()
    with capture(model):
        h = model.encoder(x)
        h.retain_grad()
        loss = F.cross_entropy(model.head(h.tanh()), y)
        loss.backward()
        h.grad  # noqa: B018
    return loss, model


def reinforced():
    x, _ = data()
    model = Two()
    with capture(model):
        log_p = model(x).log_softmax(1)
        action = torch.multinomial(log_p.detach().exp(), 1)
        loss = -(log_p.gather(1, action) * torch.randn(5, 1)).mean()
    return loss, model


def momentum_of_a_step():
    x, y = data()
    model = Two()
    optimizer = torch.optim.AdamW(model.parameters(), 0.1)
    for _ in range(3):
        with capture(model):
            loss = step(model, optimizer, x, y)
    return loss, model


class Parts(Two):
    """One that keeps views of its hidden layer, which PyTorch refuses once it was written into."""

    def forward(self, x):
        h = self.encoder(x)
        self.left, self.right = h.chunk(2, -1)
        with torch.no_grad():
            self.left.zero_()
        return self.head(h)


def refused_views():
    x, y = data()
    model = Parts()
    with capture(model):
        loss = F.cross_entropy(model(x), y)
    return loss, model
