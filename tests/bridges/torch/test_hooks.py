"""Hooks that change gradients are events of their own: what was sent, and what arrived."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

import gradviz
from gradviz.events import HookRan, Visited


def hooked(session):
    return [(event.blob, event.index) for event in session.events if isinstance(event, HookRan)]


def tenfold(grad):
    return grad * 10


LINE = tenfold.__code__.co_firstlineno


def test_a_hook_on_a_tensor_between():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * 3
    h.register_hook(tenfold)
    loss = h.sum()
    session = gradviz.debug(loss)
    assert hooked(session) == [("h", 0)]
    session.run_to("HookRan")
    assert session.narration == (
        "A hook of yours has changed the gradient of `h@0` before it is read: `h_grad@1 = hook(h_grad@0)`. "
        f"`h` has the hook `tenfold at test_hooks.py:{LINE}`."
    )
    assert session.value("h_grad@0").tolist() == [1, 1]
    assert session.value("h_grad@1").tolist() == [10, 10]
    assert session.value("w_grad").tolist() == [30, 30]
    session.run_to("Visited")
    assert session.event.index == 0


def test_a_hook_on_a_leaf_read_twice_changes_the_sum():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    w.register_hook(lambda grad: -grad)
    loss = (w * w + w * 3).sum()
    session = gradviz.debug(loss)
    assert hooked(session) == [("w", None)]
    ledger = session.ledger("w")
    assert "sum of 3 contributions" in str(ledger)
    assert ledger.after_hooks == "w_grad@2"
    assert "A hook has made w_grad@2 of w_grad@1: that is the gradient of w@0." in str(ledger)
    expected = 2 * w.detach() + 3
    assert np.array_equal(session.value("w_grad@1"), expected)
    assert np.array_equal(session.value("w_grad@2"), -expected)
    loss.backward()
    assert torch.equal(w.grad, -expected)


@pytest.mark.parametrize(("factor", "after"), [(2, "w_grad@1"), (1, "")])
def test_a_ledger_of_a_lone_gradient_tells_what_a_hook_has_made_of_it(factor, after):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    w.register_hook(lambda grad: grad * factor)
    ledger = gradviz.debug((w * 3).sum()).ledger("w")
    assert ledger.after_hooks == after
    assert ("A hook has made" in str(ledger)) is bool(after)


def test_a_hook_that_only_looks_is_no_event():
    seen = []
    w = torch.tensor([1.0, float("nan")], requires_grad=True)
    h = w * w
    h.register_hook(seen.append)
    w.register_hook(seen.append)
    session = gradviz.debug((h + h).sum())
    assert hooked(session) == []
    assert len(seen) == 2


def test_what_a_hook_of_a_node_sends_is_what_its_operator_wrote():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * 3
    h.grad_fn.register_hook(lambda sent, arrived: tuple(None if one is None else one + 1 for one in sent))
    session = gradviz.debug(h.sum())
    assert hooked(session) == []
    assert session.value("w_grad").tolist() == [4, 4]


def test_a_written_gradient_is_that_after_the_hook():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    w.register_hook(lambda grad: grad * 2)
    session = gradviz.debug((w * w).sum(), write=True)
    assert hooked(session) == [("w", None)]
    assert session.value("w.grad").tolist() == w.grad.tolist() == [4, 8]
    assert [one.kind for one in session.events if one.kind in ("HookRan", "GradWritten")] == ["HookRan", "GradWritten"]


def test_it_is_saved_loaded_drawn_and_asked(tmp_path):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * 3
    h.register_hook(lambda grad: grad * torch.nan)
    session = gradviz.debug(h.sum())
    session.save(tmp_path / "hook.gradviz.json")
    loaded = gradviz.load(tmp_path / "hook.gradviz.json")
    for one in (session, loaded):
        one.break_on("HookRan")
        one.restart()
        one.continue_()
        assert one.event.kind == "HookRan"
        one.finish()
        assert "hook" in one.graph().source
        assert "Born in the backward pass, in h_grad@1 = hook(h_grad@0)" in str(one.provenance("w_grad"))
        assert "h_grad = hook(h_grad)" in str(one.state())
    assert sum(isinstance(event, Visited) for event in session.events) == 2


def names(session):
    return [(event.blob, *event.hooks) for event in session.events if isinstance(event, HookRan)]


def doubled(grad, by):
    return grad * by


@pytest.mark.parametrize("write", [False, True])
def test_all_hooks_of_a_tensor_are_named_in_order(write):
    seen = []
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    for hook in (tenfold, seen.append, partial(doubled, by=2)):
        w.register_hook(hook)
    session = gradviz.debug((w * 3).sum(), write=write)
    line = doubled.__code__.co_firstlineno
    hooks = (f"tenfold at test_hooks.py:{LINE}", "append", f"doubled at test_hooks.py:{line}")
    assert names(session) == [("w", *hooks)]
    session.run_to("HookRan")
    assert "`w` has the hooks" in session.narration
    assert "which run in this order." in session.narration


@pytest.mark.parametrize("write", [False, True])
def test_hooks_are_those_that_the_tensor_had_then(write):
    """One that is gone, one that belongs to what the tensor was before, and one that comes later are not named."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with gradviz.torch.capture():
        h = w * 3
        h.register_hook(tenfold).remove()
        h.register_hook(lambda grad: grad)
        h.mul_(2)
        h.register_hook(tenfold)
        loss = h.sum()
    session = gradviz.debug(loss, write=write)
    h.register_hook(lambda grad: grad * 5)
    assert [hooks for _, *hooks in names(session)] == [[f"tenfold at test_hooks.py:{LINE}"]]


