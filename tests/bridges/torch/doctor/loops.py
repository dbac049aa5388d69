"""Training loops and losses of many kinds: the doctor finds no harm."""

import copy

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


def distill():
    t = MLP().eval()
    s = MLP()
    x, _ = xy()
    with capture(s):
        with torch.no_grad():
            tl = t(x)
        loss = F.kl_div(F.log_softmax(s(x), 1), F.softmax(tl, 1), reduction="batchmean")
    return loss, s


def perceptual():
    vgg = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4)).eval().requires_grad_(False)
    g = nn.Linear(6, 6)
    x, _ = xy()
    with capture(g):
        loss = F.mse_loss(vgg(g(x)), vgg(x))
    return loss, g


def ppo():
    class AC(nn.Module):
        def __init__(self):
            super().__init__()
            self.pi = nn.Linear(6, 3)
            self.v = nn.Linear(6, 1)

    m = AC()
    x, _ = xy()
    o = torch.optim.Adam(m.parameters())
    with capture(m):
        with torch.no_grad():
            d = torch.distributions.Categorical(logits=m.pi(x))
            a = d.sample()
            old = d.log_prob(a)
            adv = torch.randn(5) - m.v(x)[:, 0]
        for _ in range(3):
            d = torch.distributions.Categorical(logits=m.pi(x))
            r = (d.log_prob(a) - old).exp()
            loss = -torch.min(r * adv, r.clamp(0.8, 1.2) * adv).mean() + F.mse_loss(m.v(x)[:, 0], torch.randn(5))
            o.zero_grad()
            loss.backward()
            o.step()
    return loss, m


def sac_like():
    a = nn.Linear(6, 2)
    q = nn.Linear(8, 1)
    x, _ = xy()
    with capture(a, q):
        act = torch.tanh(a(x))
        lq = F.mse_loss(q(torch.cat([x, act.detach()], 1)), torch.randn(5, 1))
    return lq, q


def wgan_clip():
    D = MLP()
    x, _ = xy()
    o = torch.optim.RMSprop(D.parameters())
    with capture(D):
        for _ in range(2):
            o.zero_grad()
            loss = -D(x).mean() + D(x + 1).mean()
            loss.backward()
            o.step()
            for p in D.parameters():
                p.data.clamp_(-0.01, 0.01)
    return loss, D


def ema_data():
    m = MLP()
    e = copy.deepcopy(m)
    x, y = xy()
    o = torch.optim.SGD(m.parameters(), 0.1)
    with capture(m):
        for _ in range(2):
            loss = F.cross_entropy(m(x), y)
            o.zero_grad()
            loss.backward()
            o.step()
            for a, b in zip(e.parameters(), m.parameters(), strict=False):
                a.data.mul_(0.9).add_(b.data, alpha=0.1)
    return loss, m


def swa():
    m = MLP()
    s = torch.optim.swa_utils.AveragedModel(m)
    x, y = xy()
    o = torch.optim.SGD(m.parameters(), 0.1)
    with capture(m):
        for _ in range(2):
            o.zero_grad()
            loss = F.cross_entropy(m(x), y)
            loss.backward()
            o.step()
            s.update_parameters(m)
    return loss, m


def amp_scaler_off():
    m = MLP()
    x, y = xy()
    o = torch.optim.SGD(m.parameters(), 0.1)
    sc = torch.amp.GradScaler("cpu", enabled=False)
    with capture(m):
        for _ in range(2):
            o.zero_grad()
            loss = F.cross_entropy(m(x), y)
            sc.scale(loss).backward()
            sc.step(o)
            sc.update()
    return loss, m


def two_optimizers():
    m = MLP()
    x, y = xy()
    a = torch.optim.SGD(m.fc1.parameters(), 0.1)
    b = torch.optim.Adam([*m.fc2.parameters(), *m.fc3.parameters()])
    with capture(m):
        for _ in range(2):
            a.zero_grad()
            b.zero_grad()
            loss = F.cross_entropy(m(x), y)
            loss.backward()
            a.step()
            b.step()
    return loss, m


