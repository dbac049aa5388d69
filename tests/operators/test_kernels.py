"""Kernels keep their inputs, stay finite where mathematics does, and explain themselves."""

import numpy as np
import pytest

from gradviz.operators import OperatorType, lookup
from gradviz.program import Operator
from tests.families import over
from tests.operators.cases import CASES, Array, Case, defined_types
from tests.operators.test_gradients import DIFFERENTIABLE, generated, generated_net


def kernel(op: Operator, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:  # type: ignore[type-arg]
    """What the kernel of `op` gives for `arrays`, as a tuple; warnings of numpy are errors."""
    known = lookup(op.type)
    assert known is not None
    assert known.kernel is not None
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        result = known.kernel(op, *arrays)
    return result if isinstance(result, tuple) else (result,)


@over(CASES)
def test_inputs_are_left_as_they_were(case: Case) -> None:
    values = case.values()
    for array in values.values():
        array.flags.writeable = False
    before = {name: array.copy() for name, array in values.items()}
    case.forward(values)
    for name, array in values.items():
        np.testing.assert_array_equal(array, before[name])


@over(DIFFERENTIABLE)
def test_the_backward_run_leaves_every_forward_blob_as_it_was(case: Case) -> None:
    values = case.values()
    before = {name: array.copy() for name, array in values.items()}
    workspace, _ = generated(case, values)
    for name, array in {**before, **case.forward(values)}.items():
        np.testing.assert_array_equal(workspace[name], array)


def elsewhere(array: Array, gap: int) -> Array:
    """A copy that begins `gap` elements behind where numpy would have it."""
    room = np.empty(array.size + gap, array.dtype)[gap:].reshape(array.shape)
    room[...] = array
    return room


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@over(CASES)
def test_kernels_make_the_same_bits_again_wherever_their_inputs_lie(case: Case, dtype: type) -> None:
    values = {name: x.astype(dtype) if x.dtype.kind == "f" else x for name, x in case.values().items()}
    operators, blobs = [case.op], values
    if any(case is one for one in DIFFERENTIABLE):
        net, workspace, _ = generated_net(case, values)
        operators, blobs = net.ops, {name: workspace[name] for name in workspace}
    for op in operators:
        bits = [
            [np.asarray(y).tobytes() for y in kernel(op, *[elsewhere(blobs[name], gap) for name in op.inputs])]
            for gap in (0, 1, 3)
        ]
        assert bits[0] == bits[1] == bits[2], op


def test_softmax_of_large_numbers() -> None:
    (y,) = kernel(Operator("Softmax", ["x"], ["y"]), np.array([[1e4, 1e4, 0.0], [-1e4, 0.0, 0.0]]))
    np.testing.assert_allclose(y, [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sigmoid_at_both_ends(dtype: type) -> None:
    (y,) = kernel(Operator("Sigmoid", ["x"], ["y"]), np.array([-1e3, -40, 0, 40, 1e3], dtype))
    np.testing.assert_allclose(y, [0, np.exp(-40.0), 0.5, 1, 1], rtol=1e-5)


def test_loss_of_logits_that_are_far_apart() -> None:
    op = Operator("SoftmaxWithLoss", ["x", "labels"], ["p", "loss"])
    p, loss = kernel(op, np.array([[1e4, 0.0], [1e4, 0.0]]), np.array([0, 1]))
    np.testing.assert_allclose(p, [[1, 0], [1, 0]])
    assert loss == 5e3


def test_cross_entropy_of_an_impossible_class_is_finite() -> None:
    x, labels = np.array([[0.0, 1.0]], np.float32), np.array([0])
    (y,) = kernel(Operator("LabelCrossEntropy", ["x", "labels"], ["y"]), x, labels)
    (dx,) = kernel(Operator("LabelCrossEntropyGradient", ["x", "labels", "dy"], ["dx"]), x, labels, np.ones(1))
    np.testing.assert_allclose(y, -np.log(1e-20), rtol=1e-6)
    np.testing.assert_array_equal(dx, 0)


def test_relu_keeps_nan_in_sight_and_has_slope_0_at_the_corner() -> None:
    (y,) = kernel(Operator("Relu", ["x"], ["y"]), np.array([np.nan, 0.0, -1.0]))
    (dx,) = kernel(Operator("ReluGradient", ["y", "dy"], ["dx"]), np.array([0.0, 1.0]), np.array([np.inf, 2.0]))
    np.testing.assert_array_equal(y, [np.nan, 0, 0])
    np.testing.assert_array_equal(dx, [0, 2])


def test_fills_take_the_dtype_of_what_they_are_like() -> None:
    like = Operator("ConstantFill", ["x"], ["y"], {"value": 1.0})
    assert kernel(like, np.zeros(2, np.float64))[0].dtype == np.float64
    assert kernel(like, np.zeros(2, np.float32))[0].dtype == np.float32
    assert kernel(like, np.zeros(2, np.int64))[0].dtype == np.float32
    assert kernel(Operator("ConstantFill", [], ["y"], {"dtype": 10, "value": 3}))[0] == np.int64(3)


@pytest.mark.parametrize("known", defined_types(), ids=lambda known: known.type)
def test_every_type_explains_itself(known: OperatorType) -> None:
    assert known.doc
    assert known.formula
    if known.rule is not None:
        assert known.derivative
        room = "gradient" if known.runs_nets else "operators"
        assert known.rule_source.startswith(f"gradviz/{room}/")
