"""Losses of probabilities: cross entropy with soft labels and of logits, and how far apart Bernoulli distributions are.

Labels, targets and weights are constants for the gradient.
"""

from math import log

import numpy as np

from ..program import Operator, RunError
from .gradients import Steps, gradient_of
from .inference import described, elementwise, misfit, need_floats, result_dtype
from .loss import FLOOR, rows_and_classes, weighed
from .registry import Array, Arrays, ArraySpec, Gradients, RuleAnswer, in_single, operator, register_gradient
from .smooth_activations import logistic
from .sums import averaged, summed


def soft_spec(op: Operator, x: ArraySpec, labels: ArraySpec) -> ArraySpec:
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
    "yᵢ = -Σⱼ labelsᵢⱼ ln max(xᵢⱼ, 10⁻²⁰)",
    "dxᵢⱼ = -dyᵢ labelsᵢⱼ / xᵢⱼ where xᵢⱼ ≥ 10⁻²⁰, 0 elsewhere",
    infer=soft_spec,
)
@in_single
def cross_entropy(op: Operator, x: Array, labels: Array) -> Array:
    """Cross entropy of probabilities with probabilities. x, labels: (n, classes) -> y: (n,)."""
    shape = rows_and_classes(x.shape)
    labels = checked_soft_labels(labels.reshape(shape))
    return -summed(labels * np.log(np.maximum(x.reshape(shape), FLOOR)), 1)


@gradient_of(
    "CrossEntropy",
    "x, labels, dy -> dx",
    "∂dyᵢ = -Σⱼ ∂dxᵢⱼ labelsᵢⱼ / xᵢⱼ, ∂xᵢⱼ = ∂dxᵢⱼ dyᵢ labelsᵢⱼ / xᵢⱼ², of those xᵢⱼ ≥ 10⁻²⁰, 0 elsewhere",
)
@in_single
def cross_entropy_gradient(op: Operator, x: Array, labels: Array, dy: Array) -> Array:
    """Gradient of CrossEntropy; 0 where the floor, a constant, stood in for the probability."""
    x2 = x.reshape(rows_and_classes(x.shape))
    slope = np.where(x2 < FLOOR, 0, labels.reshape(x2.shape) / np.maximum(x2, FLOOR))
    return (-dy.reshape((-1, 1)) * slope).reshape(x.shape)


@register_gradient("CrossEntropyGradient")
def cross_entropy_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """dx is dy times a slope, -labels / x, which bends by -1 / x: the slope of labels of 1."""
    do, (x, labels, dy) = Steps(op), op.inputs
    one = do.fill(dy, 1.0)
    slope = do(op.type, x, labels, one)
    g_slope, g_dy = do.of_factors(g_output[0], slope, dy)
    bend = do("Mul", slope, do(op.type, x, do.fill(x, 1.0), one))
    return do.answer(do("Mul", g_slope, bend), None, g_dy)


def log_sigmoid(x: Array) -> Array:
    """ln σ(x) without overflow."""
    return np.minimum(x, 0) - np.log1p(np.exp(-abs(x)))


def logits_spec(op: Operator, x: ArraySpec, targets: ArraySpec, *weights: ArraySpec) -> ArraySpec:
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
    return t * logistic(-x) - (1 - t) * logistic(x)


def row_means(x: Array) -> Array:
    """Means over the last dimension, 0 over nothing; a scalar is its own mean."""
    return averaged(x, -1) if x.shape else x


