"""How functions reach the table: a function names an operator type and its arguments."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ...operators import lookup
from ..call import Call
from ..variable import Operand, Variable, placed

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

    known = lookup(type)
    assert known is not None
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{known.doc}\n\n{known.formula}; {known.derivative or 'a constant for the gradient'}"
    return function


def variable(x: Operand, like: Variable | None = None) -> Variable:
    """x itself, or a constant made of it, where `like` lies unless it is an array."""
    return x if isinstance(x, Variable) else placed(x, like)
