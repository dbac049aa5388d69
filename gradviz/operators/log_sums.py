"""Logarithms of sums of exponentials, without overflow: LogSoftmax of rows, ReduceLogSumExp along axes.

The greatest element m of a sum is taken out of it first: ln Σ eˣ = m + ln Σ exp(x - m).
Source: Blanchard, Higham, Higham, Accurately computing the log-sum-exp and softmax functions (2021).
"""

import numpy as np

from ..program import Operator
from .activation import rows
from .gradients import gradient_of
from .inference import need_floats
from .matrices import as_matrix
from .reductions import ARGS, along, extremum_spec, gradient_spec, reduced_axes, spread
from .registry import Array, ArraySpec, Gradients, RuleAnswer, operator, register_gradient
from .steps import Steps


@operator(
    "LogSoftmax",
    "x -> y",
    formula="yᵢⱼ = xᵢⱼ - ln Σₖ exp xᵢₖ",
    derivative="dxᵢⱼ = dyᵢⱼ - exp yᵢⱼ · Σₖ dyᵢₖ",
    infer=rows,
    args={"axis": 1},
)
def log_softmax(op: Operator, x: Array) -> Array:
    """Logarithm of Softmax. x: seen as a matrix at `axis`; y has the shape of x."""
    if not x.size:
        return x
    x2 = as_matrix(x, op.args.get("axis", 1))
    shifted = x2 - x2.max(axis=1, keepdims=True)
    return (shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))).reshape(x.shape)


@gradient_of(
    "LogSoftmax",
    "y, dy -> dx",
    derivative="∂dyᵢⱼ = ∂dxᵢⱼ - Σₖ ∂dxᵢₖ exp yᵢₖ, ∂yᵢⱼ = -∂dxᵢⱼ exp yᵢⱼ · Σₖ dyᵢₖ",
    infer=rows,
)
def log_softmax_gradient(op: Operator, y: Array, dy: Array) -> Array:
    """Gradient of LogSoftmax from its output."""
    axis = op.args.get("axis", 1)
    y2, dy2 = as_matrix(y, axis), as_matrix(dy, axis)
    return (dy2 - np.exp(y2) * dy2.sum(axis=1, keepdims=True)).reshape(y.shape)


@register_gradient("LogSoftmaxGradient")
def log_softmax_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """What LogSoftmaxGradient takes away is exp y · Σ dy; for y = 0 it is the sum of each row."""
    do, (y, dy), (of_dx,) = Steps(op), op.inputs, g_output
    weighted = do("Mul", of_dx, do("Exp", y))
    sums = do("Sub", weighted, do("LogSoftmaxGradient", do.fill(y, 0.0), weighted, **op.args))
    taken = do("Sub", dy, do("LogSoftmaxGradient", y, dy, **op.args))
    return do.answer(do("Negative", do("Mul", of_dx, taken)), do("Sub", of_dx, sums))


def log_sum_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    need_floats(op, (x,))
    return extremum_spec(op, x)


@operator(
    "ReduceLogSumExp",
    "x -> y",
    formula="y = ln Σ exp x",
    derivative="dx = dy · exp(x - y)",
    infer=log_sum_spec,
    args=ARGS,
)
def reduce_log_sum_exp(op: Operator, x: Array) -> Array:
    """Logarithm of the sum of exponentials over `axes`. x: any shape, something along each reduced axis."""
    axes = reduced_axes(op, x.shape)
    greatest = x.max(axis=axes, keepdims=True)
    greatest = np.where(np.isfinite(greatest), greatest, 0)
    total = np.exp(x - greatest).sum(axis=axes, keepdims=along(op))
    return np.log(total) + greatest.reshape(total.shape)


@gradient_of(
    "ReduceLogSumExp",
    "dy, x, y -> dx",
    derivative="∂dy = Σ ∂dx exp(x - y), ∂x = ∂dx · dx, ∂y = -Σ ∂dx · dx",
    infer=gradient_spec(0, 1, 2),
)
def reduce_log_sum_exp_gradient(op: Operator, dy: Array, x: Array, y: Array) -> Array:
    """Gradient of ReduceLogSumExp: each element gets its share of the sum."""
    return spread(op, dy, x) * np.exp(x - spread(op, y, x))


@register_gradient("ReduceLogSumExpGradient")
def reduce_log_sum_exp_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    do, (dy, x, y), (of_dx,) = Steps(op), op.inputs, g_output
    shares = do(op.type, do.fill(dy, 1.0), x, y, **op.args)
    of_x = do("Mul", of_dx, op.outputs[0])
    of_y = do("Negative", do("ReduceSum", of_x, **op.args))
    return do.answer(do("ReduceSum", do("Mul", of_dx, shares), **op.args), of_x, of_y)
