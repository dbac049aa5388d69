"""What differences cannot tell: gradients that operators redirect on purpose, casts, ties, random numbers, accuracy."""

from math import erf, inf
from typing import Any

import numpy as np
import pytest

from gradviz.net import Net
from gradviz.operators import lookup
from gradviz.program import GradientError, Operator, RunError
from gradviz.runtime import Workspace
from tests.operators.case import Array, floats


def run(net: Net, **values: Any) -> Workspace:
    """A workspace in which `net` ran on `values`."""
    workspace = Workspace()
    for name, value in values.items():
        workspace.feed(name, np.asarray(value))
    workspace.run(net)
    return workspace


def once(type: str, *inputs: Any, outputs: tuple[str, ...] = ("y",), **args: Any) -> Array:
    """The first output of one operator."""
    names = [f"x{position}" for position in range(len(inputs))]
    net = Net("once", [Operator(type, names, list(outputs), args)])
    return run(net, **dict(zip(names, inputs, strict=True)))[outputs[0]]


def test_negate_gradient_turns_the_gradient_around_and_nothing_else() -> None:
    net = Net("n")
    net.NegateGradient("x", "y")
    gradients = net.add_gradient_operators({"y": "dy"})
    workspace = run(net, x=[1.0, 2.0], dy=[3.0, -4.0])
    np.testing.assert_array_equal(workspace["y"], [1, 2])
    np.testing.assert_array_equal(workspace[gradients["x"]], [-3, 4])


def test_zero_gradient_adds_nothing_to_the_gradient_of_other_uses() -> None:
    net = Net("n")
    net.add("ZeroGradient", ["x"], [])
    net.Cube("x", "y")
    gradients = net.add_gradient_operators(["y"])
    np.testing.assert_array_equal(run(net, x=[1.0, 2.0])[gradients["x"]], [3, 12])


def test_print_changes_nothing() -> None:
    net = Net("n")
    net.Cube("x", "y")
    net.add("Print", ["y"], [])
    gradients = net.add_gradient_operators(["y"])
    assert run(net, x=2.0)[gradients["x"]] == 12


@pytest.mark.parametrize("args", [{"to": "DOUBLE"}, {"to": "double", "from_type": "FLOAT"}, {"to": 13, "from_type": 1}])
def test_the_gradient_of_a_cast_has_the_dtype_of_its_input(args: dict[str, Any]) -> None:
    net = Net("n")
    net.add("Cast", "x", "y", **args)
    net.Cube("y", "z")
    gradients = net.add_gradient_operators(["z"])
    workspace = run(net, x=np.array([2.0], np.float32))
    assert workspace["z"].dtype == np.float64
    assert workspace[gradients["x"]].dtype == np.float32
    assert workspace[gradients["x"]] == 12


def test_no_gradient_passes_a_cast_to_integers() -> None:
    net = Net("n")
    net.Cube("x", "y")
    net.add("Cast", "y", "z", to="INT32")
    net.add("Cast", "z", "t", to="DOUBLE")
    net.Sum(["t", "y"], "u")
    gradients = net.add_gradient_operators(["u"])
    np.testing.assert_array_equal(run(net, x=[2.0])[gradients["x"]], [12])


@pytest.mark.parametrize("type", ["Floor", "Ceil", "Sign", "IsNaN"])
def test_types_without_slope_refuse_a_gradient(type: str) -> None:
    net = Net("n")
    net.add(type, ["x"], "y")
    with pytest.raises(GradientError) as caught:
        net.add_gradient_operators(["y"])
    assert caught.value.kind == "no_gradient_rule"


@pytest.mark.parametrize("type", ["Max", "Min"])
def test_inputs_that_tie_share_the_gradient(type: str) -> None:
    net = Net("n")
    net.add(type, ["x", "y", "x"], "z")
    gradients = net.add_gradient_operators({"z": "dz"})
    workspace = run(net, x=[1.0, 2.0], y=[1.0, -5.0 if type == "Max" else 5.0], dz=[6.0, 6.0])
    np.testing.assert_array_equal(workspace[gradients["x"]], [4, 6])
    np.testing.assert_array_equal(workspace[gradients["y"]], [2, 0])


