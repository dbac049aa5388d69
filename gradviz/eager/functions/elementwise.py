"""Functions of each element: exponentials, trigonometry, roots, and the parts of numbers."""

from math import log as natural_log

from ..variable import Operand, Variable
from .arithmetic import scale
from .calling import call, unary, variable

exp = unary("exp", "Exp")
expm1 = unary("expm1", "Expm1")
log = unary("log", "Log")
log1p = unary("log1p", "Log1p")
sqrt = unary("sqrt", "Sqrt")
rsqrt = unary("rsqrt", "Rsqrt")
cbrt = unary("cbrt", "Cbrt")
sin = unary("sin", "Sin")
cos = unary("cos", "Cos")
tan = unary("tan", "Tan")
arcsin = unary("arcsin", "Asin")
arccos = unary("arccos", "Acos")
arctan = unary("arctan", "Atan")
sinh = unary("sinh", "Sinh")
cosh = unary("cosh", "Cosh")
tanh = unary("tanh", "Tanh")
erf = unary("erf", "Erf")
identity = unary("identity", "Copy")

_sign, _floor, _ceil = unary("sign", "Sign"), unary("floor", "Floor"), unary("ceil", "Ceil")


def log2(x: Operand) -> Variable:
    """Logarithm of each element to base 2."""
    return scale(log(x), 1 / natural_log(2))


def log10(x: Operand) -> Variable:
    """Logarithm of each element to base 10."""
    return scale(log(x), 1 / natural_log(10))


def sign(x: Operand) -> Variable:
    """-1, 0 or 1 for each element; a constant, as its slope is 0 wherever it has one."""
    return _sign(variable(x).detach())


def floor(x: Operand) -> Variable:
    """The next whole number below each element; a constant, as its slope is 0 wherever it has one."""
    return _floor(variable(x).detach())


def ceil(x: Operand) -> Variable:
    """The next whole number above each element; a constant, as its slope is 0 wherever it has one."""
    return _ceil(variable(x).detach())


def clip(x: Operand, min: float | None = None, max: float | None = None) -> Variable:
    """Each element kept from `min` to `max`, None: without a bound; the slope is 0 at the bounds and beyond."""
    bounds = {name: float(bound) for name, bound in (("min", min), ("max", max)) if bound is not None}
    return call("clip", "Clip", **bounds)(x)
