"""Programs with a fault each, as people write them who train something of their own."""

import torch
from torch import nn
from torch.nn import functional as F

import gradviz
from tests.bridges.torch.doctor.turns import Adapted

capture = gradviz.torch.capture


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4))
        self.normed = self.weight / self.weight.norm()

    def forward(self, x):
        return (x @ self.normed).tanh()


def computed_once(passes=1):
    model = Normed()
    with capture(model):
        for number in range(passes):
            loss = model(torch.randn(3, 4)).square().mean()
            if number < passes - 1:
                loss.backward()
    return loss, model


def computed_once_and_used_again():
    return computed_once(passes=2)


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.project = nn.Embedding(10, 4), nn.Linear(4, 4)
        self.table = self.project(self.words.weight)

    def forward(self, index):
        return self.table[index].tanh()


def looked_up_in_what_was_computed_once():
    model = Table()
    with capture(model):
        loss = model(torch.tensor([1, 2])).square().mean()
    return loss, model


def lost_in_float16():
    model = nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 3))
    with capture(model):
        half = model(torch.randn(4, 6) * 1e-2).half()
        loss = (half.float() * 1e-9).sum()
    return loss, model


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(6, 2), nn.Linear(2, 6)

    def forward(self, x):
        mean = self.encoder(x)
        mean = mean.detach()
        return self.decoder(mean + torch.randn_like(mean))


def detached_on_the_way():
    model, x = Coder(), torch.rand(8, 6)
    with capture(model):
        loss = F.mse_loss(model(x), x)
    return loss, model


def adapted_without_gradients():
    body, head = Adapted(nn.Linear(6, 6)), nn.Linear(6, 3)
    with capture(both := nn.ModuleList([body, head])):
        with torch.no_grad():
            h = body(torch.randn(8, 6))
        loss = F.cross_entropy(head(h), torch.randint(0, 3, (8,)))
    return loss, both


def written_into_a_column():
    model = nn.Sequential(nn.Linear(6, 4), nn.Sigmoid())
    with capture(model):
        z = model(torch.randn(3, 6))
        z[:, 0] = 0
        loss = z.sum()
    return loss, model


def distance_to_itself():
    model = nn.Linear(6, 3)
    with capture(model):
        z = model(torch.randn(4, 6))
        loss = ((z[:, None] - z[None]) ** 2).sum(-1).sqrt().mean()
    return loss, model


def repeated_layers_one_unused():
    layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 1, 4, 0.0, batch_first=True), 2).layers
    with capture(layers):
        loss = layers[0](torch.randn(2, 3, 4)).square().mean()
    return loss, layers


def in_a_dict():
    model = Heads()
    with capture(model):
        a, b = model(torch.randn(3, 6))
        loss = a.square().mean() + b.square().mean()
    return loss, model


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 4)
        self.heads = {"a": nn.Linear(4, 2), "b": nn.Linear(4, 2)}

    def forward(self, x):
        h = self.body(x).relu()
        return self.heads["a"](h), self.heads["b"](h)


def frozen_by_an_attribute():
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    model[0].requires_grad = False
    with capture(model):
        loss = F.cross_entropy(model(torch.randn(4, 6)), torch.tensor([0, 1, 2, 0]))
    return loss, model


def frozen_by_a_misspelt_attribute():
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    for parameter in model[0].parameters():
        parameter.require_grad = False
    with capture(model):
        loss = F.cross_entropy(model(torch.randn(4, 6)), torch.tensor([0, 1, 2, 0]))
    return loss, model


def drawn_by_sample():
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    model, x = nn.ModuleList([encoder, decoder]), torch.randn(5, 6)
    with capture(model):
        mean, log_scale = encoder(x).chunk(2, 1)
        z = torch.distributions.Normal(mean, log_scale.exp()).sample()
        loss = F.mse_loss(decoder(z), x)
    return loss, model