@pytest.mark.parametrize("type", ["Max", "Min"])
def test_integers_among_floats_take_their_part_of_an_extreme(type: str) -> None:
    net = Net("n")
    net.add(type, ["x", "n"], "z")
    gradients = net.add_gradient_operators({"z": "dz"})
    workspace = run(net, x=[1.0, 2.0, 3.0], n=[2, 2, 2], dz=[6.0, 6.0, 6.0])
    expected = [0, 3, 6] if type == "Max" else [6, 3, 0]
    np.testing.assert_array_equal(workspace[gradients["x"]], expected)


@pytest.mark.parametrize(
    ("type", "args", "corner", "slope"),
    [
        ("Abs", {}, 0.0, 0),
        ("LeakyRelu", {"alpha": 0.1}, 0.0, 0.1),
        ("ThresholdedRelu", {"alpha": 1.0}, 1.0, 0),
        ("ReluN", {"n": 2.0}, 2.0, 0),
        ("Clip", {"min": -1.0, "max": 1.0}, -1.0, 0),
        ("Clip", {"min": -1.0, "max": 1.0}, 1.0, 0),
        ("HardSigmoid", {"alpha": 0.25, "beta": 0.5}, 2.0, 0),
        ("Softplus", {}, 0.0, 0.5),
    ],
)
def test_slopes_at_corners(type: str, args: dict[str, float], corner: float, slope: float) -> None:
    net = Net("n")
    net.add(type, "x", "y", **args)
    gradients = net.add_gradient_operators(["y"])
    np.testing.assert_allclose(run(net, x=corner)[gradients["x"]], slope)


def test_a_threshold_below_0_lets_zeros_through() -> None:
    net = Net("n")
    net.ThresholdedRelu("x", "y", alpha=-1.0)
    gradients = net.add_gradient_operators({"y": "dy"})
    second = net.add_gradient_operators({str(gradients["x"]): "ddx"})
    workspace = run(net, x=[-2.0, -1.0, -0.5, -0.0, 0.0, 3.0], dy=[2.0] * 6, ddx=[5.0] * 6)
    np.testing.assert_array_equal(workspace["y"], [0, 0, -0.5, 0, 0, 3])
    np.testing.assert_array_equal(workspace[gradients["x"]], [0, 0, 2, 2, 2, 2])
    np.testing.assert_array_equal(workspace[second["dy"]], [0, 0, 5, 5, 5, 5])


def test_pow_in_place_is_refused_as_its_gradient_needs_what_it_overwrites() -> None:
    net = Net("n", [Operator("Pow", ["x"], ["x"], {"exponent": 2.0})])
    with pytest.raises(GradientError) as caught:
        net.add_gradient_operators(["x"])
    assert caught.value.kind == "version_overwritten"


def test_erf_is_that_of_the_standard_library() -> None:
    x = np.array([*np.linspace(-7, 7, 2001), 0.0, 0.5, -0.5, 1e-300, inf, -inf])
    np.testing.assert_allclose(once("Erf", x), [erf(value) for value in x.tolist()], rtol=5e-16)
    np.testing.assert_array_equal(once("Erf", np.array([np.nan])), [np.nan])


@pytest.mark.parametrize("type", ["Softplus", "Swish", "Mish", "Gelu", "Elu", "Selu", "HardSigmoid"])
def test_activations_of_large_numbers_are_finite(type: str) -> None:
    known = lookup(type)
    assert known is not None
    assert known.kernel is not None
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        y = known.kernel(Operator(type, ["x"], ["y"]), np.array([-1e4, 1e4]))
    assert np.isfinite(y).all()


