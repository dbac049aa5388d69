"""Running forward operators once more on the recorded values, some of them replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from ....operators import lookup
from ....operators.registry import Array
from ....operators.scopes import ScopeStack
from ....program.control_flow import NETS
from ....runtime.devices import CPU, moved
from ....runtime.executor import execute
from ....runtime.planning import plan
from ...document import Line
from .flow import Flow
from .net_view import NetView
from .wording import number, split

Rerun = Callable[[Sequence[Array]], list[Array]]
"""From the inputs of an operator to its outputs."""


ON_PURPOSE = ("NegateGradient", "ZeroGradient")
"""Operators that are there to send back another gradient than that of their function."""


class NotCheckable(Exception):
    """Why something cannot be checked by running it again."""


def as_double(array: Array) -> Array:
    """On the CPU, floating-point numbers in double precision."""
    if isinstance(array, ScopeStack):
        return array
    here = moved(array, CPU)
    return here.astype(np.float64) if here.dtype.kind == "f" else here


def operator_run(view: NetView, line: Line) -> Rerun:
    """A function that runs the operator of a forward line; raises NotCheckable where it has no kernel."""
    op, known = view.operator(line), lookup(line.type)
    if known is None or (known.kernel is None and not known.runs_nets):
        raise NotCheckable(f"{line.type} has no kernel here, so it cannot be run again.")
    if line.type in ON_PURPOSE:
        raise NotCheckable(f"{line.type} #{number(line)} sends back another gradient than its function's, on purpose.")
    if line.type in NETS:
        stopped = next(_stops(view, line), "")
        if stopped:
            raise NotCheckable(
                f"In {stopped} a StopGradient holds a value back, which differences cannot know: ask in that net."
            )
    kernel = known.kernel

    def run(inputs: Sequence[Array]) -> list[Array]:
        if kernel is not None:
            try:
                with np.errstate(all="ignore"):
                    result = kernel(op, *inputs)
            except Exception as error:
                raise NotCheckable(f"{line.type} #{number(line)} cannot be run again: {error}") from error
            return list(result) if isinstance(result, tuple) else [result]
        values = {split(blob)[0]: array for blob, array in zip(line.inputs, inputs, strict=True)}
        execute(plan([op], values).steps, values)
        return [values[split(blob)[0]] for blob in line.outputs]

    return run


def _stops(view: NetView, line: Line) -> Iterator[str]:
    """The nested nets of a line in which a StopGradient stands."""
    for way, inside in view.inside(line):
        for nested in inside.forward:
            if nested.type == "StopGradient":
                yield f"{number(line)}.{way}"
            yield from _stops(inside, nested)


def recorded_inputs(view: NetView, line: Line) -> list[Array]:
    """What an operator read, in double precision."""
    return [as_double(view.needed(blob)) for blob in line.inputs]


def check_repeats(view: NetView, line: Line, run: Rerun) -> None:
    """Raise NotCheckable unless an operator run on what it read gives what it gave."""
    outputs = run([moved(view.needed(blob), CPU) for blob in line.inputs])
    for blob, again in zip(line.outputs, outputs, strict=True):
        was = view.needed(blob)
        if isinstance(was, ScopeStack):
            continue
        here = moved(was, CPU)
        is_same = here.shape == again.shape and np.allclose(here, again, rtol=1e-5, atol=1e-8, equal_nan=True)
        if not is_same:
            raise NotCheckable(
                f"{line.type} #{number(line)} is random: run again on the same inputs it gives another {blob}."
            )


def _leading(view: NetView, flow: Flow) -> set[str]:
    """The blob versions from which some way leads to a y, whether gradients come back on it or not."""
    leading = set(flow.seeds)
    for line in reversed(view.forward):
        if not leading.isdisjoint(line.outputs):
            leading.update(line.inputs)
    return leading


class ProgramRun:
    """The part of a net's forward program that carries gradients from `blob` to the ys, to be run again.

    What gets no gradient on the way, such as labels or what a StopGradient lets through, stays as it was recorded.

    Attributes:
        held: where that happened to numbers that `blob` changes, in words.
    """

    def __init__(self, view: NetView, flow: Flow, blob: str) -> None:
        self._view = view
        self._blob = blob
        self.held: list[str] = []
        self._steps: list[tuple[Line, Rerun, list[Array], list[bool]]] = []
        changed = {blob}
        leading = _leading(view, flow)
        for index, line in enumerate(view.forward):
            asked = flow.asked.get(index)
            if changed.isdisjoint(line.inputs):
                continue
            gives = asked.gives if asked else [False] * len(line.inputs)
            takes = [gets and one in changed for gets, one in zip(gives, line.inputs, strict=True)]
            if not leading.isdisjoint(line.outputs):
                held = [one for one, took in zip(line.inputs, takes, strict=True) if one in changed and not took]
                self.held += [
                    f"{line.type} #{index} sends no gradient to {one}, so what it makes of it was held."
                    for one in dict.fromkeys(held)
                ]
            if any(takes):
                run = operator_run(view, line)
                check_repeats(view, line, run)
                self._steps.append((line, run, recorded_inputs(view, line), takes))
                changed.update(line.outputs)
        self.reached = changed

    def __call__(self, array: Array, ys: Sequence[str]) -> list[Array]:
        """The values of `ys`, which it reaches, with `array` in place of the blob."""
        values: Mapping[str, Array] = {self._blob: array}
        for line, run, inputs, takes in self._steps:
            replaced = [
                values[blob] if takes_it else was
                for blob, was, takes_it in zip(line.inputs, inputs, takes, strict=True)
            ]
            values = {**values, **dict(zip(line.outputs, run(replaced), strict=True))}
        return [values[y] for y in ys]
