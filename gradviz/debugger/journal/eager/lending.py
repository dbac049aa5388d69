"""What a tape takes from the pools of names while it is run backward: a recording takes none itself."""

from collections.abc import Sequence
from typing import NamedTuple

from ....eager.expression import Expression
from ....eager.tape import OperatorPool, TensorPool


class Lending(NamedTuple):
    """How many names of a pool are in use and free before a pass, and how many the pass takes until it is over."""

    name: str
    in_use: int
    free: int
    taken: int


def lendings(expression: Expression) -> Sequence[Lending]:
    """A name for each output and each operator of a tape; those given back first are taken first."""
    functions = [function for function in expression.functions if function is not None]
    joined = TensorPool.current().occupancy().get("join", (0, 0))
    types = {function.label for function in functions}
    known = [found for type, found in OperatorPool.current().occupancy().items() if type in types]
    in_use, free = (sum(found[at] for found in known) for at in (0, 1))
    return [
        Lending("tensors: join", *joined, sum(function.count for function in functions)),
        Lending("operators", in_use, free, len(functions)),
    ]
