"""Small programs that raise errors of PyTorch; none is under a capture unless it says so."""

import copy

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import gradviz
from tests.bridges.torch.doctor.faulty import Once, Two, data


def overwritten():
    x, y = data()
    model = Two()
    h = torch.sigmoid(model.encoder(x))
    out = model.head(h)
    h += 1
    F.cross_entropy(out, y).backward()


def overwritten_in_a_capture():
    x, y = data()
    model = Two()
    with gradviz.torch.capture(model):
        h = torch.sigmoid(model.encoder(x))
        out = model.head(h)
        h += 1  # here
        loss = F.cross_entropy(out, y)
    loss.backward()


def no_graph():
    x, y = data()
    model = Two()
    with torch.no_grad():
        loss = F.cross_entropy(model(x), y)
    loss.backward()  # here


def no_graph_in_a_capture():
    x, y = data()
    model = Two()
    with gradviz.torch.capture(model):
        guess = model(x).argmax(1)  # here
        loss = (guess - y).float().mean()
    loss.backward()


def twice():
    x, y = data()
    loss = F.cross_entropy(Two()(x), y)
    loss.backward()
    loss.backward()  # here


def twice_in_a_capture():
    x, y = data()
    model = Two()
    with gradviz.torch.capture(model):
        loss = F.cross_entropy(model(x), y)
        loss.backward()  # here
        loss.backward()


def leaf_in_place():
    w = torch.ones(3, requires_grad=True)
    w += 1  # here


def parameter_in_place():
    model = Two()
    model.encoder.weight.mul_(0.5)  # here


def integers():
    index = torch.tensor([1, 2, 3])
    index.requires_grad_()  # here


def integers_at_once():
    torch.tensor([1, 2, 3], requires_grad=True)  # here


def not_scalar():
    x, _ = data()
    out = Two()(x)
    out.backward()  # here


def once():
    x = torch.randn(4, requires_grad=True)
    (slope,) = torch.autograd.grad(Once.apply(x).square().sum(), x, create_graph=True)
    slope.sum().backward()


def unused_input():
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    torch.autograd.grad((2 * x).sum(), [x, y])  # here


def input_without_gradient():
    x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    loss = (x * w).sum()
    torch.autograd.grad(loss, x)  # here


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):  # here
        return grad.sum(0)


def wrong_shape():
    x = torch.randn(4, 3, requires_grad=True)
    (Wrong.apply(x) * torch.randn(4, 3)).sum().backward()


class TooFew(Wrong):
    @staticmethod
    def forward(ctx, x, factor):
        return x * factor


def wrong_count():
    TooFew.apply(torch.ones(3, requires_grad=True), 2).sum().backward()


def gradient_of_another_shape():
    y = torch.ones(3, requires_grad=True) * 2
    y.backward(torch.ones(2))  # here


def gradient_of_another_dtype():
    y = torch.ones(3, requires_grad=True) * 2
    torch.autograd.grad(y * 1j, y, torch.ones(3))  # here


def overwritten_by_a_step():
    x, _ = data()
    model = Two()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    out = model(x)
    out.mean().backward(retain_graph=True)
    optimizer.step()
    out.square().mean().backward()


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.state = nn.GRUCell(6, 4), torch.zeros(5, 4)

    def forward(self, x):
        self.state = self.cell(x, self.state)
        return self.state


def carried_on():
    model = Stateful()
    for _ in range(2):
        with gradviz.torch.capture(model):
            loss = model(data()[0]).square().mean()
        loss.backward()  # here


def carried_on_unseen():
    model = Stateful()
    for _ in range(2):
        loss = model(data()[0]).square().mean()
        loss.backward()  # here


class Mixed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad.double() @ w.T, x.T @ grad


def wrong_dtype():
    x, w = torch.randn(4, 3, requires_grad=True), torch.randn(3, 2, requires_grad=True)
    Mixed.apply(x, w).sum().backward()


def none_of_a_rebuilt_leaf():
    x, _ = data()
    w = torch.ones(6, 3, requires_grad=True)
    for _ in range(2):
        loss = (x @ w).square().mean()
        loss.backward()
        w = w - 0.1 * w.grad  # here


def none_after_a_cast():
    x, _ = data()
    w = torch.ones(6, 3, requires_grad=True).double()
    (x.double() @ w).square().mean().backward()
    print(w.grad * 2)  # here


def array_of_a_gradient():
    Two()(data()[0]).numpy()  # here


def array_of_a_variable():
    out = Two()(data()[0])
    out.numpy()  # here


def learnt_from_predictions():
    x, y = data()
    model = Two()
    with torch.inference_mode():
        h = model.encoder(x)
    F.cross_entropy(model.head(h), y).backward()  # here


def no_leaf_for_an_optimizer():
    torch.optim.SGD([torch.ones(3, requires_grad=True) * 2], 0.1)  # here


class Hidden(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]


def no_parameters():
    model = Hidden()
    torch.optim.SGD(model.parameters(), 0.1)


def part_of_a_leaf():
    w = torch.ones(3, requires_grad=True)
    w[0] = 2  # here


def backward_of_a_number():
    x, y = data()
    loss = F.cross_entropy(Two()(x), y).item()
    loss.backward()  # here


def backward_of_a_sum_of_numbers():
    x, y = data()
    model = Two()
    losses = []
    with gradviz.torch.capture(model):
        for _ in range(2):
            losses.append(F.cross_entropy(model(x), y).item())  # here
    loss = sum(losses)
    loss.backward()


def zeros_of_none():
    w = torch.ones(3, requires_grad=True)
    w.grad.zero_()  # here


def types_that_do_not_fit():
    torch.ones(2, 3) @ torch.ones(3, 2).double()


def shapes_that_do_not_fit():
    torch.ones(2, 3) @ torch.ones(2, 3)


def a_key():
    {}["weight"]


def part_behind_a_checkpoint():
    x, _ = data()
    x.requires_grad_()
    loss = checkpoint(torch.tanh, x, use_reentrant=True).sum()
    torch.autograd.grad(loss, [x])  # here


def part_written_into():
    x, _ = data()
    part, rest = Two().encoder(x).chunk(2, -1)
    part += rest  # here


def part_of_what_was_written_into():
    x, _ = data()
    part, rest = Two().encoder(x).chunk(2, -1)
    with torch.no_grad():
        part.zero_()
    rest.sum()  # here


class Bare(torch.autograd.Function):
    """One whose backward reads what its forward did not keep."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor  # here


def backward_of_a_function():
    Bare.apply(torch.ones(3, requires_grad=True)).sum().backward()


def in_a_hook():
    def refuse(gradient):
        raise ValueError("no such gradient")  # here

    h = torch.ones(3, requires_grad=True) * 2
    h.register_hook(refuse)
    torch.autograd.backward(h.sum())


def another_size_from_a_hook():
    h = torch.ones(3, requires_grad=True) * 2
    h.register_hook(lambda gradient: gradient.sum())
    h.sum().backward()  # here


def copied():
    model, (x, _) = Two(), data()
    model.state = model.encoder(x)
    copy.deepcopy(model)  # here


def none_of_a_result():
    w = torch.ones(3, requires_grad=True)
    h = w * 2
    h.sum().backward()
    print(h.grad.norm())  # here
