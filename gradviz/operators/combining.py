"""Several arrays into one: Max, Min, Mean, WeightedSum, and rows or columns scaled by a vector."""

from functools import reduce
from operator import add

import numpy as np

from ..program import Operator
from .gradients import Steps, arriving, gradient_name, gradient_of, gradient_operator, op_gradient
from .inference import (
    as_matrix,
    by_rows,
    described,
    elementwise,
    like_forward,
    matrix_shape,
    misfit,
    need_floats,
    result_dtype,
    same_shape,
)
from .registry import (
    Array,
    Arrays,
    ArraySpec,
    Gradients,
    RuleAnswer,
    Specs,
    each_of,
    in_single,
    operator,
    register_gradient,
)
from .sums import summed

SHARED = "where xᵢ = y, shared evenly between those that are; else 0"


@operator("Max", "x, xs... -> y", "y = maxᵢ xᵢ", f"dxᵢ = dy {SHARED}", infer=same_shape)
def max_(op: Operator, *xs: Array) -> Array:
    """The largest of each element of any number of arrays of one shape."""
    return reduce(np.maximum, xs)


@operator("Min", "x, xs... -> y", "y = minᵢ xᵢ", f"dxᵢ = dy {SHARED}", infer=same_shape)
def min_(op: Operator, *xs: Array) -> Array:
    """The smallest of each element of any number of arrays of one shape."""
    return reduce(np.minimum, xs)


def extreme_gradient_spec(op: Operator, y: ArraySpec, dy: ArraySpec, *xs: ArraySpec) -> Specs:
    """Inference of MaxGradient and MinGradient: one gradient for each x, of which some may be integers."""
    need_floats(op, (y, dy))
    spec = same_shape(op, y, dy, *xs)
    return tuple(ArraySpec(spec.shape, dy.dtype) for _ in xs)


def extreme_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [op.outputs[0], g_output[0], *op.inputs], wanted=range(len(op.inputs)))


@each_of(
    ("Max", "Min"),
    gradient_of,
    "{}",
    "y, dy, xs... -> dxs...",
    formula="dxsᵢ = dy where xsᵢ = y, shared evenly between those that are; else 0",
    derivative="∂dy = Σᵢ ∂dxsᵢ where xsᵢ = y, by their share",
    infer=extreme_gradient_spec,
    rule=extreme_rule,
)
def extreme_gradient(op: Operator, y: Array, dy: Array, *xs: Array) -> Arrays:
    """Gradients of Max or Min. Inputs that tie share dy evenly, so that all together get dy, also a repeated one."""
    attained = [x == y for x in xs]
    share = dy / np.maximum(sum(attained[1:], attained[0].astype(dy.dtype)), 1)
    return tuple(np.where(here, share, 0) for here in attained)


@register_gradient("MaxGradient")
@register_gradient("MinGradient")
def extreme_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """The gradient of ones tells the share of each x."""
    do, (y, _, *xs) = Steps(op), op.inputs
    shares = do.several(len(xs), op.type, y, do.fill(y, 1.0), *xs)
    return do.answer(
        None,
        do.sum(*(do("Mul", g_dx, share) for g_dx, share in zip(g_output, shares, strict=False) if g_dx is not None)),
    )


@operator("Mean", "x, xs... -> y", "y = Σᵢ xᵢ / n", "dxᵢ = dy / n", infer=elementwise)
@in_single
def mean(op: Operator, *xs: Array) -> Array:
    """Mean of each element of n arrays of one shape."""
    return reduce(add, xs) / len(xs)


@gradient_of(
    "Mean", "dy -> dx, dxs...", "∂dy = Σᵢ ∂dxᵢ / n", infer=lambda op, dy: (elementwise(op, dy),) * len(op.outputs)
)
def mean_gradient(op: Operator, dy: Array) -> Arrays:
    return (dy / len(op.outputs),) * len(op.outputs)


@register_gradient("MeanGradient")
def mean_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    do = Steps(op)
    return do.answer(do("Scale", do.sum(*g_output), scale=1 / len(op.outputs)))


def weighted_spec(op: Operator, *specs: ArraySpec) -> ArraySpec:
    """Inference of WeightedSum: arrays of one shape, each followed by its weight."""
    if len(specs) % 2:
        raise misfit(f"the inputs are pairs of an array and its weight; got {len(specs)}.")
    for weight in specs[1::2]:
        if np.prod(weight.shape, dtype=int) != 1:
            raise misfit(f"a weight has one element; got {described(weight)}.")
    need_floats(op, specs)
    return same_shape(op, *specs[::2])._replace(dtype=result_dtype(*specs))


