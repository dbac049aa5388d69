"""One program, differentiated in three ways: as a net with the IR, function by function by rank, and as a tape."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from ...gradient import IR
from ...operators.registry import Array, gradient_name
from ...program import Gradient, GradientError, NetDef
from ...program.events import Visited
from ...program.operator import numbered_name, parts_of
from ...runtime import Workspace
from ...runtime.devices import CPU, moved
from ..expression import Expression, expression
from ..function import Function
from ..gradients import dense, flat_rows
from ..hooks import FunctionHook
from ..passes import QUIET, SCHEDULES, seed_of
from ..rank import Arrived
from ..variable import Operand, Variable
from .live_bytes import LiveBytes
from .report import Comparison, Difference, Way

RUNS = 3
"""How often each way is timed, after a first time, in which it makes its plans."""

TOLERANCE = 1e4
"""Gradients agree where they differ by less than so many roundings of the largest element: sums in another order do."""


def compare(f: Callable[..., Variable], *inputs: Operand, gradient: Array | None = None) -> Comparison:
    """Differentiate ``f(*inputs)`` in three ways, and tell what they give and take.

    ``symbolic``: what f computed, as a net; the IR generates its gradient operators, and a workspace runs them.
    ``rank``, ``tape``: the schedules of `Variable.backward`.

    f is called again for every run, each time on Variables of its own and with the same state of numpy.random. No
    ``grad`` of any Variable is changed. Memory is that of arrays which the backward pass makes and holds, counted while
    it runs; seconds are those of the backward pass.

    Args:
        f: a function of Variables that returns a Variable.
        inputs: Variables, arrays, numbers.
        gradient: where to start, like what f returns; None: ones.

    Raises:
        GradientError: ``bad_argument``, f returns no Variable, or one that requires no gradient; those of `backward`.

    Example:
        >>> print(compare(lambda x: functions.sum(functions.tanh(x) * x), numpy.ones(3)))
    """
    program = _Program(f, inputs, gradient)
    names, ways = program.leaves(), [_symbolic(program), *[_scheduled(program, name) for name in SCHEDULES]]
    return Comparison({way.name: way for way in ways}, tuple(_differences(names, ways)))


class _Program:
    """A program that can be run again and again."""

    def __init__(self, f: Callable[..., Variable], inputs: Sequence[Operand], gradient: Array | None) -> None:
        self._f = f
        self._inputs = [x if isinstance(x, Variable) else Variable(x) for x in inputs]
        self._gradient = gradient
        self._random = np.random.get_state()

    def run(self) -> tuple[Variable, Any]:
        """What f returns, and the gradient to start from."""
        after = np.random.get_state()
        np.random.set_state(self._random)
        try:
            y = self._f(*[Variable(x, x.requires_grad, x.name) for x in self._inputs])
        finally:
            np.random.set_state(after)
        if not isinstance(y, Variable) or y.creator is None:
            what = "requires no gradient" if isinstance(y, Variable) else f"is {type(y).__name__}"
            raise GradientError(
                f"What is compared must be a function of Variables that returns one; what it returned {what}.",
                kind="bad_argument",
                ways_out=["Return a Variable that was computed from the inputs, which require gradients."],
            )
        gradient = np.ones_like(y.data) if self._gradient is None else self._gradient
        return y, seed_of(y, gradient)

    def leaves(self) -> list[str]:
        """The names of the leaves to which gradients flow."""
        y, _ = self.run()
        program = expression([y])
        return [name for name in program.leaves if name in program.wanted]


def _symbolic(program: _Program) -> Way:
    """The way of the IR."""
    y, seed = program.run()
    forward = expression([y])
    root = forward.roots[0]
    start = _unused(gradient_name(root), forward.values)
    workspace = Workspace(y.device)
    for name in forward.leaves:
        workspace.feed(name, forward.values[name])
    workspace.feed(start, seed)
    workspace.run(forward.net())
    begin = perf_counter()
    operators, gradients = IR(forward.operators).get_backward_pass({root: start})
    backward = NetDef("backward", operators)
    workspace.fork().run(backward)
    first = perf_counter() - begin
    later = min(_seconds(workspace.fork().run, backward) for _ in range(RUNS))
    done = workspace.fork()
    with LiveBytes([done.fetch(name, device=None) for name in done]) as live:
        done.run(backward)
    visited = [event for event in IR(forward.operators).backward_events({root: start}) if isinstance(event, Visited)]
    leaves = [name for name in forward.leaves if name in forward.wanted]
    found = {name: _fetched(done, gradients.get(name), forward.values[name]) for name in leaves}
    order = [forward.functions[event.index] for event in visited]
    return Way("symbolic", _told(order, forward), found, first, later, live.peak)


def _scheduled(program: _Program, schedule: str) -> Way:
    """The way of a schedule."""
    seconds = []
    for _ in range(1 + RUNS):
        y, seed = program.run()
        seconds.append(_seconds(_pass, schedule, y, seed))
    y, seed = program.run()
    forward = expression([y])
    with LiveBytes([*forward.values.values(), seed]) as live:
        arrived = _pass(schedule, y, seed)
    found = {name: _array(arrived.leaves.get(x), x) for name, x in forward.leaves.items() if name in forward.wanted}
    del arrived
    with _Order() as order:
        _pass(schedule, y, seed)
    return Way(schedule, _told(order.functions, forward), found, seconds[0], min(seconds[1:]), live.peak)


def _pass(schedule: str, y: Variable, seed: Array) -> Arrived:
    with np.errstate(**QUIET):
        return SCHEDULES[schedule]([(y, seed)], create_graph=False)


class _Order(FunctionHook):
    """The functions that run backward, in order."""

    def __init__(self) -> None:
        self.functions: list[Function] = []

    def backward_preprocess(
        self, function: Function, in_data: tuple[Array, ...], out_grad: tuple[Array | None, ...]
    ) -> None:
        self.functions.append(function)


def _told(order: Iterable[Function | None], forward: Expression) -> tuple[str, ...]:
    """Functions by their number in the program and their type."""
    numbers = {function.uid: number for number, function in enumerate(forward.functions) if function is not None}
    return tuple([f"#{numbers[function.uid]} {function.label}" for function in order if function is not None])


def _seconds(run: Callable[..., Any], *args: Any) -> float:
    begin = perf_counter()
    run(*args)
    return perf_counter() - begin


def _unused(name: str, taken: Container[str]) -> str:
    return numbered_name(name, taken.__contains__) if name in taken else name


def _fetched(workspace: Workspace, gradient: Gradient | None, like: Array) -> Array | None:
    if gradient is None:
        return None
    found = [workspace.fetch(name, device=None) for name in parts_of(gradient)]
    return moved(dense(flat_rows(*found) if len(found) == 2 else found[0], like.shape), CPU)


def _array(gradient: Any, x: Variable) -> Array | None:
    return None if gradient is None else moved(dense(gradient, x.shape), CPU)


def _differences(names: Sequence[str], ways: Sequence[Way]) -> Iterator[Difference]:
    """Where a way gives another gradient than the first; None and zeros are the same."""
    first = ways[0]
    for name in names:
        for way in ways[1:]:
            one, other = first.gradients.get(name), way.gradients.get(name)
            if one is None and other is None:
                continue
            a = np.zeros_like(other) if one is None else one
            b = np.zeros_like(a) if other is None else other
            if a.shape != b.shape or a.dtype != b.dtype:
                yield Difference(name, first.name, way.name, float("inf"))
                continue
            scale = float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a)))
            tolerance = TOLERANCE * float(np.finfo(a.dtype).eps) * max(scale, 1e-300)
            if not np.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True):
                gap = np.abs(a.astype(np.float64) - b)
                yield Difference(name, first.name, way.name, float(np.max(gap, initial=0.0)))
