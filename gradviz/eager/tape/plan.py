"""What a tape runs, planned once for all tapes of one structure: which kernel reads which value, and when it is let go.

Values are numbered: the arrays of each function, inputs and then outputs, function after function; the gradients that
are given; and then what the operators of the flow make, in order.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from ...program import Device, Gradient, Operator, RunError
from ...program.operator import parts_of
from ...runtime.devices import CPU, device_of
from ..call import Call, OperatorFunction
from ..expression import Expression
from ..function import Function
from ..plan import Answer, Numbered, Step, halves, ready, trimmed
from .flow import Flow, Part


class Segment(NamedTuple):
    """What runs together: the gradient operators of one function, or those that add up gradients.

    Attributes:
        function: its number; None where gradients are added up.
        steps: each appends its outputs to the values.
        g_output: the numbers of the gradients of the function's outputs.
        g_input: those of what it adds to the gradients of its inputs; `own`: those that its steps make.
        like: the number of the value whose gradients are added up; None where those of a function are made.
        spent: the numbers of the gradients that nobody needs any more.
        end: how many values there are afterwards.
    """

    function: int | None
    steps: tuple[Step, ...]
    g_output: tuple[Answer, ...]
    g_input: tuple[Answer, ...]
    own: frozenset[int]
    like: int | None
    spent: tuple[int, ...]
    end: int


class TapePlan:
    """The segments of a tape in order.

    Attributes:
        leaves: (function, input, gradient) for each leaf that gets one.
        kept: the gradients that are wanted at the end.
        has_python: whether there are functions that no operator of the table stands for.
        calls: the steps as calls, by id, for runs on Variables.
        casts: segment -> (gradient, input) where the gradient comes in another dtype than the input; None: not run yet.
    """

    def __init__(
        self,
        segments: Sequence[Segment],
        leaves: Sequence[tuple[int, int, Answer]],
        kept: Collection[int],
        has_python: bool,
    ) -> None:
        self.segments = tuple(segments)
        self.leaves = tuple(leaves)
        self.kept = frozenset(kept)
        self.has_python = has_python
        self.calls: dict[int, Call] = {}
        self.casts: dict[int, list[tuple[int, int]]] | None = None


def plan_tape(expression: Expression, flow: Flow, seeds: Sequence[str], keeps: Callable[[Function], bool]) -> TapePlan:
    """The plan of `flow`, the gradient flow of `expression`.

    Args:
        seeds: the names of the gradients that are given.
        keeps: whether the gradients of a function's outputs are needed to the end.

    Raises:
        RunError: ``unknown_operator``, a gradient operator has no kernel.
    """
    planning = _Planning(expression, seeds)
    for part in flow.parts:
        planning.add(part, flow.operators[part.start : part.stop])
    return planning.finish(flow.gradients, keeps)


class _Draft(NamedTuple):
    """A segment before it is known what is needed."""

    function: int | None
    numbered: list[Numbered]
    g_output: tuple[Answer, ...]
    g_input: tuple[Answer, ...]
    like: int | None
    device: Device


class _Planning:
    """Numbers the values of a flow part by part, and leaves out what nobody needs at the end."""

    def __init__(self, expression: Expression, seeds: Sequence[str]) -> None:
        self._expression = expression
        self._numbers: dict[str, int] = {}
        self._drafts: list[_Draft] = []
        number = 0
        for op, function in zip(expression.operators, expression.functions, strict=True):
            if function is not None:
                for name in (*op.inputs, *op.outputs):
                    self._numbers.setdefault(name, number)
                    number += 1
        self._first = number
        self._numbers.update(zip(seeds, range(number, number + len(seeds)), strict=True))
        self._next = self._given = number + len(seeds)

    def add(self, part: Part, operators: Sequence[Operator]) -> None:
        """Number what the operators of a part read and write."""
        g_output = tuple([self._number_of(gradient) for gradient in part.g_output])
        first, numbered = self._next, []
        for op in operators:
            reads = tuple([self._numbers[name] for name in op.inputs])
            writes = range(self._next, self._next + len(op.outputs))
            self._next = writes.stop
            self._numbers.update(zip(op.outputs, writes, strict=True))
            numbered.append(Numbered(op, reads, writes))
        g_input = self._made(part, g_output, first)
        like = None if part.blob is None else self._numbers[part.blob]
        self._drafts.append(_Draft(part.forward, numbered, g_output, g_input, like, self._device(part)))

    def _number_of(self, gradient: Gradient | None) -> Answer:
        if gradient is None or isinstance(gradient, str):
            return None if gradient is None else self._numbers[gradient]
        return self._numbers[gradient.indices], self._numbers[gradient.values]

    def _made(self, part: Part, g_output: Sequence[Answer], first: int) -> tuple[Answer, ...]:
        """The numbers of what a part makes of the gradient of each input; its first value is number `first`."""
        written: dict[str, list[int]] = {}
        for number, name in enumerate([name for op in part.written for name in op.outputs], first):
            written.setdefault(name, []).append(number)
        passed = {
            name: number
            for gradient, answer in zip(part.g_output, g_output, strict=True)
            for name, number in zip(parts_of(gradient), halves(answer), strict=True)
        }

        def find(name: str, at: int) -> int:
            if name not in written:
                return passed[name] if name in passed else self._numbers[name]
            of_name = written[name]
            is_one_each = len(of_name) == part.g_input.count(name)
            return of_name[part.g_input[:at].count(name)] if is_one_each else of_name[-1]

        made: list[Answer] = []
        for at, gradient in enumerate(part.g_input):
            found = [find(name, at) for name in parts_of(gradient)]
            made.append((found[0], found[1]) if len(found) == 2 else found[0] if found else None)
        return tuple(made)

    def _device(self, part: Part) -> Device:
        """Where a part runs: where its function did, or where that lies whose gradients it adds up."""
        function = None if part.forward is None else self._expression.functions[part.forward]
        if function is not None:
            return device_of(function.arrays[-1])
        return device_of(self._expression.values[part.blob]) if part.blob is not None else CPU

    def finish(self, gradients: Mapping[str, Gradient], keeps: Callable[[Function], bool]) -> TapePlan:
        """The plan of what the gradients of the wanted leaves need; those of kept functions stay to the end."""
        leaves = self._leaves(gradients)
        kept = {number for _, _, answer in leaves for number in halves(answer)}
        for draft in self._drafts:
            function = None if draft.function is None else self._expression.functions[draft.function]
            if function is not None and keeps(function):
                kept.update(number for answer in draft.g_output for number in halves(answer))
        drafts = self._needed(kept)
        values = [*range(self._given), *[n for draft in drafts for step in draft.numbered for n in step.writes]]
        place = {number: at for at, number in enumerate(values)}
        spent = self._spent(drafts, kept)
        segments, end = [], self._given
        for draft, numbers in zip(drafts, spent, strict=True):
            start, end = end, end + sum(len(step.writes) for step in draft.numbered)
            g_input = tuple([_placed(answer, place) for answer in draft.g_input])
            segments.append(
                Segment(
                    draft.function,
                    tuple([self._ready(step, place, draft) for step in draft.numbered]),
                    tuple([_placed(answer, place) for answer in draft.g_output]),
                    g_input,
                    frozenset(number for answer in g_input for number in halves(answer) if number >= start),
                    draft.like,
                    tuple([place[number] for number in numbers]),
                    end,
                )
            )
        answers = [(function, at, _placed(answer, place)) for function, at, answer in leaves]
        functions = [function for function in self._expression.functions if function is not None]
        has_python = any(type(function) is not OperatorFunction for function in functions)
        return TapePlan(segments, answers, [place[number] for number in kept], has_python)

    def _ready(self, step: Numbered, place: Mapping[int, int], draft: _Draft) -> Step:
        function = None if draft.function is None else self._expression.functions[draft.function]
        try:
            return ready(step, place, draft.device)
        except RunError as error:
            if function is None:
                raise
            raise function.explained(error) from error

    def _leaves(self, gradients: Mapping[str, Gradient]) -> list[tuple[int, int, Answer]]:
        """Function, input, and the number of the gradient, of each leaf that has one."""
        read: dict[int, tuple[int, int]] = {}
        for index, function in enumerate(self._expression.functions):
            for at, x in enumerate(function.inputs if function is not None else ()):
                read.setdefault(id(x), (index, at))
        return [
            (*read[id(self._expression.leaves[name])], self._number_of(gradients[name]))
            for name in self._expression.leaves
            if name in self._expression.wanted and name in gradients
        ]

    def _needed(self, kept: Collection[int]) -> list[_Draft]:
        """The drafts with the steps from which come the kept numbers, and what functions are run backward on."""
        needed = set(kept)
        drafts = []
        for draft in reversed(self._drafts):
            steps = []
            if draft.function is not None and self._expression.functions[draft.function] is not None:
                needed.update(number for answer in draft.g_output for number in halves(answer))
            for step in reversed(draft.numbered):
                if not needed.isdisjoint(step.writes):
                    steps.append(trimmed(step, needed))
                    needed.update(step.reads)
            if steps or draft.function is not None:
                drafts.append(draft._replace(numbered=steps[::-1]))
        return drafts[::-1]

    def _spent(self, drafts: Sequence[_Draft], kept: Collection[int]) -> list[list[int]]:
        """For each draft the numbers of the gradients that nobody needs after it."""
        last: dict[int, int] = {}
        for at, draft in enumerate(drafts):
            reads = [number for step in draft.numbered for number in step.reads]
            writes = [number for step in draft.numbered for number in step.writes]
            outputs = [number for answer in draft.g_output for number in halves(answer)]
            for number in (*reads, *writes, *outputs):
                if number >= self._first and number not in kept:
                    last[number] = at
        spent: list[list[int]] = [[] for _ in drafts]
        for number, at in last.items():
            spent[at].append(number)
        return spent


def _placed(answer: Answer, place: Mapping[int, int]) -> Answer:
    """An answer by the places of its values; None where they are not computed."""
    found = [place[number] for number in halves(answer) if number in place]
    if len(found) < len(halves(answer)):
        return None
    return (found[0], found[1]) if len(found) == 2 else found[0] if found else None
