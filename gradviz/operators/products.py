"""More linear maps: products of batches of matrices, and FC with its weights transposed."""

from typing import Any

import numpy as np

from ..program import Gradient, Operator
from .inference import misfit, need_floats, result_dtype
from .linear import FC_ARGS, fc_gradient_spec, fc_spec, with_bias
from .matrices import as_matrix, canonical_axis, matrix_shape
from .registry import (
    Array,
    ArraySpec,
    Gradients,
    RuleAnswer,
    gradient_name,
    gradient_operator,
    op_gradient,
    operator,
    register_gradient,
)
from .steps import Steps, arriving

BATCH_ARGS: dict[str, Any] = {"trans_a": 0, "trans_b": 0, "broadcast": 0}


def turned(shape: tuple[int, ...], is_transposed: int) -> tuple[int, int]:
    """Rows and columns of the matrices of a batch, after they are transposed."""
    rows, columns = shape[-2:]
    return (columns, rows) if is_transposed else (rows, columns)


def batch_spec(op: Operator, a: ArraySpec, b: ArraySpec) -> ArraySpec:
    """Inference of BatchMatMul."""
    need_floats(op, (a, b))
    if min(len(a.shape), len(b.shape)) < 2:
        raise misfit(f"a and b must be matrices or batches of them, their shapes are {a.shape} and {b.shape}.")
    rows, inner = turned(a.shape, op.args.get("trans_a", 0))
    factors, columns = turned(b.shape, op.args.get("trans_b", 0))
    batch, other = a.shape[:-2], b.shape[:-2]
    if inner != factors:
        raise misfit(f"the matrices of a {a.shape} have {inner} columns, those of b {b.shape} {factors} rows.")
    if op.args.get("broadcast", 0):
        try:
            batch = np.broadcast_shapes(batch, other)
        except ValueError:
            raise misfit(f"the batches {batch} of a and {other} of b do not broadcast.") from None
    elif batch != other:
        raise misfit(f"a {a.shape} and b {b.shape} are not batches of one shape.", "Set broadcast=1 to stretch them.")
    return ArraySpec((*batch, rows, columns), result_dtype(a, b))


@operator(
    "BatchMatMul",
    "a, b -> y",
    formula="y = a·b for each pair of matrices",
    derivative="da = dy·bᵀ, db = aᵀ·dy",
    infer=batch_spec,
    args=BATCH_ARGS,
)
def batch_matmul(op: Operator, a: Array, b: Array) -> Array:
    """Products of matrices. a: (..., n, k), b: (..., k, m) -> y: (..., n, m).

    Each is transposed where `trans_a` or `trans_b` is 1; with broadcast=1 the batches broadcast.
    """
    a = np.swapaxes(a, -1, -2) if op.args.get("trans_a", 0) else a
    return np.matmul(a, np.swapaxes(b, -1, -2) if op.args.get("trans_b", 0) else b)


@register_gradient("BatchMatMul")
def batch_matmul_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Each factor's gradient is a product of the other factor and dy; summed over what broadcasting stretched."""
    a, b, dy = op.inputs[0], op.inputs[1], g_output[0]
    match bool(op.args.get("trans_a", 0)), bool(op.args.get("trans_b", 0)):
        case False, False:
            da, db = ([dy, b], {"trans_b": 1}), ([a, dy], {"trans_a": 1})
        case False, True:
            da, db = ([dy, b], {}), ([dy, a], {"trans_a": 1})
        case True, False:
            da, db = ([b, dy], {"trans_b": 1}), ([a, dy], {})
        case _:
            da, db = ([b, dy], {"trans_a": 1, "trans_b": 1}), ([dy, a], {"trans_a": 1, "trans_b": 1})
    made = [step for x, (reads, args) in ((a, da), (b, db)) for step in product_for(op, x, reads, args)]
    return made, [gradient_name(a), gradient_name(b)]


def product_for(op: Operator, x: str, reads: list[Gradient | None], args: dict[str, Any]) -> list[Operator]:
    """The operators that make the gradient of factor x, the product of `reads`."""
    x_grad = gradient_name(x)
    if not op.args.get("broadcast", 0):
        return [gradient_operator(op, "BatchMatMul", reads, [x_grad], args)]
    wide = f"_{x_grad}_stretched"
    return [
        gradient_operator(op, "BatchMatMul", reads, [wide], {**args, "broadcast": 1}),
        gradient_operator(op, "ExpandGradient", [wide, x], [x_grad], {}),
    ]


@operator(
    "FCTransposed",
    "x, w, b -> y",
    formula="y = x·w + b",
    derivative="dw = xᵀ·dy, db = Σᵢ dyᵢ, dx = dy·wᵀ",
    infer=fc_spec,
    args=FC_ARGS,
)
def fc_transposed(op: Operator, x: Array, w: Array, b: Array) -> Array:
    """Fully connected layer, its weights the other way round than FC's. x: (n, k), w: (k, m), b: (m,) -> y: (n, m).

    x is seen as a matrix at `axis`, w at `axis_w`; y keeps the dimensions of x before `axis`.
    """
    axis = op.args.get("axis", 1)
    y = np.matmul(as_matrix(x, axis), as_matrix(w, op.args.get("axis_w", 1))) + b
    return y.reshape(*x.shape[: canonical_axis(axis, x.shape)], len(b))


@operator(
    "FCTransposedGradient",
    "x, w, dy -> dw, db, dx?",
    formula="dw = xᵀ·dy, db = Σᵢ dyᵢ, dx = dy·wᵀ",
    derivative="∂dy = x·∂dw + ∂db + ∂dx·w, ∂x = dy·∂dwᵀ, ∂w = ∂dxᵀ·dy",
    infer=fc_gradient_spec,
    args=FC_ARGS,
)
def fc_transposed_gradient(op: Operator, x: Array, w: Array, dy: Array) -> tuple[Array, ...]:
    """Gradients of FCTransposed; dx only where it is an output."""
    axis = op.args.get("axis", 1)
    weights = as_matrix(w, op.args.get("axis_w", 1))
    dy = dy.reshape(matrix_shape(x.shape, axis)[0], weights.shape[1])
    made = np.matmul(as_matrix(x, axis).T, dy).reshape(w.shape), dy.sum(axis=0)
    return made if len(op.outputs) == 2 else (*made, np.matmul(dy, weights.T).reshape(x.shape))


@register_gradient("FCTransposed")
def fc_transposed_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [*op.inputs[:2], g_output[0]], wanted=(1, 2, 0))


@register_gradient("FCTransposedGradient")
def fc_transposed_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Products of matrices in the shape of what they are the gradient of; dy is one at its last axis."""
    do, (x, w, dy), (g_dw, g_db, g_dx) = Steps(op), op.inputs, arriving(g_output, 3)
    axis, axis_w = op.args.get("axis", 1), op.args.get("axis_w", 1)
    terms, g_x, g_w = [], None, None
    if g_dw is not None:
        terms.append(do("MatMul", x, g_dw, dy, axis_a=axis, axis_b=axis_w))
        g_x = do("MatMul", dy, g_dw, x, trans_b=1, axis_a=-1, axis_b=axis_w)
    if g_dx is not None:
        terms.append(do("MatMul", g_dx, w, dy, axis_a=axis, axis_b=axis_w))
        g_w = do("MatMul", g_dx, dy, w, trans_a=1, axis_a=axis, axis_b=-1)
    return do.answer(g_x, g_w, with_bias(do, do.sum(*terms), g_db, dy))
