"""Losses of class numbers: LabelCrossEntropy, and SoftmaxWithLoss in one stable step."""

from math import prod

import numpy as np

from ..program import Operator, RunError
from .gradients import Steps, gradient_name, gradient_of, gradient_operator, op_gradient, shape_source
from .inference import (
    as_matrix,
    canonical_axis,
    described,
    like_forward,
    matrix_shape,
    misfit,
    need_floats,
    need_integers,
    need_shape,
    result_dtype,
)
from .registry import Array, Arrays, ArraySpec, Gradients, RuleAnswer, Specs, in_single, operator, register_gradient
from .sums import summed

FLOOR = 1e-20
"""Probabilities below this count as this much, so that their logarithm is finite."""


def weighed(weight: Array | float, term: Array) -> Array:
    """weight · term, and 0 where the weight is, also of an infinite term: a logarithm that nobody asks for."""
    return weight * np.where(np.equal(weight, 0), 0, term)


def check_labels(labels: Array, classes: int) -> None:
    """Raise RunError (``bad_value``) unless 0 <= label < classes everywhere."""
    wrong = (labels < 0) | (labels >= classes)
    if wrong.any():
        row = int(wrong.argmax())
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
    need_integers(labels, f"labels must be integers ({rows},), one a row of x", (rows,), (rows, 1))
    return ArraySpec((rows,), x.dtype)


def rows_and_classes(shape: tuple[int, ...]) -> tuple[int, int]:
    """The matrix that cross entropy sees; an array of one dimension is one row."""
    return (1, shape[0]) if len(shape) == 1 else matrix_shape(shape, 1)


@operator(
    "LabelCrossEntropy",
    "x, labels -> y",
    "yᵢ = -ln max(xᵢₗ, 10⁻²⁰), l = labelsᵢ",
    "dxᵢₗ = -dyᵢ / xᵢₗ where xᵢₗ ≥ 10⁻²⁰, 0 elsewhere",
    infer=cross_entropy_spec,
)
@in_single
def label_cross_entropy(op: Operator, x: Array, labels: Array) -> Array:
    """Cross entropy of probabilities with one right class. x: (n, classes), labels: integers (n,) -> y: (n,)."""
    x, labels = x.reshape(rows_and_classes(x.shape)), labels.reshape(-1)
    check_labels(labels, x.shape[1])
    return -np.log(np.maximum(x[each_row(labels), labels], FLOOR))


@gradient_of(
    "LabelCrossEntropy",
    "x, labels, dy -> dx",
    "∂dyᵢ = -∂dxᵢₗ / xᵢₗ, ∂xᵢₗ = ∂dxᵢₗ dyᵢ / xᵢₗ² where xᵢₗ ≥ 10⁻²⁰, 0 elsewhere",
    infer=like_forward("x", integers="labels"),
)
@in_single
def label_cross_entropy_gradient(op: Operator, x: Array, labels: Array, dy: Array) -> Array:
    """Gradient of LabelCrossEntropy; 0 where the floor, a constant, stood in for the probability."""
    dx, labels = np.zeros_like(x.reshape(rows_and_classes(x.shape))), labels.reshape(-1)
    check_labels(labels, dx.shape[1])
    rows = each_row(labels)
    picked = x.reshape(dx.shape)[rows, labels]
    dx[rows, labels] = np.where(picked < FLOOR, 0, -dy / np.maximum(picked, FLOOR))
    return dx.reshape(x.shape)


@gradient_of(
    "LabelCrossEntropyGradient",
    "x, labels, dy, ∂dx -> ∂x, ∂dy",
    infer=like_forward("∂x: x dy ∂dx; ∂dy: x ∂dx", integers="labels"),
)
@in_single
def label_cross_entropy_gradient_gradient(op: Operator, x: Array, labels: Array, dy: Array, g_dx: Array) -> Arrays:
    """Gradients of LabelCrossEntropyGradient: like it, they touch one element of each row."""
    shape, labels = rows_and_classes(x.shape), labels.reshape(-1)
    check_labels(labels, shape[1])
    place = each_row(labels), labels
    picked = x.reshape(shape)[place]
    g_dy = -g_dx.reshape(shape)[place] * np.where(picked < FLOOR, 0, 1 / np.maximum(picked, FLOOR))
    g_x = np.zeros_like(g_dy * dy, shape=shape)
    g_x[place] = -g_dy * dy / np.maximum(picked, FLOOR)
    return g_x.reshape(x.shape), g_dy


