"""Losses of pairs: with a margin, and of all pairs that labels order; and the accuracy of a classifier."""

import numpy as np

from ..program import Operator
from .gradients import Steps, by, gradient_of
from .indexing import added_rows
from .inference import described, elementwise, like_forward, misfit, need_floats, need_integers, need_shape, slot
from .loss import check_labels, each_row
from .registry import Array, Arrays, ArraySpec, Gradients, RuleAnswer, in_single, operator, register_gradient
from .segments import need_list, segments_of
from .smooth_activations import logistic
from .sums import summed


def labelled_spec(op: Operator, *specs: ArraySpec) -> ArraySpec:
    """Scores and labels (integers) of one shape; the spec that the scores meet in."""
    *scores, labels = specs
    need_integers(labels, f"labels must be integers {scores[0].shape}, 1 or -1")
    for position, spec in enumerate(specs):
        need_shape(slot(op, position), spec, scores[0].shape, f"of {slot(op, 0)}")
    return elementwise(op, *scores)


@operator(
    "CosineEmbeddingCriterion",
    "s, labels -> y",
    "y = 1 - s where labels = 1, max(0, s - margin) elsewhere",
    "ds = -dy where labels = 1; elsewhere dy where s > margin, 0 where not",
    infer=labelled_spec,
    args={"margin": 0.0},
)
def cosine_embedding_criterion(op: Operator, s: Array, labels: Array) -> Array:
    """Loss of cosine similarities of pairs that belong together (label 1) or not (label -1), for each element."""
    return np.where(labels == 1, 1 - s, np.maximum(s - op.args.get("margin", 0.0), 0))


@gradient_of(
    "CosineEmbeddingCriterion",
    "s, labels, dy -> ds",
    "∂dy = -∂ds where labels = 1; elsewhere ∂ds where s > margin, 0 where not",
    infer=like_forward(integers="labels"),
    second=by("CosineEmbeddingCriterionGradient", "s, labels, ∂ds -> ∂dy"),
)
def cosine_embedding_criterion_gradient(op: Operator, s: Array, labels: Array, dy: Array) -> Array:
    """Gradient of CosineEmbeddingCriterion; 0 at the corner."""
    apart = (s > op.args.get("margin", 0.0)).astype(s.dtype)
    return dy * np.where(labels == 1, -np.ones_like(s), apart)


@operator(
    "MarginRankingCriterion",
    "x1, x2, labels -> y",
    "y = max(0, margin - labels (x1 - x2))",
    "dx1 = -labels dy where y > 0, 0 elsewhere; dx2 = -dx1",
    infer=labelled_spec,
    args={"margin": 1.0},
)
def margin_ranking_criterion(op: Operator, x1: Array, x2: Array, labels: Array) -> Array:
    """Loss of scores of which x1 should be the greater (label 1) or x2 (label -1), by a margin, for each element."""
    return np.maximum(op.args.get("margin", 1.0) - labels.astype(x1.dtype) * (x1 - x2), 0)


@gradient_of(
    "MarginRankingCriterion",
    "x1, x2, labels, dy -> dx1, dx2",
    formula="dx1 = -labels dy where labels (x1 - x2) < margin, 0 elsewhere; dx2 = -dx1",
    derivative="∂dy = -labels (∂dx1 - ∂dx2) where labels (x1 - x2) < margin, 0 elsewhere",
    infer=like_forward("x1 dy", integers="labels"),
)
def margin_ranking_criterion_gradient(op: Operator, x1: Array, x2: Array, labels: Array, dy: Array) -> Arrays:
    """Gradients of MarginRankingCriterion; 0 at the corner."""
    signs = labels.astype(x1.dtype)
    dx2 = dy * signs * (signs * (x1 - x2) < op.args.get("margin", 1.0)).astype(x1.dtype)
    return -dx2, dx2


@register_gradient("MarginRankingCriterionGradient")
def margin_ranking_criterion_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    do, (x1, x2, labels, _) = Steps(op), op.inputs
    apart = do("Sub", *do.or_zeros(g_output, [x1, x2]))
    g_dy, _ = do.several(2, op.type, x1, x2, labels, apart, **op.args)
    return do.answer(None, None, None, g_dy)


def pairwise_spec(op: Operator, x: ArraySpec, labels: ArraySpec, *lengths: ArraySpec) -> ArraySpec:
    need_floats(op, (x, labels))
    rows = x.shape[:1]
    for position, spec in enumerate((x, labels)):
        if not rows or spec.shape not in (rows, (*rows, 1)):
            raise misfit(f"{slot(op, position)} must be (n,) or (n, 1) with the n of x, got {described(spec)}.")
    for spec in lengths:
        need_list(op, spec, 2)
    return ArraySpec(lengths[0].shape if lengths else (min(rows[0], 1),), x.dtype)


