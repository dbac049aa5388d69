"""Smooth activations: Gelu and the error function in it, Swish, Mish, Softplus, Softsign, Logit."""

from collections.abc import Mapping
from math import pi, sqrt

import numpy as np

from ..program import Operator
from .gradients import Steps, pointwise
from .registry import Array, in_double, in_single

FAR = 1e3
"""From here on, up or down, what bends Swish, Mish and Gelu is 0 in every dtype: they are straight lines."""


def logistic(x: Array) -> Array:
    """1 / (1 + e⁻ˣ) for any x without overflow."""
    return np.exp(-np.logaddexp(0, -x))


def logistic_slope(x: Array) -> Array:
    """σ'(x) = σ(x) σ(-x), which has its digits also where σ(x) is rounded to 1."""
    return logistic(x) * logistic(-x)


def tanh_slope(x: Array) -> Array:
    """1 - tanh² x = 4 σ'(2x), which has its digits also where tanh x is rounded to 1 or -1."""
    return 4 * logistic_slope(2 * x)


def bounded(x: Array, most: float = FAR) -> Array:
    """x kept from -most to most: a factor beside one that is 0 further out, so that ∞ · 0 is 0."""
    return np.minimum(np.maximum(x, -most), most)


pointwise(
    "Softplus",
    "Smooth rectifier, for any x without overflow.",
    ("y = ln(1 + eˣ)", lambda op, x: np.logaddexp(0, x)),
    ("dx = dy · (1 - e⁻ʸ)", "y, dy", lambda op, y, dy: dy * -np.expm1(-y)),
    ("∂y = ∂dx · dy · e⁻ʸ", lambda do, both, y: do("Mul", both, do("Exp", do("Negative", y)))),
)


def softsign(op: Operator, x: Array) -> Array:
    x = bounded(x, np.finfo(x.dtype).max)
    return x / (1 + np.abs(x))


def softsign_bend(do: Steps, both: str, x: str) -> str:
    """The slope s is 1 / (1 + |x|)²; to the power of 3/2 it is what is wanted."""
    slope = do("SoftsignGradient", x, do.fill(x, 1.0))
    return do("Scale", do("AbsGradient", x, do("Mul", both, do("Pow", slope, exponent=1.5))), scale=-2.0)


@in_single
def softsign_gradient(op: Operator, x: Array, dy: Array) -> Array:
    size = 1 + np.abs(x)
    return dy / size / size


pointwise(
    "Softsign",
    "Every element pressed into (-1, 1), slower than tanh does.",
    ("y = x / (1 + |x|)", softsign),
    ("dx = dy / (1 + |x|)²", "x, dy", softsign_gradient),
    ("∂x = -2 ∂dx · dy · sign x / (1 + |x|)³", softsign_bend),
)


@in_single
def swish(op: Operator, x: Array) -> Array:
    return np.maximum(x, -FAR) * logistic(x)


@in_single
def swish_gradient(op: Operator, x: Array, y: Array, dy: Array) -> Array:
    up = logistic(x)
    return dy * (up + np.minimum(y, FAR) * (1 - up))


def swish_bend(do: Steps, both: str, x: str, y: str) -> Mapping[str, str]:
    """σ'(x) is σ(x) σ(-x), of which neither is rounded to 1 where the other is small."""
    up, down = do("Sigmoid", x), do("Sigmoid", do("Negative", x))
    falling = do("Mul", both, down)
    return {"x": do("Mul", up, do("Sub", falling, do("Mul", falling, y))), "y": falling}


pointwise(
    "Swish",
    "Every element times its sigmoid. Source: Ramachandran, Zoph, Le, Searching for activation functions (2017).",
    ("y = x · σ(x)", swish),
    ("dx = dy · (σ(x) + y σ(-x))", "x, y, dy", swish_gradient),
    ("∂x = ∂dx · dy · σ'(x) (1 - y), ∂y = ∂dx · dy · σ(-x)", swish_bend),
)


@in_single
def mish(op: Operator, x: Array) -> Array:
    return np.maximum(x, -FAR) * np.tanh(np.logaddexp(0, x))


@in_single
def mish_gradient(op: Operator, x: Array, y: Array, dy: Array) -> Array:
    t = np.tanh(np.logaddexp(0, x))
    dx = dy * (t + bounded(x) * logistic(x) * (1 - t * t))
    return dx.astype(np.result_type(dx.dtype, y.dtype), copy=False)


