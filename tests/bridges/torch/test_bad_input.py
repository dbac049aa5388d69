"""What cannot be recorded is refused in words, or is the last event; the user's own things stay as they were."""

import re
import sys

import numpy as np
import pytest
import torch
from torch import nn

import gradviz
from gradviz.bridges import bridge, bridge_in_use
from tests.bridges.torch.models import classified, mlp


def refusal(given, **options):
    """What is said of what cannot be recorded at all."""
    with pytest.raises(gradviz.GradientError) as caught:
        gradviz.debug(given, **options)
    assert caught.value.ways_out
    return f"{caught.value.kind}: {caught.value.message}"


def test_a_tensor_that_requires_no_gradient():
    text = refusal(torch.ones(()))
    assert text == (
        "bad_ys: The tensor, a single float32, requires no gradient, nor does anything that it was computed from."
    )


def test_integers():
    with pytest.raises(gradviz.GradientError) as caught:
        gradviz.debug(torch.tensor(3))
    assert "Integers have no gradient" in caught.value.explain()


def test_inference_mode():
    with torch.inference_mode():
        loss = mlp()(torch.ones(2, 6)).sum()
    assert "torch.inference_mode(), which keeps no graph" in refusal(loss)


def test_a_leaf():
    assert "is a leaf: nothing was computed" in refusal(torch.ones((), requires_grad=True))


def test_a_loss_where_the_function_that_computes_it_is_wanted():
    loss = mlp()(torch.ones(2, 6)).sum()
    assert refusal(loss, forward=loss) == "bad_argument: forward is Tensor, no function that computes the loss again."


def test_more_than_one_number_without_a_gradient():
    y = torch.ones(2, 3, requires_grad=True) * 2
    assert "The tensor is 2 × 3 float32: only a single number" in refusal(y)
    session = gradviz.debug(y, gradient=torch.full((2, 3), 5.0))
    assert session.value("leaf_grad").tolist() == [[10.0] * 3] * 2


def test_a_complex_number_without_a_gradient():
    y = torch.ones((), dtype=torch.cfloat, requires_grad=True) * 2
    assert "only a real number has a gradient of its own" in refusal(y)
    session = gradviz.debug(y, gradient=torch.tensor(1j))
    assert session.value("leaf_grad").item() == 2j
    found = gradviz.diagnose([y.abs(), y]).findings
    assert [(one.kind, one.names) for one in found] == [("not_scalar", ("y",))]
    assert found[0].sentence == "`y` is complex: backward() goes from a real number unless it is given a gradient."


def test_a_tensor_that_is_there_twice():
    y, z = (torch.ones(2, requires_grad=True) * 2).unbind()
    assert "The tensor at place 2, a single float32, is there twice" in refusal([y, z, y])
    assert gradviz.diagnose([y, z, y]).is_healthy


def test_a_gradient_of_another_shape():
    y = torch.ones(2, 3, requires_grad=True) * 2
    assert "The gradient is 3 float32, and the tensor 2 × 3 float32." in refusal(y, gradient=torch.ones(3))
    assert "The gradient is float, and the tensor" in refusal(y, gradient=1.0)


def test_options_of_others():
    y = torch.ones((), requires_grad=True) * 2
    assert "debug takes no schedule where it records the backward pass of a tensor" in refusal(y, schedule="tape")


def test_nothing_to_start_from_and_gradients_that_are_too_few():
    y = torch.ones((), requires_grad=True) * 2
    assert "0 gradients for 2 tensors: there" in refusal([y, y * 3], gradient=[])
    assert "float is no tensor" in refusal([y, 3.0])


def test_a_graph_that_was_freed_stops_where_something_is_missing():
    _, loss = classified(mlp(), 5, 6)
    loss.backward()
    session = gradviz.debug(loss)
    session.finish()
    assert session.event.kind == "Failed"
    assert "a second time" in session.narration
    assert session.event.index is not None


