"""A backward pass by the rank schedule that notes what it does: the schedule itself, not another one like it.

A note costs little: names, events and words are made of the notes when somebody looks at the recording.
"""

from bisect import insort
from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

from ...eager.call import OperatorFunction
from ...eager.function import Function
from ...eager.plan import Plan
from ...eager.rank import Pass
from ...eager.variable import Variable
from ...operators.registry import Array
from ...runtime.devices import copied, device_of
from ..interrupts import interrupted
from ..terms import Terms

MOST_WAITING = 8
"""Functions in the heap that a note lists."""

InHeap = tuple[int, int, Function]
"""A function that waits: its rank, the negative of its arrival, itself."""


class Visit:
    """A function was taken from the heap and run backward.

    Attributes:
        function, arrays: what it is, and what it has read and returned.
        gys: the gradients of its outputs, dense.
        waiting: the next functions in the heap, the first one first; `waits` are in there.
        plan: how a function of the table is run backward; None: it is one of the user's, or has no rule.
        runs: for each operator that has run what it made, and the seconds.
        gxs: the gradients of its inputs; None: it failed.
    """

    __slots__ = ("arrays", "function", "gxs", "gys", "plan", "runs", "waiting", "waits")

    def __init__(self, function: Function, gys: Sequence[Any], waiting: Sequence[InHeap], waits: int) -> None:
        self.function = function
        self.arrays = function.arrays
        self.gys = gys
        self.waiting = waiting
        self.waits = waits
        self.plan: Plan | None = None
        self.runs: list[tuple[tuple[Array, ...], float]] = []
        self.gxs: Sequence[Any] | None = None


class Arrival(NamedTuple):
    """A gradient has arrived at a Variable.

    Attributes:
        gradient: an array, or rows.
        queued: the function that joins the heap because of it, and its arrival there.
        before, total: what was there before, and the sum, which took so many seconds.
    """

    gradient: Any
    queued: tuple[Function, int] | None
    before: Any
    total: Any
    seconds: float


class WatchedPass(Pass):
    """One pass backward, see `Pass`.

    Args:
        notes: where what happens is noted, in order.
        terms: on which it is recorded.
    """

    is_watched = True

    def __init__(
        self, notes: list[Visit | Arrival], terms: Terms, seeds: Sequence[tuple[Variable, Any]], **options: Any
    ) -> None:
        self._notes = notes
        self._terms = terms
        self._waiting: list[tuple[int, int, int, Function]] = []
        self._runs: list[tuple[tuple[Array, ...], float]] = []
        self._observed: dict[int, tuple[Plan, Plan]] = {}
        super().__init__(seeds, **options)

    def _watched(self, function: Function, gys: Sequence[Any], wanted: int) -> Sequence[Any]:
        waiting = self._waiting
        waiting.pop()
        next_ones = [(rank, late, other) for rank, late, _, other in waiting[: -MOST_WAITING - 1 : -1]]
        visit = Visit(function, gys, next_ones, len(waiting))
        self._notes.append(visit)
        self._look_up(function)
        if type(function) is OperatorFunction:
            visit.gxs = self._run_plan(visit, function, gys, wanted)
        else:
            visit.gxs = self._run_own(visit, function, gys, wanted)
        return visit.gxs

    def _look_up(self, function: Function) -> None:
        """See whether somebody waits, or wants no more."""
        terms = self._terms
        if terms.interrupts.is_asked:
            raise interrupted(f"before {function.label} went backward")
        if (now := perf_counter()) > terms.pace.due:
            terms.pace.tell(now, len(self._notes))

    def _run_plan(self, visit: Visit, function: OperatorFunction, gys: Sequence[Any], wanted: int) -> Sequence[Any]:
        """Run a function of the table backward, noting each step."""
        self._runs = visit.runs
        try:
            visit.plan = function.plan(gys, wanted)
            return self._observing(visit.plan).run(visit.arrays, gys)
        except Exception as error:
            raise function.explained(error) from error

    def _observing(self, plan: Plan) -> Plan:
        """`plan`, noting what its steps make."""
        known = self._observed.get(id(plan))
        if known is None:
            known = self._observed[id(plan)] = plan, plan.observed(lambda *made: self._runs.append(made))
        return known[1]

    def _run_own(self, visit: Visit, function: Function, gys: Sequence[Any], wanted: int) -> Sequence[Any]:
        """Run a function backward that is one operator of its own; what it returns it may keep, and change."""
        start = perf_counter()
        gxs = function.input_gradients(gys, wanted)
        seconds = perf_counter() - start
        visit.runs.append((tuple([copied(gx, device_of(gx)) for gx in gxs if gx is not None]), seconds))
        return gxs

    def _receive(self, x: Variable, gradient: Any) -> None:
        reached, before = len(self._reached), self._gathered(x)
        if before is not None:
            start = perf_counter()
            super()._receive(x, gradient)
            note = Arrival(gradient, None, before, self._gathered(x), perf_counter() - start)
        else:
            super()._receive(x, gradient)
            queued = None
            if len(self._reached) > reached:
                function, arrival = x._creator, reached + 1
                assert function is not None
                insort(self._waiting, (function.rank, -arrival, arrival, function))
                queued = function, arrival
            note = Arrival(gradient, queued, None, None, 0.0)
        self._notes.append(note)

    def _gathered(self, x: Variable) -> Any:
        """What has arrived of the gradient of x, None where nothing has."""
        function = x._creator
        if function is None or function.inputs is None:
            return self._arrived.leaves.get(x)
        gys = self._reached.get(id(function))
        return gys[x.place] if gys else None
