"""From the notes of a pass by the rank schedule to its events: who is who, and what each gradient is called."""

from bisect import insort
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from ...operators import lookup
from ...operators.gradients import gradient_name
from ...operators.registry import Array, source_of
from ...program import Gradient, GradientSlice, Operator
from ...program.events import (
    Accumulated,
    Completed,
    Contribution,
    GeneratorAdded,
    Ran,
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
    Waiting,
)
from ...runtime.devices import device_of
from ...runtime.store import Store
from ..expression import Expression
from ..function import Function
from .log import Log, called, failed, is_python, shown, unwanted
from .notes import Executed, Named, Notes, Visit, added_up, conversions, densifying, named_answer, own_answer

MOST_CONTRIBUTIONS = 8
"""An accumulation lists so many terms; then those added before are one: thousands of readers would list millions."""

MOST_WAITING = 8
"""Functions in the heap that an event lists."""


class Gathered(msgspec.Struct):
    """What has arrived of the gradient of a blob.

    Attributes:
        gradient: the sum, by name.
        terms: how each gradient came, at most MOST_CONTRIBUTIONS of them.
        count: how many have arrived.
    """

    gradient: Gradient
    terms: list[Contribution]
    count: int = 1

    def add(self, term: Contribution, total: Gradient) -> None:
        """One more arrived and was added: the sum is `total`."""
        if len(self.terms) == MOST_CONTRIBUTIONS:
            self.terms = [Contribution(self.gradient, "generated", None, None)]
        self.terms.append(term)
        self.gradient = total
        self.count += 1


class Heap:
    """The functions that wait to go backward, as events tell of them."""

    def __init__(self, expression: Expression) -> None:
        functions = [*enumerate(expression.functions)]
        self.indices = {function.uid: index for index, function in functions if function is not None}
        self._creators = {
            output: function
            for index, function in functions
            if function is not None
            for output in expression.operators[index].outputs
        }
        self._waiting: list[tuple[int, int, Function]] = []
        self._reached: set[int] = set()

    def reach(self, blob: str) -> Waiting | None:
        """The first gradient of `blob` arrives: the function that joins the heap; None: none does."""
        function = self._creators.get(blob)
        if function is None or function.uid in self._reached:
            return None
        self._reached.add(function.uid)
        arrival = len(self._reached)
        insort(self._waiting, (function.rank, -arrival, function))
        return self._entry(function, arrival)

    def take(self) -> tuple[int, list[Waiting]]:
        """The next function is taken out: how many are left, and which are the next of them."""
        self._waiting.pop()
        next_ones = [self._entry(function, -late) for _, late, function in self._waiting[: -MOST_WAITING - 1 : -1]]
        return len(self._waiting), next_ones

    def _entry(self, function: Function, arrival: int) -> Waiting:
        return Waiting(self.indices[function.uid], function.rank, arrival)


