"""Elementwise arithmetic: sums and scales, and the functions of one array that mathematics writes with a symbol."""

from functools import reduce
from operator import add

import numpy as np

from ..program import Operator
from .inference import elementwise, like_first, same_shape
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


@operator("Sum", "x, xs... -> y", formula="y = Σᵢ xᵢ", derivative="dxᵢ = dy, passed through", infer=same_shape)
def sum_(op: Operator, *xs: Array) -> Array:
    """Sum of any number of arrays of one shape."""
    return reduce(add, xs)


@register_gradient("Sum")
def sum_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return [], g_output * len(op.inputs)


def scaled(op: Operator, x: ArraySpec) -> ArraySpec:
    """Inference of Scale: integers become floats."""
    return ArraySpec(x.shape, np.result_type(x.dtype, 1.0))


@operator("Scale", "x -> y", formula="y = scale · x", derivative="dx = scale · dy", infer=scaled, args={"scale": 1.0})
def scale(op: Operator, x: Array) -> Array:
    """Every element times the number `scale`."""
    return x * float(op.args.get("scale", 1.0))


@register_gradient("Scale")
def scale_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [g_output[0]], type="Scale")


@operator("Exp", "x -> y", formula="y = eˣ", derivative="dx = dy · y", infer=elementwise)
def exp(op: Operator, x: Array) -> Array:
    """Exponential of each element."""
    return np.exp(x)


@register_gradient("Exp")
def exp_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [op.outputs[0], g_output[0]], type="Mul")


@operator("Log", "x -> y", formula="y = ln x", derivative="dx = dy / x", infer=elementwise)
def log(op: Operator, x: Array) -> Array:
    """Natural logarithm of each element."""
    return np.log(x)


@register_gradient("Log")
def log_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [g_output[0], op.inputs[0]], type="Div")


@operator("Sqr", "x -> y", formula="y = x²", derivative="dx = dy · 2x", infer=like_first)
def sqr(op: Operator, x: Array) -> Array:
    """Square of each element."""
    return x * x


@register_gradient("Sqr")
def sqr_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Doubles x, not the gradient of y: that blob may be shared, and belongs to the operators that read it."""
    x, x_grad = op.inputs[0], gradient_name(op.inputs[0])
    slope = f"_{x_grad}_slope"
    return [
        gradient_operator(op, "Scale", [x], [slope], {**op.args, "scale": 2.0}),
        gradient_operator(op, "Mul", [g_output[0], slope], [x_grad]),
    ], [x_grad]
