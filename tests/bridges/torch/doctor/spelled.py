"""Faults in other spellings: in closures, loops, functions of the user's and one line."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import gradviz

capture = gradviz.torch.capture


def xy(n=5):
    torch.manual_seed(0)
    return torch.randn(n, 6), torch.randint(3, (n,))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 8)
        self.fc2 = nn.Linear(8, 8)
        self.fc3 = nn.Linear(8, 3)

    def forward(self, x):
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


def _run(model, x=None):
    given, y = xy()
    with capture(model):
        loss = F.cross_entropy(model(given if x is None else x), y)
    return loss, model


def inplace_no_capture():
    x, y = xy()
    m = MLP()
    a = m.fc1(x)
    b = torch.exp(a)
    b.add_(1)
    return F.cross_entropy(m.fc3(m.fc2(b)), y), m


def inplace_custom_function():
    class Sq(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x, y = xy()
    m = MLP()
    with capture(m):
        h = m.fc1(x)
        z = Sq.apply(h)
        h.zero_()
        loss = F.cross_entropy(m.fc3(m.fc2(z)), y)
    return loss, m


def inplace_buffer():
    m = MLP()
    m.register_buffer("scale", torch.ones(8))
    x, y = xy()
    with capture(m):
        h = m.fc1(x) * m.scale
        m.scale.mul_(0.9)
        loss = F.cross_entropy(m.fc3(h), y)
    return loss, m


def inplace_weight_between():
    x, y = xy()
    m = MLP()
    with capture(m):
        out = m(x)
        with torch.no_grad():
            m.fc3.weight.clamp_(-1, 1)
        loss = F.cross_entropy(out, y)
    return loss, m


def inplace_copy_data():
    x, y = xy()
    m = MLP()
    with capture(m):
        out = m(x)
        m.fc2.weight.data.copy_(torch.zeros(8, 8))
        loss = F.cross_entropy(out, y)
    return loss, m


def inplace_loop_rnn_state():
    cell = nn.RNNCell(6, 8)
    head = nn.Linear(8, 3)
    x, y = xy()
    m = nn.ModuleDict({"cell": cell, "head": head})
    with capture(m):
        states = torch.zeros(4, 5, 8)
        for t in range(1, 4):
            states[t] = cell(x, states[t - 1])
        loss = F.cross_entropy(head(states[-1]), y)
    return loss, m


def inplace_relu_after_sigmoid():
    m = nn.Sequential(nn.Linear(6, 8), nn.Sigmoid(), nn.ReLU(inplace=True), nn.Linear(8, 3))
    x, y = xy()
    with capture(m):
        loss = F.cross_entropy(m(x), y)
    return loss, m


def inplace_plus_equals_residual():
    class R(MLP):
        def forward(self, x):
            h = torch.tanh(self.fc1(x))
            r = h
            h = self.fc2(h)
            r += h
            return self.fc3(r)

    x, y = xy()
    m = R()
    with capture(m):
        loss = F.cross_entropy(m(x), y)
    return loss, m


def decorator_no_grad():
    class D(MLP):
        @torch.no_grad()
        def embed(self, x):
            return torch.relu(self.fc1(x))

        def forward(self, x):
            return self.fc3(self.fc2(self.embed(x)))

    x, y = xy()
    m = D()
    with capture(m):
        loss = F.cross_entropy(m(x), y)
    return loss, m


def set_grad_enabled_off():
    x, y = xy()
    m = MLP()
    with capture(m):
        torch.set_grad_enabled(False)
        loss = F.cross_entropy(m(x), y)
        torch.set_grad_enabled(True)
    return loss, m


def item_scale_only():
    class D(MLP):
        def __init__(self):
            super().__init__()
            self.temp = nn.Parameter(torch.tensor(2.0))

        def forward(self, x):
            return super().forward(x) / self.temp.item()

    x, y = xy()
    m = D()
    with capture(m):
        loss = F.cross_entropy(m(x), y)
    return loss, m


def param_data_use():
    class D(MLP):
        def forward(self, x):
            return self.fc3(torch.relu(F.linear(torch.relu(self.fc1(x)), self.fc2.weight.data, self.fc2.bias)))

    x, y = xy()
    m = D()
    with capture(m):
        loss = F.cross_entropy(m(x), y)
    return loss, m


def detach_in_closure():
    x, y = xy()
    m = MLP()

    def stop(t):
        return t.detach()

    with capture(m):

        def f(t):
            return m.fc3(stop(torch.relu(m.fc2(m.fc1(t)))))

        loss = F.cross_entropy(f(x), y)
    return loss, m


def detach_in_loop():
    cell = nn.GRUCell(6, 8)
    emb = nn.Linear(6, 6)
    head = nn.Linear(8, 3)
    m = nn.ModuleDict({"cell": cell, "emb": emb, "head": head})
    x, y = xy()
    with capture(m):
        h = torch.zeros(5, 8)
        e = emb(x)
        for _t in range(3):
            h = cell(e, h).detach()
        loss = F.cross_entropy(head(h), y)
    return loss, m


def clone_detach_requires():
    x, y = xy()
    m = MLP()
    with capture(m):
        h = m.fc1(x)
        h = h.clone().detach().requires_grad_(True)
        loss = F.cross_entropy(m.fc3(m.fc2(h)), y)
    return loss, m


def torch_tensor_copy():
    x, y = xy()
    m = MLP()
    with capture(m):
        h = torch.tensor(m.fc1(x))
        loss = F.cross_entropy(m.fc3(m.fc2(h)), y)
    return loss, m


def round_ste_missing():
    class Q(MLP):
        def forward(self, x):
            h = self.fc1(x)
            h = torch.floor(h * 10) / 10
            return self.fc3(self.fc2(h))

    x, y = xy()
    m = Q()
    with capture(m):
        loss = F.cross_entropy(m(x), y)
    return loss, m


def sign_act():
    class Q(MLP):
        def forward(self, x):
            return self.fc3(torch.sign(self.fc2(torch.relu(self.fc1(x)))))

    x, y = xy()
    m = Q()
    with capture(m):
        loss = F.cross_entropy(m(x), y)
    return loss, m


def sign_no_capture():
    class Q(MLP):
        def forward(self, x):
            return self.fc3(torch.sign(self.fc2(torch.relu(self.fc1(x)))))

    x, y = xy()
    m = Q()
    return F.cross_entropy(m(x), y), m


def sign_after_backward():
    class Q(MLP):
        def forward(self, x):
            return self.fc3(torch.sign(self.fc2(torch.relu(self.fc1(x)))))

    x, y = xy()
    m = Q()
    with capture(m):
        loss = F.cross_entropy(m(x), y)
    loss.backward()
    return loss, m


def relu_on_output():
    class Q(MLP):
        def forward(self, x):
            return torch.relu(self.fc3(self.fc2(self.fc1(x))) - 1000)

    x, _y = xy()
    m = Q()
    with capture(m):
        loss = F.mse_loss(m(x), torch.ones(5, 3))
    return loss, m


def clamp_loss():
    x, y = xy()
    m = MLP()
    with capture(m):
        loss = F.cross_entropy(m(x), y).clamp(max=0.01)
    return loss, m


def argmax_embed():
    class Q(MLP):
        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(8, 8)

        def forward(self, x):
            i = torch.argmax(self.fc1(x), -1)
            return self.fc3(self.emb(i))

    x, y = xy()
    m = Q()
    with capture(m):
        loss = F.cross_entropy(m(x), y)
    return loss, m


def onehot_argmax():
    class Q(MLP):
        def forward(self, x):
            p = self.fc2(torch.relu(self.fc1(x)))
            hard = F.one_hot(p.argmax(-1), 8).float()
            return self.fc3(hard)

    x, y = xy()
    m = Q()
    with capture(m):
        loss = F.cross_entropy(m(x), y)
    return loss, m


def topk_indices():
    class Q(MLP):
        def forward(self, x):
            p = self.fc2(torch.relu(self.fc1(x)))
            _v, i = p.topk(2)
            return self.fc3(F.one_hot(i, 8).sum(1).float())

    x, y = xy()
    m = Q()
    with capture(m):
        loss = F.cross_entropy(m(x), y)
    return loss, m


def threshold_metric_loss():
    x, y = xy()
    m = MLP()
    with capture(m):
        p = torch.softmax(m(x), 1)[:, 0]
        pred = (p > 0.5).float()
        loss = ((pred - y.float()) ** 2).mean()
    return loss, m


def numpy_loss():
    x, _y = xy()
    m = MLP()
    with capture(m):
        p = m(x).detach().numpy()
        loss = torch.tensor(np.mean(p**2))
    return loss, m


def unused_branch():
    class Q(MLP):
        def __init__(self):
            super().__init__()
            self.aux = nn.Linear(8, 3)

        def forward(self, x, aux=False):
            h = torch.relu(self.fc2(torch.relu(self.fc1(x))))
            return self.aux(h) if aux else self.fc3(h)

    x, y = xy()
    m = Q()
    with capture(m):
        loss = F.cross_entropy(m(x), y)
    return loss, m


def overwritten_variable():
    class Q(MLP):
        def forward(self, x):
            h = torch.relu(self.fc1(x))
            self.fc2(h)
            return self.fc3(h)

    x, y = xy()
    m = Q()
    with capture(m):
        loss = F.cross_entropy(m(x), y)
    return loss, m


def unused_no_capture():
    class Q(MLP):
        def forward(self, x):
            return self.fc3(torch.relu(self.fc1(x)))

    x, y = xy()
    m = Q()
    return F.cross_entropy(m(x), y), m
