"""One program, differentiated in three ways, side by side: as a net with the IR, by rank, and as a tape."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import signature
from itertools import zip_longest
from time import perf_counter
from types import FrameType
from typing import Any, Self
from weakref import ref

import msgspec
import numpy as np

from .debugger.answers import Answer, Block, Grid, Paragraph, digits, first_of
from .debugger.document import number
from .debugger.statistics import norm_of, statistics
from .eager.expression import Expression, expression
from .eager.function import Function
from .eager.gradients import dense, joined
from .eager.hooks import FunctionHook
from .eager.passes import SCHEDULES, seed_of
from .eager.rank import Arrived
from .eager.variable import Operand, Variable
from .gradient import IR
from .operators.gradients import gradient_name
from .operators.registry import Array
from .program import GradientError, NetDef
from .program.errors import count_of
from .program.events import Visited
from .program.operator import free_name, parts_of
from .runtime import Workspace
from .runtime.devices import CPU, moved
from .runtime.store import owner_of

MOST_STEPS = 60
"""So many functions are listed in their order."""


class Way(msgspec.Struct, frozen=True, eq=False):
    """One way to differentiate a program.

    Attributes:
        name: ``"symbolic"``, ``"rank"`` or ``"tape"``.
        order: the functions in the order in which they are run backward: their numbers in the program and their types.
        gradients: leaf -> its gradient, None where it has none.
        first_seconds: of the first backward pass, in which what can be kept for later ones is planned.
        seconds: of the fastest of the later ones.
        peak_bytes: of the arrays that the backward pass made and that were there at the same time, at most.
    """

    name: str
    order: tuple[str, ...]
    gradients: Mapping[str, Array | None]
    first_seconds: float
    seconds: float
    peak_bytes: int


class Difference(msgspec.Struct, frozen=True):
    """A gradient that two ways do not agree on. `largest`: by how much an element differs; infinite: another shape."""

    leaf: str
    one: str
    other: str
    largest: float

    def __str__(self) -> str:
        return f"The gradient of {self.leaf} differs by {self.largest:.3g} between {self.one} and {self.other}."


def _numbers(array: Array) -> Any:
    return msgspec.to_builtins(statistics(array))


class Comparison(Answer, frozen=True, eq=False):
    """Ways to differentiate one program, side by side.

    Attributes:
        ways: way by name.
        differences: where their gradients differ by more than rounding.
    """

    answer = "compare"
    plain = _numbers
    ways: Mapping[str, Way]
    differences: tuple[Difference, ...]

    @property
    def agree(self) -> bool:
        """Whether all ways give the same gradients."""
        return not self.differences

    @property
    def verdict(self) -> str:
        """Whether the ways agree, in words."""
        if self.differences:
            return " ".join(map(str, self.differences))
        return f"All {len(self.ways)} ways give the same gradients."

    def __getitem__(self, way: str) -> Way:
        return self.ways[way]

    def blocks(self) -> Iterator[Block]:
        yield Paragraph(self.verdict, is_title=True)
        ways = self.ways.values()
        rows = [
            ("functions run backward", *[str(len(way.order)) for way in ways]),
            ("peak of gradient arrays", *[f"{way.peak_bytes:,} bytes" for way in ways]),
            ("first pass", *[f"{way.first_seconds * 1e3:.3f} ms" for way in ways]),
            ("later passes", *[f"{way.seconds * 1e3:.3f} ms" for way in ways]),
        ]
        for leaf in next(iter(ways)).gradients:
            gradients = [way.gradients.get(leaf) for way in ways]
            norms = ["none" if one is None else digits(number(norm_of(one))) for one in gradients]
            rows.append((f"norm of the gradient of {leaf}", *norms))
        steps = list(zip_longest(*[way.order for way in ways], fillvalue=""))
        order = first_of(steps, MOST_STEPS, lambda step: ("", *step))
        yield Grid("Side by side", ("", *self.ways), rows)
        yield Grid("Functions in the order in which they run backward", ("", *self.ways), order)


RUNS = 3
"""How often each way is timed, after a first time, in which it makes its plans."""

TOLERANCE = 1e4
"""Gradients agree where they differ by less than so many roundings of the largest element: sums in another order do.