def test_a_hook_that_cannot_be_read_is_not_named():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * 3
    h.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
    session = gradviz.debug(h.sum())
    assert names(session) == [("h",)]
    session.run_to("HookRan")
    assert "has the hook" not in session.narration


def picky(grad):
    if grad.shape == (3, 8):
        raise ValueError("not this one")
    return grad * 1


def shrink(grad):
    return grad[:1]


@pytest.mark.parametrize("write", [False, True])
def test_of_a_hook_that_raises_it_is_said_whose_gradient_it_was_given(write):
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    for one in model.parameters():
        one.register_hook(picky)
    loss = model(torch.ones(5, 6)).sum()
    said = str(gradviz.diagnose(loss, model))
    assert "backward() fails in a hook `picky` (test_hooks.py:" in said
    assert "of the gradient of `2.weight`: not this one." in said
    session = gradviz.debug(loss, write=write)
    session.finish()
    assert session.narration.endswith("A hook of the gradient of 2.weight raised ValueError: not this one.")


@pytest.mark.parametrize("name", ["w", "h", "loss"])
def test_a_hook_that_returns_something_else_is_told_from_others_of_that_tensor(name):
    w = torch.ones(3, 2, requires_grad=True)
    h = w * 2
    loss = h.sum(1)[:2]
    tensors = {"w": w, "h": h, "loss": loss}
    for one in tensors.values():
        one.register_hook(picky)
    tensors[name].register_hook(shrink)
    session = gradviz.debug(loss, gradient=torch.ones(2))
    session.finish()
    assert f"A hook of the gradient of {name} raised RuntimeError: hook 'shrink' has changed" in session.narration
    loss = loss.sum()
    (found,) = gradviz.diagnose(loss).findings
    assert (found.kind, found.line.text) == ("fails", "def shrink(grad):")
    assert found.sentence.endswith("hook 'shrink' has changed the size of value.")


def test_of_a_hook_of_something_that_is_gone_only_that_is_said():
    def computed(x):
        h = x * 2
        h.register_hook(shrink)
        return h.sum()

    loss = computed(torch.ones(3, requires_grad=True))
    session = gradviz.debug(loss)
    session.finish()
    assert session.narration.startswith("The pass stops here. A hook raised RuntimeError: hook 'shrink' has changed")
    assert str(gradviz.diagnose(loss)).startswith("backward() fails in a hook: hook 'shrink' has changed")