@operator(
    "WeightedSum",
    "x, w, more... -> y",
    "y = Σᵢ wᵢ · xᵢ",
    "dxᵢ = wᵢ · dy; with grad_on_w dwᵢ = Σ dy · xᵢ, else wᵢ counts as a constant",
    infer=weighted_spec,
    args={"grad_on_w": 0},
)
@in_single
def weighted_sum(op: Operator, *arrays: Array) -> Array:
    """Sum of arrays of one shape, each followed among the inputs by its weight of one element."""
    return reduce(add, (x * w.reshape(()) for x, w in zip(arrays[::2], arrays[1::2], strict=True)))


def weighted_gradient_spec(op: Operator, dy: ArraySpec, *specs: ArraySpec) -> Specs:
    same_shape(op, dy, weighted_spec(op, *specs))
    count = len(specs) if op.args.get("grad_on_w", 0) else len(specs) // 2
    if len(op.outputs) != count:
        raise misfit(f"it has {count} outputs, one for each array, and weight with grad_on_w; not {len(op.outputs)}.")
    d_arrays = [ArraySpec(x.shape, result_dtype(dy, w)) for x, w in zip(specs[::2], specs[1::2], strict=True)]
    d_weights = [ArraySpec(w.shape, result_dtype(dy, x)) for x, w in zip(specs[::2], specs[1::2], strict=True)]
    return (*d_arrays, *(d_weights if op.args.get("grad_on_w", 0) else ()))


def weighted_sum_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    count = len(op.inputs)
    weights = range(1, count, 2) if op.args.get("grad_on_w", 0) else ()
    return op_gradient(op, [g_output[0], *op.inputs], wanted=(*range(0, count, 2), *weights))


@gradient_of(
    "WeightedSum",
    "dy, x, w, more... -> dx, dmore...",
    "∂dy = Σᵢ (wᵢ · ∂dxᵢ + ∂dwᵢ · xᵢ); with grad_on_w ∂xᵢ = ∂dwᵢ · dy, ∂wᵢ = Σ dy · ∂dxᵢ",
    infer=weighted_gradient_spec,
    rule=weighted_sum_rule,
)
@in_single
def weighted_sum_gradient(op: Operator, dy: Array, *arrays: Array) -> Arrays:
    """Gradients of the arrays of a WeightedSum, with `grad_on_w` followed by those of the weights."""
    pairs = list(zip(arrays[::2], arrays[1::2], strict=True))
    d_arrays = [dy * w.reshape(()) for _, w in pairs]
    if not op.args.get("grad_on_w", 0):
        return tuple(d_arrays)
    return (*d_arrays, *(summed(dy * x).reshape(w.shape) for x, w in pairs))


@register_gradient("WeightedSumGradient")
def weighted_sum_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """∂xᵢ and ∂wᵢ come from WeightedSumGradient itself, of ∂dxᵢ and ∂dwᵢ in place of xᵢ and wᵢ."""
    do, (dy, *pairs) = Steps(op), op.inputs
    count = len(pairs) // 2
    g_output = [*arriving(g_output, 2 * count)]
    terms, swapped = [], []
    for x, w, g_dx, g_dw in zip(pairs[::2], pairs[1::2], g_output[:count], g_output[count:], strict=True):
        terms += ([g_dx, w] if g_dx else []) + ([x, g_dw] if g_dw else [])
        swapped += [g_dx or x, g_dw or w]
    g_dy = do("WeightedSum", *terms, **op.args)
    if not op.args.get("grad_on_w", 0):
        return do.answer(g_dy)
    gradients = do.several(2 * count, op.type, dy, *swapped, **op.args)
    of_pairs = [
        of if given else None
        for i in range(count)
        for of, given in ((gradients[i], g_output[count + i]), (gradients[count + i], g_output[i]))
    ]
    return do.answer(g_dy, *of_pairs)


def row_mul_spec(op: Operator, x: ArraySpec, w: ArraySpec) -> ArraySpec:
    need_floats(op, (x, w))
    if not x.shape or w.shape != x.shape[:1]:
        raise misfit(f"w needs one number a row of x {x.shape}; got {described(w)}.")
    return ArraySpec(x.shape, result_dtype(x, w))


