"""Gradients of PyTorch held against differences of a loss that is computed again, on copies of all that it touches."""

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import gradviz
from tests.bridges.torch.models import GPT, Checkpointed, LeNet, Recurrent, mlp

X, Y = torch.randn(5, 6, generator=torch.Generator().manual_seed(2)), torch.tensor([0, 1, 1, 0, 1])
WORDS = torch.randint(65, (2, 9), generator=torch.Generator().manual_seed(2))


def classified(model, x=X, y=Y):
    """A model, and what computes its loss."""

    def compute():
        torch.manual_seed(0)
        return F.cross_entropy(model(x), y)

    return model, compute


def spoken():
    model = GPT(1, width=16, tied=True)
    return model, lambda: F.cross_entropy(model(WORDS[:, :-1]).flatten(0, 1), WORDS[:, 1:].flatten())


def penalised():
    model, x = mlp(), X.clone().requires_grad_()

    def compute():
        loss = F.cross_entropy(model(x), Y)
        (slope,) = torch.autograd.grad(loss, x, create_graph=True)
        return loss + slope.square().sum()

    return model, compute


def noisy():
    """A variational autoencoder."""
    model = nn.Linear(6, 4)

    def compute():
        torch.manual_seed(0)
        mean, deviation = model(X).chunk(2, -1)
        return (mean + torch.randn_like(mean) * deviation.exp()).square().mean()

    return model, compute


def straight_through():
    """Backward it is as if nothing had been rounded."""
    model = nn.Linear(6, 4)

    def compute():
        h = model(X)
        return (h + (h.round() - h).detach()).square().mean()

    return model, compute


def after_a_target():
    model = nn.Linear(6, 4)

    def compute():
        with torch.no_grad():
            target = model(X + 1)
        h = model(X)
        return -F.cosine_similarity(h / h.abs().max().item(), target).mean()

    return model, compute


RUNS = {
    "LSTM": lambda: classified(Recurrent(), torch.randn(5, 4, 5)),
    "tied GPT": spoken,
    "LeNet": lambda: classified(LeNet(), torch.randn(2, 1, 28, 28), Y[:2]),
    "dropout": lambda: classified(nn.Sequential(nn.Linear(6, 20), nn.Dropout(), nn.Linear(20, 2))),
    "constant before a norm": lambda: classified(nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))),
    "double precision": lambda: classified(mlp().double(), X.double()),
    "checkpoint": lambda: classified(Checkpointed(reentrant=False), X[:, :4]),
    "reentrant checkpoint": lambda: classified(Checkpointed(reentrant=True), X[:, :4]),
    "double backward": penalised,
    "noise": noisy,
    "compiled": lambda: classified(torch.compile(mlp(), backend="eager")),
    "straight through": straight_through,
    "a target without gradient": after_a_target,
}


def checked(made, leaf=None):
    """What check says of a leaf, the first one if none is named."""
    model, compute = made
    loss = compute()
    return gradviz.debug(loss, forward=compute).check(leaf or next(name for name, _ in model.named_parameters()))


@pytest.mark.parametrize("name", RUNS)
def test_gradients_agree_with_differences_in_double_precision(name):
    torch.manual_seed(7)
    model, compute = RUNS[name]()
    session = gradviz.debug(compute(), forward=compute)
    _, leaf, *_ = [name.removeprefix("_orig_mod.") for name, _ in model.named_parameters()]
    view = session.check(leaf)
    assert view.verdict == "agrees", view
    assert "The function was run in double precision, on copies." in view.notes
    assert view.checks[0].checked == min(view.checks[0].size, 64)


def test_everything_stays_as_it_was_and_backward_goes_on():
    torch.manual_seed(7)
    model, compute = classified(nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(), nn.Linear(8, 2)))
    loss = compute()
    session = gradviz.debug(loss, forward=compute)
    tensors = [*model.parameters(), *model.buffers(), X, Y]
    before = [(one._version, one.data_ptr(), one.clone()) for one in tensors]
    states = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    assert session.check("0.weight").verdict == "agrees"
    assert all(torch.equal(one, was) for one, (*_, was) in zip(tensors, before, strict=True))
    assert [(one._version, one.data_ptr()) for one in tensors] == [(version, at) for version, at, _ in before]
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (np.random.get_state()[1].tolist(), random.getstate()) == states[1:]
    assert all(one.grad is None for one in model.parameters())
    loss.backward()
    assert np.array_equal(session.value("0.weight_grad"), model[0].weight.grad)


