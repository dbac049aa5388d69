"""Functions of each element: arithmetic, exponentials, trigonometry, roots, and the parts of numbers."""

from math import log as natural_log

from ..call import Call
from ..variable import Operand, Variable
from .calling import call, floating, unary, variable
from .options import number

__all__ = [
    "abs", "add", "arccos", "arcsin", "arctan", "cbrt", "ceil", "clip", "cos", "cosh", "div", "erf", "exp", "expm1",
    "floor", "identity", "log", "log1p", "log2", "log10", "mul", "neg", "pow", "reciprocal", "rsqrt", "scale",
    "sign", "sin", "sinh", "sqrt", "square", "sub", "tan", "tanh",
]  # fmt: skip

_add, _sub, _mul, _div = Call("add", "Add"), Call("sub", "Sub"), Call("mul", "Mul"), Call("div", "Div")
_pow = Call("pow", "Pow")
_NUMBERS = (float, int)

neg = unary("neg", "Negative")
reciprocal = unary("reciprocal", "Reciprocal")
square = unary("square", "Sqr")
abs = unary("abs", "Abs")


def add(x: Operand, y: Operand) -> Variable:
    """x + y, element by element; shapes broadcast as numpy's do."""
    return _add(x, y)


def sub(x: Operand, y: Operand) -> Variable:
    """x - y, element by element; shapes broadcast as numpy's do."""
    return _sub(x, y)


def mul(x: Operand, y: Operand) -> Variable:
    """x · y, element by element; shapes broadcast as numpy's do."""
    if type(y) in _NUMBERS:
        return scale(x, y)
    if type(x) in _NUMBERS:
        return scale(y, x)
    return _mul(x, y)


def div(x: Operand, y: Operand) -> Variable:
    """x / y, element by element, of floating-point arrays; shapes broadcast as numpy's do."""
    return _div(*floating(x, y))


def pow(x: Operand, y: Operand) -> Variable:
    """x to the power of y, a number or an array; shapes broadcast as numpy's do."""
    if type(y) not in _NUMBERS:
        return _pow(*floating(x, y))
    if y == 2:
        return square(x)
    return call("pow", "Pow", exponent=float(y))(x)


def scale(x: Operand, factor: float) -> Variable:
    """x times a number; of integers with a whole number integers."""
    x = variable(x)
    if x.dtype.kind == "f":
        return call("mul", "Scale", scale=number("scale", "factor", factor))(x)
    return _mul(x, factor)


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
    bounds = {name: number("clip", name, bound) for name, bound in (("min", min), ("max", max)) if bound is not None}
    return call("clip", "Clip", **bounds)(x)
