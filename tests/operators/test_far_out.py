"""Far out, where a function or its slope falls to 0, numbers keep their digits until they are 0 in their dtype."""

from collections.abc import Callable
from math import cosh, erfc, exp, log1p, pi, sqrt, tanh
from typing import Any

import numpy as np
import pytest

from gradviz.net import Net
from gradviz.program import Operator
from gradviz.runtime import Workspace
from tests.operators.case import Array
from tests.operators.test_meaning import once, run

Function = Callable[[float], float]
FAST = sqrt(2 / pi), 0.044715
RTOL = {"float16": 1e-3, "float32": 1e-6, "float64": 1e-12}


def logistic(x: float) -> float:
    return 1 / (1 + exp(-x))


def density(x: float) -> float:
    return exp(-x * x / 2) / sqrt(2 * pi)


def below(x: float) -> float:
    return erfc(-x / sqrt(2)) / 2


def fast_argument(x: float) -> float:
    return 2 * FAST[0] * (x + FAST[1] * x**3)


def fast_slope(x: float) -> float:
    w = fast_argument(x)
    return logistic(w) + x * logistic(w) * logistic(-w) * 2 * FAST[0] * (1 + 3 * FAST[1] * x * x)


def mish_slope(x: float) -> float:
    return tanh(log1p(exp(x))) + x * logistic(x) / cosh(log1p(exp(x))) ** 2


FUNCTIONS: dict[str, tuple[str, dict[str, int], Function, Function, tuple[float, ...]]] = {
    # type, arguments, value, slope, and where: of those whose slope is told by the output, where that has its digits
    "gelu": ("Gelu", {}, lambda x: x * below(x), lambda x: below(x) + x * density(x), (-12, -9, -5.3, -3.3, -1, 4)),
    "fast gelu": (
        "Gelu",
        {"fast_gelu": 1},
        lambda x: x * logistic(fast_argument(x)),
        fast_slope,
        (-9, -7, -5.3, -3.3, -1, 4),
    ),
    "erf": ("Erf", {}, lambda x: 1 - erfc(x), lambda x: 2 / sqrt(pi) * exp(-x * x), (-8.7, -5.3, -1, 0.3, 4, 9)),
    "swish": (
        "Swish",
        {},
        lambda x: x * logistic(x),
        lambda x: logistic(x) * (1 + x * logistic(-x)),
        (-80, -17, -8.3, -1, 5, 40),
    ),
    "mish": ("Mish", {}, lambda x: x * tanh(log1p(exp(x))), mish_slope, (-30, -17, -8.3, -1, 3.5, 9)),
    "sigmoid": ("Sigmoid", {}, logistic, lambda x: logistic(x) * logistic(-x), (-80, -9.3, -4, -1)),
    "expm1": ("Expm1", {}, lambda x: exp(x) - 1, exp, (-80, -15.7, -4, 3)),
    "arcsin": (
        "Asin",
        {},
        lambda x: 2 * np.arctan2(x, 1 + sqrt(1 - x * x)),
        lambda x: (1 - x * x) ** -0.5,
        (-0.99, 0.999),
    ),
}


def derived(net: Net, wanted: str) -> str:
    """The name of the gradient of x of one more derivative of `wanted`."""
    return str(net.add_gradient_operators([wanted])["x"])


@pytest.mark.parametrize("dtype", RTOL)
@pytest.mark.parametrize("about", FUNCTIONS)
def test_values_and_slopes(about: str, dtype: str) -> None:
    type, args, value, slope, places = FUNCTIONS[about]
    x = np.array(places, dtype)
    net = Net("n")
    net.add(type, "x", "y", **args)
    gradient = derived(net, "y")
    workspace = run(net, x=x)
    for name, function in (("y", value), (gradient, slope)):
        expected = np.array([function(float(number)) for number in x])
        least = 1.5 * float(np.finfo(dtype).smallest_subnormal)
        np.testing.assert_allclose(workspace[name].astype(float), expected, RTOL[dtype], least, err_msg=name)


