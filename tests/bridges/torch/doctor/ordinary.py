"""Ordinary models and training loops: the doctor finds no harm."""

import torch
from torch import nn
from torch.nn import functional as F

import gradviz
from tests.bridges.torch.doctor.spelled import MLP, xy

capture = gradviz.torch.capture


def _run(model, x=None):
    given, y = xy()
    with capture(model):
        loss = F.cross_entropy(model(given if x is None else x), y)
    return loss, model


def truncated_bptt():
    cell = nn.GRUCell(6, 8)
    head = nn.Linear(8, 3)
    m = nn.ModuleDict({"cell": cell, "head": head})
    x, y = xy()
    o = torch.optim.SGD(m.parameters(), 0.1)
    with capture(m):
        h = torch.zeros(5, 8)
        for _t in range(3):
            h = h.detach()
            h = cell(x, h)
            loss = F.cross_entropy(head(h), y)
            o.zero_grad()
            loss.backward()
            o.step()
    return loss, m


def label_smoothing_half():
    m = MLP()
    x, y = xy()
    with capture(m):
        with torch.autocast("cpu", torch.bfloat16):
            out = m(x)
        loss = F.cross_entropy(out.float(), y, label_smoothing=0.1)
    return loss, m


def spectral_weight_norm():
    m = nn.Sequential(
        nn.utils.parametrizations.weight_norm(nn.Linear(6, 8)),
        nn.ReLU(),
        nn.utils.parametrizations.spectral_norm(nn.Linear(8, 3)),
    )
    return _run(m)


def old_weight_norm():
    m = nn.Sequential(nn.utils.weight_norm(nn.Linear(6, 8)), nn.ReLU(), nn.Linear(8, 3))
    return _run(m)


def transformer():
    m = nn.Sequential(nn.TransformerEncoderLayer(6, 2, 12, batch_first=True), nn.Flatten(), nn.Linear(24, 3))
    x = torch.randn(5, 4, 6)
    return _run(m, x)


def lstm():
    class Q(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.LSTM(6, 8, 2, batch_first=True, bidirectional=True)
            self.f = nn.Linear(16, 3)

        def forward(self, x):
            return self.f(self.first(x)[0][:, -1])

    return _run(Q(), torch.randn(5, 4, 6))


def conv():
    m = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(True), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3)
    )
    return _run(m, torch.randn(5, 1, 6, 6))


def residual_zero_init():
    class B(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(6, 6)
            self.b = nn.Linear(6, 6)
            nn.init.zeros_(self.b.weight)
            nn.init.zeros_(self.b.bias)

        def forward(self, x):
            return x + self.b(torch.relu(self.a(x)))

    return _run(nn.Sequential(B(), B(), nn.Linear(6, 3)))


def residual_zero_gates():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])
            self.gates = nn.Parameter(torch.zeros(3))
            self.head = nn.Linear(6, 3)

        def forward(self, x):
            for number, layer in enumerate(self.layers):
                x = x + self.gates[number] * torch.relu(layer(x))
            return self.head(x)

    return _run(M())


def modulation_and_head_zero_init():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(6, 6)
            self.modulation = nn.Linear(6, 12)
            self.head = nn.Linear(6, 3)
            for one in (self.modulation, self.head):
                nn.init.zeros_(one.weight)
                nn.init.zeros_(one.bias)

        def forward(self, x):
            shift, gate = self.modulation(x).chunk(2, -1)
            return self.head(x + gate * self.body(x + shift))

    return _run(M())


def loss_zero_weight():
    m = MLP()
    x, y = xy()
    with capture(m):
        loss = F.cross_entropy(m(x), y) + 0.0 * m.fc3.weight.sum()
    return loss, m


def deep_relu():
    torch.manual_seed(0)
    m = nn.Sequential(*[z for _ in range(10) for z in (nn.Linear(6, 6), nn.ReLU())], nn.Linear(6, 3))
    return _run(m)


