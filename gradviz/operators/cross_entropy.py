"""Losses of probabilities: cross entropy with soft labels, and of logits.

Labels, targets and weights are constants for the gradient.
"""

from typing import Any

import numpy as np

from ..program import Operator, RunError
from .gradients import gradient_of
from .inference import described, elementwise, misfit, need_floats, result_dtype, same_shape
from .loss import FLOOR, rows_and_classes, weighed
from .registry import Array, ArraySpec, operator
from .smooth_activations import logistic

LOGIT_ARGS: dict[str, Any] = {"log_D_trick": 0, "unjoined_lr_loss": 0}


def soft_spec(op: Operator, x: ArraySpec, labels: ArraySpec) -> ArraySpec:
    """Inference of CrossEntropy."""
    need_floats(op, (x, labels))
    rows, _ = rows_and_classes(x.shape)
    if labels.shape != x.shape:
        raise misfit(
            f"labels are probabilities of the shape {x.shape} of x, got {described(labels)}.",
            "Use LabelCrossEntropy where labels are numbers of classes.",
        )
    return ArraySpec((rows,), result_dtype(x, labels))


def checked_soft_labels(labels: Array) -> Array:
    """`labels` if each is from 0 to 1; raises RunError (``bad_value``) otherwise."""
    wrong = ~((labels >= 0) & (labels <= 1))
    if wrong.any():
        row = int(wrong.any(axis=1).argmax())
        raise RunError(
            f"labels in row {row} are no probabilities: one is not between 0 and 1.",
            kind="bad_value",
            ways_out=["Use LabelCrossEntropy where labels are numbers of classes."],
        )
    return labels


@operator(
    "CrossEntropy",
    "x, labels -> y",
    formula="yᵢ = -Σⱼ labelsᵢⱼ ln max(xᵢⱼ, 10⁻²⁰)",
    derivative="dxᵢⱼ = -dyᵢ labelsᵢⱼ / xᵢⱼ where xᵢⱼ ≥ 10⁻²⁰, 0 elsewhere",
    infer=soft_spec,
)
def cross_entropy(op: Operator, x: Array, labels: Array) -> Array:
    """Cross entropy of probabilities with probabilities. x, labels: (n, classes) -> y: (n,)."""
    shape = rows_and_classes(x.shape)
    labels = checked_soft_labels(labels.reshape(shape))
    return -(labels * np.log(np.maximum(x.reshape(shape), FLOOR))).sum(axis=1)


def soft_gradient_spec(op: Operator, x: ArraySpec, labels: ArraySpec, dy: ArraySpec) -> ArraySpec:
    """Inference of CrossEntropyGradient."""
    need_floats(op, (x, labels, dy))
    y = soft_spec(op, x, labels)
    if dy.shape != y.shape:
        raise misfit(f"dy must have the shape {y.shape}, got {described(dy)}.")
    return ArraySpec(x.shape, result_dtype(x, labels, dy))


SOFT_SECOND = "∂dyᵢ = -Σⱼ ∂dxᵢⱼ labelsᵢⱼ / xᵢⱼ, ∂xᵢⱼ = ∂dxᵢⱼ dyᵢ labelsᵢⱼ / xᵢⱼ², of those xᵢⱼ ≥ 10⁻²⁰, 0 elsewhere"


@gradient_of("CrossEntropy", "x, labels, dy -> dx", derivative=SOFT_SECOND, infer=soft_gradient_spec)
def cross_entropy_gradient(op: Operator, x: Array, labels: Array, dy: Array) -> Array:
    """Gradient of CrossEntropy; 0 where the floor, a constant, stood in for the probability."""
    return (-dy.reshape((-1, 1)) * soft_slope(x, labels)).reshape(x.shape)


def soft_slope(x: Array, labels: Array) -> Array:
    """label / x, (n, classes); 0 where x is below the floor."""
    x2 = x.reshape(rows_and_classes(x.shape))
    return np.where(x2 < FLOOR, 0, labels.reshape(x2.shape) / np.maximum(x2, FLOOR))


