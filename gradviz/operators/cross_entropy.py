"""Losses of probabilities: cross entropy with soft labels, of logits, and the Jensen-Shannon divergence of two coins.

Labels, targets and weights are constants for the gradient.
"""

from typing import Any

import numpy as np

from ..program import Operator, RunError
from .inference import described, elementwise, misfit, need_floats, result_dtype
from .loss import FLOOR, rows_and_classes
from .registry import Array, ArraySpec, Gradients, RuleAnswer, op_gradient, operator, register_gradient
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
    formula="yᵢ = -Σⱼ labelᵢⱼ ln max(xᵢⱼ, 10⁻²⁰)",
    derivative="dxᵢⱼ = -dyᵢ labelᵢⱼ / xᵢⱼ where xᵢⱼ ≥ 10⁻²⁰, 0 elsewhere",
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


@operator(
    "CrossEntropyGradient",
    "x, labels, dy -> dx",
    formula="dxᵢⱼ = -dyᵢ labelᵢⱼ / xᵢⱼ where xᵢⱼ ≥ 10⁻²⁰, 0 elsewhere",
    infer=soft_gradient_spec,
)
def cross_entropy_gradient(op: Operator, x: Array, labels: Array, dy: Array) -> Array:
    """Gradient of CrossEntropy; 0 where the floor, a constant, stood in for the probability."""
    x2 = x.reshape(rows_and_classes(x.shape))
    slope = np.where(x2 < FLOOR, 0, labels.reshape(x2.shape) / np.maximum(x2, FLOOR))
    return (-dy.reshape((-1, 1)) * slope).reshape(x.shape)


@register_gradient("CrossEntropy")
def cross_entropy_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [*op.inputs, g_output[0]])


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
        return x * t + (1 - t) * log_sigmoid(-x)
    if op.args.get("log_D_trick", 0):
        return (2 * t - 1) * log_sigmoid(x)
    return t * log_sigmoid(x) + (1 - t) * log_sigmoid(-x)


def likelihood_slope(op: Operator, x: Array, t: Array) -> Array:
    """The derivative of `likelihood` by x."""
    if op.args.get("unjoined_lr_loss", 0):
        return t - (1 - t) * logistic(x)
    if op.args.get("log_D_trick", 0):
        return (2 * t - 1) * logistic(-x)
    return t - logistic(x)


def row_means(x: Array) -> Array:
    """Means over the last dimension, 0 over nothing; a scalar is its own mean."""
    return x.sum(axis=-1) / max(x.shape[-1], 1) if x.shape else x


@operator(
    "SigmoidCrossEntropyWithLogits",
    "x, targets -> y",
    formula="yᵢ = -Σⱼ (t ln σ(x) + (1 - t) ln σ(-x))ᵢⱼ / n",
    derivative="dxᵢⱼ = dyᵢ (σ(xᵢⱼ) - tᵢⱼ) / n",
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
    formula="yᵢ = -Σⱼ w (t ln σ(x) + (1 - t) ln σ(-x))ᵢⱼ / n",
    derivative="dxᵢⱼ = dyᵢ wᵢⱼ (σ(xᵢⱼ) - tᵢⱼ) / n",
    infer=logits_spec,
)
def weighted_sigmoid_cross_entropy(op: Operator, x: Array, targets: Array, weights: Array) -> Array:
    """SigmoidCrossEntropyWithLogits with each term times its weight. x, targets, weights: (..., n) -> y: (...)."""
    return -row_means(weights * (targets * log_sigmoid(x) + (1 - targets) * log_sigmoid(-x)))


def logits_gradient_spec(op: Operator, dy: ArraySpec, x: ArraySpec, *others: ArraySpec) -> ArraySpec:
    """Inference of the gradients of the cross entropies of logits."""
    need_floats(op, (dy, x, *others))
    if any(spec.shape != x.shape for spec in others) or dy.shape != x.shape[:-1]:
        shapes = ", ".join(str(spec.shape) for spec in others)
        raise misfit(f"dy must have the shape {x.shape[:-1]} and the others that of x; got {dy.shape}, {shapes}.")
    return ArraySpec(x.shape, result_dtype(dy, x, *others))