def deep_tanh_res():
    class D(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.ModuleList([nn.Linear(6, 6) for _ in range(30)])
            self.h = nn.Linear(6, 3)

        def forward(self, x):
            for first in self.first:
                x = x + torch.tanh(first(x))
            return self.h(x)

    return _run(D())


def sum_loss_big():
    m = MLP()
    x = torch.randn(2000, 6) * 10
    with capture(m):
        loss = (m(x) ** 2).sum()
    return loss, m


def hinge_satisfied():
    m = MLP()
    x, _y = xy()
    with capture(m):
        loss = torch.relu(-10 - m(x)).mean()
    return loss, m


def maml_manual():
    m = MLP()
    x, y = xy()
    with capture(m):
        fast = list(m.parameters())

        def net(x, w):
            return F.linear(torch.relu(F.linear(torch.relu(F.linear(x, w[0], w[1])), w[2], w[3])), w[4], w[5])

        for _ in range(2):
            first = F.cross_entropy(net(x, fast), y)
            g = torch.autograd.grad(first, fast, create_graph=True)
            fast = [w - 0.1 * gg for w, gg in zip(fast, g, strict=False)]
        loss = F.cross_entropy(net(x, fast), y)
    return loss, m


def gradient_penalty():
    m = MLP()
    x, y = xy()
    with capture(m):
        a = torch.rand(5, 1)
        i = (a * x + (1 - a) * x.flip(0)).requires_grad_(True)
        out = m(i)
        (g,) = torch.autograd.grad(out.sum(), i, create_graph=True)
        loss = ((g.norm(2, 1) - 1) ** 2).mean() + F.cross_entropy(m(x), y)
    return loss, m


def param_groups_share():
    e = nn.Embedding(7, 4)
    d = nn.Linear(4, 7, bias=False)
    d.weight = e.weight
    m = nn.Sequential(e, d)
    x = torch.randint(7, (5,))
    with capture(m):
        loss = F.cross_entropy(m(x), x)
    loss.backward()
    return loss, m


def lr_hooks_logging():
    m = MLP()
    seen = []
    for p in m.parameters():
        p.register_hook(lambda g: seen.append(g.norm()))
    return _run(m)


def custom_fn_ok():
    class E(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

    class Q(MLP):
        def forward(self, x):
            return self.fc3(self.fc2(torch.tanh(E.apply(self.fc1(x) * 0.1))))

    return _run(Q())


def ste_fn():
    class S(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sign()

        @staticmethod
        def backward(ctx, g):
            return g

    class Q(MLP):
        def forward(self, x):
            return self.fc3(self.fc2(S.apply(self.fc1(x))))

    return _run(Q())


def inplace_ok():
    class Q(MLP):
        def forward(self, x):
            h = self.fc1(x)
            h += 1
            h = F.relu_(h)
            h = self.fc2(h)
            h.mul_(2).add_(1)
            h.clamp_(-3, 3)
            return self.fc3(h)

    return _run(Q())


def buffer_fill_ok():
    m = MLP()
    x, y = xy()
    with capture(m):
        out = torch.empty(5, 3)
        for i in range(5):
            out[i] = m(x[i : i + 1])[0]
        loss = F.cross_entropy(out, y)
    return loss, m


def weights_cast_view():
    m = MLP()
    x, y = xy()
    with capture(m):
        w = m.fc1.weight.t().contiguous().view(-1).view(6, 8)
        loss = F.cross_entropy(m.fc3(m.fc2(x @ w + m.fc1.bias)), y)
    return loss, m


def accumulate_sum_losses():
    m = MLP()
    x, y = xy()
    with capture(m):
        total = 0
        for _ in range(3):
            total = total + F.cross_entropy(m(x), y)
        total.backward()
    return total, m


def nograd_norm_detach():
    class Q(MLP):
        def forward(self, x):
            h = self.fc1(x)
            sc = h.detach().abs().max()
            return self.fc3(torch.relu(self.fc2(h / (sc + 1e-6))))

    return _run(Q())


def eval_then_train():
    m = MLP()
    x, y = xy()
    with capture(m):
        m.eval()
        with torch.no_grad():
            F.cross_entropy(m(x), y).item()
        m.train()
        loss = F.cross_entropy(m(x), y)
    return loss, m


def frozen_part_no_grad():
    class Q(MLP):
        def __init__(self):
            super().__init__()
            self.fc1.requires_grad_(False)

        def forward(self, x):
            with torch.no_grad():
                h = self.fc1(x)
            return self.fc3(torch.relu(self.fc2(h)))

    return _run(Q())


def sqrt_eps():
    x = torch.zeros(3, requires_grad=True)
    with capture():
        loss = torch.sqrt(x**2 + 1e-8).sum() + 1
    return loss, None


def ctc_like_neg_inf():
    m = MLP()
    x, y = xy()
    with capture(m):
        lp = m(x).log_softmax(-1)
        a = torch.full((5, 3), -torch.inf)
        a = torch.cat([a, lp], 1)
        loss = -torch.logsumexp(a, 1).mean()
        loss = loss + F.nll_loss(lp, y)
    return loss, m


def generator_after_the_judge():
    made, judge = nn.Linear(4, 6), nn.Linear(6, 1)
    both = [torch.optim.SGD(one.parameters(), 0.1) for one in (judge, made)]
    with capture(made, judge):
        for _ in range(2):
            fake = made(torch.randn(5, 4))
            loss = F.softplus(judge(fake.detach())).mean()
            loss.backward()
            both[0].step()
            loss = F.softplus(-judge(fake)).mean()  # goes through what the other pass was cut off from
            both[1].zero_grad()
            loss.backward()
            both[1].step()
            both[0].zero_grad()
    return loss, made
