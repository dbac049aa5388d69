"""Arithmetic of elements: sums and scales, exponentials and logarithms, signs, magnitudes and whole parts."""

from functools import reduce
from operator import add

import numpy as np

from ..program import Operator
from .arguments import bad_argument
from .gradients import by, gradient_name, gradient_operator, pointwise
from .inference import elementwise, like_first, misfit, need_integers, same_shape
from .registry import Array, ArraySpec, Gradients, RuleAnswer, operator, register_gradient


@operator("Sum", "x, xs... -> y", "y = Σᵢ xᵢ", "dxᵢ = dy, passed through", infer=same_shape)
def sum_(op: Operator, *xs: Array) -> Array:
    """Sum of any number of arrays of one shape."""
    return reduce(add, xs)


@register_gradient("Sum")
def sum_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return [], g_output * len(op.inputs)


def scaled(op: Operator, x: ArraySpec) -> ArraySpec:
    """Inference of Scale: integers become floats."""
    return ArraySpec(x.shape, np.result_type(x.dtype, 1.0))


@operator(
    "Scale",
    "x -> y",
    "y = scale · x",
    "dx = scale · dy",
    infer=scaled,
    args={"scale": 1.0},
    rule=by("Scale", "dy -> dx"),
)
def scale(op: Operator, x: Array) -> Array:
    """Every element times the number `scale`."""
    return x * float(op.args.get("scale", 1.0))


@operator("Exp", "x -> y", "y = eˣ", "dx = dy · y", infer=elementwise, rule=by("Mul", "y, dy -> dx"))
def exp(op: Operator, x: Array) -> Array:
    """Exponential of each element."""
    return np.exp(x)


@operator("Log", "x -> y", "y = ln x", "dx = dy / x", infer=elementwise, rule=by("Div", "dy, x -> dx"))
def log(op: Operator, x: Array) -> Array:
    """Natural logarithm of each element."""
    return np.log(x)


@operator("Sqr", "x -> y", "y = x²", "dx = dy · 2x", infer=like_first)
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


pointwise(
    "Log1p",
    "Natural logarithm of 1 plus each element, exact for small ones too.",
    ("y = ln(1 + x)", lambda op, x: np.log1p(x)),
    ("dx = dy / (1 + x)", "x, dy", lambda op, x, dy: dy / (1 + x)),
    (
        "∂x = -∂dx · dy / (1 + x)²",
        lambda do, both, x: do("Negative", do("Log1pGradient", x, do("Log1pGradient", x, both))),
    ),
)

pointwise(
    "Expm1",
    "Exponential of each element less 1, exact for small ones too.",
    ("y = eˣ - 1", lambda op, x: np.expm1(x)),
    ("dx = dy · eˣ", "x, dy", lambda op, x, dy: dy * np.exp(x)),
    ("∂x = ∂dx · dy · eˣ", lambda do, both, x: do("Expm1Gradient", x, both)),
)


def signed(op: Operator, x: ArraySpec) -> ArraySpec:
    """Inference of functions of numbers with a sign."""
    if x.dtype.kind not in "fi":
        raise misfit(f"x must be of numbers with a sign, got {x.dtype}.", "Convert it: array.astype(np.float32).")
    return x


pointwise(
    "Abs",
    "Magnitude of each element.",
    ("y = |x|", lambda op, x: np.abs(x)),
    ("dx = dy · sign x", "x, dy", lambda op, x, dy: dy * np.sign(x).astype(dy.dtype)),
    infer=signed,
    note="0 at the corner",
)


@operator("Negative", "x -> y", "y = -x", "dx = -dy", infer=signed, rule=by("Negative", "dy -> dx"))
def negative(op: Operator, x: Array) -> Array:
    """Every element with the other sign."""
    return -x


@operator("Sign", "x -> y", "y = -1, 0 or 1", infer=signed)
def sign(op: Operator, x: Array) -> Array:
    """Sign of each element, 0 for 0. It has no gradient rule: its slope is 0 wherever it has one."""
    return np.sign(x)


@operator("Floor", "x -> y", "y = ⌊x⌋", infer=elementwise)
def floor(op: Operator, x: Array) -> Array:
    """The next whole number below each element. It has no gradient rule: its slope is 0 wherever it has one."""
    return np.floor(x)


@operator("Ceil", "x -> y", "y = ⌈x⌉", infer=elementwise)
def ceil(op: Operator, x: Array) -> Array:
    """The next whole number above each element. It has no gradient rule: its slope is 0 wherever it has one."""
    return np.ceil(x)


def remainder(op: Operator, x: ArraySpec) -> ArraySpec:
    """Inference of Mod: integers, and a divisor that is not 0."""
    need_integers(x, "x must be integers")
    if not op.args.get("divisor", 0):
        raise bad_argument(op, "divisor", "cannot divide", "Give an integer other than 0.")
    return like_first(op, x)


@operator("Mod", "x -> y", "y = x mod divisor", infer=remainder, args={"divisor": 0, "sign_follow_divisor": 0})
def mod(op: Operator, x: Array) -> Array:
    """Remainder of each integer; it has the sign of x, or with `sign_follow_divisor` that of the divisor."""
    function = np.remainder if op.args.get("sign_follow_divisor", 0) else np.fmod
    return function(x, int(op.args["divisor"]))
