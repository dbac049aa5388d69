"""Moving elements without changing them: Reshape, Transpose, Concat, Split. Each is undone by its gradient."""

from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np

from ..program import Operator, RunError
from .gradients import gradient_name, gradient_operator, op_gradient
from .inference import canonical_axis, misfit, need_integers, result_dtype
from .registry import Array, Arrays, ArraySpec, Gradients, RuleAnswer, each_of, operator, register_gradient

PREFIXES = "", "Depth"
JOIN_ARGS: dict[str, Any] = {"axis": 1, "add_axis": 0, "order": "NCHW"}


def new_shape(old: tuple[int, ...], wanted: tuple[int, ...], zero_copies: bool = True) -> tuple[int, ...]:
    """`wanted` with 0 replaced by the size that `old` has there, and one -1 by what is left of `old`.

    Args:
        zero_copies: False: 0 means 0.

    Raises:
        RunError: ``shape_mismatch``, the elements of `old` do not fill `wanted`.
    """
    sizes = list(wanted)
    for axis, size in enumerate(wanted):
        if size == 0 and zero_copies:
            if axis >= len(old):
                raise misfit(f"shape {wanted} copies dimension {axis}, which x of shape {old} does not have.")
            sizes[axis] = old[axis]
    if sizes.count(-1) > 1 or min(sizes, default=0) < -1:
        raise misfit(f"{wanted} is no shape.", "Give sizes, 0 to copy one from x, and at most one -1 for the rest.")
    if -1 in sizes:
        product = -prod(sizes)
        sizes[sizes.index(-1)] = prod(old) // product if product else 0
    if prod(sizes) != prod(old):
        raise misfit(
            f"x of shape {old} has {prod(old)} elements and cannot take the shape {wanted}.",
            "Give sizes whose product is the number of elements, with -1 for one that follows from the others.",
        )
    return tuple(sizes)


def reshape_spec(op: Operator, x: ArraySpec, shape: ArraySpec | None = None) -> tuple[ArraySpec | None, ArraySpec]:
    """Inference of Reshape; y is None where its shape is data."""
    old_shape = ArraySpec((len(x.shape),), np.dtype(np.int64))
    if shape is not None:
        need_integers(shape, "the new shape must be integers (n,)", ndim=1)
        return None, old_shape
    if "shape" not in op.args:
        raise RunError(
            "Reshape does not know the new shape.",
            kind="bad_argument",
            ways_out=["Give it as shape=[...], or as a second input of integers."],
        )
    return ArraySpec(new_shape(x.shape, tuple(op.args["shape"])), x.dtype), old_shape


@operator(
    "Reshape",
    "x, shape? -> y, old_shape",
    "y = x in another shape",
    "dx = dy in the shape of x",
    infer=reshape_spec,
    args={"shape": ()},
)
def reshape(op: Operator, x: Array, shape: Array | None = None) -> tuple[Array, Array]:
    """The elements of x, row by row, in another shape. old_shape: int64, that of x.

    The new shape is the argument `shape` or the second input: 0 copies a size from x, one -1 takes what is left.
    """
    if shape is None:
        sizes = new_shape(x.shape, tuple(op.args["shape"]))
    else:
        # The old shape of an empty array, which undoes a Reshape, holds zeros that mean 0.
        wanted = tuple(shape.tolist())
        sizes = new_shape(x.shape, wanted, zero_copies=bool(x.size) or -1 in wanted)
    return x.reshape(sizes), np.array(x.shape, dtype=np.int64, like=x)


@register_gradient("Reshape")
def reshape_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    x_grad = gradient_name(op.inputs[0])
    gradient_op = gradient_operator(op, "Reshape", [g_output[0], op.outputs[1]], [x_grad, f"_{x_grad}_dims"], {})
    return gradient_op, [x_grad, *[None] * (len(op.inputs) - 1)]


def transpose_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    axes = op.args.get("axes", ())
    if not axes:
        return ArraySpec(x.shape[::-1], x.dtype)
    if sorted(axes) != list(range(len(x.shape))):
        raise misfit(
            f"axes {list(axes)} do not order the {len(x.shape)} dimensions of x of shape {x.shape}.",
            f"Name each of 0 to {len(x.shape) - 1} once, or leave axes out to reverse them."
            if x.shape
            else "Leave axes out.",
        )
    return ArraySpec(tuple(x.shape[axis] for axis in axes), x.dtype)


@operator(
    "Transpose", "x -> y", "y = xᵀ", "dx = dyᵀ, by the inverse permutation", infer=transpose_spec, args={"axes": ()}
)
def transpose(op: Operator, x: Array) -> Array:
    """x with its dimensions in the order `axes`; reversed where `axes` is not given."""
    return np.transpose(x, op.args.get("axes") or None)


@register_gradient("Transpose")
def transpose_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    axes = op.args.get("axes", ())
    inverse = {"axes": sorted(range(len(axes)), key=axes.__getitem__)} if axes else {}
    return op_gradient(op, [g_output[0]], type="Transpose", args=inverse)


def join_axis(op: Operator, shape: tuple[int, ...]) -> int:
    """The axis along which Concat joins or Split cuts, for the shape of what is whole."""
    return canonical_axis(op.args.get("axis", 3 if op.args.get("order") == "NHWC" else 1), shape)


OF_ONE_RANK = (
    "Reshape them, so that all have equally many dimensions.",
    "Sums of sparse gradients join indices: give each Gather of one table indices (n,), or dense_gradient=1.",
)