def soft_second_spec(
    op: Operator, x: ArraySpec, labels: ArraySpec, dy: ArraySpec, g_dx: ArraySpec
) -> tuple[ArraySpec, ArraySpec]:
    """Inference of CrossEntropyGradientGradient."""
    dtype = result_dtype(soft_gradient_spec(op, x, labels, dy), same_shape(op, x, labels, g_dx))
    return ArraySpec(x.shape, dtype), ArraySpec(dy.shape, result_dtype(x, labels, g_dx))


@gradient_of("CrossEntropyGradient", "x, labels, dy, ∂dx -> ∂x, ∂dy", infer=soft_second_spec)
def cross_entropy_gradient_gradient(
    op: Operator, x: Array, labels: Array, dy: Array, g_dx: Array
) -> tuple[Array, Array]:
    """Gradients of CrossEntropyGradient."""
    slope = soft_slope(x, labels)
    weighted = g_dx.reshape(slope.shape) * slope
    g_x = weighted * dy.reshape((-1, 1)) / np.maximum(x.reshape(slope.shape), FLOOR)
    return g_x.reshape(x.shape), -weighted.sum(axis=1)


def log_sigmoid(x: Array) -> Array:
    """ln σ(x) without overflow."""
    return np.minimum(x, 0) - np.log1p(np.exp(-abs(x)))


def logits_spec(op: Operator, x: ArraySpec, targets: ArraySpec, *weights: ArraySpec) -> ArraySpec:
    """Inference of the cross entropies of logits."""
    spec = elementwise(op, x, targets, *weights)
    return ArraySpec(spec.shape[:-1], spec.dtype)


def likelihood(op: Operator, x: Array, t: Array) -> Array:
    """How likely the targets are, as a logarithm (for the arguments of `op`: what stands in for it)."""
    if op.args.get("unjoined_lr_loss", 0):
        return weighed(t, x) + weighed(1 - t, log_sigmoid(-x))
    if op.args.get("log_D_trick", 0):
        return weighed(2 * t - 1, log_sigmoid(x))
    return weighed(t, log_sigmoid(x)) + weighed(1 - t, log_sigmoid(-x))


def likelihood_slope(op: Operator, x: Array, t: Array) -> Array:
    """The derivative of `likelihood` by x."""
    if op.args.get("unjoined_lr_loss", 0):
        return t - (1 - t) * logistic(x)
    if op.args.get("log_D_trick", 0):
        return (2 * t - 1) * logistic(-x)
    return t - logistic(x)


def likelihood_bend(op: Operator, x: Array, t: Array) -> Array:
    """The derivative of `likelihood_slope` by x."""
    bend = -logistic(x) * logistic(-x)
    if op.args.get("unjoined_lr_loss", 0):
        return (1 - t) * bend
    if op.args.get("log_D_trick", 0):
        return (2 * t - 1) * bend
    return bend


def row_means(x: Array) -> Array:
    """Means over the last dimension, 0 over nothing; a scalar is its own mean."""
    return x.sum(axis=-1) / max(x.shape[-1], 1) if x.shape else x


@operator(
    "SigmoidCrossEntropyWithLogits",
    "x, targets -> y",
    formula="yᵢ = -Σⱼ (targets ln σ(x) + (1 - targets) ln σ(-x))ᵢⱼ / n; 0 · ln 0 = 0",
    derivative="dxᵢⱼ = dyᵢ (σ(xᵢⱼ) - targetsᵢⱼ) / n",
    infer=logits_spec,
    args=LOGIT_ARGS,
)
def sigmoid_cross_entropy(op: Operator, x: Array, targets: Array) -> Array:
    """Mean cross entropy over the last dimension, of size n. x, targets: (..., n) -> y: (...).

    With log_D_trick=1 the logarithm of the probability is weighted by 2 t - 1; with unjoined_lr_loss=1 a positive
    target brings x itself.
    """
    return -row_means(likelihood(op, x, targets))


@operator(
    "WeightedSigmoidCrossEntropyWithLogits",
    "x, targets, weights -> y",
    formula="yᵢ = -Σⱼ weights (targets ln σ(x) + (1 - targets) ln σ(-x))ᵢⱼ / n; 0 · ln 0 = 0",
    derivative="dxᵢⱼ = dyᵢ weightsᵢⱼ (σ(xᵢⱼ) - targetsᵢⱼ) / n",
    infer=logits_spec,
)
def weighted_sigmoid_cross_entropy(op: Operator, x: Array, targets: Array, weights: Array) -> Array:
    """SigmoidCrossEntropyWithLogits with each term times its weight. x, targets, weights: (..., n) -> y: (...)."""
    return -row_means(weighed(weights, likelihood(op, x, targets)))