def multi_loss_backward():
    m = MLP()
    x, y = xy()
    o = torch.optim.SGD(m.parameters(), 0.1)
    with capture(m):
        for _ in range(2):
            o.zero_grad()
            h = m.fc2(torch.relu(m.fc1(x)))
            l1 = h.square().mean()
            l2 = F.cross_entropy(m.fc3(h), y)
            l1.backward(retain_graph=True)
            l2.backward()
            o.step()
    return l2, m


def siamese():
    m = MLP()
    x, _ = xy()
    with capture(m):
        a, b = m(x), m(x + 1)
        loss = F.triplet_margin_loss(a, b, m(x - 1))
    return loss, m


def contrastive():
    m = MLP()
    x, _ = xy()
    with capture(m):
        z = F.normalize(m(x), dim=1)
        s = z @ z.t() / 0.1
        s = s - 1e9 * torch.eye(5)
        loss = F.cross_entropy(s, torch.tensor([1, 0, 3, 2, 0]))
    return loss, m


def huge_mask():
    m = MLP()
    x, _y = xy()
    with capture(m):
        o = m(x)
        o = o + torch.tensor([0.0, 0.0, -1e9])
        loss = F.cross_entropy(o, torch.zeros(5, dtype=torch.long))
    return loss, m


def layernorm_const():
    m = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3))
    return _run(m)


def attn_mask():
    m = nn.MultiheadAttention(6, 2, batch_first=True)
    x = torch.randn(2, 4, 6)
    with capture(m):
        o, _ = m(x, x, x, attn_mask=torch.triu(torch.full((4, 4), float("-inf")), 1))
        loss = o.square().mean()
    return loss, m


def sdpa():
    class Q(nn.Module):
        def __init__(self):
            super().__init__()
            self.q = nn.Linear(6, 18)

        def forward(self, x):
            q, k, v = self.q(x).chunk(3, -1)
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    m = Q()
    x = torch.randn(2, 4, 6)
    with capture(m):
        loss = m(x).square().mean()
    return loss, m


def pad_embedding():
    m = nn.Sequential(nn.Embedding(9, 6, padding_idx=0), nn.Flatten(), nn.Linear(24, 3))
    x = torch.randint(0, 9, (5, 4))
    return _run(m, x)


def gumbel():
    class Q(MLP):
        def forward(self, x):
            return self.fc3(F.gumbel_softmax(self.fc2(torch.relu(self.fc1(x))), hard=True))

    return _run(Q())


def hard_sigmoid_partial():
    class Q(MLP):
        def forward(self, x):
            return self.fc3(F.hardtanh(self.fc2(F.relu6(self.fc1(x)))))

    return _run(Q())


def maxpool_argmax_path():
    m = nn.Sequential(nn.Conv1d(1, 4, 3), nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(4, 3))
    return _run(m, torch.randn(5, 1, 6))


def quantile_sort():
    m = MLP()
    x, _y = xy()
    with capture(m):
        v = m(x).flatten().sort().values
        loss = (v[-3:] - 1).square().mean() + m(x).median()
    return loss, m


def jit_free_functional():
    x, y = xy()
    W = [
        torch.randn(6, 8, requires_grad=True),
        torch.zeros(8, requires_grad=True),
        torch.randn(8, 3, requires_grad=True),
    ]
    with capture():
        for _ in range(3):
            loss = F.cross_entropy(torch.relu(x @ W[0] + W[1]) @ W[2], y)
            loss.backward()
            with torch.no_grad():
                for w in W:
                    w -= 0.1 * w.grad
                    w.grad.zero_()
    return loss, None


def data_update():
    x, y = xy()
    w = torch.zeros(6, 3, requires_grad=True)
    with capture():
        for _ in range(3):
            if w.grad is not None:
                w.grad.data.zero_()
            loss = F.cross_entropy(x @ w, y)
            loss.backward()
            w.data -= 0.1 * w.grad.data
    return loss, None


