"""More faults in other spellings: numbers, training loops, what models hold."""

import numpy as np
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


def nan_norm_zero_div():
    x = torch.zeros(3, 4, requires_grad=True)
    with capture():
        loss = (x / x.norm(dim=1, keepdim=True)).sum()
    return loss, None


def nan_masked_div():
    x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    with capture():
        r = 1 / x
        loss = torch.where(x == 0, torch.zeros_like(r), r).sum()
    return loss, None


def nan_masked_mul():
    x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    with capture():
        r = torch.sqrt(x)
        m = (x > 0).float()
        loss = (r * m).sum()
    return loss, None


def nan_pow():
    x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    with capture():
        r = x**0.5
        loss = torch.where(x > 0, r, x).sum()
    return loss, None


def nan_dist():
    x = torch.zeros(3, 2, requires_grad=True)
    with capture():
        d = torch.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))
        loss = d.sum()
    return loss, None


def nan_log_softmax_masked():
    m = MLP()
    x, _y = xy()
    with capture(m):
        s = m(x).masked_fill(torch.ones(5, 3, dtype=torch.bool), float("-inf"))
        p = s.softmax(-1)
        loss = p.sum()
    return loss, m


def nan_bce():
    m = MLP()
    x, _y = xy()
    with capture(m):
        p = torch.sigmoid(m(x) * 1e3)
        loss = -(torch.log(p) + torch.log(1 - p)).mean()
    return loss, m


def half_overflow():
    m = MLP().half()
    x, _y = xy()
    with capture(m):
        h = m.fc1(x.half())
        h = h * 1000
        loss = (h * h).sum()
    return loss, m


def var_one():
    m = MLP()
    with capture(m):
        loss = m(torch.randn(1, 6)).var(0).sum()
    return loss, m


def manual_no_zero():
    x, y = xy()
    w = torch.zeros(6, 3, requires_grad=True)
    with capture():
        for _ in range(3):
            loss = F.cross_entropy(x @ w, y)
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
        loss = F.cross_entropy(x @ w, y)
    return loss, None


def manual_data_no_zero():
    x, y = xy()
    w = torch.zeros(6, 3, requires_grad=True)
    with capture():
        for _ in range(3):
            loss = F.cross_entropy(x @ w, y)
            loss.backward()
            w.data.sub_(0.1 * w.grad)
    return loss, None


def zero_wrong_place():
    m = MLP()
    x, y = xy()
    o = torch.optim.SGD(m.parameters(), 0.1)
    with capture(m):
        o.zero_grad()
        for _ in range(3):
            loss = F.cross_entropy(m(x), y)
            loss.backward()
            o.step()
    return loss, m


def zero_other_optimizer():
    m = MLP()
    x, y = xy()
    o = torch.optim.SGD(m.parameters(), 0.1)
    o2 = torch.optim.SGD(m.fc1.parameters(), 0.1)
    with capture(m):
        for _ in range(3):
            o2.zero_grad()
            loss = F.cross_entropy(m(x), y)
            loss.backward()
            o.step()
    return loss, m


def step_between():
    m = MLP()
    x, y = xy()
    o = torch.optim.SGD(m.parameters(), 0.1)
    with capture(m):
        l1 = F.cross_entropy(m(x), y)
        l2 = F.mse_loss(m(x), torch.zeros(5, 3))
        o.zero_grad()
        l1.backward()
        o.step()
    return l2, m


def hidden_state_carried():
    cell = nn.GRUCell(6, 8)
    head = nn.Linear(8, 3)
    m = nn.ModuleDict({"cell": cell, "head": head})
    x, y = xy()
    torch.optim.SGD(m.parameters(), 0.1)
    with capture(m):
        h = torch.zeros(5, 8)
        for t in range(2):
            h = cell(x, h)
            loss = F.cross_entropy(head(h), y)
            if t == 0:
                loss.backward()
    return loss, m


def twice_losses():
    m = MLP()
    x, _y = xy()
    with capture(m):
        z = m.fc2(torch.relu(m.fc1(x)))
        a = m.fc3(z).sum()
        b = z.square().sum()
        a.backward()
    return b, m


