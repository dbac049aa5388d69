"""Elements picked by their numbers along an axis, and what undoes that: rows added up, made dense, written over.

Gather, and BatchGather, which picks the same of each row, see x as (outer, n, inner), the n along the axis. The indices
are picked from each of the outer; with match_outer their first dimensions are those of x before the axis, and each of
the outer has its own.
The gradient of a table, of whose rows Gather picks, is sparse: the rows that were read.
"""

from math import prod
from typing import Any

import numpy as np

from ..program import GradientSlice, Operator, RunError
from .arguments import bad_argument
from .gradients import Steps, by, gradient_of, op_gradient
from .inference import canonical_axis, described, like_forward, misfit, need_integers, slot
from .registry import HALF, Array, Arrays, ArraySpec, Gradients, RuleAnswer, in_single, operator, register_gradient
from .sums import MANY, WIDER

BATCH_ARGS: dict[str, Any] = {"axis": 1, "match_outer": 0}
PICKED = "yᵢⱼ = xᵢₖ, k = indicesⱼ; with match_outer k = indicesᵢⱼ"
ADDED = "dxᵢₖ = Σⱼ dyᵢⱼ where indicesⱼ = k; with match_outer where indicesᵢⱼ = k"


def check_indices(op: Operator, position: int, indices: Array, rows: int, what: str = "index") -> None:
    """Raise RunError (``bad_value``) unless 0 <= index < rows in all of `indices`, input `position` of `op`.

    `what` names one of them.
    """
    fault = first_outside(indices, rows)
    if fault:
        raise RunError(
            f"in {op.inputs[position]}, {what} {fault}.",
            kind="bad_value",
            blobs=[op.inputs[position]],
            ways_out=[f"Count rows from 0 to {rows - 1}." if rows else "There is no row to name: leave it empty."],
        )


def first_outside(indices: Array, rows: int) -> str:
    """The first of `indices` that is not among 0 to rows - 1, and where it is; empty where there is none."""
    if not indices.size or (indices.min() >= 0 and indices.max() < rows):
        return ""
    flat = indices.reshape(-1)
    first = int(((flat < 0) | (flat >= rows)).argmax())
    place = first if indices.ndim == 1 else tuple(int(part) for part in np.unravel_index(first, indices.shape))
    valid = f", 0 to {rows - 1}" if rows else ""
    return f"{int(flat[first])} at position {place} is none of the {rows} rows{valid}"


def added_rows(indices: Array, values: Array, rows: int) -> Array:
    """An array of `rows` rows: row ``indices[i]`` holds the sum of its ``values[i]``, the others are 0.

    Args:
        indices: integers from 0 to rows - 1, of any shape (n, ...).
        values: its shape begins with that of `indices`.
    """
    tail = values.shape[indices.ndim :]
    numbers, dtype = indices.reshape(-1), values.dtype
    if dtype == HALF or (dtype in WIDER and len(numbers) > MANY and np.bincount(numbers.astype(int)).max() > MANY):
        dtype = WIDER[dtype]
    total = np.zeros((rows, *tail), dtype, like=values)
    np.add.at(total, numbers, values.reshape((len(numbers), *tail)).astype(dtype, copy=False))
    return total.astype(values.dtype, copy=False)


def need_rows(op: Operator, position: int, spec: ArraySpec) -> None:
    """Raise unless input `position` has a first dimension."""
    if not spec.shape:
        raise misfit(f"{slot(op, position)} must have rows, got {described(spec)}.", "Give it at least one dimension.")


def axis_of(op: Operator, shape: tuple[int, ...]) -> int:
    """The axis along which `op` picks from an array of `shape`, counted from the front."""
    if "axis" in op.args or op.type == "Gather":
        return canonical_axis(op.args.get("axis", 0), shape)
    if len(shape) < 2:
        raise misfit(f"x must be (b, n, ...), its shape is {shape}.")
    return 1


