"""How functions reach the table: a function names an operator type and its arguments.

`apply` does that for any type, also those that a user has registered; `cast` and `stop_gradient` give the same numbers.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ...operators import lookup
from ..call import Call
from ..variable import Operand, Variable, as_variables, placed
from .options import no_option, text, whole

__all__ = ["apply", "cast", "stop_gradient"]

MOST_CALLS = 512
"""Calls are kept for the next time, so many of them: arguments may be numbers of any value."""


@lru_cache(MOST_CALLS, typed=True)
def call(name: str, type: str, outputs: int = 1, returned: tuple[int, ...] = (0,), **args: Any) -> Call:
    """The call of operator type `type` that messages call `name`; arguments must be hashable."""
    return Call(name, type, args, outputs, returned)


def unary(name: str, type: str) -> Callable[[Operand], Variable]:
    """The function of one array that is operator type `type` without arguments; its documentation is the table's."""
    of_type = Call(name, type)

    def function(x: Operand) -> Variable:
        return of_type(x)

    operator_type = lookup(type)
    assert operator_type is not None
    function.__name__ = function.__qualname__ = name
    derivative = operator_type.derivative or "a constant for the gradient"
    function.__doc__ = f"{operator_type.doc}\n\n{operator_type.formula}; {derivative}"
    return function


def variable(x: Operand, like: Variable | None = None) -> Variable:
    """x itself, or a constant made of it, where `like` lies unless it is an array."""
    return x if isinstance(x, Variable) else placed(x, like)


def apply(type: str, *inputs: Operand, outputs: int = 1, **args: Any) -> Variable | tuple[Variable, ...]:
    """Apply operator type `type`, which must have a kernel, with arguments `args`.

    Args:
        outputs: how many outputs the operator has.

    Returns:
        A Variable, or a tuple of them where there are several outputs, or none.

    Example:
        >>> @register_kernel("Cosine")
        ... def cosine(op, x):
        ...     return numpy.cos(x)
        >>> y = functions.apply("Cosine", x)
    """
    count = whole("apply", "outputs", outputs)
    variables = Call(type, text("apply", "type", type), args, count).several(*inputs)
    return variables[0] if count == 1 else variables


def stop_gradient(x: Operand) -> Variable:
    """x, through which no gradient passes."""
    return variable(x).detach()


def cast(x: Operand, dtype: Any) -> Variable:
    """x in another dtype, numpy's or its name; gradients come back in the dtype of x. x itself where it has it."""
    old = variable(x)
    try:
        wanted = np.dtype(dtype)
    except (TypeError, ValueError):
        raise no_option("cast", "dtype", dtype, 'a dtype, as "float32"') from None
    return old if old.dtype == wanted else call("cast", "Cast", to=wanted.name)(old)


def floating(x: Operand, y: Operand) -> tuple[Variable, ...]:
    """x and y; integers as the floating-point numbers that numpy makes of them beside the other."""
    if isinstance(x, Variable) and isinstance(y, Variable) and x.dtype == y.dtype:
        return x, y
    variables = as_variables((x, y))
    dtype = np.result_type(*[v.dtype for v in variables])
    return tuple([v if v.dtype.kind == "f" or dtype.kind != "f" else cast(v, dtype) for v in variables])