def mish_bend(do: Steps, both: str, x: str, y: str) -> Mapping[str, str]:
    """1 - t² is (2 σ(-x) / (1 + σ(-x)²))², which keeps its digits where t is rounded to 1."""
    up, down, t = do("Sigmoid", x), do("Sigmoid", do("Negative", x)), do("Tanh", do("Softplus", x))
    slope = do("Sqr", do("Div", do("Scale", down, scale=2.0), do("Add", do.fill(x, 1.0), do("Sqr", down))))
    bent = do("Mul", slope, do("Mul", both, up))
    falling = do("Sub", down, do("Scale", do("Mul", t, up), scale=2.0))
    return {"x": do("Add", do("Scale", bent, scale=2.0), do("Mul", do("Mul", bent, x), falling))}


pointwise(
    "Mish",
    "Every element times the tanh of its softplus. Source: Misra, Mish (2019).",
    ("y = x · t, t = tanh ln(1 + eˣ)", mish),
    ("dx = dy · (t + x · σ(x) (1 - t²)), t = tanh ln(1 + eˣ)", "x, y, dy", mish_gradient),
    ("∂x = ∂dx · dy · σ(x) (1 - t²) (2 + x (1 - σ(x) - 2 t σ(x)))", mish_bend),
    note="y / x would be t, but not at 0, so t is computed again",
)

FAST_SCALE, FAST_CUBIC, FAST_FAR = sqrt(2 / pi), 0.044715, 40.0


def twice_fast_argument(x: Array) -> Array:
    """2w, where Φ(x) is approximated by (1 + tanh w) / 2, which is σ(2w)."""
    return 2 * FAST_SCALE * x * (1 + FAST_CUBIC * x * x)


@in_double
def gelu(op: Operator, x: Array) -> Array:
    if not op.args.get("fast_gelu", 0):
        return np.maximum(x, -FAR) * normal_cdf(x)
    return np.maximum(x, -FAST_FAR) * logistic(twice_fast_argument(bounded(x, FAST_FAR)))


@in_double
def gelu_gradient(op: Operator, dy: Array, x: Array) -> Array:
    if not op.args.get("fast_gelu", 0):
        return dy * (normal_cdf(x) + bounded(x) * normal_density(bounded(x)))
    x = bounded(x, FAST_FAR)
    w = twice_fast_argument(x)
    return dy * (logistic(w) + 2 * x * logistic_slope(w) * FAST_SCALE * (1 + 3 * FAST_CUBIC * x * x))


def gelu_bend(do: Steps, both: str, x: str) -> str:
    """With `fast_gelu`, w the argument of the tanh t: 0.5 (2 t' + x t'') = (1 - t²) (2 w' - w'(0) - x t w'²).

    1 - t² is 4 σ(2w) σ(-2w), which keeps its digits where t is rounded to 1 or -1.
    """
    if not do.op.args.get("fast_gelu", 0):
        bell = do("ErfGradient", do("Scale", x, scale=sqrt(1 / 2)), do("Scale", both, scale=sqrt(1 / 8)))
        return do("Sub", do("Scale", bell, scale=2.0), do("Mul", do("Mul", bell, x), x))
    x = do("Clip", x, min=-FAST_FAR, max=FAST_FAR)
    square = do("Sqr", x)
    first = do.fill(x, FAST_SCALE)
    rise = do("Add", first, do("Scale", square, scale=3 * FAST_CUBIC * FAST_SCALE))
    w = do("Scale", do("Add", x, do("Scale", do("Mul", x, square), scale=FAST_CUBIC)), scale=FAST_SCALE)
    up, down = (do("Sigmoid", do("Scale", w, scale=sign)) for sign in (2.0, -2.0))
    slope = do("Mul", do("Mul", do("Scale", both, scale=4.0), up), down)
    straight = do("Mul", slope, do("Sub", do("Scale", rise, scale=2.0), first))
    bent = do("Mul", do("Mul", do("Mul", slope, do("Mul", x, do("Tanh", w))), rise), rise)
    return do("Sub", straight, bent)


pointwise(
    "Gelu",
    "Every element times the probability that a standard normal variable is below it.\n\n"
    "With `fast_gelu`, Φ(x) is approximated by (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2.\n"
    "Source: Hendrycks, Gimpel, Gaussian error linear units (2016).",
    ("y = x · Φ(x), Φ the normal distribution", gelu),
    ("dx = dy · (Φ(x) + x · φ(x)), Φ the normal distribution, φ = Φ'", "dy, x", gelu_gradient),
    ("∂x = ∂dx · dy · φ(x) (2 - x²)", gelu_bend),
    args={"fast_gelu": 0},
    note="of the approximation where that was used",
)


def odds(op: Operator, x: Array) -> tuple[Array, Array]:
    """Each probability, kept `eps` away from 0 and 1, and 1 less it, which near 1 has digits that the other has not."""
    eps = op.args.get("eps", 1e-6)
    return np.minimum(np.maximum(x, eps), 1 - eps), np.minimum(np.maximum(1 - x, eps), 1 - eps)


