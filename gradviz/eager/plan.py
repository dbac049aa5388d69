"""The gradient operators of a call, planned once for all calls alike: which kernel reads which array.

A plan comes from one question to the rule of the operator type. It holds for every call of the same operator on arrays
of the same shapes and dtypes, in which the same outputs have a gradient and the same inputs want one; whatever the
order in which functions are run backward. Values are numbered: inputs, outputs, gradients of the outputs (None where
there is none, two halves of a sparse one), then what the steps make.
"""

from collections.abc import Callable, Iterable, Sequence
from math import inf
from operator import itemgetter
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ..gradient.refusals import missing_output_gradient, out_of_scope
from ..gradient.rules import ask_rule
from ..operators import lookup, similar
from ..operators.registry import Array
from ..program import Device, Gradient, Operator, RunError
from ..program.operator import parts_of
from ..runtime.devices import CPU, current, device_of, finish, is_on_gpu, running_on
from . import gradients
from .gradients import Rows, joined

Answer = tuple[int, ...]
"""The numbers of what a gradient consists of: one, two for the halves of a sparse one, none where there is none."""


class Step(NamedTuple):
    """One gradient operator: `pick` takes what it reads out of a list of all values."""

    kernel: Callable[..., Any]
    op: Operator
    pick: Callable[[Sequence[Any]], Sequence[Any]]


def run_steps(steps: Iterable[Step], values: list[Any]) -> None:
    """Run `steps` in order on `values`, which grow by what they make.

    Raises:
        ValueError: an operator makes too little.
    """
    for kernel, op, pick in steps:
        result = kernel(op, *pick(values))
        if type(result) is np.ndarray:
            values.append(result)
        else:
            values += as_outputs(result, len(op.outputs))


def as_outputs(result: Any, count: int) -> Sequence[Array]:
    """What a kernel returned, as one array for each of `count` outputs: it may return more than it was asked for.

    Raises:
        ValueError: it returned less.
    """
    if not isinstance(result, tuple):
        result = (result,)
    if len(result) < count:
        raise ValueError(f"it returned {len(result)} arrays for {count} outputs")
    return [array if type(array) is np.ndarray or is_on_gpu(array) else np.asarray(array) for array in result[:count]]


def timed(step: Step, arrays: Sequence[Any]) -> tuple[Sequence[Array], float]:
    """What a step makes of what it reads, as one array for each output, and the seconds until all of it is there."""
    kernel, op, _ = step
    start = perf_counter()
    result = kernel(op, *arrays)
    if type(result) is np.ndarray and len(op.outputs) == 1:
        return (result,), perf_counter() - start
    outputs = as_outputs(result, len(op.outputs))
    for output in outputs:
        if type(output) is not np.ndarray:
            finish(device_of(output))
    return outputs, perf_counter() - start


class Plan(msgspec.Struct, eq=False):
    """From the inputs, outputs and output gradients of a call to the gradients of its inputs.

    Attributes:
        steps: the operators that the wanted gradients need, in order; each appends its outputs to the values.
        places: which of the rule's operators they are.
        answers: the gradient of each input.
        arrivals: the inputs that get a gradient, in the order in which the IR lets several of one blob arrive: those
            that the rule's operators write, in their order, and then the others.
        choose: takes the answers out of a list of values, the last of which is None.
        casts: the inputs whose gradients come in another dtype than theirs; None: not run yet.
        calls: the steps as calls, for a run on Variables; None: not needed yet.
    """

    steps: Sequence[Step]
    places: Sequence[int]
    answers: Sequence[Answer]
    arrivals: Sequence[int]
    choose: Callable[[Sequence[Any]], Sequence[Any]]
    casts: tuple[int, ...] | None = None
    calls: list[Any] | None = None

    def run(
        self,
        arrays: Sequence[Array],
        gys: Sequence[Array | None],
        run: Callable[[Sequence[Step], list[Any]], None] = run_steps,
    ) -> Sequence[gradients.Gradient | None]:
        """The gradient of each input, from the arrays of inputs and outputs and the gradients of the outputs.

        Args:
            run: runs the steps, as `run_steps` does.

        Raises:
            ValueError: an operator makes too little, or a gradient of another shape than its input.
        """
        values: list[Any] = [*arrays, *gys]
        run(self.steps, values)
        values.append(None)
        gxs = self.choose(values)
        if self.casts is None:
            self.casts = _checked(gxs, arrays)
        return _cast(gxs, arrays, self.casts) if self.casts else gxs


