"""Rows by their numbers: added up, made dense, written over; what undoes Gather."""

from typing import Any

import numpy as np

from ..program import Operator, RunError
from .gradients import by
from .inference import described, misfit, need_integers, slot
from .registry import Array, Arrays, ArraySpec, operator


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
    total = np.zeros((rows, *tail), dtype=values.dtype, like=values)
    np.add.at(total, indices.reshape(-1), values.reshape((indices.size, *tail)))
    return total


def need_rows(op: Operator, position: int, spec: ArraySpec) -> None:
    """Raise unless input `position` has a first dimension."""
    if not spec.shape:
        raise misfit(f"{slot(op, position)} must have rows, got {described(spec)}.", "Give it at least one dimension.")


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