In half and single precision that would be more than the gradient: then it is by less than half of the digits.
"""

CANCELLED = 100
"""By so many roundings of the largest gradient on the way they may differ, too, which remain where gradients cancel."""


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
        GradientError: ``bad_argument``, f is no function, or returns no Variable, or one that requires no gradient;
            those of `backward`.

    Example:
        >>> print(compare(lambda x: functions.sum(functions.tanh(x) * x), numpy.ones(3)))
    """
    if not callable(f):
        raise GradientError(
            f"What is compared must be a function of Variables that returns one, not {type(f).__name__}.",
            kind="bad_argument",
            ways_out=["Give the function, and behind it what it is called with: gradviz.compare(f, x)."],
        )
    try:
        signature(f).bind(*inputs)
    except ValueError:  # Python does not know what it takes: calling it will tell
        pass
    except TypeError as error:
        raise GradientError(
            f"What is compared cannot be called with {count_of(len(inputs), 'input')}: {error}.",
            kind="bad_argument",
            ways_out=["Give behind the function what it is called with: gradviz.compare(f, x, y)."],
        ) from None
    program = _repeated(f, inputs, gradient)
    symbolic, largest = _symbolic(program)
    ways = [symbolic, *[_scheduled(program, name) for name in SCHEDULES]]
    return Comparison({way.name: way for way in ways}, tuple(_differences(ways, largest)))


Program = Callable[[], tuple[Variable, Any]]
"""Runs f once more: what it returns, and the gradient to start from."""


def _repeated(f: Callable[..., Variable], inputs: Sequence[Operand], gradient: Array | None) -> Program:
    variables = [x if isinstance(x, Variable) else Variable(x) for x in inputs]
    random = np.random.get_state()
    names = {x.name for x in variables}
    # Another one may be called x, which f need not read.
    unnamed = free_name("x", names.__contains__) if "x" in names else None

    def run() -> tuple[Variable, Any]:
        after = np.random.get_state()
        np.random.set_state(random)
        try:
            y = f(*[Variable(x, x.requires_grad, x.name or unnamed) for x in variables])
        finally:
            np.random.set_state(after)
        if not isinstance(y, Variable) or y.creator is None:
            what = "requires no gradient" if isinstance(y, Variable) else f"is {type(y).__name__}"
            raise GradientError(
                f"What is compared must be a function of Variables that returns one; what it returned {what}.",
                kind="bad_argument",
                ways_out=["Return a Variable that was computed from the inputs, which require gradients."],
            )
        return y, seed_of(y, np.ones_like(y.data) if gradient is None else gradient)

    return run


def _symbolic(program: Program) -> tuple[Way, float]:
    """The program as a net, and the largest element of the gradients on the way."""
    y, seed = program()
    forward = expression([y])
    root = forward.roots[0]
    start = free_name(gradient_name(root), forward.values.__contains__)
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
    parts = {name: [done.fetch(part, device=None) for part in parts_of(gradients.get(name))] for name in leaves}
    leaf_gradients = {name: _array(joined(parts[name]), forward.values[name]) for name in leaves}
    order = [forward.functions[event.index] for event in visited]
    largest = max([_largest(done.fetch(name)) for op in operators for name in op.outputs], default=0.0)
    return Way("symbolic", _labels(order, forward), leaf_gradients, first, later, live.peak), largest


def _scheduled(program: Program, schedule: str) -> Way:
    seconds = []
    for _ in range(1 + RUNS):
        y, seed = program()
        seconds.append(_seconds(_pass, schedule, y, seed))
    y, seed = program()
    forward = expression([y])
    with LiveBytes([*forward.values.values(), seed]) as live:
        arrived = _pass(schedule, y, seed)
    leaf_gradients = {
        name: _array(arrived.leaves.get(x), x.data) for name, x in forward.leaves.items() if name in forward.wanted
    }
    del arrived
    with _Order() as order:
        _pass(schedule, y, seed)
    return Way(schedule, _labels(order.functions, forward), leaf_gradients, seconds[0], min(seconds[1:]), live.peak)