@operator(
    "SigmoidCrossEntropyWithLogitsGradient",
    "dy, x, targets -> dx",
    formula="dxᵢⱼ = dyᵢ (σ(xᵢⱼ) - tᵢⱼ) / n",
    infer=logits_gradient_spec,
    args=LOGIT_ARGS,
)
def sigmoid_cross_entropy_gradient(op: Operator, dy: Array, x: Array, targets: Array) -> Array:
    """Gradient of SigmoidCrossEntropyWithLogits."""
    return -per_element(dy, x) * likelihood_slope(op, x, targets)


@operator(
    "WeightedSigmoidCrossEntropyWithLogitsGradient",
    "dy, x, targets, weights -> dx",
    formula="dxᵢⱼ = dyᵢ wᵢⱼ (σ(xᵢⱼ) - tᵢⱼ) / n",
    infer=logits_gradient_spec,
)
def weighted_sigmoid_cross_entropy_gradient(op: Operator, dy: Array, x: Array, targets: Array, weights: Array) -> Array:
    """Gradient of WeightedSigmoidCrossEntropyWithLogits."""
    return -per_element(dy, x) * weights * (targets - logistic(x))


def per_element(dy: Array, x: Array) -> Array:
    """The share of dy, one number for each row of x, that each element of the row gets."""
    return dy.reshape((*dy.shape, 1)) / max(x.shape[-1], 1) if x.shape else dy


@register_gradient("SigmoidCrossEntropyWithLogits")
@register_gradient("WeightedSigmoidCrossEntropyWithLogits")
def logits_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [g_output[0], *op.inputs])


def entropy(p: Array) -> Array:
    """-p ln p - (1 - p) ln(1 - p); 0 where p is 0 or 1."""
    return -p * np.log(np.maximum(p, FLOOR)) - (1 - p) * np.log(np.maximum(1 - p, FLOOR))


@operator(
    "BernoulliJSD",
    "x, targets -> y",
    formula="y = H((x + t) / 2) - (H(x) + H(t)) / 2, H(p) = -p ln p - (1 - p) ln(1 - p)",
    derivative="dx = dy (logit x - logit((x + t) / 2)) / 2, logit p = ln(p / (1 - p))",
    infer=elementwise,
)
def bernoulli_jsd(op: Operator, x: Array, targets: Array) -> Array:
    """Jensen-Shannon divergence of coins that fall with probability x from coins with probability t, for each element.

    Source: Lin, Divergence measures based on the Shannon entropy (1991).
    """
    return entropy((x + targets) / 2) - (entropy(x) + entropy(targets)) / 2


def logit(p: Array) -> Array:
    """ln(p / (1 - p)), finite at 0 and 1."""
    return np.log(np.maximum(p, FLOOR)) - np.log(np.maximum(1 - p, FLOOR))


@operator(
    "BernoulliJSDGradient",
    "dy, x, targets -> dx",
    formula="dx = dy (logit x - logit((x + t) / 2)) / 2, logit p = ln(p / (1 - p))",
    infer=elementwise,
)
def bernoulli_jsd_gradient(op: Operator, dy: Array, x: Array, targets: Array) -> Array:
    """Gradient of BernoulliJSD."""
    return dy * (logit(x) - logit((x + targets) / 2)) / 2


@register_gradient("BernoulliJSD")
def bernoulli_jsd_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [g_output[0], *op.inputs])


def two_class_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    """Inference of MakeTwoClass."""
    need_floats(op, (x,))
    return ArraySpec((*x.shape, 2), x.dtype)


@operator(
    "MakeTwoClass", "x -> y", formula="y = [1 - x, x]", derivative="dx = dy[..., 1] - dy[..., 0]", infer=two_class_spec
)
def make_two_class(op: Operator, x: Array) -> Array:
    """Both probabilities of each coin, side by side. x: (...) -> y: (..., 2)."""
    return np.stack([1 - x, x], axis=-1)


def two_class_gradient_spec(op: Operator, dy: ArraySpec) -> ArraySpec:
    """Inference of MakeTwoClassGradient."""
    need_floats(op, (dy,))
    if dy.shape[-1:] != (2,):
        raise misfit(f"dy must have 2 columns, got {described(dy)}.")
    return ArraySpec(dy.shape[:-1], dy.dtype)


@operator("MakeTwoClassGradient", "dy -> dx", formula="dx = dy[..., 1] - dy[..., 0]", infer=two_class_gradient_spec)
def make_two_class_gradient(op: Operator, dy: Array) -> Array:
    """Gradient of MakeTwoClass."""
    return dy[..., 1] - dy[..., 0]


@register_gradient("MakeTwoClass")
def make_two_class_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [g_output[0]])