class Raises(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        raise ArithmeticError("no way")


def test_a_function_that_raises_is_the_last_event():
    w = torch.ones(3, requires_grad=True)
    x = w * 3
    y = Raises.apply(x)
    loss = y.sum()
    session = gradviz.debug(loss)
    session.finish()
    assert session.narration == "The pass stops here. RaisesBackward raised ArithmeticError: no way."
    assert session.events[session.event.index * 2].op.type == "Raises"
    assert session.value("y_grad").tolist() == [1, 1, 1]
    assert w.grad is None


def test_a_hook_that_raises_what_cannot_be_told_is_the_last_event_too():
    class Mute(Exception):
        def __str__(self):
            raise ZeroDivisionError

    def fail(grad):
        raise Mute

    w = torch.ones(3, requires_grad=True)
    w.register_hook(fail)
    said = "raised Mute: what it says is not known, for its __str__ raised ZeroDivisionError"
    assert said in gradviz.debug((w * w).sum()).events[-1].message
    assert "what it says is not known" in str(gradviz.explain(Mute()))


def test_a_hook_that_raises_is_the_last_event_and_hooks_of_ours_are_gone():
    w = torch.ones(3, requires_grad=True)
    h = w * 3

    def fail(grad):
        raise KeyError("hook")

    handle = h.register_hook(fail)
    loss = (h * h).sum()
    session = gradviz.debug(loss)
    assert session.events[-1].kind == "Failed"
    handle.remove()
    count = len(session.events)
    loss.backward()
    assert len(session.events) == count
    assert w.grad.tolist() == [18, 18, 18]


def test_who_overwrote_what_the_pass_needs_is_named_with_the_line_and_the_ways_out():
    x = torch.tensor([0.5, -1.0], requires_grad=True)
    with gradviz.torch.capture():
        a = torch.sigmoid(x)
        a.mul_(2)
        loss = a.sum()
    failed = gradviz.debug(loss).events[-1]
    line = test_who_overwrote_what_the_pass_needs_is_named_with_the_line_and_the_ways_out.__code__.co_firstlineno + 4
    assert failed.message.startswith(f"`a` is overwritten by `mul_()` in test_bad_input.py:{line} after `sigmoid`")
    assert "PyTorch says: one of the variables needed for gradient computation" in failed.message
    assert "Write into a copy: clone() it first." in failed.ways_out


def test_what_was_written_into_since_is_not_shown_as_recorded():
    model, loss = classified(mlp(), 5, 6)
    session = gradviz.debug(loss, write=True)
    weight = model[0].weight
    assert session.value("0.weight.grad") is not None
    nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    with torch.no_grad():
        weight.add_(1)
    for blob in ("0.weight.grad", "0.weight"):
        with pytest.raises(gradviz.GradvizError, match=f"no value of {blob}: its tensor was written into after"):
            session.value(blob)
    assert session.value("2.weight") is not None
    with pytest.raises(gradviz.GradvizError, match="no value of t: PyTorch did not keep it"):
        session.value("t")


def test_weights_that_move_before_anybody_looks_are_not_shown_as_recorded():
    model, loss = classified(mlp(), 5, 6)
    session = gradviz.debug(loss, write=True)
    torch.optim.SGD(model.parameters(), 0.1).step()
    with pytest.raises(gradviz.GradvizError, match=r"no value of 0\.weight: its tensor was written into after"):
        session.value("0.weight")
    assert session.value("0.weight.grad") is not None


class Doubles(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        (_,) = ctx.saved_tensors
        return g * 2


def test_a_freed_function_is_the_last_event_too():
    loss = Doubles.apply(torch.ones(3, requires_grad=True)).sum()
    loss.backward()
    session = gradviz.debug(loss)
    session.finish()
    assert session.event.kind == "Failed"
    assert "a second time" in session.narration


def test_a_name_that_nothing_has_is_no_tensor_that_was_not_kept():
    session = gradviz.debug((torch.ones(2, requires_grad=True) * 2).sum())
    with pytest.raises(gradviz.GradvizError, match="no value of mul: PyTorch did not keep it"):
        session.value("mul")
    with pytest.raises(gradviz.GradvizError, match="has no blob mull") as caught:
        session.value("mull")
    assert caught.value.kind == "not_found"


def test_torch_that_is_missing_or_too_old(monkeypatch):
    with monkeypatch.context() as changed:
        changed.setattr(torch, "__version__", "2.9.1+cpu")
        with pytest.raises(gradviz.GradvizError, match=r"needs the package torch: torch 2\.9\.1\+cpu is older"):
            bridge("torch")
        assert bridge_in_use("torch") is bridge_in_use("torch", is_wanted=True) is None
        (row,) = gradviz.sweep(lambda scale: gradviz.Variable(scale) * 2, {"scale": [1.0]})
        assert (row.loss, row.error) == (2, "")
    with monkeypatch.context() as changed:
        changed.setitem(sys.modules, "torch", None)
        with pytest.raises(gradviz.GradvizError, match="needs the package torch") as caught:
            bridge("torch")
    assert caught.value.kind == "missing_package"
    assert "pip install 'gradviz[torch]'" in caught.value.explain()


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ([], "There are no inputs: no gradient is wanted."),
        (3, "The input at place 0 is int, no tensor."),
        ([torch.ones(2, requires_grad=True), torch.ones(2)], "The input at place 1, 2 float32, requires no gradient."),
    ],
)
@pytest.mark.parametrize("options", [{}, {"write": True}])
def test_inputs_that_can_have_no_gradient(inputs, says, options):
    loss = torch.ones(2, requires_grad=True).sum()
    assert refusal(loss, inputs=inputs, **options) == f"bad_inputs: {says}"
    with pytest.raises(gradviz.GradientError, match=re.escape(says)):
        gradviz.live(loss, inputs=inputs, **options)


