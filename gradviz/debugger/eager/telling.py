"""From the notes of a pass by the rank schedule to its log: who is who, and what each gradient is called."""

from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any, NamedTuple

from ...eager.expression import Expression
from ...gradient.rules import ask_rule
from ...operators.registry import Array
from ...program import Operator
from ...program.events import GradWritten
from ...runtime.shelf import Shelf
from ...runtime.store import Store
from ..nets import Key
from .answer import Named, conversions, named_answer
from .grads import Grads
from .log import Log, OnItsWay
from .names import GradientNames
from .watched import Arrival, Visit

Note = Visit | Arrival


class Seed(NamedTuple):
    """Where a pass started: a blob and its gradient, which somebody gave or which is 1."""

    blob: str
    gradient: Array
    is_given: bool


class Notes:
    """All that is noted of a pass while it runs.

    Attributes:
        seeds: where it started.
        passed: what the schedule did.
        grads, written: what was made of every ``grad``.
        error: what stopped it; None: it came to its end.
        has_begun: whether the schedule started.
    """

    def __init__(self, expression: Expression, store: Store | None) -> None:
        self.names = GradientNames(expression.values)
        self.values: MutableMapping[Key, Array] = {} if store is None else Shelf(store)
        self.grads = Grads(expression, self.names, self.values)
        self.seeds: list[Seed] = []
        self.passed: list[Note] = []
        self.written: list[GradWritten] = []
        self.error: Exception | None = None
        self.has_begun = False


class Telling:
    """Writes a log of notes, one after the other.

    Attributes:
        log: of what was told so far.
    """

    def __init__(self, expression: Expression, notes: Notes) -> None:
        self.log = Log(expression, notes.names, notes.values)
        self.log.played()
        self._notes = notes
        self._coming: Iterator[OnItsWay] | None = None
        self._is_broken = False

    def tell(self, note: Note) -> None:
        """Write what a note says, which must say all by now."""
        if self._coming is None:
            self._coming = (self.log.seed(*seed) for seed in self._notes.seeds)
        if isinstance(note, Visit):
            self._is_broken |= note.gxs is None
            self._coming = iter(_tell_visit(self.log, note))
        else:
            _tell_arrival(self.log, next(self._coming), note)

    def end(self) -> Log:
        """The log, with how the pass ended."""
        error = self._notes.error
        if error is None or not self._is_broken:
            self.log.skipped()
        self.log.written(self._notes.written)
        if error is None:
            self.log.completed()
        else:
            self.log.failed(error)
        return self.log


def told(expression: Expression, notes: Notes) -> Log:
    """The log of a pass over `expression`."""
    telling = Telling(expression, notes)
    for note in notes.passed:
        telling.tell(note)
    return telling.end()


class ToldAtOnce(list[Note]):
    """Notes that are told and forgotten as the next ones come: what they hold lies in a store."""

    def __init__(self, telling: Telling, store: Store) -> None:
        super().__init__()
        self._telling = telling
        self._store = store

    def append(self, note: Note) -> None:
        """One note more; the one before says all by now."""
        self._tell_last()
        super().append(note)

    def end(self) -> Log:
        """The log of the whole pass."""
        self._tell_last()
        return self._telling.end()

    def _tell_last(self) -> None:
        if self:
            self._telling.tell(self.pop())
            self._store.settle()


def _tell_arrival(log: Log, arrival: OnItsWay, note: Arrival) -> None:
    queued = None if note.queued is None else log.waiting(*note.queued)
    if arrival.of is None:
        log.seeded(arrival, note.gradient, queued)
        return
    log.arrived(arrival, queued)
    if note.before is not None:
        log.added(arrival, note.before, note.gradient, note.total, note.seconds)


def _tell_visit(log: Log, visit: Visit) -> list[OnItsWay]:
    """A function has been run backward; returns the gradients that are on their way from it."""
    index = log.visited(visit.function, visit.waiting, visit.waits)
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
