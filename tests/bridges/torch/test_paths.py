"""What flows along the paths of a model of PyTorch: recorded nodes are called, each with the share of one path."""

from collections import defaultdict

import numpy as np
import pytest
import torch
from torch import nn

import gradviz
from tests.bridges.torch.models import GPT, Checkpointed, Polar, ResNet18, classified, mlp, spoken

SEVERAL = {
    "tied GPT": (lambda: spoken(GPT(1, width=16, tied=True), length=6), "words.weight", 9),
    "ResNet": (lambda: classified(ResNet18(2), 2, 3, 32, 32), "conv1.weight", 256),
    "MLP": (lambda: classified(mlp(), 5, 6), "0.weight", 1),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_the_parts_of_all_paths_add_up_to_the_gradient(name):
    torch.manual_seed(7)
    make, leaf, count = SEVERAL[name]
    model, loss = make()
    view = gradviz.debug(loss).paths(leaf, k=count)
    assert (view.count, view.is_complete, view.difference) == (count, True, 0)
    loss.backward()
    grad = dict(model.named_parameters())[leaf].grad.numpy()
    assert np.allclose(sum(view.parts), grad, rtol=1e-4, atol=1e-5 * np.abs(grad).max())
    assert ("their parts add up to" if count > 1 else "what flows along it is") + " the gradient" in str(view)


def test_each_path_carries_what_was_computed_by_hand():
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    square, triple = x * x, x * 3
    view = gradviz.debug((square + triple).sum()).paths("x")
    assert [path.steps[:3] for path in view.paths] == [
        ["x@0", "#0 (input 0)", "square@0"],
        ["x@0", "#0 (input 1)", "square@0"],
        ["x@0", "#1", "triple@0"],
    ]
    assert [part.tolist() for part in view.parts] == [[3, 4], [3, 4], [3, 3]]


def test_paths_are_the_contributions_of_the_ledger_one_by_one():
    torch.manual_seed(7)
    model, loss = spoken(GPT(1, width=16, tied=True), length=6)
    session = gradviz.debug(loss)
    view = session.paths("words.weight", k=100)
    by_reader = defaultdict(list)
    for path, part in zip(view.paths, view.parts, strict=True):
        by_reader[path.operators[0]].append(part)
    norms = sorted(np.linalg.norm(sum(parts)) for parts in by_reader.values())
    contributions = session.ledger("words.weight").ledger.contributions
    assert norms == pytest.approx(sorted(one.norm for one in contributions), rel=1e-4)
    assert len(norms) == 2
    assert model.head.weight is model.words.weight


def test_of_long_paths_the_places_where_they_part_are_shown():
    torch.manual_seed(7)
    model, loss = spoken(GPT(1, width=16, tied=True), length=6)
    view = gradviz.debug(loss).paths("words.weight", k=9)
    rows = [line.split("  ")[1] for line in str(view).splitlines()[2:11]]
    assert len(set(rows)) == len(view.paths) == 9
    assert any("…" in row for row in rows)
    assert model.words.weight.grad is None


def test_paths_from_what_lies_between_and_to_it():
    x = torch.tensor([3.0], requires_grad=True)
    h = x * 2
    session = gradviz.debug((h * h).sum())
    assert [part.tolist() for part in session.paths("h").parts] == [[6], [6]]
    assert [part.tolist() for part in session.paths("h", "x").parts] == [[24]]


def test_outputs_that_nothing_arrives_at_and_sparse_rows():
    x = torch.arange(4.0, requires_grad=True)
    first, _ = x.split(2)
    assert gradviz.debug((first * first).sum()).paths("x").difference == 0
    table = nn.Embedding(5, 3, sparse=True)
    loss = table(torch.tensor([1, 1, 4])).square().sum()
    view = gradviz.debug(loss).paths("weight")
    assert (view.count, view.difference) == (1, 0)
    assert view.parts[0].shape == (5, 3)


def test_no_hook_runs_and_it_is_said_where_one_has_changed_the_gradient():
    seen = []
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    h = x * 2
    h.register_hook(lambda grad: seen.append(grad) or grad * 10)
    h.grad_fn.register_prehook(lambda arrived: seen.append(arrived))
    session = gradviz.debug(h.sum())
    count = len(seen)
    view = session.paths("x")
    assert len(seen) == count
    assert view.parts[0].tolist() == [2, 2]
    assert "the recorded gradient differs by up to 18" in str(view)
    assert "a hook, a rule of the engine's own, or the like, has changed what flows" in str(view)


def test_that_a_hook_of_the_blob_itself_has_changed_the_gradient_is_said():
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    w.register_hook(lambda grad: grad * 10)
    view = gradviz.debug((w * 3).sum()).paths("w")
    assert (view.parts[0].tolist(), view.difference) == ([3, 3], 27)
    assert "a hook, a rule of the engine's own, or the like, has changed what flows" in str(view)


def test_that_a_hook_has_changed_what_flows_is_said_of_a_part_of_the_paths_too():
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    h = x * 2
    h.register_hook(lambda grad: grad * 10)
    said = str(gradviz.debug((h * 3).sum() + h.exp().sum()).paths("x", k=1))
    assert "a hook, a rule of the engine's own, or the like, has changed what flows" in said
    assert "The other path" in said


def test_grad_stays_none_and_backward_goes_on():
    model, loss = classified(mlp(), 5, 6)
    session = gradviz.debug(loss)
    session.paths("0.weight")
    assert all(one.grad is None for one in model.parameters())
    loss.backward()
    assert np.array_equal(session.value("0.weight_grad"), model[0].weight.grad)


def unknown(view):
    assert view.norm is None
    assert view.count == len(view.paths) > 0
    assert "Not computed is not zero." in str(view)
    return view.reason


@pytest.mark.parametrize("write", [True, False])
def test_a_freed_graph_is_said(write):
    x = torch.ones(3, requires_grad=True)
    loss = (x * x).sum()
    session = gradviz.debug(loss, write=write)
    if not write:
        loss.backward()
    assert unknown(session.paths("x")) == "A backward pass has freed what MulBackward0 of #0 needs"


def test_what_may_do_more_than_compute_is_not_run_again():
    model, loss = classified(Polar(), 3, 4)
    assert "PolarFunctionBackward of #4 is written in Python" in unknown(gradviz.debug(loss).paths("fc1.weight"))
    assert model.fc1.weight.grad is None
    model, loss = classified(Checkpointed(reentrant=False), 3, 4)
    assert "has kept what a hook unpacks" in unknown(gradviz.debug(loss).paths("first.weight"))
    assert gradviz.debug(loss).paths("last.weight").difference == 0
    assert model.first.weight.grad is None
