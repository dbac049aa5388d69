"""Gradients of gradients: the backward pass of every call is differentiated once more and compared with differences."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from gradviz.net import Net
from gradviz.operators import lookup, types
from gradviz.operators.gradients import Steps
from gradviz.program import Gradient, GradientError, NetDef, Operator
from gradviz.runtime import Workspace
from tests.families import over
from tests.operators.cases import Array, Case, floats, probabilities
from tests.operators.test_gradients import DIFFERENTIABLE, dense, run, seeds

LACKING = dict.fromkeys(("Do", "If", "While"), "its backward pass takes workspaces off a stack, and leaves none behind")
"""Types with a gradient of which none can be taken again, and why. It is to become shorter, never longer."""

OVERWRITTEN = {
    "Pow": "with the argument `exponent`, three operators of the backward pass write one name",
}
"""Types of which some backward passes overwrite what their gradients read: those are taken of each version by name."""

AT_KINKS = ("ReduceMax-two_equal", "RowwiseMax-two_equal")
"""Calls at which the gradient jumps."""


class Backward(NamedTuple):
    """The forward and backward pass of a call, what both read, and the blobs that hold gradients of the inputs."""

    net: Net
    values: dict[str, Array]
    results: list[str]


def backward(case: Case) -> Backward:
    """The passes of `case`. A gradient that is passed on as it was given is no result."""
    values = case.values()
    given_gradients = {f"given_{y}": seed for y, seed in seeds(case, values).items()}
    net = Net("case", [case.op])
    gradients = net.add_gradient_operators({name.removeprefix("given_"): name for name in given_gradients})
    found = [gradients[x] for x in values if x in gradients]
    results = {gradient if isinstance(gradient, str) else gradient.values for gradient in found}
    return Backward(net, {**values, **given_gradients}, sorted(results - given_gradients.keys()))


def without_rule(net: NetDef) -> set[str]:
    """The types in `net` whose gradients nothing makes."""
    known = [lookup(op.type) for op in net.ops]
    return {kind.type for kind in known if kind is not None and kind.rule is None and not kind.constant}


PASSES = [case for case in DIFFERENTIABLE if str(case) not in AT_KINKS and not case.type.endswith("Gradient")]
DIFFERENTIABLE_TWICE = [case for case in PASSES if not without_rule(backward(case).net)]


def differentiated(
    net: Net, values: Mapping[str, Array], results: Iterable[str]
) -> tuple[Workspace, dict[str, Gradient]]:
    """A workspace after `net` and the gradient of <weights, results>, weights of a fixed choice, and the gradients."""
    before = run(net, values)
    given_weights = {f"weight_of_{name}": weight for name, weight in weights(before, results).items()}
    gradients = net.add_gradient_operators({name: f"weight_of_{name}" for name in results})
    return run(net, {**values, **given_weights}), gradients


def weights(workspace: Workspace, results: Iterable[str]) -> dict[str, Array]:
    """Random numbers in the shapes of `results`."""
    return {name: floats(*workspace[name].shape, seed=11 + i) for i, name in enumerate(results)}


def directions(x: Array) -> Array:
    """In which directions x is moved, (count, elements): along each element, or at random where there are many."""
    if x.size <= 16:
        return np.eye(x.size)
    return np.random.default_rng(x.size).standard_normal((8, x.size))


def differences(net: NetDef, values: Mapping[str, Array], results: Iterable[str], name: str) -> Array:
    """Central differences of <weights, results> along each of the directions of `name`."""
    x, step = values[name], 1e-5
    weight = weights(run(net, values), results)

    def total(move: Array) -> float:
        workspace = run(net, {**values, name: x + move.reshape(x.shape)})
        return sum(float((workspace[y] * weight[y]).sum()) for y in weight)

    return np.array([(total(step * way) - total(-step * way)) / (2 * step) for way in directions(x)])


def assert_matches_differences(
    net: Net, values: Mapping[str, Array], results: Iterable[str], constants: Iterable[str] = ()
) -> None:
    """The gradient of each of `values` equals its differences; one that has none makes no difference."""
    first = net.copy()
    workspace, gradients = differentiated(net, values, results)
    for name, value in values.items():
        if value.dtype.kind != "f" or name in constants:
            continue
        gradient = np.zeros(value.shape)
        if name in gradients:
            gradient = workspace[dense(workspace, name, gradients[name])]
        assert gradient.shape == value.shape
        expected, actual = differences(first, values, results, name), directions(value) @ gradient.reshape(-1)
        assert np.linalg.norm(actual - expected) <= 1e-6 * max(np.linalg.norm(expected), 1e-2), name


def overwrites(net: Net, results: Iterable[str]) -> bool:
    """Whether gradients of `results` read what `net` overwrites."""
    try:
        Net("again", net.ops).add_gradient_operators(list(results))
    except GradientError as error:
        return error.kind == "version_overwritten"
    return False


@over(DIFFERENTIABLE_TWICE)
def test_equals_central_differences_of_the_gradient(case: Case) -> None:
    net, values, results = backward(case)
    if overwrites(net, results):
        assert case.type in OVERWRITTEN
        net = net.to_ssa()
    assert_matches_differences(net, values, results, case.constants)


def test_every_type_that_lacks_second_derivatives_is_known() -> None:
    lacking = {case.type for case in PASSES if without_rule(backward(case).net)}
    assert lacking | {known.type for known in types() if known.runs_nets} == LACKING.keys()


def test_a_backward_pass_through_control_flow_is_not_differentiated() -> None:
    net = Net("n")
    with net.If("c"):
        net.Tanh("x", "y")
    with net.Else():
        net.Sin("x", "y")
    gradients = net.add_gradient_operators(["y"])
    with pytest.raises(GradientError) as caught:
        net.add_gradient_operators([str(gradients["x"])])
    assert caught.value.kind == "control_flow_structure"


@settings(max_examples=40, deadline=None)
@given(
    type=st.sampled_from(["Add", "Sub", "Mul", "Div"]),
    shapes=mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3, min_side=0),
)
def test_any_shapes_that_broadcast(type: str, shapes: Any) -> None:
    x, y = shapes.input_shapes
    assert_matches_differences(*backward(Case(type, "random", {"x": floats(*x), "y": floats(*y, seed=1)})))


def test_a_gradient_takes_no_name_that_a_later_step_reads() -> None:
    """The gradient of y and the input dy are both called y_grad."""
    do = Steps(Operator("TanhGradient", ["y", "y_grad"], ["x_grad"]))
    g_y = do("Negative", "y")
    made, g_input = do.answer(g_y, do("Mul", "y_grad", "y"))
    assert g_input == [g_y, "y_grad_grad"]
    assert made[1].inputs == ["y_grad", "y"]
    do = Steps(Operator("TanhGradient", ["y", "y_grad"], ["x_grad"]))
    g_dy = do("Mul", "y_grad", "y")
    assert do.answer(do("Negative", "y"), g_dy)[1] == ["y_grad", "y_grad_grad"]


def test_only_gradients_that_are_asked_for_reach_the_inputs() -> None:
    """dx = dz · y does not depend on x, so its gradient is none rather than zeros."""
    net, values, _ = backward(Case("Mul", "apart", {"x": floats(3), "y": floats(3, seed=1)}))
    _, gradients = differentiated(net, values, ["x_grad"])
    assert gradients.keys() == {"x_grad", "given_out", "y"}


def layers(net: Net) -> dict[str, Array]:
    """Two layers that tell classes; what they read."""
    net.FC(["x", "w", "b"], "sum")
    net.Tanh("sum", "hidden")
    net.FC(["hidden", "v", "c"], "scores")
    net.SoftmaxWithLoss(["scores", "labels"], ["p", "loss"])
    sizes = {"x": (3, 4), "w": (5, 4), "b": (5,), "v": (2, 5), "c": (2,)}
    return {**random(sizes), "labels": np.array([1, 0, 1])}


def words(net: Net) -> dict[str, Array]:
    """Rows of a table, normalized, that tell classes; what they read."""
    net.Gather(["table", "ids"], "rows")
    net.LayerNorm(["rows", "scale", "bias"], ["x", "mean", "std"], elementwise_affine=1)
    net.FC(["x", "w", "b"], "sum")
    net.Gelu("sum", "hidden")
    net.MatMul(["hidden", "w"], "scores")
    net.Softmax("scores", "p")
    net.LabelCrossEntropy(["p", "ids"], "losses")
    net.AveragedLoss("losses", "loss")
    sizes = {"table": (4, 4), "scale": (4,), "bias": (4,), "w": (3, 4), "b": (3,)}
    return {**random(sizes), "ids": np.array([2, 0, 2])}


def images(net: Net) -> dict[str, Array]:
    """Images through a convolution, normalized and pooled; what they read."""
    net.Conv(["x", "w", "b"], "maps", stride=2, pad=1)
    net.SpatialBN(["maps", "scale", "bias", "mean", "var"], ["y", "m", "v", "saved_mean", "saved_inv_std"])
    net.Swish("y", "hidden")
    net.AveragePool("hidden", "means", kernel=2)
    net.SigmoidCrossEntropyWithLogits(["means", "targets"], "losses")
    net.AveragedLoss("losses", "loss")
    sizes = {"x": (2, 2, 5, 5), "w": (2, 2, 3, 3), "b": (2,), "scale": (2,), "bias": (2,), "mean": (2,), "var": (2,)}
    return {**random(sizes), "targets": np.full((2, 2, 2, 2), 0.3)}


def random(sizes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """Arrays of these shapes."""
    return {name: floats(*size, seed=i) for i, (name, size) in enumerate(sizes.items())}


def penalized(build: Callable[[Net], dict[str, Array]]) -> tuple[Net, dict[str, Array], str]:
    """A net with its backward pass and the squared length of the gradient of w, what it reads, and that penalty."""
    net = Net("penalty")
    values = build(net)
    gradients = net.add_gradient_operators(["loss"])
    return net, values, str(net.SumSqrElements(str(gradients["w"]), "penalty"))


@pytest.mark.parametrize("build", [layers, words, images])
def test_the_gradient_of_a_penalty_on_a_gradient(build: Callable[[Net], dict[str, Array]]) -> None:
    net, values, penalty = penalized(build)
    assert_matches_differences(net, values, [penalty], constants=["mean", "var", "targets"])


def test_the_first_pass_stays_as_it_was() -> None:
    net, values, penalty = penalized(layers)
    first, before = net.copy(), run(net, values)
    workspace, _ = differentiated(net, values, [penalty])
    assert net.ops[: len(first.ops)] == first.ops
    for op in first.ops:
        for name in op.outputs:
            np.testing.assert_array_equal(workspace[name], before[name])


def test_the_matrix_of_second_derivatives_is_symmetric() -> None:
    """Of a function of x alone, <u, H v> = <v, H u>."""
    x, u, v = floats(4), floats(4, seed=1), floats(4, seed=2)

    def times(vector: Array) -> Array:
        net = Net("hessian")
        net.Softmax("x", "y", axis=0)
        net.SumSqrElements("y", "square")
        gradients = net.add_gradient_operators(["square"])
        second = net.add_gradient_operators({str(gradients["x"]): "vector"})
        return run(net, {"x": x, "vector": vector})[str(second["x"])]

    assert np.linalg.norm(times(v)) > 1e-3
    np.testing.assert_allclose(u @ times(v), v @ times(u))


@pytest.mark.parametrize(
    ("type", "derivatives"),
    [
        ("Sin", [np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin]),
        ("Exp", [np.exp] * 4),
        ("Tanh", [lambda x: 1 - np.tanh(x) ** 2, lambda x: -2 * np.tanh(x) * (1 - np.tanh(x) ** 2)]),
        ("Cube", [lambda x: 3 * x**2, lambda x: 6 * x, lambda x: 6 + 0 * x]),
        ("Log", [lambda x: 1 / x, lambda x: -1 / x**2, lambda x: 2 / x**3]),
    ],
)
def test_derivatives_of_higher_order(type: str, derivatives: list[Any]) -> None:
    net, x = Net("n"), floats(5, signed=False)
    wanted = net.add(type, "x", "y")
    for derivative in derivatives:
        wanted = net.add_gradient_operators([str(wanted)])["x"]  # type: ignore[assignment]
        np.testing.assert_allclose(run(net, {"x": x})[str(wanted)], derivative(x))


@pytest.mark.parametrize("args", [{}, {"log_D_trick": 1}, {"unjoined_lr_loss": 1}])
def test_third_derivatives_of_cross_entropies_count_what_their_second_ones_have_of_x(args: dict[str, int]) -> None:
    x, labels = floats(1, 4, signed=False), probabilities(1, 4)
    up = 1 / (1 + np.exp(-x))
    share = 2 * labels - 1 if "log_D_trick" in args else 1 - labels if "unjoined_lr_loss" in args else 1
    expected = {
        "CrossEntropy": (labels, -2 * labels / x**3),
        "SigmoidCrossEntropyWithLogits": (labels, share * up * (1 - up) * (1 - 2 * up) / 4),
    }
    for type, (targets, third) in expected.items():
        net = Net("n")
        wanted = net.add(type, ["x", "labels"], "y", **args if type.startswith("Sigmoid") else {})
        for _ in range(3):
            wanted = net.add_gradient_operators([str(wanted)])["x"]  # type: ignore[assignment]
        np.testing.assert_allclose(run(net, {"x": x, "labels": targets})[str(wanted)], third)


@pytest.mark.parametrize("base", ["LengthsWeightedSum", "SparseLengthsIndicesInGradientWeightedSum"])
def test_gradients_of_weights_are_differentiated_where_no_argument_says_that_weights_have_any(base: str) -> None:
    net = Net("n")
    rows = [] if base == "LengthsWeightedSum" else ["rows"]
    net.add(f"{base}WithMainInputGradient", ["weights", "dy", "lengths", "x", *rows], ["dx", "dw"])
    g = net.add_gradient_operators({"dx": "g_dx", "dw": "g_dw"})
    values = {"weights": floats(3), "dy": floats(2, 4), "lengths": np.array([1, 2]), "x": floats(3, 4)}
    given_values = {"rows": np.array([2, 0, 1]), "g_dx": floats(3, 4, seed=1), "g_dw": floats(3, seed=2)}
    assert_matches_differences(net, values | given_values, [str(g["dy"])], ["g_dx"])
