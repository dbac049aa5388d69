"""Sparse gradients: concatenated, made dense where they must be, and told by the debugger."""

import numpy as np
import pytest

from gradviz import GradientError, GradientSlice, Net, NetError, RunError, debug, immediate
from tests.embedding import embedding, fed


def dense(ws, gradient, rows):
    whole = np.zeros((rows, 2))
    np.add.at(whole, ws[gradient.indices], ws[gradient.values])
    return whole


def test_sparse_gradients_of_one_blob_are_laid_one_after_the_other():
    net, ws = embedding(), fed()
    gradients = net.add_gradient_operators(["y"])
    assert gradients["table"] == GradientSlice("table_grad_indices_concat", "table_grad_values_concat")
    ws.run(net)
    np.testing.assert_array_equal(dense(ws, gradients["table"], 5)[:, 0], [2, 3, 1, 0, 0])


def test_a_sparse_and_a_dense_gradient_meet_as_a_dense_one():
    net, ws = embedding(), fed()
    net.Tanh("table", "t")
    net.ConstantFill("t", "k", value=1.0)
    gradients = net.add_gradient_operators(["y", "t"])
    ws.run(net)
    expected = np.array([2, 3, 1, 0, 0])[:, None] + 1 - np.tanh(np.arange(10.0).reshape(5, 2)) ** 2
    np.testing.assert_allclose(ws[gradients["table"]], expected)


def test_a_rule_that_reads_a_dense_gradient_gets_one():
    net, ws = Net(), fed()
    net.Tanh("table", "t")
    net.Gather(["t", "i"], "y")
    session = debug(net, ["y"], workspace=ws)
    session.run_to("Accumulated")
    assert "is sparse" in session.narration
    expected = np.array([1, 2, 0, 0, 0])[:, None] * (1 - np.tanh(np.arange(10.0).reshape(5, 2)) ** 2)
    np.testing.assert_allclose(session.value("table_grad"), expected)


def test_the_ledger_compares_sparse_gradients_as_dense_ones():
    session = debug(embedding(), ["y"], workspace=fed())
    session.run_to("Accumulated")
    ledger = session.ledger("table").ledger
    assert sum(c.share for c in ledger.contributions) == pytest.approx(1)
    assert ledger.norm == pytest.approx(np.linalg.norm(np.array([2, 3, 1, 0, 0])) * np.sqrt(2))
    assert "unmerged" in session.narration
    assert isinstance(session.trace().gradients["table"], GradientSlice)


def test_indices_that_were_overwritten_are_refused():
    net = embedding()
    net.Copy("k", "i")
    with pytest.raises(GradientError) as caught:
        net.add_gradient_operators(["y"])
    assert (caught.value.kind, caught.value.blobs) == ("version_overwritten", ("i",))


@pytest.mark.parametrize(("aggregator", "expected"), [("sum", [2, 3, 1]), ("mean", [1, 1, 1])])
def test_rows_of_equal_index_are_merged(aggregator, expected):
    net, ws = embedding(), fed()
    gradients = net.add_gradient_operators(["y"])
    before = gradients["table"]
    after = net.deduplicate_gradient_slices(before, aggregator)
    ws.run(net)
    assert len(ws[before.indices]) == 6
    np.testing.assert_array_equal(ws[after.indices], [0, 1, 2])
    np.testing.assert_array_equal(ws[after.values][:, 0], expected)


@pytest.mark.parametrize(("gradient", "aggregator"), [("y_grad", "sum"), (GradientSlice("i", "v"), "max")])
def test_what_cannot_be_merged_is_refused(gradient, aggregator):
    net = embedding()
    with pytest.raises(NetError) as caught:
        net.deduplicate_gradient_slices(gradient, aggregator)
    assert caught.value.kind == "bad_argument"
    assert len(net.ops) == 3


def test_a_merge_that_fails_to_run_leaves_the_net_as_it_was():
    net, ws = Net(), fed()
    ws.feed("v", np.ones((2, 2)))
    with immediate(ws), pytest.raises(RunError):
        net.deduplicate_gradient_slices(GradientSlice("i", "v"))
    assert net.ops == []


def test_a_merge_takes_names_that_nobody_has():
    net = embedding()
    net.Copy("a", "i_unique")
    assert net.deduplicate_gradient_slices(GradientSlice("i", "a")) == GradientSlice("i_unique_1", "a_unique")
    assert net.deduplicate_gradient_slices(GradientSlice("i", "a")) == GradientSlice("i_unique_2", "a_unique_1")


def test_a_slice_whose_halves_are_no_names_is_refused():
    net = embedding()
    with pytest.raises(NetError) as caught:
        net.deduplicate_gradient_slices(GradientSlice("a b", "a"))
    assert (caught.value.kind, len(net.ops)) == ("bad_name", 3)


def test_indices_of_two_dimensions_cannot_be_merged_and_the_way_out_is_told():
    net, ws = Net(), fed()
    ws.feed("i", np.array([[0, 1], [1, 1]]))
    net.Gather(["table", "i"], "y")
    net.deduplicate_gradient_slices(net.add_gradient_operators(["y"])["table"])
    with pytest.raises(RunError, match="FlattenToVec") as caught:
        ws.run(net)
    assert caught.value.kind == "shape_mismatch"


def test_indices_of_two_dimensions_beside_one_say_what_to_do_when_the_net_runs():
    net = Net("tables")
    net.Gather(["table", "i"], "a")
    net.Gather(["table", "j"], "b")
    net.SumElements(["a"], "sum_a")
    net.SumElements(["b"], "sum_b")
    net.Add(["sum_a", "sum_b"], "y")
    net.add_gradient_operators(["y"])
    ws = fed()
    ws.feed("j", np.array([[2, 1], [0, 0]]))
    with pytest.raises(RunError, match="Concat") as raised:
        ws.run(net)
    assert "dense_gradient=1" in raised.value.explain()
