"""More over segments: the greatest of each, rows repeated, and sums and means where each row names its segment."""

from typing import Any

import numpy as np

from ..program import Operator, RunError
from .gradients import Steps, by, gradient_operator
from .indexing import added_rows, check_indices, need_rows
from .inference import by_rows, need_floats, need_shape
from .registry import Array, ArraySpec, Gradients, RuleAnswer, in_single, operator, register_gradient
from .segments import (
    MEAN,
    SUM,
    averaged,
    counted,
    gradient_of_rows,
    lengths_spec,
    need_list,
    over_segments,
    picked,
    segments_of,
)


@operator(
    "LengthsMax",
    "x, lengths -> y",
    "yₛ = max xᵢ over the rows i of segment s, each element for itself",
    "dxᵢ = dy[s(i)] where xᵢ = y[s(i)], in equal shares where several are the greatest; 0 elsewhere",
    infer=lengths_spec,
    rule=by("LengthsMaxWithMainInputAndForwardOutputGradient", "y, dy, lengths, x -> dx"),
)
def lengths_max(op: Operator, x: Array, lengths: Array) -> Array:
    """The greatest of rows that follow each other, 0 for no rows. x: (rows, ...) -> y: (segments, ...)."""
    segments = segments_of(lengths, x.shape[0])
    shape = (lengths.shape[0], *x.shape[1:])
    greatest = np.full_like(x, -np.inf, shape=shape)
    np.maximum.at(greatest, segments, x)
    return np.where(by_rows(lengths == 0, greatest), np.zeros_like(greatest), greatest)


def lengths_max_gradient_spec(op: Operator, y: ArraySpec, dy: ArraySpec, lengths: ArraySpec, x: ArraySpec) -> ArraySpec:
    need_floats(op, (y, dy, lengths, x), (0, 1, 3))
    need_rows(op, 0, y)
    need_rows(op, 3, x)
    need_shape("dy", dy, y.shape, "of y")
    need_shape("x", x, (x.shape[0], *y.shape[1:]))
    need_list(op, lengths, 2, y.shape[0])
    return ArraySpec((x.shape[0], *dy.shape[1:]), dy.dtype)


@operator(
    "LengthsMaxWithMainInputAndForwardOutputGradient",
    "y, dy, lengths, x -> dx",
    "dxᵢ = dy[s(i)] where xᵢ = y[s(i)], in equal shares where several are the greatest; 0 elsewhere",
    "∂dyₛ = Σ ∂dxᵢ over the rows i of segment s where xᵢ = yₛ, by their share",
    infer=lengths_max_gradient_spec,
)
def lengths_max_gradient(op: Operator, y: Array, dy: Array, lengths: Array, x: Array) -> Array:
    """Gradient of LengthsMax. Equal shares, so that a row which stands twice in x gets no more than dy in all."""
    segments = segments_of(lengths, x.shape[0])
    hit = x == np.take(y, segments, axis=0)
    winners = np.maximum(added_rows(segments, hit.astype(np.int64), y.shape[0]), 1)
    return np.where(hit, np.take((dy / winners).astype(dy.dtype), segments, axis=0), 0)


@register_gradient("LengthsMaxWithMainInputAndForwardOutputGradient")
def lengths_max_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """The gradient of ones tells the share of each element."""
    do, (y, _, lengths, x) = Steps(op), op.inputs
    shares = do(op.type, y, do.fill(y, 1.0), lengths, x)
    return do.answer(None, do("LengthsSum", do("Mul", g_output[0], shares), lengths))


def tile_spec(op: Operator, x: ArraySpec, lengths: ArraySpec) -> None:
    """Inference of LengthsTile: how many rows there will be is data."""
    need_rows(op, 0, x)
    need_list(op, lengths, 1, x.shape[0])


@operator(
    "LengthsTile",
    "x, lengths -> y",
    "y = row i of x, lengthsᵢ times, for all i",
    "dxᵢ = Σ of the rows of dy that repeat xᵢ",
    infer=tile_spec,
    rule=by("LengthsSum", "dy, lengths -> dx"),
)
def lengths_tile(op: Operator, x: Array, lengths: Array) -> Array:
    """Each row of x as often as `lengths` says. x: (n, ...), lengths: integers (n,) -> y: (sum of lengths, ...)."""
    return np.take(x, segments_of(lengths, int(lengths.sum())), axis=0)


# By segment ids: x, segment_ids -> y


