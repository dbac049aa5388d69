"""From the notes of a pass by the rank schedule to its log: who is who, and what each gradient is called."""

from bisect import insort
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

from ....eager.expression import Expression
from ....eager.function import Function
from ....eager.variable import Variable
from ....gradient.rules import ask_rule
from ....operators.registry import Array
from ....program import Operator
from ....program.events import Waiting
from ....runtime.shelf import Shelf
from ....runtime.store import Store
from ..nets import Key
from .answer import Named, conversions, named_answer
from .grads import Grads, NotedChange
from .log import Log, OnItsWay
from .names import RankNames
from .watched import Sum, Visit

MOST_WAITING = 8
"""Functions in the heap that an event lists."""


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


class LogWriter:
    """Writes a log of notes, one visit after the other.

    Attributes:
        log: of what was told so far.
        held: the Variables that held a gradient before the pass -> its version.
    """

    def __init__(self, expression: Expression, notes: Notes, store: Store | None) -> None:
        names = RankNames(expression.values)
        values: MutableMapping[Key, Array] = {} if store is None else Shelf(store)
        self._grads = Grads(expression, notes.held, names, values)
        self.held = self._grads.held
        self.log = Log(expression, names, values)
        self.log.played()
        self._name_of = expression.name_of
        self._notes = notes
        self._made_by = {
            output: function
            for op, function in zip(expression.operators, expression.functions, strict=True)
            if function is not None
            for output in op.outputs
        }
        self._waiting: list[tuple[int, int, Function]] = []
        self._reached: set[int] = set()
        self._sums = 0
        self._has_begun = self._is_broken = False

    def tell(self, visit: Visit) -> None:
        """Write what a visit says, which must say all by now."""
        self._begin()
        self._waiting.pop()
        next_ones = [self.log.waiting(function, -late) for _, late, function in self._waiting[: -MOST_WAITING - 1 : -1]]
        index = self.log.visited(visit.function, next_ones, len(self._waiting))
        coming = _tell_visit(self.log, visit, index)
        if visit.gxs is None:
            self._is_broken = True
        else:
            self._arrive(coming)

    def end(self) -> Log:
        """The log, with how the pass ended."""
        self._begin()
        error = self._notes.error
        if error is None or not self._is_broken:
            self.log.skipped()
        self.log.written(self._grads.written(self._notes.changes))
        if error is None:
            self.log.completed()
        else:
            self.log.failed(error)
        return self.log

    def _begin(self) -> None:
        if self._has_begun:
            return
        self._has_begun = True
        for y, gradient, is_given in self._notes.seeds:
            seed = self.log.seed(str(self._name_of(y)), gradient, is_given)
            self.log.seeded(seed, gradient, self._queued(seed.blob))

    def _arrive(self, coming: Iterable[OnItsWay]) -> None:
        """The gradients of the inputs of a function arrive, one after the other, and are added to what is there."""
        for arrival in coming:
            if not self.log.has_gathered(arrival.blob):
                self.log.arrived(arrival, self._queued(arrival.blob))
            elif self._sums < len(self._notes.sums):
                self.log.arrived(arrival, None)
                self.log.added(arrival, *self._notes.sums[self._sums])
                self._sums += 1
            else:  # the pass has ended before
                return

    def _queued(self, blob: str) -> Waiting | None:
        """The function that joins the heap when the first gradient of `blob` arrives; None: none does."""
        function = self._made_by.get(blob)
        if function is None or function.uid in self._reached:
            return None
        self._reached.add(function.uid)
        arrival = len(self._reached)
        insort(self._waiting, (function.rank, -arrival, function))
        return self.log.waiting(function, arrival)


def told(writer: LogWriter, notes: Notes) -> Log:
    """The log of a whole pass."""
    for visit in notes.visits:
        writer.tell(visit)
    return writer.end()


class ToldAtOnce(list[Visit]):
    """Visits that are told and forgotten as the next ones come: what they hold lies in a store."""

    def __init__(self, writer: LogWriter, store: Store) -> None:
        super().__init__()
        self._writer = writer
        self._store = store

    def append(self, visit: Visit) -> None:
        """One visit more; the one before says all by now."""
        self._tell_last()
        super().append(visit)

    def end(self) -> Log:
        """The log of the whole pass."""
        self._tell_last()
        return self._writer.end()

    def _tell_last(self) -> None:
        if self:
            self._writer.tell(self.pop())
            self._store.settle()


def _tell_visit(log: Log, visit: Visit, index: int) -> list[OnItsWay]:
    """Function `index` has been run backward; returns the gradients that are on their way from it."""
    g_output = log.densified(index, visit.gys)
    if visit.plan is None:
        return _tell_own(log, visit, index, g_output)
    named = named_answer(log.operator(index), g_output, visit.plan, log.names)
    if visit.gxs is None:
        return log.applied(visit.function, index, named, visit.runs)
    values = [*visit.arrays, *visit.gys, *[output for outputs, _ in visit.runs for output in outputs]]
    added = conversions(named, visit.plan, values, visit.gxs, log.names)
    return log.applied(visit.function, index, named, visit.runs, added)


def _tell_own(log: Log, visit: Visit, index: int, g_output: Sequence[str | None]) -> list[OnItsWay]:
    """The same of a function that is one operator of its own."""
    if visit.gxs is None:
        return []
    op = log.operator(index)
    (asked,) = ask_rule(op, index, list(g_output)).operators
    named = _own_answer(log, op, asked, [at for at, gx in enumerate(visit.gxs) if gx is not None])
    return log.applied(visit.function, index, named, visit.runs)


def _own_answer(log: Log, op: Operator, asked: Operator, present: Sequence[int]) -> Named:
    """The operator that `asked` is, writing the gradients of the inputs `present` alone."""
    g_input: list[Any] = [None] * len(op.inputs)
    for at in present:
        g_input[at] = log.names.written(op.inputs[at])
    args = {**asked.args, "wanted": list(present)} if "wanted" in asked.args else asked.args
    writes = [g_input[at] for at in present]
    made = Operator(asked.type, asked.inputs, writes, args, asked.device, "", True)
    return Named([made], g_input, [None if gradient is None else 0 for gradient in g_input])
