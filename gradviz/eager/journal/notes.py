"""A backward pass by the rank schedule that notes what it does: the schedule itself, not another one like it.

A note costs little: who waits in the heap, names, events and words follow from the notes, and are made when somebody
looks at the recording. What has run is then told as operators on blobs with names.

Names of gradients are as in a generated pass, where they are known at once: the first gradient that an operator writes
for x is x_grad, the next ones _x_grad_autosplit_0, _1, ...; their sum is x_grad again, another version of it. A
gradient that passes through a function keeps its name.
"""

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ...gradient.accumulation import GradientNames
from ...gradient.rules import ask_rule
from ...operators.registry import Array
from ...program import Gradient, GradientSlice, Operator
from ...program.operator import parts_of
from ...runtime.devices import copied
from ...runtime.watched import Limits, interrupted
from ..call import OperatorFunction
from ..function import Function
from ..gradients import Rows, dense
from ..plan import Answer, Plan, Step, timed
from ..rank import Pass
from ..variable import Variable
from .log import NotedChange


class Visit(msgspec.Struct, eq=False):
    """A function was taken from the heap and run backward.

    Attributes:
        function, arrays: what it is, and what it has read and returned.
        gys: the gradients of its outputs, dense.
        plan: how a function of the table is run backward; None: it is one of the user's, or has no rule.
        runs: for each operator that has run its outputs, and the seconds.
        gxs: the gradients of its inputs, which have arrived there when the next function is visited; None: it failed.
    """

    function: Function
    arrays: tuple[Array, ...]
    gys: Sequence[Any]
    plan: Plan | None = None
    runs: list[tuple[Sequence[Array], float]] = []
    gxs: Sequence[Any] | None = None

    def run_steps(self, steps: Sequence[Step], values: list[Any]) -> None:
        """Run the steps of a plan, noting what each of them makes."""
        for step in steps:
            outputs, seconds = timed(step, step.pick(values))
            self.runs.append((outputs, seconds))
            values += outputs


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


class Notes(msgspec.Struct, eq=False):
    """All that is noted of a pass while it runs.

    Attributes:
        grads_before: the gradients that Variables held before.
        seeds: where it started.
        visits: what the schedule did, but for what a recording within a budget has let go of.
        visited: how many functions have gone backward.
        sums: what it added up on the way, in order.
        changes: what became of every ``grad``.
        error: what stopped it; None: it came to its end.
    """

    grads_before: Mapping[Variable, Array]
    seeds: list[Seed] = []
    visits: list[Visit] = []
    visited: int = 0
    sums: list[Sum] = []
    changes: Sequence[NotedChange] = ()
    error: Exception | None = None


class WatchedPass(Pass):
    """One pass backward, see `Pass`.

    Args:
        notes: where what happens is noted.
        limits: within which it is recorded.
        count: how many functions there are at most.
    """

    is_watched = True

    def __init__(
        self, notes: Notes, limits: Limits, count: int, seeds: Sequence[tuple[Variable, Any]], **options: Any
    ) -> None:
        self._notes = notes
        self._limits = limits
        self._count = count
        super().__init__(seeds, **options)

    def _watched(self, function: Function, gys: Sequence[Any], wanted: int) -> Sequence[Any]:
        limits = self._limits
        if limits.stand is not None:
            limits.stand(function)
        visit = Visit(function, function.arrays, gys)
        self._notes.visits.append(visit)
        self._notes.visited += 1
        if limits.interrupts.is_asked:
            raise interrupted(f"before {function.label} went backward")
        limits.pace.reached(None, self._notes.visited, self._count)
        if type(function) is not OperatorFunction:
            visit.gxs = self._run_own(visit, function, gys, wanted)
            return visit.gxs
        try:
            plan = visit.plan = function.plan(gys, wanted)
            gxs = visit.gxs = plan.run(visit.arrays, gys, visit.run_steps)
        except Exception as error:
            raise function.explained(error) from error
        return gxs

    def _run_own(self, visit: Visit, function: Function, gys: Sequence[Any], wanted: int) -> Sequence[Any]:
        """Run a function backward that is one operator of its own; what it returns it may keep, and change."""
        start = perf_counter()
        gxs = function.input_gradients(gys, wanted)
        seconds = perf_counter() - start
        visit.runs.append((tuple([copied(gx) for gx in gxs if gx is not None]), seconds))
        return gxs

    def _sum(self, one: Any, other: Any) -> Any:
        start = perf_counter()
        total = super()._sum(one, other)
        self._notes.sums.append(Sum(one, other, total, perf_counter() - start))
        return total


