"""The log of a pass that runs: what happens as events, gradients by name, and the value of every blob version."""

from collections.abc import Iterable, MutableMapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ....eager.expression import Expression
from ....eager.function import Function
from ....eager.gradients import Rows, dense
from ....operators import lookup
from ....operators.registry import Array, source_of
from ....program import Gradient, GradientSlice, GradvizError, Operator
from ....program.events import (
    Accumulated,
    Completed,
    Contribution,
    Event,
    Failed,
    GeneratorAdded,
    GradWritten,
    How,
    Played,
    Ran,
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
    Waiting,
)
from ....program.operator import parts_of
from ....runtime.devices import device_of
from ..nets import Key
from .answer import Converted, Named
from .keeping import keep_given, remember_operator
from .names import RankNames
from .shown import is_python, shown

MOST_CONTRIBUTIONS = 8
"""An accumulation lists so many terms; then those added before are one: thousands of readers would list millions."""

Outcome = tuple[Sequence[Array], float | None]
"""What an operator has made, and in how many seconds; None: not known."""


class OnItsWay(NamedTuple):
    """A gradient on its way to a blob; `of`: the function that it came through, None for a seed."""

    blob: str
    gradient: Gradient
    how: How
    of: int | None
    position: int | None


class Gathered:
    """What has arrived of the gradient of a blob.

    Attributes:
        gradient: the sum, by name.
        terms: how each gradient came, at most MOST_CONTRIBUTIONS of them.
        count: how many have arrived.
    """

    __slots__ = ("count", "gradient", "terms")

    def __init__(self, arrival: OnItsWay) -> None:
        self.gradient = arrival.gradient
        self.terms = [_term(arrival)]
        self.count = 1

    def add(self, arrival: OnItsWay, total: Gradient) -> None:
        """One more arrived and was added: the sum is `total`."""
        if len(self.terms) == MOST_CONTRIBUTIONS:
            self.terms = [Contribution(self.gradient, "generated", None, None)]
        self.terms.append(_term(arrival))
        self.gradient = total
        self.count += 1


def _term(arrival: OnItsWay) -> Contribution:
    return Contribution(arrival.gradient, arrival.how, arrival.of, arrival.position)


