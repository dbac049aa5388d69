"""Rows added up by segments: how many follow each other (lengths), or to which segment each belongs (segment ids).

Let row i of x, or of x[indices] in the Sparse types, belong to segment s(i), and let nₛ rows belong to s:

    Sum           yₛ = Σ xᵢ          dxᵢ = dy[s(i)]
    Mean          yₛ = Σ xᵢ / nₛ     dxᵢ = dy[s(i)] / n[s(i)]
    WeightedSum   yₛ = Σ weightsᵢ xᵢ    dxᵢ = weightsᵢ dy[s(i)],  with grad_on_weights dweightsᵢ = <xᵢ, dy[s(i)]>

The gradient of a table x that is read by indices is sparse: row indicesᵢ gets dxᵢ.
"""

from math import prod
from typing import Any

import numpy as np

from ..program import Gradient, GradientSlice, Operator, RunError
from .gradients import Steps, by, gradient_name, gradient_operator
from .indexing import added_rows, check_indices, need_rows
from .inference import by_rows, described, misfit, need_floats, need_integers, result_dtype, slot
from .registry import Array, ArraySpec, Gradients, Rule, RuleAnswer, operator, register_gradient

WEIGHTED: dict[str, Any] = {"grad_on_weights": 0}
SUM_FORMULA = "yₛ = Σ xᵢ over the rows i of segment s"
MEAN_FORMULA = "yₛ = Σ xᵢ / nₛ over the nₛ rows i of segment s"
WEIGHTED_FORMULA = "yₛ = Σ weightsᵢ xᵢ over the rows i of segment s"
SUM_DERIVATIVE = "dxᵢ = dy[s(i)]"
MEAN_DERIVATIVE = "dxᵢ = dy[s(i)] / n[s(i)]"
SUM_SECOND = "∂dyₛ = Σ ∂dxᵢ over the rows i of segment s"
MEAN_SECOND = "∂dyₛ = Σ ∂dxᵢ / nₛ over the nₛ rows i of segment s"
WEIGHTED_SECOND = "∂dyₛ = Σ weightsᵢ ∂dxᵢ over the rows i of segment s"


def segments_of(lengths: Array, rows: int) -> Array:
    """The segment of each row, integers (rows,).

    Raises:
        RunError: ``bad_value``, a length is negative or they do not add up to `rows`.
    """
    counts = lengths.tolist()
    if sum(counts) != rows or min(counts, default=0) < 0:
        raise RunError(
            f"lengths {counts if len(counts) <= 8 else [*counts[:8], '...']} add up to {sum(counts)}, "
            f"and there are {rows} rows.",
            kind="bad_value",
            ways_out=[f"Give lengths of 0 or more whose sum is {rows}."],
        )
    return np.repeat(np.arange(len(counts), like=lengths), counts or 0)


def averaged(total: Array, counts: Array) -> Array:
    """Rows of `total` divided by `counts`; a count of 0 divides by 1."""
    return total / by_rows(np.maximum(counts, 1), total).astype(total.dtype)


def counted(ids: Array, segments: int) -> Array:
    """How many of `ids` name each segment, (segments,)."""
    return added_rows(ids, np.ones_like(ids, dtype=np.int64), segments)


def need_list(op: Operator, spec: ArraySpec, position: int, rows: int | None = None) -> None:
    """Raise unless input `position` is a list of integers, of `rows` of them where that is said."""
    what = f"{slot(op, position)} must be integers ({'n' if rows is None else rows},)"
    need_integers(spec, what, *([] if rows is None else [(rows,)]), ndim=1)


def need_weights(op: Operator, weights: ArraySpec, position: int, rows: int) -> None:
    """Raise unless input `position` is one floating-point number a row."""
    if weights.shape != (rows,) or weights.dtype.kind != "f":
        raise misfit(f"{slot(op, position)} must be floating-point ({rows},), one a row, got {described(weights)}.")


# By lengths: x, lengths -> y


def lengths_spec(op: Operator, x: ArraySpec, *lists: ArraySpec) -> ArraySpec:
    need_floats(op, (x,))
    need_rows(op, 0, x)
    for position, spec in enumerate(lists, 1):
        need_list(op, spec, position)
    return ArraySpec((lists[-1].shape[0], *x.shape[1:]), x.dtype)