def test_inputs_may_be_one_tensor_or_what_parameters_gives():
    model, loss = classified(mlp(), 5, 6)
    for inputs, names in ((model[0].weight, {"0.weight"}), (model[0].parameters(), {"0.weight", "0.bias"})):
        gradients = gradviz.debug(loss, inputs=inputs).events[-1].gradients
        assert {name for name in gradients if name[:2] == "0."} - {"0.t"} == names


@pytest.mark.parametrize("is_hooked", [False, True])
def test_parameters_that_are_frozen_before_the_pass(is_hooked):
    """The gradient that arrives there is shown, and not written."""
    model, loss = classified(mlp(), 5, 6)
    weight = model[0].weight
    (expected,) = torch.autograd.grad(loss, [weight], retain_graph=True)
    if is_hooked:
        weight.register_hook(lambda gradient: gradient * 2)
    weight.requires_grad_(False)
    for session in (gradviz.debug(loss), gradviz.live(loss).finish()):
        session.finish()
        assert session.event.kind == "Completed"
        assert np.array_equal(session.value("0.weight_grad"), expected * (2 if is_hooked else 1))
    assert gradviz.debug(loss, write=True).events[-1].kind == "Completed"
    assert weight.grad is None


def test_a_gradient_of_inference_mode_is_taken_as_it_is():
    y = torch.ones(2, requires_grad=True) * 3
    with torch.inference_mode():
        gradient = torch.full((2,), 5.0)
    for budget in (None, 0):
        assert gradviz.debug(y, gradient=gradient, budget=budget).value("leaf_grad").tolist() == [15, 15]


@pytest.mark.parametrize("options", [{}, {"inputs": True}, {"write": True}])
@pytest.mark.parametrize("to", [torch.float64, torch.bfloat16, "meta"])
def test_weights_that_are_moved_before_the_pass(to, options):
    """What the graph reads is what they were."""

    def moved():
        torch.manual_seed(3)
        model, loss = classified(mlp(), 5, 6)
        weight = model[0].weight
        model.to(to)
        return weight, loss

    weight, loss = moved()
    loss.backward()
    other, again = moved()
    if options.get("inputs"):
        options = {"inputs": [other]}
    session = gradviz.debug(again, **options)
    session.finish()
    assert session.event.kind == "Completed"
    assert np.array_equal(session.value("other_grad"), weight.grad)
    assert options.get("write") or other.grad is None


def test_a_view_of_what_was_written_into_since_is_refused_in_words():
    x = torch.ones(2, 2, requires_grad=True) * 1
    view, loss = x.unbind()[0], x.sum()
    x.mul_(2)
    ones = torch.ones(2)
    asked = [lambda: gradviz.debug(view, gradient=ones), lambda: gradviz.live(view, gradient=ones)]
    for ask in (*asked, lambda: gradviz.debug(loss, inputs=view)):
        with pytest.raises(gradviz.GradientError, match="a view of a tensor that was written into since") as caught:
            ask()
        assert "clone() the view before that" in caught.value.ways_out[0]
    (found,) = gradviz.diagnose(view).findings
    assert "it is a view of a tensor that was written into since" in found.sentence
