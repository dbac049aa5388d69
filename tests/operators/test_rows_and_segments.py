"""Rows by number and by segment: what is added where, sparse gradients, and numbers that name no row."""

from typing import Any

import numpy as np
import pytest

from gradviz.net import Net
from gradviz.program import GradientError, GradientSlice, Operator, RunError
from gradviz.runtime import Workspace

Array = np.ndarray[Any, Any]
X = np.arange(8.0).reshape(4, 2)


def call(type: str, *inputs: Array, outputs: int = 1, **args: Any) -> Array:
    """The first output of one operator."""
    workspace, names = Workspace(), [f"x{i}" for i in range(len(inputs))]
    for name, value in zip(names, inputs, strict=True):
        workspace.feed(name, value)
    workspace.run_operator(Operator(type, names, [f"y{i}" for i in range(outputs)], args))
    return workspace["y0"]


@pytest.mark.parametrize(
    ("type", "inputs", "args", "expected"),
    [
        ("Gather", [X, [3, 0, 3]], {}, [[6, 7], [0, 1], [6, 7]]),
        ("Gather", [X, [1, 0, 1]], {"axis": 1}, X[:, [1, 0, 1]]),
        ("Gather", [X, [[1, 0], [0, 0]]], {"axis": -1}, X[:, [[1, 0], [0, 0]]]),
        ("Gather", [X, [[1], [0], [1], [1]]], {"axis": 1, "match_outer": 1}, [[1], [2], [5], [7]]),
        ("BatchGather", [X, [1, 0, 1, 1]], {"match_outer": 1}, [1, 2, 5, 7]),
        ("SparseToDense", [[1, 1, 0], [[1.0], [2.0], [4.0]]], {}, [[4], [3]]),
        ("SparseToDense", [[1, 1, 0], [[1.0], [2.0], [4.0]], X], {}, [[4], [3], [0], [0]]),
        ("SparseToDense", [[1], [5.0]], {"output_first_dim": 3}, [0, 5, 0]),
        ("ScatterAssign", [X, [2, 0], [[9.0, 9.0], [8.0, 8.0]]], {}, [[8, 8], [2, 3], [9, 9], [6, 7]]),
        ("Unique", [[4, 1, 4, 2]], {}, [1, 2, 4]),
        ("LengthsSum", [X, [1, 0, 3]], {}, [[0, 1], [0, 0], [12, 15]]),
        ("LengthsMean", [X, [1, 0, 3]], {}, [[0, 1], [0, 0], [4, 5]]),
        ("LengthsMax", [-X, [1, 0, 3]], {}, [[0, -1], [0, 0], [-2, -3]]),
        ("LengthsWeightedSum", [X, [1.0, 2.0, 0.5, 0.0], [2, 2]], {}, [[4, 7], [2, 2.5]]),
        ("SparseLengthsSum", [X, [3, 3, 0], [2, 1]], {}, [[12, 14], [0, 1]]),
        ("SparseLengthsMean", [X, [3, 3, 0], [2, 1]], {}, [[6, 7], [0, 1]]),
        ("SparseLengthsWeightedSum", [X, [2.0, -1.0], [3, 1], [2]], {}, [[10, 11]]),
        ("LengthsTile", [X[:3], [2, 0, 1]], {}, [[0, 1], [0, 1], [4, 5]]),
        ("SortedSegmentSum", [X, [0, 0, 1, 1]], {}, [[2, 4], [10, 12]]),
        ("SortedSegmentMean", [X, [0, 1, 1, 1]], {}, [[0, 1], [4, 5]]),
        ("UnsortedSegmentSum", [X, [2, 0, 2, 0]], {}, [[8, 10], [0, 0], [4, 6]]),
        ("UnsortedSegmentMean", [X, [1, 0, 1, 0]], {"num_segments": 3}, [[4, 5], [2, 3], [0, 0]]),
        ("SparseSortedSegmentSum", [X, [3, 3], [0, 0]], {}, [[12, 14]]),
        ("SparseUnsortedSegmentMean", [X, [3, 1], [1, 1]], {}, [[0, 0], [4, 5]]),
    ],
)
def test_what_is_added_where(type: str, inputs: list[Any], args: dict[str, Any], expected: Any) -> None:
    np.testing.assert_array_equal(call(type, *map(np.asarray, inputs), **args), expected)


