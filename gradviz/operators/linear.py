"""Linear maps: FC, FCTransposed, MatMul and BatchMatMul, and their gradients as products with transposed factors."""

from collections.abc import Iterator
from math import prod

import numpy as np

from ..program import Gradient, Operator
from .broadcasting import product_gradient_rule, sum_to
from .gradients import Steps, arriving, gradient_name, gradient_of, gradient_operator, op_gradient
from .inference import (
    as_matrix,
    canonical_axis,
    contiguous,
    like_forward,
    matrix_shape,
    misfit,
    need_floats,
    result_dtype,
    slot,
)
from .registry import Array, Arrays, ArraySpec, Gradients, RuleAnswer, Specs, operator, register_gradient
from .sums import summed

FC_ARGS = {"axis": 1, "axis_w": 1}
SEEN = "x is seen as a matrix at `axis`, w at `axis_w`; y keeps the dimensions of x before `axis`."

SMALL_PRODUCT = 10**6
"""Multiplications up to which OpenBLAS reads both factors where they lie, and does not rearrange them first."""

FEW_ROWS = 16
"""So few rows go through all weights, or make up their gradient, in less time than rearranging those takes."""

FEW_SUMS = 8
"""So few rows do where each strip's product is added to those before."""


def layer_sizes(op: Operator, w: ArraySpec) -> tuple[int, int]:
    """Outputs and features of a layer with weights `w`: FC has a row for each output, FCTransposed a column."""
    rows, columns = matrix_shape(w.shape, op.args.get("axis_w", 1))
    return (columns, rows) if op.type.startswith("FCTransposed") else (rows, columns)


def strips(matrix: Array, rows: int, few: int = FEW_ROWS) -> Iterator[slice]:
    """The rows of a matrix (m, k) that is multiplied with `rows` rows, or their product: some at a time, if `few`."""
    outputs, features = matrix.shape
    each, is_thin = rows * features, rows <= few and isinstance(matrix, np.ndarray)
    step = SMALL_PRODUCT // each if is_thin and each * outputs > SMALL_PRODUCT >= each else max(1, outputs)
    return (slice(start, start + step) for start in range(0, max(1, outputs), step))


def onto_rows(x: Array, w: Array) -> Array:
    """x·wᵀ. x: (n, k), w: (m, k) -> (n, m). Mostly as (w·xᵀ)ᵀ: BLAS rearranges the second factor, there the smaller."""
    rows, outputs = x.shape[0], w.shape[0]
    if rows > outputs:
        return np.matmul(x, w.T)
    y = np.empty_like(x, np.result_type(x.dtype, w.dtype), shape=(outputs, rows), order="C")
    for strip in strips(w, rows):
        np.matmul(w[strip], x.T, out=y[strip])
    return y.T


def of_rows(y: Array, w: Array) -> Array:
    """y·w. y: (n, m), w: (m, k) -> (n, k)."""
    first, *others = strips(w, y.shape[0], FEW_SUMS)
    x = np.matmul(y[:, first], w[first])
    for strip in others:
        x += np.matmul(y[:, strip], w[strip])
    return x


def outer(a: Array, b: Array) -> Array:
    """aᵀ·b. a: (n, m), b: (n, k) -> (m, k)."""
    w = np.empty_like(b, np.result_type(a.dtype, b.dtype), shape=(a.shape[1], b.shape[1]), order="C")
    parts = [*strips(w, a.shape[0])]
    if len(parts) > 1:  # what is read where it lies is read by rows
        a, b = contiguous(a), contiguous(b)
    for strip in parts:
        np.matmul(a[:, strip].T, b, out=w[strip])
    return w


def fc_spec(op: Operator, x: ArraySpec, w: ArraySpec, b: ArraySpec) -> ArraySpec:
    need_floats(op, (x, w, b))
    axis = canonical_axis(op.args.get("axis", 1), x.shape)
    features = matrix_shape(x.shape, axis)[1]
    outputs, weights = layer_sizes(op, w)
    is_transposed = op.type == "FCTransposed"
    line = "column" if is_transposed else "row"
    if features != weights:
        wanted = b.shape[0] if len(b.shape) == 1 else outputs
        shape = (features, wanted) if is_transposed else (wanted, features)
        raise misfit(
            f"x of shape {x.shape} has {features} features a row, w of shape {w.shape} takes {weights}.",
            f"w must be {shape}: one {line} for each output.",
        )
    if b.shape != (outputs,):
        raise misfit(f"b must have the shape ({outputs},), one for each {line} of w {w.shape}; it has {b.shape}.")
    return ArraySpec((*x.shape[:axis], outputs), result_dtype(x, w, b))