@in_single
def logit(op: Operator, x: Array) -> Array:
    p, q = odds(op, x)
    return np.log(p / q)


@in_single
def logit_gradient(op: Operator, x: Array, dy: Array) -> Array:
    p, q = odds(op, x)
    return np.where(x == p, dy / (p * q), 0)


def logit_bend(do: Steps, both: str, x: str) -> str:
    rising = do("Sub", do("Scale", do("Mul", both, x), scale=2.0), both)
    return do("LogitGradient", x, do("LogitGradient", x, rising, **do.op.args), **do.op.args)


pointwise(
    "Logit",
    "Log of the odds of each probability, kept `eps` away from 0 and 1.",
    ("y = ln(p / (1 - p)), p = min(max(x, eps), 1 - eps)", logit),
    ("dx = dy / (x (1 - x)) where eps ≤ x ≤ 1 - eps, else 0", "x, dy", logit_gradient),
    ("∂x = ∂dx · dy (2x - 1) / (x (1 - x))² where eps ≤ x ≤ 1 - eps, else 0", logit_bend),
    args={"eps": 1e-6},
    note="0 where x was clipped",
)

ERF_NEAR = (
    (1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2, 3.77485237685302021e2, 3.20937758913846947e3),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)
"""Numerator and denominator of erf(x) / x in powers of x², the highest first, for |x| up to 0.5."""

ERF_FAR = (
    (
        *(2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1),
        *(2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3),
        1.23033935479799725e3,
    ),
    (
        *(1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3),
        *(3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3),
    ),
)
"""The same of (1 - erf x) · exp x² in powers of x, for x from 0.5 on."""

ERF_TAIL = (
    (
        *(1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1),
        *(1.60837851487422766e-2, 6.58749161529837803e-4),
    ),
    (
        *(1.0, 2.56852019228982242, 1.87295284992346047, 5.27905102951428412e-1, 6.05183413124413191e-2),
        2.33520497626869185e-3,
    ),
)
"""The same of (1 / √π - x (1 - erf x) · exp x²) · x² in powers of 1 / x², for x from 4 on."""

ERF_END = 40.0
"""From here on 1 - erf x is 0 in double precision."""


def erf(x: Array) -> Array:
    """Error function of each element, within 2e-16 of it in float64.

    Source: W. J. Cody, Rational Chebyshev approximations for the error function, Math. Comp. 23 (1969), 631-637.
    """
    size = np.abs(x)
    inside = np.minimum(size, 0.5)
    near = inside * ratio(ERF_NEAR, inside * inside)
    return np.copysign(np.where(size <= 0.5, near, 1 - erf_complement(np.maximum(size, 0.5))), x)


def erf_complement(x: Array) -> Array:
    """1 - erf x of each element, from 0.5 on."""
    x = np.minimum(x, ERF_END)
    square = x * x
    far = np.maximum(x, 4.0)
    small = 1 / (far * far)
    tail = (1 / sqrt(pi) - small * ratio(ERF_TAIL, small)) / far
    return np.exp(-square) * np.where(x <= 4.0, ratio(ERF_FAR, np.minimum(x, 4.0)), tail)


def ratio(polynomials: tuple[tuple[float, ...], tuple[float, ...]], x: Array) -> Array:
    over, under = (polynomial(coefficients, x) for coefficients in polynomials)
    return over / under


def polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    """Horner's scheme, the coefficient of the highest power first."""
    value = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        value = value * x + coefficient
    return value


def normal_cdf(x: Array) -> Array:
    """Probability that a standard normal variable is below each element."""
    x = x * (1 / sqrt(2))
    return 0.5 * np.where(x < -0.5, erf_complement(np.maximum(-x, 0.5)), 1 + erf(x))


def normal_density(x: Array) -> Array:
    """Density of the standard normal distribution at each element."""
    return np.exp(-0.5 * x * x) * (1 / sqrt(2 * pi))


pointwise(
    "Erf",
    "Error function of each element.",
    ("y = 2/√π · ∫₀ˣ exp(-t²) dt", in_double(lambda op, x: erf(x))),
    ("dx = dy · 2/√π · exp(-x²)", "x, dy", in_double(lambda op, x, dy: dy * np.exp(-x * x) * (2 / sqrt(pi)))),
    (
        "∂x = -∂dx · dy · 4/√π · x exp(-x²)",
        lambda do, both, x: do("Scale", do("Mul", x, do("ErfGradient", x, both)), scale=-2.0),
    ),
)