def concat_spec(op: Operator, *xs: ArraySpec) -> tuple[ArraySpec, ArraySpec]:
    first, info = xs[0].shape, ArraySpec((len(xs),), np.dtype(np.int32))
    added = bool(op.args.get("add_axis", 0))
    axis = join_axis(op, (*first, 1) if added else first)
    for position, x in enumerate(xs):
        same = len(x.shape) == len(first) and all(
            size == wanted for i, (size, wanted) in enumerate(zip(x.shape, first, strict=True)) if added or i != axis
        )
        if not same:
            raise misfit(
                f"Concat along {'a new axis' if added else 'axis'} {axis}: input 0 is {first}, "
                f"input {position} is {x.shape}; all other sizes must be equal.",
                *([] if len(x.shape) == len(first) else OF_ONE_RANK),
            )
    size = len(xs) if added else sum(x.shape[axis] for x in xs)
    return ArraySpec((*first[:axis], size, *first[axis if added else axis + 1 :]), result_dtype(*xs)), info


@each_of(
    PREFIXES,
    operator,
    "{}Concat",
    "x, xs... -> y, split_info",
    "y = [x₀, x₁, ...]",
    "dxᵢ = the part of dy that came from xᵢ",
    infer=concat_spec,
    args=JOIN_ARGS,
)
def concat(op: Operator, *xs: Array) -> tuple[Array, Array]:
    """Arrays joined along `axis` (default 1), or along a new axis there with add_axis=1.

    split_info: int32 (inputs,), the size of each along that axis.
    """
    if op.args.get("add_axis", 0):
        axis = join_axis(op, (*xs[0].shape, 1))
        return np.stack(xs, axis=axis), np.array([1] * len(xs), dtype=np.int32, like=xs[0])
    axis = join_axis(op, xs[0].shape)
    sizes = [x.shape[axis] for x in xs]
    return np.concatenate(xs, axis=axis), np.array(sizes, dtype=np.int32, like=xs[0])


@each_of(PREFIXES, register_gradient, "{}Concat")
def concat_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    if g_output[0] is None:
        return [], [None] * len(op.inputs)
    return op_gradient(op, [g_output[0], op.outputs[1]], range(len(op.inputs)), "Split")


def part_sizes(op: Operator, size: int, axis: int, wanted: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of the parts into which Split cuts `size`; `wanted`: those that were given, () for equal ones."""
    count = len(op.outputs)
    if op.args.get("add_axis", 0) and (size != count or any(part != 1 for part in wanted)):
        raise misfit(f"axis {axis} has {size} elements; with add_axis=1 each of the {count} parts must take one.")
    if not wanted:
        if size % count:
            raise misfit(
                f"axis {axis} has {size} elements and cannot be cut into {count} equal parts.",
                "Say the sizes of the parts: split=[...].",
            )
        return (size // count,) * count
    if len(wanted) != count or min(wanted) < 0 or sum(wanted) != size:
        raise misfit(
            f"split {list(wanted)} does not cut the {size} elements of axis {axis} into {count} parts.",
            f"Give {count} sizes that add up to {size}.",
        )
    return wanted


def split_spec(op: Operator, x: ArraySpec, sizes: ArraySpec | None = None) -> tuple[ArraySpec | None, ...]:
    """Inference of Split; None for each part where the sizes are data."""
    axis = join_axis(op, x.shape)
    if sizes is not None:
        need_integers(sizes, f"the sizes must be integers ({len(op.outputs)},), one a part", (len(op.outputs),))
        return (None,) * len(op.outputs)
    parts = part_sizes(op, x.shape[axis], axis, tuple(op.args.get("split", ())))
    before, behind = x.shape[:axis], x.shape[axis + 1 :]
    if op.args.get("add_axis", 0):
        return (ArraySpec((*before, *behind), x.dtype),) * len(parts)
    return tuple(ArraySpec((*before, size, *behind), x.dtype) for size in parts)


@each_of(
    PREFIXES,
    operator,
    "{}Split",
    "x, sizes? -> y, ys...",
    "[y₀, y₁, ...] = x",
    "dx = [dy₀, dy₁, ...], zeros for parts without gradient",
    infer=split_spec,
    args={**JOIN_ARGS, "split": ()},
)
def split(op: Operator, x: Array, sizes: Array | None = None) -> Arrays:
    """x cut along `axis` (default 1) into as many parts as there are outputs.

    Their sizes: the second input, the argument `split`, or equal. With add_axis=1 each has size 1 and loses the axis.
    """
    axis = join_axis(op, x.shape)
    wanted = tuple(op.args.get("split", ())) if sizes is None else tuple(sizes.tolist())
    ends = accumulate(part_sizes(op, x.shape[axis], axis, wanted), initial=0)
    before = (slice(None),) * axis
    if op.args.get("add_axis", 0):
        return tuple(x[(*before, start)] for start, _ in pairwise(ends))
    return tuple(x[(*before, slice(start, end))] for start, end in pairwise(ends))


def with_zeros(op: Operator, g_output: Gradients) -> tuple[list[Operator], Gradients]:
    """`g_output`, zeros standing in for outputs without gradient, and the operators that make them."""
    zeros = {i: f"_{gradient_name(op.inputs[0])}_zeros_{i}" for i, gradient in enumerate(g_output) if gradient is None}
    fills = [
        gradient_operator(op, "ConstantFill", [op.outputs[i]], [name], {"value": 0.0}) for i, name in zeros.items()
    ]
    return fills, [zeros.get(i, gradient) for i, gradient in enumerate(g_output)]


@each_of(PREFIXES, register_gradient, "{}Split")
def split_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Joins the gradients of the parts; a part without one contributes zeros of its size."""
    x_grad = gradient_name(op.inputs[0])
    fills, parts = with_zeros(op, g_output)
    join = gradient_operator(op, "Concat", parts, [x_grad, f"_{x_grad}_dims"])
    return [*fills, join], [x_grad, *[None] * (len(op.inputs) - 1)]