@operator("LengthsSum", "x, lengths -> y", SUM_FORMULA, SUM_DERIVATIVE, infer=lengths_spec)
def lengths_sum(op: Operator, x: Array, lengths: Array) -> Array:
    """Sums of rows that follow each other. x: (rows, ...), lengths: integers (segments,) -> y: (segments, ...)."""
    return added_rows(segments_of(lengths, x.shape[0]), x, lengths.shape[0])


@operator("LengthsMean", "x, lengths -> y", MEAN_FORMULA, MEAN_DERIVATIVE, infer=lengths_spec)
def lengths_mean(op: Operator, x: Array, lengths: Array) -> Array:
    """Means of rows that follow each other, 0 for no rows. Shapes as in LengthsSum."""
    return averaged(lengths_sum(op, x, lengths), lengths)


@operator(
    "SparseLengthsSum",
    "x, indices, lengths -> y",
    "yₛ = Σ x[indicesᵢ] over the i of segment s",
    "row indicesᵢ of dx gets dy[s(i)]; repeated rows add",
    infer=lengths_spec,
)
def sparse_lengths_sum(op: Operator, x: Array, indices: Array, lengths: Array) -> Array:
    """LengthsSum of rows of a table. x: (rows, ...), indices: integers (n,), lengths sum to n -> y: (segments, ...)."""
    check_indices(op, 1, indices, x.shape[0])
    return lengths_sum(op, np.take(x, indices, axis=0), lengths)


@operator(
    "SparseLengthsMean",
    "x, indices, lengths -> y",
    "yₛ = Σ x[indicesᵢ] / nₛ over the nₛ i of segment s",
    "row indicesᵢ of dx gets dy[s(i)] / n[s(i)]; repeated rows add",
    infer=lengths_spec,
)
def sparse_lengths_mean(op: Operator, x: Array, indices: Array, lengths: Array) -> Array:
    """LengthsMean of rows of a table. Shapes as in SparseLengthsSum."""
    return averaged(sparse_lengths_sum(op, x, indices, lengths), lengths)


def lengths_gradient_spec(op: Operator, dy: ArraySpec, lengths: ArraySpec, rows: ArraySpec) -> ArraySpec:
    need_floats(op, (dy,))
    need_rows(op, 2, rows)
    need_list(op, lengths, 1)
    if dy.shape[:1] != lengths.shape:
        raise misfit(f"dy must have {lengths.shape[0]} rows, one a segment, got {described(dy)}.")
    return ArraySpec((rows.shape[0], *dy.shape[1:]), dy.dtype)


def lengths_sum_gradient(op: Operator, dy: Array, lengths: Array, rows: Array) -> Array:
    """Gradient of a sum by lengths: each row gets that of its segment. `rows` is read for how many there are."""
    return np.take(dy, segments_of(lengths, rows.shape[0]), axis=0)


def lengths_mean_gradient(op: Operator, dy: Array, lengths: Array, rows: Array) -> Array:
    """Gradient of a mean by lengths: each row gets its share of that of its segment."""
    return lengths_sum_gradient(op, averaged(dy, lengths), lengths, rows)


def lengths_rule(gradient_type: str) -> Rule:
    """The rule of a sum or mean by lengths, whose gradient operator is `gradient_type`."""

    def rule(op: Operator, g_output: Gradients) -> RuleAnswer:
        x, *indices, lengths = op.inputs
        made = gradient_operator(op, gradient_type, [g_output[0], lengths, *(indices or [x])], [rows_name(op, indices)])
        return made, [rows_gradient(op, indices), *[None] * (len(op.inputs) - 1)]

    return rule


def rows_name(op: Operator, indices: list[str]) -> str:
    """What the gradient of the rows that were added up is called."""
    return gradient_name(op.inputs[0]) + ("_values" if indices else "")


def rows_gradient(op: Operator, indices: list[str]) -> Gradient:
    """The gradient of the first input: that of its rows, by number where `indices` name them."""
    name = rows_name(op, indices)
    return GradientSlice(indices[0], name) if indices else name


