"""Gradients as values: arrays, rows of a table, Variables; how they are checked, added up, and handed out.

No gradient is written into after it has been made, so passes share them freely. What a person gets to hold is an
array of its own.
"""

from collections.abc import Iterable, Sequence
from sys import getrefcount
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..operators.indexing import added_rows
from ..operators.registry import Array
from ..runtime.devices import current, device_of, is_on_gpu
from .faults import bad_gradient, described

if TYPE_CHECKING:
    from .variable import Variable


class Rows(NamedTuple):
    """A sparse gradient of a table: row ``indices[i]`` gets ``values[i]``, rows that repeat add.

    Attributes:
        indices: integers (n,).
        values: (n, ...).
    """

    indices: Array
    values: Array


Gradient = Array | Rows
"""A gradient during a pass."""


class Absent:
    """A gradient that a tape counts on and that is not there after all."""


ABSENT = Absent()


def add(one: Gradient, other: Gradient) -> Gradient:
    """The sum of two gradients of one array, a new one; that of two sparse ones stays sparse."""
    if type(one) is Rows or type(other) is Rows:
        return _add_rows(one, other)
    if type(one) is np.ndarray:
        return np.asarray(one + other)
    with current(device_of(one)):
        return one + other


def _add_rows(one: Gradient, other: Gradient) -> Gradient:
    if type(one) is Rows and type(other) is Rows:
        with current(device_of(one.values)):
            return Rows(np.concatenate([one.indices, other.indices]), np.concatenate([one.values, other.values]))
    rows, array = (one, other) if type(one) is Rows else (other, one)
    return add(array, dense(rows, array.shape))  # type: ignore[union-attr]


def dense(gradient: Gradient, shape: tuple[int, ...]) -> Array:
    """`gradient` as one array of `shape`."""
    if type(gradient) is not Rows:
        return gradient
    with current(device_of(gradient.values)):
        return added_rows(gradient.indices, gradient.values, shape[0])


def joined(parts: Sequence[Array]) -> Gradient | None:
    """The gradient that consists of `parts`: none, one array, or indices (n, ...) and their values (n, ..., ...)."""
    if len(parts) < 2:
        return parts[0] if parts else None
    indices, values = parts
    if indices.ndim == 1:
        return Rows(indices, values)
    with current(device_of(values)):
        return Rows(indices.reshape(-1), values.reshape((indices.size, *values.shape[indices.ndim :])))


def zeros_like(array: Array) -> Array:
    """Zeros in the shape and dtype of `array`, where it lies."""
    with current(device_of(array)):
        return np.zeros_like(array)


def read_only(gradient: Array) -> Array:
    """A view of a gradient that nobody can write into; CuPy has none, so that of a GPU is a copy."""
    if is_on_gpu(gradient):
        with current(device_of(gradient)):
            return gradient.copy()
    view = gradient.view()
    view.setflags(write=False)
    return view


class HandedOut:
    """What people have been given: no array is given twice, though it be the gradient of many Variables.

    Args:
        given: what they hold already.
        seen: whether hooks have seen the gradients of the pass: they may have kept them.
    """

    def __init__(self, given: Iterable[Any] = (), seen: bool = False) -> None:
        self._given = {id(gradient): gradient for gradient in given}
        self._seen = seen

    def own(self, gradient: Any) -> Any:
        """`gradient` itself where nobody else can hold its memory, else a copy. A Variable is shared."""
        if is_on_gpu(gradient):
            with current(device_of(gradient)):
                return gradient.copy()
        if not isinstance(gradient, np.ndarray):
            return gradient
        if self._seen or id(gradient) in self._given or not gradient.flags.writeable or _shares_its_base(gradient):
            return gradient.copy()
        self._given[id(gradient)] = gradient
        return gradient


def _shares_its_base(array: Array) -> bool:
    """Whether `array` is a view of an array that anybody else refers to, be it by another view."""
    base = array.base
    return base is not None and getrefcount(base) > 3  # the view, this variable, and the argument


def checked_array(x: "Variable", gradient: Any, like: Array) -> Array:
    """`gradient` if it is an array of the shape, dtype and device of `like`, the data of `x`.

    Raises:
        GradientError: ``bad_gradient``.
    """
    if isinstance(gradient, np.generic):
        gradient = np.asarray(gradient)
    if not (isinstance(gradient, np.ndarray) or is_on_gpu(gradient)):
        raise bad_gradient(x, f"must be an array, not {type(gradient).__name__}", "Make one: numpy.asarray(gradient).")
    device = device_of(like)
    if gradient.shape == like.shape and gradient.dtype == like.dtype and device_of(gradient) == device:
        return gradient
    ways_out = {
        "Give one number for each element of the data.": gradient.shape != like.shape,
        f"Convert it: gradient.astype(numpy.{like.dtype}).": gradient.dtype != like.dtype,
        f"Copy it to {device}.": device_of(gradient) != device,
    }
    wanted = f"must be {described(like)} as the data, got {described(gradient)}"
    raise bad_gradient(x, wanted, *[way for way, is_one in ways_out.items() if is_one])
