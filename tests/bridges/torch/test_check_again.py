"""What a loss that is computed again reads and keeps constant, where gradients of PyTorch are held against it."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import gradviz
from tests.bridges.torch.models import Through

X, Y = torch.randn(5, 6, generator=torch.Generator().manual_seed(2)), torch.tensor([0, 1, 1, 0, 1])


ROW = X[0]


@pytest.fixture
def model():
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 2))


def checked(compute):
    return gradviz.debug(compute(), forward=compute).check("all")


def test_a_hook_of_a_module_that_looks_on_cuts_nothing_off(model):
    model[2].register_full_backward_hook(lambda module, sent, arrived: None)
    view = checked(lambda: F.cross_entropy(model(X), Y))
    assert view.verdict == "agrees", view
    assert "stayed as it was" not in str(view)


def test_gradients_without_a_graph_are_constants(model):
    def adapted():
        """A step within the model, MAML of first order."""
        own = dict(model.named_parameters())
        slopes = torch.autograd.grad(F.cross_entropy(model(X), Y), list(own.values()))
        moved = {name: one - slope for (name, one), slope in zip(own.items(), slopes, strict=True)}
        return F.cross_entropy(torch.func.functional_call(model, moved, (X,)), Y)

    view = checked(adapted)
    assert view.verdict == "agrees", view
    assert "1 result of detach(), no_grad() and the like stayed as it was" in str(view)


def test_a_leaf_that_the_function_makes_anew_is_not_moved_and_it_is_said(model):
    def penalized():
        x = X.clone().requires_grad_()
        (slope,) = torch.autograd.grad(model(x)[:, 0].sum(), x, create_graph=True)
        return (slope.norm(dim=1) - 1).square().mean() + model(x).square().mean()

    view = checked(penalized)
    assert view.verdict == "agrees", view
    assert len(view.checks) == len(list(model.parameters()))
    assert "It cannot be run again: The function does not read it: what it makes anew" in str(view)


@pytest.mark.parametrize("padding", [0, -1])
def test_the_row_of_padding_is_a_constant_where_rows_are_looked_up(model, padding):
    rows = nn.Embedding(4, 6, padding_idx=padding)
    nn.init.normal_(rows.weight)
    words = torch.tensor([[0, 1, 3], [2, 3, 0]])
    view = checked(lambda: (model(rows(words)) @ rows.weight[:, :2].T).square().mean())
    assert view.verdict == "agrees", view
    assert "1 result of detach(), no_grad() and the like stayed as it was" in str(view)


@pytest.mark.parametrize("distribution", [torch.distributions.Gamma, torch.distributions.Beta])
def test_what_is_drawn_by_rejection_is_refused_in_words(model, distribution):
    def drawn():
        torch.manual_seed(0)
        one, other = model(X).exp().unbind(1)
        return distribution(one, other).rsample().mean()

    view = checked(drawn)
    assert view.verdict == "not checkable", view
    assert "draws by rejection" in str(view)


NO_SLOPES = {
    "gumbel_softmax(hard=True) jumps": lambda rows, words: F.gumbel_softmax(rows(words), hard=True),
    "divides gradients of rows": lambda rows, words: rows(words),
    "sends no gradient to its padding": lambda rows, words: torch.vmap(lambda one: F.embedding(one, rows.weight, 0))(
        words
    ),
}


@pytest.mark.parametrize("why", NO_SLOPES)
def test_gradients_that_are_no_slopes_on_purpose_are_refused_in_words(model, why):
    rows, words = nn.Embedding(4, 6, scale_grad_by_freq="divides" in why), torch.tensor([[0, 1, 3], [1, 3, 0]])
    weights = torch.arange(6.0)

    def compute():
        torch.manual_seed(0)
        return (NO_SLOPES[why](rows, words) * weights).square().sum()

    view = checked(compute)
    assert view.verdict == "not checkable", view
    assert why in str(view)


def test_what_jumps_behind_no_grad_is_a_constant(model):
    def compute():
        torch.manual_seed(0)
        with torch.no_grad():
            one = F.gumbel_softmax(model(X), hard=True)
        return (model(X) * one).sum()

    view = checked(compute)
    assert view.verdict == "agrees", view


def test_of_a_gradient_that_rounding_hides_no_one_says_that_it_agrees():
    w = torch.full((3,), 2.0, requires_grad=True)

    def compute():
        if (w * 1).dtype != torch.float32:
            raise TypeError("in float32 alone")
        return 10 + 1e-6 * w.square().sum()

    view = checked(compute)
    assert view.verdict == view.checks[0].verdict == "not checkable", view
    assert f"Rounding moves differences by more than the whole gradient of {view.checks[0].blob}" in str(view)


MIXED = (torch.amp.custom_fwd(device_type="cpu"), torch.amp.custom_bwd(device_type="cpu"))


@pytest.mark.parametrize(("ahead", "back"), [(torch.no_grad(), torch.no_grad()), MIXED])
def test_what_decorates_the_forward_of_a_function_cuts_nothing_off(ahead, back, model):
    class Cube(torch.autograd.Function):
        @staticmethod
        @ahead
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.detach() ** 3

        @staticmethod
        @back
        def backward(ctx, gradient):
            return 3 * gradient * ctx.saved_tensors[0] ** 2

    view = checked(lambda: Cube.apply(model(X)).sum())
    assert view.verdict == "agrees", view
    assert "stayed as it was" not in str(view)


def test_what_a_function_returns_as_it_was_given_goes_on(model):
    view = checked(lambda: F.cross_entropy(Through.apply(model(X)), Y))
    assert view.verdict == "agrees", view
    assert "stayed as it was" not in str(view)


@pytest.mark.parametrize(
    "transform",
    [
        lambda value: torch.func.grad(value)(ROW),
        lambda value: torch.func.vmap(torch.func.grad(value))(X),
        lambda value: torch.func.hessian(value)(ROW),
    ],
    ids=["grad", "grad in vmap", "hessian"],
)
def test_what_a_transform_is_given_of_other_variables_is_in_double_precision_too(transform, model):
    view = checked(lambda: transform(lambda x: model(x)[0]).square().sum())
    assert view.verdict == "agrees", view
    assert "The function was run in double precision, on copies." in str(view)
    assert "own precision" not in str(view)