def gather_spec(op: Operator, x: ArraySpec, indices: ArraySpec) -> ArraySpec:
    need_rows(op, 0, x)
    need_integers(indices, "indices must be integers")
    axis, outer = axis_of(op, x.shape), x.shape[: axis_of(op, x.shape)]
    if not op.args.get("match_outer", 0):
        return ArraySpec((*outer, *indices.shape, *x.shape[axis + 1 :]), x.dtype)
    if indices.shape[:axis] != outer:
        raise misfit(
            f"with match_outer, indices {indices.shape} must begin with the sizes {outer} of x {x.shape} before axis "
            f"{axis}.",
            "Leave match_outer out where all of them pick the same.",
        )
    return ArraySpec((*indices.shape, *x.shape[axis + 1 :]), x.dtype)


@operator(
    "BatchGather",
    "x, indices -> y",
    PICKED,
    ADDED,
    infer=gather_spec,
    args={"match_outer": 0},
    doc="The same elements of each row. x: (b, n, ...), indices: integers, any shape -> y: (b, indices, ...).\n\n"
    "With match_outer=1 each row has its own indices, (b, ...), and y is (indices, ...).",
)
@operator(
    "Gather",
    "x, indices -> y",
    PICKED,
    "for axis = 0 row indicesᵢ of dx gets dyᵢ, repeated rows add; for other axes " + ADDED,
    infer=gather_spec,
    args={"dense_gradient": 0, "axis": 0, "match_outer": 0},
)
def gather(op: Operator, x: Array, indices: Array) -> Array:
    """Rows of x by number, or elements along `axis`. x: (rows, ...), indices: integers, any shape (n, ...) -> (n, ...).

    With match_outer=1 the first dimensions of indices are those of x before the axis, and each picks from its own.
    The gradient of x is sparse where rows are picked; with dense_gradient=1, or another axis, it is an array like x.
    """
    axis = axis_of(op, x.shape)
    check_indices(op, 1, indices, x.shape[axis])
    if not op.args.get("match_outer", 0):
        return np.take(x, indices, axis=axis)
    tail = x.shape[axis + 1 :]
    places = indices.reshape((*x.shape[:axis], prod(indices.shape[axis:]), *[1] * len(tail)))
    return np.take_along_axis(x, places, axis=axis).reshape((*indices.shape, *tail))


@register_gradient("Gather")
def gather_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    x, indices = op.inputs
    if op.args.get("axis", 0) != 0:
        args = {name: value for name, value in op.args.items() if name in BATCH_ARGS}
        return op_gradient(op, [x, indices, g_output[0]], type="BatchGatherGradient", args=args)
    if op.args.get("dense_gradient", 0):
        return op_gradient(op, [indices, g_output[0], x], type="SparseToDense")
    assert isinstance(g_output[0], str)
    return [], [GradientSlice(indices, g_output[0]), None]


@gradient_of(
    "BatchGather",
    "x, indices, dy -> dx",
    "∂dyᵢⱼ = ∂dxᵢₖ, k = indicesⱼ; with match_outer k = indicesᵢⱼ",
    infer=like_forward("dy", integers="indices"),
    args=BATCH_ARGS,
)
@in_single
def batch_gather_gradient(op: Operator, x: Array, indices: Array, dy: Array) -> Array:
    """Gradient of BatchGather, and of Gather along `axis`; an element that was picked twice gets both."""
    axis = axis_of(op, x.shape)
    check_indices(op, 1, indices, x.shape[axis])
    outer, inner, matched = prod(x.shape[:axis]), prod(x.shape[axis + 1 :]), op.args.get("match_outer", 0)
    numbers = indices.reshape(outer if matched else 1, prod(indices.shape[axis:] if matched else indices.shape))
    dx = np.zeros_like(x, dtype=dy.dtype, shape=(outer, x.shape[axis], inner))
    rows = np.arange(outer, like=indices).reshape(-1, 1)
    np.add.at(dx, (rows, numbers), dy.reshape(outer, numbers.shape[1], inner))
    return dx.reshape(x.shape)


