"""Losses: what the outputs of a net are measured by, one number for each row or for all of them."""

from math import prod

import numpy as np

from ..program import Operator, RunError
from .gradients import Steps, gradient_of, like_forward
from .inference import (
    by_rows,
    described,
    matrix_shape,
    misfit,
    need_floats,
    need_integers,
    need_shape,
    result_dtype,
    same_shape,
)
from .registry import Array, ArraySpec, Gradients, RuleAnswer, operator, register_gradient

FLOOR = 1e-20
"""Probabilities below this count as this much, so that their logarithm is finite."""


def weighed(weight: Array | float, term: Array) -> Array:
    """weight · term, and 0 where the weight is, also of an infinite term: a logarithm that nobody asks for."""
    return weight * np.where(np.equal(weight, 0), 0, term)


def mean_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    need_floats(op, (x,))
    return ArraySpec((), x.dtype)


@operator("AveragedLoss", "x -> loss", formula="loss = Σᵢ xᵢ / n", derivative="dxᵢ = dloss / n", infer=mean_spec)
def averaged_loss(op: Operator, x: Array) -> Array:
    """Mean of all n elements of x, of shape (); 0 where x is empty."""
    return x.sum() / max(x.size, 1)


def mean_gradient_spec(op: Operator, x: ArraySpec, dloss: ArraySpec) -> ArraySpec:
    need_floats(op, (x, dloss))
    if prod(dloss.shape) != 1:
        raise misfit(f"dloss is the gradient of one number, got {described(dloss)}.")
    return x


@gradient_of("AveragedLoss", "x, dloss -> dx", derivative="∂dloss = Σᵢ ∂dxᵢ / n", infer=mean_gradient_spec)
def averaged_loss_gradient(op: Operator, x: Array, dloss: Array) -> Array:
    """Gradient of AveragedLoss: the same for each of the n elements of x."""
    return np.full_like(x, dloss.reshape(()) / max(x.size, 1))


@register_gradient("AveragedLossGradient")
def averaged_loss_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    do = Steps(op)
    return do.answer(None, do("ResizeLike", do("AveragedLoss", g_output[0]), op.inputs[1]))


def row_count(shape: tuple[int, ...]) -> int:
    """How many rows an array has; one where it is a scalar."""
    return shape[0] if shape else 1


def distance_spec(op: Operator, x: ArraySpec, y: ArraySpec) -> ArraySpec:
    need_floats(op, (x, y))
    return ArraySpec((row_count(x.shape),), same_shape(op, x, y).dtype)