class Executed(msgspec.Struct, frozen=True):
    """An operator, its outputs, and the seconds that it took; None: not measured."""

    op: Operator
    outputs: Sequence[Array]
    seconds: float | None = None


class Named(NamedTuple):
    """The answer for one function.

    Attributes:
        operators: what was run, in order.
        g_input: the gradient of each input, None where there is none.
        makers: for each input the place among the operators of what wrote its gradient, None where it passed through.
    """

    operators: list[Operator]
    g_input: list[Gradient | None]
    makers: list[int | None]


def named_answer(op: Operator, g_output: Sequence[str | None], plan: Plan, names: GradientNames) -> Named:
    """The steps of `plan`, by which `op` is run backward, with names for what they make.

    A plan numbers its values: inputs, outputs, gradients of the outputs, then what each step makes.
    """
    blobs: list[Any] = [*op.inputs, *op.outputs, *g_output]
    given = len(blobs)
    wanted = _names_wanted(op, plan.answers, given, names)
    operators: list[Operator] = []
    writer: dict[int, int] = {}
    for place, step in enumerate(plan.steps):
        writes: list[str] = []
        for name in step.op.outputs:
            number = len(blobs) + len(writes)
            writer[number] = place
            writes.append(wanted.get(number) or names.take(f"_{op.outputs[0]}{'' if name[0] == '_' else '_'}{name}"))
        operators.append(msgspec.structs.replace(step.op, inputs=list(step.pick(blobs)), outputs=writes))
        blobs += writes
    g_input: list[Gradient | None] = []
    for answer in plan.answers:
        parts = [blobs[number] for number in answer]
        g_input.append(GradientSlice(*parts) if len(parts) == 2 else parts[0] if parts else None)
    return Named(operators, g_input, [writer.get(answer[-1]) if answer else None for answer in plan.answers])


def _names_wanted(op: Operator, answers: Sequence[Answer], given: int, names: GradientNames) -> dict[int, str]:
    """The names of the values that are the gradients of inputs, as far as steps make them."""
    wanted: dict[int, str] = {}
    for blob, answer in zip(op.inputs, answers, strict=True):
        new = [number for number in answer if number >= given]
        if len(answer) == 1 and new and new[0] not in wanted:
            wanted[new[0]] = names.of_next(blob)
        elif len(answer) == 2 and answer[1] in new:
            parts = dict(zip(answer, parts_of(names.of_next_slice(blob)), strict=True))
            wanted.update((number, parts[number]) for number in new)
    return wanted


def conversions(
    named: Named, plan: Plan, values: Sequence[Any], gxs: Sequence[Any], names: GradientNames
) -> list[Executed]:
    """What was done to the answers of a plan before they were handed on; `named` then has the names of the results.

    A gradient is cast to the dtype of its input, and the rows of a sparse one lie along one axis.

    Args:
        values: those that the plan numbers.
        gxs: what was handed on.
    """
    executed: list[Executed] = []
    for at, (answer, gx) in enumerate(zip(plan.answers, gxs, strict=True)):
        gradient = named.g_input[at]
        if len(answer) == 1:
            if gx is values[answer[0]]:
                continue
            name = names.take(f"{gradient}_cast")
            op = Operator("Cast", [str(gradient)], [name], {"to": str(gx.dtype)}, is_gradient=True)
            executed.append(Executed(op, (gx,)))
            named.g_input[at] = name
        elif isinstance(gradient, GradientSlice) and gx.indices is not values[answer[0]]:
            executed += _flattened(gradient, gx, values[answer[1]], names)
            named.g_input[at] = GradientSlice(executed[-2].op.outputs[0], executed[-1].op.outputs[0])
        else:
            continue
        named.makers[at] = len(named.operators) + len(executed) - 1
    return executed


