"""Powers and roots: Pow, Cube, Reciprocal, Sqrt, Rsqrt, Cbrt, and rows divided by a square root."""

import numpy as np

from ..program import Operator
from .arguments import bad_argument
from .broadcasting import ARGS, quotient, sum_to, unlaid, y_along
from .gradients import Steps, by, gradient_name, gradient_of, gradient_operator, op_gradient, pointwise, shape_source
from .inference import by_rows, described, elementwise, like_forward, misfit, need_floats
from .registry import Array, ArraySpec, Gradients, RuleAnswer, in_single, operator, register_gradient


def exponent_of(op: Operator) -> float:
    """The argument `exponent`, which a Pow of one input must have."""
    if "exponent" not in op.args:
        raise bad_argument(op, "exponent", "is no power", "Give exponent=2.0, or the exponents as a second input.")
    return float(op.args["exponent"])


def power(op: Operator, x: ArraySpec, exponents: ArraySpec | None = None) -> ArraySpec:
    """Inference of Pow; in place it must keep the shape."""
    if exponents is None:
        exponent_of(op)
        return elementwise(op, x)
    if "exponent" in op.args:
        raise bad_argument(op, "exponent", "does not go with a second input, which gives it", "Leave one of them out.")
    return quotient(op, x, exponents)


@operator(
    "Pow",
    "x, exponents? -> y",
    "y = x^exponent",
    "dx = dy · exponent · x^(exponent - 1), 0 for exponent = 0; with exponents in its place "
    "dexponents = dy · y · ln x, 0 where x = 0 and exponents ≥ 0",
    infer=power,
    args={"exponent": 1.0, **ARGS},
)
def pow_(op: Operator, x: Array, exponents: Array | None = None) -> Array:
    """Every element to the power of the argument `exponent`, or to that of a second input, which broadcasts."""
    return np.power(x, exponent_of(op) if exponents is None else y_along(op, x, exponents))


def constant_in_exponent(x: Array, e: Array, y: Array) -> Array:
    """Where y = x^e counts as a constant for e: 0 to any power from 0 on, and what is too small for its dtype."""
    return (y == 0) | ((x == 0) & (e >= 0))


@operator(
    "PowGradient",
    "dy, x, exponents, y -> dx, dexponents",
    "dx = dy · exponents · x^(exponents - 1), 0 where exponents = 0; "
    "dexponents = dy · y · ln x, 0 where x = 0 and exponents ≥ 0",
    "∂dy = ∂dx · exponents · p + ∂dexponents · y · ln x, p = x^(exponents - 1), "
    "∂x = dy (∂dx · exponents (exponents - 1) p / x + ∂dexponents · p), "
    "∂exponents = dy · ∂dx · p (1 + exponents · ln x), ∂y = dy · ∂dexponents · ln x; "
    "where exponents = 0 what ∂dx brings to ∂dy and ∂x is 0, where x = 0 and exponents ≥ 0 ln x counts as 0, "
    "and p too where both are 0",
    infer=like_forward("dx: dy x exponents; dexponents: dy x y"),
    args=ARGS,
)
def pow_gradient(op: Operator, dy: Array, x: Array, exponents: Array, y: Array) -> tuple[Array, Array]:
    """Gradients of Pow with a second input; that of the exponents is nan where x < 0, and 0 where y is."""
    e = y_along(op, x, exponents)
    d_exponents = dy * np.where(constant_in_exponent(x, e, y), 0, y * np.log(x))
    slope = np.where(e == 0, 0, e * np.power(x, e - 1))
    return sum_to(dy * slope, x.shape), unlaid(op, d_exponents, x, exponents)


@gradient_of(
    "PowGradient",
    "dy, x, exponents, y, ∂dx, ∂dexponents -> ∂dy, ∂x, ∂exponents, ∂y",
    infer=like_forward(
        "∂dy: x exponents y ∂dx ∂dexponents; ∂x: dy x exponents ∂dx ∂dexponents; ∂exponents: dy x exponents ∂dx; "
        "∂y: dy x ∂dexponents"
    ),
)
def pow_gradient_gradient(
    op: Operator, dy: Array, x: Array, exponents: Array, y: Array, g_dx: Array, g_exponents: Array
) -> tuple[Array, Array, Array, Array]:
    """Gradients of PowGradient; nan where x < 0, and where y is 0 what comes with its logarithm is 0.

    Where the exponent is 0 or 1, y does not bend, at x = 0 neither.
    """
    e, g_de = y_along(op, x, exponents), y_along(op, x, g_exponents)
    log = np.where(constant_in_exponent(x, e, y), 0, np.log(x))
    p = np.where((x == 0) & (e == 0), 0, np.power(x, e - 1))
    slope, straight = np.where(e == 0, 0, e * p), e * (e - 1) == 0
    bend = np.where(straight, 0, e * ((e - 1) * np.power(np.where(straight, 1, x), e - 2)))
    g_x = dy * (g_dx * bend + g_de * p)
    g_e = dy * g_dx * (p + slope * log)
    return (g_dx * slope + g_de * y * log, sum_to(g_x, x.shape), unlaid(op, g_e, x, exponents), dy * g_de * log)


