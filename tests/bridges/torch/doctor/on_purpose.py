"""What people do on purpose and what looks like a mistake: the doctor finds no harm."""

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


def gan_steps():
    G = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 6))
    Dm = nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    og = torch.optim.Adam(G.parameters())
    od = torch.optim.Adam(Dm.parameters())
    real, _ = xy()
    with capture(G, Dm):
        for _ in range(2):
            z = torch.randn(5, 6)
            fake = G(z)
            ld = F.binary_cross_entropy_with_logits(Dm(real), torch.ones(5, 1)) + F.binary_cross_entropy_with_logits(
                Dm(fake.detach()), torch.zeros(5, 1)
            )
            od.zero_grad()
            ld.backward()
            od.step()
            lg = F.binary_cross_entropy_with_logits(Dm(fake), torch.ones(5, 1))
            og.zero_grad()
            lg.backward()
            og.step()
        z = torch.randn(5, 6)
        fake = G(z)
        ld = F.binary_cross_entropy_with_logits(Dm(real), torch.ones(5, 1)) + F.binary_cross_entropy_with_logits(
            Dm(fake.detach()), torch.zeros(5, 1)
        )
    return ld, None


def gan_g_none():
    G = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 6))
    Dm = nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    with capture(G, Dm):
        lg = F.binary_cross_entropy_with_logits(Dm(G(torch.randn(5, 6))), torch.ones(5, 1))
    return lg, None


class OneGan(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 6))
        self.discriminator = nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))


def gan_in_one_module():
    m = OneGan()
    real, _ = xy()
    with capture(m):
        fake = m.generator(torch.randn(5, 6))
        ld = F.binary_cross_entropy_with_logits(
            m.discriminator(real), torch.ones(5, 1)
        ) + F.binary_cross_entropy_with_logits(m.discriminator(fake.detach()), torch.zeros(5, 1))
    return ld, m


def gan_disc_no_grad_gen():
    m = OneGan()
    real, _ = xy()
    with capture(m):
        with torch.no_grad():
            fake = m.generator(torch.randn(5, 6))
        ld = F.softplus(m.discriminator(fake)).mean() + F.softplus(-m.discriminator(real)).mean()
    return ld, m.discriminator


