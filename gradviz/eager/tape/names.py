"""The names of a tape that is run backward: taken from the pools before, given back after, whatever happens."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..function import Function
from ..variable import Variable
from .pools import OperatorPool, TensorPool


class Lent:
    """Names for the outputs and operators of a tape, and for its leaves as far as they are asked for.

    An output that has a name already, since somebody has asked for it, keeps it until it is given back with the others.

    """

    def __init__(self) -> None:
        self._tensors, self._operators = TensorPool.current(), OperatorPool.current()
        self._outputs: list[str] = []
        self._anchors: list[str] = []
        self._others: list[str] = []
        self._told: set[str] = set()

    def take(self, functions: Sequence[Function], roots: Sequence[Variable]) -> None:
        """Take names for a tape of `functions`, which are told in this order too; `roots`: where the pass starts."""
        if self._tensors.has_named_outputs:
            self._outputs += self._named(functions, roots)
        else:
            arrays = [array for function in functions for array in function.out_data]
            self._outputs += self._tensors.take_for("join", arrays)
        for function in functions:
            self._anchors += self._operators.take_for(function.label, (function,))
        self._next_output, self._next_anchor = iter(self._outputs), iter(self._anchors)

    def _named(self, functions: Sequence[Function], roots: Sequence[Variable]) -> list[str]:
        known: dict[tuple[int, int], str] = {}
        for x in (*roots, *[x for function in functions for x in function.inputs]):
            name = self._tensors.known_name(x)
            if name is not None and x.creator is not None:
                known[x.creator.uid, x.place] = name
        return [
            known.get((function.uid, place)) or self._tensors.take_for("join", (array,))[0]
            for function in functions
            for place, array in enumerate(function.out_data)
        ]

    def of_leaf(self, x: Variable, requires_grad: bool) -> str:
        """The name of x, or one for this pass alone: where that is told already, or belongs to an output."""
        name = self._tensors.name(x) if x.creator is None else None
        if name is None or name in self._told:
            (name,) = self._tensors.take_for("numpy", [x.data])
            self._others.append(name)
        self._told.add(name)
        return name

    def of_output(self, function: Function, place: int, x: Variable | None) -> str:
        """The name of the next output."""
        return next(self._next_output)

    def of_operator(self, function: Function) -> str:
        """The name of the next operator."""
        return next(self._next_anchor)

    def give_back(self) -> None:
        """The pass is over."""
        self._tensors.release_all(self._outputs)
        self._tensors.release_all(self._others)
        self._tensors.passed()
        self._operators.release_all(self._anchors)


@contextmanager
def lent_to(functions: Sequence[Function], roots: Sequence[Variable]) -> Iterator[Lent]:
    """Names for the tape that consists of `functions`."""
    names = Lent()
    try:
        names.take(functions, roots)
        yield names
    finally:
        names.give_back()
