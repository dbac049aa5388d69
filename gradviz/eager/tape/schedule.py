"""The "tape" schedule: a pass from the last function to the first, with names from the pools, and shared buffers."""

from collections.abc import Callable, Container, Sequence
from typing import Any

from ...operators.registry import Array
from .. import gradients
from ..expression import recorded
from ..function import Function
from ..gradients import ABSENT, Rows
from ..plan import Step, run_steps
from ..rank import ADD, Arrived
from ..variable import Variable, plain
from .pools import lent_to
from .run import TapePass
from .sharing import Sharing, take_turns


def run_by_tape(
    seeds: Sequence[tuple[Variable, Any]],
    *,
    create_graph: bool,
    retain: bool = False,
    keep: Container[int] = (),
    tell_sharing: Callable[[Sharing], None] | None = None,
) -> Arrived:
    """One pass backward from `seeds`: Variables and their gradients.

    Args:
        create_graph: whether gradients are Variables.
        retain: whether to keep the gradients of all outputs.
        keep: ids of functions whose outputs keep their gradients in any case.
        tell_sharing: is told what gradients save that take turns in shared buffers; None: nobody asks.
    """
    add = ADD if create_graph else gradients.add
    starts: dict[tuple[int, int], tuple[Variable, Any]] = {}
    leaves: dict[Variable, Any] = {}
    for y, gradient in seeds:
        if y.creator is None:
            leaves[y] = gradient
        else:
            first, known = starts.get(key := (y.creator.uid, y.place), (y, None))
            starts[key] = first, gradient if known is None else add(known, gradient)
    roots = [y for y, _ in starts.values()]
    functions = recorded(roots)
    made = TapePass if tell_sharing is None else SharingPass
    tape = made(functions, list(starts.values()), create_graph=create_graph, retain=retain, keep=keep)
    with lent_to(functions, roots, tape.leaves):
        arrived = tape.run()
    for x, gradient in arrived.leaves.items():
        leaves[x] = add(leaves[x], gradient) if x in leaves else gradient
    if tell_sharing is not None and isinstance(tape, SharingPass):
        tell_sharing(tape.sharing(arrived))
    return arrived._replace(leaves=leaves)


class SharingPass(TapePass):
    """A pass that finds out what gradients save that take turns in shared buffers."""

    is_watched = True

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._turns: list[tuple[list[int], list[int]]] = []
        self._sizes: list[int] = []
        self._number_of: dict[int, int] = {}
        self._inside: list[Array] = []

    def _input_gradients(self, function: Function, gys: Sequence[Any], wanted: int) -> Sequence[Any]:
        gxs = super()._input_gradients(function, gys, wanted)
        inside, self._inside = self._inside, []
        self._turn(gys, [*inside, *gxs])
        return gxs

    def _run_steps(self, steps: Sequence[Step], values: list[Any]) -> None:
        given = len(values)
        run_steps(steps, values)
        self._inside = values[given:]

    def _made(self, op: Any, arrays: Sequence[Any]) -> Any:
        made = super()._made(op, arrays)
        self._turn(arrays, [made])
        return made

    def _turn(self, reads: Sequence[Any], made: Sequence[Any]) -> None:
        """Something has read gradients and made others, if they are not among those that it has read."""
        known = self._numbers(reads)
        ids = {id(part) for part in _parts(reads)}
        new = {id(part): part for part in _parts(made) if id(part) not in ids}
        for key, part in new.items():
            self._number_of[key] = len(self._sizes)
            self._sizes.append(plain(part).nbytes)
        self._turns.append((known, [self._number_of[key] for key in new]))

    def _numbers(self, values: Sequence[Any]) -> list[int]:
        return [self._number_of[id(part)] for part in _parts(values) if id(part) in self._number_of]

    def sharing(self, arrived: Arrived) -> Sharing:
        """What is saved where the gradients that have arrived have places of their own."""
        apart = [*arrived.leaves.values(), *[gy for gys in arrived.kept.values() for gy in gys]]
        return take_turns(self._turns, self._numbers(apart), self._sizes.__getitem__)[1]


def _parts(values: Sequence[Any]) -> list[Any]:
    """The arrays of which gradients consist, as far as they are there."""
    parts = [part for value in values for part in (value if type(value) is Rows else (value,))]
    return [part for part in parts if part is not None and part is not ABSENT]