def detach_requires_grad_update():
    x, y = xy()
    w = torch.zeros(6, 3, requires_grad=True)
    with capture():
        for _ in range(3):
            loss = F.cross_entropy(x @ w, y)
            loss.backward()
            w = (w - 0.1 * w.grad).detach().requires_grad_()
        loss = F.cross_entropy(x @ w, y)
    return loss, None


def autograd_grad_update():
    x, y = xy()
    w = torch.zeros(6, 3, requires_grad=True)
    with capture():
        for _ in range(3):
            loss = F.cross_entropy(x @ w, y)
            (g,) = torch.autograd.grad(loss, w)
            w = (w - 0.1 * g).detach().requires_grad_(True)
        loss = F.cross_entropy(x @ w, y)
    return loss, None


def moved_towards_an_adapted_copy():
    m = nn.Linear(6, 3)
    x, y = xy()
    with capture(m):
        w, b = (one.detach().clone().requires_grad_() for one in m.parameters())
        for _ in range(2):
            slopes = torch.autograd.grad(F.cross_entropy(F.linear(x, w, b), y), (w, b))
            w, b = ((one - 0.1 * slope).detach().requires_grad_() for one, slope in zip((w, b), slopes, strict=True))
        loss = F.cross_entropy(F.linear(x, w, b), y)
    return loss, None


def vmap_func():
    m = MLP()
    x, y = xy()
    p = dict(m.named_parameters())
    with capture(m):
        loss = F.cross_entropy(torch.func.vmap(lambda r: torch.func.functional_call(m, p, (r,)))(x), y)
    return loss, m


def dataparallel_like_wrapper():
    m = MLP()
    w = nn.ModuleDict({"module": m})
    x, y = xy()
    with capture(m):
        loss = F.cross_entropy(m(x), y)
    return loss, w


def set_materialize():
    class S(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.n = n
            return x * n

        @staticmethod
        def backward(ctx, g):
            return g * ctx.n, None

    class Q(MLP):
        def forward(self, x):
            return self.fc3(self.fc2(S.apply(self.fc1(x), 2.0)))

    return _run(Q())


def attacked_input():
    m = MLP().requires_grad_(False)
    x, y = xy()
    delta = torch.zeros_like(x, requires_grad=True)
    with capture(m):
        loss = F.cross_entropy(m(x + delta), y)
    return loss, m


def attention_of_padded_rows():
    m = nn.Linear(6, 6)
    x, _ = xy()
    pad = torch.zeros(5, 5, dtype=torch.bool)
    pad[:, 3:] = True
    with capture(m):
        p = (m(x) @ m(x).T).masked_fill(pad, float("-inf")).softmax(-1)
        loss = (p @ m(x)).masked_fill(pad[:, :1], 0).square().mean()
    return loss, m


def head_replaced_before_the_optimizer():
    m = MLP()
    m.fc3 = nn.Linear(8, 3)
    m.optimizer = torch.optim.SGD(m.parameters(), 0.1)
    for _ in range(2):
        loss, _ = _run(m)
        loss.backward()
        m.optimizer.step()
        m.zero_grad()
    return _run(m)


def optimizer_of_the_head_and_a_prompt():
    m = MLP()
    m.prompt = [torch.zeros(6, requires_grad=True)]
    m.optimizer = torch.optim.SGD([*m.fc3.parameters(), *m.prompt], 0.1)
    x, y = xy()
    for _ in range(2):
        F.cross_entropy(m(x + m.prompt[0]), y).backward()
        m.optimizer.step()
        m.zero_grad()
    with capture(m):
        loss = F.cross_entropy(m(x + m.prompt[0]), y)
    return loss, m


def lazy_layers():
    return _run(nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(3)))


def entropy_of_a_policy():
    m = MLP()
    x, y = xy()
    with capture(m):
        logits = m(x)
        p, log_p = logits.softmax(-1), logits.log_softmax(-1)
        loss = F.nll_loss(log_p, y) + 0.01 * (p * log_p).sum(-1).mean()
    return loss, m


def weights_made_by_a_network():
    m = nn.Linear(4, 18)
    x, y = xy()
    with capture(m):
        loss = F.cross_entropy(F.linear(x, m(torch.ones(4)).view(3, 6)), y)
    return loss, m
