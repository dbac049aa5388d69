"""Sines and their kin, circular and hyperbolic, and the inverses; angles in radians."""

from collections.abc import Mapping

import numpy as np

from ..program import Operator
from .gradients import Steps, gradient_of, second_derivative
from .inference import elementwise
from .registry import Array, operator


@operator("Sin", "x -> y", formula="y = sin x", derivative="dx = dy · cos x", infer=elementwise)
def sin(op: Operator, x: Array) -> Array:
    """Sine of each element."""
    return np.sin(x)


@gradient_of("Sin", "x, dy -> dx", derivative="∂dy = ∂dx · cos x, ∂x = -∂dx · dy · sin x")
def sin_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of Sin."""
    return dy * np.cos(x)


@second_derivative("Sin")
def sin_bend(do: Steps, both: str, x: str) -> Mapping[str, str]:
    return {"x": do("CosGradient", x, both)}


@operator("Cos", "x -> y", formula="y = cos x", derivative="dx = -dy · sin x", infer=elementwise)
def cos(op: Operator, x: Array) -> Array:
    """Cosine of each element."""
    return np.cos(x)


@gradient_of("Cos", "x, dy -> dx", derivative="∂dy = -∂dx · sin x, ∂x = -∂dx · dy · cos x")
def cos_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of Cos."""
    return -dy * np.sin(x)


@second_derivative("Cos")
def cos_bend(do: Steps, both: str, x: str) -> Mapping[str, str]:
    return {"x": do("Negative", do("SinGradient", x, both))}


@operator("Tan", "x -> y", formula="y = tan x", derivative="dx = dy / cos² x", infer=elementwise)
def tan(op: Operator, x: Array) -> Array:
    """Tangent of each element."""
    return np.tan(x)


@gradient_of("Tan", "x, dy -> dx", derivative="∂dy = ∂dx / cos² x, ∂x = 2 ∂dx · dy · tan x / cos² x")
def tan_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of Tan."""
    return dy / np.square(np.cos(x))


@second_derivative("Tan")
def tan_bend(do: Steps, both: str, x: str) -> Mapping[str, str]:
    return {"x": do("Scale", do("TanGradient", x, do("Mul", both, do("Tan", x))), scale=2.0)}


@operator("Asin", "x -> y", formula="y = arcsin x", derivative="dx = dy / √(1 - x²)", infer=elementwise)
def asin(op: Operator, x: Array) -> Array:
    """Inverse sine of each element, from -π/2 to π/2; nan outside [-1, 1]."""
    return np.arcsin(x)


@gradient_of("Asin", "x, dy -> dx", derivative="∂dy = ∂dx / √(1 - x²), ∂x = ∂dx · dy · x / √(1 - x²)³")
def asin_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of Asin."""
    return dy / np.sqrt(1 - x * x)


@second_derivative("Asin")
def asin_bend(do: Steps, both: str, x: str) -> Mapping[str, str]:
    """Each AsinGradient divides by the root once."""
    return {"x": do("AsinGradient", x, do("AsinGradient", x, do("AsinGradient", x, do("Mul", both, x))))}


@operator("Acos", "x -> y", formula="y = arccos x", derivative="dx = -dy / √(1 - x²)", infer=elementwise)
def acos(op: Operator, x: Array) -> Array:
    """Inverse cosine of each element, from 0 to π; nan outside [-1, 1]."""
    return np.arccos(x)


@gradient_of("Acos", "x, dy -> dx", derivative="∂dy = -∂dx / √(1 - x²), ∂x = -∂dx · dy · x / √(1 - x²)³")
def acos_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of Acos."""
    return -dy / np.sqrt(1 - x * x)


@second_derivative("Acos")
def acos_bend(do: Steps, both: str, x: str) -> Mapping[str, str]:
    """Each AcosGradient divides by the root once, and changes the sign."""
    return {"x": do("AcosGradient", x, do("AcosGradient", x, do("AcosGradient", x, do("Mul", both, x))))}


@operator("Atan", "x -> y", formula="y = arctan x", derivative="dx = dy / (1 + x²)", infer=elementwise)
def atan(op: Operator, x: Array) -> Array:
    """Inverse tangent of each element, from -π/2 to π/2."""
    return np.arctan(x)


@gradient_of("Atan", "x, dy -> dx", derivative="∂dy = ∂dx / (1 + x²), ∂x = -2 ∂dx · dy · x / (1 + x²)²")
def atan_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of Atan."""
    return dy / (1 + x * x)


@second_derivative("Atan")
def atan_bend(do: Steps, both: str, x: str) -> Mapping[str, str]:
    """Each AtanGradient divides by 1 + x² once; before x grows what it is multiplied by."""
    twice = do("AtanGradient", x, do("Mul", do("AtanGradient", x, both), x))
    return {"x": do("Scale", twice, scale=-2.0)}


@operator("Sinh", "x -> y", formula="y = sinh x", derivative="dx = dy · cosh x", infer=elementwise)
def sinh(op: Operator, x: Array) -> Array:
    """Hyperbolic sine of each element."""
    return np.sinh(x)


@gradient_of("Sinh", "dy, x -> dx", derivative="∂dy = ∂dx · cosh x, ∂x = ∂dx · dy · sinh x")
def sinh_gradient(op: Operator, dy: Array, x: Array) -> Array:
    """Gradient of Sinh."""
    return dy * np.cosh(x)


@second_derivative("Sinh")
def sinh_bend(do: Steps, both: str, x: str) -> Mapping[str, str]:
    return {"x": do("CoshGradient", both, x)}


@operator("Cosh", "x -> y", formula="y = cosh x", derivative="dx = dy · sinh x", infer=elementwise)
def cosh(op: Operator, x: Array) -> Array:
    """Hyperbolic cosine of each element."""
    return np.cosh(x)


@gradient_of("Cosh", "dy, x -> dx", derivative="∂dy = ∂dx · sinh x, ∂x = ∂dx · dy · cosh x")
def cosh_gradient(op: Operator, dy: Array, x: Array) -> Array:
    """Gradient of Cosh."""
    return dy * np.sinh(x)


@second_derivative("Cosh")
def cosh_bend(do: Steps, both: str, x: str) -> Mapping[str, str]:
    return {"x": do("SinhGradient", both, x)}
