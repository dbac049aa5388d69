"""Arrays seen as matrices: the axes before a given one are the rows, it and those behind it the columns."""

from math import prod

from .inference import misfit
from .registry import Array


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
    """(rows, columns) of an array of `shape` seen as a matrix at `axis`."""
    axis = canonical_axis(axis, shape)
    return prod(shape[:axis]), prod(shape[axis:])


def as_matrix(array: Array, axis: int = 1) -> Array:
    """`array` as a matrix of shape `matrix_shape`; a view where its memory allows."""
    if axis == 1 and array.ndim == 2:
        return array
    return array.reshape(matrix_shape(array.shape, axis))
