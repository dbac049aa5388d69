"""The gradient operators of a call, planned once for all calls alike: which kernel reads which array.

A plan comes from one question to the rule of the operator type. It holds for every call of the same operator on arrays
of the same shapes and dtypes, in which the same outputs have a gradient and the same inputs want one. Values are
numbered: inputs, outputs, gradients of the outputs (None where there is none), then what the steps make.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ..gradient.rules import ask_rule
from ..operators import lookup, similar
from ..operators.registry import Array, gradient_name
from ..program import Device, GradientError, GradientSlice, Operator, RunError
from ..runtime.devices import CPU, current, device_of, finish, is_on_gpu, running_on
from .gradients import Gradient, Rows, flat_rows

Answer = int | tuple[int, int] | None
"""The number of a gradient, those of the two halves of a sparse one, or None where there is none."""

Observer = Callable[[Sequence[Array], float], None]
"""Is told what a step has made, and in how many seconds."""

_ONLY_ARRAYS = {np.ndarray}


class Step(NamedTuple):
    """One gradient operator: `pick` takes what it reads out of a list of all values; it makes `outputs`."""

    kernel: Callable[..., Any]
    op: Operator
    pick: Callable[[Sequence[Any]], Sequence[Any]]
    outputs: int


def run_steps(steps: Iterable[Step], values: list[Any]) -> None:
    """Run `steps` in order on `values`, which grow by what they make.

    Raises:
        ValueError: an operator makes too little.
    """
    for kernel, op, pick, count in steps:
        made = kernel(op, *pick(values))
        if type(made) is np.ndarray:
            values.append(made)
        else:
            values += as_outputs(made, count)


def as_outputs(made: Any, count: int) -> Sequence[Array]:
    """What a kernel returned, as one array for each of `count` outputs. Raises ValueError where it is too little."""
    if type(made) is tuple and len(made) == count and set(map(type, made)) == _ONLY_ARRAYS:
        return made
    return _as_arrays(made, count)


def timed(step: Step, arrays: Sequence[Any]) -> tuple[Sequence[Array], float]:
    """What a step makes of what it reads, as one array for each output, and the seconds until all of it is there."""
    kernel, op, _, count = step
    start = perf_counter()
    made = kernel(op, *arrays)
    if type(made) is np.ndarray and count == 1:
        return (made,), perf_counter() - start
    outputs = as_outputs(made, count)
    for output in outputs:
        if type(output) is not np.ndarray:
            finish(device_of(output))
    return outputs, perf_counter() - start


def _as_arrays(made: Any, count: int) -> list[Array]:
    """The first `count` arrays that a kernel returned: it may return more than it was asked for."""
    if not isinstance(made, tuple):
        made = (made,)
    if len(made) < count:
        raise ValueError(f"it returned {len(made)} arrays for {count} outputs")
    return [array if is_on_gpu(array) else np.asarray(array) for array in made[:count]]


class Plan:
    """From the inputs, outputs and output gradients of a call to the gradients of its inputs.

    Attributes:
        steps: the operators that the wanted gradients need, in order; each appends its outputs to the values.
        answers: the gradient of each input.
        casts: the inputs whose gradients come in another dtype than theirs; None: not run yet.
        calls: the steps as calls, for a run on Variables; None: not needed yet.
    """

    __slots__ = ("_choose", "answers", "calls", "casts", "steps")

    def __init__(self, steps: Sequence[Step], answers: Sequence[Answer]) -> None:
        self.steps = tuple(steps)
        self.answers = tuple(answers)
        self.casts: tuple[int, ...] | None = None
        self.calls: list[Any] | None = None
        self._choose = _chooser(answers)

    def run(
        self,
        arrays: Sequence[Array],
        gys: Sequence[Array | None],
        run: Callable[[Sequence[Step], list[Any]], None] = run_steps,
    ) -> Sequence[Gradient | None]:
        """The gradient of each input, from the arrays of inputs and outputs and the gradients of the outputs.

        Args:
            run: runs the steps, as `run_steps` does.

        Raises:
            ValueError: an operator makes too little, or a gradient of another shape than its input.
        """
        values: list[Any] = [*arrays, *gys]
        run(self.steps, values)
        values.append(None)
        gradients = self._choose(values)
        if self.casts is None:
            self.casts = _checked(gradients, arrays)
        return _cast(gradients, arrays, self.casts) if self.casts else gradients


def observed(step: Step, observe: Observer) -> Step:
    """`step`, telling `observe` when it has run."""

    def run(op: Operator, *arrays: Array) -> tuple[Array, ...]:
        outputs, seconds = timed(step, arrays)
        observe(outputs, seconds)
        return tuple(outputs)

    return step._replace(kernel=run)


def _chooser(answers: Sequence[Answer]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """What takes the answers out of a list of values, the last of which is None."""
    dense = [-1 if at is None else at for at in answers if not isinstance(at, tuple)]
    if len(dense) == len(answers):
        return _picker(dense)
    return lambda values: [None if at is None else chosen(values, at) for at in answers]


def chosen(values: Sequence[Any], at: int | tuple[int, int]) -> Any:
    """The value of number `at`; for two numbers the rows that they make."""
    return values[at] if type(at) is int else flat_rows(*[values[half] for half in at])  # type: ignore[union-attr]


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


def make_plan(op: Operator, given: Sequence[bool], wanted: int, device: Device) -> Plan:
    """The plan for `op`, whose inputs and outputs all have names of their own.

    Args:
        given: which outputs have a gradient.
        wanted: which inputs want one: bit i stands for input i.

    Raises:
        GradientError: ``no_gradient_rule``, ``rule_failed``, ``missing_output_gradient``.
        RunError: ``unknown_operator``, a gradient operator has no kernel.
    """
    g_output = [gradient_name(y) if is_given else None for y, is_given in zip(op.outputs, given, strict=True)]
    answer = ask_rule(op, 0, g_output)
    names = [*op.inputs, *op.outputs, *g_output]
    numbers = {name: number for number, name in enumerate(names) if name is not None}
    steps = _numbered(op, answer.operators, numbers, len(names))
    answers: list[Answer] = []
    for at, gradient in enumerate(answer.g_input):
        if gradient is None or not wanted >> at & 1:
            answers.append(None)
        elif isinstance(gradient, GradientSlice):
            answers.append((_find(op, gradient.indices, numbers), _find(op, gradient.values, numbers)))
        else:
            answers.append(_find(op, gradient, numbers))
    return _only_needed(steps, answers, len(names), device)


class Numbered(NamedTuple):
    """A gradient operator with the numbers of the values that it reads and writes."""

    op: Operator
    reads: tuple[int, ...]
    writes: range


def _numbered(op: Operator, made: Sequence[Operator], numbers: dict[str, int], first: int) -> list[Numbered]:
    """The rule's operators with the numbers of their values; a name that is written again gets a new number."""
    steps = []
    for step in made:
        reads = tuple([_find(op, name, numbers) for name in step.inputs])
        writes = range(first, first + len(step.outputs))
        numbers.update(zip(step.outputs, writes, strict=True))
        steps.append(Numbered(step, reads, writes))
        first = writes.stop
    return steps