def test_dropout_keeps_the_mean_and_tells_what_it_dropped() -> None:
    net = Net("n")
    net.add("Dropout", ["x"], ["y", "mask"], ratio=0.25)
    gradients = net.add_gradient_operators(["y"])
    workspace = run(net, x=np.ones(20_000, np.float32))
    mask = workspace["mask"]
    assert abs(mask.mean() - 0.75) < 0.01
    for name in ("y", gradients["x"]):
        assert workspace[name].dtype == np.float32
        np.testing.assert_allclose(workspace[name], mask / 0.75, rtol=1e-6)


def test_random_numbers_depend_on_seed_and_name_alone() -> None:
    first = once("GaussianFill", outputs=("w",), shape=[50])
    np.testing.assert_array_equal(first, once("GaussianFill", outputs=("w",), shape=[50]))
    np.testing.assert_array_equal(first, once("GaussianFill", outputs=("w",), shape=[50], seed=0))
    assert not np.isin(first, once("GaussianFill", outputs=("w",), shape=[50], seed=1)).any()
    assert not np.isin(first, once("GaussianFill", outputs=("v",), shape=[50])).any()


def test_random_numbers_are_distributed_as_asked() -> None:
    size = 40_000
    normal = once("GaussianFill", shape=[size], mean=3.0, std=2.0, dtype="float64")
    np.testing.assert_allclose([normal.mean(), normal.std()], [3, 2], atol=0.05)
    assert abs((np.abs(normal - 3) < 2).mean() - erf(1 / np.sqrt(2))) < 0.01
    even = once("UniformFill", shape=[size], min=-1.0, max=3.0)
    np.testing.assert_allclose(np.histogram(even, 8, (-1, 3))[0] / size, 1 / 8, atol=0.01)
    _, counts = np.unique(once("UniformIntFill", shape=[size], min=2, max=5), return_counts=True)
    np.testing.assert_allclose(counts / size, 1 / 4, atol=0.01)
    assert abs(np.corrcoef(normal[:-1], normal[1:])[0, 1]) < 0.02
    xavier = once("XavierFill", shape=[100, 400])
    assert abs(np.abs(xavier).max() - np.sqrt(3 / 400)) < 1e-4
    np.testing.assert_allclose(once("MSRAFill", shape=[400, 100]).std(), np.sqrt(2 / 400), rtol=0.02)


