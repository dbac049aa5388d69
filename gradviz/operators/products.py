"""More linear maps: products of batches of matrices, and FC with its weights transposed."""

from typing import Any

import numpy as np

from ..program import Operator
from .broadcasting import sum_to
from .gradients import gradient_of
from .inference import described, misfit, need_floats, result_dtype
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


def factor_shapes(op: Operator, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shapes of a and b as batches of matrices that are multiplied: transposed, a vector a as a row, b as a column.

    Raises:
        RunError: ``shape_mismatch``, they are no matrices, or do not go together.
    """
    fewest = 1 if op.args.get("broadcast", 0) else 2
    if min(len(a), len(b)) < fewest:
        raise misfit(
            f"a and b must be matrices or batches of them, their shapes are {a} and {b}.",
            *(["Set broadcast=1 for products with vectors."] if a and b else []),
        )
    a = (1, *a) if len(a) == 1 else turned(a, op.args.get("trans_a", 0))
    b = (*b, 1) if len(b) == 1 else turned(b, op.args.get("trans_b", 0))
    if a[-1] != b[-2]:
        raise misfit(f"the matrices of a {a} have {a[-1]} columns, those of b {b} {b[-2]} rows.")
    return a, b


def turned(shape: tuple[int, ...], is_transposed: int) -> tuple[int, ...]:
    """The shape of a batch of matrices after they are transposed."""
    return (*shape[:-2], shape[-1], shape[-2]) if is_transposed else shape


def batch_spec(op: Operator, a: ArraySpec, b: ArraySpec) -> ArraySpec:
    """Inference of BatchMatMul."""
    need_floats(op, (a, b))
    (*batch, rows, _), (*other, _, columns) = factor_shapes(op, a.shape, b.shape)
    if op.args.get("broadcast", 0):
        try:
            batch = [*np.broadcast_shapes(tuple(batch), tuple(other))]
        except ValueError:
            raise misfit(f"the batches {(*batch,)} of a and {(*other,)} of b do not broadcast.") from None
    elif batch != other:
        raise misfit(f"a {a.shape} and b {b.shape} are not batches of one shape.", "Set broadcast=1 to stretch them.")
    of_a, of_b = [rows] if len(a.shape) > 1 else [], [columns] if len(b.shape) > 1 else []
    return ArraySpec((*batch, *of_a, *of_b), result_dtype(a, b))


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

    Each is transposed where `trans_a` or `trans_b` is 1. With broadcast=1 the batches broadcast, and a vector a or b,
    (k,), is one row or one column, which y is without.
    """
    return np.matmul(as_given(a, op.args.get("trans_a", 0)), as_given(b, op.args.get("trans_b", 0)))


def as_given(x: Array, is_transposed: int) -> Array:
    """A factor, its matrices transposed; a vector is not."""
    return np.swapaxes(x, -1, -2) if is_transposed and x.ndim > 1 else x


@register_gradient("BatchMatMul")
def batch_matmul_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Each factor's gradient is a product of the other factor and dy; summed over what `broadcast` stretched."""
    a, b, dy = op.inputs[0], op.inputs[1], g_output[0]
    if op.args.get("broadcast", 0):
        return op_gradient(op, [dy, a, b], wanted=(0, 1))
    match bool(op.args.get("trans_a", 0)), bool(op.args.get("trans_b", 0)):
        case False, False:
            da, db = ([dy, b], {"trans_b": 1}), ([a, dy], {"trans_a": 1})
        case False, True:
            da, db = ([dy, b], {}), ([dy, a], {"trans_a": 1})
        case True, False:
            da, db = ([b, dy], {"trans_b": 1}), ([a, dy], {})
        case _:
            da, db = ([b, dy], {"trans_a": 1, "trans_b": 1}), ([dy, a], {"trans_a": 1, "trans_b": 1})
    names = [gradient_name(a), gradient_name(b)]
    made = [
        gradient_operator(op, "BatchMatMul", reads, [name], args)
        for name, (reads, args) in zip(names, (da, db), strict=True)
    ]
    return made, names


def batch_gradient_spec(op: Operator, dy: ArraySpec, a: ArraySpec, b: ArraySpec) -> tuple[ArraySpec, ArraySpec]:
    """Inference of BatchMatMulGradient."""
    need_floats(op, (dy, a, b))
    wanted = batch_spec(op, a, b).shape
    if dy.shape != wanted:
        raise misfit(f"dy must have the shape {wanted}, got {described(dy)}.")
    return ArraySpec(a.shape, result_dtype(dy, b)), ArraySpec(b.shape, result_dtype(dy, a))


@operator(
    "BatchMatMulGradient",
    "dy, a, b -> da, db",
    formula="da = dy·bᵀ, db = aᵀ·dy, summed over the matrices that a or b was stretched to",
    derivative="∂dy = ∂da·b + a·∂db, ∂a = dy·∂dbᵀ, ∂b = ∂daᵀ·dy",
    infer=batch_gradient_spec,
    args=BATCH_ARGS,
)
def batch_matmul_gradient(op: Operator, dy: Array, a: Array, b: Array) -> tuple[Array, Array]:
    """Gradients of BatchMatMul with broadcast=1."""
    of_a, of_b = factor_shapes(op, a.shape, b.shape)
    rows, columns = as_given(a, op.args.get("trans_a", 0)), as_given(b, op.args.get("trans_b", 0))
    batch = np.broadcast_shapes(of_a[:-2], of_b[:-2])
    dy = dy.reshape(*batch, of_a[-2], of_b[-1])
    da = sum_to(np.matmul(dy, np.swapaxes(columns.reshape(of_b), -1, -2)), of_a)
    db = sum_to(np.matmul(np.swapaxes(rows.reshape(of_a), -1, -2), dy), of_b)
    return (
        as_given(da, a.ndim > 1 and op.args.get("trans_a", 0)).reshape(a.shape),
        as_given(db, b.ndim > 1 and op.args.get("trans_b", 0)).reshape(b.shape),
    )


@register_gradient("BatchMatMulGradient")
def batch_matmul_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """∂a and ∂b come from BatchMatMulGradient itself, of ∂da and ∂db in place of a and b."""
    do, (dy, a, b), (g_da, g_db) = Steps(op), op.inputs, g_output
    g_dy = do.sum(
        None if g_da is None else do("BatchMatMul", g_da, b, **op.args),
        None if g_db is None else do("BatchMatMul", a, g_db, **op.args),
    )
    g_a, g_b = do.several(2, op.type, dy, g_da or a, g_db or b, **op.args)
    return do.answer(g_dy, g_a if g_db else None, g_b if g_da else None)


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


@gradient_of(
    "FCTransposed",
    "x, w, dy -> dw, db, dx?",
    derivative="∂dy = x·∂dw + ∂db + ∂dx·w, ∂x = dy·∂dwᵀ, ∂w = ∂dxᵀ·dy",
    infer=fc_gradient_spec,
)
def fc_transposed_gradient(op: Operator, x: Array, w: Array, dy: Array) -> tuple[Array, ...]:
    """Gradients of FCTransposed; dx only where it is an output."""
    axis = op.args.get("axis", 1)
    weights = as_matrix(w, op.args.get("axis_w", 1))
    dy = dy.reshape(matrix_shape(x.shape, axis)[0], weights.shape[1])
    made = np.matmul(as_matrix(x, axis).T, dy).reshape(w.shape), dy.sum(axis=0)
    return made if len(op.outputs) == 2 else (*made, np.matmul(dy, weights.T).reshape(x.shape))


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