def ordered_pairs(x: Array, labels: Array, *lengths: Array) -> tuple[Array, Array, Array]:
    """Of all pairs: xⱼ - xᵢ, (n, n), the weight of each in its session's mean, (n, n), and the session of each i."""
    x, labels = x.reshape(-1), labels.reshape(-1)
    sessions = segments_of(lengths[0], x.shape[0]) if lengths else np.zeros(x.shape, dtype=np.int64, like=x)
    chosen = (labels.reshape((-1, 1)) > labels) & (sessions.reshape((-1, 1)) == sessions)
    pairs = added_rows(sessions, chosen.sum(axis=1), lengths[0].shape[0] if lengths else min(x.shape[0], 1))
    weights = chosen.astype(x.dtype) / np.maximum(np.take(pairs, sessions), 1).astype(x.dtype).reshape((-1, 1))
    return x - x.reshape((-1, 1)), weights, sessions


@operator(
    "PairWiseLoss",
    "x, labels, lengths? -> y",
    "y = mean of ln(1 + exp(xⱼ - xᵢ)) over all pairs with labelsᵢ > labelsⱼ",
    "dxᵢ = -Σⱼ gᵢⱼ, dxⱼ = Σᵢ gᵢⱼ, gᵢⱼ = dy σ(xⱼ - xᵢ) / n, over the n pairs with labelsᵢ > labelsⱼ",
    infer=pairwise_spec,
)
@in_single
def pairwise_loss(op: Operator, x: Array, labels: Array, *lengths: Array) -> Array:
    """Loss of scores whose order should be that of labels. x, labels: (n,) or (n, 1) -> y: (1,), (0,) for no rows.

    With `lengths`, integers (sessions,), pairs are made within each session and y is (sessions,). Labels are constants
    for the gradient.
    Source: Burges et al., Learning to Rank using Gradient Descent (2005).
    """
    difference, weights, sessions = ordered_pairs(x, labels, *lengths)
    terms = summed(weights * (np.maximum(difference, 0) + np.log1p(np.exp(-abs(difference)))), 1)
    return added_rows(sessions, terms, lengths[0].shape[0] if lengths else min(x.shape[0], 1))


@gradient_of(
    "PairWiseLoss",
    "x, labels, dy, lengths? -> dx",
    "∂dy = Σᵢⱼ (∂dxⱼ - ∂dxᵢ) σ(xⱼ - xᵢ) / n, ∂xᵢ = -Σⱼ hᵢⱼ, ∂xⱼ = Σᵢ hᵢⱼ, "
    "hᵢⱼ = dy (∂dxⱼ - ∂dxᵢ) σ'(xⱼ - xᵢ) / n, over the n pairs with labelsᵢ > labelsⱼ",
    infer=like_forward("x dy", integers="lengths"),
)
@in_single
def pairwise_loss_gradient(op: Operator, x: Array, labels: Array, dy: Array, *lengths: Array) -> Array:
    difference, weights, sessions = ordered_pairs(x, labels, *lengths)
    g = weights * logistic(difference) * np.take(dy, sessions).reshape((-1, 1))
    return (summed(g, 0) - summed(g, 1)).reshape(x.shape)


@gradient_of(
    "PairWiseLossGradient",
    "x, labels, dy, ∂dx, lengths? -> ∂x, ∂dy",
    infer=like_forward("∂x: x dy ∂dx; ∂dy: x ∂dx", integers="lengths"),
)
@in_single
def pairwise_loss_gradient_gradient(
    op: Operator, x: Array, labels: Array, dy: Array, g_dx: Array, *lengths: Array
) -> tuple[Array, Array]:
    difference, weights, sessions = ordered_pairs(x, labels, *lengths)
    g = g_dx.reshape(-1)
    apart, slope = weights * (g - g.reshape((-1, 1))), logistic(difference)
    g_dy = added_rows(sessions, summed(apart * slope, 1), dy.shape[0])
    h = apart * slope * logistic(-difference) * np.take(dy, sessions).reshape((-1, 1))
    return (summed(h, 0) - summed(h, 1)).reshape(x.shape), g_dy


def accuracy_spec(op: Operator, x: ArraySpec, labels: ArraySpec) -> ArraySpec:
    need_floats(op, (x,))
    if len(x.shape) != 2:
        raise misfit(f"x must be (n, classes), got {described(x)}.")
    rows = x.shape[0]
    need_integers(labels, f"labels must be integers ({rows},), one a row of x", (rows,), (rows, 1))
    return ArraySpec((), np.dtype(np.float32))


@operator(
    "Accuracy",
    "x, labels -> y",
    "y = share of the rows i whose label is among the top_k greatest of xᵢ",
    infer=accuracy_spec,
    args={"top_k": 1},
)
def accuracy(op: Operator, x: Array, labels: Array) -> Array:
    """How often a classifier is right. x: (n, classes), labels: integers (n,) -> y: float32 (); 0 for no rows.

    A label is right when fewer than `top_k` classes come before it: greater, or equal with a smaller number.
    It has no gradient: its output jumps.
    """
    labels = labels.reshape(-1)
    check_labels(labels, x.shape[1])
    own = x[each_row(labels), labels].reshape((-1, 1))
    classes = np.arange(x.shape[1], like=labels)
    before = (x > own) | ((x == own) & (classes < labels.reshape((-1, 1))))
    right = before.sum(axis=1) < op.args.get("top_k", 1)
    return (right.sum() / max(x.shape[0], 1)).astype(np.float32)