def loss_spec(op: Operator, x: ArraySpec, labels: ArraySpec, weights: ArraySpec | None = None) -> Specs:
    need_floats(op, (x,))
    axis = canonical_axis(op.args.get("axis", 1), x.shape)
    rows = matrix_shape(x.shape, axis)[0]
    if op.args.get("label_prob", 0):
        need_floats(op, (x, labels), (1,))
        if labels.shape != x.shape:
            raise misfit(
                f"labels are probabilities of the shape {x.shape} of x, got {described(labels)}.",
                "Leave out label_prob where labels are numbers of classes.",
            )
    else:
        need_integers(labels, f"labels must be integers ({rows},)")
        if prod(labels.shape) != rows or (len(labels.shape) != axis and labels.shape[axis:] != (1,)):
            raise misfit(f"labels must be integers ({rows},), one a row of x {x.shape}; got {described(labels)}.")
    specs = [x] if weights is None else [x, weights]
    if weights is not None:
        need_floats(op, (x, labels, weights), (2,))
        if prod(weights.shape) != rows:
            raise misfit(f"weights must be ({rows},), one a row of x {x.shape}; got {described(weights)}.")
    if op.args.get("label_prob", 0):
        specs.append(labels)
    return x, ArraySpec((), result_dtype(*specs))