def logits_gradient_spec(op: Operator, dy: ArraySpec, x: ArraySpec, *others: ArraySpec) -> ArraySpec:
    """Inference of the gradients of the cross entropies of logits."""
    need_floats(op, (dy, x, *others))
    if any(spec.shape != x.shape for spec in others) or dy.shape != x.shape[:-1]:
        shapes = ", ".join(str(spec.shape) for spec in others)
        raise misfit(f"dy must have the shape {x.shape[:-1]} and the others that of x; got {dy.shape}, {shapes}.")
    return ArraySpec(x.shape, result_dtype(dy, x, *others))


@gradient_of(
    "SigmoidCrossEntropyWithLogits",
    "dy, x, targets -> dx",
    derivative="∂dyᵢ = Σⱼ ∂dxᵢⱼ (σ(xᵢⱼ) - targetsᵢⱼ) / n, ∂xᵢⱼ = dyᵢ ∂dxᵢⱼ σ'(xᵢⱼ) / n",
    infer=logits_gradient_spec,
)
def sigmoid_cross_entropy_gradient(op: Operator, dy: Array, x: Array, targets: Array) -> Array:
    """Gradient of SigmoidCrossEntropyWithLogits."""
    return -per_element(dy, x) * likelihood_slope(op, x, targets)


@gradient_of(
    "WeightedSigmoidCrossEntropyWithLogits",
    "dy, x, targets, weights -> dx",
    derivative="∂dyᵢ = Σⱼ ∂dxᵢⱼ weightsᵢⱼ (σ(xᵢⱼ) - targetsᵢⱼ) / n, ∂xᵢⱼ = dyᵢ ∂dxᵢⱼ weightsᵢⱼ σ'(xᵢⱼ) / n",
    infer=logits_gradient_spec,
)
def weighted_sigmoid_cross_entropy_gradient(op: Operator, dy: Array, x: Array, targets: Array, weights: Array) -> Array:
    """Gradient of WeightedSigmoidCrossEntropyWithLogits."""
    return -per_element(dy, x) * weights * (targets - logistic(x))


def per_element(dy: Array, x: Array) -> Array:
    """The share of dy, one number for each row of x, that each element of the row gets."""
    return dy.reshape((*dy.shape, 1)) / max(x.shape[-1], 1) if x.shape else dy


def logits_second_spec(op: Operator, dy: ArraySpec, *specs: ArraySpec) -> tuple[ArraySpec, ArraySpec]:
    """Inference of the gradients of the gradients of the cross entropies of logits."""
    dtype = logits_gradient_spec(op, dy, *specs).dtype
    return ArraySpec(dy.shape, result_dtype(*specs)), ArraySpec(specs[0].shape, dtype)


@gradient_of("SigmoidCrossEntropyWithLogitsGradient", "dy, x, targets, ∂dx -> ∂dy, ∂x", infer=logits_second_spec)
def sigmoid_cross_entropy_gradient_gradient(
    op: Operator, dy: Array, x: Array, targets: Array, g_dx: Array
) -> tuple[Array, Array]:
    """Gradients of SigmoidCrossEntropyWithLogitsGradient."""
    g_x = -per_element(dy, x) * g_dx * likelihood_bend(op, x, targets)
    return -row_means(g_dx * likelihood_slope(op, x, targets)), g_x


@gradient_of(
    "WeightedSigmoidCrossEntropyWithLogitsGradient", "dy, x, targets, weights, ∂dx -> ∂dy, ∂x", infer=logits_second_spec
)
def weighted_sigmoid_cross_entropy_gradient_gradient(
    op: Operator, dy: Array, x: Array, targets: Array, weights: Array, g_dx: Array
) -> tuple[Array, Array]:
    """Gradients of WeightedSigmoidCrossEntropyWithLogitsGradient."""
    weighted = g_dx * weights
    return -row_means(weighted * (targets - logistic(x))), per_element(dy, x) * weighted * logistic(x) * logistic(-x)
