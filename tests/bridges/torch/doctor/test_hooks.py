"""Hooks that change gradients are what is said to have changed them."""

import pytest
import torch

import gradviz
from tests.bridges.torch.doctor import faulty


def zero_in_place(gradient):
    gradient.zero_()


def test_a_hook_of_a_parameter_that_writes_zeros_is_what_makes_them():
    model = faulty.Two()
    model.encoder.weight.register_hook(zero_in_place)
    loss, _ = faulty.run(model)
    zero, hook = gradviz.diagnose(loss, model).findings
    assert (zero.kind, zero.harm, zero.names) == ("zero", False, ("encoder.weight",))
    assert "zeros: a hook `zero_in_place` (test_hooks.py:" in zero.sentence
    assert hook.sentence.endswith("changes the gradient of `encoder.weight` in place.")


@pytest.mark.parametrize("is_after", [False, True])
def test_a_hook_of_several_parameters_is_no_finding_for_it_can_change_nothing(is_after):
    model = torch.nn.Linear(3, 2)
    torch.autograd.graph.register_multi_grad_hook(list(model.parameters()), lambda gradients: None)
    loss = model(torch.ones(4, 3)).square().mean()
    if is_after:
        loss.backward()
    diagnosis = gradviz.diagnose(loss, model)
    assert not diagnosis.findings, diagnosis