def _pass(schedule: str, y: Variable, seed: Array) -> Arrived:
    with np.errstate(all="ignore"):
        return SCHEDULES[schedule]([(y, seed)], create_graph=False)


class _Order(FunctionHook):
    """The functions that run backward, in order."""

    def __init__(self) -> None:
        self.functions: list[Function] = []

    def backward_preprocess(
        self, function: Function, in_data: tuple[Array, ...], out_grad: tuple[Array | None, ...]
    ) -> None:
        self.functions.append(function)


def _labels(order: Iterable[Function | None], forward: Expression) -> tuple[str, ...]:
    """Functions by their number in the program and their type."""
    numbers = {function.uid: number for number, function in enumerate(forward.functions) if function is not None}
    return tuple([f"#{numbers[function.uid]} {function.label}" for function in order if function is not None])


def _seconds(run: Callable[..., Any], *args: Any) -> float:
    begin = perf_counter()
    run(*args)
    return perf_counter() - begin


def _array(gradient: Any, like: Array) -> Array | None:
    return None if gradient is None else moved(dense(gradient, like.shape), CPU)


def _largest(array: Array) -> float:
    """The largest finite element, without its sign; 0 of what holds no floating-point numbers."""
    return float(np.max(np.abs(array), initial=0.0, where=np.isfinite(array))) if array.dtype.kind == "f" else 0.0


def _differences(ways: Sequence[Way], largest: float) -> Iterator[Difference]:
    """Where a way gives another gradient than the first; None and zeros are the same.

    Code casts a gradient to the dtype of what it is of, and a net does not: of several dtypes the coarsest counts.

    Args:
        largest: element of the gradients from which they were computed.
    """
    first = ways[0]
    dtypes = {one.dtype for way in ways for one in way.gradients.values() if one is not None}
    rounding = max((float(np.finfo(dtype).eps) for dtype in dtypes), default=0.0)
    for name, one in first.gradients.items():
        for way in ways[1:]:
            other = way.gradients.get(name)
            if one is None and other is None:
                continue
            a = np.zeros_like(other) if one is None else one
            b = np.zeros_like(a) if other is None else other
            if a.shape != b.shape:
                yield Difference(name, first.name, way.name, float("inf"))
                continue
            tolerance = min(TOLERANCE * rounding, rounding**0.5) * max(_largest(a), 1e-300)
            tolerance += min(CANCELLED * rounding, rounding**0.5) * largest
            if not np.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True):
                same = (a == b) | np.isnan(a) & np.isnan(b)  # infinities, too
                with np.errstate(all="ignore"):
                    gap = np.abs(a.astype(np.float64) - b)[~same]
                yield Difference(name, first.name, way.name, float(np.max(gap, initial=0.0)))


class LiveBytes:
    """Counts the arrays that Python functions return inside its ``with`` block, as long as anybody holds them.

    Views count as what they are views of, once. Kernels are Python functions, so what operators write is counted; what
    only numpy's own functions see while they run is not.

    Attributes:
        now, peak: bytes.

    Args:
        uncounted: arrays that are not counted, nor are views of them.
    """

    def __init__(self, uncounted: Iterable[Array]) -> None:
        self.now = self.peak = 0
        self._uncounted = {id(owner): owner for owner in map(owner_of, uncounted)}
        self._alive: dict[int, ref[Any]] = {}
        self._before: Callable[..., Any] | None = None

    def __enter__(self) -> Self:
        self._before = sys.getprofile()
        sys.setprofile(self._look)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    def _look(self, frame: FrameType, event: str, value: Any) -> None:
        if event == "return":
            for array in value if type(value) in (tuple, list) else (value,):
                if isinstance(array, np.ndarray):
                    self._count(owner_of(array))

    def _count(self, array: Array) -> None:
        key = id(array)
        if key not in self._uncounted and key not in self._alive:
            size = array.nbytes
            self._alive[key] = ref(array, lambda _: self._gone(key, size))
            self.now += size
            self.peak = max(self.peak, self.now)

    def _gone(self, key: int, size: int) -> None:
        if self._alive.pop(key, None) is not None:
            self.now -= size
