"""The same elements in another shape or order, repeated, joined, cut apart, or some of them: chosen, or the greater."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from ...operators.inference import canonical_axis, misfit
from ...program import RunError
from ...program.errors import repr_of
from ...runtime.devices import current, device_of, guarded, moved
from ..call import Call
from ..faults import call_failed, called
from ..variable import Operand, Variable, as_variables, plain
from .calling import call, cast, unary, variable
from .options import no_option, number, sizes, text, whole

__all__ = [
    "broadcast", "broadcast_to", "concat", "embed_id", "expand_dims", "flatten", "get_item", "maximum", "minimum",
    "moveaxis", "pad", "repeat", "reshape", "split_axis", "squeeze", "stack", "swapaxes", "take", "tile",
    "transpose", "where",
]  # fmt: skip

MOST_EMPTY = 1_000_000
"""Parts into which an axis without elements may be cut."""

_reshape_to, _expand = Call("reshape", "Reshape", {}, 2, (0,)), Call("broadcast_to", "Expand")
_transpose = Call("transpose", "Transpose")

flatten = unary("flatten", "FlattenToVec")


def reshape(x: Operand, shape: int | Sequence[int]) -> Variable:
    """The elements of x, row by row, in `shape`, in which one size may be -1: what is left.

    A reshape to the shape that x has is x itself.
    """
    old, wanted = variable(x), sizes("reshape", "shape", shape)
    if wanted == old.shape:
        return old
    if 0 in wanted:  # to the table's Reshape, 0 copies a size
        if -1 in wanted or prod(wanted) != old.size:  # beside a 0 the rest may be anything: numpy refuses it too
            raise refused("reshape", old, f"x has {old.size} elements and cannot take the shape {wanted}")
        return _reshape_to(old, beside(old, wanted))
    return call("reshape", "Reshape", 2, (0,), shape=wanted)(old)


def transpose(x: Operand, axes: Sequence[int] | None = None) -> Variable:
    """x with its dimensions in the order `axes`; None: reversed."""
    if axes is None:
        return _transpose(x)
    x = variable(x)
    order = [axis_of("transpose", x, axis) for axis in sizes("transpose", "axes", axes)]
    return call("transpose", "Transpose", axes=tuple(order))(x)


def swapaxes(x: Operand, axis1: int, axis2: int) -> Variable:
    """x with two dimensions exchanged."""
    x = variable(x)
    order = list(range(x.ndim))
    one, other = axis_of("swapaxes", x, axis1), axis_of("swapaxes", x, axis2)
    order[one], order[other] = other, one
    return transpose(x, order)


def moveaxis(x: Operand, source: int, destination: int) -> Variable:
    """x with dimension `source` moved to `destination`; the others keep their order."""
    x = variable(x)
    moving = axis_of("moveaxis", x, source)
    order = [axis for axis in range(x.ndim) if axis != moving]
    order.insert(axis_of("moveaxis", x, destination), moving)
    return transpose(x, order)


def squeeze(x: Operand, axis: int | Sequence[int] | None = None) -> Variable:
    """x without the dimensions `axis`, which are of size 1; None: without all of size 1."""
    old = variable(x)
    if axis is None:
        dims = tuple([at for at, size in enumerate(old.shape) if size == 1])
    else:
        dims = tuple([axis_of("squeeze", old, at) for at in sizes("squeeze", "axis", axis)])
    return call("squeeze", "Squeeze", dims=dims)(old) if dims else old


def expand_dims(x: Operand, axis: int) -> Variable:
    """x with a dimension of size 1 at `axis`, counted in the result."""
    x = variable(x)
    at = whole("expand_dims", "axis", axis)
    if not -x.ndim - 1 <= at <= x.ndim:
        raise refused("expand_dims", x, f"axis {axis} does not exist in an array of {x.ndim + 1} dimensions")
    return call("expand_dims", "ExpandDims", dims=(at % (x.ndim + 1),))(x)


def broadcast_to(x: Operand, shape: int | Sequence[int]) -> Variable:
    """x stretched to `shape` by numpy's rules; x itself where it has that shape."""
    old, wanted = variable(x), sizes("broadcast_to", "shape", shape)
    if wanted == old.shape:
        return old
    try:
        fits = np.broadcast_shapes(old.shape, wanted) == wanted
    except ValueError:
        fits = False
    if not fits:
        raise refused("broadcast_to", old, f"x does not stretch to {wanted}", "Only sizes of 1 stretch.")
    return _expand(old, beside(old, wanted))