def test_a_hook_of_an_operator_that_raises_is_told_with_its_line():
    loss = (torch.ones(3, requires_grad=True) * 2).sum()
    loss.grad_fn.register_hook(lambda sent, arrived: [].missing)
    session = gradviz.debug(loss)
    session.finish()
    assert session.narration.startswith("The pass stops here. A hook raised AttributeError: ")
    (found,) = gradviz.diagnose(loss).findings
    assert found.sentence.startswith("backward() fails in a hook (test_hooks.py:")
    assert found.line.text == "loss.grad_fn.register_hook(lambda sent, arrived: [].missing)"


def pushed(module):
    module.register_full_backward_pre_hook(lambda module, arriving: (arriving[0] * 0.5,))


def pulled(module):
    module.register_full_backward_hook(lambda module, sent, arriving: (sent[0] * 0.5,))


@pytest.mark.parametrize(("hook", "verdict"), [(pushed, "not checkable"), (pulled, "not checkable"), (None, "agrees")])
def test_gradients_that_hooks_of_a_module_have_changed_are_not_held_against_differences(hook, verdict):
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    model[1].register_full_backward_hook(lambda module, sent, arriving: None)
    if hook is not None:
        hook(model[1])
    x = torch.randn(5, 3)

    def compute():
        return model(x).square().sum()

    session = gradviz.debug(compute(), forward=compute)
    assert session.check("0.bias").verdict == verdict
    assert ("Backward hooks of a module" in str(session.check("0.bias"))) is (hook is not None)
    assert session.check("2.bias").verdict == "agrees"


def put_away(leaf):
    leaf.grad = None


@pytest.mark.parametrize("before", [None, torch.ones(2)])
def test_a_gradient_that_a_hook_empties_as_soon_as_it_is_written_is_told_so(before):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    w.grad = before
    w.register_post_accumulate_grad_hook(put_away)
    session = gradviz.debug((w * 3).sum(), write=True)
    session.run_to("GradWritten")
    assert session.narration == "`w_grad@0` was written to `w.grad`, and a hook that waits for that has emptied it."
    session.finish()
    assert session.narration.endswith("no grad was written.")


class FirstAlone(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        return x * w

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


@pytest.mark.parametrize("before", [None, torch.ones(2)])
def test_what_is_sent_nothing_is_not_said_to_be_written(before):
    x, w = (torch.ones(2, requires_grad=True) for _ in range(2))
    w.grad = before
    session = gradviz.debug(FirstAlone.apply(x, w).sum(), write=True)
    assert [event.blob for event in session.events if event.kind == "GradWritten"] == ["x"]
    session.finish()
    assert session.narration.endswith("1 Variable got its grad.")


def test_what_a_hook_makes_of_a_gradient_is_the_gradient_of_that_blob():
    x = torch.ones(2, requires_grad=True)
    h = x * 2
    h.register_hook(lambda grad: grad * 10)
    why = gradviz.debug(h.sum()).why_none("h_grad@1")
    assert str(why).startswith("h_grad@1 is the gradient of h@0, as a hook has changed it. ")
    assert why.blob == "h@0"


@pytest.mark.parametrize("record", [gradviz.debug, lambda *args, **options: gradviz.live(*args, **options).finish()])
def test_a_hook_of_several_leaves_is_given_what_backward_would_give_it(record):
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    given = []
    torch.autograd.graph.register_multi_grad_hook(list(model.parameters()), given.append)
    loss = model(torch.ones(5, 3)).square().mean()
    record(loss)
    record(loss, inputs=[model[0].bias, model[2].weight])
    beside, asked = given
    assert [one is not None for one in asked] == [False, True, True, False]
    loss.backward()
    assert all(map(torch.equal, beside, given[2]))
    assert all(torch.equal(one, parameter.grad) for one, parameter in zip(beside, model.parameters(), strict=True))


def test_a_pass_of_the_users_own_that_a_hook_of_several_leaves_refuses_is_refused_as_before():
    w = torch.ones(3, requires_grad=True)
    torch.autograd.graph.register_multi_grad_hook([w], lambda gradients: None)
    loss = (w * 2).sum()
    live = gradviz.live(loss)
    live.step()
    with pytest.raises(RuntimeError, match="leaf node"):
        torch.autograd.grad(loss, w, retain_graph=True)
    live.finish()
    assert live.session.event.kind == "Completed"
