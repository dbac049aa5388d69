"""Reductions of the first or the last dimensions, or of the last but one: ReduceFront*, ReduceBack*, RowwiseMax.

ReduceFront and ReduceBack see x as a matrix, whose columns (front) or rows (back) they reduce; `lengths` says how
many of the elements count in each.
"""

from math import prod
from typing import Any

import numpy as np

from ..program import Operator, RunError
from .arguments import bad_argument
from .gradients import Steps, by, gradient_of
from .inference import chosen, described, like_forward, misfit, need_floats, need_integers
from .reductions import filled, shared
from .registry import Array, ArraySpec, Gradients, RuleAnswer, each_of, in_single, operator, register_gradient
from .sums import summed

ARGS: dict[str, Any] = {"num_reduce_dim": 1}
SIDES = "Front", "Back"


def is_front(op: Operator) -> bool:
    """Whether `op`, or what it is the gradient of, reduces the first dimensions."""
    return op.type.startswith("ReduceFront")


def cut(op: Operator, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """`shape` as the dimensions that stay and those that are reduced."""
    count = op.args.get("num_reduce_dim", 1)
    if not 0 <= count <= len(shape):
        raise bad_argument(op, "num_reduce_dim", f"must be from 0 to the {len(shape)} dimensions of x")
    if is_front(op):
        return shape[count:], shape[:count]
    return shape[: len(shape) - count], shape[len(shape) - count :]


def as_seen(op: Operator, x: Array) -> tuple[Array, int]:
    """x as a matrix, and the axis of it that is reduced."""
    stay, reduced = (prod(sizes) for sizes in cut(op, x.shape))
    return (x.reshape(reduced, stay), 0) if is_front(op) else (x.reshape(stay, reduced), 1)


def counted(lengths: Array, seen: Array, axis: int, least: int = 0) -> Array:
    """Which elements of the matrix `seen` count: the first `lengths` along `axis`.

    Raises:
        RunError: ``bad_value``, a length is not from `least` to the size of that axis.
    """
    size = seen.shape[axis]
    if lengths.size and (lengths.min() < least or lengths.max() > size):
        raise RunError(
            f"lengths {lengths.tolist()[:8]} are not from {least} to {size}.",
            kind="bad_value",
            ways_out=[f"Say for each how many of the {size} elements count."],
        )
    places = np.arange(size, like=lengths)
    return places[:, None] < lengths if axis == 0 else places < lengths[:, None]


def side_spec(op: Operator, x: ArraySpec, lengths: ArraySpec | None = None) -> ArraySpec:
    stay = cut(op, x.shape)[0]
    if lengths is not None:
        need_integers(lengths, f"lengths must be integers ({prod(stay)},), one for each result", (prod(stay),))
    return ArraySpec(stay, x.dtype)


def float_side_spec(op: Operator, x: ArraySpec, lengths: ArraySpec | None = None) -> ArraySpec:
    need_floats(op, (x,))
    return side_spec(op, x, lengths)


def max_side_spec(op: Operator, x: ArraySpec, lengths: ArraySpec | None = None) -> ArraySpec:
    """Inference of the maxima: there must be something to choose from."""
    if not prod(cut(op, x.shape)[1]):
        raise misfit(f"x of shape {x.shape} has no elements to take the largest of.")
    return side_spec(op, x, lengths)


@each_of(SIDES, operator, "Reduce{}Sum", "x, lengths? -> y", "y = Σᵢ xᵢ", "dxᵢ = dy", infer=side_spec, args=ARGS)
def sum_side(op: Operator, x: Array, lengths: Array | None = None) -> Array:
    """Sum over the first (front) or last (back) `num_reduce_dim` dimensions. lengths: integers, how many count."""
    seen, axis = as_seen(op, x)
    if lengths is not None:
        seen = chosen(seen, counted(lengths, seen, axis))
    return summed(seen, axis).reshape(cut(op, x.shape)[0])


def column(op: Operator, of_results: Array) -> Array:
    """One number for each result where it broadcasts against the matrix that was reduced."""
    return of_results.reshape((1, of_results.size) if is_front(op) else (of_results.size, 1))


@each_of(
    SIDES,
    gradient_of,
    "Reduce{}Sum",
    "dy, x, lengths? -> dx",
    "∂dy = Σᵢ ∂dxᵢ",
    infer=like_forward("dy", integers="lengths"),
    second=by("", "∂dx, lengths -> ∂dy"),
)
def sum_side_gradient(op: Operator, dy: Array, x: Array, lengths: Array | None = None) -> Array:
    """Gradient of ReduceFrontSum and ReduceBackSum; 0 for what `lengths` leaves out."""
    seen, axis = as_seen(op, x)
    wide = column(op, dy)
    dx = filled(wide, seen) if lengths is None else np.where(counted(lengths, seen, axis), wide, 0)
    return dx.reshape(x.shape)


def sizes(op: Operator, like: Array, x: Array, lengths: Array | None) -> Array | int:
    """How many elements went into each result, in the dtype and shape of `like`; at least 1."""
    if lengths is None:
        return max(prod(cut(op, x.shape)[1]), 1)
    return np.maximum(lengths, 1).astype(like.dtype).reshape(like.shape)


@each_of(
    SIDES,
    operator,
    "Reduce{}Mean",
    "x, lengths? -> y",
    "y = Σᵢ xᵢ / n",
    "dxᵢ = dy / n",
    infer=float_side_spec,
    args=ARGS,
)
@in_single
def mean_side(op: Operator, x: Array, lengths: Array | None = None) -> Array:
    """Mean over the first (front) or last (back) `num_reduce_dim` dimensions; 0 for none. lengths: how many count."""
    y: Array = sum_side(op, x, lengths)
    return y / sizes(op, y, x, lengths)


@each_of(
    SIDES,
    gradient_of,
    "Reduce{}Mean",
    "dy, x, lengths? -> dx",
    "∂dy = Σᵢ ∂dxᵢ / n",
    infer=like_forward("dy", integers="lengths"),
    second=by("", "∂dx, lengths -> ∂dy"),
)
def mean_side_gradient(op: Operator, dy: Array, x: Array, lengths: Array | None = None) -> Array:
    """Gradient of ReduceFrontMean and ReduceBackMean; 0 for what `lengths` leaves out."""
    return sum_side_gradient(op, dy / sizes(op, dy, x, lengths), x, lengths)


@each_of(
    SIDES,
    operator,
    "Reduce{}Max",
    "x, lengths? -> y",
    "y = maxᵢ xᵢ",
    "dxᵢ = dy where xᵢ = y, shared equally where several are largest",
    infer=max_side_spec,
    args=ARGS,
)
def max_side(op: Operator, x: Array, lengths: Array | None = None) -> Array:
    """Largest over the first (front) or last (back) `num_reduce_dim` dimensions. lengths: how many count, not 0."""
    seen, axis = as_seen(op, x)
    if lengths is not None and x.size:
        seen = np.where(counted(lengths, seen, axis, least=1), seen, seen.min())
    return seen.max(axis=axis).reshape(cut(op, x.shape)[0])


@each_of(
    SIDES,
    gradient_of,
    "Reduce{}Max",
    "dy, x, y, lengths? -> dx",
    "∂dy = Σᵢ ∂dxᵢ where xᵢ = y, equal ones by their share",
    infer=like_forward("dy", integers="lengths"),
)
def max_side_gradient(op: Operator, dy: Array, x: Array, y: Array, lengths: Array | None = None) -> Array:
    seen, axis = as_seen(op, x)
    among = None if lengths is None else counted(lengths, seen, axis, least=1)
    return shared(column(op, dy), seen, column(op, y), (axis,), among).reshape(x.shape)


@each_of(SIDES, register_gradient, "Reduce{}MaxGradient")
def max_side_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """The gradient of ones tells the share of each element, 0 for what `lengths` leaves out."""
    do, (_, x, y, *lengths) = Steps(op), op.inputs
    shares = do(op.type, do.fill(y, 1.0), x, y, *lengths, **op.args)
    total = do(op.type.replace("MaxGradient", "Sum"), do("Mul", g_output[0], shares), **op.args)
    return do.answer(total)


def line_axis(op: Operator) -> int:
    """The axis that RowwiseMax (-1) or ColwiseMax (-2) reduces, of them or their gradients."""
    return -1 if op.type.startswith("Rowwise") else -2


def line_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    need_floats(op, (x,))
    if len(x.shape) < 2:
        raise misfit(f"x must be a matrix (m, n) or a batch of them (b, m, n), got {described(x)}.")
    if not x.shape[line_axis(op)]:
        raise misfit(f"x of shape {x.shape} has no elements to take the largest of.")
    return ArraySpec((*x.shape[:-2], x.shape[-3 - line_axis(op)]), x.dtype)


@operator(
    "RowwiseMax",
    "x -> y",
    "yᵢ = maxⱼ xᵢⱼ",
    "dxᵢⱼ = dyᵢ where xᵢⱼ = yᵢ, shared equally where several are largest",
    infer=line_spec,
)
@operator(
    "ColwiseMax",
    "x -> y",
    "yⱼ = maxᵢ xᵢⱼ",
    "dxᵢⱼ = dyⱼ where xᵢⱼ = yⱼ, shared equally where several are largest",
    infer=line_spec,
)
def line_max(op: Operator, x: Array) -> Array:
    """Largest of each row or column. x: (b, m, n) -> (b, m) by rows, (b, n) by columns; b may be left out."""
    return x.max(axis=line_axis(op))


@gradient_of(
    "RowwiseMax",
    "x, y, dy -> dx",
    "∂dyᵢ = Σⱼ ∂dxᵢⱼ where xᵢⱼ = yᵢ, equal ones by their share",
    infer=like_forward("dy"),
)
@gradient_of(
    "ColwiseMax",
    "x, y, dy -> dx",
    "∂dyⱼ = Σᵢ ∂dxᵢⱼ where xᵢⱼ = yⱼ, equal ones by their share",
    infer=like_forward("dy"),
)
def line_max_gradient(op: Operator, x: Array, y: Array, dy: Array) -> Array:
    axis = line_axis(op)
    return shared(np.expand_dims(dy, axis), x, np.expand_dims(y, axis), (axis,))


@register_gradient("RowwiseMaxGradient")
@register_gradient("ColwiseMaxGradient")
def line_max_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """The gradient of ones tells the share of each element."""
    do, (x, y, _) = Steps(op), op.inputs
    weighted = do("Mul", g_output[0], do(op.type, x, y, do.fill(y, 1.0)))
    return do.answer(None, None, do("ReduceSum", weighted, axes=[line_axis(op)], keepdims=0))
