"""Dimensions flattened, added, taken away, or measured: the elements stay in their order."""

from collections.abc import Callable
from functools import wraps
from math import prod
from typing import Any

import numpy as np

from ..program import Operator, RunError
from .arguments import bad_argument
from .gradients import by
from .inference import matrix_shape, misfit
from .registry import Array, ArraySpec, operator

INT64 = np.dtype(np.int64)
DIMS_ARGS: dict[str, Any] = {"dims": ()}


Shape = tuple[int, ...]
ShapeOf = Callable[[Operator, Shape], Shape]


def in_order(
    type: str, formula: str, derivative: str, undone_by: str = "ResizeLike", **about: Any
) -> Callable[[ShapeOf], ShapeOf]:
    """Define an operator that puts the elements of x, in their order, into the shape that a function tells."""
    rule = by(undone_by, "dy, x -> dx" if undone_by == "ResizeLike" else "dy -> dx")

    def define(shape_of: ShapeOf) -> ShapeOf:
        def infer(op: Operator, x: ArraySpec) -> ArraySpec:
            return ArraySpec(shape_of(op, x.shape), x.dtype)

        def kernel(op: Operator, x: Array) -> Array:
            return x.reshape(shape_of(op, x.shape))

        operator(type, "x -> y", formula, derivative, infer=infer, rule=rule, **about)(wraps(shape_of)(kernel))
        return shape_of

    return define


@in_order("Flatten", "y = x as a matrix", "dx = dy in the shape of x", args={"axis": 1})
def flatten(op: Operator, shape: Shape) -> Shape:
    """x as a matrix: the dimensions before `axis` are its rows, the others its columns."""
    axis = op.args.get("axis", 1)
    return (prod(shape), 1) if axis == len(shape) else matrix_shape(shape, axis)


@in_order("FlattenToVec", "y = x as a vector", "dx = dy in the shape of x")
def flatten_to_vec(op: Operator, shape: Shape) -> Shape:
    """All elements of x, row by row, in one dimension."""
    return (prod(shape),)


def resize_like_spec(op: Operator, x: ArraySpec, like: ArraySpec) -> ArraySpec:
    if prod(x.shape) != prod(like.shape):
        raise misfit(
            f"x of shape {x.shape} has {prod(x.shape)} elements, like of shape {like.shape} has {prod(like.shape)}."
        )
    return ArraySpec(like.shape, x.dtype)


@operator(
    "ResizeLike",
    "x, like -> y",
    "y = x in the shape of like",
    "dx = dy in the shape of x",
    infer=resize_like_spec,
    rule=by("ResizeLike", "dy, x -> dx"),
)
def resize_like(op: Operator, x: Array, like: Array) -> Array:
    """The elements of x in the shape of `like`, which has as many; its values are not read."""
    return x.reshape(like.shape)


def dims_of(op: Operator, ndim: int) -> list[int]:
    """The argument `dims`, in order; `ndim`: how many dimensions the larger array has."""
    dims = sorted(set(op.args.get("dims", ())))
    if not dims:
        raise RunError(f"{op.type} does not know which dimensions.", kind="bad_argument", ways_out=["Give dims=[...]."])
    if dims[0] < 0 or dims[-1] >= ndim:
        raise bad_argument(op, "dims", f"must be from 0 to {ndim - 1}")
    return dims


@in_order("ExpandDims", "y = x with dimensions of 1", "dx = dy without them", "Squeeze", args=DIMS_ARGS)
def expand_dims(op: Operator, shape: Shape) -> Shape:
    """x with a dimension of size 1 at each of `dims`, counted in y."""
    ndim = len(shape) + len(set(op.args.get("dims", ())))
    dims, sizes = dims_of(op, ndim), iter(shape)
    return tuple(1 if axis in dims else next(sizes) for axis in range(ndim))


@in_order("Squeeze", "y = x without dimensions of 1", "dx = dy with them", "ExpandDims", args=DIMS_ARGS)
def squeeze(op: Operator, shape: Shape) -> Shape:
    """x without its dimensions `dims`, which are of size 1."""
    dims = dims_of(op, len(shape))
    if any(shape[axis] != 1 for axis in dims):
        raise misfit(f"dims {dims} of x of shape {shape} are not all of size 1.", "Name dimensions of size 1.")
    return tuple(size for axis, size in enumerate(shape) if axis not in dims)


@in_order(
    "PrependDim",
    "y = x, its first dimension cut in two",
    "dx = dy, its first two dimensions as one",
    "MergeDim",
    args={"dim_size": 1},
)
def prepend_dim(op: Operator, shape: Shape) -> Shape:
    """x: (n, ...) -> y: (dim_size, n / dim_size, ...)."""
    parts = op.args.get("dim_size", 1)
    if parts < 1:
        raise bad_argument(op, "dim_size", "must be at least 1")
    if not shape or shape[0] % parts:
        raise misfit(f"the first dimension of x of shape {shape} cannot be cut into {parts} equal parts.")
    return (parts, shape[0] // parts, *shape[1:])


@in_order("MergeDim", "y = x, its first two dimensions as one", "dx = dy in the shape of x")
def merge_dim(op: Operator, shape: Shape) -> Shape:
    """x: (m, n, ...) -> y: (m · n, ...)."""
    if len(shape) < 2:
        raise misfit(f"x of shape {shape} has no two dimensions to make one of.")
    return (shape[0] * shape[1], *shape[2:])


def sizes_of(op: Operator, shape: tuple[int, ...]) -> list[int]:
    """The sizes that Shape returns: of `axes`, or all."""
    axes = op.args.get("axes", ()) or range(len(shape))
    if any(not 0 <= axis < len(shape) for axis in axes):
        raise misfit(f"axes {list(axes)} are not all among the {len(shape)} dimensions of x of shape {shape}.")
    return [shape[axis] for axis in axes]


@operator(
    "Shape",
    "x -> y",
    "y = the sizes of x",
    "dx = 0",
    infer=lambda op, x: ArraySpec((len(sizes_of(op, x.shape)),), INT64),
    args={"axes": ()},
    constant=True,
)
def shape_(op: Operator, x: Array) -> Array:
    """Sizes of the dimensions of x, or of those in `axes`, int64."""
    return np.array(sizes_of(op, x.shape), dtype=np.int64, like=x)


@operator(
    "Size", "x -> y", "y = how many elements x has", "dx = 0", infer=lambda op, x: ArraySpec((), INT64), constant=True
)
def size(op: Operator, x: Array) -> Array:
    """Number of elements of x, int64 ()."""
    return np.array(x.size, dtype=np.int64, like=x)