class Remembers(nn.Module):
    """Keeps something of each forward pass, under names and in a buffer; after `most` of them it fails."""

    def __init__(self, most):
        super().__init__()
        self.fc, self.most, self.last = nn.Linear(6, 2), most, None
        self.register_buffer("mean", torch.zeros(2))
        self.calls = [0]

    def forward(self, x):
        self.last = self.fc(x)
        self.mean = 0.9 * self.mean + 0.1 * self.last.mean(0).detach()
        self.calls[0] += 1
        random.random()
        if self.calls[0] > self.most:
            raise KeyboardInterrupt if self.most == 5 else ValueError("too often")
        return self.last


@pytest.mark.parametrize("most", [5, 6, 10_000])
def test_modules_and_random_numbers_are_put_back_after_an_error_and_an_interrupt_too(most):
    model, compute = classified(Remembers(most))
    loss = compute()
    held, state = (model.last, model.mean), random.getstate()
    session = gradviz.debug(loss, forward=compute)
    try:
        assert session.check("fc.weight").verdict in ("agrees", "not checkable")
    except KeyboardInterrupt:
        assert most == 5
    assert (model.last, model.mean) == held
    assert random.getstate() == state
    assert torch.is_grad_enabled()
    assert (torch.ones(2) * 2).dtype == torch.float32


class Cubes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        wrong = torch.ones_like(x)
        wrong.view(-1)[2] = 1.05
        return 3 * x**2 * g * wrong


class Detached(torch.autograd.Function):
    """x² + y², computed as many write it; only x² has a gradient where `is_right` is False."""

    @staticmethod
    def forward(ctx, is_right, *xs):
        xs = [x.detach().requires_grad_() for x in xs]
        with torch.enable_grad():
            squares = sum(x**2 for x in xs)
        ctx.save_for_backward(*xs)
        ctx.is_right = is_right
        return squares.detach() + 0.0 * squares.sum().item()

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return None, 2 * x * g, 2 * y * g * ctx.is_right


@pytest.mark.parametrize("is_right", [True, False])
def test_what_a_function_detaches_in_its_own_forward_is_not_kept_constant(is_right):
    x, y = (torch.tensor(numbers, requires_grad=True) for numbers in ([0.5, -1.0], [2.0, 0.25]))

    def compute():
        return (Detached.apply(is_right, x, y) * y).sum()

    session = gradviz.debug(compute(), forward=compute)
    assert session.check("x").verdict == "agrees"
    assert session.check("y").verdict == ("agrees" if is_right else "differs")
    assert not any("detach()" in note for note in session.check("x").notes)


class Closed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, made):
        ctx.slope = made().detach()
        return x * made().detach()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.slope, None


def test_what_a_function_detaches_that_it_was_not_given_is_kept_constant():
    x, y = (torch.tensor(numbers, requires_grad=True) for numbers in ([0.5, -1.0], [2.0, 0.25]))

    def compute():
        return (Closed.apply(x, lambda: y) * y).sum()

    session = gradviz.debug(compute(), forward=compute)
    assert [session.check(name).verdict for name in ("x", "y")] == ["agrees", "agrees"]


@pytest.mark.parametrize("size", [5, 500])
def test_a_wrong_backward_is_found_and_it_is_said_where(size):
    w = torch.linspace(1, 2, size, requires_grad=True)

    def compute():
        return Cubes.apply(w).sum()

    loss = compute()
    view = gradviz.debug(loss, forward=compute).check("w")
    if size == 5:
        (one,) = view.checks
        assert (view.verdict, one.differing, one.index) == ("differs", 1, [2])
        assert one.error == pytest.approx(0.05 / 1.05, rel=0.01)
        assert (one.gradient, one.difference) == pytest.approx((6.75 * 1.05, 6.75), rel=1e-3)
    else:
        assert "Along 3 random directions, which move all elements at once, " in view.notes[0]