for _sparse, _rows in (("", "x"), ("Sparse", "indices")):
    for _reducer, _gradient, _formula, _second in (
        ("Sum", lengths_sum_gradient, SUM_DERIVATIVE, SUM_SECOND),
        ("Mean", lengths_mean_gradient, MEAN_DERIVATIVE, MEAN_SECOND),
    ):
        _type = f"{_sparse}LengthsIndicesInGradient{_reducer}Gradient"
        operator(
            _type,
            f"dy, lengths, {_rows} -> dx",
            _formula,
            _second,
            infer=lengths_gradient_spec,
            rule=by(f"Lengths{_reducer}", "∂dx, lengths -> ∂dy"),
        )(_gradient)
        register_gradient(f"{_sparse}Lengths{_reducer}")(lengths_rule(_type))


# With weights: x, weights, lengths -> y


def weighted_spec(op: Operator, x: ArraySpec, weights: ArraySpec, *lists: ArraySpec) -> ArraySpec:
    need_floats(op, (x,))
    need_rows(op, 0, x)
    for position, spec in enumerate(lists, 2):
        need_list(op, spec, position)
    need_weights(op, weights, 1, lists[0].shape[0] if len(lists) == 2 else x.shape[0])
    return ArraySpec((lists[-1].shape[0], *x.shape[1:]), result_dtype(x, weights))


@operator(
    "LengthsWeightedSum",
    "x, weights, lengths -> y",
    WEIGHTED_FORMULA,
    "dxᵢ = weightsᵢ dy[s(i)], with grad_on_weights dweightsᵢ = <xᵢ, dy[s(i)]>",
    infer=weighted_spec,
    args=WEIGHTED,
)
def lengths_weighted_sum(op: Operator, x: Array, weights: Array, lengths: Array) -> Array:
    """LengthsSum of rows times their weights. x: (rows, ...), weights: (rows,) -> y: (segments, ...).

    Weights are constants for the gradient unless grad_on_weights=1.
    """
    return lengths_sum(op, x * by_rows(weights, x), lengths)


@operator(
    "SparseLengthsWeightedSum",
    "x, weights, indices, lengths -> y",
    "yₛ = Σ weightsᵢ x[indicesᵢ] over the i of segment s",
    "row indicesᵢ of dx gets weightsᵢ dy[s(i)]; with grad_on_weights dweightsᵢ = <x[indicesᵢ], dy[s(i)]>",
    infer=weighted_spec,
    args=WEIGHTED,
)
def sparse_lengths_weighted_sum(op: Operator, x: Array, weights: Array, indices: Array, lengths: Array) -> Array:
    """LengthsWeightedSum of rows of a table. x: (rows, ...), weights, indices: (n,), lengths sum to n."""
    check_indices(op, 2, indices, x.shape[0])
    return lengths_weighted_sum(op, np.take(x, indices, axis=0), weights, lengths)


def weighted_gradient_spec(
    op: Operator, weights: ArraySpec, dy: ArraySpec, lengths: ArraySpec, *_: ArraySpec
) -> ArraySpec:
    need_floats(op, (weights, dy), (0, 1))
    dx = lengths_gradient_spec(op, dy, lengths, weights)
    return ArraySpec(dx.shape, result_dtype(weights, dy))


def lengths_weighted_sum_gradient(op: Operator, weights: Array, dy: Array, lengths: Array, *_: Array) -> Array:
    """Gradient of a weighted sum by lengths: each row gets that of its segment times its weight."""
    rows = lengths_sum_gradient(op, dy, lengths, weights)
    return rows * by_rows(weights, rows)


def weights_gradient_spec(
    op: Operator, weights: ArraySpec, dy: ArraySpec, lengths: ArraySpec, x: ArraySpec, *indices: ArraySpec
) -> tuple[ArraySpec, ArraySpec]:
    need_floats(op, (weights, dy, lengths, x), (3,))
    dx = weighted_gradient_spec(op, weights, dy, lengths)
    if x.shape[1:] != dy.shape[1:]:
        raise misfit(f"rows of dy {dy.shape} and of x {x.shape} must have one shape.")
    return dx, ArraySpec(weights.shape, result_dtype(dy, x))