def segments_spec(op: Operator, x: ArraySpec, *lists: ArraySpec) -> ArraySpec | None:
    """Inference of the Segment types; None where the number of segments is data."""
    need_floats(op, (x,))
    need_rows(op, 0, x)
    rows = x.shape[0]
    if len(lists) == 2:
        need_list(op, lists[0], 1)
        rows = lists[0].shape[0]
    need_list(op, lists[-1], len(lists), rows)
    segments = op.args.get("num_segments", -1)
    return ArraySpec((segments, *x.shape[1:]), x.dtype) if segments > 0 and "Unsorted" in op.type else None


def segment_count(op: Operator, ids: Array) -> int:
    """How many segments `ids` name; the argument `num_segments` of Unsorted types says it where it is given."""
    count = op.args.get("num_segments", -1) if "Unsorted" in op.type else -1
    return count if count > 0 else (int(ids.max()) + 1 if ids.size else 0)


def check_sorted(ids: Array) -> None:
    """Raise RunError (``bad_value``) unless `ids` begin with 0 and each is the one before it or the next number."""
    if not ids.size:
        return
    steps = ids - np.concatenate([np.zeros_like(ids[:1]), ids[:-1]])
    wrong = (steps < 0) | (steps > 1)
    wrong[0] = ids[0] != 0
    if wrong.any():
        position = int(wrong.argmax())
        raise RunError(
            f"segment id {int(ids[position])} at position {position} breaks the order 0, 1, 2, ... without gaps.",
            kind="bad_value",
            ways_out=["Sort the rows by segment and number segments 0, 1, 2, ...", "Use the Unsorted type."],
        )


@in_single
def segment_sum(op: Operator, x: Array, *lists: Array) -> Array:
    """Sums of the rows of each segment. x: (rows, ...), segment_ids: integers (rows,) -> y: (segments, ...).

    Sorted types want ids that count up from 0 without gaps. Unsorted ones take any order and the argument
    `num_segments`; without it there are as many segments as the greatest id says. Sparse types add up rows of a
    table: x[indices], with one segment id for each of the indices.
    """
    *indices, ids = lists
    x = picked(op, 1, x, indices)
    segments = segment_count(op, ids)
    check_indices(op, len(op.inputs) - 1, ids, segments, "segment id")
    if "Unsorted" not in op.type:
        check_sorted(ids)
    return added_rows(ids, x, segments)


@in_single
def segment_mean(op: Operator, x: Array, *lists: Array) -> Array:
    """Means of the rows of each segment, 0 for no rows; otherwise as the Sum of this kind."""
    total = segment_sum(op, x, *lists)
    return averaged(total, counted(lists[-1], total.shape[0]))


def segments_gradient_spec(op: Operator, dy: ArraySpec, ids: ArraySpec) -> ArraySpec:
    need_floats(op, (dy,))
    need_rows(op, 0, dy)
    need_list(op, ids, 1)
    return ArraySpec((*ids.shape, *dy.shape[1:]), dy.dtype)


def segment_sum_gradient(op: Operator, dy: Array, ids: Array) -> Array:
    """Gradient of a sum by segment ids: each row gets that of its segment."""
    check_indices(op, 1, ids, dy.shape[0], "segment id")
    return np.take(dy, ids, axis=0)


def segment_mean_gradient(op: Operator, dy: Array, ids: Array) -> Array:
    """Gradient of a mean by segment ids: each row gets its share of that of its segment."""
    check_indices(op, 1, ids, dy.shape[0], "segment id")
    return np.take(averaged(dy, counted(ids, dy.shape[0])), ids, axis=0)


def segments_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """The rule of the Segment types; the gradient of a table is sparse."""
    _, *indices, ids = op.inputs
    name, g_x = gradient_of_rows(op, indices)
    gradient_op = gradient_operator(op, f"{op.type.removeprefix('Sparse')}Gradient", [g_output[0], ids], [name])
    return gradient_op, [g_x, *[None] * (len(op.inputs) - 1)]


ARGS: dict[str, Any] = {"num_segments": -1}

for _order in ("SortedSegment", "UnsortedSegment"):
    _args = ARGS if _order == "UnsortedSegment" else None
    for _reducer, _kernel, _gradient, (_formula, _derivative, _second) in (
        ("Sum", segment_sum, segment_sum_gradient, SUM),
        ("Mean", segment_mean, segment_mean_gradient, MEAN),
    ):
        _type = f"{_order}{_reducer}"
        over_segments(
            _type,
            "x, {}segment_ids -> y",
            _formula,
            _derivative,
            _kernel,
            segments_rule,
            infer=segments_spec,
            args=_args,
        )
        operator(
            f"{_type}Gradient",
            "dy, segment_ids -> dx",
            _derivative,
            _second,
            infer=segments_gradient_spec,
            args=_args,
            rule=by("", "∂dx, segment_ids -> ∂dy"),
        )(_gradient)