def test_a_fault_in_all_that_was_not_drawn_is_found_along_directions():
    drawn = np.random.default_rng(0).choice(1000, 64, replace=False)

    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            wrong = torch.full_like(g, 1.0)
            wrong[drawn] = 2.0
            return wrong * g

    w = torch.linspace(1, 2, 1000, requires_grad=True)

    def compute():
        return (Half.apply(w) ** 2).sum()

    loss = compute()
    view = gradviz.debug(loss, forward=compute).check("w")
    assert (view.verdict, view.checks[0].verdict) == ("differs", "agrees")
    assert "3 differ: along direction" in view.notes[0]


def test_a_function_that_goes_backward_through_a_checkpoint_cannot_be_checked():
    x = torch.tensor([0.5, -1.0], requires_grad=True)

    def compute():
        y = checkpoint(lambda x: torch.tanh(x * x) + x, x, use_reentrant=False).square().sum()
        return y + torch.autograd.grad(y, x, create_graph=True)[0].square().sum()

    view = gradviz.debug(compute(), forward=compute).check("x")
    assert view.verdict == "not checkable"
    assert "The function goes backward itself, through a checkpoint" in view.notes[0]


@pytest.mark.parametrize("own", [torch.float32, torch.float64])
def test_where_all_cancels_further_down_what_rounding_leaves_is_no_fault(own):
    torch.manual_seed(0)
    x = torch.randn(3, 4, dtype=own, requires_grad=True)

    def compute():
        return torch.softmax(x.float().t(), 1).t().sum().to(own)

    view = gradviz.debug(compute(), forward=compute).check("x")
    assert view.verdict == "agrees", view


def test_a_kink_is_no_fault():
    w = torch.tensor([0.0, 1.0, -1.0], requires_grad=True)

    def compute():
        return F.relu(w).sum()

    loss = compute()
    view = gradviz.debug(loss, forward=compute).check("w")
    assert (view.verdict, view.checks[0].kinks, view.checks[0].differing) == ("kink", 1, 0)


def test_several_roots_with_gradients_of_their_own():
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def compute():
        return w * w, w.sum()

    y, z = compute()
    session = gradviz.debug([y, z], gradient=[torch.tensor([1.0, 10.0]), None], forward=compute)
    assert session.check("w").verdict == "agrees"


def test_what_works_in_one_precision_alone_is_run_in_that():
    w = torch.ones(3, requires_grad=True)

    def compute():
        h = torch.tanh(w)
        if h.dtype != torch.float32:
            raise TypeError("only float32")
        return h.sum()

    loss = compute()
    view = gradviz.debug(loss, forward=compute).check("w")
    assert view.verdict == "agrees"
    assert "its own precision, on copies: in double precision it raises TypeError: only float32." in view.notes[0]


def test_numbers_that_are_not_those_of_the_first_run_are_held_and_it_is_said():
    assert checked(straight_through()).notes[-1] == (
        "1 result of detach(), no_grad() and the like stayed as it was: no gradient flows there."
    )


def test_a_write_that_pytorch_does_not_notice_makes_a_gradient_that_differs():
    w = torch.tensor([0.1, 0.7, 2.0], requires_grad=True)

    def compute():
        h = torch.tanh(w)
        h.data.clamp_(max=0.5)
        return h.sum()

    loss = compute()
    view = gradviz.debug(loss, forward=compute).check("w")
    assert (view.verdict, view.checks[0].differing) == ("differs", 2)
    assert view.checks[0].difference == 0
    assert len(view.notes) == 1


def refusal(view):
    assert view.verdict == "not checkable"
    return "\n".join(view.notes)


def test_without_a_function_nothing_can_be_checked():
    model, compute = classified(mlp())
    session = gradviz.debug(compute())
    assert "Give a function that computes the loss again: debug(loss, forward=compute)." in refusal(
        session.check("0.weight")
    )
    assert "ask for a blob that it reads" in refusal(session.check("#2"))
    assert session.check("all").notes == session.check("0.weight").notes  # what holds of all is said once
    assert model[0].weight.grad is None


def test_what_is_computed_on_the_way_is_not_moved():
    assert "Ask for a leaf" in refusal(checked(classified(mlp()), "tanh"))


def test_a_loss_that_is_no_number_now_as_then_is_not_said_to_be_another_one():
    w = torch.tensor([-1.0, 2.0], requires_grad=True)

    def compute():
        return (w.detach().log() * w).sum()

    assert refusal(gradviz.debug(compute(), forward=compute).check("w")) == (
        "What w@0 leads to is not finite: session.provenance says why."
    )


