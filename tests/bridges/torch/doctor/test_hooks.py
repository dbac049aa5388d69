"""Hooks that change gradients are what is said to have changed them."""

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