@register_gradient("BatchGatherGradient")
def batch_gather_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    do, args = Steps(op), {"axis": 1, **op.args}
    return do.answer(None, None, do("Gather", g_output[0], op.inputs[1], **args))


def to_dense_spec(op: Operator, indices: ArraySpec, values: ArraySpec, like: ArraySpec | None = None) -> Any:
    """Inference of SparseToDense; None where the number of rows is data."""
    need_integers(indices, "indices must be integers")
    count = len(indices.shape)
    if values.shape[:count] != indices.shape:
        raise misfit(
            f"values {values.shape} must have one row for each of the indices {indices.shape}.",
            "Make its first dimensions those of indices.",
        )
    if like is not None:
        need_rows(op, 2, like)
        rows = like.shape[0]
    else:
        rows = op.args.get("output_first_dim", 0)
        if rows < 0:
            raise bad_argument(op, "output_first_dim", "must not be negative", "Leave it out: as many as indices need.")
    return ArraySpec((rows, *values.shape[count:]), values.dtype) if rows or like is not None else None


@operator(
    "SparseToDense",
    "indices, values, like? -> y",
    "yᵣ = Σ valuesᵢ over all i with indicesᵢ = r",
    "dvaluesᵢ = dy[indicesᵢ]",
    infer=to_dense_spec,
    args={"output_first_dim": 0},
    rule=by("Gather", "dy, indices -> dvalues"),
)
@in_single
def sparse_to_dense(op: Operator, indices: Array, values: Array, like: Array | None = None) -> Array:
    """Rows added up by their numbers. indices: integers (n,), values: (n, ...) -> y: (rows, ...).

    As many rows as `like` has, or the argument `output_first_dim`, or one more than the greatest index.
    """
    if like is not None:
        rows = like.shape[0]
    else:
        rows = op.args.get("output_first_dim", 0) or (int(indices.max()) + 1 if indices.size else 0)
    check_indices(op, 0, indices, rows)
    return added_rows(indices, values, rows)


def scatter_spec(op: Operator, x: ArraySpec, indices: ArraySpec, rows: ArraySpec) -> ArraySpec:
    need_rows(op, 0, x)
    need_integers(indices, "indices must be integers (n,)")
    wanted = (*indices.shape, *x.shape[1:])
    if len(indices.shape) != 1 or rows.shape != wanted:
        raise misfit(f"indices must be (n,), slices (n, ...) rows of x {x.shape}; got {indices.shape}, {rows.shape}.")
    if rows.dtype != x.dtype:
        raise misfit(f"slices must have the dtype of x, {x.dtype}, got {described(rows)}.")
    return x


@operator("ScatterAssign", "x, indices, slices -> y", "y = x, but y[indicesᵢ] = slicesᵢ", infer=scatter_spec)
def scatter_assign(op: Operator, x: Array, indices: Array, slices: Array) -> Array:
    """x with some rows replaced. x: (rows, ...), indices: integers (n,), slices: (n, ...) -> y: like x."""
    check_indices(op, 1, indices, x.shape[0])
    y = x.copy()
    y[indices] = slices
    return y


def unique_spec(op: Operator, x: ArraySpec) -> tuple[ArraySpec | None, ...]:
    need_integers(x, "x must be integers (n,)")
    if len(x.shape) != 1:
        raise misfit(
            f"x must be integers (n,), got {described(x)}.",
            "Flatten it with FlattenToVec first; rows of a table can be merged when indices (n,) read them.",
        )
    return (None, ArraySpec(x.shape, np.dtype(np.int32)))[: len(op.outputs)]


@operator("Unique", "x -> y, places?", "y = the distinct numbers of x, x = y[places]", infer=unique_spec)
def unique(op: Operator, x: Array) -> Array | Arrays:
    """Each number of x once, in ascending order. x: integers (n,) -> y: (m,), places: int32 (n,), where x has them."""
    if len(op.outputs) == 1:
        return np.unique(x)
    y, places = np.unique(x, return_inverse=True)
    return y, places.reshape(x.shape).astype(np.int32)
