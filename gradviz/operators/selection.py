"""Elements picked by their values or by a mask: TopK, ArgMax, ArgMin, BooleanMask, and one-hot codes."""

from math import prod
from typing import Any

import numpy as np

from ..program import Operator, RunError
from .arguments import bad_argument
from .gradients import by, gradient_of, op_gradient
from .indexing import check_indices, need_rows
from .inference import canonical_axis, described, misfit, need_floats, need_integers
from .registry import Array, Arrays, ArraySpec, Gradients, RuleAnswer, operator

AS_BOOL = "Convert it before feeding: array.astype(bool)."
INT64 = np.dtype(np.int64)


def resized(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    """`shape` with `size` at `axis`."""
    return (*shape[:axis], size, *shape[axis + 1 :])


def top_spec(op: Operator, x: ArraySpec, k: ArraySpec | None = None) -> tuple[ArraySpec | None, ...]:
    """Inference of TopK; None for all where k is data."""
    need_floats(op, (x,))
    axis = canonical_axis(op.args.get("axis", -1), x.shape)
    if k is not None:
        need_integers(k, "k must be one integer")
        if prod(k.shape) != 1:
            raise misfit(f"k must be one integer, got {described(k)}.")
        return (None,) * len(op.outputs)
    count = op.args.get("k", 0)
    if count < 1:
        raise bad_argument(op, "k", "must be at least 1", "Give k=..., or a second input.")
    shape = resized(x.shape, axis, count)
    specs = ArraySpec(shape, x.dtype), ArraySpec(shape, INT64), ArraySpec((prod(shape),), INT64)
    return specs[: len(op.outputs)]


@operator(
    "TopK",
    "x, k? -> values, indices, flat?",
    "values = the k largest x, indices = where they are",
    "dx = dvalues at indices, 0 elsewhere",
    infer=top_spec,
    args={"k": 0, "axis": -1},
)
def top_k(op: Operator, x: Array, k: Array | None = None) -> Arrays:
    """The `k` largest elements along `axis` (default: the last), largest first; of equal ones, those in front.

    indices: int64, their places along `axis`; flat: int64 (elements,), their places in x row by row. Where `axis`
    has fewer than k elements the rest is 0, and -1 in the indices.
    """
    axis = canonical_axis(op.args.get("axis", -1), x.shape)
    count = op.args.get("k", 0) if k is None else int(k.reshape(()).tolist())
    if count < 1:
        raise RunError(f"k is {count}.", kind="bad_value", ways_out=["Ask for at least 1."])
    rows = np.moveaxis(x, axis, -1)
    order = np.argsort(-rows, axis=-1, kind="stable")[..., :count]
    missing = [(0, 0)] * (x.ndim - 1) + [(0, max(count - x.shape[axis], 0))]
    values = np.pad(np.take_along_axis(rows, order, axis=-1), missing)
    indices = np.pad(order, missing, constant_values=-1)
    result = np.moveaxis(values, -1, axis), np.moveaxis(indices, -1, axis)
    if len(op.outputs) == 2:
        return result
    places = np.moveaxis(np.arange(x.size, like=x).reshape(x.shape), axis, -1)
    flat = np.pad(np.take_along_axis(places, order, axis=-1), missing, constant_values=-1)
    return *result, np.moveaxis(flat, -1, axis).reshape(-1).astype(np.int64)


def top_gradient_spec(op: Operator, dvalues: ArraySpec, indices: ArraySpec, x: ArraySpec) -> ArraySpec:
    need_floats(op, (dvalues, indices, x), (0, 2))
    need_integers(indices, "indices must be integers")
    axis = canonical_axis(op.args.get("axis", -1), x.shape)
    wanted = resized(x.shape, axis, indices.shape[axis] if len(indices.shape) == len(x.shape) else 0)
    if not dvalues.shape == indices.shape == wanted:
        raise misfit(f"dvalues {described(dvalues)} and indices {described(indices)} must have the shape {wanted}.")
    return ArraySpec(x.shape, dvalues.dtype)


def check_places(op: Operator, indices: Array, size: int) -> None:
    """Raise unless `indices` are places of `size` elements, or below 0 where there was nothing left to pick."""
    if size:
        check_indices(op, 1, np.maximum(indices, 0), size)


def top_k_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    if g_output[0] is None:
        return [], [None] * len(op.inputs)
    return op_gradient(op, [g_output[0], op.outputs[1], op.inputs[0]])


@gradient_of("TopK", "dvalues, indices, x -> dx", "∂dvalues = ∂dx at indices", infer=top_gradient_spec, rule=top_k_rule)
def top_k_gradient(op: Operator, dvalues: Array, indices: Array, x: Array) -> Array:
    axis = canonical_axis(op.args.get("axis", -1), x.shape)
    size = x.shape[axis]
    check_places(op, indices, size)
    lead = np.moveaxis(x, axis, -1).shape[:-1]
    dx = np.zeros_like(x, dtype=dvalues.dtype, shape=(prod(lead), size))
    picked = (prod(lead), indices.shape[axis])
    places = np.moveaxis(indices, axis, -1).reshape(picked)[:, :size]
    dx[np.arange(len(dx), like=places)[:, None], places] = np.moveaxis(dvalues, axis, -1).reshape(picked)[:, :size]
    return np.moveaxis(dx.reshape(*lead, size), -1, axis)


def top_second_spec(op: Operator, dvalues: ArraySpec, indices: ArraySpec, g_dx: ArraySpec) -> ArraySpec:
    top_gradient_spec(op, dvalues, indices, g_dx)
    return ArraySpec(dvalues.shape, g_dx.dtype)


@gradient_of(
    "TopKGradient",
    "dvalues, indices, ∂dx -> ∂dvalues",
    "the gradient of ∂dx is that of ∂dvalues at indices, 0 elsewhere",
    infer=top_second_spec,
    second=by("TopKGradient", "∂∂dvalues, indices, ∂dx -> ∂∂dx"),
)
def top_k_gradient_gradient(op: Operator, dvalues: Array, indices: Array, g_dx: Array) -> Array:
    """Gradient of TopKGradient; 0 where there was nothing left to pick."""
    axis = canonical_axis(op.args.get("axis", -1), g_dx.shape)
    check_places(op, indices, g_dx.shape[axis])
    missing = [(0, 0)] * g_dx.ndim
    missing[axis] = 0, max(indices.shape[axis] - g_dx.shape[axis], 0)
    there = indices[(slice(None),) * axis + (slice(0, g_dx.shape[axis]),)]
    return np.pad(np.take_along_axis(g_dx, there, axis=axis), missing)


def place_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    axis = canonical_axis(op.args.get("axis", -1), x.shape)
    if not x.shape[axis]:
        raise misfit(f"x of shape {x.shape} has no elements along axis {axis}.")
    reduced = (1,) if op.args.get("keepdims", 1) else ()
    return ArraySpec((*x.shape[:axis], *reduced, *x.shape[axis + 1 :]), INT64)


PLACE: dict[str, Any] = {
    "signature": "x -> y",
    "derivative": "dx = 0",
    "infer": place_spec,
    "args": {"axis": -1, "keepdims": 1},
    "constant": True,
}


@operator("ArgMax", formula="y = argmax x", **PLACE)
def arg_max(op: Operator, x: Array) -> Array:
    """Place of the largest element along `axis` (default: the last), int64; the first of equal ones."""
    return np.argmax(x, axis=op.args.get("axis", -1), keepdims=bool(op.args.get("keepdims", 1)))


@operator("ArgMin", formula="y = argmin x", **PLACE)
def arg_min(op: Operator, x: Array) -> Array:
    """Place of the smallest element along `axis` (default: the last), int64; the first of equal ones."""
    return np.argmin(x, axis=op.args.get("axis", -1), keepdims=bool(op.args.get("keepdims", 1)))


def one_hot_spec(op: Operator, indices: ArraySpec, size: ArraySpec) -> None:
    for spec in (indices, size):
        need_integers(spec, "indices (n,) and size must be integers")
    if len(indices.shape) != 1 or prod(size.shape) != 1:
        raise misfit(f"indices must be (n,) and size one integer, got {described(indices)} and {described(size)}.")


@operator(
    "OneHot",
    "indices, size -> y",
    "yᵢⱼ = 1 where j = indicesᵢ",
    "none: indices are integers",
    infer=one_hot_spec,
    constant=True,
)
def one_hot(op: Operator, indices: Array, size: Array) -> Array:
    """A row for each index with 1 at its place. indices: integers (n,), size: one integer -> float32 (n, size)."""
    width = int(size.reshape(()).tolist())
    if width < 0:
        raise RunError(f"size is {width}.", kind="bad_value", ways_out=["Give 0 or more."])
    check_indices(op, 0, indices, width)
    return (indices[:, None] == np.arange(width, like=indices)).astype(np.float32)


def batch_one_hot_spec(op: Operator, x: ArraySpec, lengths: ArraySpec, values: ArraySpec) -> ArraySpec:
    if len(x.shape) != 2 or lengths.shape != x.shape[1:] or len(values.shape) != 1:
        raise misfit(
            f"x must be a matrix (n, m), lengths (m,) and values (k,); got {described(x)}, {described(lengths)} "
            f"and {described(values)}."
        )
    need_integers(lengths, f"lengths must be integers {lengths.shape}")
    return ArraySpec((x.shape[0], values.shape[0]), x.dtype)


@operator(
    "BatchOneHot",
    "x, lengths, values -> y",
    "yᵢⱼ = 1 where xᵢ = valuesⱼ in the column that value j stands for",
    "dx = 0",
    infer=batch_one_hot_spec,
    constant=True,
)
def batch_one_hot(op: Operator, x: Array, lengths: Array, values: Array) -> Array:
    """One-hot codes of each column. x: (n, m), lengths: (m,), values: (sum of lengths,) -> y: like x, (n, values).

    The first lengths[0] values are what column 0 may hold, and so on.
    """
    counts = lengths.tolist()
    if min(counts, default=0) < 0 or sum(counts) != len(values):
        raise RunError(
            f"lengths {counts[:8]} do not add up to the {len(values)} values.",
            kind="bad_value",
            ways_out=["Say for each column of x how many values it may hold."],
        )
    columns = [column for column, count in enumerate(counts) for _ in range(count)]
    return (x[:, np.array(columns, dtype=np.int64, like=x)] == values).astype(x.dtype)


def mask_spec(op: Operator, x: ArraySpec, mask: ArraySpec) -> tuple[None, ...]:
    """Inference of BooleanMask: how much passes is data."""
    if mask.dtype != np.bool_ or mask.shape != x.shape[:1] or not x.shape:
        raise misfit(
            f"mask must be bool {x.shape[:1]}, one for each row of x {x.shape}; got {described(mask)}.",
            AS_BOOL,
        )
    return (None,) * len(op.outputs)


@operator("BooleanMask", "x, mask -> y, indices?", "y = x[mask]", "dx[mask] = dy, 0 elsewhere", infer=mask_spec)
def boolean_mask(op: Operator, x: Array, mask: Array) -> Array | tuple[Array, Array]:
    """The rows of x for which `mask` is true. x: (n, ...), mask: bool (n,) -> y: (k, ...), indices: int64 (k,)."""
    return x[mask] if len(op.outputs) == 1 else (x[mask], np.flatnonzero(mask))


def mask_gradient_spec(op: Operator, mask: ArraySpec, dy: ArraySpec) -> ArraySpec:
    need_floats(op, (mask, dy), (1,))
    need_rows(op, 1, dy)
    if mask.dtype != np.bool_ or len(mask.shape) != 1:
        raise misfit(f"mask must be bool (n,), got {described(mask)}.", AS_BOOL)
    return ArraySpec((*mask.shape, *dy.shape[1:]), dy.dtype)


def boolean_mask_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    gradient_op, g_input = op_gradient(op, [op.inputs[1], g_output[0]])
    return (gradient_op, g_input) if g_output[0] is not None else ([], [None, None])


@gradient_of(
    "BooleanMask",
    "mask, dy -> dx",
    "∂dy = ∂dx[mask]",
    infer=mask_gradient_spec,
    rule=boolean_mask_rule,
    second=by("", "∂dx, mask -> ∂dy"),
)
def boolean_mask_gradient(op: Operator, mask: Array, dy: Array) -> Array:
    if mask.sum() != dy.shape[0]:
        raise misfit(f"dy must have one row for each of the {int(mask.sum())} that pass, it has {dy.shape[0]}.")
    dx = np.zeros_like(dy, shape=(*mask.shape, *dy.shape[1:]))
    dx[mask] = dy
    return dx