def _chooser(answers: Sequence[Answer]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """As `Plan.choose`."""
    if all(len(answer) < 2 for answer in answers):
        return _picker([answer[0] if answer else -1 for answer in answers])
    return lambda values: [joined([values[number] for number in answer]) for answer in answers]


def _cast(gradients: Sequence[Any], arrays: Sequence[Array], casts: Sequence[int]) -> list[Any]:
    with current(device_of(arrays[0])):
        return [g.astype(arrays[at].dtype) if at in casts else g for at, g in enumerate(gradients)]


def _checked(gradients: Sequence[Any], arrays: Sequence[Array]) -> tuple[int, ...]:
    """The inputs whose gradients have another dtype than theirs; raises ValueError where one has another shape."""
    casts = []
    for at, (gradient, array) in enumerate(zip(gradients, arrays, strict=False)):
        if gradient is None or type(gradient) is Rows:
            continue
        if gradient.shape != array.shape:
            raise ValueError(f"the gradient of its input {at}, {array.shape}, is {gradient.shape}")
        if gradient.dtype != array.dtype:
            casts.append(at)
    return tuple(casts)


def make_plan(op: Operator, g_output: Sequence[Gradient | None], wanted: int, device: Device) -> Plan:
    """The plan for `op`, whose inputs and outputs all have names of their own.

    Args:
        g_output: names for the gradients of its outputs, None for one that has none.
        wanted: which inputs want a gradient: bit i stands for input i.

    Raises:
        GradientError: ``no_gradient_rule``, ``rule_failed``, ``missing_output_gradient``.
        RunError: ``unknown_operator``, a gradient operator has no kernel.
    """
    asked = ask_rule(op, 0, g_output)
    forward = [*op.inputs, *op.outputs]
    given: list[Any] = forward + [name for gradient in g_output for name in parts_of(gradient) or (None,)]
    numbers = {name: number for number, name in enumerate(given) if name is not None}

    def number_of(name: str | None) -> int:
        if name is None:
            raise missing_output_gradient(op, 0, g_output)
        if name not in numbers:
            raise out_of_scope(op, 0, name)
        return numbers[name]

    steps: list[Numbered] = []
    first: dict[str, int] = {}
    for place, gradient_op in enumerate(asked.operators):
        reads = tuple([number_of(name) for name in gradient_op.inputs])
        start = steps[-1].writes.stop if steps else len(given)
        writes = range(start, start + len(gradient_op.outputs))
        numbers.update(zip(gradient_op.outputs, writes, strict=True))  # a name that is written again gets a new number
        for name, number in zip(gradient_op.outputs, writes, strict=True):
            first.setdefault(name, number)
        steps.append(Numbered(place, gradient_op, reads, writes))
    answers: list[Answer] = []
    arriving: dict[int, float] = {}
    for at, gradient in enumerate(asked.g_input):
        answer = tuple([number_of(name) for name in parts_of(gradient)])
        if len(answer) == 1 and answer[0] < len(forward):
            raise out_of_scope(op, 0, gradient)
        if not wanted >> at & 1:
            answer = ()
        if answer:
            arriving[at] = first.get(gradient, inf) if isinstance(gradient, str) else inf
        answers.append(answer)
    return _only_needed(steps, answers, sorted(arriving, key=arriving.__getitem__), len(given), device)


class Numbered(NamedTuple):
    """A gradient operator, its place among those of its rule, and the numbers of the values it reads and writes."""

    place: int
    op: Operator
    reads: tuple[int, ...]
    writes: range


def _only_needed(
    steps: Sequence[Numbered], answers: Sequence[Answer], arrivals: Sequence[int], given: int, device: Device
) -> Plan:
    """The plan of those steps, with those outputs, from which the answers come; the first `given` values are there."""
    needed = {number for answer in answers for number in answer}
    needed_steps: list[Numbered] = []
    for step in reversed(steps):
        if not needed.isdisjoint(step.writes):
            needed_steps.append(_trimmed(step, needed))
            needed.update(step.reads)
    needed_steps.reverse()
    values = [*range(given), *[number for step in needed_steps for number in step.writes]]
    place = {number: at for at, number in enumerate(values)}
    ready = [
        Step(kernel_of(op, device), op, _picker([place[number] for number in reads]))
        for _, op, reads, _ in needed_steps
    ]
    placed = [tuple([place[number] for number in answer]) for answer in answers]
    return Plan(ready, [step.place for step in needed_steps], placed, arrivals, _chooser(placed))


def _trimmed(step: Numbered, needed: set[int]) -> Numbered:
    """The step without its last outputs, as far as its type lets them be left out and nobody needs them."""
    operator_type = lookup(step.op.type)
    if operator_type is None or operator_type.outputs is None or operator_type.outputs.most is None:
        return step
    count = len(step.writes)
    while count > operator_type.outputs.least and step.writes[count - 1] not in needed:
        count -= 1
    op = msgspec.structs.replace(step.op, outputs=step.op.outputs[:count])
    return step._replace(op=op, writes=step.writes[:count])


def kernel_of(op: Operator, device: Device) -> Callable[..., Any]:
    """The kernel of a gradient operator. Raises RunError ``unknown_operator`` where there is none."""
    operator_type = lookup(op.type)
    if operator_type is None or operator_type.kernel is None:
        raise RunError(
            f"The gradient operator {op} is of a type that has no kernel: {op.type}.",
            kind="unknown_operator",
            ways_out=similar(op.type),
        )
    return operator_type.kernel if device == CPU else running_on(operator_type.kernel, device)


def _picker(numbers: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """What takes the values of these numbers, -1 for the last, out of a list."""
    if len(numbers) == 1:
        return itemgetter(slice(numbers[0], numbers[0] + 1 or None))
    return itemgetter(*numbers) if numbers else lambda _: ()