def broadcast(*xs: Operand) -> tuple[Variable, ...]:
    """Arrays stretched to the shape in which they all broadcast by numpy's rules."""
    variables = as_variables(xs)
    try:
        shape = np.broadcast_shapes(*[x.shape for x in variables])
    except ValueError:
        shapes = " and ".join([str(x.shape) for x in variables])
        raise refused("broadcast", variables[0], f"shapes {shapes} do not broadcast") from None
    return tuple([broadcast_to(x, shape) for x in variables])


def tile(x: Operand, reps: int | Sequence[int]) -> Variable:
    """x repeated `reps` times along each dimension, the last of `reps` for the last one, as numpy's tile."""
    tiled, times = variable(x), sizes("tile", "reps", reps)
    tiled = reshape(tiled, (1,) * (len(times) - tiled.ndim) + tiled.shape)
    for axis, tiles in enumerate(times, tiled.ndim - len(times)):
        if tiles != 1:
            tiled = call("tile", "Tile", tiles=tiles, axis=axis)(tiled)
    return tiled


def repeat(x: Operand, repeats: int, axis: int | None = None) -> Variable:
    """Each element `repeats` times, one behind the other, along `axis`; None: of x as a vector."""
    if axis is None:
        return repeat(flatten(x), repeats, 0)
    x, times = variable(x), whole("repeat", "repeats", repeats)
    at = axis_of("repeat", x, axis)
    shape = (*x.shape[:at], x.shape[at] * times, *x.shape[at + 1 :])
    return reshape(call("repeat", "Tile", tiles=times, axis=at + 1)(expand_dims(x, at + 1)), shape)


def concat(xs: Iterable[Operand], axis: int) -> Variable:
    """Arrays joined along `axis`."""
    return call("concat", "Concat", 2, (0,), axis=whole("concat", "axis", axis))(*_several("concat", xs))


def stack(xs: Iterable[Operand], axis: int = 0) -> Variable:
    """Arrays of one shape joined along a new dimension `axis`."""
    return call("stack", "Concat", 2, (0,), axis=whole("stack", "axis", axis), add_axis=1)(*_several("stack", xs))


def _several(name: str, xs: Any) -> Iterable[Operand]:
    """`xs`, if they can be gone through."""
    if isinstance(xs, Iterable) and getattr(xs, "shape", True):
        return xs
    raise no_option(name, "xs", xs, "a list of arrays")


def split_axis(x: Operand, sections: int | Sequence[int], axis: int) -> tuple[Variable, ...]:
    """x cut along `axis` into so many equal parts, or before each of the places `sections`."""
    x, args = variable(x), dict[str, Any]()
    if isinstance(sections, Sequence | np.ndarray):
        length, cuts = x.shape[axis_of("split_axis", x, axis)], sizes("split_axis", "sections", sections)
        places = [0, *[min(max(at + length if at < 0 else at, 0), length) for at in cuts], length]
        parts = tuple([max(stop - start, 0) for start, stop in pairwise(places)])
        args = {"split": parts}
    else:
        count, length = whole("split_axis", "sections", sections), x.shape[axis_of("split_axis", x, axis)]
        if count < 1 or length % count:
            what = f"axis {axis} has {length} elements and cannot be cut into {count} equal parts"
            raise refused("split_axis", x, what, "Say where to cut it: split_axis(x, [1, 3], axis).")
        if count > max(length, MOST_EMPTY):
            what = f"axis {axis} has no elements, and {count} parts of it are more than the {MOST_EMPTY} there may be"
            raise refused("split_axis", x, what, "Cut it into fewer parts.")
        parts = (0,) * count
    args["axis"] = whole("split_axis", "axis", axis)
    return call("split_axis", "Split", len(parts), tuple(range(len(parts))), **args).several(x)


def pad(x: Operand, pad_width: Any, mode: str = "constant", constant_values: float = 0.0) -> Variable:
    """x with margins as numpy's pad makes them: one width, (before, behind), or such a pair for each dimension.

    Args:
        mode: ``"constant"``, ``"edge"`` or ``"reflect"``.
    """
    x = variable(x)
    try:
        widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2))
    except ValueError:
        raise refused("pad", x, f"pad_width {pad_width} does not tell two widths for each dimension") from None
    pads = sizes("pad", "pad_width", widths.T.ravel().tolist())
    value = number("pad", "constant_values", constant_values)
    return call("pad", "Pad", pads=pads, mode=text("pad", "mode", mode), value=value)(x)