@operator(
    "SoftmaxWithLoss",
    "x, labels, weights? -> p, loss",
    "p = softmax x, loss = -scale · Σᵢ weightsᵢ ln pᵢₗ / Σᵢ weightsᵢ, l = labelsᵢ; 0 · ln 0 = 0",
    "dx = dloss · scale · weightsᵢ (p - onehot(labels)) / Σᵢ weightsᵢ, and what dp brings through softmax",
    infer=loss_spec,
    args={"axis": 1, "scale": 1.0, "label_prob": 0, "average_by_batch_size": 0, "order": "NCHW"},
)
@in_single
def softmax_with_loss(op: Operator, x: Array, labels: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Softmax of each row and the mean cross entropy. x: (n, classes), labels: integers (n,) -> p: like x, loss: ().

    x is seen as a matrix at `axis`. With `label_prob` the labels are probabilities in the shape of x. `weights`: (n,),
    one a row; the loss is then divided by their sum, or by n with `average_by_batch_size`. Labels and weights are
    constants for the gradient.
    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 6.2.2.3.
    """
    x2 = as_matrix(x, op.args.get("axis", 1))
    label_prob = op.args.get("label_prob", 0)
    if label_prob:
        labels = checked_probabilities(labels.reshape(x2.shape))
    else:
        labels = labels.reshape(-1)
        check_labels(labels, x2.shape[1])
    if not x.size:
        return x, summed(x)
    shifted = x2 - x2.max(axis=1, keepdims=True)
    p = np.exp(shifted)
    total = summed(p, 1, keepdims=True)
    p /= total
    if label_prob:
        losses = -summed(weighed(labels, shifted - np.log(total)), 1)
    else:
        losses = np.log(total[:, 0]) - shifted[each_row(labels), labels]
    return p.reshape(x.shape), summed(weighed(row_share(op, x2.shape[0], weights), losses))


def row_share(op: Operator, rows: int, weights: Array | None) -> Array | float:
    """What each row's cross entropy is multiplied by before all are added: a number, or an array (rows,)."""
    scale = float(op.args.get("scale", 1.0))
    if weights is None:
        return scale / max(rows, 1)
    weights = weights.reshape(-1)
    total = summed(weights)
    counts = total != 0
    divisor = max(rows, 1) if op.args.get("average_by_batch_size", 0) else np.where(counts, total, 1)
    return weights / divisor * (counts.astype(weights.dtype) * scale)


UNCERTAINTY = 1e-3
"""By how much probabilities of a row may miss the sum of 1: those of float16 do by half of it."""


def checked_probabilities(labels: Array) -> Array:
    """`labels`, (n, classes), if each row is a probability distribution.

    Raises:
        RunError: ``bad_value``, an element is negative or a row does not sum to 1.
    """
    wrong = ~((abs(summed(labels, 1) - 1) < UNCERTAINTY) & (labels >= 0).all(axis=1))
    if wrong.any():
        row = int(wrong.argmax())
        raise RunError(
            f"labels are no probabilities in row {row}: they sum to {float(labels[row].sum()):.6g}, "
            f"the least is {float(min(labels[row], default=0)):.6g}.",
            kind="bad_value",
            ways_out=[
                "Each row must be at least 0 everywhere and sum to 1.",
                "Leave out label_prob for class numbers.",
            ],
        )
    return labels


def loss_gradient_spec(op: Operator, x: ArraySpec, labels: ArraySpec, *rest: ArraySpec) -> ArraySpec:
    *weights, p, dloss = rest
    loss_spec(op, x, labels, *weights)
    specs = [p, dloss, *weights]
    need_floats(op, (x, labels, *rest), range(2, 2 + len(rest)))
    need_shape("p", p, x.shape, "of x")
    if prod(dloss.shape) != 1:
        raise misfit(f"dloss is the gradient of one number, got {described(dloss)}.")
    return ArraySpec(x.shape, result_dtype(*specs, labels) if op.args.get("label_prob", 0) else result_dtype(*specs))


def softmax_with_loss_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Adds what arrives through the loss and what arrives through the probabilities, where both have a gradient."""
    p, (dp, dloss) = op.outputs[0], g_output[:2]
    of_loss, g_input = op_gradient(op, [shape_source(op, 0), *op.inputs[1:], p, dloss])
    if dp is None:
        return of_loss, g_input
    x_grad = gradient_name(op.inputs[0])
    axis = {"axis": op.args["axis"]} if "axis" in op.args else {}
    if dloss is None:
        return gradient_operator(op, "SoftmaxGradient", [p, dp], [x_grad], axis), g_input
    by_loss, by_p = f"_{x_grad}_by_loss", f"_{x_grad}_by_softmax"
    return [
        gradient_operator(op, "SoftmaxWithLossGradient", of_loss.inputs, [by_loss]),
        gradient_operator(op, "SoftmaxGradient", [p, dp], [by_p], axis),
        gradient_operator(op, "Sum", [by_loss, by_p], [x_grad], {}),
    ], g_input


@gradient_of(
    "SoftmaxWithLoss",
    "x, labels, weights?, p, dloss -> dx",
    formula="dx = dloss · scale · weightsᵢ (p - onehot(labels)) / Σᵢ weightsᵢ",
    derivative="∂p = ∂dx · dloss · scale · weightsᵢ / Σᵢ weightsᵢ, "
    "∂dloss = Σᵢⱼ ∂dx · scale · weightsᵢ (p - onehot(labels)) / Σᵢ weightsᵢ",
    infer=loss_gradient_spec,
    rule=softmax_with_loss_rule,
)
@in_single
def softmax_with_loss_gradient(op: Operator, x: Array, labels: Array, *rest: Array) -> Array:
    """Gradient of the loss of SoftmaxWithLoss, from its probabilities. `weights` stand before p where there are any."""
    *weights, p, dloss = rest
    p2 = as_matrix(p, op.args.get("axis", 1))
    share = row_share(op, p2.shape[0], *weights or [None]) * dloss.reshape(())
    return (off_labels(op, p2, labels) * (share[:, None] if weights else share)).reshape(x.shape)


def off_labels(op: Operator, p: Array, labels: Array) -> Array:
    """The slope of each row's cross entropy, p less what the labels say; p: (n, classes)."""
    if op.args.get("label_prob", 0):
        labels = labels.reshape(p.shape)
        return p * summed(labels, 1, keepdims=True) - labels
    labels = labels.reshape(-1)
    check_labels(labels, p.shape[1])
    off = p.copy()
    off[each_row(labels), labels] -= 1
    return off


@register_gradient("SoftmaxWithLossGradient")
def softmax_with_loss_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """dx is dloss times a slope, a straight line in p: from 0 to 1 it rises by each row's share."""
    do, (*read, p, dloss) = Steps(op), op.inputs

    def slope(p: str) -> str:
        return do(op.type, *read, p, do.fill(dloss, 1.0), **op.args)

    g_slope, g_dloss = do.of_factors(g_output[0], slope(p), dloss)
    share = do("Sub", slope(do.fill(p, 1.0)), slope(do.fill(p, 0.0)))
    return do.answer(*[None] * len(read), do("Mul", g_slope, share), g_dloss)
