"""Any operator type of the table as a function, also those that a user has registered."""

from typing import Any

from ..call import Call
from ..variable import Operand, Variable


def apply(type: str, *inputs: Operand, outputs: int = 1, **args: Any) -> Variable | tuple[Variable, ...]:
    """Apply operator type `type`, of which a kernel must be known, with arguments `args`.

    Args:
        outputs: how many outputs the operator has.

    Returns:
        A Variable, or a tuple of them where there are several outputs.

    Example:
        >>> @register_kernel("Cosine")
        ... def cosine(op, x):
        ...     return numpy.cos(x)
        >>> y = functions.apply("Cosine", x)
    """
    made = Call(type, type, args, outputs).several(*inputs)
    return made if outputs > 1 else made[0]