def axis_of(name: str, x: Variable, axis: int) -> int:
    """`axis` counted from the front; raises RunError ``shape_mismatch`` where x has no such dimension."""
    try:
        return canonical_axis(whole(name, "axis", axis), x.shape)
    except RunError as error:
        raise call_failed(error, called(name, ["x"], [x.data])) from None


def beside(x: Variable, numbers: Sequence[int]) -> Variable:
    """Integers (n,) as a constant on the device of x."""
    return Variable(moved(guarded(np.array(numbers, dtype=np.int64)), x.device), requires_grad=False)


def refused(name: str, x: Variable, why: str, *ways_out: str) -> Exception:
    """The error of a call of `name` that does not fit x."""
    return call_failed(misfit(f"{why}.", *ways_out), called(name, ["x"], [x.data]))


_gather, _where = Call("embed_id", "Gather"), Call("where", "Where")
_maximum, _minimum = Call("maximum", "Max"), Call("minimum", "Min")


def get_item(x: Operand, index: Any) -> Variable:
    """``x[index]`` as numpy's arrays answer it: places, slices, ``...``, ``None``, lists or arrays of places, masks.

    An element that is chosen twice gets the gradients of both.
    """
    x = variable(x)
    words: list[str] = []
    arrays: list[Any] = []
    parts = [plain(part) for part in (index if isinstance(index, tuple) else (index,))]
    _check_masks(x, parts)
    for part in parts:
        word, places = _word(x, part, len(arrays))
        words.append(word)
        arrays += places
    return call("get_item", "GetItem", index=", ".join(words) or "...")(x, *arrays)


def _check_masks(x: Variable, parts: Sequence[Any]) -> None:
    """Raise unless each mask among the parts of an index has the shape of the dimensions that it stands for."""
    masks = [(at, mask) for at, mask in enumerate(map(_mask, parts)) if mask is not None]
    if not masks:
        return
    widths = [0 if part is None or part is Ellipsis else 1 for part in parts]
    for at, mask in masks:
        widths[at] = len(mask)
    rest = next((at for at, part in enumerate(parts) if part is Ellipsis), len(parts))
    for at, mask in masks:
        first = sum(widths[:at]) if at < rest else x.ndim - sum(widths[at:])
        sizes_there = x.shape[first : first + len(mask)]
        if len(sizes_there) < len(mask) or any(n not in (0, m) for n, m in zip(mask, sizes_there, strict=True)):
            why = f"a mask of shape {mask} does not fit its dimensions {sizes_there}"
            raise refused("get_item", x, why, "Give it one truth value for each element there.")


def _mask(part: Any) -> tuple[int, ...] | None:
    """The shape of a part of an index that is a mask; None: it is none."""
    if isinstance(part, list):
        try:
            part = np.asarray(part)
        except ValueError:
            return None
    shape: tuple[int, ...] | None = part.shape if getattr(part, "dtype", None) == np.bool_ and part.ndim else None
    return shape


def _word(x: Variable, part: Any, place: int) -> tuple[str, list[Any]]:
    """How the operator GetItem writes a part of an index, and the arrays of places that it stands for."""
    if part is None:
        return "newaxis", []
    if part is Ellipsis:
        return "...", []
    if isinstance(part, slice):
        places = (part.start, part.stop, part.step)
        ends = ["" if place is None else str(whole("get_item", "slice", place)) for place in places]
        return ":".join(ends[:2] if part.step is None else ends), []
    if not isinstance(part, bool | np.bool_) and hasattr(type(part), "__index__") and not getattr(part, "shape", ()):
        return str(whole("get_item", "index", part)), []
    try:
        array = part if hasattr(part, "dtype") else moved(np.asarray(part, None if np.size(part) else int), x.device)
    except ValueError:
        why = f"{repr_of(part)} is no index, as its lists are not of one length"
        raise refused("get_item", x, why, "Make them of one length.") from None
    if array.dtype.kind not in "iub" or (array.dtype.kind == "b" and not array.ndim):
        raise refused("get_item", x, f"{repr_of(part)} is no index", "Use integers, slices, ..., None, or masks.")
    with current(device_of(array)):
        index_arrays = [array] if array.dtype.kind != "b" else list(array.nonzero())
    return ", ".join([f"@{at}" for at in range(place, place + len(index_arrays))]), index_arrays


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