@pytest.mark.parametrize(
    ("type", "inputs", "kind", "words"),
    [
        ("Gather", [X, [0, 4]], "bad_value", "index 4 at position 1 is none of the 4 rows"),
        ("Gather", [X, [-1]], "bad_value", "index -1 at position 0"),
        ("Gather", [X[:0], [0]], "bad_value", "none of the 0 rows"),
        ("Gather", [X, [0.5]], "shape_mismatch", "indices must be integers"),
        ("Gather", [np.array(1.0), [0]], "shape_mismatch", "x must have rows"),
        ("SparseToDense", [[5], [[1.0]], X], "bad_value", "index 5 at position 0 is none of the 4 rows"),
        ("SparseToDense", [[0, 1], [[1.0]]], "shape_mismatch", "one row for each of the indices (2,)"),
        ("ScatterAssign", [X, [9], X[:1]], "bad_value", "index 9"),
        ("ScatterAssign", [X, [1], X], "shape_mismatch", "rows of x (4, 2)"),
        ("LengthsSum", [X, [2, 1]], "bad_value", "lengths [2, 1] add up to 3, and there are 4 rows"),
        ("LengthsMean", [X, [5, -1]], "bad_value", "Give lengths of 0 or more whose sum is 4"),
        ("LengthsMax", [X, [1.0, 3.0]], "shape_mismatch", "lengths must be integers (n,)"),
        ("LengthsTile", [X, [1, 2]], "shape_mismatch", "lengths must be integers (4,)"),
        ("LengthsWeightedSum", [X, [1.0], [4]], "shape_mismatch", "one a row"),
        ("SparseLengthsSum", [X, [0, 7, 1], [3]], "bad_value", "index 7 at position 1 is none of the 4 rows"),
        ("SparseLengthsSum", [X, [0, 1], [3]], "bad_value", "add up to 3, and there are 2 rows"),
        ("SortedSegmentSum", [X, [0, 0, 2, 2]], "bad_value", "segment id 2 at position 2 breaks the order"),
        ("SortedSegmentSum", [X, [0, 1, 0, 1]], "bad_value", "Use the Unsorted type"),
        ("SortedSegmentMean", [X, [1, 1, 1, 1]], "bad_value", "segment id 1 at position 0"),
        ("SortedSegmentSum", [X, [0, 0]], "shape_mismatch", "segment_ids must be integers (4,)"),
        ("UnsortedSegmentSum", [X, [0, -2, 0, 0]], "bad_value", "segment id -2 at position 1"),
    ],
)
def test_numbers_that_name_no_row_are_refused(type: str, inputs: list[Any], kind: str, words: str) -> None:
    with pytest.raises(RunError) as caught:
        call(type, *map(np.asarray, inputs))
    assert caught.value.kind == kind
    assert words in str(caught.value) + str(caught.value.ways_out)


def test_gather_with_match_outer_needs_indices_of_each() -> None:
    with pytest.raises(RunError, match=r"indices \(2,\) must begin with the sizes \(4,\)"):
        call("Gather", X, np.array([0, 1]), axis=1, match_outer=1)
    with pytest.raises(RunError, match="axis 2 does not exist"):
        call("Gather", X, np.array([0]), axis=2)
    with pytest.raises(RunError, match="2 at position 0 is none of the 2 rows"):
        call("Gather", X, np.array([2]), axis=1)


def test_the_gradient_of_a_gather_along_another_axis_is_dense() -> None:
    net = Net("n")
    net.Gather(["x", "indices"], "y", axis=1)
    assert net.add_gradient_operators({"y": "dy"})["x"] == "x_grad"
    assert net.ops[-1].type == "BatchGatherGradient"


def test_the_gradient_of_a_table_is_the_rows_that_were_read() -> None:
    net = Net("n")
    net.Gather(["table", "indices"], "y")
    assert net.add_gradient_operators({"y": "dy"})["table"] == GradientSlice("indices", "dy")


def test_a_dense_gradient_of_a_table_on_demand() -> None:
    net, workspace = Net("n"), Workspace()
    net.Gather(["table", "indices"], "y", dense_gradient=1)
    gradients = net.add_gradient_operators({"y": "dy"})
    for name, value in {"table": X, "indices": np.array([3, 3]), "dy": np.ones((2, 2))}.items():
        workspace.feed(name, value)
    workspace.run(net)
    np.testing.assert_array_equal(workspace[gradients["table"]], [[0, 0], [0, 0], [0, 0], [2, 2]])


def test_ensure_dense_makes_a_sparse_gradient_dense() -> None:
    net = Net("n")
    net.EnsureDense("table", "dense")
    net.Gather(["dense", "indices"], "y")
    gradients = net.add_gradient_operators({"y": "dy"})
    assert gradients["table"] == "table_grad"
    assert net.ops[-1].type == "SparseToDense"


def test_the_greatest_rows_share_the_gradient() -> None:
    net, workspace = Net("n"), Workspace()
    net.LengthsMax(["x", "lengths"], "y")
    gradients = net.add_gradient_operators({"y": "dy"})
    for name, value in {"x": np.array([2.0, 2.0, 1.0]), "lengths": np.array([3]), "dy": np.array([4.0])}.items():
        workspace.feed(name, value)
    workspace.run(net)
    np.testing.assert_array_equal(workspace[gradients["x"]], [2, 2, 0])


@pytest.mark.parametrize(("type", "inputs"), [("ScatterAssign", ["x", "i", "s"]), ("Unique", ["i"])])
def test_types_without_gradient_say_so(type: str, inputs: list[str]) -> None:
    net = Net("n", [Operator(type, inputs, ["y"])])
    with pytest.raises(GradientError, match="no gradient rule"):
        net.add_gradient_operators(["y"])