@operator(
    "WeightedSigmoidCrossEntropyWithLogits",
    "x, targets, weights -> y",
    "yᵢ = -Σⱼ weights (targets ln σ(x) + (1 - targets) ln σ(-x))ᵢⱼ / n; 0 · ln 0 = 0",
    "dxᵢⱼ = dyᵢ weightsᵢⱼ (σ(xᵢⱼ) - targetsᵢⱼ) / n",
    infer=logits_spec,
    doc="SigmoidCrossEntropyWithLogits with each term times its weight. x, targets, weights: (..., n) -> y: (...).",
)
@operator(
    "SigmoidCrossEntropyWithLogits",
    "x, targets -> y",
    "yᵢ = -Σⱼ (targets ln σ(x) + (1 - targets) ln σ(-x))ᵢⱼ / n; 0 · ln 0 = 0",
    "dxᵢⱼ = dyᵢ (σ(xᵢⱼ) - targetsᵢⱼ) / n",
    infer=logits_spec,
    args={"log_D_trick": 0, "unjoined_lr_loss": 0},
)
@in_single
def sigmoid_cross_entropy(op: Operator, x: Array, targets: Array, weights: Array | None = None) -> Array:
    """Mean cross entropy over the last dimension, of size n. x, targets: (..., n) -> y: (...).

    With log_D_trick=1 the logarithm of the probability is weighted by 2 t - 1; with unjoined_lr_loss=1 a positive
    target brings x itself.
    """
    terms = likelihood(op, x, targets)
    return -row_means(terms if weights is None else weighed(weights, terms))


@gradient_of(
    "WeightedSigmoidCrossEntropyWithLogits",
    "dy, x, targets, weights -> dx",
    "∂dyᵢ = Σⱼ ∂dxᵢⱼ weightsᵢⱼ (σ(xᵢⱼ) - targetsᵢⱼ) / n, ∂xᵢⱼ = dyᵢ ∂dxᵢⱼ weightsᵢⱼ σ'(xᵢⱼ) / n",
)
@gradient_of(
    "SigmoidCrossEntropyWithLogits",
    "dy, x, targets -> dx",
    "∂dyᵢ = Σⱼ ∂dxᵢⱼ (σ(xᵢⱼ) - targetsᵢⱼ) / n, ∂xᵢⱼ = dyᵢ ∂dxᵢⱼ σ'(xᵢⱼ) / n",
)
@in_single
def sigmoid_cross_entropy_gradient(
    op: Operator, dy: Array, x: Array, targets: Array, weights: Array | None = None
) -> Array:
    share = -per_element(dy, x) if weights is None else -per_element(dy, x) * weights
    return share * likelihood_slope(op, x, targets)


def per_element(dy: Array, x: Array) -> Array:
    """The share of dy, one number for each row of x, that each element of the row gets."""
    return dy.reshape((*dy.shape, 1)) / max(x.shape[-1], 1) if x.shape else dy


@register_gradient("SigmoidCrossEntropyWithLogitsGradient")
@register_gradient("WeightedSigmoidCrossEntropyWithLogitsGradient")
def logits_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """The slope bends by σ' = σ(x) σ(-x); what it brings with σ(x) alone is dx for targets of 0."""
    do, (dy, x, targets, *weights), g_dx = Steps(op), op.inputs, g_output[0]
    slope = do(op.type, do.fill(dy, 1.0), x, targets, *weights, **op.args)
    _, g_dy = do.of_factors(g_dx, slope, dy)
    if op.args.get("unjoined_lr_loss", 0):
        weights = [do("Sub", do.fill(x, 1.0), targets)]
    elif op.args.get("log_D_trick", 0):
        weights = [do("Sub", do("Scale", targets, scale=2.0), do.fill(x, 1.0))]
    weight = do("Mul", g_dx, do("Sigmoid", do("Negative", x)))
    for factor in weights:
        weight = do("Mul", weight, factor)
    upwards = do("SigmoidCrossEntropyWithLogitsGradient", dy, x, do.fill(x, 0.0))
    return do.answer(g_dy, do("Mul", weight, upwards))


def divergence(m: Array, d: Array) -> Array:
    """½ (p ln(p / m) + q ln(q / m)), p = m + d, q = m - d, of which no digit is lost where d is small."""
    size = np.abs(d) / np.where(m == 0, 1, m)
    inner = np.where(size < 1, size, 0)
    bent = np.log1p(-inner * inner) + inner * (np.log1p(inner) - np.log1p(-inner))
    return m * np.where(size < 1, bent / 2, log(2))