def _flattened(gradient: GradientSlice, rows: Rows, before: Array, names: GradientNames) -> list[Executed]:
    indices, values = (names.take(f"{name}_rows") for name in (gradient.indices, gradient.values))
    shape = [-1, *rows.values.shape[1:]]
    old = names.take(f"{values}_shape")
    return [
        Executed(Operator("FlattenToVec", [gradient.indices], [indices], is_gradient=True), (rows.indices,)),
        Executed(
            Operator("Reshape", [gradient.values], [values, old], {"shape": shape}, is_gradient=True),
            (rows.values, np.array(before.shape)),
        ),
    ]


def own_answer(op: Operator, index: int, g_output: Sequence[str | None], visit: Visit, names: GradientNames) -> Named:
    """The answer of a function that is one operator of its own, which writes the gradients that it has given."""
    assert visit.gxs is not None
    (asked,) = ask_rule(op, index, list(g_output)).operators
    g_input: list[Gradient | None] = [
        None if gx is None else names.of_next(blob) for blob, gx in zip(op.inputs, visit.gxs, strict=True)
    ]
    present = [at for at, gradient in enumerate(g_input) if gradient is not None]
    args = {**asked.args, "wanted": present} if "wanted" in asked.args else asked.args
    own = msgspec.structs.replace(asked, outputs=[str(g_input[at]) for at in present], args=args, is_gradient=True)
    return Named([own], g_input, [None if gradient is None else 0 for gradient in g_input])


def added_up(
    blob: str, one: Gradient, other: Gradient, sum: Sum, names: GradientNames
) -> tuple[list[Executed], Gradient]:
    """The operators that add two gradients of a blob, and the name of the sum."""
    if isinstance(one, GradientSlice) and isinstance(other, GradientSlice):
        return _joined(blob, one, other, sum, names)
    added: list[Executed] = []
    terms: list[str] = []
    for name, value, like in ((one, sum.before, sum.gradient), (other, sum.gradient, sum.before)):
        if isinstance(name, GradientSlice):
            added.append(Executed(densifying(blob, name, names), (dense(value, like.shape),)))
            name = added[-1].op.outputs[0]
        terms.append(name)
    total = names.of_sum(blob)
    added.append(Executed(Operator("Sum", terms, [total], is_gradient=True), (sum.total,), sum.seconds))
    return added, total


def densifying(blob: str, gradient: GradientSlice, names: GradientNames) -> Operator:
    """The operator that makes a sparse gradient of a blob dense."""
    dense_name = names.take(f"{names.of_sum(blob)}_dense")
    return Operator("SparseToDense", [gradient.indices, gradient.values, blob], [dense_name], is_gradient=True)


def _joined(
    blob: str, one: GradientSlice, other: GradientSlice, sum: Sum, names: GradientNames
) -> tuple[list[Executed], Gradient]:
    """Sparse gradients are added by laying their rows one after the other."""
    name = names.of_joined(blob)
    added: list[Executed] = []
    sizes = np.array([len(sum.before.indices), len(sum.gradient.indices)], np.int32)
    for a, b, joined, array in zip(parts_of(one), parts_of(other), parts_of(name), sum.total, strict=True):
        split = names.take(f"{joined}_split")
        op = Operator("Concat", [a, b], [joined, split], {"axis": 0}, is_gradient=True)
        added.append(Executed(op, (array, sizes), sum.seconds / 2))
    return added, name
