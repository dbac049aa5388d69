"""One number from a whole array: SumElements, SumSqrElements, LpNorm."""

from typing import Any

import numpy as np

from ..program import Operator
from .arguments import bad_argument
from .gradients import gradient_of
from .inference import described, misfit, need_floats, result_dtype
from .registry import Array, ArraySpec, Gradients, RuleAnswer, operator, register_gradient
from .steps import Steps

ARGS: dict[str, Any] = {"average": 0}
NORM_ARGS: dict[str, Any] = {"p": 2, "average": 0}


def divisor(op: Operator, x: Array) -> int:
    """What a total of x is divided by: its size with average=1."""
    return max(x.size, 1) if op.args.get("average", 0) else 1


def total_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    """Inference of SumElements and SumSqrElements."""
    need_floats(op, (x,))
    return ArraySpec((), x.dtype)


def total_gradient_spec(op: Operator, x: ArraySpec, dy: ArraySpec) -> ArraySpec:
    """Inference of their gradients and that of LpNorm."""
    need_floats(op, (x, dy))
    if dy.shape not in ((), (1,)):
        raise misfit(f"dy is the gradient of one number, got {described(dy)}.")
    return x if op.type == "SumElementsGradient" else ArraySpec(x.shape, result_dtype(x, dy))


@operator("SumElements", "x -> y", formula="y = Σᵢ xᵢ", derivative="dxᵢ = dy", infer=total_spec, args=ARGS)
def sum_elements(op: Operator, x: Array) -> Array:
    """Sum of all elements of x, of shape (); their mean with average=1."""
    return x.sum() / divisor(op, x)


@gradient_of("SumElements", "x, dy -> dx", derivative="∂dy = Σᵢ ∂dxᵢ", infer=total_gradient_spec)
def sum_elements_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of SumElements: the same for each element of x."""
    return np.full_like(x, dy.reshape(()) / divisor(op, x))


@operator("SumSqrElements", "x -> y", formula="y = Σᵢ xᵢ²", derivative="dxᵢ = 2 dy · xᵢ", infer=total_spec, args=ARGS)
def sum_sqr_elements(op: Operator, x: Array) -> Array:
    """Sum of the squares of all elements of x, of shape (); their mean with average=1."""
    return (x * x).sum() / divisor(op, x)


@gradient_of(
    "SumSqrElements", "x, dy -> dx", derivative="∂dy = 2 Σᵢ ∂dxᵢ · xᵢ, ∂xᵢ = 2 dy · ∂dxᵢ", infer=total_gradient_spec
)
def sum_sqr_elements_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of SumSqrElements."""
    return x * (dy.reshape(()) * (2 / divisor(op, x)))


def norm_power(op: Operator) -> int:
    """The argument `p`, 1 or 2."""
    power = op.args.get("p", 2)
    if power not in (1, 2):
        raise bad_argument(op, "p", "must be 1 or 2")
    return int(power)


def norm_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    """Inference of LpNorm."""
    need_floats(op, (x,))
    norm_power(op)
    return ArraySpec((1,), x.dtype)


@operator(
    "LpNorm",
    "x -> y",
    formula="y = Σᵢ |xᵢ|ᵖ",
    derivative="dxᵢ = dy · sign xᵢ for p = 1, 2 dy · xᵢ for p = 2",
    infer=norm_spec,
    args=NORM_ARGS,
)
def lp_norm(op: Operator, x: Array) -> Array:
    """Sum of the magnitudes (p=1) or squares (p=2, the default; no root is taken) of all elements, of shape (1,).

    With average=1 it is divided by how many there are.
    """
    terms = np.abs(x) if norm_power(op) == 1 else x * x
    return (terms.sum() / divisor(op, x)).reshape((1,))


@gradient_of(
    "LpNorm",
    "x, dy -> dx",
    derivative="∂dy = Σᵢ ∂dxᵢ · sign xᵢ for p = 1; for p = 2 ∂dy = 2 Σᵢ ∂dxᵢ · xᵢ, ∂xᵢ = 2 dy · ∂dxᵢ",
    infer=total_gradient_spec,
)
def lp_norm_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of LpNorm."""
    slope = np.sign(x) if norm_power(op) == 1 else 2 * x
    return slope * (dy.reshape(()) / divisor(op, x))


@register_gradient("SumElementsGradient")
def sum_elements_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    do, (_, dy) = Steps(op), op.inputs
    return do.answer(None, do("ResizeLike", do("SumElements", g_output[0], **op.args), dy))


@register_gradient("SumSqrElementsGradient")
@register_gradient("LpNormGradient")
def total_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """The gradient of one tells the slope at x, which for squares is itself proportional to x."""
    do, (x, dy), g_dx = Steps(op), op.inputs, g_output[0]
    slope = do(op.type, x, do.fill(dy, 1.0), **op.args)
    g_dy = do("ResizeLike", do("SumElements", do("Mul", g_dx, slope)), dy)
    is_straight = op.type == "LpNormGradient" and norm_power(op) == 1
    return do.answer(None if is_straight else do(op.type, g_dx, dy, **op.args), g_dy)
