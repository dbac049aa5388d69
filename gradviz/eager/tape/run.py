"""One run of a tape: the segments of its plan, on the values that its functions have left."""

from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from ...operators.registry import Array
from ...runtime.devices import current, device_of
from .. import gradients
from ..call import TO_DENSE, Call, OperatorFunction
from ..faults import cannot_add, data_replaced
from ..function import Function
from ..gradients import Rows
from ..mode import current_mode
from ..plan import Answer, Step, as_outputs, chosen, halves, run_steps
from ..rank import ADD, Arrived, dense_all, shown
from ..variable import Variable, plain
from .plan import Segment, TapePlan
from .sharing import Buffers

NOTHING: tuple[Any, ...] = (None,)


class TapeRun:
    """One run of a plan on the values of a tape.

    Args:
        seeds: the gradients that are given, in the order of the plan.
        create_graph: whether values are Variables.
        buffers: where the gradients on the way take turns; None: nobody wants to know.
    """

    def __init__(
        self,
        plan: TapePlan,
        functions: Sequence[Function | None],
        seeds: Sequence[Any],
        create_graph: bool,
        buffers: Buffers | None,
    ) -> None:
        self._plan = plan
        self._functions = functions
        self._create_graph = create_graph
        self._buffers = buffers
        self._hooks = current_mode().hooks
        self._values: list[Any] = []
        for function in functions:
            if function is not None and create_graph:
                self._values += [*function.inputs, *map(function.output, range(function.count))]
            elif function is not None:
                self._values += function.arrays
        self._values += seeds

    def run(self) -> None:
        """Run every segment."""
        plan, values, functions = self._plan, self._values, self._functions
        is_plain = not (self._create_graph or self._hooks or plan.has_python)
        casts: dict[int, list[tuple[int, int]]] = {} if plan.casts is None else plan.casts
        for at, segment in enumerate(plan.segments):
            function = None if segment.function is None else functions[segment.function]
            start = len(values)
            if is_plain:
                try:
                    run_steps(segment.steps, values)
                except Exception as error:
                    raise _explained(error, function) from error
            else:
                self._run_segment(segment, function)
            if function is not None and plan.casts is None:
                self._find_casts(casts, at, segment, function)
            if function is not None and at in casts:
                self._cast(casts[at], function)
            if self._buffers is not None:
                self._share(self._buffers, segment, start)
            for number in segment.spent:
                values[number] = None
        plan.casts = casts

    def _run_segment(self, segment: Segment, function: Function | None) -> None:
        """Run a segment in one of the ways that are not plain."""
        if function is None:
            self._run_steps(segment, None)
        elif self._reached(segment, function):
            self._watched(segment, function) if self._hooks else self._run_function(segment, function)
        else:
            self._values += NOTHING * (segment.end - len(self._values))

    def _watched(self, segment: Segment, function: Function) -> None:
        """Run a function backward under the eyes of the hooks in force."""
        in_data = function.in_data
        out_grad = shown(self._g_output(segment, function), function.out_data)
        for hook in self._hooks:
            hook.backward_preprocess(function, in_data, out_grad)
        self._run_function(segment, function)
        found = [
            self._gradient(answer, x) if function.wanted >> at & 1 else None
            for at, (answer, x) in enumerate(zip(segment.g_input, function.inputs, strict=True))
        ]
        in_grad = shown(found, in_data)
        for hook in self._hooks:
            hook.backward_result(function, in_data, in_grad)
        for hook in self._hooks:
            hook.backward_postprocess(function, in_data, out_grad)

    def _run_function(self, segment: Segment, function: Function) -> None:
        if type(function) is OperatorFunction:
            if self._create_graph:
                for x, array in zip(function.inputs, function.arrays, strict=False):
                    if x.data is not array:
                        raise data_replaced(function, x)
            self._run_steps(segment, function)
            return
        gys = dense_all(self._g_output(segment, function), function.out_data)
        run = function.input_gradient_variables if self._create_graph else function.input_gradients
        gxs = run(gys, function.wanted)
        self._values += NOTHING * (segment.end - len(self._values))
        for answer, gx in zip(segment.g_input, gxs, strict=True):
            if answer in segment.own:
                self._values[answer] = gx

    def _run_steps(self, segment: Segment, function: Function | None) -> None:
        try:
            if segment.function is None and [step.op.type for step in segment.steps] == ["Concat", "Concat"]:
                self._join_rows(*segment.steps)
                return
            for step in segment.steps:
                self._values += self._outputs(step, segment.like)
        except Exception as error:
            raise _explained(error, function) from error

    def _join_rows(self, of_indices: Step, of_values: Step) -> None:
        """Join the rows of those sparse gradients that are there."""
        halves = zip(of_indices.pick(self._values), of_values.pick(self._values), strict=True)
        there = [(indices, values) for indices, values in halves if values is not None]
        for step, reads in zip((of_indices, of_values), zip(*there, strict=True), strict=False):
            self._values += self._made(step, reads)
        if not there:
            self._values += NOTHING * (of_indices.outputs + of_values.outputs)

    def _outputs(self, step: Step, like: int | None) -> Sequence[Any]:
        """What a step makes, without the gradients that are not there after all.

        Args:
            like: the number of a value that has the shape of what is added up.
        """
        reads = step.pick(self._values)
        there = [value for value in reads if value is not None]
        if len(there) < len(reads) and step.op.type == "SparseToDense":
            rows = reads[1]
            there = [] if rows is None or like is None else [reads[0], rows, self._values[like]]
        return NOTHING * step.outputs if reads and not there else self._made(step, there)

    def _made(self, step: Step, reads: Sequence[Any]) -> Sequence[Any]:
        if self._create_graph:
            return self._call(step).several(*reads)
        return as_outputs(step.kernel(step.op, *reads), step.outputs)

    def _call(self, step: Step) -> Call:
        """A step as a call on Variables."""
        calls = self._plan.calls
        return calls.get(id(step)) or calls.setdefault(id(step), Call.of(step.op))

    def _reached(self, segment: Segment, function: Function) -> bool:
        """Whether a gradient has reached a function: the backward method of another may have returned None.

        What lacks beside others is zeros then, for a rule counts on it.
        """
        if not self._plan.has_python:
            return True
        numbers = [(at, answer) for at, answer in enumerate(segment.g_output) if answer is not None]
        lacking = [(at, n) for at, answer in numbers for n in halves(answer) if self._values[n] is None]
        if len(lacking) == len(numbers):
            return False
        if type(function) is OperatorFunction:
            for at, number in lacking:
                self._values[number] = self._zeros(function, at)
        return True

    def _zeros(self, function: Function, place: int) -> Any:
        array = function.out_data[place]
        with current(device_of(array)):
            zeros = np.zeros_like(array)
        return Variable(zeros, requires_grad=False) if self._create_graph else zeros

    def _g_output(self, segment: Segment, function: Function) -> list[Any]:
        """The gradients of a function's outputs; a Variable is dense."""
        outputs = map(function.output, range(function.count))
        return [self._gradient(answer, y) for answer, y in zip(segment.g_output, outputs, strict=True)]

    def _gradient(self, answer: Answer, x: Variable) -> Any:
        """The gradient of number `answer`, which is that of x; a Variable is dense."""
        found = [self._values[number] for number in halves(answer)]
        if answer is None or any(value is None for value in found):
            return None
        if self._create_graph and len(found) == 2:
            return TO_DENSE(*found, x)
        return chosen(self._values, answer)

    def _find_casts(
        self, casts: dict[int, list[tuple[int, int]]], at: int, segment: Segment, function: Function
    ) -> None:
        """Note the gradients that come in another dtype than what they are the gradients of."""
        for place, answer in enumerate(segment.g_input):
            if answer not in segment.own or not function.wanted >> place & 1:
                continue
            gradient, array = plain(self._values[answer]), function.arrays[place]
            if gradient is None:
                continue
            if gradient.shape != array.shape:
                wrong = ValueError(f"the gradient of its input {place}, {array.shape}, is {gradient.shape}")
                raise function.explained(wrong) from wrong
            if gradient.dtype != array.dtype:
                casts.setdefault(at, []).append((answer, place))

    def _cast(self, casts: Sequence[tuple[int, int]], function: Function) -> None:
        for number, place in casts:
            self._values[number] = self._as(self._values[number], function.arrays[place])

    def _as(self, gradient: Any, like: Array) -> Any:
        """A gradient in the dtype of the array that it is the gradient of."""
        if gradient is None or gradient.dtype == like.dtype:
            return gradient
        if self._create_graph:
            return Call("cast", "Cast", {"to": like.dtype.name})(gradient)
        with current(device_of(like)):
            return gradient.astype(like.dtype)

    def _share(self, buffers: Buffers, segment: Segment, start: int) -> None:
        """Give buffers to what a segment has made from value `start` on; what is spent leaves its own."""
        for number in range(start, len(self._values)):
            if number not in self._plan.kept and self._values[number] is not None:
                buffers.take(number, plain(self._values[number]).nbytes)
        for number in segment.spent:
            buffers.leave(number)

    def arrived(self, arrived: Arrived, kept: Container[int], retain: bool) -> Arrived:
        """`arrived`, and what the run has brought.

        Args:
            kept: the uids of the functions whose outputs keep their gradients.
            retain: whether those of all functions do.
        """
        for index, place, answer in self._plan.leaves:
            function = self._functions[index]
            assert function is not None
            x = function.inputs[place]
            gradient = self._gradient(answer, x)
            if gradient is not None and type(gradient) is not Rows and gradient.dtype != x.dtype:
                gradient = self._as(gradient, function.arrays[place])
            if gradient is not None:
                known = arrived.leaves.get(x)
                arrived.leaves[x] = gradient if known is None else self._sum(known, gradient)
        reached: dict[int, tuple[Answer, ...]] = {}
        for segment in self._plan.segments:
            function = None if segment.function is None else self._functions[segment.function]
            if function is not None:
                reached[function.uid] = segment.g_output
                if function.uid in kept:
                    arrived.kept[id(function)] = self._g_output(segment, function)
        for function in self._functions:
            for x in () if function is None else function.inputs:
                creator = x.creator if retain or x._grad is not None else None
                if creator is not None and creator.uid in reached and reached[creator.uid][x.place] is not None:
                    arrived.met.append(x)
        return arrived

    def _sum(self, one: Any, other: Any) -> Any:
        return ADD(one, other) if self._create_graph else gradients.add(one, other)


def _explained(error: Exception, function: Function | None) -> Exception:
    """`error`, said of the function that was run backward, or of the gradients that were added up."""
    return cannot_add(error) if function is None else function.explained(error)
