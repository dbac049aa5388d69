"""Shape inference that several families share, arrays seen as matrices, and the errors that both raise."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..program import Operator, RunError
from .registry import Array, ArraySpec, lookup

AS_FLOAT = "Convert it before feeding: array.astype(np.float32)."


def misfit(message: str, *ways_out: str) -> RunError:
    """The error for arrays that do not fit an operator; the executor adds which operator and blobs."""
    return RunError(message, kind="shape_mismatch", ways_out=ways_out)


def like_first(op: Operator, first: ArraySpec, *_: ArraySpec) -> ArraySpec:
    """One output like the first input."""
    return first


def elementwise(op: Operator, *specs: ArraySpec) -> ArraySpec:
    """One output of the shape that all inputs share, in their common dtype; floating-point inputs only."""
    need_floats(op, specs)
    return same_shape(op, *specs)


def same_shape(op: Operator, *specs: ArraySpec) -> ArraySpec:
    """One output of the shape that all inputs share, in their common dtype."""
    first = specs[0]
    for position, spec in enumerate(specs):
        if spec.shape != first.shape:
            raise misfit(
                f"all must have one shape; {slot(op, 0)} is {first.shape}, {slot(op, position)} is {spec.shape}.",
                *(["Add stretches dimensions of 1; Sum does not."] if op.type == "Sum" else []),
            )
    return ArraySpec(first.shape, result_dtype(*specs))


def broadcast(op: Operator, *specs: ArraySpec) -> ArraySpec:
    """One output of the inputs' broadcast shape (numpy's rules) and common dtype."""
    try:
        shape = np.broadcast_shapes(*(spec.shape for spec in specs))
    except ValueError:
        shapes = " and ".join(str(spec.shape) for spec in specs)
        raise misfit(
            f"shapes {shapes} do not broadcast.", "Make the trailing dimensions equal, or 1 where they should stretch."
        ) from None
    return ArraySpec(shape, result_dtype(*specs))


def result_dtype(*specs: ArraySpec) -> np.dtype[Any]:
    """The dtype that numpy computes in when these meet."""
    first = specs[0].dtype
    if all(spec.dtype == first for spec in specs):
        return first
    return np.result_type(*(spec.dtype for spec in specs))


def need_floats(op: Operator, specs: Sequence[ArraySpec], positions: Sequence[int] | None = None) -> None:
    """Raise unless the inputs at `positions` (None: all) are floating-point."""
    for position in range(len(specs)) if positions is None else positions:
        spec = specs[position]
        if spec.dtype.kind != "f":
            raise misfit(f"{slot(op, position)} must be floating-point, got {described(spec)}.", AS_FLOAT)


def need_shape(what: str, spec: ArraySpec, shape: tuple[int, ...], of: str = "") -> None:
    """Raise unless the input that `what` names has this shape; `of`: whose it is, as ``"of x"``."""
    if spec.shape != shape:
        raise misfit(f"{what} must have the shape {shape}{of and ' '}{of}, got {described(spec)}.")


def need_integers(spec: ArraySpec, what: str, *shapes: tuple[int, ...], ndim: int | None = None) -> None:
    """Raise unless an input is of integers, as `what` demands: ``"labels must be integers (3,)"``.

    Args:
        shapes: those that it may have; none: any.
        ndim: how many dimensions it has; None: any number.
    """
    if spec.dtype.kind not in "iu":
        raise misfit(f"{what}, got {described(spec)}.", "Convert them before feeding: array.astype(np.int32).")
    if (shapes and spec.shape not in shapes) or ndim not in (None, len(spec.shape)):
        raise misfit(f"{what}, got {described(spec)}.")


def slot(op: Operator, position: int) -> str:
    """What the definition of `op` calls its input `position`, for messages."""
    known = lookup(op.type)
    slots = known.inputs if known else None
    if slots is None or (slots.most is None and position >= slots.least) or position >= len(slots.names):
        return f"input {position}"
    return slots.names[position]


def described(spec: ArraySpec) -> str:
    """``float32 (3, 4)``."""
    return f"{spec.dtype} {spec.shape}"


def canonical_axis(axis: int, shape: tuple[int, ...]) -> int:
    """`axis` counted from the front; a negative one counts from the end.

    Raises:
        RunError: ``shape_mismatch``, an array of `shape` has no such axis.
    """
    ndim = len(shape)
    if not -ndim <= axis < ndim:
        raise misfit(
            f"axis {axis} does not exist in an array of shape {shape}.",
            f"Give an axis from {-ndim} to {ndim - 1}." if ndim else "Give an array with at least one dimension.",
        )
    return axis + ndim if axis < 0 else axis


def matrix_shape(shape: tuple[int, ...], axis: int) -> tuple[int, int]:
    """(rows, columns) of an array of `shape` as a matrix: its rows are the axes before `axis`."""
    axis = canonical_axis(axis, shape)
    return prod(shape[:axis]), prod(shape[axis:])


def as_matrix(array: Array, axis: int = 1) -> Array:
    """`array` as a matrix of shape `matrix_shape`; a view where its memory allows."""
    if axis == 1 and array.ndim == 2:
        return array
    return array.reshape(matrix_shape(array.shape, axis))


def by_rows(values: Array, x: Array) -> Array:
    """One value for each row of x, (n,), where it broadcasts against x, (n, ...)."""
    return values.reshape(x.shape[:1] + (1,) * (x.ndim - 1))
