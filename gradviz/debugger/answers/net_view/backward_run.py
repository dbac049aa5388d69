"""Running the backward operators of one forward operator on output gradients of our choosing.

A gradient operator is linear in the gradients of the outputs. With the gradient of one output, or one part of it, and
zeros for the others it gives the part of each input's gradient that comes from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ....gradient.rules import ask_rule
from ....operators.registry import Array
from ....program import Operator
from ....program.control_flow import NETS
from ....program.operator import numbered_name, parts_of
from ....runtime.devices import current, device_of
from ....runtime.executor import execute
from ....runtime.planning import plan
from ....runtime.step import Step
from ...journal import dense
from .flow import Flow
from .net_view import NetView
from .wording import split


class BackwardRun:
    """The backward operators of a net on the recorded values of a run, one forward operator at a time."""

    def __init__(self, view: NetView, flow: Flow) -> None:
        self._view = view
        self._flow = flow
        self._ready: dict[int, _Ready] = {}

    def __call__(self, index: int, arriving: Mapping[int, Array]) -> list[Array | None]:
        """What reaches each input of forward operator `index`, where `arriving` is the gradient of each output slot.

        An output that is not among them has zeros for its gradient, or none where it had none.

        Raises:
            CursorError: ``not_computed``. GradvizError: a rule or an operator that fails.
        """
        if index not in self._ready:
            is_nested = self._view.forward[index].type in NETS
            self._ready[index] = self._recorded(index) if is_nested else self._asked(index)
        return self._ready[index].run(arriving)

    def _asked(self, index: int) -> _Ready:
        """The operators that the rule makes for an operator whose inputs and outputs all have names of their own."""
        line, flow = self._view.forward[index], self._flow
        values: dict[str, Array] = {}
        slots = []
        for blob in (*line.inputs, *line.outputs):
            name = split(blob)[0]
            name = numbered_name(name, values.__contains__) if name in values else name
            values[name] = self._view.needed(blob)
            slots.append(name)
        inputs, outputs = slots[: len(line.inputs)], slots[len(line.inputs) :]
        op = Operator(line.type, inputs, outputs, dict(line.args), self._view.operator(line).device)
        names: list[str | None] = []
        for slot, parts in enumerate(flow.arriving[index]):
            names.append(None if parts is None else _free(f"{outputs[slot]}_grad", values))
            if (gradient := names[-1]) is not None:
                values[gradient] = _zeros_like(values[outputs[slot]])
        answer = ask_rule(op, index, names)
        results = [tuple(map(str, parts_of(gradient))) for gradient in answer.g_input]
        return _Ready.planned(answer.operators, values, names, results, inputs)

    def _recorded(self, index: int) -> _Ready:
        """The recorded operators of a control operator, which run nested nets."""
        view, flow = self._view, self._flow
        line = view.forward[index]
        names: list[str | None] = [None] * len(line.outputs)
        is_gradient: dict[str, int] = {}
        values = {split(blob)[0]: view.needed(blob) for blob in line.inputs}
        for slot, parts in enumerate(flow.arriving[index]):
            if parts is not None:
                sums = flow.sums.get(line.outputs[slot], ())
                is_gradient |= dict.fromkeys([parts[-1], *(one.parts[-1] for one in sums)], slot)
                name = names[slot] = split(parts[-1])[0]
                values[name] = _zeros_like(view.needed(parts[-1]))
        operators: list[Operator] = []
        written: set[str] = set()
        for position in flow.asked[index].operators:
            made = view.operators[position]
            operators.append(view.operator(made))
            for blob in made.inputs:
                name = split(blob)[0]
                if blob in is_gradient:
                    names[is_gradient[blob]] = name
                    values[name] = _zeros_like(view.needed(blob))
                elif name not in written and (array := view.array(blob)) is not None:
                    values[name] = array
            written.update(split(blob)[0] for blob in made.outputs)
        results = []
        for blob in line.inputs:
            sent = [one for one in flow.sent.get(blob, ()) if one.through == index]
            results.append(tuple(split(part)[0] for part in sent[-1].parts) if sent else ())
        return _Ready.planned(operators, values, names, results, [split(blob)[0] for blob in line.inputs])


class _Ready(NamedTuple):
    """Backward operators ready to run.

    Attributes:
        values: what they read, zeros for the gradients of outputs.
        gradients: the name of each output's gradient.
        results: for each input the blobs that its gradient consists of; none where it has none.
        inputs: the names of the inputs.
    """

    steps: Sequence[Step]
    values: dict[str, Array]
    gradients: list[str | None]
    results: list[tuple[str, ...]]
    inputs: list[str]

    @classmethod
    def planned(
        cls,
        operators: Sequence[Operator],
        values: dict[str, Array],
        gradients: list[str | None],
        results: list[tuple[str, ...]],
        inputs: list[str],
    ) -> _Ready:
        return cls(plan(operators, values).steps, values, gradients, results, inputs)

    def run(self, arriving: Mapping[int, Array]) -> list[Array | None]:
        values = self.values.copy()
        for slot, array in arriving.items():
            name = self.gradients[slot]
            assert name is not None
            values[name] = array
        execute(self.steps, values)
        return [self._result(values, slot) for slot in range(len(self.results))]

    def _result(self, values: Mapping[str, Array], slot: int) -> Array | None:
        parts = self.results[slot]
        if len(parts) < 2:
            return values[parts[0]] if parts else None
        return dense(values[parts[0]], values[parts[1]], self.values[self.inputs[slot]])


def _free(name: str, taken: Mapping[str, Array]) -> str:
    return numbered_name(name, taken.__contains__) if name in taken else name


def _zeros_like(array: Array) -> Array:
    with current(device_of(array)):
        return np.zeros_like(array)
