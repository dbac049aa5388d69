"""Rows added up by segments: how many follow each other (lengths), or to which segment each belongs (segment ids).

Let row i of x, or of x[indices] in the Sparse types, belong to segment s(i), and let nₛ rows belong to s:

    Sum           yₛ = Σ xᵢ          dxᵢ = dy[s(i)]
    Mean          yₛ = Σ xᵢ / nₛ     dxᵢ = dy[s(i)] / n[s(i)]
    WeightedSum   yₛ = Σ weightsᵢ xᵢ    dxᵢ = weightsᵢ dy[s(i)],  with grad_on_weights dweightsᵢ = <xᵢ, dy[s(i)]>

The gradient of a table x that is read by indices is sparse: row indicesᵢ gets dxᵢ.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..program import Gradient, GradientSlice, Operator, RunError
from .gradients import Steps, by, gradient_name, gradient_operator
from .indexing import added_rows, check_indices, need_rows
from .inference import by_rows, described, misfit, need_floats, need_integers, need_shape, result_dtype, slot
from .registry import Array, ArraySpec, Gradients, Kernel, Rule, RuleAnswer, in_single, operator, register_gradient
from .sums import summed

WEIGHTED: dict[str, Any] = {"grad_on_weights": 0}
SUM = "yₛ = Σ xᵢ over the rows i of segment s", "dxᵢ = dy[s(i)]", "∂dyₛ = Σ ∂dxᵢ over the rows i of segment s"
"""Formula, derivative, and derivative of the gradient operator, of sums; then of means."""
MEAN = (
    "yₛ = Σ xᵢ / nₛ over the nₛ rows i of segment s",
    "dxᵢ = dy[s(i)] / n[s(i)]",
    "∂dyₛ = Σ ∂dxᵢ / nₛ over the nₛ rows i of segment s",
)
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


def picked(op: Operator, position: int, x: Array, indices: Sequence[Array]) -> Array:
    """x, or the rows of it that `indices`, input `position` of `op`, name where there are any."""
    for numbers in indices:
        check_indices(op, position, numbers, x.shape[0])
        x = np.take(x, numbers, axis=0)
    return x


def over_segments(
    type: str, signature: str, formula: str, derivative: str, kernel: Kernel, rule: Rule, **about: Any
) -> None:
    """Define an operator on the rows of x, and its Sparse type, on the rows of a table that `indices` name.

    They stand where `signature` has ``{}``.
    """
    operator(type, signature.format(""), formula, derivative, **about)(kernel)
    of_row = derivative.removeprefix("dxᵢ = ").replace("xᵢ", "x[indicesᵢ]")
    operator(
        f"Sparse{type}",
        signature.format("indices, "),
        formula.replace("xᵢ", "x[indicesᵢ]"),
        f"row indicesᵢ of dx gets {of_row}; repeated rows add",
        **about,
    )(kernel)
    register_gradient(type)(rule)
    register_gradient(f"Sparse{type}")(rule)


def gradient_of_rows(op: Operator, indices: Sequence[str]) -> tuple[str, Gradient]:
    """What the gradient of the rows that `op` adds up is called; and that of x, sparse where `indices` name them."""
    name = gradient_name(op.inputs[0])
    return (f"{name}_values", GradientSlice(indices[0], f"{name}_values")) if indices else (name, name)


# By lengths: x, lengths -> y


def lengths_spec(op: Operator, x: ArraySpec, *lists: ArraySpec) -> ArraySpec:
    need_floats(op, (x,))
    need_rows(op, 0, x)
    for position, spec in enumerate(lists, 1):
        need_list(op, spec, position)
    return ArraySpec((lists[-1].shape[0], *x.shape[1:]), x.dtype)


@in_single
def lengths_sum(op: Operator, x: Array, *lists: Array) -> Array:
    """Sums of rows that follow each other. x: (rows, ...), lengths: integers (segments,) -> y: (segments, ...).

    Sparse types add up rows of a table: x[indices], with lengths that sum to the number of indices.
    """
    *indices, lengths = lists
    x = picked(op, 1, x, indices)
    return added_rows(segments_of(lengths, x.shape[0]), x, lengths.shape[0])


@in_single
def lengths_mean(op: Operator, x: Array, *lists: Array) -> Array:
    """Means of rows that follow each other, 0 for no rows; otherwise as the Sum of this kind."""
    return averaged(lengths_sum(op, x, *lists), lists[-1])


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


def lengths_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    x, *indices, lengths = op.inputs
    type = f"{op.type.replace('Lengths', 'LengthsIndicesInGradient')}Gradient"
    name, g_x = gradient_of_rows(op, indices)
    gradient_op = gradient_operator(op, type, [g_output[0], lengths, *(indices or [x])], [name])
    return gradient_op, [g_x, *[None] * (len(op.inputs) - 1)]


for _reducer, _kernel, _gradient, (_formula, _derivative, _second) in (
    ("Sum", lengths_sum, lengths_sum_gradient, SUM),
    ("Mean", lengths_mean, lengths_mean_gradient, MEAN),
):
    over_segments(
        f"Lengths{_reducer}", "x, {}lengths -> y", _formula, _derivative, _kernel, lengths_rule, infer=lengths_spec
    )
    for _prefix, _rows in (("", "x"), ("Sparse", "indices")):
        operator(
            f"{_prefix}LengthsIndicesInGradient{_reducer}Gradient",
            f"dy, lengths, {_rows} -> dx",
            _derivative,
            _second,
            infer=lengths_gradient_spec,
            rule=by(f"Lengths{_reducer}", "∂dx, lengths -> ∂dy"),
        )(_gradient)


# With weights: x, weights, lengths -> y


def weighted_spec(op: Operator, x: ArraySpec, weights: ArraySpec, *lists: ArraySpec) -> ArraySpec:
    need_floats(op, (x,))
    need_rows(op, 0, x)
    for position, spec in enumerate(lists, 2):
        need_list(op, spec, position)
    rows = lists[0].shape[0] if len(lists) == 2 else x.shape[0]
    if weights.shape != (rows,) or weights.dtype.kind != "f":
        raise misfit(f"{slot(op, 1)} must be floating-point ({rows},), one a row, got {described(weights)}.")
    return ArraySpec((lists[-1].shape[0], *x.shape[1:]), result_dtype(x, weights))


@in_single
def lengths_weighted_sum(op: Operator, x: Array, weights: Array, *lists: Array) -> Array:
    """LengthsSum of rows times their weights. x: (rows, ...), weights: (rows,) -> y: (segments, ...).

    Weights are constants for the gradient unless grad_on_weights=1. The Sparse type adds up rows of a table:
    x[indices], with one weight for each of the indices.
    """
    *indices, lengths = lists
    x = picked(op, 2, x, indices)
    return lengths_sum(op, x * by_rows(weights, x), lengths)


def weighted_gradient_spec(
    op: Operator, weights: ArraySpec, dy: ArraySpec, lengths: ArraySpec, *_: ArraySpec
) -> ArraySpec:
    need_floats(op, (weights, dy), (0, 1))
    need_shape("weights", weights, weights.shape[:1])
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
    for numbers in indices:
        need_list(op, numbers, 4, weights.shape[0])
    if not indices and x.shape[:1] != weights.shape:
        raise misfit(f"x of shape {x.shape} needs a row for each weight of {weights.shape}.")
    if x.shape[1:] != dy.shape[1:]:
        raise misfit(f"rows of dy {dy.shape} and of x {x.shape} must have one shape.")
    return dx, ArraySpec(weights.shape, result_dtype(dy, x))


@in_single
def lengths_weighted_sum_gradients(
    op: Operator, weights: Array, dy: Array, lengths: Array, x: Array, *indices: Array
) -> tuple[Array, Array]:
    """Gradients of a weighted sum by lengths, also of its weights. `indices`: which rows of x were added up."""
    x = picked(op, 4, x, indices)
    dys = lengths_sum_gradient(op, dy, lengths, weights)
    products = (x * dys).reshape((*weights.shape, prod(x.shape[1:])))
    return dys * by_rows(weights, dys), summed(products, 1)


def weighted_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    x, weights, *indices, lengths = op.inputs
    base = op.type.replace("Lengths", "LengthsIndicesInGradient") if indices else op.type
    reads, rest = [weights, g_output[0], lengths], [None] * (len(op.inputs) - 2)
    name, g_x = gradient_of_rows(op, indices)
    if not op.args.get("grad_on_weights", 0):
        return gradient_operator(op, f"{base}Gradient", [*reads, *indices], [name]), [g_x, None, *rest]
    of_weights = gradient_name(weights)
    gradient_op = gradient_operator(op, f"{base}WithMainInputGradient", [*reads, x, *indices], [name, of_weights])
    return gradient_op, [g_x, of_weights, *rest]


def weighted_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """The rule of the gradient of a weighted sum whose weights are constants."""
    do, (weights, _, lengths, *_) = Steps(op), op.inputs
    return do.answer(None, do("LengthsWeightedSum", g_output[0], weights, lengths))


def weights_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """The rule of the gradient of a weighted sum: ∂x and ∂w come from one of ∂dx and ∂dw in place of x and w."""
    do, (weights, dy, lengths, x, *indices) = Steps(op), op.inputs
    args = {**op.args, "grad_on_weights": 1}
    rows = do("Gather", x, *indices) if indices else x
    g_rows, g_weights = do.or_zeros(g_output, [rows, weights])
    g_dy = do(
        "Sum",
        do("LengthsWeightedSum", g_rows, weights, lengths, **args),
        do("LengthsWeightedSum", rows, g_weights, lengths, **args),
    )
    of_rows, of_weights = do.several(
        2, "LengthsWeightedSumWithMainInputGradient", g_weights, dy, lengths, g_rows, **args
    )
    return do.answer(of_weights, g_dy, None, GradientSlice(indices[0], of_rows) if indices else of_rows)


over_segments(
    "LengthsWeightedSum",
    "x, weights, {}lengths -> y",
    "yₛ = Σ weightsᵢ xᵢ over the rows i of segment s",
    "dxᵢ = weightsᵢ dy[s(i)], with grad_on_weights dweightsᵢ = <xᵢ, dy[s(i)]>",
    lengths_weighted_sum,
    weighted_rule,
    infer=weighted_spec,
    args=WEIGHTED,
)

for _base, _slots in (("LengthsWeightedSum", ""), ("SparseLengthsIndicesInGradientWeightedSum", ", indices")):
    operator(
        f"{_base}Gradient",
        f"weights, dy, lengths{_slots} -> dx",
        "dxᵢ = weightsᵢ dy[s(i)]",
        WEIGHTED_SECOND,
        infer=weighted_gradient_spec,
        args=WEIGHTED,
    )(lengths_weighted_sum_gradient)
    operator(
        f"{_base}WithMainInputGradient",
        f"weights, dy, lengths, x{_slots} -> dx, dweights",
        "dxᵢ = weightsᵢ dy[s(i)], dweightsᵢ = <xᵢ, dy[s(i)]>",
        f"{WEIGHTED_SECOND} + Σ ∂dweightsᵢ xᵢ, ∂weightsᵢ = <∂dxᵢ, dy[s(i)]>, ∂xᵢ = ∂dweightsᵢ dy[s(i)]",
        infer=weights_gradient_spec,
        args=WEIGHTED,
    )(lengths_weighted_sum_gradients)
    register_gradient(f"{_base}Gradient")(weighted_gradient_rule)
    register_gradient(f"{_base}WithMainInputGradient")(weights_gradient_rule)