@pytest.mark.parametrize(
    ("type", "args", "x", "bend"),
    [
        ("Swish", {}, 40.0, -38 * exp(-40)),
        ("Mish", {}, 40.0, -4 * 78 * exp(-80)),
        ("Gelu", {}, -9.0, -79 * density(9)),
        ("Gelu", {"fast_gelu": 1}, -9.0, -4.6839339448e-26),
        ("Expm1", {}, -40.0, exp(-40)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_second_derivatives(type: str, args: dict[str, int], x: float, bend: float, dtype: str) -> None:
    net = Net("n")
    net.add(type, "x", "y", **args)
    second = derived(net, derived(net, "y"))
    np.testing.assert_allclose(run(net, x=np.array(x, dtype))[second], bend, 1e-5)


def test_second_derivatives_of_fast_gelu_are_numbers_in_float16() -> None:
    net = Net("n")
    net.Gelu("x", "y", fast_gelu=1)
    second = derived(net, derived(net, "y"))
    x = np.array([-6e4, -100, 100, 6e4], np.float16)
    np.testing.assert_array_equal(run(net, x=x)[second], 0)


@pytest.mark.parametrize("type", ["Atan", "Softsign"])
def test_slopes_do_not_overflow_on_the_way(type: str) -> None:
    for dtype, x in (("float32", 1e20), ("float64", 1e155)):
        gradient = once(f"{type}Gradient", np.array([x], dtype), np.ones(1, dtype))
        np.testing.assert_allclose(gradient.astype(float), (1 / x) ** 2, rtol=1e-4)


@pytest.mark.parametrize(("alpha", "scale"), [(1.2, 0.8), (0.3, 0.7), (1.7, 1.1)])
def test_the_slope_of_selu_ends_at_0(alpha: float, scale: float) -> None:
    args = {"alpha": alpha, "scale": scale}
    for dtype in RTOL:
        y = once("Selu", np.array([-1000.0], dtype), **args)
        assert once("SeluGradient", y, np.ones(1, dtype), **args) == 0


def test_a_certain_event_is_as_far_out_as_an_impossible_one() -> None:
    for dtype, rtol in RTOL.items():
        y = once("Logit", np.array([0, 1], dtype)).astype(float)
        np.testing.assert_allclose(y, np.log(1e-6 / (1 - 1e-6)) * np.array([1, -1]), rtol=rtol)


def both_dtypes(type: str, reads: dict[str, Array], writes: list[str], **args: Any) -> tuple[Workspace, Workspace, Net]:
    """The passes of one operator in float32 and in float64, from the same numbers."""
    net = Net("n", [Operator(type, list(reads), writes, args)])
    net.add_gradient_operators(dict.fromkeys(writes, "given"))
    narrow = {name: a.astype(np.float32) if a.dtype.kind == "f" else a for name, a in reads.items()}
    given = once(type, *narrow.values(), outputs=tuple(writes), **args) * 0 + np.float32(1.5)
    wide = {name: a.astype(np.float64) if a.dtype.kind == "f" else a for name, a in narrow.items()}
    return run(net, **narrow, given=given), run(net, **wide, given=given.astype(np.float64)), net


SATURATED = np.array([[[20.0, -20.0, 25.0, 18.0, -17.0, 21.0, 30.0, -22.0]]])
STATES = {"h": np.array([[[0.3, -0.5]]]), "c": np.array([[[0.7, 0.2]]])}
TIME = {"timestep": np.array([0])}
PASSES: dict[str, tuple[str, dict[str, Array], list[str], dict[str, Any]]] = {
    "lstm": ("LSTMUnit", {**STATES, "gates": SATURATED, **TIME}, ["hidden", "cell"], {"sequence_lengths": 0}),
    "gru": (
        "GRUUnit",
        {"h": STATES["h"], "gates": SATURATED[..., :6], **TIME},
        ["hidden"],
        {"sequence_lengths": 0},
    ),
    "sure of the right class": (
        "SigmoidCrossEntropyWithLogits",
        {"x": np.array([[20.0, -20.0, 40.0]]), "targets": np.array([[1.0, 0.0, 1.0]])},
        ["y"],
        {},
    ),
    "near its target": (
        "BernoulliJSD",
        {"x": np.array([0.3001, 0.5, 0.999, 0.0, 1.0, 0.0]), "targets": np.array([0.3, 0.50001, 1.0, 0.0, 1.0, 1.0])},
        ["y"],
        {},
    ),
    "large logarithms": ("ReduceLogSumExp", {"x": np.array([[1e8, 1e8], [3e4, 3e4 + 1]])}, ["y"], {"axes": [1]}),
}


@pytest.mark.parametrize("about", PASSES)
def test_float32_has_the_digits_of_float64(about: str) -> None:
    type, reads, writes, args = PASSES[about]
    narrow, wide, net = both_dtypes(type, reads, writes, **args)
    for name in {name for op in net.ops for name in op.outputs}:
        np.testing.assert_allclose(narrow[name], wide[name], rtol=1e-5, atol=1e-30, err_msg=name)


def test_shares_of_a_sum_of_exponentials_sum_to_1() -> None:
    for dtype in RTOL:
        shares = once("ReduceLogSumExpGradient", np.ones((1, 1), dtype), np.full((1, 5), 6e4, dtype))
        np.testing.assert_allclose(shares.astype(float), 0.2, rtol=1e-3)


def test_the_mean_over_many_pairs_is_there_in_float16() -> None:
    x, labels = np.zeros(400, np.float16), np.arange(400).astype(np.float16)
    np.testing.assert_allclose(once("PairWiseLoss", x, labels).astype(float), np.log(2), rtol=1e-3)


def test_weights_of_a_loss_may_be_small() -> None:
    weights = np.array([1e-40, 3e-40], np.float32)
    reads = np.zeros((2, 2), np.float32), np.array([0, 1]), weights
    net = Net("n", [Operator("SoftmaxWithLoss", ["x", "labels", "weights"], ["p", "loss"])])
    x = str(net.add_gradient_operators(["loss"])["x"])
    workspace = run(net, **dict(zip(("x", "labels", "weights"), reads, strict=True)))
    np.testing.assert_allclose(workspace["loss"], np.log(2), rtol=1e-5)
    np.testing.assert_allclose(workspace[x], [[-0.125, 0.125], [0.375, -0.375]], rtol=1e-4)


def test_angles_of_long_rows_bend_as_those_of_short_ones() -> None:
    net = Net("n")
    net.CosineSimilarity(["x", "y"], "z")
    second = net.add_gradient_operators({str(net.add_gradient_operators(["z"])["x"]): "v"})["x"]
    x, y, v = (np.array([row], np.float32) for row in ([1.0, 2, 3], [3.0, 1, 2], [1.0, 1, -1]))
    near = run(net, x=x, y=y, v=v)[str(second)]
    size = np.float32(2.0**70)
    far = run(net, x=x * size, y=y * size, v=v * size)[str(second)]
    np.testing.assert_allclose(far * size, near, rtol=1e-4)


def test_what_fits_is_there_though_a_step_on_the_way_does_not() -> None:
    half = np.array([0.5], np.float16)
    assert once("ReciprocalGradient", np.array([300], np.float16), half) == -45_000
    assert once("CubeGradient", half, np.array([160], np.float16)) == 38_400
    x, one = np.array([1e30, 1e30, 1e-30], np.float32), np.ones(1, np.float32)
    np.testing.assert_allclose(once("ReduceProd", x), [1e30], rtol=1e-6)
    np.testing.assert_allclose(once("ReduceProdGradient", one, x, x[:1])[:2], [1, 1], rtol=1e-6)
