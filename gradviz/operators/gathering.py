"""Elements picked by their numbers along an axis: Gather, and BatchGather, which picks the same of each row.

x is seen as (outer, n, inner), the n along the axis. The indices are picked from each of the outer; with match_outer
their first dimensions are those of x before the axis, and each of the outer has its own.
The gradient of a table, of whose rows Gather picks, is sparse: the rows that were read.
"""

from math import prod
from typing import Any

import numpy as np

from ..program import GradientSlice, Operator
from .gradients import Steps, gradient_of, op_gradient
from .indexing import check_indices, need_rows
from .inference import canonical_axis, like_forward, misfit, need_integers
from .registry import Array, ArraySpec, Gradients, RuleAnswer, operator, register_gradient

BATCH_ARGS: dict[str, Any] = {"axis": 1, "match_outer": 0}
PICKED = "yᵢⱼ = xᵢₖ, k = indicesⱼ; with match_outer k = indicesᵢⱼ"
ADDED = "dxᵢₖ = Σⱼ dyᵢⱼ where indicesⱼ = k; with match_outer where indicesᵢⱼ = k"


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
