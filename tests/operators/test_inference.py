"""Shapes and dtypes told before running are those that kernels give; what does not fit is refused in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from gradviz.net import Net
from gradviz.operators import ArraySpec, lookup
from gradviz.program import NetDef, Operator, RunError
from gradviz.runtime import Workspace
from tests.families import over
from tests.operators.cases import CASES, Array, Case
from tests.operators.test_gradients import seeds

DATA_DEPENDENT = {
    *("DiagonalFill", "GaussianFill", "MSRAFill", "Range", "RangeFill", "UniformFill", "UniformIntFill", "XavierFill"),
    "BooleanMask",
    "ConstantFill",
    "Expand",
    "LengthsTile",
    "OneHot",
    "Reshape",
    "Slice",
    "SparseToDense",
    "Split",
    "Tile",
    "TileGradient",
    "TopK",
    "Unique",
    *[
        f"{sparse}{order}Segment{r}"
        for sparse in ("", "Sparse")
        for order in ("Sorted", "Unsorted")
        for r in ("Sum", "Mean")
    ],
}
"""Types whose output shapes may be data."""


@over(CASES)
def test_inferred_specs_are_those_of_the_kernels(case: Case) -> None:
    for dtype in (np.float32, np.float64):
        assert_inference_tells_what_kernels_give(case, case.values(dtype))


ONE_DTYPE = {"Range", "ScatterAssign"}
"""Types whose inputs must be of one dtype."""


@over(case for case in CASES if case.type not in ONE_DTYPE)
def test_inferred_dtypes_are_those_of_the_kernels_where_one_input_is_wider(case: Case) -> None:
    values, wide = case.values(np.float32), case.values(np.float64)
    given = seeds(case, values)
    for name in [name for name in values if values[name].dtype != wide[name].dtype]:
        assert_inference_tells_what_kernels_give(case, values | {name: wide[name]}, given)
    assert_inference_tells_what_kernels_give(case, values, seeds(case, wide))


@pytest.mark.parametrize(
    ("type", "arrays"),
    [
        *[
            (f"{name}Gradient", [np.zeros(3), np.ones(3, np.float32)])
            for name in ("Abs", "Relu", "LeakyRelu", "ThresholdedRelu", "ReluN", "Clip", "HardSigmoid")
        ],
        ("LayerNormMeanGradient", [np.ones((2, 1), np.float32), np.zeros((2, 1)), np.ones((2, 1)), np.ones((2, 3))]),
        ("LayerNormGradient", [*[np.zeros((0, 4))] * 2, *[np.ones((0, 1))] * 2, np.zeros((0, 4), np.float32)]),
        ("ReduceFrontSum", [np.ones((2, 3), bool), np.array([1, 0, 2])]),
        ("ReduceProd", [np.ones((2, 3), np.float32)]),
    ],
)
def test_where_dtypes_meet_it_is_the_kernel_s_too(type: str, arrays: list[Array]) -> None:
    known = lookup(type)
    assert known is not None
    assert known.infer is not None
    assert known.kernel is not None
    op = Operator(type, [f"x{number}" for number in range(len(arrays))], ["y"])
    result = known.kernel(op, *arrays)
    spec = known.infer(op, *[ArraySpec(array.shape, array.dtype) for array in arrays])
    assert spec in (ArraySpec(result.shape, result.dtype), (ArraySpec(result.shape, result.dtype),))


def assert_inference_tells_what_kernels_give(
    case: Case, values: Mapping[str, Array], given: Mapping[str, Array] | None = None
) -> None:
    """For the operator of `case` and those of its backward pass, from the gradients `given` of its outputs."""
    workspace, net = Workspace(), Net("case", [case.op])
    for name, value in values.items():
        workspace.feed(name, value)
    if case.known.rule is not None:
        given = seeds(case, values) if given is None else given
        for name, value in given.items():
            workspace.feed(f"given_{name}", value)
        net.add_gradient_operators({name: f"given_{name}" for name in given})
    for op in net.ops:
        known = lookup(op.type)
        assert known is not None
        assert known.infer is not None
        specs = known.infer(op, *[spec(workspace[name]) for name in op.inputs])
        workspace.run_operator(op)
        if specs is None or isinstance(specs, ArraySpec):
            specs = (specs,)
        assert len(specs) == len(op.outputs)
        for name, inferred in zip(op.outputs, specs, strict=True):
            if inferred is None:
                assert op.type in DATA_DEPENDENT
            else:
                assert inferred == spec(workspace[name]), f"{name} of {op}"


def spec(array: Array) -> ArraySpec:
    """Shape and dtype of an array."""
    return ArraySpec(array.shape, array.dtype)


F32 = np.float32
MISFITS: list[tuple[str, list[Array], dict[str, Any], Sequence[str], str, str]] = [
    # type, inputs, args, outputs, kind, words in the message
    ("Add", [np.zeros((3, 4)), np.zeros(3)], {}, ["z"], "shape_mismatch", "(3, 4) and (3,) do not broadcast"),
    ("Add", [np.zeros((3, 4)), np.zeros(3)], {"broadcast": 1}, ["z"], "shape_mismatch", "(3, 4) and (3,)"),
    ("Add", [np.zeros(3), np.zeros((2, 3))], {"broadcast": 1}, ["z"], "shape_mismatch", "cannot be laid along x"),
    ("Mul", [np.zeros((3, 1)), np.zeros((3, 2))], {"broadcast": 1}, ["z"], "shape_mismatch", "only y stretches"),
    ("Add", [np.zeros((3, 4)), np.zeros(3)], {"axis": 0}, ["z"], "bad_argument", "axis=0 means nothing without"),
    ("Add", [np.zeros(3), np.zeros((2, 3))], {}, ["x0"], "shape_mismatch", "in place it would change x0"),
    ("Add", [np.zeros(3), np.zeros(3)], {"broadcast": "yes"}, ["z"], "bad_argument", "must be an integer"),
    (
        "Div",
        [np.ones(2, int), np.ones(2, int)],
        {},
        ["z"],
        "shape_mismatch",
        "x must be floating-point, got int64 (2,)",
    ),
    ("Sum", [np.zeros((3, 4)), np.zeros(4)], {}, ["y"], "shape_mismatch", "x is (3, 4), input 1 is (4,)"),
    ("Exp", [np.ones(2, int)], {}, ["y"], "shape_mismatch", "astype(np.float32)"),
    ("Scale", [np.ones(2)], {"scale": "2"}, ["y"], "bad_argument", "scale='2' must be a number"),
    ("FC", [np.zeros((3, 4)), np.zeros((4, 5)), np.zeros(5)], {}, ["y"], "shape_mismatch", "w must be (5, 4)"),
    (
        "FC",
        [np.zeros((3, 4)), np.zeros((5, 4)), np.zeros(1)],
        {},
        ["y"],
        "shape_mismatch",
        "b must have the shape (5,)",
    ),
    ("FC", [np.zeros(4), np.zeros((5, 4)), np.zeros(5)], {}, ["y"], "shape_mismatch", "axis 1 does not exist"),
    ("MatMul", [np.zeros((3, 4)), np.zeros((5, 4))], {}, ["y"], "shape_mismatch", "4 and 5 must be equal"),
    (
        "MatMul",
        [np.zeros((3, 4)), np.zeros((4, 5)), np.zeros(7)],
        {},
        ["y"],
        "shape_mismatch",
        "the shape (7,) of like",
    ),
    ("Softmax", [np.zeros(4)], {}, ["y"], "shape_mismatch", "Give an axis from -1 to 0"),
    (
        "SoftmaxWithLoss",
        [np.zeros((3, 10)), np.zeros((3, 10), F32)],
        {},
        ["p", "loss"],
        "shape_mismatch",
        "labels must be integers (3,), got float32 (3, 10)",
    ),
    (
        "SoftmaxWithLoss",
        [np.zeros((3, 10)), np.zeros(4, int)],
        {},
        ["p", "loss"],
        "shape_mismatch",
        "one a row of x (3, 10); got int64 (4,)",
    ),
    (
        "SoftmaxWithLoss",
        [np.zeros((3, 10)), np.zeros((3, 4))],
        {"label_prob": 1},
        ["p", "loss"],
        "shape_mismatch",
        "labels are probabilities of the shape (3, 10)",
    ),
    (
        "SoftmaxWithLoss",
        [np.zeros((3, 10)), np.zeros(3, int), np.zeros(2)],
        {},
        ["p", "loss"],
        "shape_mismatch",
        "weights must be (3,)",
    ),
    (
        "LabelCrossEntropy",
        [np.zeros((3, 10)), np.zeros((3, 2), int)],
        {},
        ["y"],
        "shape_mismatch",
        "labels must be integers (3,)",
    ),
    ("SquaredL2Distance", [np.zeros((3, 4)), np.zeros(4)], {}, ["d"], "shape_mismatch", "x is (3, 4), y is (4,)"),
    ("Reshape", [np.zeros((3, 4))], {"shape": [5, -1]}, ["y", "old"], "shape_mismatch", "12 elements"),
    ("Reshape", [np.zeros((3, 4))], {"shape": [-1, -1]}, ["y", "old"], "shape_mismatch", "at most one -1"),
    ("Reshape", [np.zeros(4)], {"shape": [4, 0]}, ["y", "old"], "shape_mismatch", "copies dimension 1"),
    ("Reshape", [np.zeros(4)], {}, ["y", "old"], "bad_argument", "does not know the new shape"),
    ("Reshape", [np.zeros(4), np.zeros(2)], {}, ["y", "old"], "shape_mismatch", "integers (n,), got float64 (2,)"),
    ("Transpose", [np.zeros((3, 4))], {"axes": [0, 0]}, ["y"], "shape_mismatch", "Name each of 0 to 1 once"),
    ("Transpose", [np.zeros((3, 4))], {"axes": 1}, ["y"], "bad_argument", "must be a list of integers"),
    ("Concat", [np.zeros((3, 4)), np.zeros((2, 4))], {}, ["y", "i"], "shape_mismatch", "input 1 is (2, 4)"),
    ("Concat", [np.zeros((3, 4)), np.zeros(3)], {"add_axis": 1}, ["y", "i"], "shape_mismatch", "new axis 1"),
    ("Split", [np.zeros((3, 5))], {}, ["a", "b"], "shape_mismatch", "cannot be cut into 2 equal parts"),
    ("Split", [np.zeros((3, 5))], {"split": [2, 2]}, ["a", "b"], "shape_mismatch", "add up to 5"),
    ("Split", [np.zeros((3, 4))], {"add_axis": 1}, ["a", "b"], "shape_mismatch", "must take one"),
    ("ConstantFill", [np.zeros(3)], {"shape": [2]}, ["y"], "bad_argument", "does not go with an input"),
    ("ConstantFill", [], {"shape": [2], "extra_shape": [2]}, ["y"], "bad_argument", "needs an input"),
    ("ConstantFill", [], {"shape": [-2]}, ["y"], "bad_value", "(-2,)"),
    ("ConstantFill", [], {"dtype": 4}, ["y"], "bad_argument", "10 int64"),
    ("ConstantFill", [np.zeros(3), np.zeros(2)], {}, ["y"], "shape_mismatch", "value must have one element"),
    ("ConstantFill", [], {"dtype": "int64", "value": np.nan}, ["y"], "bad_argument", "value=nan is no int64"),
    ("ConstantFill", [], {"dtype": "uint8", "value": -1}, ["y"], "bad_argument", "whole number from 0 to 255"),
    ("ConstantFill", [], {"dtype": "bool", "value": 2}, ["y"], "bad_argument", "value=2 is no bool"),
    ("ConstantFill", [], {"value": 1e300}, ["y"], "bad_argument", "value=1e+300 is no float32"),
    ("DiagonalFill", [], {"shape": [2, 2], "dtype": "int8", "value": 0.5}, ["y"], "bad_argument", "0.5 is no int8"),
    ("UniformIntFill", [], {"max": 300, "dtype": "uint8"}, ["y"], "bad_argument", "max=300 is no uint8"),
    ("Pad", [np.zeros(3, int)], {"pads": [1, 1], "value": np.nan}, ["y"], "bad_argument", "value=nan is no int64"),
    ("ReduceSum", [np.zeros((3, 4))], {"axes": [True]}, ["y"], "bad_argument", "must be a list of integers"),
    (
        "LengthsWeightedSumWithMainInputGradient",
        [np.ones(3), np.ones((2, 4)), np.array([1, 2]), np.ones((1, 4))],
        {},
        ["dx", "dw"],
        "shape_mismatch",
        "x of shape (1, 4) needs a row for each weight of (3,)",
    ),
    # What only the values tell, kernels refuse.
    ("LabelCrossEntropy", [np.ones((2, 3)), np.array([0, 3])], {}, ["y"], "bad_value", "label 3 in row 1"),
    ("SoftmaxWithLoss", [np.ones((2, 3)), np.array([-1, 0])], {}, ["p", "l"], "bad_value", "label -1 in row 0"),
    ("SoftmaxWithLoss", [np.ones((2, 0)), np.array([0, 0])], {}, ["p", "l"], "bad_value", "none of the 0 classes"),
    ("SoftmaxWithLoss", [np.ones((1, 2)), np.ones((1, 2))], {"label_prob": 1}, ["p", "l"], "bad_value", "sum to 2"),
    ("Split", [np.zeros((3, 5)), np.array([2, 2])], {}, ["a", "b"], "shape_mismatch", "add up to 5"),
    ("Reshape", [np.zeros(5), np.array([2, 2])], {}, ["y", "old"], "shape_mismatch", "5 elements"),
    ("ConstantFill", [np.array([-1])], {"input_as_shape": 1}, ["y"], "bad_value", "(-1,)"),
]


@pytest.mark.parametrize(("type", "inputs", "args", "outputs", "kind", "words"), MISFITS)
def test_misfits_are_refused(
    type: str, inputs: list[Array], args: dict[str, Any], outputs: list[str], kind: str, words: str
) -> None:
    workspace = Workspace()
    names = [f"x{position}" for position in range(len(inputs))]
    for name, value in zip(names, inputs, strict=True):
        workspace.feed(name, value)
    with pytest.raises(RunError) as caught:
        workspace.run(NetDef("misfit", [Operator(type, names, outputs, args)]))
    assert caught.value.kind == kind
    assert words in str(caught.value)


def test_a_gradient_of_the_wrong_shape_is_refused() -> None:
    for type, reads in {"Tanh": ["x"], "Add": ["x", "x"], "FC": ["x", "w", "b"], "AveragedLoss": ["x"]}.items():
        net, workspace = Net("n"), Workspace()
        net.add(type, reads, "y")
        net.add_gradient_operators({"y": "dy"})
        for name, shape in {"x": (3, 4), "w": (5, 4), "b": (5,), "dy": (2, 2)}.items():
            workspace.feed(name, np.zeros(shape))
        with pytest.raises(RunError, match=r"\(2, 2\)"):
            workspace.run(net)


def inferred(type: str, shapes: Sequence[tuple[int, ...]], outputs: int) -> Any:
    """What the inference of `type` says of arrays of such shapes."""
    known = lookup(type)
    assert known is not None
    assert known.infer is not None
    op = Operator(type, [f"x{i}" for i in range(len(shapes))], [f"y{i}" for i in range(outputs)])
    return known.infer(op, *[ArraySpec(shape, np.dtype(F32)) for shape in shapes])


def test_a_gradient_has_the_shape_of_what_it_is_the_gradient_of() -> None:
    x, rows = (3, 4), (3,)
    made = inferred("CosineSimilarityGradientGradient", [x, x, rows, x, x], 3)
    assert [spec.shape for spec in made] == [x, x, rows]
    with pytest.raises(RunError, match=r"∂dx must have the shape \(3, 4\), got float32 \(3, 5\)"):
        inferred("CosineSimilarityGradientGradient", [x, x, rows, (3, 5), x], 3)
    with pytest.raises(RunError, match=r"dz must have the shape \(3,\), got float32 \(4,\)"):
        inferred("CosineSimilarityGradientGradient", [x, x, (4,), x, x], 3)


def test_the_gradient_of_what_is_not_read_has_the_shape_of_what_that_is_like() -> None:
    """RMSNormGradient does not read the bias, which is like the scale."""
    made = inferred("RMSNormGradient", [(3, 4), (3, 4), (4,), (3,)], 3)
    assert [spec.shape for spec in made] == [(3, 4), (4,), (4,)]
