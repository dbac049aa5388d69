"""Elements and rows chosen by place, by number, by a condition, or because they are greater."""

from operator import index as as_index
from typing import Any

import numpy as np

from ...runtime.devices import current, device_of, moved
from ..call import Call
from ..variable import Operand, Variable, as_variables, plain
from .calling import call, variable
from .conversion import cast
from .shaping import axis_of, broadcast, flatten, refused

_gather, _where = Call("embed_id", "Gather"), Call("where", "Where")
_maximum, _minimum = Call("maximum", "Max"), Call("minimum", "Min")


def get_item(x: Operand, index: Any) -> Variable:
    """``x[index]`` as numpy's arrays answer it: places, slices, ``...``, ``None``, lists or arrays of places, masks.

    An element that is chosen twice gets the gradients of both.
    """
    x = variable(x)
    words: list[str] = []
    arrays: list[Any] = []
    for part in index if isinstance(index, tuple) else (index,):
        word, found = _word(x, part, len(arrays))
        words.append(word)
        arrays += found
    return call("get_item", "GetItem", index=", ".join(words) or "...")(x, *arrays)


def _word(x: Variable, part: Any, place: int) -> tuple[str, list[Any]]:
    """How the operator GetItem writes a part of an index, and the arrays of places that it stands for."""
    part = plain(part)
    if part is None:
        return "newaxis", []
    if part is Ellipsis:
        return "...", []
    if isinstance(part, slice):
        ends = ["" if end is None else str(as_index(end)) for end in (part.start, part.stop, part.step)]
        return ":".join(ends[:2] if part.step is None else ends), []
    if not isinstance(part, bool | np.bool_) and hasattr(part, "__index__") and not getattr(part, "shape", ()):
        return str(as_index(part)), []
    array = part if hasattr(part, "dtype") else moved(np.asarray(part, None if np.size(part) else int), x.device)
    if array.dtype.kind not in "iub" or (array.dtype.kind == "b" and not array.ndim):
        raise refused("get_item", x, f"{part!r} is no index", "Use integers, slices, ..., None, or masks.")
    with current(device_of(array)):
        found = [array] if array.dtype.kind != "b" else list(array.nonzero())
    return ", ".join([f"@{at}" for at in range(place, place + len(found))]), found


def take(x: Operand, indices: Operand, axis: int | None = None) -> Variable:
    """The elements of x at `indices`, integers of any shape, along `axis`; None: of x as a vector."""
    x = variable(x)
    if axis is None:
        return take(flatten(x), indices, 0)
    return get_item(x, (*[slice(None)] * axis_of("take", x, axis), plain(indices)))


def embed_id(ids: Operand, w: Operand) -> Variable:
    """The rows `ids` of the table w. ids: integers of any shape (n, ...), w: (rows, ...) -> (n, ..., ...).

    During a backward pass its gradient consists of the rows that were read; the table's ``grad`` is an array like it.
    """
    return _gather(w, ids)


def where(condition: Operand, x: Operand, y: Operand) -> Variable:
    """x where the condition, truth values, holds, else y; shapes broadcast as numpy's do."""
    x, y = as_variables((x, y))
    return _where(*broadcast(cast(variable(condition, x).detach(), bool), x, y))


def maximum(x: Operand, y: Operand) -> Variable:
    """The greater of x and y, element by element; where they are equal they share the gradient."""
    return _maximum(*broadcast(x, y))


def minimum(x: Operand, y: Operand) -> Variable:
    """The smaller of x and y, element by element; where they are equal they share the gradient."""
    return _minimum(*broadcast(x, y))
