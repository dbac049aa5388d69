"""Sines and their kin, circular and hyperbolic, and the inverses; angles in radians."""

import numpy as np

from ..program import Operator
from .elementwise import elementwise_gradient
from .inference import elementwise
from .registry import Array, operator


@operator("Sin", "x -> y", formula="y = sin x", derivative="dx = dy · cos x", infer=elementwise)
def sin(op: Operator, x: Array) -> Array:
    """Sine of each element."""
    return np.sin(x)


@elementwise_gradient("Sin", reads="x, dy")
def sin_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of Sin."""
    return dy * np.cos(x)


@operator("Cos", "x -> y", formula="y = cos x", derivative="dx = -dy · sin x", infer=elementwise)
def cos(op: Operator, x: Array) -> Array:
    """Cosine of each element."""
    return np.cos(x)


@elementwise_gradient("Cos", reads="x, dy")
def cos_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of Cos."""
    return -dy * np.sin(x)


@operator("Tan", "x -> y", formula="y = tan x", derivative="dx = dy / cos² x", infer=elementwise)
def tan(op: Operator, x: Array) -> Array:
    """Tangent of each element."""
    return np.tan(x)


@elementwise_gradient("Tan", reads="x, dy")
def tan_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of Tan."""
    return dy / np.square(np.cos(x))


@operator("Asin", "x -> y", formula="y = arcsin x", derivative="dx = dy / √(1 - x²)", infer=elementwise)
def asin(op: Operator, x: Array) -> Array:
    """Inverse sine of each element, from -π/2 to π/2; nan outside [-1, 1]."""
    return np.arcsin(x)


@elementwise_gradient("Asin", reads="x, dy")
def asin_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of Asin."""
    return dy / np.sqrt(1 - x * x)


@operator("Acos", "x -> y", formula="y = arccos x", derivative="dx = -dy / √(1 - x²)", infer=elementwise)
def acos(op: Operator, x: Array) -> Array:
    """Inverse cosine of each element, from 0 to π; nan outside [-1, 1]."""
    return np.arccos(x)


@elementwise_gradient("Acos", reads="x, dy")
def acos_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of Acos."""
    return -dy / np.sqrt(1 - x * x)


@operator("Atan", "x -> y", formula="y = arctan x", derivative="dx = dy / (1 + x²)", infer=elementwise)
def atan(op: Operator, x: Array) -> Array:
    """Inverse tangent of each element, from -π/2 to π/2."""
    return np.arctan(x)


@elementwise_gradient("Atan", reads="x, dy")
def atan_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of Atan."""
    return dy / (1 + x * x)


@operator("Sinh", "x -> y", formula="y = sinh x", derivative="dx = dy · cosh x", infer=elementwise)
def sinh(op: Operator, x: Array) -> Array:
    """Hyperbolic sine of each element."""
    return np.sinh(x)


@elementwise_gradient("Sinh", reads="dy, x")
def sinh_gradient(op: Operator, dy: Array, x: Array) -> Array:
    """Gradient of Sinh."""
    return dy * np.cosh(x)


@operator("Cosh", "x -> y", formula="y = cosh x", derivative="dx = dy · sinh x", infer=elementwise)
def cosh(op: Operator, x: Array) -> Array:
    """Hyperbolic cosine of each element."""
    return np.cosh(x)


@elementwise_gradient("Cosh", reads="dy, x")
def cosh_gradient(op: Operator, dy: Array, x: Array) -> Array:
    """Gradient of Cosh."""
    return dy * np.sinh(x)
