"""Sweep: the same backward pass at every point of a grid, as a table of losses and gradients."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import product
from math import hypot, isnan
from operator import index
from threading import Lock
from time import perf_counter
from typing import Any

import msgspec
import numpy as np

from . import bridges
from .debugger.answers import Answer, Block, Grid, Paragraph, differentiated, digits, first_of, leaf_gradients
from .debugger.document import Value
from .debugger.journal import Pace, Recording, record_any
from .debugger.statistics import statistics
from .notebook.progress import shown_progress
from .program import GradvizError, NetDef
from .program.errors import count_of, message_of, repr_of, shorten
from .runtime.tasks import Work, results
from .runtime.watched import INTERRUPTED
from .session import Session, debug

Points = Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]]
"""A grid: the values of each argument, of which all combinations are points, or the points themselves."""

SHOWN = 40
"""Rows that a text or HTML shows."""

WIDEST = 100
"""Characters of a cell."""

_TURN = Lock()


class SweepRow(msgspec.Struct, frozen=True):
    """The backward pass at a point.

    Attributes:
        number: among the rows of its sweep, from 0.
        point: the arguments of `make_net`.
        loss: the sum of what was differentiated, complex where that is; None: it was not computed.
        norm: that of the gradient of all leaves together; None: none was computed.
        gradients: the statistics of each leaf's gradient, by the name of the leaf: ``row.gradients["w"].norm``.
        seconds: that making and recording it took; None: the process that did it died.
        error: why there is no more; empty: there is.
    """

    number: int
    point: dict[str, Any]
    loss: float | complex | None
    norm: float | None
    gradients: dict[str, Value]
    seconds: float | None
    error: str

    @property
    def norms(self) -> dict[str, float]:
        """The norm of each leaf's gradient, the least first; a NaN is the greatest."""
        norms = {name: float(value.norm or 0) for name, value in self.gradients.items()}
        return dict(sorted(norms.items(), key=lambda each: (isnan(each[1]), each[1])))

    def __repr__(self) -> str:
        point = ", ".join(f"{name}={_in_words(value)}" for name, value in self.point.items())
        result = self.error or f"loss {_loss_in_words(self.loss)}, ‖gradient‖ {digits(self.norm)}"
        return f"<row {self.number}, {point}: {result}>"


def _plain(value: Any) -> Any:
    return [value.real, value.imag] if isinstance(value, complex) else str(value)


class Sweep(Answer, frozen=True, dict=True):
    """A row for each point of a grid, in the order of the grid: a sequence, which Python filters and sorts.

    Attributes:
        rows: they.
        seed: of the random numbers at every point.
    """

    answer = "sweep"
    plain = _plain
    rows: list[SweepRow]
    seed: int

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[SweepRow]:
        return iter(self.rows)

    def __getitem__(self, number: int) -> SweepRow:
        return self.rows[number]

    @property
    def done(self) -> list[SweepRow]:
        """The rows that have not failed: they have losses and norms to compare."""
        return [row for row in self.rows if not row.error]

    def open(self, row: SweepRow | int) -> Session:
        """A debugging session at the point of a row, which is made again here, by the same seed: to the same bits.

        Raises:
            GradvizError: ``bad_row``: there is no such row.
            What `make_net` raises at this point, and what `gradviz.debug` raises.
        """
        if not isinstance(row, SweepRow):
            try:
                row = self.rows[row]
            except (IndexError, TypeError) as error:
                raise GradvizError(
                    f"There is no row {shorten(str(row))}: the sweep has {count_of(len(self), 'row')}.",
                    kind="bad_row",
                    ways_out=["Give a row of it, table.open(table[0]), or its number: table.open(0)."],
                ) from error
        point = row.point
        with _debug_arguments(self.__dict__["make_net"], point, self.seed) as (given, options):
            session = debug(given, **options)
            len(session)  # it is read while there is all that gives names
            return session

    def blocks(self) -> Iterator[Block]:
        failed = len(self) - len(self.done)
        summary = f"{count_of(len(self.rows), 'point')}, from seed {self.seed}"
        yield Paragraph(f"{summary}; {failed} failed, .done has the others" if failed else summary, is_title=True)
        names = list(dict.fromkeys(name for row in self.rows for name in row.point))
        head = ["row", *names, "loss", "‖gradient‖", "least", "greatest", "seconds", *(["error"] if failed else [])]
        title = "Losses, and the norms of gradients: of all leaves, and of the two with the least and the greatest"
        rows = first_of(self.rows, SHOWN, lambda row: _cells(row, names, with_error=failed > 0))
        yield Grid(title, head, rows)


def sweep(make_net: Callable[..., Any], grid: Points, *, executor: Any = None, seed: int = 0) -> Sweep:
    """Record a backward pass at every point of a grid.

    Args:
        make_net: called with a point as keyword arguments, returns what `gradviz.debug` takes: ``net, ys`` or
            ``net, ys, workspace``; a Variable; a loss of PyTorch; or an object that has an engine.
        grid: ``{"depth": [2, 4, 8], "scale": [0.5, 1.0]}``, all combinations, the last argument changing first; or
            the points, ``[{"depth": 2, "scale": 0.5}, ...]``.
        executor: as of `Session.check`. Its processes must be able to import `make_net`. Where PyTorch works on a GPU
            they must begin afresh: ``ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn"))``. Threads of
            one process take turns, since they share its random numbers. None: all is done here.
        seed: of the random numbers of Python, numpy and PyTorch before each point; afterwards they go on as before.

    Returns:
        A row for each point. A point that fails has the error, in words, in its row.

    Raises:
        GradvizError: ``bad_grid``: there is no point, or one that `make_net` does not take. ``bad_seed``.
            ``bad_executor``, ``not_sendable``: as of `Session.check`.
    """
    if isinstance(seed, bool) or not hasattr(type(seed), "__index__") or not 0 <= seed < 2**32:
        raise GradvizError(
            f"{shorten(str(seed))} is no seed: without one no row could be made again.",
            kind="bad_seed",
            ways_out=["Give an integer from 0 to 2**32 - 1, as numpy.random.seed takes it."],
        )
    seed = index(seed)
    points = _points(make_net, grid)
    work = Work(partial(_row, make_net, seed), list(enumerate(points)), {"make_net": make_net})
    with shown_progress() as progress:
        (rows,) = results([work], executor, Pace(progress, "sweep"))
    rows = [
        SweepRow(number, point, None, None, {}, None, row.message) if isinstance(row, GradvizError) else row
        for row, (number, point) in zip(rows, work.items, strict=True)
    ]
    swept = Sweep(rows, seed)
    swept.__dict__["make_net"] = make_net
    return swept