@pytest.mark.parametrize(
    "transform",
    [
        lambda value, x: torch.func.vmap(value)(x),
        lambda value, x: torch.func.grad(value)(x[0]),
        lambda value, x: torch.func.vmap(torch.func.grad(value))(x),
        lambda value, x: torch.func.vmap(torch.func.hessian(value))(x),
        lambda value, x: torch.func.jvp(value, (x[0],), (x[1],))[1],
    ],
    ids=["vmap", "grad", "grad in vmap", "hessian in vmap", "jvp"],
)
def test_functions_with_transforms_are_run_again_too(transform):
    torch.manual_seed(0)
    model, x = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)), torch.randn(2, 3)
    parameters = dict(model.named_parameters())  # of which a derivative leaves the last one out

    def value(point):
        return torch.func.functional_call(model, parameters, (point[None],)).squeeze()

    def compute():
        return transform(value, x).square().sum()

    view = gradviz.debug(compute(), forward=compute).check("0.weight")
    assert view.verdict == "agrees", str(view)


def test_parameters_that_are_given_to_a_transform_are_not_moved_and_it_is_said():
    layer, weights, x = torch.nn.Linear(3, 2), torch.ones(4, 2, 3, requires_grad=True), torch.randn(5, 3)

    def compute():
        return torch.func.vmap(lambda w: torch.func.functional_call(layer, {"weight": w}, (x,)))(weights).square().sum()

    assert "gives what requires a gradient to a transform of torch.func" in refusal(
        gradviz.debug(compute(), forward=compute).check("weights")
    )


def test_another_loss_is_refused_with_both_numbers():
    text = refusal(checked((model := nn.Linear(6, 2), lambda: F.dropout(model(X)).square().mean())))
    assert "was recorded." in text
    assert "torch.manual_seed(0)" in text


def test_weights_that_have_moved_since_are_refused():
    model, compute = classified(mlp())
    session = gradviz.debug(compute(), forward=compute)
    session.finish()
    with torch.no_grad():
        model[2].weight.add_(1)
    assert "Ask before weights move" in refusal(session.check("0.weight"))
    with pytest.raises(gradviz.GradvizError, match="was written into after"):
        session.check("2.weight")


@pytest.mark.parametrize(
    ("compute", "why"),
    [
        (lambda w, h: 1.0, "The function returned float, no tensor."),
        (lambda w, h: [][1], "The function raised IndexError: list index out of range."),
        (lambda w, h: h.sum(), "The function reads what was computed before it was called."),
        (lambda w, h: (w.sum(), w.sum()), "6, 6 now, and 6 was recorded"),
        (lambda w, h: w.sum().detach(), "The function returns what requires no gradient"),
        (torch.no_grad()(lambda w, h: w.sum()), "The function returns what requires no gradient"),
    ],
)
def test_functions_that_do_not_compute_the_loss_are_refused(compute, why):
    w = torch.full((3,), 2.0, requires_grad=True)
    h = w * 1
    assert why in refusal(gradviz.debug(h.sum(), forward=lambda: compute(w, h)).check("w"))


def test_gradients_that_a_hook_has_changed_are_not_held_against_differences():
    w = torch.ones(3, requires_grad=True)

    def compute():
        h = w * 3
        h.register_hook(lambda grad: grad.clamp(max=0.5))
        return h.sum()

    loss = compute()
    assert "Hooks have changed the gradient of mul@0" in refusal(gradviz.debug(loss, forward=compute).check("w"))


def test_numbers_of_few_digits_are_refused():
    w = torch.ones(3, requires_grad=True)

    def compute():
        return w.bfloat16().square().sum().float()

    assert "computed in bfloat16" in refusal(gradviz.debug(compute(), forward=compute).check("w"))


def test_all_parameters_are_checked_here_and_no_executor_can_do_it():
    model, compute = classified(mlp())
    session = gradviz.debug(compute(), forward=compute)
    view = session.check("all")
    assert view.verdict == "agrees"
    assert {one.blob.removesuffix("@0") for one in view.checks} == {name for name, _ in model.named_parameters()}
    with ThreadPoolExecutor(1) as executor, pytest.raises(gradviz.GradvizError, match="no executor can") as caught:
        session.check("all", executor=executor)
    assert caught.value.kind == "bad_executor"
