"""The gradients of every operator against central differences of its own forward run, by the path that users take."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from gradviz.net import Net
from gradviz.program import Gradient, GradientError, NetDef
from gradviz.runtime import Workspace
from tests.central_differences import central_differences
from tests.families import over
from tests.operators.cases import CASES, Array, Case, defined_types, floats

APART = {
    "CopyCPUToGPU": "it needs a GPU",
    "CopyGPUToCPU": "its gradient needs a GPU",
    "Cast": "its output has a dtype of its own",
    "NegateGradient": "its gradient is not that of what it computes",
    "ZeroGradient": "it has no output",
}
"""Types with a rule that differences cannot tell of; test_meaning.py does, and test_crossing.py of copies."""

DIFFERENTIABLE = [case for case in CASES if case.known.rule is not None and case.type not in APART]


def run(net: NetDef, values: Mapping[str, Array]) -> Workspace:
    """A workspace in which `net` ran on `values`."""
    workspace = Workspace()
    for name, value in values.items():
        workspace.feed(name, value)
    workspace.run(net)
    return workspace


def seeds(case: Case, values: Mapping[str, Array]) -> dict[str, Array]:
    """A random gradient for each output that has one, in its shape and dtype."""
    outputs = case.forward(values)
    wanted = case.writes if case.given is None else case.given
    arrays = {name: outputs[name] for name in wanted if outputs[name].dtype.kind == "f"}
    return {name: floats(*a.shape, seed=7 + i).astype(a.dtype) for i, (name, a) in enumerate(arrays.items())}


def generated_net(case: Case, values: Mapping[str, Array]) -> tuple[Net, Workspace, dict[str, Gradient]]:
    """The forward and backward operators of `case`, a workspace after their run, and the gradient of each blob."""
    given_gradients = {name: (f"given_{name}", seed) for name, seed in seeds(case, values).items()}
    net = Net("case", [case.op])
    gradients = net.add_gradient_operators({y: name for y, (name, _) in given_gradients.items()})
    return net, run(net, {**values, **dict(given_gradients.values())}), gradients


def generated(case: Case, values: Mapping[str, Array]) -> tuple[Workspace, dict[str, str]]:
    """A workspace after the forward and backward run of `case`, and the name of each input's gradient."""
    _, workspace, gradients = generated_net(case, values)
    return workspace, {blob: dense(workspace, blob, gradient) for blob, gradient in gradients.items() if blob in values}


def dense(workspace: Workspace, blob: str, gradient: Gradient) -> str:
    """The name of `gradient` as an array like `blob`, for which the values of a sparse one are added up by rows."""
    if isinstance(gradient, str):
        return gradient
    total = np.zeros(workspace[blob].shape, workspace[gradient.values].dtype)
    np.add.at(total, workspace[gradient.indices], workspace[gradient.values])
    workspace.feed(f"dense_{blob}", total)
    return f"dense_{blob}"


def differences(case: Case, values: Mapping[str, Array], name: str) -> Array:
    """Central differences of Σ <seed, output> with regard to each element of input `name`."""
    weights = seeds(case, values)

    def total(x: Array) -> float:
        outputs = case.forward({**values, name: x})
        return sum(float((outputs[y] * weight).sum()) for y, weight in weights.items())

    return central_differences(total, values[name])


def assert_matches_differences(case: Case) -> None:
    """Every floating-point input that is no constant has a gradient, equal to its differences."""
    values = case.values()
    workspace, gradients = generated(case, values)
    variables = {name for name, a in values.items() if a.dtype.kind == "f"} - set(case.constants)
    assert set(gradients) == variables
    for name in variables:
        actual, expected = workspace[gradients[name]], differences(case, values, name)
        assert actual.shape == values[name].shape
        assert np.linalg.norm(actual - expected) <= 1e-6 * max(np.linalg.norm(expected), 1e-3), name


@over(DIFFERENTIABLE)
def test_equals_central_differences(case: Case) -> None:
    assert_matches_differences(case)


@over(DIFFERENTIABLE)
def test_float32_stays_float32_and_agrees_with_float64(case: Case) -> None:
    single, gradients = generated(case, case.values(np.float32))
    double, _ = generated(case, case.values())
    for name in (*case.writes, *gradients.values()):
        if double[name].dtype.kind == "f":
            assert single[name].dtype == np.float32
            np.testing.assert_allclose(single[name], double[name], rtol=2e-5, atol=2e-6)


@settings(max_examples=60, deadline=None)
@given(
    type=st.sampled_from(["Add", "Sub", "Mul", "Div"]),
    shapes=mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3, min_side=0),
)
def test_any_shapes_that_broadcast(type: str, shapes: object) -> None:
    x, y = shapes.input_shapes  # type: ignore[attr-defined]
    assert_matches_differences(Case(type, "random", {"x": floats(*x), "y": floats(*y, seed=1)}))


def test_every_type_with_a_rule_has_a_case() -> None:
    with_rule = {known.type for known in defined_types() if known.rule is not None}
    assert with_rule <= {case.type for case in DIFFERENTIABLE} | APART.keys()


def test_constants_are_the_types_that_let_no_gradient_pass() -> None:
    assert {known.type for known in defined_types() if known.constant} >= {"ConstantFill", "StopGradient"}
    assert all(known.rule is None for known in defined_types() if known.constant)


def test_stop_gradient_cuts_one_path_and_leaves_the_other() -> None:
    net = Net("n")
    net.StopGradient("x", "s")
    net.Mul(["x", "s"], "y")
    gradients = net.add_gradient_operators(["y"])
    workspace = run(net, {"x": np.array([2.0, 3.0])})
    np.testing.assert_array_equal(workspace[gradients["x"]], [2.0, 3.0])


@pytest.mark.parametrize("type", ["Add", "Sub", "Div"])
def test_in_place_operators_that_need_only_the_shape_of_what_they_overwrote(type: str) -> None:
    x, y = floats(2, 3), floats(3, seed=1)
    net, apart = Net("in place"), Net("apart")
    net.add(type, ["x", "y"], "x")
    apart.add(type, ["x", "y"], "z")
    gradients, expected = net.add_gradient_operators(["x"]), apart.add_gradient_operators(["z"])
    here, there = run(net, {"x": x, "y": y}), run(apart, {"x": x, "y": y})
    np.testing.assert_array_equal(here[gradients["y"]], there[expected["y"]])


def test_sqr_leaves_the_gradient_of_its_output_as_it_was() -> None:
    net = Net("n")
    net.Sqr("x", "y")
    net.add_gradient_operators({"y": "dy"})
    workspace = run(net, {"x": np.array([3.0]), "dy": np.array([5.0])})
    assert workspace["dy"] == 5.0
    assert workspace["x_grad"] == 30.0


def test_a_loss_that_overwrites_what_it_is_the_loss_of_is_refused() -> None:
    """Only the first output has the shape of x: its gradient may be read there in place of x."""
    net, apart = Net("n"), Net("n")
    net.SoftmaxWithLoss(["x", "labels"], ["p", "x"])
    with pytest.raises(GradientError) as caught:
        net.add_gradient_operators(["x"])
    assert (caught.value.kind, caught.value.blobs) == ("version_overwritten", ("x",))
    apart.SoftmaxWithLoss(["x", "labels"], ["x", "loss"])
    assert apart.add_gradient_operators(["loss"])["x"] == "x_grad"
