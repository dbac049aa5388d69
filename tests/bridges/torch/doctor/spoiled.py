"""Small programs whose numbers go wrong, by zeros, NaN or size; the line that does it ends with ``# here``."""

import torch
from torch import nn
from torch.nn import functional as F

import gradviz
from tests.bridges.torch.doctor.faulty import Backed, Two, data

capture = gradviz.torch.capture


def run(model):
    x, y = data()
    with capture(model):
        loss = F.cross_entropy(model(x), y)
    return loss, model


class Rounded(Backed):
    def cut(self, h):
        return torch.round(h * 4) / 4  # here


def rounded():
    return run(Rounded())


class Clamped(Backed):
    def cut(self, h):
        return (h + 100).clamp(0, 1)  # here


def clamped():
    return run(Clamped())


class DeadRelu(Two):
    def forward(self, x):
        h = torch.relu(self.encoder(x))  # here
        return self.head(h)


def dead_relu():
    model = DeadRelu()
    with torch.no_grad():
        model.encoder.bias.fill_(-100)
    return run(model)


class OneClass(Backed):
    def cut(self, h):
        return torch.softmax(h.sum(1, keepdim=True), 1).expand(-1, 8)  # here


def softmax_of_one():
    return run(OneClass())


def masked_sqrt():
    x = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
    with capture():
        root = torch.sqrt(x)  # here
        y = torch.where(x > 0, root, torch.zeros(()))
        loss = (y * torch.tensor([0.0, 1.0, 1.0])).sum()
    return loss, None


def masked_log():
    x = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
    with capture():
        loss = torch.where(x > 0, torch.log(x), 0.0).sum()  # here
    return loss, None


def divided_by_zero():
    x, y = data()
    model = Two()
    with capture(model):
        out = model(x)
        out = out / (out - out)  # here
        loss = F.cross_entropy(out, y)
    return loss, model


def exp_overflows():
    x, y = data()
    model = Two()
    with capture(model):
        e = torch.exp(model(x) * 1e4)  # here
        p = e / e.sum(1, keepdim=True)
        loss = -p[range(5), y].log().mean()
    return loss, model


def bad_data():
    x, y = data()
    x[1, 2] = torch.nan
    model = Two()
    with capture(model):
        loss = F.cross_entropy(model(x), y)  # here
    return loss, model


def spoiled_parameter():
    model = Two()
    with torch.no_grad():
        model.head.bias[0] = torch.nan
    return run(model)


def float16_underflow():
    x, _ = data()
    model = Two()
    with capture(model):
        h = model.encoder(x).half() * 1e-4
        h = h * 1e-5  # here
        loss = model.head(h.float()).square().mean()
    return loss, model


def float16_overflow():
    x, _ = data()
    model = Two()
    with capture(model):
        h = model.encoder(x).half() * 60000
        h = h * 60000  # here
        loss = model.head(h.float()).square().mean()
    return loss, model


class Deep(nn.Module):
    def __init__(self, gain, act):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(24)])
        self.head, self.act = nn.Linear(6, 3), act
        with torch.no_grad():
            for layer in self.layers:
                layer.weight.mul_(gain)

    def forward(self, x):
        for layer in self.layers:
            x = self.act(layer(x))
        return self.head(x)


def vanishing():
    torch.manual_seed(0)
    return run(Deep(1.0, torch.sigmoid))


def exploding():
    torch.manual_seed(0)
    return run(Deep(6.0, nn.functional.leaky_relu))
