"""What reductions, rearrangements and selections mean, by small examples, and how they refuse what does not fit."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from gradviz.net import Net
from gradviz.program import Gradient, NetDef, Operator, RunError
from gradviz.runtime import Workspace
from tests.operators.case import Array, integers
from tests.operators.test_rules_form import ask, call, form


def ran(type: str, inputs: Sequence[Any], outputs: int = 1, **args: Any) -> list[Array]:
    """What an operator makes of `inputs`."""
    workspace = Workspace()
    reads, writes = ([f"{letter}{i}" for i in range(count)] for letter, count in (("x", len(inputs)), ("y", outputs)))
    for name, value in zip(reads, inputs, strict=True):
        workspace.feed(name, np.asarray(value))
    workspace.run(NetDef("one", [Operator(type, reads, writes, args)]))
    return [workspace[name] for name in writes]


PIXELS = np.arange(16.0).reshape(1, 1, 4, 4)
EXAMPLES: list[tuple[str, list[Any], dict[str, Any], Any]] = [
    ("ReduceFrontMax", [[[1.0, 5.0], [2.0, 9.0]], integers(2, 1)], {}, [2.0, 5.0]),
    ("PadImage", [PIXELS], {"pads": [-1, -2, -2, 0]}, PIXELS[:, :, 1:2, 2:]),
    ("PadImage", [PIXELS[:, :, :1]], {"pads": [0, 1, 0, -3], "mode": "edge"}, [[[[0.0, 0.0]]]]),
    ("PadImage", [PIXELS[:, :, :1]], {"pads": [0, 3, 0, -3], "mode": "reflect"}, [[[[3.0, 2.0, 1.0, 0.0]]]]),
    ("Expand", [[[1.0], [2.0]], integers(-1, 2)], {}, [[1.0, 1.0], [2.0, 2.0]]),
    ("Expand", [[1.0, 2.0], integers(2, -1)], {}, [[1.0, 2.0], [1.0, 2.0]]),
    ("BatchMatMul", [[1.0, 2.0], [3.0, 4.0]], {"broadcast": 1}, 11.0),
    ("BatchMatMul", [[1.0, 2.0], [[[3.0], [4.0]]]], {"broadcast": 1}, [[11.0]]),
    ("ReduceBackSum", [[[1.0, 5.0], [2.0, 9.0]], integers(1, 0)], {}, [1.0, 0.0]),
    ("ReduceBackMean", [[[1.0, 5.0], [2.0, 9.0]]], {}, [3.0, 5.5]),
    ("ReduceSum", [integers(2**31 - 1, 1).astype(np.int32)], {"keepdims": 0}, -(2**31)),
    ("ReduceMean", [np.zeros((0, 2))], {"axes": [0]}, [[0.0, 0.0]]),
    ("SumElements", [[1.0, 2.0, 6.0]], {"average": 1}, 3.0),
    ("LpNorm", [[3.0, -4.0]], {}, [25.0]),
    ("LpNorm", [[3.0, -4.0]], {"p": 1}, [7.0]),
    ("CosineSimilarity", [[[3.0, 4.0], [0.0, 0.0]], [[4.0, 3.0], [1.0, 0.0]]], {}, [0.96, 0.0]),
    ("L1Distance", [[[3.0, 4.0]], [[1.0, 7.0]]], {}, [5.0]),
    ("Flatten", [np.zeros((2, 3, 4))], {"axis": 3}, np.zeros((24, 1))),
    ("ExpandDims", [np.zeros((2, 3))], {"dims": [1, 3]}, np.zeros((2, 1, 3, 1))),
    ("PrependDim", [[1.0, 2.0, 3.0, 4.0]], {"dim_size": 2}, [[1.0, 2.0], [3.0, 4.0]]),
    ("Slice", [[1.0, 2.0, 3.0, 4.0]], {"starts": [1], "ends": [-1]}, [2.0, 3.0, 4.0]),
    ("Slice", [[1.0, 2.0, 3.0, 4.0]], {"starts": [1], "ends": [-2]}, [2.0, 3.0]),
    ("Tile", [[[1.0, 2.0]]], {"tiles": 2, "axis": 1}, [[1.0, 2.0, 1.0, 2.0]]),
    ("Expand", [[[1.0], [2.0]], integers(1, 2)], {}, [[1.0, 1.0], [2.0, 2.0]]),
    ("ChannelShuffle", [np.arange(6.0).reshape(1, 6)], {"group": 2}, [[0, 3, 1, 4, 2, 5]]),
    ("SpaceToBatch", [PIXELS], {}, np.stack([PIXELS[0, :, i::2, j::2] for i in (0, 1) for j in (0, 1)])),
    ("Shape", [np.zeros((2, 3))], {}, [2, 3]),
    ("Size", [np.zeros((2, 3))], {}, 6),
    ("ArgMax", [[[1.0, 7.0, 7.0]]], {"keepdims": 0}, [1]),
    ("ArgMin", [[[1.0, 7.0], [0.0, 9.0]]], {"axis": 0}, [[1, 0]]),
    ("OneHot", [integers(1, 0), integers(3)], {}, [[0, 1, 0], [1, 0, 0]]),
    (
        "BatchOneHot",
        [integers(7, 5, 9, 6).reshape(2, 2), integers(1, 2), integers(9, 5, 6)],
        {},
        [[0, 1, 0], [1, 0, 1]],
    ),
    ("BatchGather", [[[1.0, 2.0], [3.0, 4.0]], integers(1, 1, 0)], {}, [[2.0, 2.0, 1.0], [4.0, 4.0, 3.0]]),
]


@pytest.mark.parametrize(("type", "inputs", "args", "expected"), EXAMPLES)
def test_examples(type: str, inputs: list[Any], args: dict[str, Any], expected: Any) -> None:
    (y,) = ran(type, inputs, **args)
    np.testing.assert_allclose(y, expected)
    assert y.shape == np.shape(expected)


@pytest.mark.parametrize(("mode", "row"), [("reflect", [3, 2, 1, 2, 3, 2]), ("edge", [1, 1, 1, 2, 3, 3])])
def test_margins_repeat_what_they_border_on(mode: str, row: list[float]) -> None:
    (y,) = ran("PadImage", [np.array([1.0, 2.0, 3.0]).reshape(1, 1, 1, 3)], mode=mode, pads=[0, 2, 0, 1])
    np.testing.assert_array_equal(y[0, 0, 0], row)


def test_top_k_puts_the_first_of_equal_ones_first_and_pads() -> None:
    values, places, flat = ran("TopK", [[[2.0, 3.0, 3.0], [1.0, 1.0, 0.0]]], 3, k=2)
    np.testing.assert_array_equal(values, [[3, 3], [1, 1]])
    np.testing.assert_array_equal(places, [[1, 2], [0, 1]])
    np.testing.assert_array_equal(flat, [1, 2, 3, 4])
    values, places = ran("TopK", [[5.0]], 2, k=3)
    np.testing.assert_array_equal(values, [5, 0, 0])
    np.testing.assert_array_equal(places, [0, -1, -1])


@pytest.mark.parametrize("type", ["ReduceMax", "ReduceMin", "ReduceFrontMax", "ReduceBackMax", "RowwiseMax"])
def test_equal_largest_ones_share_the_gradient(type: str) -> None:
    net, workspace = Net("n"), Workspace()
    net.add(type, ["x"], "y")
    x_grad = net.add_gradient_operators(["y"])["x"]
    workspace.feed("x", np.ones((4, 4)))
    workspace.run(net)
    assert np.unique(workspace[x_grad]).size == 1
    assert workspace[x_grad].sum() == workspace["y"].size


@pytest.mark.parametrize(
    ("flags", "of_a", "of_b"),
    [
        ({}, (["GO0", "I1"], {"trans_b": 1}), (["I0", "GO0"], {"trans_a": 1})),
        ({"trans_b": 1}, (["GO0", "I1"], {}), (["GO0", "I0"], {"trans_a": 1})),
        ({"trans_a": 1}, (["I1", "GO0"], {"trans_b": 1}), (["I0", "GO0"], {})),
        (
            {"trans_a": 1, "trans_b": 1},
            (["I1", "GO0"], {"trans_a": 1, "trans_b": 1}),
            (["GO0", "I0"], {"trans_a": 1, "trans_b": 1}),
        ),
    ],
)
def test_batch_matmul_puts_factors_in_the_order_that_its_flags_demand(
    flags: dict[str, int], of_a: tuple[list[str], dict[str, int]], of_b: tuple[list[str], dict[str, int]]
) -> None:
    made, _ = ask(call("BatchMatMul", 2, **flags), 0)
    assert form(made) == [
        ("BatchMatMul", of_a[0], ["I0_grad"], of_a[1]),
        ("BatchMatMul", of_b[0], ["I1_grad"], of_b[1]),
    ]


def test_moments_fill_the_gradient_that_does_not_come_with_zeros_like_it() -> None:
    for given, absent in ((0, 1), (1, 0)):
        (fill, made), g_input = ask(call("Moments", 1, 2, axes=[0]), given)
        assert form([fill]) == [("ConstantFill", [f"O{absent}"], fill.outputs, {"value": 0.0})]
        wanted: list[Gradient | None] = [fill.outputs[0], fill.outputs[0]]
        wanted[given] = f"GO{given}"
        assert made.inputs == [*wanted, "I0", "O0"]
        assert g_input == ["I0_grad"]


def zeros(*shape: int) -> Array:
    """An array of this shape."""
    return np.zeros(shape)


MISFITS: list[tuple[str, list[Array], dict[str, Any], int, str, str]] = [
    # type, inputs, args, how many outputs, kind, words in the message
    ("ReduceSum", [zeros(2, 3)], {"axes": [2]}, 1, "shape_mismatch", "axis 2 does not exist"),
    ("ReduceSum", [zeros(2, 3)], {"axes": [1, -1]}, 1, "shape_mismatch", "twice"),
    ("ReduceSum", [zeros(2, 3)], {"axes": 1}, 1, "bad_argument", "must be a list of integers"),
    ("ReduceMean", [integers(2, 3)], {}, 1, "shape_mismatch", "must be floating-point"),
    ("ReduceMax", [zeros(0, 3)], {"axes": [0]}, 1, "shape_mismatch", "no elements along the axes [0]"),
    ("ReduceSumGradient", [zeros(2), zeros(2, 3), zeros(2, 1)], {"axes": [1]}, 1, "shape_mismatch", "shape (2, 1)"),
    ("ReduceFrontSum", [zeros(2, 3)], {"num_reduce_dim": 3}, 1, "bad_argument", "from 0 to the 2 dimensions"),
    ("ReduceFrontSum", [zeros(2, 3), integers(1)], {}, 1, "shape_mismatch", "integers (3,)"),
    ("ReduceFrontSum", [zeros(2, 3), integers(1, 2, 3)], {}, 1, "bad_value", "are not from 0 to 2"),
    ("ReduceBackMax", [zeros(2, 3), integers(1, 0)], {}, 1, "bad_value", "are not from 1 to 3"),
    ("ReduceBackMax", [zeros(2, 0)], {}, 1, "shape_mismatch", "no elements"),
    ("RowwiseMax", [zeros(3)], {}, 1, "shape_mismatch", "must be a matrix"),
    ("ColwiseMax", [zeros(0, 3)], {}, 1, "shape_mismatch", "no elements"),
    ("SumElementsGradient", [zeros(3), zeros(3)], {}, 1, "shape_mismatch", "gradient of one number"),
    ("LpNorm", [zeros(3)], {"p": 3}, 1, "bad_argument", "must be 1 or 2"),
    ("DotProduct", [zeros(3), zeros(4)], {}, 1, "shape_mismatch", "x is (3,), y is (4,)"),
    ("Flatten", [zeros(3)], {"axis": 2}, 1, "shape_mismatch", "axis 2 does not exist"),
    ("ResizeLike", [zeros(3), zeros(4)], {}, 1, "shape_mismatch", "has 3 elements"),
    ("ExpandDims", [zeros(3)], {}, 1, "bad_argument", "Give dims=[...]"),
    ("ExpandDims", [zeros(3)], {"dims": [2]}, 1, "bad_argument", "from 0 to 1"),
    ("Squeeze", [zeros(3, 1)], {"dims": [0]}, 1, "shape_mismatch", "not all of size 1"),
    ("PrependDim", [zeros(3)], {"dim_size": 2}, 1, "shape_mismatch", "2 equal parts"),
    ("PrependDim", [zeros(3)], {"dim_size": 0}, 1, "bad_argument", "at least 1"),
    ("MergeDim", [zeros(3)], {}, 1, "shape_mismatch", "no two dimensions"),
    ("NCHW2NHWC", [zeros(3)], {}, 1, "shape_mismatch", "a batch and a channel dimension"),
    ("Shape", [zeros(3)], {"axes": [1]}, 1, "shape_mismatch", "not all among the 1 dimensions"),
    ("Expand", [zeros(3), integers(2)], {}, 1, "shape_mismatch", "does not stretch to (2,)"),
    ("Expand", [zeros(3), zeros(1)], {}, 1, "shape_mismatch", "must be integers"),
    ("Tile", [zeros(3)], {"tiles": -1}, 1, "shape_mismatch", "no number of copies"),
    ("Tile", [zeros(3), integers(1, 2)], {}, 1, "shape_mismatch", "one integer"),
    ("TileGradient", [zeros(3)], {"tiles": 2}, 1, "shape_mismatch", "2 equal parts"),
    ("Slice", [zeros(3)], {"starts": [2], "ends": [1]}, 1, "shape_mismatch", "leave nothing"),
    ("Slice", [zeros(3)], {"starts": [0, 0], "ends": [1, 1]}, 1, "shape_mismatch", "do not fit x of shape (3,)"),
    ("Slice", [zeros(3), integers(1)], {}, 1, "shape_mismatch", "both starts and ends"),
    ("PadImage", [zeros(3)], {}, 1, "shape_mismatch", "four dimensions"),
    ("PadImage", [zeros(1, 1, 2, 2)], {"pad": 2, "mode": "reflect"}, 1, "shape_mismatch", "too few"),
    ("PadImage", [zeros(1, 1, 2, 2)], {"pads": [1]}, 1, "shape_mismatch", "four sizes"),
    ("PadImage", [zeros(1, 1, 2, 2)], {"mode": "wrap"}, 1, "bad_argument", "constant, reflect or edge"),
    ("ChannelShuffle", [zeros(1, 3)], {"group": 2}, 1, "shape_mismatch", "2 equal groups"),
    ("SpaceToBatch", [zeros(1, 1, 3, 2)], {}, 1, "shape_mismatch", "3 x 2 pixels"),
    ("BatchToSpace", [zeros(3, 1, 3, 2)], {}, 1, "shape_mismatch", "2 x 2 pixels"),
    ("SpaceToBatch", [zeros(1, 1, 2, 2)], {"order": "NHWC"}, 1, "bad_argument", "not supported"),
    ("BatchMatMul", [zeros(2, 3), zeros(2, 3)], {}, 1, "shape_mismatch", "3 columns"),
    ("BatchMatMul", [zeros(2, 3, 3), zeros(3, 3)], {}, 1, "shape_mismatch", "Set broadcast=1"),
    ("BatchMatMul", [zeros(3), zeros(3)], {}, 1, "shape_mismatch", "must be matrices"),
    ("FCTransposed", [zeros(2, 3), zeros(4, 3), zeros(4)], {}, 1, "shape_mismatch", "one column for each output"),
    ("FCTransposed", [zeros(2, 3), zeros(3, 4), zeros(3)], {}, 1, "shape_mismatch", "b must have the shape (4,)"),
    ("TopK", [zeros(3)], {}, 2, "bad_argument", "at least 1"),
    ("TopK", [zeros(3), integers(0)], {}, 2, "bad_value", "k is 0"),
    ("ArgMax", [zeros(3, 0)], {}, 1, "shape_mismatch", "no elements along axis 1"),
    ("OneHot", [integers(1, 5), integers(3)], {}, 1, "bad_value", "5 at position 1"),
    ("OneHot", [integers(1), integers(-3)], {}, 1, "bad_value", "size is -3"),
    ("BatchOneHot", [zeros(2, 1), integers(2), zeros(3)], {}, 1, "bad_value", "do not add up to the 3 values"),
    ("BatchOneHot", [zeros(2), integers(2), zeros(3)], {}, 1, "shape_mismatch", "must be a matrix"),
    ("BooleanMask", [zeros(2), integers(0, 1)], {}, 1, "shape_mismatch", "mask must be bool (2,)"),
    ("BatchGather", [zeros(2, 3), integers(0, 3)], {}, 1, "bad_value", "3 at position 1"),
    ("BatchGather", [zeros(2, 3), integers(-1)], {}, 1, "bad_value", "-1 at position 0"),
    ("BatchGather", [zeros(2), integers(0)], {}, 1, "shape_mismatch", "x must be (b, n, ...)"),
]


@pytest.mark.parametrize(("type", "inputs", "args", "outputs", "kind", "words"), MISFITS)
def test_misfits_are_refused(
    type: str, inputs: list[Array], args: dict[str, Any], outputs: int, kind: str, words: str
) -> None:
    with pytest.raises(RunError) as caught:
        ran(type, inputs, outputs, **args)
    assert caught.value.kind == kind
    assert words in str(caught.value)