def lengths_weighted_sum_gradients(
    op: Operator, weights: Array, dy: Array, lengths: Array, x: Array, *indices: Array
) -> tuple[Array, Array]:
    """Gradients of a weighted sum by lengths, also of its weights. `indices`: which rows of x were added up."""
    for chosen in indices:
        check_indices(op, 4, chosen, x.shape[0])
        x = np.take(x, chosen, axis=0)
    dys = lengths_sum_gradient(op, dy, lengths, weights)
    products = (x * dys).reshape((*weights.shape, prod(x.shape[1:])))
    return dys * by_rows(weights, dys), products.sum(axis=1)


def weighted_rule(plain: str, with_weights: str) -> Rule:
    """The rule of a weighted sum; its gradient operators without and with a gradient of the weights."""

    def rule(op: Operator, g_output: Gradients) -> RuleAnswer:
        x, weights, *indices, lengths = op.inputs
        reads, rest = [weights, g_output[0], lengths], [None] * (len(op.inputs) - 2)
        name, g_x = rows_name(op, indices), rows_gradient(op, indices)
        if not op.args.get("grad_on_weights", 0):
            return gradient_operator(op, plain, [*reads, *indices], [name]), [g_x, None, *rest]
        of_weights = gradient_name(weights)
        made = gradient_operator(op, with_weights, [*reads, x, *indices], [name, of_weights])
        return made, [g_x, of_weights, *rest]

    return rule


def weighted_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """The rule of the gradient of a weighted sum whose weights are constants."""
    do, (weights, _, lengths, *_) = Steps(op), op.inputs
    return do.answer(None, do("LengthsWeightedSum", g_output[0], weights, lengths))


def weights_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """The rule of the gradient of a weighted sum: ∂x and ∂w come from one of ∂dx and ∂dw in place of x and w."""
    do, (weights, dy, lengths, x, *indices) = Steps(op), op.inputs
    rows = do("Gather", x, *indices) if indices else x
    g_rows, g_weights = do.or_zeros(g_output, [rows, weights])
    g_dy = do(
        "Sum",
        do("LengthsWeightedSum", g_rows, weights, lengths, **op.args),
        do("LengthsWeightedSum", rows, g_weights, lengths, **op.args),
    )
    of_rows, of_weights = do.several(
        2, "LengthsWeightedSumWithMainInputGradient", g_weights, dy, lengths, g_rows, **op.args
    )
    return do.answer(of_weights, g_dy, None, GradientSlice(indices[0], of_rows) if indices else of_rows)


for _type, _plain, _with_weights, _slots in (
    ("LengthsWeightedSum", "LengthsWeightedSumGradient", "LengthsWeightedSumWithMainInputGradient", ""),
    (
        "SparseLengthsWeightedSum",
        "SparseLengthsIndicesInGradientWeightedSumGradient",
        "SparseLengthsIndicesInGradientWeightedSumWithMainInputGradient",
        ", indices",
    ),
):
    operator(
        _plain,
        f"weights, dy, lengths{_slots} -> dx",
        "dxᵢ = weightsᵢ dy[s(i)]",
        WEIGHTED_SECOND,
        infer=weighted_gradient_spec,
        args=WEIGHTED,
    )(lengths_weighted_sum_gradient)
    operator(
        _with_weights,
        f"weights, dy, lengths, x{_slots} -> dx, dweights",
        "dxᵢ = weightsᵢ dy[s(i)], dweightsᵢ = <xᵢ, dy[s(i)]>",
        f"{WEIGHTED_SECOND} + Σ ∂dweightsᵢ xᵢ, ∂weightsᵢ = <∂dxᵢ, dy[s(i)]>, ∂xᵢ = ∂dweightsᵢ dy[s(i)]",
        infer=weights_gradient_spec,
        args=WEIGHTED,
    )(lengths_weighted_sum_gradients)
    register_gradient(_type)(weighted_rule(_plain, _with_weights))
    register_gradient(_plain)(weighted_gradient_rule)
    register_gradient(_with_weights)(weights_gradient_rule)
