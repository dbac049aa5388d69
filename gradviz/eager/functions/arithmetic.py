"""Arithmetic of arrays that broadcast, and of arrays and numbers."""

from ..call import Call
from ..variable import Operand, Variable
from .calling import call, unary, variable
from .conversion import floating

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
        return call("mul", "Scale", scale=float(factor))(x)
    return _mul(x, factor)
