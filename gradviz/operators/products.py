"""More linear maps: products of batches of matrices, and FC with its weights transposed."""

import numpy as np

from ..program import Operator
from .broadcasting import product_gradient_rule, sum_to
from .gradients import gradient_of
from .inference import misfit, need_floats, need_shape, result_dtype
from .linear import factors_of
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
    args={"trans_a": 0, "trans_b": 0, "broadcast": 0},
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


def batch_gradient_spec(op: Operator, dy: ArraySpec, a: ArraySpec, b: ArraySpec) -> tuple[ArraySpec, ArraySpec]:
    need_floats(op, (dy, a, b))
    wanted = batch_spec(op, a, b).shape
    need_shape("dy", dy, wanted)
    return ArraySpec(a.shape, result_dtype(dy, b)), ArraySpec(b.shape, result_dtype(dy, a))


def batch_matmul_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Each factor's gradient is a product of the other factor and dy; summed over what `broadcast` stretched."""
    a, b, dy = op.inputs[0], op.inputs[1], g_output[0]
    if op.args.get("broadcast", 0):
        return op_gradient(op, [dy, a, b], wanted=(0, 1))
    made = [
        gradient_operator(op, "BatchMatMul", reads, [gradient_name(x)], flags)
        for (reads, flags), x in zip(factors_of(op, dy), (a, b), strict=True)
    ]
    return made, [*map(gradient_name, op.inputs)]


@gradient_of(
    "BatchMatMul",
    "dy, a, b -> da, db",
    formula="da = dy·bᵀ, db = aᵀ·dy, summed over the matrices that a or b was stretched to",
    derivative="∂dy = ∂da·b + a·∂db, ∂a = dy·∂dbᵀ, ∂b = ∂daᵀ·dy",
    infer=batch_gradient_spec,
    rule=batch_matmul_rule,
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


register_gradient("BatchMatMulGradient")(product_gradient_rule)
