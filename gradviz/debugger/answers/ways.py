"""The ways of gradients from where they start to one blob: how many there are, what flows along each, and in all.

A way goes from a y through an operator to each input that its rule gives a gradient, and so on. With c(b) the number of
ways from blob version b to x,

    c(x) = 1,    c(output of f) = sum over the inputs i of f that get a gradient: c(i)

Along one way flows the product of the Jacobians on it applied to what it starts from. The sum over all ways is the
gradient of x.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ...operators.registry import Array
from ...runtime.devices import CPU, device_of, moved
from ..statistics import as_vector, norm, vector
from .net_view.backward_run import BackwardRun
from .net_view.flow import Flow, added
from .net_view.net_view import NetView

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

    start: str
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

    def __init__(self, view: NetView, flow: Flow, starts: Mapping[str, Array | None], x: str) -> None:
        self._view = view
        self._flow = flow
        self._starts = starts
        self._x = x
        self._backward_run = BackwardRun(view, flow)
        counts = {x: 1}
        for index, line in enumerate(view.forward):
            total = sum(counts.get(blob, 0) for _, blob in self._inputs(index))
            for slot in self._outputs(index):
                if total and line.outputs[slot] != x:
                    counts[line.outputs[slot]] = total
        self._counts = counts
        self.count = sum(counts.get(blob, 0) for blob in starts)

    def _inputs(self, index: int) -> Iterator[tuple[int, str]]:
        """The inputs of an operator that its rule gives a gradient."""
        asked = self._flow.asked.get(index)
        if asked is not None:
            pairs = zip(asked.gives, self._view.forward[index].inputs, strict=False)
            yield from ((slot, blob) for slot, (gives, blob) in enumerate(pairs) if gives)

    def _outputs(self, index: int) -> list[int]:
        """The outputs of an operator whose gradients its rule was asked with."""
        return [slot for slot, parts in enumerate(self._flow.arriving.get(index, ())) if parts is not None]

    def _on_the_way(self) -> Iterator[Passed]:
        """The operators that ways pass, last first, each with the output and input slots that they pass."""
        for index in reversed(range(len(self._view.forward))):
            line = self._view.forward[index]
            outputs = [slot for slot in self._outputs(index) if line.outputs[slot] in self._counts]
            outputs = [slot for slot in outputs if line.outputs[slot] != self._x]
            inputs = [slot for slot, blob in self._inputs(index) if blob in self._counts]
            if outputs and inputs:
                yield index, outputs, inputs

    def whole(self) -> Array | None:
        """What flows along all ways together."""
        arriving: dict[str, Array] = {}
        for blob, array in self._starts.items():
            if array is not None:
                _add(arriving, blob, array)
        for index, outputs, inputs in self._on_the_way():
            line = self._view.forward[index]
            given = {slot: arriving.pop(line.outputs[slot]) for slot in outputs if line.outputs[slot] in arriving}
            if given:
                reached = self._backward_run(index, given)
                for slot in inputs:
                    if (array := reached[slot]) is not None:
                        _add(arriving, line.inputs[slot], array)
        return arriving.get(self._x)

    def greatest(self, most: int) -> tuple[list[Part], bool]:
        """The `most` ways along which the most flows, greatest first, and whether they are proven to be these.

        All ways are followed where they are not too many. Else at each blob those of least norm are left aside. A way
        that is left aside carries no more than its norm so far times the greatest singular values of the Jacobians
        still to come; where these are cheap to compute, the greatest ways can be proven to be so all the same.
        """
        passed = list(self._on_the_way())
        kept = self._kept(passed, most)
        waiting: dict[str, list[Part]] = defaultdict(list)
        for blob, array in self._starts.items():
            if blob in self._counts:
                waiting[blob].append(Part(blob, (), array, _norm(array)))
        aside: list[tuple[str, float]] = []
        for index, outputs, inputs in passed:
            line = self._view.forward[index]
            for output in outputs:
                parts = sorted(waiting.pop(line.outputs[output], ()), key=lambda part: part.rank)
                aside += [(line.outputs[output], part.norm) for part in parts[kept : kept + 1]]
                for part in parts[:kept]:
                    for slot, onward in self._followed(part, index, output, inputs):
                        waiting[line.inputs[slot]].append(onward)
        found = sorted(waiting[self._x], key=lambda part: part.rank)
        return found[:most], not aside or self._is_proven(found[:most], aside)

    def _kept(self, passed: list[Passed], most: int) -> int:
        """How many parts may be followed on from each blob."""
        blobs = [self._view.forward[index].outputs[slot] for index, outputs, _ in passed for slot in outputs]
        sizes = [value.size for blob in blobs if (value := self._view.value(blob)) is not None]
        return max(min(RUNS // max(1, len(passed)), ELEMENTS // max(1, sum(sizes))), 4 * most, LEAST)

    def _followed(self, part: Part, index: int, output: int, inputs: list[int]) -> Iterator[tuple[int, Part]]:
        """What becomes of a part on its way through an operator, for each input."""
        reached = [] if part.array is None else self._backward_run(index, {output: part.array})
        for slot in inputs:
            array = reached[slot] if reached else None
            yield slot, Part(part.start, (*part.hops, Hop(index, slot)), array, _norm(array))

    def _is_proven(self, found: list[Part], aside: list[tuple[str, float]]) -> bool:
        """Whether no way that was left aside can carry more than the least of those found."""
        if any(part.array is None for part in found):
            return True  # by length alone, which never falls
        gains = self._gains()
        return gains is not None and all(norm * gains[blob] <= found[-1].norm for blob, norm in aside)

    def _gains(self) -> dict[str, float] | None:
        """For each blob the most by which a way from there to x can multiply a norm.

        None: too dear to compute, or complex, where a Jacobian need not be linear.
        """
        passed = list(self._on_the_way())
        outs = [self._view.needed(self._view.forward[at].outputs[slot]) for at, slots, _ in passed for slot in slots]
        if sum(out.size for out in outs) > ROWS or any(out.dtype.kind == "c" for out in outs):
            return None
        gains = {self._x: 1.0}
        for index, outputs, inputs in reversed(passed):
            line = self._view.forward[index]
            for output in outputs:
                norms = self._jacobian_norms(index, output, inputs)
                gains[line.outputs[output]] = max(norms[slot] * gains[line.inputs[slot]] for slot in inputs)
        return gains

    def _jacobian_norms(self, index: int, output: int, inputs: list[int]) -> dict[int, float]:
        """The greatest singular value of the transposed Jacobian of one output with respect to each input."""
        like = self._view.needed(self._view.forward[index].outputs[output])
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


def _add(arriving: dict[str, Array], blob: str, array: Array) -> None:
    known = arriving.get(blob)
    arriving[blob] = array if known is None else added(known, array)