@register_gradient("Pow")
def pow_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Three steps that write one name: x^(exponent - 1), times dy, times the exponent; a power of 0 is a constant."""
    if len(op.inputs) > 1 and "exponent" not in op.args:
        return op_gradient(op, [g_output[0], *op.inputs, op.outputs[0]], wanted=(0, 1))
    x, x_grad, exponent = op.inputs[0], gradient_name(op.inputs[0]), exponent_of(op)
    if exponent == 0:
        do = Steps(op)
        return do.answer(do.fill(shape_source(op, 0), 0.0))
    return [
        gradient_operator(op, "Pow", [x], [x_grad], {"exponent": exponent - 1}),
        gradient_operator(op, "Mul", [x_grad, g_output[0]], [x_grad], {}),
        gradient_operator(op, "Scale", [x_grad], [x_grad], {"scale": exponent}),
    ], [x_grad, *[None] * (len(op.inputs) - 1)]


pointwise(
    "Cube",
    "Third power of each element.",
    ("y = x³", lambda op, x: x * x * x),
    ("dx = dy · 3x²", "dy, x", in_single(lambda op, dy, x: dy * (3 * x * x))),
    ("∂x = 6 ∂dx · dy · x", lambda do, both, x: do("Scale", do("Mul", both, x), scale=6.0)),
)

pointwise(
    "Reciprocal",
    "1 over each element.",
    ("y = 1 / x", lambda op, x: 1 / x),
    ("dx = -dy · y²", "y, dy", in_single(lambda op, y, dy: -dy * (y * y))),
    ("∂y = -2 ∂dx · dy · y", lambda do, both, y: do("Scale", do("Mul", both, y), scale=-2.0)),
)

pointwise(
    "Rsqrt",
    "1 over the square root of each element; nan below 0.",
    ("y = 1 / √x", lambda op, x: 1 / np.sqrt(x)),
    ("dx = -dy · y³ / 2", "dy, y", in_single(lambda op, dy, y: -0.5 * dy * (y * y * y))),
    ("∂y = -3/2 · ∂dx · dy · y²", lambda do, both, y: do("Scale", do("Mul", both, do("Sqr", y)), scale=-1.5)),
)

pointwise(
    "Cbrt",
    "Cube root of each element, real for negative ones too.",
    ("y = ∛x", lambda op, x: np.cbrt(x)),
    ("dx = dy / 3y²", "dy, y", in_single(lambda op, dy, y: dy / (3 * y * y))),
    (
        "∂y = -2/3 · ∂dx · dy / y³",
        lambda do, both, y: do("Scale", do("Div", do("CbrtGradient", both, y), y), scale=-2.0),
    ),
)


@operator("Sqrt", "x -> y", "y = √x", "dx = dy / 2y", infer=elementwise)
def sqrt(op: Operator, x: Array) -> Array:
    """Square root of each element; nan below 0."""
    return np.sqrt(x)


@register_gradient("Sqrt")
def sqrt_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Two steps that write one name: half of dy, divided by y."""
    x_grad = gradient_name(op.inputs[0])
    return [
        gradient_operator(op, "Scale", [g_output[0]], [x_grad], {**op.args, "scale": 0.5}),
        gradient_operator(op, "Div", [x_grad, op.outputs[0]], [x_grad]),
    ], [x_grad]


def row_scale(op: Operator, x: ArraySpec, scale: ArraySpec) -> ArraySpec:
    """Inference of SquareRootDivide: one number for each row of x."""
    need_floats(op, (x,))
    if not x.shape or scale.shape != x.shape[:1]:
        raise misfit(f"scale needs one number a row of x {x.shape}; got {described(scale)}.")
    return x


@operator(
    "SquareRootDivide",
    "x, scale -> y",
    "yᵢ = xᵢ / √scaleᵢ",
    "dxᵢ = dyᵢ / √scaleᵢ; scale counts as a constant",
    infer=row_scale,
    rule=by("SquareRootDivide", "dy, scale -> dx"),
)
def square_root_divide(op: Operator, x: Array, scale: Array) -> Array:
    """Rows of x divided by the square roots of scale; a row whose scale is 0 stays. x: (n, ...), scale: (n,)."""
    divisors = np.where(scale == 0, 1, np.sqrt(scale)).astype(x.dtype)
    return x / by_rows(divisors, x)
