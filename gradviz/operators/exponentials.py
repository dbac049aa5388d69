"""Exponentials and logarithms near 0, where 1 + x loses the digits of x: Log1p and Expm1."""

from collections.abc import Mapping

import numpy as np

from ..program import Operator
from .gradients import gradient_of, second_derivative
from .inference import elementwise
from .registry import Array, operator
from .steps import Steps


@operator("Log1p", "x -> y", formula="y = ln(1 + x)", derivative="dx = dy / (1 + x)", infer=elementwise)
def log1p(op: Operator, x: Array) -> Array:
    """Natural logarithm of 1 plus each element, exact for small ones too."""
    return np.log1p(x)


@gradient_of("Log1p", "x, dy -> dx", derivative="∂dy = ∂dx / (1 + x), ∂x = -∂dx · dy / (1 + x)²")
def log1p_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of Log1p."""
    return dy / (1 + x)


@second_derivative("Log1p")
def log1p_bend(do: Steps, both: str, x: str) -> Mapping[str, str]:
    return {"x": do("Negative", do("Log1pGradient", x, do("Log1pGradient", x, both)))}


@operator("Expm1", "x -> y", formula="y = eˣ - 1", derivative="dx = dy · (y + 1)", infer=elementwise)
def expm1(op: Operator, x: Array) -> Array:
    """Exponential of each element less 1, exact for small ones too."""
    return np.expm1(x)


@gradient_of("Expm1", "y, dy -> dx", derivative="∂dy = ∂dx · (y + 1), ∂y = ∂dx · dy")
def expm1_gradient(op: Operator, y: Array, dy: Array) -> Array:
    """Gradient of Expm1 from its output."""
    return dy * (y + 1)


@second_derivative("Expm1")
def expm1_bend(do: Steps, both: str, y: str) -> Mapping[str, str]:
    return {"y": both}
