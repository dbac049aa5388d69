"""Sines and their kin, circular and hyperbolic, and the inverses; angles in radians."""

import numpy as np

from ..program import Operator
from .gradients import pointwise
from .registry import Array, in_single


def atan_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """dy / (1 + x²); from 1 on divided by x twice, so that no square overflows."""
    size = np.maximum(np.abs(x), 1)
    return dy / size / (1 / size + np.minimum(np.abs(x), 1) * np.abs(x))


pointwise(
    "Sin",
    "Sine of each element.",
    ("y = sin x", lambda op, x: np.sin(x)),
    ("dx = dy · cos x", "x, dy", lambda op, x, dy: dy * np.cos(x)),
    ("∂x = -∂dx · dy · sin x", lambda do, both, x: do("CosGradient", x, both)),
)

pointwise(
    "Cos",
    "Cosine of each element.",
    ("y = cos x", lambda op, x: np.cos(x)),
    ("dx = -dy · sin x", "x, dy", lambda op, x, dy: -dy * np.sin(x)),
    ("∂x = -∂dx · dy · cos x", lambda do, both, x: do("Negative", do("SinGradient", x, both))),
)

pointwise(
    "Tan",
    "Tangent of each element.",
    ("y = tan x", lambda op, x: np.tan(x)),
    ("dx = dy / cos² x", "x, dy", in_single(lambda op, x, dy: dy / np.square(np.cos(x)))),
    (
        "∂x = 2 ∂dx · dy · tan x / cos² x",
        lambda do, both, x: do("Scale", do("TanGradient", x, do("Mul", both, do("Tan", x))), scale=2.0),
    ),
)

pointwise(
    "Asin",
    "Inverse sine of each element, from -π/2 to π/2; nan outside [-1, 1].",
    ("y = arcsin x", lambda op, x: np.arcsin(x)),
    ("dx = dy / √(1 - x²)", "x, dy", in_single(lambda op, x, dy: dy / np.sqrt((1 - x) * (1 + x)))),
    (
        "∂x = ∂dx · dy · x / √(1 - x²)³",  # each AsinGradient divides by the root once
        lambda do, both, x: do("AsinGradient", x, do("AsinGradient", x, do("AsinGradient", x, do("Mul", both, x)))),
    ),
)

pointwise(
    "Acos",
    "Inverse cosine of each element, from 0 to π; nan outside [-1, 1].",
    ("y = arccos x", lambda op, x: np.arccos(x)),
    ("dx = -dy / √(1 - x²)", "x, dy", in_single(lambda op, x, dy: -dy / np.sqrt((1 - x) * (1 + x)))),
    (
        "∂x = -∂dx · dy · x / √(1 - x²)³",  # each AcosGradient divides by the root once, and changes the sign
        lambda do, both, x: do("AcosGradient", x, do("AcosGradient", x, do("AcosGradient", x, do("Mul", both, x)))),
    ),
)

pointwise(
    "Atan",
    "Inverse tangent of each element, from -π/2 to π/2.",
    ("y = arctan x", lambda op, x: np.arctan(x)),
    ("dx = dy / (1 + x²)", "x, dy", in_single(atan_gradient)),
    (
        "∂x = -2 ∂dx · dy · x / (1 + x²)²",  # before x grows, what it is multiplied by is divided once
        lambda do, both, x: do("Scale", do("AtanGradient", x, do("Mul", do("AtanGradient", x, both), x)), scale=-2.0),
    ),
)

pointwise(
    "Sinh",
    "Hyperbolic sine of each element.",
    ("y = sinh x", lambda op, x: np.sinh(x)),
    ("dx = dy · cosh x", "dy, x", lambda op, dy, x: dy * np.cosh(x)),
    ("∂x = ∂dx · dy · sinh x", lambda do, both, x: do("CoshGradient", both, x)),
)

pointwise(
    "Cosh",
    "Hyperbolic cosine of each element.",
    ("y = cosh x", lambda op, x: np.cosh(x)),
    ("dx = dy · sinh x", "dy, x", lambda op, dy, x: dy * np.sinh(x)),
    ("∂x = ∂dx · dy · cosh x", lambda do, both, x: do("SinhGradient", both, x)),
)