@operator(
    "FCTransposed",
    "x, w, b -> y",
    "y = x·w + b",
    "dw = xᵀ·dy, db = Σᵢ dyᵢ, dx = dy·wᵀ",
    infer=fc_spec,
    args=FC_ARGS,
    doc="Fully connected layer, its weights the other way round than FC's. x: (n, k), w: (k, m), b: (m,) -> y: (n, m)."
    f"\n\n{SEEN}",
)
@operator(
    "FC",
    "x, w, b -> y",
    "y = x·wᵀ + b",
    "dw = dyᵀ·x, db = Σᵢ dyᵢ, dx = dy·w",
    infer=fc_spec,
    args=FC_ARGS,
    doc=f"Fully connected layer. x: (n, k), w: (m, k), b: (m,) -> y: (n, m).\n\n{SEEN}",
)
def fc(op: Operator, x: Array, w: Array, b: Array) -> Array:
    axis, product = op.args.get("axis", 1), of_rows if op.type == "FCTransposed" else onto_rows
    y = product(as_matrix(x, axis), as_matrix(w, op.args.get("axis_w", 1))) + b
    return y if axis == 1 and x.ndim == 2 else y.reshape(*x.shape[: canonical_axis(axis, x.shape)], len(b))


def fc_gradient_spec(op: Operator, x: ArraySpec, w: ArraySpec, dy: ArraySpec) -> Specs:
    need_floats(op, (x, w, dy))
    axis = canonical_axis(op.args.get("axis", 1), x.shape)
    outputs, weights = layer_sizes(op, w)
    if (*x.shape[:axis], outputs) != dy.shape or prod(x.shape[axis:]) != weights:
        layer = op.type.removesuffix("Gradient")
        raise misfit(f"dy of shape {dy.shape} is no gradient of {layer} of x {x.shape} and w {w.shape}.")
    specs = (
        ArraySpec(w.shape, result_dtype(dy, x)),
        ArraySpec((outputs,), dy.dtype),
        ArraySpec(x.shape, result_dtype(dy, w)),
    )
    return specs[: len(op.outputs)]


@gradient_of(
    "FCTransposed",
    "x, w, dy -> dw, db, dx?",
    "∂dy = x·∂dw + ∂db + ∂dx·w, ∂x = dy·∂dwᵀ, ∂w = ∂dxᵀ·dy",
    infer=fc_gradient_spec,
    doc="Gradients of FCTransposed; dx only where it is an output.",
)
@gradient_of(
    "FC", "x, w, dy -> dw, db, dx?", "∂dy = x·∂dwᵀ + ∂db + ∂dx·wᵀ, ∂x = dy·∂dw, ∂w = dyᵀ·∂dx", infer=fc_gradient_spec
)
def fc_gradient(op: Operator, x: Array, w: Array, dy: Array) -> Arrays:
    """Gradients of FC in the shapes of w, b and x; that of x only where an output asks for it.

    Source: Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation (2008).
    """
    x2, w2 = as_matrix(x, op.args.get("axis", 1)), as_matrix(w, op.args.get("axis_w", 1))
    is_transposed = op.type.startswith("FCTransposed")
    dy2 = dy.reshape(x2.shape[0], w2.shape[1 if is_transposed else 0])
    dw, db = (outer(x2, dy2) if is_transposed else outer(dy2, x2)).reshape(w.shape), summed(dy2, 0)
    product = onto_rows if is_transposed else of_rows
    return (dw, db) if len(op.outputs) == 2 else (dw, db, product(dy2, w2).reshape(x.shape))