def _find(op: Operator, name: str | None, numbers: dict[str, int]) -> int:
    if name is None:
        raise GradientError(
            f"The gradient rule of {op.type} needs the gradient of an output that has none.",
            kind="missing_output_gradient",
            ways_out=["Use that output on the way to where the pass starts."],
        )
    if name not in numbers:
        raise GradientError(
            f"The gradient rule of {op.type} speaks of {name!r}, which is neither its operator's nor made before.",
            kind="rule_failed",
            ways_out=[
                "A gradient operator may read inputs, outputs, output gradients, and what the same rule made before."
            ],
        )
    return numbers[name]


def _only_needed(steps: Sequence[Numbered], answers: Sequence[Answer], given: int, device: Device) -> Plan:
    """The plan of those steps, with those outputs, from which the answers come; the first `given` values are there."""
    needed = {number for at in answers for number in halves(at)}
    kept: list[Numbered] = []
    for step in reversed(steps):
        if not needed.isdisjoint(step.writes):
            kept.append(trimmed(step, needed))
            needed.update(step.reads)
    kept.reverse()
    values = [*range(given), *[number for step in kept for number in step.writes]]
    place = {number: at for at, number in enumerate(values)}
    return Plan([ready(step, place, device) for step in kept], [_placed(at, place) for at in answers])


def ready(step: Numbered, place: Mapping[int, int], device: Device) -> Step:
    """The step, ready to run on `device`, when the value of each number lies at its `place`."""
    pick = _picker([place[number] for number in step.reads])
    return Step(_kernel(step.op, device), step.op, pick, len(step.op.outputs))


def _placed(at: Answer, place: dict[int, int]) -> Answer:
    if at is None or isinstance(at, int):
        return None if at is None else place[at]
    return place[at[0]], place[at[1]]


def halves(at: Answer) -> tuple[int, ...]:
    return () if at is None else (at,) if isinstance(at, int) else at


def trimmed(step: Numbered, needed: set[int]) -> Numbered:
    """The step without its last outputs, as far as its type lets them be left out and nobody needs them."""
    known = lookup(step.op.type)
    if known is None or known.outputs is None or known.outputs.most is None:
        return step
    count = len(step.writes)
    while count > known.outputs.least and step.writes[count - 1] not in needed:
        count -= 1
    return Numbered(msgspec.structs.replace(step.op, outputs=step.op.outputs[:count]), step.reads, step.writes[:count])


def _kernel(op: Operator, device: Device) -> Callable[..., Any]:
    known = lookup(op.type)
    if known is None or known.kernel is None:
        raise RunError(
            f"The gradient operator {op} is of a type that has no kernel: {op.type}.",
            kind="unknown_operator",
            ways_out=similar(op.type),
        )
    return known.kernel if device == CPU else running_on(known.kernel, device)


def _picker(numbers: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """What takes the values of these numbers, -1 for the last, out of a list."""
    if len(numbers) == 1:
        return itemgetter(slice(numbers[0], numbers[0] + 1 or None))
    return itemgetter(*numbers) if numbers else lambda _: ()
