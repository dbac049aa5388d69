"""Totals, one number from a whole array: AveragedLoss, SumElements, LpNorm ...; CumSum and ReduceProd along axes."""

from math import prod
from typing import Any

import numpy as np

from ..program import Operator
from .arguments import bad_argument
from .gradients import Steps, gradient_of, op_gradient
from .inference import canonical_axis, described, like_forward, misfit, need_floats, result_dtype, slot
from .reductions import ARGS as REDUCED
from .reductions import along, float_spec, reduced_axes, spread
from .registry import (
    Array,
    ArraySpec,
    Gradients,
    RuleAnswer,
    each_of,
    in_double,
    in_single,
    operator,
    register_gradient,
)
from .sums import WIDER, averaged, summed

ARGS: dict[str, Any] = {"average": 0}


def divisor(op: Operator, x: Array) -> int:
    """What a total of x is divided by: its size with average=1."""
    return max(x.size, 1) if op.args.get("average", 0) else 1


def total_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    need_floats(op, (x,))
    return ArraySpec((), x.dtype)


def total_gradient_spec(op: Operator, x: ArraySpec, dy: ArraySpec) -> ArraySpec:
    need_floats(op, (x, dy))
    if prod(dy.shape) != 1:
        raise misfit(f"{slot(op, 1)} is the gradient of one number, got {described(dy)}.")
    is_of_sum = op.type in ("SumElementsGradient", "AveragedLossGradient")
    return x if is_of_sum else ArraySpec(x.shape, result_dtype(x, dy))


@operator("AveragedLoss", "x -> loss", "loss = Σᵢ xᵢ / n", "dxᵢ = dloss / n", infer=total_spec)
@in_single
def averaged_loss(op: Operator, x: Array) -> Array:
    """Mean of all n elements of x, of shape (); 0 where x is empty."""
    return averaged(x)


@gradient_of("AveragedLoss", "x, dloss -> dx", "∂dloss = Σᵢ ∂dxᵢ / n", infer=total_gradient_spec)
def averaged_loss_gradient(op: Operator, x: Array, dloss: Array) -> Array:
    return np.full_like(x, dloss.reshape(()) / max(x.size, 1))


@operator("SumElements", "x -> y", "y = Σᵢ xᵢ", "dxᵢ = dy", infer=total_spec, args=ARGS)
@in_single
def sum_elements(op: Operator, x: Array) -> Array:
    """Sum of all elements of x, of shape (); their mean with average=1."""
    return summed(x) / divisor(op, x)


@gradient_of("SumElements", "x, dy -> dx", "∂dy = Σᵢ ∂dxᵢ", infer=total_gradient_spec)
def sum_elements_gradient(op: Operator, x: Array, dy: Array) -> Array:
    return np.full_like(x, dy.reshape(()) / divisor(op, x))


@operator("SumSqrElements", "x -> y", "y = Σᵢ xᵢ²", "dxᵢ = 2 dy · xᵢ", infer=total_spec, args=ARGS)
@in_single
def sum_sqr_elements(op: Operator, x: Array) -> Array:
    """Sum of the squares of all elements of x, of shape (); their mean with average=1."""
    return summed(x * x) / divisor(op, x)


@gradient_of("SumSqrElements", "x, dy -> dx", "∂dy = 2 Σᵢ ∂dxᵢ · xᵢ, ∂xᵢ = 2 dy · ∂dxᵢ", infer=total_gradient_spec)
def sum_sqr_elements_gradient(op: Operator, x: Array, dy: Array) -> Array:
    return x * (dy.reshape(()) * (2 / divisor(op, x)))


def norm_power(op: Operator) -> int:
    """The argument `p`, 1 or 2."""
    power = op.args.get("p", 2)
    if power not in (1, 2):
        raise bad_argument(op, "p", "must be 1 or 2")
    return int(power)


def norm_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    need_floats(op, (x,))
    norm_power(op)
    return ArraySpec((1,), x.dtype)


@operator(
    "LpNorm",
    "x -> y",
    "y = Σᵢ |xᵢ|ᵖ",
    "dxᵢ = dy · sign xᵢ for p = 1, 2 dy · xᵢ for p = 2",
    infer=norm_spec,
    args={"p": 2, "average": 0},
)
@in_single
def lp_norm(op: Operator, x: Array) -> Array:
    """Sum of the magnitudes (p=1) or squares (p=2, the default; no root is taken) of all elements, of shape (1,).

    With average=1 it is divided by how many there are.
    """
    terms = np.abs(x) if norm_power(op) == 1 else x * x
    return (summed(terms) / divisor(op, x)).reshape((1,))