@register_gradient("FCGradient")
@register_gradient("FCTransposedGradient")
def fc_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Products of matrices in the shape of what they are the gradient of; dy is one at its last axis."""
    do, (x, w, dy), (g_dw, g_db, g_dx) = Steps(op), op.inputs, arriving(g_output, 3)
    axis, axis_w = op.args.get("axis", 1), op.args.get("axis_w", 1)
    onto_y: dict[str, int] = {"trans_b": 1} if op.type == "FCGradient" else {}
    onto_x: dict[str, int] = {} if onto_y else {"trans_b": 1}
    terms, g_x, g_w = [], None, None
    if g_dw is not None:
        terms.append(do("MatMul", x, g_dw, dy, **onto_y, axis_a=axis, axis_b=axis_w))
        g_x = do("MatMul", dy, g_dw, x, **onto_x, axis_a=-1, axis_b=axis_w)
    if g_dx is not None:
        terms.append(do("MatMul", g_dx, w, dy, **onto_y, axis_a=axis, axis_b=axis_w))
        (a, axis_a), (b, axis_b) = ((dy, -1), (g_dx, axis)) if onto_y else ((g_dx, axis), (dy, -1))
        g_w = do("MatMul", a, b, w, trans_a=1, axis_a=axis_a, axis_b=axis_b)
    return do.answer(g_x, g_w, with_bias(do, do.sum(*terms), g_db, dy))


def with_bias(do: Steps, rows: Gradient | None, bias: Gradient | None, like: str) -> Gradient | None:
    """`bias` added to each row of `rows`, in the shape of `like`; either may be missing."""
    if bias is None:
        return rows
    if rows is None:
        return do("Expand", bias, do("Shape", like))
    return do("Add", rows, bias)


def matmul_spec(op: Operator, a: ArraySpec, b: ArraySpec, like: ArraySpec | None = None) -> ArraySpec:
    need_floats(op, (a, b))
    a_shape, b_shape = matrix_shape(a.shape, op.args.get("axis_a", 1)), matrix_shape(b.shape, op.args.get("axis_b", 1))
    rows, inner = reversed(a_shape) if op.args.get("trans_a", 0) else a_shape
    b_inner, columns = reversed(b_shape) if op.args.get("trans_b", 0) else b_shape
    if inner != b_inner:
        raise misfit(
            f"a of shape {a.shape} is a ({rows}, {inner}) factor and b of shape {b.shape} a ({b_inner}, {columns}) "
            f"factor; {inner} and {b_inner} must be equal.",
            "Transpose one: trans_a=1 or trans_b=1.",
        )
    if like is not None and prod(like.shape) != rows * columns:
        raise misfit(
            f"the product is ({rows}, {columns}) and cannot take the shape {like.shape} of {slot(op, 2)}.",
            "Leave the third input out.",
        )
    return ArraySpec((rows, columns) if like is None else like.shape, result_dtype(a, b))


@operator(
    "MatMul",
    "a, b, like? -> y",
    "y = a·b",
    "da = dy·bᵀ, db = aᵀ·dy",
    infer=matmul_spec,
    args={"trans_a": 0, "trans_b": 0, "axis_a": 1, "axis_b": 1},
)
def matmul(op: Operator, a: Array, b: Array, like: Array | None = None) -> Array:
    """Matrix product. a: (n, k), b: (k, m) -> y: (n, m), or the shape of `like`.

    a and b are seen as matrices at `axis_a` and `axis_b`, then transposed where `trans_a` or `trans_b` is 1.
    Source of the derivative: Giles, Collected matrix derivative results (2008).
    """
    args = op.args
    if args:
        a, b = as_matrix(a, args.get("axis_a", 1)), as_matrix(b, args.get("axis_b", 1))
        a, b = a.T if args.get("trans_a", 0) else a, b.T if args.get("trans_b", 0) else b
    else:
        a, b = as_matrix(a), as_matrix(b)
    y = np.matmul(a, b)
    return y if like is None else y.reshape(like.shape)


def factors_of(op: Operator, dy: Gradient | None) -> tuple[tuple[Gradients, dict[str, int]], ...]:
    """Of a product of matrices, the products that are the gradients of a and b: their factors, and the flags of each.

    One is dy, the other the other factor, in the order that the transposed flags of `op` demand.
    """
    a, b = op.inputs[:2]
    match bool(op.args.get("trans_a", 0)), bool(op.args.get("trans_b", 0)):
        case False, False:
            return ([dy, b], {"trans_b": 1}), ([a, dy], {"trans_a": 1})
        case False, True:
            return ([dy, b], {}), ([dy, a], {"trans_a": 1})
        case True, False:
            return ([b, dy], {"trans_b": 1}), ([a, dy], {})
    both = {"trans_a": 1, "trans_b": 1}
    return ([b, dy], both), ([dy, a], both)


@register_gradient("MatMul")
def matmul_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Each factor's gradient is a product of the other factor and dy, in the order that the transposed flags demand."""
    dy, folds = g_output[0], list[Operator]()
    if len(op.inputs) > 2:
        folds = as_product(op, dy)
        dy = folds[-1].outputs[0]
    axes, products = (op.args.get("axis_b", 1), op.args.get("axis_a", 1)), []
    for (reads, flags), axis, x in zip(factors_of(op, dy), axes, op.inputs, strict=False):
        args = {**flags, "axis_b" if reads[0] is dy else "axis_a": axis}
        products.append(gradient_operator(op, "MatMul", [*reads, x], [gradient_name(x)], args))
    return [*folds, *products], [*map(gradient_name, op.inputs[:2]), *[None] * (len(op.inputs) - 2)]


def as_product(op: Operator, dy: Gradient | None) -> list[Operator]:
    """The operators that bring dy, which has the shape of `like`, into the shape of the product: only that tells it."""
    product, folded = (f"_{gradient_name(op.outputs[0])}_{what}" for what in ("product", "as_product"))
    return [
        gradient_operator(op, "MatMul", op.inputs[:2], [product]),
        gradient_operator(op, "ResizeLike", [dy, product], [folded], {}),
    ]


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
    "y = a·b for each pair of matrices",
    "da = dy·bᵀ, db = aᵀ·dy",
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


def batch_matmul_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Each factor's gradient is a product of the other factor and dy; summed over what `broadcast` stretched."""
    a, b, dy = op.inputs[0], op.inputs[1], g_output[0]
    if op.args.get("broadcast", 0):
        return op_gradient(op, [dy, a, b], wanted=(0, 1))
    products = [
        gradient_operator(op, "BatchMatMul", reads, [gradient_name(x)], flags)
        for (reads, flags), x in zip(factors_of(op, dy), (a, b), strict=True)
    ]
    return products, [*map(gradient_name, op.inputs)]


@gradient_of(
    "BatchMatMul",
    "dy, a, b -> da, db",
    formula="da = dy·bᵀ, db = aᵀ·dy, summed over the matrices that a or b was stretched to",
    derivative="∂dy = ∂da·b + a·∂db, ∂a = dy·∂dbᵀ, ∂b = ∂daᵀ·dy",
    infer=like_forward("da: dy b; db: dy a"),
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