class RankLog(Log):
    """Says what happened, visit by visit, whenever it is asked to; what it has said is noted no longer."""

    engine = "rank"
    last = Completed

    def __init__(self, expression: Expression, notes: Notes, store: Store | None) -> None:
        super().__init__(expression, notes.grads_before, store)
        self._notes = notes
        self._heap = Heap(expression)
        self._read_again = {op.outputs[0]: op.inputs[0] for op in expression.operators if op.type == "NewData"}
        self._versions: dict[str, int] = {}
        self._gathered: dict[str, Gathered] = {}
        self._visited: set[int] = set()
        self._running: int | None = None
        self._sums = iter(notes.sums)
        self._is_broken = False
        for index, (op, function) in enumerate(zip(expression.operators, expression.functions, strict=True)):
            played = called(index, shown(op), function)
            self.events.append(played)
            self._ran_forward(index, played.op, played.in_versions, played.out_versions)
        for y, gradient, is_given in notes.seeds:
            self._seed(str(expression.name_of(y)), gradient, is_given)

    def catch_up(self) -> None:
        """Say what happened at the visits that are noted, which are complete by now, and let go of them."""
        for visit in self._notes.visits:
            self._tell(visit)
        self._notes.visits.clear()

    def _tell(self, visit: Visit) -> None:
        function, index = visit.function, self._heap.indices[visit.function.uid]
        waits, waiting = self._heap.take()
        self._visited.add(index)
        self._running = index
        op = self.expression.operators[index]
        arrived = [self._gradient_of(y) for y in op.outputs]
        self.events.append(Visited(index, arrived, function.rank, waits, waiting))
        g_output = [self._densified(index, y, gy) for y, gy in zip(op.outputs, visit.gys, strict=True)]
        self._is_broken = visit.gxs is None
        if visit.plan is not None:
            coming = self._applied(visit, index, named_answer(op, g_output, visit.plan, self._names))
        elif visit.gxs is not None:
            coming = self._applied(visit, index, own_answer(op, index, g_output, visit, self._names))
        if visit.gxs is not None:
            all(self._arrive(blob, term) for blob, term in coming)

    def end(self) -> None:
        """Say the rest, and how the pass ended."""
        self.catch_up()
        error = self._notes.error
        if error is None or not self._is_broken:
            self._running = None
            for index in reversed(range(len(self.expression.operators))):
                if index not in self._visited and self.expression.functions[index] is not None:
                    self.events.append(Skipped(index, "no gradient has reached what it returned"))
        self._write_grads(self._notes.changes, self._gradient_of)
        if error is None:
            self.events.append(Completed({blob: gathered.gradient for blob, gathered in self._gathered.items()}))
        else:
            self.events.append(failed(error, self.expression, self._running))

    def _seed(self, y: str, gradient: Array, is_given: bool) -> None:
        self.ys[y] = gradient_name(y) if is_given else None
        if is_given:
            name = self._names.of_next(y)
            self._write(name, gradient)
            self._gathered[y] = Gathered(name, [Contribution(name, "given", None, None)])
            self.events.append(Seeded(y, 0, name, queued=self._heap.reach(y)))
            return
        op = Operator("ConstantFill", [y], [self._names.take(f"{y}_autogen_grad")], {"value": 1.0}, is_gradient=True)
        name, position = op.outputs[0], len(self.operators)
        self._gathered[y] = Gathered(name, [Contribution(name, "seed", None, position)])
        self.events.append(Seeded(y, 0, name, op, position, self._heap.reach(y)))
        self._ran([Executed(op, (gradient,))])

    def _densified(self, index: int, y: str, gy: Any) -> str | None:
        """The gradient of an output of function `index`: `gy`, which has arrived as rows or dense."""
        gradient = self._gradient_of(y)
        if not isinstance(gradient, GradientSlice):
            return gradient
        op = densifying(y, gradient, self._names)
        terms = [Contribution(gradient, "generated", None, None)]
        self.events.append(Accumulated(index, y, 0, terms, [], [op], len(self.operators), op.outputs[0]))
        self._ran([Executed(op, (gy,))])
        return op.outputs[0]

    def _applied(self, visit: Visit, index: int, named: Named) -> list[tuple[str, Contribution]]:
        """The rule of function `index` has answered, and its operators have run as far as it came.

        Returns:
            The gradients that it brings, each with its blob.
        """
        function, op = visit.function, self.expression.operators[index]
        added = []
        if visit.plan is not None and visit.gxs is not None:
            values = [*visit.arrays, *visit.gys, *[output for outputs, _ in visit.runs for output in outputs]]
            added = conversions(named, visit.plan, values, visit.gxs, self._names)
        position, is_own = len(self.operators), is_python(op)
        operators = [*named.operators, *[one.op for one in added]]
        rule_source = "" if (operator_type := lookup(op.type)) is None else operator_type.rule_source
        source = source_of(type(function).backward) if is_own else rule_source
        self.events.append(
            RuleApplied(
                index, source, position, list(map(shown, operators)), named.g_input,
                unwanted(function, len(op.inputs)), "method" if is_own else "rule",
            )
        )  # fmt: skip
        self._ran([Executed(operator, *run) for operator, run in zip(named.operators, visit.runs, strict=False)])
        self.operators += named.operators[len(visit.runs) :]
        self._ran(added)
        positions = [None if maker is None else position + maker for maker in named.makers]
        return [
            (self._read_again.get(x, x), Contribution(gradient, "passed" if at is None else "generated", index, at))
            for x, gradient, at in zip(op.inputs, named.g_input, positions, strict=True)
            if gradient is not None
        ]

    def _arrive(self, blob: str, term: Contribution) -> bool:
        """A gradient has arrived and, unless it is the first, been added to what was there; False: the pass has
        ended before."""
        gradient, how, index, position = term.gradient, term.how, term.index, term.position
        assert index is not None
        gathered = self._gathered.get(blob)
        if gathered is None:
            self.events.append(GeneratorAdded(index, blob, 0, gradient, how, position, 1, self._heap.reach(blob)))
            self._gathered[blob] = Gathered(gradient, [term])
            return True
        noted = next(self._sums, None)
        if noted is None:
            return False
        self.events.append(GeneratorAdded(index, blob, 0, gradient, how, position, gathered.count + 1))
        first = len(self.operators)
        added, total = added_up(blob, gathered.gradient, gradient, noted, self._names)
        gathered.add(term, total)
        operators = [one.op for one in added]
        self.events.append(
            Accumulated(index, blob, 0, gathered.terms.copy(), [], operators, first, total, gathered.count)
        )
        self._ran(added)
        return True

    def _gradient_of(self, blob: str) -> Gradient | None:
        gathered = self._gathered.get(blob)
        return None if gathered is None else gathered.gradient

    def _ran(self, executed: Iterable[Executed]) -> None:
        """Operators join the gradient operators; they have run, by kernels or otherwise."""
        versions = self._versions
        for one in executed:
            op, outputs, position = one.op, one.outputs, len(self.expression.operators) + len(self.operators)
            self.operators.append(op)
            ins = tuple([versions.get(name, 0) for name in op.inputs])
            outs = tuple([self._write(name, array) for name, array in zip(op.outputs, outputs, strict=True)])
            device = str(device_of(outputs[0])) if outputs else "cpu"
            self.events.append(Ran(position, shown(op), ins, outs, device, one.seconds))

    def _write(self, name: str, array: Array) -> int:
        version = self._versions.get(name, -1) + 1
        self._versions[name] = version
        if type(array) is np.ndarray:
            array.setflags(write=False)
        self.values[name, version] = array
        return version
