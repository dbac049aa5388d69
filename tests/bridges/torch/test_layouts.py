"""Tensors that are not dense: sparse ones whose elements have gradients, and nested ones."""

import numpy as np
import pytest
import torch

import gradviz
from gradviz.bridges.torch.graph import output_of


@pytest.fixture
def adjacency():
    places = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 2]])
    values = torch.tensor([1.0, 2.0, 3.0, 4.0])
    return torch.sparse_coo_tensor(places, values, (4, 3), is_coalesced=True, check_invariants=True).requires_grad_()


@pytest.mark.parametrize("budget", [None, 8])
def test_the_gradient_of_single_elements_is_that_of_their_rows(adjacency, budget):
    features = torch.arange(6.0).reshape(3, 2).requires_grad_()
    loss = torch.sparse.mm(adjacency, features).square().sum()
    session = gradviz.debug(loss, budget=budget)
    (expected,) = torch.autograd.grad(loss, adjacency, retain_graph=True)
    gradient = session.finish().gradients["adjacency"]
    rows = session.value(gradient.indices).tolist()
    assert rows == [0, 1, 2]
    assert np.array_equal(session.value(gradient.values), expected.to_dense()[rows])
    norm = float(expected.to_dense().norm())
    assert session.ledger("adjacency").ledger.norm == pytest.approx(norm)
    assert session.paths("adjacency").norm == pytest.approx(norm)


def test_a_sparse_leaf_that_an_operator_has_kept_is_looked_at(adjacency):
    node = output_of(adjacency).node
    assert node.variable is adjacency
    loss = torch.sparse.softmax(adjacency, 1).to_dense().square().sum()
    assert "Nothing is wrong" in str(gradviz.diagnose(loss))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_that_tell_no_shapes_are_refused_in_words():
    one, other = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True)
    padded = torch.nested.as_nested_tensor([one, other]).mul(2).to_padded_tensor(0.0)
    for record in (gradviz.debug, gradviz.live):
        with pytest.raises(gradviz.GradientError, match=r"layout=torch\.jagged"):
            record(padded.sum())


def test_a_jagged_tensor_is_shown_row_after_row():
    one, other = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True)
    with gradviz.torch.capture(keep=True):
        jagged = torch.nested.as_nested_tensor([one, other], layout=torch.jagged)
        doubled = jagged * 2
        loss = doubled.to_padded_tensor(0.0).square().sum()
    session = gradviz.debug(loss)
    session.finish()
    assert np.array_equal(session.value("doubled"), np.full((6, 3), 2.0))
    assert np.array_equal(session.value("doubled_grad"), np.full((6, 3), 4.0))
    assert np.array_equal(session.value("one_grad"), np.full((2, 3), 8.0))
    assert "goes through a nested tensor" in str(session.paths("one"))


def test_a_sparse_leaf_is_not_held_against_differences_of_all_its_elements(adjacency):
    def compute():
        return torch.sparse.mm(adjacency, torch.ones(3, 2)).square().sum()

    assert "adjacency is sparse" in str(gradviz.debug(compute(), forward=compute).check("adjacency"))