@gradient_of(
    "LpNorm",
    "x, dy -> dx",
    "∂dy = Σᵢ ∂dxᵢ · sign xᵢ for p = 1; for p = 2 ∂dy = 2 Σᵢ ∂dxᵢ · xᵢ, ∂xᵢ = 2 dy · ∂dxᵢ",
    infer=total_gradient_spec,
)
@in_single
def lp_norm_gradient(op: Operator, x: Array, dy: Array) -> Array:
    slope = np.sign(x) if norm_power(op) == 1 else 2 * x
    return slope * (dy.reshape(()) / divisor(op, x))


@each_of(("SumElements", "AveragedLoss"), register_gradient, "{}Gradient")
def sum_elements_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    do, (_, dy) = Steps(op), op.inputs
    return do.answer(None, do("ResizeLike", do(op.type.removesuffix("Gradient"), g_output[0], **op.args), dy))


@register_gradient("SumSqrElementsGradient")
@register_gradient("LpNormGradient")
def total_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """The gradient of one tells the slope at x, which for squares is itself proportional to x."""
    do, (x, dy), g_dx = Steps(op), op.inputs, g_output[0]
    slope = do(op.type, x, do.fill(dy, 1.0), **op.args)
    g_dy = do("ResizeLike", do("SumElements", do("Mul", g_dx, slope)), dy)
    is_straight = op.type == "LpNormGradient" and norm_power(op) == 1
    return do.answer(None if is_straight else do(op.type, g_dx, dy, **op.args), g_dy)


def cumsum_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    canonical_axis(op.args.get("axis", 0), x.shape)
    return x


@operator(
    "CumSum",
    "x -> y",
    "yᵢ = Σⱼ xⱼ for j ≤ i, with reverse for j ≥ i",
    "dxⱼ = Σᵢ dyᵢ for i ≥ j, with reverse for i ≤ j",
    infer=cumsum_spec,
    args={"axis": 0, "reverse": 0},
)
@in_single
def cumsum(op: Operator, x: Array) -> Array:
    """Sums of all elements up to each one along `axis`, with reverse=1 of all from it on, in the dtype of x."""
    axis, dtype = canonical_axis(op.args.get("axis", 0), x.shape), WIDER.get(x.dtype, x.dtype)
    if not op.args.get("reverse", 0):
        return np.cumsum(x, axis=axis, dtype=dtype).astype(x.dtype, copy=False)
    return np.flip(np.cumsum(np.flip(x, axis), axis=axis, dtype=dtype), axis).astype(x.dtype, copy=False)


@register_gradient("CumSum")
def cumsum_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    reverse = int(not op.args.get("reverse", 0))
    return op_gradient(op, [g_output[0]], type="CumSum", args={**op.args, "reverse": reverse})


@operator("ReduceProd", "x -> y", "y = Π x", "dxᵢ = dy · Π xⱼ for j ≠ i", infer=float_spec, args=REDUCED)
@in_double
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


@gradient_of(
    "ReduceProd",
    "dy, x, y -> dx",
    "∂dy = Σᵢ ∂dxᵢ Π xⱼ for j ≠ i, ∂xₖ = dy Σᵢ ∂dxᵢ Π xⱼ for i ≠ k and j ≠ i, k",
    infer=like_forward("dy x y"),
)
@in_double
def reduce_prod_gradient(op: Operator, dy: Array, x: Array, y: Array) -> Array:
    """Gradient of ReduceProd, also where a factor is 0: then only one that is the only 0 gets any."""
    without, _, _, _ = others(op, x)
    return spread(op, dy, x) * without


@gradient_of("ReduceProdGradient", "dy, x, ∂dx -> ∂dy, ∂x", infer=like_forward("∂dy: x ∂dx; ∂x: dy x ∂dx"))
@in_single
def reduce_prod_gradient_gradient(op: Operator, dy: Array, x: Array, g: Array) -> tuple[Array, Array]:
    """Gradients of ReduceProdGradient: products of all factors but two, of which both may be 0."""
    axes = reduced_axes(op, x.shape)
    without, product, zeros, is_zero = others(op, x)
    share = np.where(is_zero, 0, g / np.where(is_zero, 1, x))
    of_zeros = np.where(is_zero, g, 0)
    shares, all_zeros = (summed(terms, axes, keepdims=True) for terms in (share, of_zeros))
    pairs = np.where(zeros == 0, without * (shares - share), 0)
    pairs = np.where(zeros == 1, product * np.where(is_zero, shares, all_zeros / np.where(is_zero, 1, x)), pairs)
    pairs = np.where((zeros == 2) & is_zero, product * (all_zeros - g), pairs)
    pairs = np.where(product == 0, 0, pairs)  # so small a product that its quotients have no digits left
    return summed(g * without, axes, keepdims=along(op)), spread(op, dy, x) * pairs
