"""The ways of gradients from where they start to one blob: how many there are, what flows along each, and in all.

A way goes from a y through an operator to each input that its rule gives a gradient, and so on. With c(b) the number of
ways from blob version b to x,

    c(x) = 1,    c(output of f) = sum over the inputs i of f that get a gradient: c(i)

Along one way flows the product of the Jacobians on it applied to what it starts from. The sum over all ways is the
gradient of x.

A gradient operator is linear in the gradients of the outputs. With the gradient of one output, or one part of it, and
zeros for the others it gives the part of each input's gradient that comes from there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ...gradient.rules import ask_rule
from ...operators.registry import Array
from ...program import Operator
from ...program.control_flow import NETS
from ...program.operator import numbered_name, parts_of
from ...runtime.devices import CPU, current, device_of, moved
from ...runtime.executor import execute
from ...runtime.planning import plan
from ...runtime.step import Step
from ..journal import Writing, dense
from ..statistics import as_vector, norm, vector
from .flow import added, arriving, gives, made_for, sent
from .net_view import NetView

RUNS = 20_000
"""How often backward operators may run for one answer."""

ELEMENTS = 1 << 24
"""How many elements all parts that are followed may have together."""

LEAST = 16
"""How many parts are followed on from each blob however large they are."""

ROWS = 2_000
"""Runs that may be spent on proving that no way left aside is greater."""


Passed = tuple[int, list[int], list[int]]
"""An operator that ways pass, with the output and the input slots that they pass."""


class Hop(NamedTuple):
    """One step of a way: from an output of a forward operator to its input `slot`."""

    operator: int
    slot: int


class Part(NamedTuple):
    """What has flown along one way so far; `array` None: values are not known.

    `hops` go from the start on.
    """

    start: Writing
    hops: tuple[Hop, ...]
    array: Array | None
    norm: float

    @property
    def rank(self) -> tuple[float, int]:
        """Greatest first, the shorter way first among equals."""
        return -self.norm, len(self.hops)


class Ways:
    """The ways from blob versions `starts`, each with what flows from there, to `x`.

    Attributes:
        count: how many there are.
    """

    def __init__(self, view: NetView, starts: Mapping[Writing, Array | None], x: Writing) -> None:
        self._view = view
        self._forward = view.net.forward
        self._starts = starts
        self._x = x
        self._backward_run = BackwardRun(view)
        # The output slots and the input slots of each operator through which gradients came and went.
        self._slots: list[tuple[list[int], list[int]]] = []
        counts = {x: 1}
        for index, statement in enumerate(self._forward):
            outputs = [slot for slot, parts in enumerate(arriving(view, index)) if parts is not None]
            inputs = [slot for slot, gets in enumerate(gives(view, index) or ()) if gets]
            self._slots.append((outputs, inputs))
            total = sum(counts.get(statement.inputs[slot], 0) for slot in inputs)
            for slot in outputs:
                if total and statement.outputs[slot] is not x:
                    counts[statement.outputs[slot]] = total
        self._counts = counts
        self.count = sum(counts.get(blob, 0) for blob in starts)

    def _on_the_way(self) -> Iterator[Passed]:
        """The operators that ways pass, last first, each with the output and input slots that they pass."""
        for index in reversed(range(len(self._forward))):
            wrote, read = self._forward[index].outputs, self._forward[index].inputs
            outputs = [slot for slot in self._slots[index][0] if wrote[slot] in self._counts]
            outputs = [slot for slot in outputs if wrote[slot] is not self._x]
            inputs = [slot for slot in self._slots[index][1] if read[slot] in self._counts]
            if outputs and inputs:
                yield index, outputs, inputs

    def whole(self) -> Array | None:
        """What flows along all ways together."""
        arriving: dict[Writing, Array] = {}
        for blob, array in self._starts.items():
            if array is not None:
                _add(arriving, blob, array)
        for index, outputs, inputs in self._on_the_way():
            statement = self._forward[index]
            given = {
                slot: arriving.pop(statement.outputs[slot]) for slot in outputs if statement.outputs[slot] in arriving
            }
            if given:
                reached = self._backward_run(index, given)
                for slot in inputs:
                    if (array := reached[slot]) is not None:
                        _add(arriving, statement.inputs[slot], array)
        return arriving.get(self._x)

    def greatest(self, most: int) -> tuple[list[Part], bool]:
        """The `most` ways along which the most flows, greatest first, and whether they are proven to be these.

        All ways are followed where they are not too many. Else at each blob those of least norm are left aside. A way
        that is left aside carries no more than its norm so far times the greatest singular values of the Jacobians
        still to come; where these are cheap to compute, the greatest ways can be proven to be so all the same.
        """
        passed = list(self._on_the_way())
        kept = self._kept(passed, most)
        waiting: dict[Writing, list[Part]] = defaultdict(list)
        for blob, array in self._starts.items():
            if blob in self._counts:
                waiting[blob].append(Part(blob, (), array, _norm(array)))
        aside: list[tuple[Writing, float]] = []
        for index, outputs, inputs in passed:
            statement = self._forward[index]
            for output in outputs:
                parts = sorted(waiting.pop(statement.outputs[output], ()), key=lambda part: part.rank)
                aside += [(statement.outputs[output], part.norm) for part in parts[kept : kept + 1]]
                for part in parts[:kept]:
                    for slot, onward in self._followed(part, index, output, inputs):
                        waiting[statement.inputs[slot]].append(onward)
        found = sorted(waiting[self._x], key=lambda part: part.rank)
        return found[:most], not aside or self._is_proven(found[:most], aside)

    def _kept(self, passed: list[Passed], most: int) -> int:
        """How many parts may be followed on from each blob."""
        blobs = [self._forward[index].outputs[slot] for index, outputs, _ in passed for slot in outputs]
        sizes = [value.size for blob in blobs if (value := self._view.value(blob)) is not None]
        return max(min(RUNS // max(1, len(passed)), ELEMENTS // max(1, sum(sizes))), 4 * most, LEAST)

    def _followed(self, part: Part, index: int, output: int, inputs: list[int]) -> Iterator[tuple[int, Part]]:
        """What becomes of a part on its way through an operator, for each input."""
        reached = [] if part.array is None else self._backward_run(index, {output: part.array})
        for slot in inputs:
            array = reached[slot] if reached else None
            yield slot, Part(part.start, (*part.hops, Hop(index, slot)), array, _norm(array))

    def _is_proven(self, found: list[Part], aside: list[tuple[Writing, float]]) -> bool:
        """Whether no way that was left aside can carry more than the least of those found."""
        if any(part.array is None for part in found):
            return True  # by length alone, which never falls
        gains = self._gains()
        return gains is not None and all(norm * gains[blob] <= found[-1].norm for blob, norm in aside)

    def _gains(self) -> dict[Writing, float] | None:
        """For each blob the most by which a way from there to x can multiply a norm.

        None: too dear to compute, or complex, where a Jacobian need not be linear.
        """
        passed = list(self._on_the_way())
        outs = [self._view.needed(self._forward[at].outputs[slot]) for at, slots, _ in passed for slot in slots]
        if sum(out.size for out in outs) > ROWS or any(out.dtype.kind == "c" for out in outs):
            return None
        gains = {self._x: 1.0}
        for index, outputs, inputs in reversed(passed):
            statement = self._forward[index]
            for output in outputs:
                norms = self._jacobian_norms(index, output, inputs)
                gains[statement.outputs[output]] = max(norms[slot] * gains[statement.inputs[slot]] for slot in inputs)
        return gains

    def _jacobian_norms(self, index: int, output: int, inputs: list[int]) -> dict[int, float]:
        """The greatest singular value of the transposed Jacobian of one output with respect to each input."""
        like = self._view.needed(self._forward[index].outputs[output])
        rows: dict[int, list[Array]] = {slot: [] for slot in inputs}
        for place in range(like.size):
            unit = np.zeros(like.size, dtype=like.dtype)
            unit[place] = 1
            reached = self._backward_run(index, {output: moved(unit.reshape(like.shape), device_of(like))})
            for slot in inputs:
                array = reached[slot]
                rows[slot].append(np.zeros(0) if array is None else as_vector(moved(array, CPU)))
        return {slot: _greatest_singular_value(np.array(found)) for slot, found in rows.items()}


def _greatest_singular_value(matrix: Array) -> float:
    if not matrix.size:
        return 0.0
    return float(np.linalg.norm(matrix, 2)) if np.isfinite(matrix).all() else float("inf")


def _norm(array: Array | None) -> float:
    """The norm; of what holds a NaN it is infinite, so that it is seen first."""
    length = 0.0 if array is None else norm(vector(moved(array, CPU)))
    return float("inf") if np.isnan(length) else length


def _add(arriving: dict[Writing, Array], blob: Writing, array: Array) -> None:
    known = arriving.get(blob)
    arriving[blob] = array if known is None else added(known, array)


class BackwardRun:
    """The backward operators of a net on the recorded values of a run, one forward operator at a time."""

    def __init__(self, view: NetView) -> None:
        self._view = view
        self._ready: dict[int, _Ready] = {}

    def __call__(self, index: int, arriving: Mapping[int, Array]) -> list[Array | None]:
        """What reaches each input of forward operator `index`, where `arriving` is the gradient of each output slot.

        An output that is not among them has zeros for its gradient, or none where it had none.

        Raises:
            CursorError: ``not_computed``. GradvizError: a rule or an operator that fails.
        """
        if index not in self._ready:
            is_nested = self._view.net.forward[index].op.type in NETS
            self._ready[index] = self._recorded(index) if is_nested else self._asked(index)
        return self._ready[index].run(arriving)

    def _asked(self, index: int) -> _Ready:
        """The operators that the rule makes for an operator whose inputs and outputs all have names of their own."""
        statement = self._view.net.forward[index]
        values: dict[str, Array] = {}
        slots = []
        for blob in (*statement.inputs, *statement.outputs):
            name = _free(blob.name, values)
            values[name] = self._view.needed(blob)
            slots.append(name)
        inputs, outputs = slots[: len(statement.inputs)], slots[len(statement.inputs) :]
        op = msgspec.structs.replace(statement.op, inputs=inputs, outputs=outputs)
        names: list[str | None] = []
        for slot, parts in enumerate(arriving(self._view, index)):
            names.append(None if parts is None else _free(f"{outputs[slot]}_grad", values))
            if (gradient := names[-1]) is not None:
                values[gradient] = _zeros_like(values[outputs[slot]])
        answer = ask_rule(op, index, names)
        results = [tuple(map(str, parts_of(gradient))) for gradient in answer.g_input]
        return _Ready.planned(answer.operators, values, names, results, inputs)

    def _recorded(self, index: int) -> _Ready:
        """The recorded operators of a control operator, which run nested nets."""
        view = self._view
        statement = view.net.forward[index]
        names: list[str | None] = [None] * len(statement.outputs)
        is_gradient: dict[Writing, int] = {}
        values = {blob.name: view.needed(blob) for blob in statement.inputs}
        for slot, parts in enumerate(arriving(view, index)):
            if parts is not None:
                sums = [one.parts[-1] for one in sent(view, statement.outputs[slot]) if one.how == "sum"]
                is_gradient |= dict.fromkeys([parts[-1], *sums], slot)
                names[slot] = parts[-1].name
                values[parts[-1].name] = _zeros_like(view.needed(parts[-1]))
        operators: list[Operator] = []
        written: set[str] = set()
        for made in made_for(view, index):
            operators.append(view.operator(made))
            for blob in made.inputs:
                if blob in is_gradient:
                    names[is_gradient[blob]] = blob.name
                    values[blob.name] = _zeros_like(view.needed(blob))
                elif blob.name not in written and (array := view.array(blob)) is not None:
                    values[blob.name] = array
            written.update(blob.name for blob in made.outputs)
        results = []
        for blob in statement.inputs:
            through = [one for one in sent(view, blob) if one.through == index and one.how != "sum"]
            results.append(tuple(part.name for part in through[-1].parts) if through else ())
        return _Ready.planned(operators, values, names, results, [blob.name for blob in statement.inputs])


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