def _points(make_net: Callable[..., Any], grid: Points) -> list[dict[str, Any]]:
    """The points of a grid."""
    try:
        if isinstance(grid, Mapping):
            if wrong := [name for name, values in grid.items() if isinstance(values, str)]:
                raise TypeError(f"the values of {wrong[0]} are a text")
            points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())] if grid else []
        else:
            points = [dict(point) for point in grid]
        signature = inspect.signature(make_net)
        for point in points:
            signature.bind(**point)
    except (TypeError, ValueError) as error:
        name = getattr(make_net, "__name__", "") or repr_of(make_net)
        raise _bad_grid(f"This is no grid for {name}: {message_of(error)}.") from error
    if not points:
        raise _bad_grid("The grid has no points.")
    return points


def _bad_grid(message: str) -> GradvizError:
    return GradvizError(
        message,
        kind="bad_grid",
        ways_out=[
            'Give the values of each argument, {"depth": [2, 4], "scale": [0.5, 1.0]}, or a list of points.',
            "make_net is a function that takes them: def make_net(depth, scale): ...",
        ],
    )


@contextmanager
def _debug_arguments(
    make_net: Callable[..., Any], point: Mapping[str, Any], seed: int
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The arguments of `debug` at a point; inside the ``with`` block random numbers come from the seed."""

    def make() -> Any:
        random.seed(seed)
        np.random.seed(seed)
        return make_net(**point)

    with _TURN, ExitStack() as stack:
        stack.callback(random.setstate, random.getstate())
        stack.callback(np.random.set_state, np.random.get_state())
        given, torch = None, bridges.bridge_in_use("torch")
        if torch is None:
            given, torch = make(), bridges.bridge_in_use("torch")
        if torch is not None:  # where it is imported by now, its numbers had no seed
            given = stack.enter_context(torch.seeded(seed, make))
        yield _arguments(given)


def _arguments(given: Any) -> tuple[Any, dict[str, Any]]:
    if isinstance(given, tuple) and 0 < len(given) <= 3 and isinstance(given[0], NetDef):
        return given[0], dict(zip(("ys", "workspace"), given[1:], strict=False))
    return given, {}


def _row(make_net: Callable[..., Any], seed: int, item: tuple[int, dict[str, Any]]) -> SweepRow:
    """The row of a point."""
    number, point = item
    begun = perf_counter()
    loss: float | complex | None = None
    norm = None
    gradients: dict[str, Value] = {}
    error = ""
    try:
        with _debug_arguments(make_net, point, seed) as (given, options):
            bridges.cross(given)
            recording = record_any(given, options, None)
            error = _fault(recording)
            if not error and isinstance(given, NetDef) and options.get("workspace") is None:
                error = "nothing was run: make_net returns no workspace behind net, ys"
            if ys := differentiated(recording):
                total = sum(y.sum(dtype=np.complex128 if y.dtype.kind == "c" else np.float64) for y in ys)
                loss = complex(total) if np.iscomplexobj(total) else float(total)
            gradients = {name: statistics(array) for name, array in leaf_gradients(recording).items()}
            if gradients:
                norm = hypot(*(float(value.norm or 0) for value in gradients.values()))
    except GradvizError as refused:
        error = refused.message
    except (Exception, SystemExit) as raised:  # as argparse ends a program
        error = f"{type(raised).__name__}: {message_of(raised).partition(chr(10))[0]}".removesuffix(": ")
    return SweepRow(number, point, loss, norm, gradients, perf_counter() - begun, error)


def _fault(recording: Recording) -> str:
    """What a recording stopped with, or why nothing was run; empty: all went well."""
    if (failure := recording.failure) is not None:
        if failure.error == INTERRUPTED:
            raise KeyboardInterrupt
        return failure.message
    return "" if recording.obstacle is None else recording.obstacle.message


def _cells(row: SweepRow, names: Sequence[str], *, with_error: bool) -> list[str]:
    norms = list(row.norms.items())
    ends = [f"{name}: {digits(norm)}" for name, norm in (norms[0], norms[-1])] if norms else ["", ""]
    values = [_in_words(row.point.get(name, "")) for name in names]
    numbers = [_loss_in_words(row.loss), digits(row.norm)]
    seconds = digits(row.seconds, "")
    return [str(row.number), *values, *numbers, *ends, seconds, *([_in_words(row.error)] if with_error else [])]


def _loss_in_words(loss: float | complex | None) -> str:
    return f"{loss:.4g}" if isinstance(loss, complex) else digits(loss)


def _in_words(value: Any) -> str:
    """A value of a point as a person reads it, in one line."""
    if isinstance(value, float):
        return digits(value)
    text = " ".join(str(value).split())
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