def actor_critic():
    class AC(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(6, 8)
            self.pi = nn.Linear(8, 3)
            self.v = nn.Linear(8, 1)

        def forward(self, x):
            h = torch.tanh(self.body(x))
            return self.pi(h), self.v(h).squeeze(-1)

    m = AC()
    x, _ = xy()
    with capture(m):
        logits, v = m(x)
        d = torch.distributions.Categorical(logits=logits)
        a = d.sample()
        r = torch.randn(5)
        adv = (r - v).detach()
        loss = -(d.log_prob(a) * adv).mean() + F.mse_loss(v, r) - 0.01 * d.entropy().mean()
    return loss, m


def dqn():
    q = MLP()
    t = MLP()
    t.load_state_dict(q.state_dict())
    x, _ = xy()
    with capture(q, t):
        a = q(x).gather(1, torch.zeros(5, 1, dtype=torch.long))
        with torch.no_grad():
            y = t(x).max(1, keepdim=True)[0]
        loss = F.smooth_l1_loss(a, y)
    return loss, q


def double_dqn():
    q = MLP()
    t = MLP()
    t.load_state_dict(q.state_dict())
    x, _ = xy()
    with capture(q, t):
        with torch.no_grad():
            best = q(x).argmax(1, keepdim=True)
            y = t(x).gather(1, best)
        loss = F.smooth_l1_loss(q(x).gather(1, best), y)
    return loss, None


def ema_teacher_attr():
    class S(nn.Module):
        def __init__(self):
            super().__init__()
            self.student = MLP()
            self.teacher = copy.deepcopy(self.student)
            for p in self.teacher.parameters():
                p.requires_grad_(False)

        def forward(self, x):
            return F.mse_loss(self.student(x), self.teacher(x))

    m = S()
    x, _ = xy()
    with torch.no_grad():
        m.student.fc1.weight.add_(0.1)
    with capture(m):
        loss = m(x)
    return loss, m


def ema_teacher_no_grad_many_steps():
    class S(nn.Module):
        def __init__(self):
            super().__init__()
            self.student = MLP()
            self.ema = copy.deepcopy(self.student)

        def forward(self, x):
            with torch.no_grad():
                t = self.ema(x)
            return F.mse_loss(self.student(x + 0.1), t)

    m = S()
    x, _ = xy()
    o = torch.optim.SGD(m.student.parameters(), 0.1)
    for _ in range(2):
        first = m(x)
        o.zero_grad()
        first.backward()
        o.step()
        with torch.no_grad():
            for a, b in zip(m.ema.parameters(), m.student.parameters(), strict=False):
                a.lerp_(b, 0.1)
    o.zero_grad()
    with capture(m):
        loss = m(x)
    return loss, m


def simsiam():
    class S(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc = MLP()
            self.pred = nn.Linear(3, 3)

        def forward(self, a, b):
            z1, z2 = self.enc(a), self.enc(b)
            p1, p2 = self.pred(z1), self.pred(z2)
            return -(F.cosine_similarity(p1, z2.detach()).mean() + F.cosine_similarity(p2, z1.detach()).mean()) / 2

    m = S()
    x, _ = xy()
    with capture(m):
        loss = m(x, x + 0.1)
    return loss, m


def vqvae():
    class V(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc = nn.Linear(6, 4)
            self.cb = nn.Embedding(10, 4)
            self.dec = nn.Linear(4, 6)

        def forward(self, x):
            z = self.enc(x)
            i = torch.cdist(z, self.cb.weight).argmin(1)
            q = self.cb(i)
            first = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
            q = z + (q - z).detach()
            return F.mse_loss(self.dec(q), x) + first

    m = V()
    x, _ = xy()
    with capture(m):
        loss = m(x)
    return loss, m


def vae():
    class V(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Linear(6, 8)
            self.d = nn.Linear(4, 6)

        def forward(self, x):
            mu, lv = self.e(x).chunk(2, 1)
            z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
            return F.mse_loss(self.d(z), x) - 0.5 * (1 + lv - mu**2 - lv.exp()).mean()

    m = V()
    x, _ = xy()
    with capture(m):
        loss = m(x)
    return loss, m


def dropout_all():
    class Q(MLP):
        def forward(self, x):
            return self.fc3(F.dropout(torch.relu(self.fc2(F.dropout(torch.relu(self.fc1(x)), 0.5))), 0.5))

    return _run(Q(), torch.randn(5, 6))


def running_stats_inplace():
    class Q(MLP):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(8))

        def forward(self, x):
            h = self.fc1(x)
            with torch.no_grad():
                self.mean.mul_(0.9).add_(0.1 * h.mean(0))
            return self.fc3(torch.relu(self.fc2(h - self.mean)))

    return _run(Q())


def running_stats_data():
    class Q(MLP):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(8))

        def forward(self, x):
            h = self.fc1(x)
            self.mean.data.copy_(0.9 * self.mean + 0.1 * h.detach().mean(0))
            return self.fc3(torch.relu(self.fc2(h)))

    return _run(Q())


def metric_logging():
    m = MLP()
    x, y = xy()
    log = {}
    with capture(m):
        for _i in range(2):
            o = m(x)
            loss = F.cross_entropy(o, y)
            log["loss"] = float(loss)
            log["acc"] = (o.argmax(-1) == y).float().mean().item()
            log["gn"] = sum(p.norm().item() for p in m.parameters())
            o.detach().cpu().numpy()
            if loss.item() > 100:
                break
            for p in m.parameters():
                p.grad = None
            loss.backward()
            with torch.no_grad():
                for p in m.parameters():
                    p -= 0.1 * p.grad
    return loss, m


def mask_by_comparison():
    class Q(MLP):
        def forward(self, x):
            h = self.fc1(x)
            h = h * (h > 0)
            h = torch.where(h > 1, h, 0.5 * h)
            return self.fc3(self.fc2(h))

    return _run(Q())


def hard_attention_mask():
    class Q(MLP):
        def forward(self, x):
            h = self.fc1(x)
            k = h.topk(4).indices
            m = torch.zeros_like(h).scatter_(1, k, 1.0)
            return self.fc3(self.fc2(h * m))

    return _run(Q())


def moe():
    class Q(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(6, 3)
            self.experts = nn.ModuleList([nn.Linear(6, 3) for _ in range(3)])

        def forward(self, x):
            p = self.gate(x).softmax(-1)
            w, i = p.topk(2)
            out = torch.zeros(len(x), 3)
            for e in range(3):
                for k in range(2):
                    sel = i[:, k] == e
                    if sel.any():
                        out[sel] += w[sel, k, None] * self.experts[e](x[sel])
            return out

    torch.manual_seed(1)
    return _run(Q())


def cosine_restart_sched():
    m = MLP()
    x, y = xy()
    o = torch.optim.SGD(m.parameters(), 0.1, momentum=0.9)
    sch = torch.optim.lr_scheduler.StepLR(o, 1)
    with capture(m):
        for _ in range(3):
            o.zero_grad(set_to_none=False)
            loss = F.cross_entropy(m(x), y)
            loss.backward()
            nn.utils.clip_grad_value_(m.parameters(), 0.5)
            o.step()
            sch.step()
    return loss, m


def lbfgs():
    m = MLP()
    x, y = xy()
    o = torch.optim.LBFGS(m.parameters(), max_iter=3)

    def closure():
        o.zero_grad()
        first = F.cross_entropy(m(x), y)
        first.backward()
        return first

    with capture(m):
        o.step(closure)
        loss = F.cross_entropy(m(x), y)
    return loss, m


def closure_sgd():
    m = MLP()
    x, y = xy()
    o = torch.optim.SGD(m.parameters(), 0.1)

    def closure():
        o.zero_grad()
        first = F.cross_entropy(m(x), y)
        first.backward()
        return first

    with capture(m):
        for _ in range(2):
            loss = o.step(closure)
    return loss, m


def model_zero_grad():
    m = MLP()
    x, y = xy()
    o = torch.optim.SGD(m.parameters(), 0.1)
    with capture(m):
        for _ in range(2):
            m.zero_grad()
            loss = F.cross_entropy(m(x), y)
            loss.backward()
            o.step()
        loss = F.cross_entropy(m(x), y)
    return loss, m


def zero_after_loss():
    m = MLP()
    x, y = xy()
    o = torch.optim.SGD(m.parameters(), 0.1)
    with capture(m):
        for _ in range(2):
            loss = F.cross_entropy(m(x), y)
            m.zero_grad()
            loss.backward()
            o.step()
        loss = F.cross_entropy(m(x), y)
    return loss, m


def adversarial():
    m = MLP()
    x, y = xy()
    with capture(m):
        d = torch.zeros_like(x, requires_grad=True)
        first = F.cross_entropy(m(x + d), y)
        (g,) = torch.autograd.grad(first, d)
        adv = (x + 0.1 * g.sign()).detach()
        loss = F.cross_entropy(m(adv), y)
    return loss, m


def pgd():
    m = MLP()
    x, y = xy()
    with capture(m):
        adv = x.clone().detach()
        for _ in range(2):
            adv.requires_grad_()
            first = F.cross_entropy(m(adv), y)
            g = torch.autograd.grad(first, [adv])[0]
            adv = adv.detach() + 0.1 * g.sign()
        loss = F.cross_entropy(m(adv.detach()), y)
    return loss, m


def input_opt():
    m = MLP().requires_grad_(False)
    img = torch.randn(5, 6, requires_grad=True)
    o = torch.optim.Adam([img])
    _, y = xy()
    with capture(m):
        for _ in range(2):
            o.zero_grad()
            loss = F.cross_entropy(m(img), y)
            loss.backward()
            o.step()
    return loss, None