def test_fills_with_a_pattern() -> None:
    np.testing.assert_array_equal(once("DiagonalFill", shape=[3, 2], value=5.0), [[5, 0], [0, 5], [0, 0]])
    np.testing.assert_array_equal(once("DiagonalFill", shape=[2, 2, 2], value=1.0).nonzero(), [[0, 1]] * 3)
    np.testing.assert_array_equal(once("RangeFill", shape=[2, 3]), [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(once("Range", np.array(5), np.array(0), np.array(-2)), [5, 3, 1])


MISFITS: list[tuple[str, list[Any], dict[str, Any], list[str], str, str]] = [
    # type, inputs, args, outputs, kind, words in the message
    ("Sin", [np.zeros(3, int)], {}, ["y"], "shape_mismatch", "must be floating-point, got int64 (3,)"),
    ("Negative", [np.zeros(3, bool)], {}, ["y"], "shape_mismatch", "with a sign"),
    ("Pow", [np.zeros(3)], {}, ["y"], "bad_argument", "exponent=2.0"),
    ("Pow", [np.zeros(3), np.zeros(3)], {"exponent": 2.0}, ["y"], "bad_argument", "second input"),
    ("Mod", [np.zeros(3, int)], {}, ["y"], "bad_argument", "other than 0"),
    ("SquareRootDivide", [np.zeros((3, 4)), np.zeros(4)], {}, ["y"], "shape_mismatch", "one number a row"),
    ("LeakyRelu", [np.zeros(3)], {"alpha": -0.1}, ["y"], "bad_argument", "must not be negative"),
    ("Selu", [np.zeros(3)], {"scale": -1.0}, ["y"], "bad_argument", "scale=-1.0 must not be negative"),
    ("Selu", [np.zeros(3)], {"alpha": np.nan}, ["y"], "bad_argument", "alpha=nan must not be negative"),
    ("Sub", [np.zeros(3, bool), np.ones(3, bool)], {}, ["y"], "shape_mismatch", "truth values have no difference"),
    ("LRN", [np.zeros((1, 3, 2, 2))], {"size": -3}, ["y"], "shape_mismatch", "odd number of channels"),
    ("Einsum", [np.zeros((3, 1))], {"equation": "ii"}, ["y"], "shape_mismatch", "several sizes by one letter"),
    ("Slice", [np.zeros(3), np.array(1), np.array(2)], {}, ["y"], "shape_mismatch", "integers (n,), got int64 ()"),
    ("SparseToDense", [np.zeros(0, int), np.zeros(0)], {"output_first_dim": -3}, ["y"], "bad_argument", "negative"),
    ("SoftmaxWithLoss", [np.zeros((2, 0))] * 2, {"label_prob": 1}, ["p", "l"], "bad_value", "they sum to 0"),
    (
        "SoftmaxWithLossGradient",
        [np.zeros((1, 2)), np.zeros(1, int), np.zeros((1, 2), bool), np.array(1.0)],
        {},
        ["dx"],
        "shape_mismatch",
        "p must be floating-point",
    ),
    ("TopKGradient", [np.zeros(2), np.array(1), np.zeros(3)], {}, ["dx"], "shape_mismatch", "indices int64 ()"),
    ("TopKGradient", [np.zeros(2), np.array([0, 3]), np.zeros(3)], {}, ["dx"], "bad_value", "index 3 at position 1"),
    ("TopKGradientGradient", [np.zeros(2), np.zeros(2), np.zeros(3)], {}, ["y"], "shape_mismatch", "be integers"),
    ("BooleanMaskGradient", [np.zeros(3), np.zeros(2)], {}, ["dx"], "shape_mismatch", "mask must be bool (n,)"),
    ("BooleanMaskGradient", [np.ones(3, bool), np.zeros(1)], {}, ["dx"], "shape_mismatch", "each of the 3 that pass"),
    (
        "LayerNormGradient",
        [np.zeros((2, 3))] * 2 + [np.zeros((3, 1))] * 2 + [np.zeros((2, 3))],
        {},
        ["dx"],
        "shape_mismatch",
        "mean must have the shape (2, 1)",
    ),
    ("LayerNormStdGradient", [np.zeros((1, 1))] * 3 + [np.zeros((2, 3))], {}, ["dx"], "shape_mismatch", "(2, 1)"),
    (
        "SpatialBNGradient",
        [np.zeros((2, 3, 1)), np.zeros(3), np.zeros((2, 3, 1)), np.zeros(0), np.zeros(3)],
        {},
        ["a", "b", "c"],
        "shape_mismatch",
        "mean must have the shape (3,)",
    ),
    ("WeightedSumGradient", [np.zeros(3), np.zeros(3), np.zeros(1)], {}, ["a", "b"], "shape_mismatch", "1 outputs"),
    (
        "LengthsMaxWithMainInputAndForwardOutputGradient",
        [np.array(1.0)] * 2 + [np.ones(1, int), np.ones(1)],
        {},
        ["dx"],
        "shape_mismatch",
        "must have rows",
    ),
    (
        "LengthsIndicesInGradientSumGradient",
        [np.array(1.0), np.ones(1, int), np.ones(1)],
        {},
        ["dx"],
        "shape_mismatch",
        "dy must have 1 rows",
    ),
    ("PRelu", [np.zeros((2, 3)), np.zeros(2)], {}, ["y"], "shape_mismatch", "one a channel of x (2, 3)"),
    ("Max", [np.zeros((2, 3)), np.zeros(3)], {}, ["y"], "shape_mismatch", "all must have one shape"),
    ("WeightedSum", [np.zeros(3), np.zeros(3)], {}, ["y"], "shape_mismatch", "a weight has one element"),
    ("WeightedSum", [np.zeros(3), np.zeros(1), np.zeros(3)], {}, ["y"], "shape_mismatch", "pairs"),
    ("RowMul", [np.zeros((3, 4)), np.zeros(4)], {}, ["y"], "shape_mismatch", "one number a row"),
    ("ElementwiseLinear", [np.zeros((3, 4)), np.zeros(3), np.zeros(3)], {}, ["y"], "shape_mismatch", "(4,)"),
    ("And", [np.zeros(3), np.zeros(3, bool)], {}, ["y"], "shape_mismatch", "x must be of truth values"),
    ("Where", [np.zeros(2, bool), np.zeros(3), np.zeros(3)], {}, ["y"], "shape_mismatch", "each element of (3,)"),
    ("Conditional", [np.zeros(2, bool), np.zeros((3, 2)), np.zeros((3, 2))], {}, ["y"], "shape_mismatch", "each row"),
    ("Cast", [np.zeros(3)], {"to": "complex"}, ["y"], "bad_argument", "10 int64"),
    ("Cast", [np.zeros(3)], {"to": 1, "from_type": "FLAOT"}, ["y"], "bad_argument", "from_type='FLAOT' is no dtype"),
    ("Dropout", [np.zeros(3)], {}, ["y"], "shape_mismatch", "second output"),
    ("Dropout", [np.zeros(3)], {"ratio": 1.0}, ["y", "m"], "bad_argument", "below 1"),
    ("DiagonalFill", [], {"shape": [2, 3, 2]}, ["y"], "shape_mismatch", "has no diagonal"),
    ("MSRAFill", [], {"shape": [3]}, ["y"], "shape_mismatch", "at least 2 dimensions"),
    ("UniformFill", [np.zeros(3), np.zeros(2)], {}, ["y"], "shape_mismatch", "min must have one element"),
    ("Range", [np.array(3), np.array(3.0)], {}, ["y"], "shape_mismatch", "one dtype"),
    ("Range", [np.array(0), np.array(3), np.array(0)], {}, ["y"], "bad_value", "steps of 0"),
    ("Range", [np.array(np.inf)], {}, ["y"], "bad_value", "A range of inf is too long for an array"),
    ("Range", [np.array(0.0), np.array(1e300)], {}, ["y"], "bad_value", "A range of 0.0, 1e+300 is too long"),
    ("Range", [np.array(1j)], {}, ["y"], "shape_mismatch", "real numbers"),
    ("NanCheck", [np.array([1.0, np.nan, np.inf])], {}, ["y"], "bad_value", "x0 has 2 elements"),
]


@pytest.mark.parametrize(("type", "inputs", "args", "outputs", "kind", "words"), MISFITS)
def test_misfits_are_refused(
    type: str, inputs: list[Any], args: dict[str, Any], outputs: list[str], kind: str, words: str
) -> None:
    with pytest.raises(RunError) as caught:
        once(type, *inputs, outputs=tuple(outputs), **args)
    assert caught.value.kind == kind
    assert words in str(caught.value)


def test_where_sends_each_element_of_the_gradient_to_the_side_it_came_from() -> None:
    net = Net("n")
    net.add("Where", ["c", "x", "y"], "z")
    gradients = net.add_gradient_operators({"z": "dz"})
    workspace = run(net, c=[True, False], x=floats(2), y=floats(2, seed=1), dz=[3.0, 4.0])
    np.testing.assert_array_equal(workspace[gradients["x"]], [3, 0])
    np.testing.assert_array_equal(workspace[gradients["y"]], [0, 4])