@operator(
    "BernoulliJSD",
    "x, targets -> y",
    "y = H((x + targets) / 2) - (H(x) + H(targets)) / 2, H(p) = -p ln p - (1 - p) ln(1 - p)",
    "dx = dy (logit x - logit((x + targets) / 2)) / 2, logit p = ln(p / (1 - p))",
    infer=elementwise,
)
@in_single
def bernoulli_jsd(op: Operator, x: Array, targets: Array) -> Array:
    """Jensen-Shannon divergence of coins that fall with probability x from coins with probability t, for each element.

    Source: Lin, Divergence measures based on the Shannon entropy (1991).
    """
    m, rest, d = middle(x, targets)
    return divergence(m, d) + divergence(rest, d)


def middle(x: Array, targets: Array) -> tuple[Array, Array, Array]:
    """The mean m of two probabilities, 1 - m, and x - m, each as exact as its dtype."""
    return (x + targets) / 2, (1 - x + (1 - targets)) / 2, (x - targets) / 2


def log_ratio(p: Array, m: Array, d: Array) -> Array:
    """ln(p / m), p = m + d, of which no digit is lost where d is small; finite where p or m is 0."""
    is_near = np.abs(d) < m / 2
    near = np.log1p(np.where(is_near, d, 0) / np.where(is_near, m, 1))
    return np.where(is_near, near, np.log(np.maximum(p, FLOOR)) - np.log(np.maximum(m, FLOOR)))


@gradient_of(
    "BernoulliJSD",
    "dy, x, targets -> dx",
    "∂dy = ∂dx (logit x - logit m) / 2, ∂x = ∂dx dy (logit' x - ½ logit' m) / 2, m = (x + targets) / 2, "
    "logit' p = 1 / p + 1 / (1 - p)",
)
@in_single
def bernoulli_jsd_gradient(op: Operator, dy: Array, x: Array, targets: Array) -> Array:
    m, rest, d = middle(x, targets)
    return dy * (log_ratio(x, m, d) - log_ratio(1 - x, rest, -d)) / 2


def logit_slope(p: Array) -> Array:
    """The derivative of ln(p / (1 - p)), 0 for a half of it that is held at the floor."""
    return sum(np.where(q < FLOOR, 0, 1 / np.maximum(q, FLOOR)) for q in (p, 1 - p))


@gradient_of(
    "BernoulliJSDGradient",
    "dy, x, targets, ∂dx -> ∂dy, ∂x",
    infer=lambda op, *specs: (elementwise(op, *specs[1:]), elementwise(op, *specs)),
)
@in_single
def bernoulli_jsd_gradient_gradient(op: Operator, dy: Array, x: Array, targets: Array, g_dx: Array) -> Arrays:
    bend = logit_slope(x) - logit_slope((x + targets) / 2) / 2
    return bernoulli_jsd_gradient(op, g_dx, x, targets), dy * g_dx * bend / 2


def two_class_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    need_floats(op, (x,))
    return ArraySpec((*x.shape, 2), x.dtype)


@operator("MakeTwoClass", "x -> y", "y = [1 - x, x]", "dx = dy[..., 1] - dy[..., 0]", infer=two_class_spec)
def make_two_class(op: Operator, x: Array) -> Array:
    """Both probabilities of each coin, side by side. x: (...) -> y: (..., 2)."""
    return np.stack([1 - x, x], axis=-1)


def two_class_gradient_spec(op: Operator, dy: ArraySpec) -> ArraySpec:
    need_floats(op, (dy,))
    if dy.shape[-1:] != (2,):
        raise misfit(f"dy must have 2 columns, got {described(dy)}.")
    return ArraySpec(dy.shape[:-1], dy.dtype)


@gradient_of("MakeTwoClass", "dy -> dx", "∂dy = [-∂dx, ∂dx]", infer=two_class_gradient_spec)
def make_two_class_gradient(op: Operator, dy: Array) -> Array:
    return dy[..., 1] - dy[..., 0]


@register_gradient("MakeTwoClassGradient")
def make_two_class_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    do, g_dx = Steps(op), g_output[0]
    g_dy, _ = do.several(2, "Concat", do("Negative", g_dx), g_dx, axis=-1, add_axis=1)
    return do.answer(g_dy)
