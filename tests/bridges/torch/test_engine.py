"""The real engine of PyTorch, recorded: the gradients are its own to the bit, and nothing of the user's is changed."""

from time import process_time

import numpy as np
import pytest
import torch

import gradviz
from gradviz.debugger.journal.engine_rules import EngineRules
from gradviz.events import Accumulated, GradWritten
from tests.bridges.torch.models import MODELS


@pytest.fixture(params=MODELS)
def made(request):
    """What makes a model and its loss, the same at each call."""

    def make():
        torch.manual_seed(7)
        return MODELS[request.param]()

    return make


def gradients(model):
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def own(make):
    """The gradients that torch gives alone."""
    model, loss = make()
    loss.backward()
    return gradients(model)


def same(one, other):
    """Whether two tensors are equal to the bit, sparse ones row by row."""
    if one is None or other is None:
        return one is other
    if one.is_sparse:
        return torch.equal(one._indices(), other._indices()) and torch.equal(one._values(), other._values())
    return torch.equal(one, other)


def test_a_recording_beside_leaves_backward_as_it_is(made):
    model, loss = made()
    gradviz.debug(loss)
    assert all(grad is None for grad in gradients(model).values())
    loss.backward()
    expected = own(made)
    assert all(same(grad, expected[name]) for name, grad in gradients(model).items())


def test_a_recording_with_write_is_the_users_backward(made):
    model, loss = made()
    session = gradviz.debug(loss, write=True)
    expected = own(made)
    assert all(same(grad, expected[name]) for name, grad in gradients(model).items())
    written = {event.blob: event for event in session.events if isinstance(event, GradWritten)}
    assert {event.how for event in written.values()} == {"new"}
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_the_recorded_gradients_are_those_of_torch(made):
    model, loss = made()
    session = gradviz.debug(loss)
    session.finish()
    assert session.event.kind == "Completed"
    alone = own(made)
    for name in gradients(model):
        expected, gradient = alone[name], session.event.gradients.get(name)
        if expected is None:
            assert gradient is None
        elif isinstance(gradient, gradviz.GradientSlice):
            assert np.array_equal(session.value(gradient.indices), expected._indices()[0].numpy())
            assert np.array_equal(session.value(gradient.values), expected._values().numpy())
        else:
            assert np.array_equal(session.value(gradient), expected.numpy())


def test_what_arrives_is_the_sum_of_what_was_sent(made):
    _, loss = made()
    session = gradviz.debug(loss)
    for at, event in enumerate(session.events):
        if isinstance(event, Accumulated):
            ran = session.events[at + 1]
            terms = [
                torch.tensor(session.value(f"{name}@{version}"))
                for name, version in zip(ran.op.inputs, ran.in_versions, strict=True)
            ]
            total = [
                torch.tensor(session.value(f"{name}@{version}"))
                for name, version in zip(ran.op.outputs, ran.out_versions, strict=True)
            ]
            if len(total) == 1:
                assert torch.equal(sum(terms[1:], terms[0]), total[0])
            else:  # torch merges rows of sparse gradients as it likes
                rows = zip(terms[::2], terms[1::2], strict=True)
                assert torch.allclose(sum(dense(*one) for one in rows), dense(*total))


def dense(indices, values):
    """Rows as the table that they belong to."""
    return torch.zeros(20, values.shape[1]).index_add(0, indices, values)


def test_its_events_keep_the_rules_of_engines(made):
    model, loss = made()
    next(model.parameters()).register_hook(lambda grad: grad * 2)
    for write in (False, True):
        rules = EngineRules()
        for event in gradviz.debug(loss, write=write).events:
            rules.take(event)
        rules.end()


def test_several_roots_with_gradients_of_their_own():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y, z = x * 3, x.square().sum()
    session = gradviz.debug([y, z], gradient=[torch.tensor([1.0, 10.0]), None])
    assert session.value("x_grad@1").tolist() == [3 + 2, 30 + 4]
    torch.autograd.backward([y, z], [torch.tensor([1.0, 10.0]), None])
    assert x.grad.tolist() == [5, 34]


def test_a_root_on_the_way_to_another():
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    z = y * y
    session = gradviz.debug([z, y])
    assert float(session.value("y_grad@1")) == 13
    assert "sum of 3 contributions" in str(session.ledger("y"))
    assert float(session.value("x_grad")) == 39


def test_two_results_of_one_operator_are_roots():
    x = torch.tensor([[3.0, 1.0], [5.0, 7.0]], requires_grad=True)
    first, _, last = torch.cat([x, x * 2]).sum(1).split([1, 2, 1])
    session = gradviz.debug([first, last], gradient=[torch.tensor([10.0]), None])
    session.finish()
    assert session.value("x_grad").tolist() == [[10, 10], [2, 2]]
    assert "that is the recorded gradient" in str(session.paths("x"))
    first.backward(torch.tensor([10.0]), retain_graph=True)
    last.backward()
    assert x.grad.tolist() == [[10, 10], [2, 2]]


def test_inputs_leave_the_rest_out():
    x, w = (torch.tensor(value, requires_grad=True) for value in (2.0, 5.0))
    h = x * 3
    loss = h * w
    session = gradviz.debug(loss, inputs=[h])
    session.finish()
    assert session.event.gradients == {"loss": "loss_grad", "h": "h_grad"}
    assert session.why_none("x").status == "none"
    assert "Skipped" in {event.kind for event in session.events}


@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_gradient_that_can_be_differentiated_again():
    x = torch.tensor(2.0, requires_grad=True)
    loss = x**3
    gradviz.debug(loss, create_graph=True, write=True)
    slope = x.grad
    session = gradviz.debug(slope)
    assert float(session.value("x_grad")) == 12


def test_what_is_read_twice_by_one_operator_arrives_twice():
    x = torch.tensor(2.0, requires_grad=True)
    session = gradviz.debug(x * x)
    assert "sum of 2 contributions" in str(session.ledger("x"))
    assert float(session.value("x_grad@1")) == 4


def test_nothing_arrives_at_an_output_that_nobody_used():
    x = torch.arange(4.0, requires_grad=True)
    first, _ = x.split(2)
    loss = first.sum()
    session = gradviz.debug(loss)
    session.run_to("SplitBackward0")
    assert session.value("x_grad").tolist() == [1, 1, 0, 0]


def test_no_gradient_is_not_zero():
    class Cut(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
    loss = Cut.apply(x * 2, y * 3).sum()
    session = gradviz.debug(loss)
    assert session.value("x_grad").tolist() == [2, 2]
    assert session.why_none("y").status == "none"
    session.finish()
    assert "y" not in session.event.gradients


def test_many_that_wait_are_told_in_proportion():
    """Ten times the readers of one tensor take about ten times as long."""
    x = torch.ones(2, requires_grad=True)
    seconds = []
    for readers in (400, 4_000):
        session = gradviz.debug(torch.stack([torch.tanh(x) for _ in range(readers)]).sum())
        start = process_time()
        assert sum(event.kind == "Visited" for event in session.events) == readers + 2
        seconds.append(process_time() - start)
    assert seconds[1] < 40 * seconds[0]


def test_the_narration_says_what_was_not_kept():
    x = torch.ones(3, requires_grad=True)
    a = torch.tanh(x)
    session = gradviz.debug((a * x).sum())
    session.run_to("Ran if op == 'tanh'")
    assert session.narration.startswith("`a@0` is 3 float32")
    session.run_to("Ran if op == 'mul'")
    assert session.narration == "mul #1 ran when it was called, and what it made was not kept; nothing is run again."
