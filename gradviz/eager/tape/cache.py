"""Plans of tapes, kept for the next tape of the same structure."""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any

from ...operators.registry import when_registered
from ...runtime.devices import device_of
from ..call import OperatorFunction
from ..function import Function
from ..variable import Variable
from .plan import TapePlan

MOST_FUNCTIONS = 50_000
"""The plans that are kept are for so many functions together; those that were used last stay."""


class PlanCache:
    """Structure -> plan."""

    def __init__(self) -> None:
        self._plans: OrderedDict[Hashable, tuple[TapePlan, int]] = OrderedDict()
        self._functions = 0

    def get(self, structure: Hashable) -> TapePlan | None:
        """The plan of a structure that was met before."""
        known = self._plans.get(structure)
        if known is None:
            return None
        self._plans.move_to_end(structure)
        return known[0]

    def put(self, structure: Hashable, plan: TapePlan, functions: int) -> None:
        """Keep a plan for so many functions, if it is not too large."""
        if functions > MOST_FUNCTIONS:
            return
        self._plans[structure] = plan, functions
        self._functions += functions
        while self._functions > MOST_FUNCTIONS:
            _, (_, forgotten) = self._plans.popitem(last=False)
            self._functions -= forgotten

    def __len__(self) -> int:
        return len(self._plans)

    def clear(self) -> None:
        """Forget all plans."""
        self._plans.clear()
        self._functions = 0


PLANS = PlanCache()
when_registered(PLANS.clear)


def structure_of(functions: Sequence[Function], roots: Sequence[Variable], kept: Hashable) -> Hashable | None:
    """What the plan of a tape depends on; None where a plan holds for one tape alone.

    Two tapes are of one structure where the same operators, on arrays of the same shapes and dtypes, read each other's
    outputs and leaves in the same way and want the same gradients. Functions with methods in Python, and Variables that
    were given new data between two functions, make a tape one of its own.

    Args:
        kept: what tells which gradients are kept.
    """
    codes: dict[Any, int] = {}
    read: dict[int, Any] = {}
    first: dict[int, int] = {}
    outputs = 0
    structure: list[Any] = [kept]
    for function in functions:
        if type(function) is not OperatorFunction:
            return None
        wanted = function.wanted
        signature = function.signature
        structure.append(_whatever_seed(function) if "seed" in signature.op.args else signature)
        structure.append(wanted)
        for x, array in zip(function.inputs, function.arrays, strict=False):
            creator = x._creator
            if not wanted & 1:
                structure.append(codes.setdefault((id(x), id(array)), -len(codes) - 1))
            elif creator is not None and creator.inputs is not None:
                if creator.arrays[x.place - creator.count] is not array:
                    return None
                structure.append(first[creator.uid] + x.place)
            else:
                if read.setdefault(id(x), array) is not array:
                    return None
                structure.append(codes.setdefault(id(x), -len(codes) - 1))
            wanted >>= 1
        first[function.uid] = outputs
        outputs += function.count
    structure += [first[root._creator.uid] + root.place for root in roots if root._creator is not None]
    return tuple(structure)


def _whatever_seed(function: OperatorFunction) -> Hashable:
    """What stands for a call that draws random numbers.

    Each has a seed of its own. No operator of a gradient draws anew: it reads what was drawn.
    """
    op = function.signature.op
    args = repr({name: value for name, value in op.args.items() if name != "seed"})
    specs = [(array.shape, array.dtype, str(device_of(array))) for array in function.arrays]
    return op.type, args, function.count, *specs