def dict_modules():
    class Q(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = {"a": nn.Linear(6, 6), "b": nn.Linear(6, 3)}
            self.c = nn.Linear(3, 3)

        def forward(self, x):
            return self.c(self.parts["b"](self.parts["a"](x)))

    return _run(Q())


def nested_list():
    class B(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = [[nn.Linear(6, 6)], [nn.Linear(6, 6)]]

        def forward(self, x):
            for a in self.blocks:
                x = a[0](x)
            return x

    class Q(nn.Module):
        def __init__(self):
            super().__init__()
            self.b = B()
            self.c = nn.Linear(6, 3)

        def forward(self, x):
            return self.c(self.b(x))

    return _run(Q())


def tensor_not_param():
    class Q(MLP):
        def __init__(self):
            super().__init__()
            self.alpha = torch.tensor(0.5, requires_grad=True)

        def forward(self, x):
            return self.alpha * super().forward(x)

    return _run(Q())


def param_to():
    class Q(MLP):
        def __init__(self):
            super().__init__()
            self.alpha = nn.Parameter(torch.tensor(0.5)).to(torch.float64)

        def forward(self, x):
            return self.alpha.float() * super().forward(x)

    return _run(Q())


def param_scaled():
    class Q(MLP):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(8, 8)) * 0.01

        def forward(self, x):
            return self.fc3(self.fc1(x) @ self.w)

    return _run(Q())


def param_list():
    class Q(MLP):
        def __init__(self):
            super().__init__()
            self.ws = [nn.Parameter(torch.randn(3)) for _ in range(2)]

        def forward(self, x):
            h = super().forward(x)
            for w in self.ws:
                h = h * w
            return h

    return _run(Q())


def tied_parameter_new():
    class Q(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Linear(6, 6, bias=False)
            self.d = nn.Linear(6, 6, bias=False)
            self.d.weight = nn.Parameter(self.e.weight)

        def forward(self, x):
            return self.d(self.e(x))[:, :3]

    return _run(Q())


def tied_transposed():
    class Q(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Linear(6, 4, bias=False)
            self.d = nn.Linear(4, 6, bias=False)
            self.d.weight.data = self.e.weight.data.t()

        def forward(self, x):
            return self.d(self.e(x))[:, :3]

    return _run(Q())


def buffer_grad():
    class Q(MLP):
        def __init__(self):
            super().__init__()
            self.register_buffer("g", torch.ones(3, requires_grad=True))

        def forward(self, x):
            return self.g * super().forward(x)

    return _run(Q())


def lambda_hidden():
    class Q(MLP):
        def __init__(self):
            super().__init__()
            lin = nn.Linear(3, 3)
            self.post = lambda z: lin(z)

        def forward(self, x):
            return self.post(super().forward(x))

    return _run(Q())


def property_module():
    class H:
        def __init__(self):
            self.lin = nn.Linear(3, 3)

        def __call__(self, x):
            return self.lin(x)

    class Q(MLP):
        def __init__(self):
            super().__init__()
            self.helper = H()

        def forward(self, x):
            return self.helper(super().forward(x))

    return _run(Q())


def hook_nan():
    m = MLP()
    _x, _y = xy()
    m.fc1.weight.register_hook(lambda g: g / 0 * 0)
    return _run(m)


def gp_no_create():
    m = MLP()
    x, y = xy()
    x.requires_grad_()
    with capture(m):
        out = m(x)
        g = torch.autograd.grad(out.sum(), x)[0]
        loss = F.cross_entropy(out, y) + ((g.norm(2, dim=1) - 1) ** 2).mean()
    return loss, m


def numpy_function():
    class E(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.from_numpy(np.exp(x.detach().numpy()))

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * torch.from_numpy(np.exp(x.detach().numpy()))

    x = torch.randn(3, requires_grad=True)
    with capture():
        (g,) = torch.autograd.grad(E.apply(x).sum(), x, create_graph=True)
        loss = g.sum()
    return loss, None


def losses_in_a_new_tensor():
    m = MLP()
    x, y = xy()
    with capture(m):
        losses = [F.cross_entropy(m(x), y).item() * F.cross_entropy(m(x), y) for _ in range(3)]
        loss = torch.tensor(losses, requires_grad=True).mean()
    return loss, m


def mean_of_an_empty_class():
    m = MLP()
    x, _ = xy()
    kinds = torch.tensor([0, 0, 2, 2, 2])
    with capture(m):
        z = m(x)
        means = torch.stack([z[kinds == kind].mean(0) for kind in range(3)])
        loss = (z[:, None] - means).square().mean()
    return loss, m


class Written(nn.Module):
    def __init__(self, write):
        super().__init__()
        self.maker, self.target, self.write = nn.Linear(3, 18), nn.Linear(6, 3), write

    def forward(self, x):
        self.write(self.target.weight, self.maker(x[0, :3]).view(3, 6))
        return self.target(x)


def weights_written_through_data():
    def write(weight, made):
        weight.data = made

    return _run(Written(write))


def weights_copied_without_gradients():
    def write(weight, made):
        with torch.no_grad():
            weight.copy_(made)

    return _run(Written(write))


def attention_of_an_empty_row():
    class Q(MLP):
        def forward(self, x, pad):
            s = (self.fc1(x) @ x.new_ones(8, 5)).masked_fill(pad, float("-inf"))
            p = s.softmax(-1)
            return (p @ self.fc2(self.fc1(x))).masked_fill(pad[:, :1], 0)

    m = Q()
    x, _ = xy()
    pad = torch.zeros(5, 5, dtype=torch.bool)
    pad[2] = True
    with capture(m):
        loss = m(x, pad).square().mean()
    return loss, m


def layer_made_in_forward():
    class Q(MLP):
        def forward(self, x):
            extra = nn.Linear(3, 3)
            return extra(super().forward(x))

    return _run(Q())


def norm_of_single_features():
    class Q(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.norm, self.out = nn.Linear(6, 1), nn.LayerNorm(1), nn.Linear(1, 3)

        def forward(self, x):
            h = self.norm(self.fc1(x))
            return self.out(h)

    return _run(Q())


def loss_of_the_input():
    m = MLP()
    x, y = xy()
    with capture(m):
        logits = m(x)
        assert logits.requires_grad
        loss = F.cross_entropy(x[:, :3], y)
    return loss, m


def another_model_called():
    m, frozen = MLP(), MLP().requires_grad_(False)
    x, y = xy()
    with capture(m):
        loss = F.cross_entropy(frozen(x), y)
    return loss, m


def head_replaced():
    m = MLP()
    m.optimizer = torch.optim.SGD(m.parameters(), 0.1)
    m.fc3 = nn.Linear(8, 3)
    for _ in range(2):
        loss, _ = _run(m)
        loss.backward()
        m.optimizer.step()
        m.zero_grad()
    return _run(m)