class Log:
    """Grows while a pass runs.

    Attributes:
        events: what has happened.
        operators: the gradient operators run, each executable on blobs of these names.
        values: blob version -> array.
        names: those in use.
    """

    def __init__(self, expression: Expression, names: RankNames, values: MutableMapping[Key, Array]) -> None:
        self.events: list[Event] = []
        self.operators: list[Operator] = []
        self.values = values
        self.names = names
        self._expression = expression
        self._forward = len(expression.operators)
        self._indices = {function.uid: index for index, function in enumerate(expression.functions) if function}
        self._read_again = {op.outputs[0]: op.inputs[0] for op in expression.operators if op.type == "NewData"}
        self._versions: dict[str, int] = {}
        self._gathered: dict[str, Gathered] = {}
        self._visited: set[int] = set()
        self._running: int | None = None
        self._totals: dict[str, GradientSlice] = {}

    def played(self) -> None:
        """The functions as they were called, with what they read and returned."""
        expression, values, events = self._expression, self.values, self.events
        keep_given(values, expression.values)
        for index, (op, function) in enumerate(zip(expression.operators, expression.functions, strict=True)):
            ins, outs = (0,) * len(op.inputs), (0,) * len(op.outputs)
            op = shown(op)
            events.append(Played(index, op, ins, outs, None if function is None else function.rank))
            device = str(device_of(expression.values[op.outputs[0]])) if op.outputs else "cpu"
            events.append(Ran(index, op, ins, outs, device, None))

    def operator(self, index: int) -> Operator:
        """Forward operator `index`."""
        return self._expression.operators[index]

    def waiting(self, function: Function, arrival: int) -> Waiting:
        """A function that joins the heap."""
        return Waiting(self._indices[function.uid], function.rank, arrival)

    def seed(self, blob: str, gradient: Array, is_given: bool) -> OnItsWay:
        """The pass starts at a blob."""
        if is_given:
            name = self.names.written(blob)
            self._write(name, gradient)
            return OnItsWay(blob, name, "given", None, None)
        name = self.names.fresh(f"{blob}_autogen_grad")
        return OnItsWay(blob, name, "seed", None, len(self.operators))

    def seeded(self, arrival: OnItsWay, gradient: Array, queued: Waiting | None) -> None:
        """A seed has arrived."""
        blob, name, how, _, position = arrival
        op = None
        if how == "seed":
            op = Operator("ConstantFill", [blob], [str(name)], {"value": 1.0}, is_gradient=True)
        self.events.append(Seeded(blob, 0, name, op, position, queued))
        self._gathered[blob] = Gathered(arrival)
        if op is not None:
            self._ran([op], [((gradient,), None)])

    def visited(self, function: Function, waiting: list[Waiting], waits: int) -> int:
        """A function is next; in the heap `waits` are left, of which `waiting` are the next."""
        index = self._indices[function.uid]
        self._visited.add(index)
        self._running = index
        g_output = [self._gathered_of(y) for y in self._expression.operators[index].outputs]
        self.events.append(Visited(index, g_output, function.rank, waits, waiting))
        return index

    def densified(self, index: int, gys: Sequence[Any]) -> list[str | None]:
        """The gradients of the outputs of function `index`, `gys`, those that had arrived as rows made dense."""
        made: list[str | None] = []
        for y, gy in zip(self._expression.operators[index].outputs, gys, strict=True):
            gradient = self._gathered_of(y)
            if isinstance(gradient, GradientSlice):
                name = self.names.fresh(f"{self.names.total(y)}_dense")
                op = Operator("SparseToDense", [gradient.indices, gradient.values, y], [name], is_gradient=True)
                terms = [Contribution(gradient, "generated", None, None)]
                self.events.append(Accumulated(index, y, 0, terms, [], [op], len(self.operators), name))
                self._ran([op], [((gy,), None)])
                gradient = name
            made.append(gradient)
        return made

    def applied(
        self,
        function: Function,
        index: int,
        named: Named,
        runs: Sequence[Outcome],
        added: Sequence[Converted] = (),
    ) -> list[OnItsWay]:
        """The rule of function `index` has answered, and its operators have run, as far as `runs` tells."""
        position = len(self.operators)
        operators = [*named.operators, *[op for op, _ in added]]
        source = self._source(function, index)
        self.events.append(RuleApplied(index, source, position, [shown(op) for op in operators], named.g_input))
        self._ran(named.operators, runs, by_kernel=not is_python(self._expression.operators[index]))
        if added:
            self._ran([op for op, _ in added], [(outputs, None) for _, outputs in added])
        return [
            OnItsWay(
                self._read_again.get(blob, blob), gradient,
                "passed" if maker is None else "generated", index, None if maker is None else position + maker,
            )
            for blob, gradient, maker in zip(
                self._expression.operators[index].inputs, named.g_input, named.makers, strict=True
            )
            if gradient is not None
        ]  # fmt: skip

    def arrived(self, arrival: OnItsWay, queued: Waiting | None) -> None:
        """A gradient has arrived through a function."""
        blob, gradient, how, index, position = arrival
        assert index is not None
        known = self._gathered.get(blob)
        count = 1 if known is None else known.count + 1
        self.events.append(GeneratorAdded(index, blob, 0, gradient, how, position, count, queued))
        if known is None:
            self._gathered[blob] = Gathered(arrival)

    def has_gathered(self, blob: str) -> bool:
        """Whether a gradient of a blob has arrived."""
        return blob in self._gathered

    def added(self, arrival: OnItsWay, before: Any, gradient: Any, total: Any, seconds: float) -> None:
        """The gradient that arrived has been added to what was there."""
        blob, _, _, index, _ = arrival
        assert index is not None
        known = self._gathered[blob]
        position = len(self.operators)
        operators, runs, name = self._sum(blob, known.gradient, arrival.gradient, before, gradient, total, seconds)
        known.add(arrival, name)
        self.events.append(Accumulated(index, blob, 0, known.terms.copy(), [], operators, position, name, known.count))
        self._ran(operators, runs)

    def skipped(self) -> None:
        """The heap is empty: the functions that no gradient has reached are passed by."""
        self._running = None
        for index in reversed(range(self._forward)):
            if index not in self._visited and self._expression.functions[index] is not None:
                self.events.append(Skipped(index, "no gradient has reached what it returned"))

    def written(self, changes: Iterable[GradWritten]) -> None:
        """What becomes of every ``grad``, by what the pass has brought."""
        for event in changes:
            gradient = None if event.after is None else self._gathered_of(event.blob)
            self.events.append(msgspec.structs.replace(event, gradient=gradient))

    def completed(self) -> None:
        """The pass is whole."""
        self.events.append(Completed({blob: known.gradient for blob, known in self._gathered.items()}))

    def failed(self, error: Exception) -> None:
        """The pass stops with an error."""
        index = self._running
        if isinstance(error, GradvizError):
            kind, message, told, blobs = error.kind, error.message, error.explain(), list(error.blobs)
        else:
            who = "The pass" if index is None else f"The backward method of {shown(self.operator(index)).type} #{index}"
            kind, blobs = "rule_failed", []
            message = told = f"{who} raised {type(error).__name__}: {error}."
        self.events.append(Failed(kind, message, told, index, blobs))

    def _source(self, function: Function, index: int) -> str:
        """Where the rule of a function is written, ``file:line``."""
        op = self._expression.operators[index]
        if is_python(op):
            return source_of(type(function).backward)
        known = lookup(op.type)
        return "" if known is None else known.rule_source

    def _gathered_of(self, blob: str) -> Gradient | None:
        known = self._gathered.get(blob)
        return None if known is None else known.gradient

    def _sum(
        self, blob: str, one: Gradient, other: Gradient, before: Any, gradient: Any, total: Any, seconds: float
    ) -> tuple[list[Operator], list[Outcome], Gradient]:
        """The operators that add two gradients of a blob, what they made, and the name of the sum."""
        if isinstance(one, GradientSlice) and isinstance(other, GradientSlice):
            return self._joined(blob, one, other, before, gradient, total, seconds)
        operators: list[Operator] = []
        runs: list[Outcome] = []
        terms: list[str] = []
        for name, value, like in ((one, before, gradient), (other, gradient, before)):
            if isinstance(name, GradientSlice):
                made = self.names.fresh(f"{self.names.total(blob)}_dense")
                operators.append(Operator("SparseToDense", [name.indices, name.values, blob], [made], is_gradient=True))
                runs.append(((dense(value, like.shape),), None))
                name = made
            terms.append(name)
        made = self.names.total(blob)
        operators.append(Operator("Sum", terms, [made], is_gradient=True))
        runs.append(((total,), seconds))
        return operators, runs, made

    def _joined(
        self, blob: str, one: GradientSlice, other: GradientSlice, before: Rows, more: Rows, total: Rows, seconds: float
    ) -> tuple[list[Operator], list[Outcome], Gradient]:
        """Sparse gradients are added by laying their rows one after the other."""
        name = self._totals.get(blob)
        if name is None:
            base = self.names.total(blob)
            halves = [self.names.fresh(f"{base}_{half}_concat") for half in ("indices", "values")]
            name = self._totals[blob] = GradientSlice(*halves)
        operators: list[Operator] = []
        runs: list[Outcome] = []
        sizes = np.array([len(before.indices), len(more.indices)], np.int32)
        for a, b, made, array in zip(parts_of(one), parts_of(other), parts_of(name), total, strict=True):
            split = self.names.fresh(f"{made}_split")
            operators.append(Operator("Concat", [a, b], [made, split], {"axis": 0}, is_gradient=True))
            runs.append(((array, sizes), seconds / 2))
        return operators, runs, name

    def _ran(self, operators: Sequence[Operator], runs: Sequence[Outcome], *, by_kernel: bool = False) -> None:
        """`operators` join the gradient operators; those that `runs` knows of have run, by kernels or otherwise."""
        versions = self._versions
        position = self._forward + len(self.operators)
        self.operators += operators
        for op, (outputs, seconds) in zip(operators, runs, strict=False):
            ins = tuple([versions.get(name, 0) for name in op.inputs])
            outs = tuple([self._write(name, array) for name, array in zip(op.outputs, outputs, strict=True)])
            remember_operator(self.values, op, ins, outs, seconds, by_kernel=by_kernel)
            device = str(device_of(outputs[0])) if outputs else "cpu"
            self.events.append(Ran(position, shown(op), ins, outs, device, seconds))
            position += 1

    def _write(self, name: str, array: Array) -> int:
        """A new version of a name has a value."""
        version = self._versions.get(name, -1) + 1
        self._versions[name] = version
        if type(array) is np.ndarray:
            array.setflags(write=False)
        self.values[name, version] = array
        return version
