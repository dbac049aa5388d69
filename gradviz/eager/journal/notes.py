"""A backward pass by the rank schedule that notes what it does: the schedule itself, not another one like it.

A note costs little: who waits in the heap, names, events and words follow from the notes, and are made when somebody
looks at the recording.
"""

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from ...operators.registry import Array
from ...runtime.devices import copied, device_of
from ...runtime.watched import Limits, interrupted
from .. import gradients
from ..call import OperatorFunction
from ..function import Function
from ..plan import Plan, Step, timed
from ..rank import Pass
from ..variable import Variable
from .log import NotedChange


class Visit:
    """A function was taken from the heap and run backward.

    Attributes:
        function, arrays: what it is, and what it has read and returned.
        gys: the gradients of its outputs, dense.
        plan: how a function of the table is run backward; None: it is one of the user's, or has no rule.
        runs: for each operator that has run what it made, and the seconds.
        gxs: the gradients of its inputs, which have arrived there when the next function is visited; None: it failed.
    """

    __slots__ = ("arrays", "function", "gxs", "gys", "plan", "runs")

    def __init__(self, function: Function, gys: Sequence[Any]) -> None:
        self.function = function
        self.arrays = function.arrays
        self.gys = gys
        self.plan: Plan | None = None
        self.runs: list[tuple[Sequence[Array], float]] = []
        self.gxs: Sequence[Any] | None = None


class Sum(NamedTuple):
    """A gradient has arrived where there was one before, and the sum took so many seconds; arrays or rows."""

    before: Any
    gradient: Any
    total: Any
    seconds: float


class Seed(NamedTuple):
    """Where a pass started: a Variable and its gradient, which somebody gave or which is 1."""

    y: Variable
    gradient: Array
    is_given: bool


class Notes:
    """All that is noted of a pass while it runs.

    Attributes:
        held: the gradients that Variables held before.
        seeds: where it started.
        visits: what the schedule did.
        sums: what it added up on the way, in order.
        changes: what was made of every ``grad``.
        error: what stopped it; None: it came to its end.
        has_begun: whether the schedule started.
    """

    def __init__(self, held: Mapping[Variable, Array]) -> None:
        self.held = held
        self.seeds: list[Seed] = []
        self.visits: list[Visit] = []
        self.sums: list[Sum] = []
        self.changes: Sequence[NotedChange] = ()
        self.error: Exception | None = None
        self.has_begun = False


class WatchedPass(Pass):
    """One pass backward, see `Pass`.

    Args:
        notes: where what happens is noted.
        limits: within which it is recorded.
    """

    is_watched = True

    def __init__(
        self,
        notes: Notes,
        limits: Limits,
        seeds: Sequence[tuple[Variable, Any]],
        **options: Any,
    ) -> None:
        self._visits = notes.visits
        self._sums = notes.sums
        self._limits = limits
        self._runs: list[tuple[Sequence[Array], float]] = []
        self._visited = 0
        super().__init__(seeds, add=self._add, **options)

    def _watched(self, function: Function, gys: Sequence[Any], wanted: int) -> Sequence[Any]:
        visit = Visit(function, gys)
        self._visits.append(visit)
        self._visited += 1
        limits = self._limits
        if limits.interrupts.is_asked:
            raise interrupted(f"before {function.label} went backward")
        if (now := perf_counter()) > limits.pace.due:
            limits.pace.tell(now, self._visited)
        if type(function) is not OperatorFunction:
            visit.gxs = self._run_own(visit, function, gys, wanted)
            return visit.gxs
        self._runs = visit.runs
        try:
            plan = visit.plan = function.plan(gys, wanted)
            gxs = visit.gxs = plan.run(visit.arrays, gys, self._run_steps)
        except Exception as error:
            raise function.explained(error) from error
        return gxs

    def _run_steps(self, steps: Sequence[Step], values: list[Any]) -> None:
        """Run the steps of a plan, noting what each of them makes."""
        for step in steps:
            made = timed(step, step.pick(values))
            self._runs.append(made)
            values += made[0]

    def _run_own(self, visit: Visit, function: Function, gys: Sequence[Any], wanted: int) -> Sequence[Any]:
        """Run a function backward that is one operator of its own; what it returns it may keep, and change."""
        start = perf_counter()
        gxs = function.input_gradients(gys, wanted)
        seconds = perf_counter() - start
        visit.runs.append((tuple([copied(gx, device_of(gx)) for gx in gxs if gx is not None]), seconds))
        return gxs

    def _add(self, before: Any, gradient: Any) -> Any:
        start = perf_counter()
        total = gradients.add(before, gradient)
        self._sums.append(Sum(before, gradient, total, perf_counter() - start))
        return total