@operator(
    "SquaredL2Distance",
    "x, y -> distance",
    formula="distanceᵢ = ½ Σⱼ (xᵢⱼ - yᵢⱼ)²",
    derivative="dxᵢⱼ = ddistanceᵢ (xᵢⱼ - yᵢⱼ), dy = -dx",
    infer=distance_spec,
)
def squared_l2_distance(op: Operator, x: Array, y: Array) -> Array:
    """Half the squared Euclidean distance of each row of x to that of y. x, y: (n, ...) -> (n,)."""
    rows = row_count(x.shape)
    difference = (x - y).reshape(rows, x.size // max(rows, 1))
    return 0.5 * (difference * difference).sum(axis=1)


def distance_gradient_spec(op: Operator, x: ArraySpec, y: ArraySpec, dd: ArraySpec) -> tuple[ArraySpec, ArraySpec]:
    need_floats(op, (x, y, dd))
    need_shape("ddistance", dd, (row_count(x.shape),))
    spec = ArraySpec(same_shape(op, x, y).shape, result_dtype(x, y, dd))
    return spec, spec


@gradient_of(
    "SquaredL2Distance",
    "x, y, ddistance -> dx, dy",
    derivative="∂ddistanceᵢ = Σⱼ (∂dx - ∂dy)ᵢⱼ (x - y)ᵢⱼ, ∂xᵢⱼ = ddistanceᵢ (∂dx - ∂dy)ᵢⱼ, ∂y = -∂x",
    infer=distance_gradient_spec,
)
def squared_l2_distance_gradient(op: Operator, x: Array, y: Array, ddistance: Array) -> tuple[Array, Array]:
    dx = (x - y) * by_rows(ddistance, x)
    return dx, -dx


@register_gradient("SquaredL2DistanceGradient")
def squared_l2_distance_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """∂x and ∂y come from SquaredL2DistanceGradient itself, of ∂dx and ∂dy in place of x and y."""
    do, (x, y, ddistance) = Steps(op), op.inputs
    g_dx, g_dy = do.or_zeros(g_output, [x, y])
    g_distance = do("DotProduct", do("Sub", g_dx, g_dy), do("Sub", x, y))
    return do.answer(*do.several(2, op.type, g_dx, g_dy, ddistance), g_distance)


def check_labels(labels: Array, classes: int) -> None:
    """Raise RunError (``bad_value``) unless 0 <= label < classes everywhere."""
    if labels.size and (labels.min() < 0 or labels.max() >= classes):
        row = int(((labels < 0) | (labels >= classes)).argmax())
        raise RunError(
            f"label {int(labels[row])} in row {row} is none of the {classes} classes.",
            kind="bad_value",
            ways_out=[f"Number the classes from 0 to {classes - 1}.", "Make x as wide as there are classes."],
        )


def each_row(labels: Array) -> Array:
    """Row numbers, on the device of `labels`, to index one element of each row with."""
    return np.arange(labels.shape[0], like=labels)


def cross_entropy_spec(op: Operator, x: ArraySpec, labels: ArraySpec) -> ArraySpec:
    need_floats(op, (x,))
    rows = rows_and_classes(x.shape)[0]
    need_integers(labels, f"labels must be integers ({rows},)")
    if labels.shape not in ((rows,), (rows, 1)):
        raise misfit(f"labels must be integers ({rows},), one a row of x; got {described(labels)}.")
    return ArraySpec((rows,), x.dtype)


def rows_and_classes(shape: tuple[int, ...]) -> tuple[int, int]:
    """The matrix that cross entropy sees; an array of one dimension is one row."""
    return (1, shape[0]) if len(shape) == 1 else matrix_shape(shape, 1)


@operator(
    "LabelCrossEntropy",
    "x, labels -> y",
    formula="yᵢ = -ln max(xᵢₗ, 10⁻²⁰), l = labelsᵢ",
    derivative="dxᵢₗ = -dyᵢ / xᵢₗ where xᵢₗ ≥ 10⁻²⁰, 0 elsewhere",
    infer=cross_entropy_spec,
)
def label_cross_entropy(op: Operator, x: Array, labels: Array) -> Array:
    """Cross entropy of probabilities with one right class. x: (n, classes), labels: integers (n,) -> y: (n,)."""
    x, labels = x.reshape(rows_and_classes(x.shape)), labels.reshape(-1)
    check_labels(labels, x.shape[1])
    return -np.log(np.maximum(x[each_row(labels), labels], FLOOR))


@gradient_of(
    "LabelCrossEntropy",
    "x, labels, dy -> dx",
    derivative="∂dyᵢ = -∂dxᵢₗ / xᵢₗ, ∂xᵢₗ = ∂dxᵢₗ dyᵢ / xᵢₗ² where xᵢₗ ≥ 10⁻²⁰, 0 elsewhere",
    infer=like_forward(cross_entropy_spec, integers="labels", dx="x"),
)
def label_cross_entropy_gradient(op: Operator, x: Array, labels: Array, dy: Array) -> Array:
    """Gradient of LabelCrossEntropy; 0 where the floor, a constant, stood in for the probability."""
    dx, labels = np.zeros_like(x.reshape(rows_and_classes(x.shape))), labels.reshape(-1)
    check_labels(labels, dx.shape[1])
    rows = each_row(labels)
    picked = x.reshape(dx.shape)[rows, labels]
    dx[rows, labels] = np.where(picked < FLOOR, 0, -dy / np.maximum(picked, FLOOR))
    return dx.reshape(x.shape)


def cross_entropy_second_spec(
    op: Operator, x: ArraySpec, labels: ArraySpec, dy: ArraySpec, g_dx: ArraySpec
) -> tuple[ArraySpec, ArraySpec]:
    need_floats(op, (x, labels, dy), (0, 2))
    need_shape("dy", dy, cross_entropy_spec(op, x, labels).shape)
    need_shape("∂dx", g_dx, x.shape, "of x")
    return ArraySpec(x.shape, result_dtype(x, dy, g_dx)), ArraySpec(dy.shape, result_dtype(x, g_dx))


@gradient_of("LabelCrossEntropyGradient", "x, labels, dy, ∂dx -> ∂x, ∂dy", infer=cross_entropy_second_spec)
def label_cross_entropy_gradient_gradient(
    op: Operator, x: Array, labels: Array, dy: Array, g_dx: Array
) -> tuple[Array, Array]:
    """Gradients of LabelCrossEntropyGradient: like it, they touch one element of each row."""
    shape, labels = rows_and_classes(x.shape), labels.reshape(-1)
    check_labels(labels, shape[1])
    place = each_row(labels), labels
    picked = x.reshape(shape)[place]
    g_dy = -g_dx.reshape(shape)[place] * np.where(picked < FLOOR, 0, 1 / np.maximum(picked, FLOOR))
    g_x = np.zeros_like(g_dy * dy, shape=shape)
    g_x[place] = -g_dy * dy / np.maximum(picked, FLOOR)
    return g_x.reshape(x.shape), g_dy
