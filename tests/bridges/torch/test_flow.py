"""What a capture keeps: notes of calls, and nothing that the program lets go."""

import gc
import tracemalloc
from weakref import ref

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

import gradviz
from tests.bridges.torch.models import ResNet18


def test_models_tensors_and_graphs_are_let_go():
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    with gradviz.torch.capture(model) as seen:
        h = model(torch.randn(2, 4))
        loss = h.sum()
        held = [ref(one) for one in (model, model[0].weight, h, loss)]
        del model, h, loss
        gc.collect()
        assert [one() for one in held] == [None] * 4
    assert "tanh" in [step.function for step in seen.flow.steps]
    assert not seen.models


def test_notes_take_little_beside_what_a_pass_keeps():
    model, x = ResNet18(8), torch.randn(8, 3, 64, 64)
    kept = {}
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        with saved_tensors_hooks(lambda one: kept.update({one.data_ptr(): one}), id), gradviz.torch.capture(model):
            model(x).sum()
        notes = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert 0 < notes < 0.1 * sum(one.nbytes for one in kept.values())


def test_what_a_function_calls_its_locals_is_left_alone():
    w = torch.ones(3, requires_grad=True)
    mine = locals()
    with gradviz.torch.capture():
        (w * 2).sum()
    assert mine["w"] is w


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def test_what_a_function_computes_where_gradients_are_off_stays_as_it_was():
    w = torch.ones(2, requires_grad=True)

    def compute():
        with torch.no_grad():
            h = Twice.apply(w)
        return (h * w).sum()

    view = gradviz.debug(compute(), forward=compute).check("w")
    assert view.verdict == "agrees", view
