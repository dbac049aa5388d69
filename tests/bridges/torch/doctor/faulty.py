"""Small programs with a fault each; the line that has it ends with ``# here`` where there is one."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import gradviz

capture = gradviz.torch.capture


class Two(nn.Module):
    """An encoder and a head."""

    def __init__(self):
        super().__init__()
        self.encoder, self.head = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.head(torch.tanh(self.encoder(x)))


def data(batch=5):
    torch.manual_seed(0)
    return torch.randn(batch, 6), torch.randint(3, (batch,))


def run(model):
    x, y = data()
    with capture(model):
        loss = F.cross_entropy(model(x), y)
    return loss, model


def overwritten():
    x, y = data()
    model = Two()
    with capture(model):
        h = torch.sigmoid(model.encoder(x))
        out = model.head(h)
        h += 1  # here
        loss = F.cross_entropy(out, y)
    return loss, model


def overwritten_through_data():
    x, y = data()
    model = Two()
    with capture(model):
        h = torch.sigmoid(model.encoder(x))
        out = model.head(h)
        h.data.mul_(2)  # here
        loss = F.cross_entropy(out, y)
    return loss, model


def overwritten_part():
    x, y = data()
    model = Two()
    with capture(model):
        h = torch.exp(model.encoder(x))
        h[:, 0] = 0  # here
        loss = F.cross_entropy(model.head(h), y)
    return loss, model


def overwritten_by_a_step():
    x, y = data()
    model = Two()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with capture(model):
        out = model(x)
        first = F.cross_entropy(out, y)
        loss = out.square().mean()
        first.backward(retain_graph=True)
        optimizer.step()  # here
    return loss, model


class InPlaceRelu(Two):
    def forward(self, x):
        h = torch.tanh(self.encoder(x))
        return self.head(F.relu(h, inplace=True))  # here


def overwritten_by_an_inplace_module():
    return run(InPlaceRelu())


class Unused(Two):
    def __init__(self):
        super().__init__()
        self.extra = nn.Linear(8, 8)


def unused():
    return run(Unused())


class Dropped(Unused):
    def forward(self, x):
        h = torch.tanh(self.encoder(x))
        self.extra(h)  # here
        return self.head(h)


def unused_result():
    return run(Dropped())


def not_a_leaf():
    x, _ = data()
    with capture():
        w = torch.randn(6, 3, requires_grad=True).to(torch.float64)  # here
        loss = (x.double() @ w).square().mean()
        loss.backward()
        w.grad  # noqa: B018
    return loss, None


def scaled_after_requires_grad():
    x, _ = data()
    with capture():
        w = torch.randn(6, 3, requires_grad=True) * 0.1  # here
        loss = (x @ w).square().mean()
    return loss, None


def rebuilt():
    x, _ = data()
    w = torch.ones(6, 3, requires_grad=True)
    with capture():
        loss = (x @ w).square().mean()
        loss.backward()
        w = w - 0.1 * w.grad  # here
        loss = (x @ w).square().mean()
    return loss, None


def rebuilt_without_gradients():
    x, _ = data()
    w = torch.ones(6, 3, requires_grad=True)
    with capture():
        loss = (x @ w).square().mean()
        loss.backward()
        with torch.no_grad():
            w = w - 0.1 * w.grad  # here
        loss = (x @ w).square().mean()
    return loss, None


class Backed(Two):
    """Whose encoder is cut off in some way."""

    def forward(self, x):
        return self.head(self.cut(torch.tanh(self.encoder(x))))


class NoGrad(Two):
    def forward(self, x):
        with torch.no_grad():
            h = self.encoder(x)  # here
        return self.head(torch.tanh(h))


def no_grad():
    return run(NoGrad())


class Checkpointed(Two):
    def forward(self, x):
        h = checkpoint(lambda x: torch.tanh(self.encoder(x)), x, use_reentrant=True)  # here
        return self.head(h)


def checkpoint_of_data():
    return run(Checkpointed())


class Inference(Two):
    def forward(self, x):
        with torch.inference_mode():
            h = self.encoder(x)  # here
        return self.head(h.clone())


def inference_mode():
    return run(Inference())


class Detached(Backed):
    def cut(self, h):
        return h.detach()  # here


def detached():
    return run(Detached())


class Data(Backed):
    def cut(self, h):
        return h.data * 2  # here


def detached_by_data():
    return run(Data())


class Numpy(Backed):
    def cut(self, h):
        return torch.from_numpy(np.maximum(h.detach().numpy(), 0))  # here


def detached_by_numpy():
    return run(Numpy())


class Item(Backed):
    def cut(self, h):
        scale = h.mean().item()  # here
        return torch.full((5, 8), scale)


def detached_by_item():
    return run(Item())


class Rebuilt(Backed):
    def cut(self, h):
        return torch.tensor(h.tolist())  # here


def detached_by_a_list():
    return run(Rebuilt())


class Cast(Backed):
    def cut(self, h):
        return (h * 10).long().float()  # here


def cast_to_integers():
    return run(Cast())


class Argmax(Two):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(8, 8)

    def forward(self, x):
        index = self.encoder(x).argmax(1)  # here
        return self.head(self.table(index))


def argmax():
    return run(Argmax())


class Compared(Backed):
    def cut(self, h):
        return (h > 0).float()  # here


def compared():
    return run(Compared())


def loss_is_a_number():
    x, y = data()
    model = Two()
    with capture(model):
        loss = F.cross_entropy(model(x), y).item()  # here
    return loss, model


def loss_is_accuracy():
    x, y = data()
    model = Two()
    with capture(model):
        guess = model(x).argmax(1)  # here
        loss = (guess != y).float().mean()
    return loss, model


def loss_is_rebuilt():
    x, y = data()
    model = Two()
    with capture(model):
        loss = torch.tensor([F.cross_entropy(model(x), y), 0.0]).sum()  # here
    return loss, model


def loss_under_no_grad():
    x, y = data()
    model = Two()
    with capture(model), torch.no_grad():
        loss = F.cross_entropy(model(x), y)
    return loss, model


def loss_of_something_else():
    x, y = data()
    model, other = Two(), Two()
    with capture():
        loss = F.cross_entropy(other(x), y)
    return loss, model


def all_frozen():
    model = Two()
    for parameter in model.parameters():
        parameter.requires_grad = False
    return run(model)


def freed():
    x, y = data()
    model = Two()
    with capture(model):
        h = torch.tanh(model.encoder(x))
        first = h.square().mean()
        first.backward()  # here
        loss = F.cross_entropy(model.head(h), y)
    return loss, model


class PlainTensor(Two):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(8, requires_grad=True)

    def forward(self, x):
        return self.head(self.scale * self.encoder(x))


def plain_tensor():
    return run(PlainTensor())


class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(6, 6), nn.Linear(6, 6)]
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.head(x)


def module_list():
    return run(Listed())


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
        self.head.weight.data = self.words.weight.data

    def forward(self, x):
        return self.head(self.words(x))


def tied_by_data():
    model = Tied()
    x = torch.randint(7, (5,))
    with capture(model):
        loss = F.cross_entropy(model(x), x)
    return loss, model


def no_zero_grad():
    x, y = data()
    model = Two()
    optimizer = torch.optim.Adam(model.parameters())
    with capture(model):
        for _ in range(3):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()  # here
        loss = F.cross_entropy(model(x), y)
    return loss, model


def no_zero_grad_after_backward():
    x, y = data()
    model = Two()
    optimizer = torch.optim.Adam(model.parameters())
    with capture(model):
        for _ in range(3):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()  # here
    return loss, model


class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        return 2 * grad * ctx.saved_tensors[0]


def once_differentiable():
    x = torch.randn(4, requires_grad=True)
    with capture():
        (slope,) = torch.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
        loss = slope.square().sum()
    return loss, None


def no_create_graph():
    x, y = data()
    model = Two()
    x.requires_grad_()
    with capture(model):
        (slope,) = torch.autograd.grad(F.cross_entropy(model(x), y), x)  # here
        loss = slope.square().sum()
    return loss, model


class Forgets(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(w)
        return x * w

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0], None


class Forgetful(Two):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x):
        return self.head(Forgets.apply(self.encoder(x), self.scale))


def function_returns_none():
    return run(Forgetful())


def late():
    x, y = data()
    model = Two()
    model.encoder.weight.requires_grad_(False)
    with capture(model):
        loss = F.cross_entropy(model(x), y)
    model.encoder.weight.requires_grad_(True)
    return loss, model


def several_elements():
    x, y = data()
    model = Two()
    with capture(model):
        loss = F.cross_entropy(model(x), y, reduction="none")  # here
    return loss, model


def changed_by_a_hook():
    x, y = data()
    model = Two()
    model.encoder.weight.register_hook(lambda grad: grad * 0.5)  # here
    with capture(model):
        loss = F.cross_entropy(model(x), y)
    return loss, model
