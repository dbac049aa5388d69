"""The same numbers in another dtype, or as constants."""

from typing import Any

import numpy as np

from ..variable import Operand, Variable, as_variables
from .calling import call, variable


def stop_gradient(x: Operand) -> Variable:
    """x, through which no gradient passes."""
    return variable(x).detach()


def cast(x: Operand, dtype: Any) -> Variable:
    """x in another dtype, numpy's or its name; gradients come back in the dtype of x. x itself where it has it."""
    old, wanted = variable(x), np.dtype(dtype)
    return old if old.dtype == wanted else call("cast", "Cast", to=wanted.name)(old)


def floating(x: Operand, y: Operand) -> tuple[Variable, ...]:
    """x and y; integers as the floating-point numbers that numpy makes of them beside the other."""
    if isinstance(x, Variable) and isinstance(y, Variable) and x.dtype == y.dtype:
        return x, y
    variables = as_variables((x, y))
    dtype = np.result_type(*[v.dtype for v in variables])
    return tuple([v if v.dtype.kind == "f" or dtype.kind != "f" else cast(v, dtype) for v in variables])
