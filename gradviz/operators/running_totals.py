"""Totals along axes: CumSum, of all elements up to each one, and ReduceProd, their product."""

from typing import Any

import numpy as np

from ..program import Operator
from .gradients import gradient_of
from .inference import misfit, need_floats, result_dtype
from .matrices import canonical_axis
from .reductions import ARGS, along, float_spec, gradient_spec, reduced_axes, reduced_shape, spread
from .registry import Array, ArraySpec, Gradients, RuleAnswer, op_gradient, operator, register_gradient

CUMSUM_ARGS: dict[str, Any] = {"axis": 0, "reverse": 0}
PROD_SECOND = "∂dy = Σᵢ ∂dxᵢ Π xⱼ for j ≠ i, ∂xₖ = dy Σᵢ ∂dxᵢ Π xⱼ for i ≠ k and j ≠ i, k"


def cumsum_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    """Inference of CumSum."""
    canonical_axis(op.args.get("axis", 0), x.shape)
    return x


@operator(
    "CumSum",
    "x -> y",
    formula="yᵢ = Σⱼ xⱼ for j ≤ i, with reverse for j ≥ i",
    derivative="dxⱼ = Σᵢ dyᵢ for i ≥ j, with reverse for i ≤ j",
    infer=cumsum_spec,
    args=CUMSUM_ARGS,
)
def cumsum(op: Operator, x: Array) -> Array:
    """Sums of all elements up to each one along `axis`, with reverse=1 of all from it on, in the dtype of x."""
    axis = canonical_axis(op.args.get("axis", 0), x.shape)
    if not op.args.get("reverse", 0):
        return np.cumsum(x, axis=axis, dtype=x.dtype)
    return np.flip(np.cumsum(np.flip(x, axis), axis=axis, dtype=x.dtype), axis)


@register_gradient("CumSum")
def cumsum_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    reverse = int(not op.args.get("reverse", 0))
    return op_gradient(op, [g_output[0]], type="CumSum", args={**op.args, "reverse": reverse})


@operator(
    "ReduceProd", "x -> y", formula="y = Π x", derivative="dxᵢ = dy · Π xⱼ for j ≠ i", infer=float_spec, args=ARGS
)
def reduce_prod(op: Operator, x: Array) -> Array:
    """Product over `axes`; 1 where there is nothing to multiply. x: any shape."""
    return x.prod(axis=reduced_axes(op, x.shape), keepdims=along(op))


def others(op: Operator, x: Array) -> tuple[Array, Array, Array, Array]:
    """The product of all factors but each one; of all that are not 0; how many are 0; and which, along the axes."""
    axes = reduced_axes(op, x.shape)
    is_zero = x == 0
    nonzero = np.where(is_zero, 1, x)
    product, zeros = nonzero.prod(axis=axes, keepdims=True), is_zero.sum(axis=axes, keepdims=True)
    without = np.where(zeros == 0, product / nonzero, np.where((zeros == 1) & is_zero, product, 0))
    return without, product, zeros, is_zero


@gradient_of("ReduceProd", "dy, x, y -> dx", derivative=PROD_SECOND, infer=gradient_spec(0, 1))
def reduce_prod_gradient(op: Operator, dy: Array, x: Array, y: Array) -> Array:
    """Gradient of ReduceProd, also where a factor is 0: then only one that is the only 0 gets any."""
    without, _, _, _ = others(op, x)
    return spread(op, dy, x) * without


def second_spec(op: Operator, dy: ArraySpec, x: ArraySpec, g: ArraySpec) -> tuple[ArraySpec, ArraySpec]:
    """Inference of ReduceProdGradientGradient."""
    need_floats(op, (dy, x, g))
    if dy.shape != reduced_shape(op, x.shape) or g.shape != x.shape:
        raise misfit(f"dy {dy.shape} and ∂dx {g.shape} must have the shapes of the product and of x {x.shape}.")
    return ArraySpec(dy.shape, result_dtype(x, g)), ArraySpec(x.shape, result_dtype(dy, x, g))


@gradient_of("ReduceProdGradient", "dy, x, ∂dx -> ∂dy, ∂x", infer=second_spec)
def reduce_prod_gradient_gradient(op: Operator, dy: Array, x: Array, g: Array) -> tuple[Array, Array]:
    """Gradients of ReduceProdGradient: products of all factors but two, of which both may be 0."""
    axes = reduced_axes(op, x.shape)
    without, product, zeros, is_zero = others(op, x)
    share = np.where(is_zero, 0, g / np.where(is_zero, 1, x))
    of_zeros = np.where(is_zero, g, 0)
    shares, all_zeros = (terms.sum(axis=axes, keepdims=True) for terms in (share, of_zeros))
    pairs = np.where(zeros == 0, without * (shares - share), 0)
    pairs = np.where(zeros == 1, product * np.where(is_zero, shares, all_zeros / np.where(is_zero, 1, x)), pairs)
    pairs = np.where((zeros == 2) & is_zero, product * (all_zeros - g), pairs)
    pairs = np.where(product == 0, 0, pairs)  # so small a product that its quotients are not told any more
    return (g * without).sum(axis=axes, keepdims=along(op)), spread(op, dy, x) * pairs