@operator("RowMul", "x, w -> y", "yᵢ = wᵢ · xᵢ", "dxᵢ = wᵢ · dyᵢ, dwᵢ = Σ dyᵢ · xᵢ", infer=row_mul_spec)
def row_mul(op: Operator, x: Array, w: Array) -> Array:
    """Every row of x, (n, ...), times its number in w, (n,)."""
    return x * by_rows(w, x)


@register_gradient("RowMul")
def row_mul_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    (x, w), dy = op.inputs, g_output[0]
    x_grad, w_grad = gradient_name(x), gradient_name(w)
    products = f"{w_grad}before_aggregate"
    return [
        gradient_operator(op, "RowMul", [dy, w], [x_grad]),
        gradient_operator(op, "Mul", [dy, x], [products]),
        gradient_operator(op, "ReduceTailSum", [products], [w_grad]),
    ], [x_grad, w_grad]


def tail_sum_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    need_floats(op, (x,))
    if not x.shape:
        raise misfit("x needs at least one dimension.")
    return ArraySpec(x.shape[:1], x.dtype)


@operator("ReduceTailSum", "x -> y", "yᵢ = Σ xᵢ", "dxᵢ = dyᵢ, for each element", infer=tail_sum_spec)
def reduce_tail_sum(op: Operator, x: Array) -> Array:
    """Sum of each row of x, (n, ...), seen as a matrix: (n,)."""
    return summed(as_matrix(x), 1) if x.ndim > 1 else x


@register_gradient("ReduceTailSum")
def reduce_tail_sum_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    do = Steps(op)
    return do.answer(do("RowMul", do.fill(op.inputs[0], 1.0), g_output[0]))


def elementwise_linear_spec(op: Operator, x: ArraySpec, a: ArraySpec, b: ArraySpec) -> ArraySpec:
    need_floats(op, (x, a, b))
    _, columns = matrix_shape(x.shape, op.args.get("axis", 1))
    for vector in (a, b):
        if vector.shape != (columns,):
            raise misfit(f"a and b need one number a column of x {x.shape}, ({columns},); got {described(vector)}.")
    return ArraySpec(x.shape, result_dtype(x, a, b))


@operator(
    "ElementwiseLinear",
    "x, a, b -> y",
    "yᵢⱼ = aⱼ · xᵢⱼ + bⱼ",
    "dxᵢⱼ = aⱼ · dyᵢⱼ, daⱼ = Σᵢ dyᵢⱼ · xᵢⱼ, dbⱼ = Σᵢ dyᵢⱼ",
    infer=elementwise_linear_spec,
    args={"axis": 1},
)
def elementwise_linear(op: Operator, x: Array, a: Array, b: Array) -> Array:
    """Every column of x times its a plus its b. x: seen as a matrix (n, d) at `axis`; a, b: (d,); y like x."""
    return (as_matrix(x, op.args.get("axis", 1)) * a + b).reshape(x.shape)


@gradient_of(
    "ElementwiseLinear",
    "dy, x, a -> dx, da, db",
    "∂dyᵢⱼ = aⱼ · ∂dxᵢⱼ + ∂daⱼ · xᵢⱼ + ∂dbⱼ, ∂xᵢⱼ = ∂daⱼ · dyᵢⱼ, ∂aⱼ = Σᵢ dyᵢⱼ · ∂dxᵢⱼ",
    infer=like_forward("dx: dy a; da: dy x; db: dy", b="a"),
)
def elementwise_linear_gradient(op: Operator, dy: Array, x: Array, a: Array) -> tuple[Array, Array, Array]:
    axis = op.args.get("axis", 1)
    dy2, x2 = as_matrix(dy, axis), as_matrix(x, axis)
    return (dy2 * a).reshape(x.shape), summed(dy2 * x2, 0), summed(dy2, 0)


@register_gradient("ElementwiseLinearGradient")
def elementwise_linear_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """∂x and ∂a come from ElementwiseLinearGradient itself, of ∂dx and ∂da in place of x and a."""
    do, (dy, x, a) = Steps(op), op.inputs
    g_dx, g_da, g_db = do.or_zeros(g_output, [x, a, a])
    by_a = do("ElementwiseLinear", g_dx, a, g_db, **op.args)
    by_x = do("ElementwiseLinear", x, g_da, do.fill(a, 0.0), **op.args)
    g_x, g_a, _ = do.several(3, op.type, dy, g_dx, g_da, **op.args)
    return do.answer(do("Sum", by_a, by_x), g_x, g_a)
