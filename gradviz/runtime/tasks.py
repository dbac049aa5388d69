"""Tasks: the same work on many items, here one after the other, or cut into tasks for an executor.

A task is some items of one work. The first tasks of each work have one item, and measure how long that takes; the
others have as many as last `LONG`. Results are those of the items, in their order, wherever they were computed: what an
executor does with a task, and how often, changes none of them.

A task that fails, or whose worker dies, is run again, item by item, and an item `TRIES` times at most. A pool of
processes that has lost one takes no more tasks: the rest runs in a process of its own, one item after the other.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from math import ceil
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple
from warnings import warn

from ..program import GradvizError
from ..program.errors import message_of
from .pace import PAUSE, Pace

if TYPE_CHECKING:
    from concurrent.futures import Future

LONG = 0.5
"""Seconds that a task lasts, at least 0.2 where the first items were among the slow ones."""

FIRST = 64
"""Tasks of one item, of all works together, before it is known how long one takes."""

AT_ONCE = 64
"""Tasks that the executor has at a time: what they carry is in memory meanwhile."""

TRIES = 3


class Work(NamedTuple):
    """The same function of many items.

    Attributes:
        function: gives the result of an item, the same wherever it is called.
        own: what of the user's it calls, each by what an error is to call it.
    """

    function: Callable[[Any], Any]
    items: Sequence[Any]
    own: Mapping[str, Any] = {}


class _Task(NamedTuple):
    """Items of a work, by their numbers, and how often they were tried."""

    work: int
    items: range
    tries: int = 0


def results(works: Sequence[Work], executor: Any, pace: Pace) -> list[list[Any]]:
    """What the function of each work gives for each of its items.

    Where an item could not be worked on, its result is the GradvizError that says why. An interrupt lets no task run
    on: those that wait are called off, and those that run, a fraction of a second each or an item, are waited for.

    Args:
        executor: of `concurrent.futures`, or alike, as Dask's ``client.get_executor()``, or what has one, as Dask's
            client; None: all is done here.

    Raises:
        GradvizError: ``bad_executor``: it is none, or takes no tasks. ``not_sendable``: the function cannot be sent to
            its processes.
        What the function raises here.
    """
    count = sum(len(work.items) for work in works)
    outcomes = _here(works, pace, count) if executor is None else _Tasks(works, executor, pace).results()
    pace.end(None, count, count)
    return outcomes


def _here(works: Sequence[Work], pace: Pace, count: int) -> list[list[Any]]:
    done = 0
    outcomes: list[list[Any]] = []
    for work in works:
        outcomes.append([])
        for item in work.items:
            pace.reached(None, done, count)
            outcomes[-1].append(work.function(item))
            done += 1
    return outcomes


class _Tasks:
    """Works that an executor does."""

    def __init__(self, works: Sequence[Work], executor: Any, pace: Pace) -> None:
        if hasattr(executor, "get_executor"):
            executor = executor.get_executor()
        if not hasattr(executor, "submit"):
            raise _bad_executor(f"{type(executor).__name__} is no executor")
        self._works = works
        self._executor = executor
        self._pace = pace
        self._results: list[list[Any]] = [[None] * len(work.items) for work in works]
        # Of each work how many items have no result, how many have been given out, and the least seconds that one took.
        self._left = [len(work.items) for work in works]
        self._given = [0] * len(works)
        self._seconds: list[float | None] = [None] * len(works)
        self._calls: dict[int, tuple[Callable[..., Any], Any]] = {}
        self._again: deque[_Task] = deque()
        self._running: dict[Future[Any], _Task] = {}
        self._own = ExitStack()
        self._at_once = AT_ONCE

    def results(self) -> list[list[Any]]:
        from concurrent.futures import FIRST_COMPLETED, wait

        count = sum(self._left)
        with self._own:
            try:
                while left := sum(self._left):
                    self._pace.reached(None, count - left, count)
                    while len(self._running) < self._at_once and (task := self._next()) is not None:
                        self._submit(task)
                    for future in wait(self._running, PAUSE, FIRST_COMPLETED).done:
                        if (ended := self._running.pop(future, None)) is not None:
                            self._take(future, ended)
            finally:
                wait([future for future in self._running if not future.cancel()])
        return self._results

    def _next(self) -> _Task | None:
        """The next task; None: all are given out, but for those that wait for measurements."""
        if self._again:
            return self._again.popleft()
        for number, work in enumerate(self._works):
            given, seconds = self._given[number], self._seconds[number]
            left = len(work.items) - given
            # Where the first ones have all failed the others still come, one by one.
            if left and (seconds is not None or given < max(1, FIRST // len(self._works)) or not self._running):
                size = 1 if seconds is None else min(left, ceil(LONG / max(seconds, 1e-6)))
                self._given[number] += size
                return _Task(number, range(given, given + size))
        return None

    def _submit(self, task: _Task) -> None:
        from concurrent.futures.process import BrokenProcessPool

        work = self._works[task.work]
        if task.work not in self._calls:
            self._calls[task.work] = _call(work, self._executor)
        items = [work.items[number] for number in task.items]
        try:
            self._running[self._executor.submit(*self._calls[task.work], items)] = task
        except BrokenProcessPool:
            self._again.append(task)
            self._go_on_alone()
        except Exception as error:
            raise _bad_executor(f"The executor takes no tasks: {error}") from error

    def _take(self, future: Future[Any], task: _Task) -> None:
        """What came of a task."""
        from concurrent.futures.process import BrokenProcessPool

        try:
            outcomes, seconds = future.result()
        except GradvizError:
            raise
        except (Exception, SystemExit) as error:  # a function that ends its program ends the task alone
            is_broken, is_suspect = isinstance(error, BrokenProcessPool), self._at_once == 1
            # Which of the tasks of a pool has ended a process is not known, unless they run one by one.
            if is_broken and not is_suspect:
                self._again.append(task)
            else:
                self._retry(task, error)
            if is_broken:
                self._go_on_alone()
            return
        shortest, each = self._seconds[task.work], seconds / len(task.items)
        self._seconds[task.work] = each if shortest is None else min(shortest, each)
        self._keep(task, outcomes)

    def _keep(self, task: _Task, outcomes: Sequence[Any]) -> None:
        self._results[task.work][task.items.start : task.items.stop] = outcomes
        self._left[task.work] -= len(outcomes)
        if not self._left[task.work]:
            del self._calls[task.work]

    def _retry(self, task: _Task, error: BaseException) -> None:
        """Run its items again, each by itself, or let their result be why not."""
        tries = task.tries + 1
        if tries < TRIES:
            self._again.extend(_Task(task.work, range(number, number + 1), tries) for number in task.items)
            return
        reason = message_of(error).partition("\n")[0].rstrip(".")
        why = GradvizError(
            f"It was tried {tries} times and failed: {type(error).__name__}: {reason}.",
            kind="task_failed",
            ways_out=["Leave the executor out: what fails here shows where."],
        )
        why.__cause__ = error
        self._keep(task, [why] * len(task.items))

    def _go_on_alone(self) -> None:
        """Go on in a process of our own, one task after the other: a pool that is broken takes no more."""
        from concurrent.futures import ProcessPoolExecutor

        if self._at_once > 1:
            warn("A process of the executor has died: the rest runs in another one.", RuntimeWarning, stacklevel=2)
        self._again.extend(self._running.values())
        self._running.clear()
        self._at_once = 1
        self._executor = self._own.enter_context(ProcessPoolExecutor(1))


def _call(work: Work, executor: Any) -> tuple[Callable[..., Any], Any]:
    """What a task calls, and with what before its items.

    A process that cannot read what it is sent dies, and says nothing: so it is sent bytes, and what they cannot be read
    for is an error as any other. Other executors have ways of their own to send things.
    """
    from concurrent.futures import ProcessPoolExecutor

    if not isinstance(executor, ProcessPoolExecutor):
        return _done, work.function
    for name, part in work.own.items():
        _packed(part, name)
    return _read_and_done, _packed(work.function, "What is to be run")


def _packed(part: Any, name: str) -> bytes:
    try:
        return pickle.dumps(part)
    except Exception as error:
        raise _not_sendable(f"{name} cannot be sent to another process: {error}") from error


def _done(function: Callable[[Any], Any], items: Sequence[Any]) -> tuple[list[Any], float]:
    """The results of some items, and the seconds that they took."""
    begun = perf_counter()
    return list(map(function, items)), perf_counter() - begun


def _read_and_done(packed: bytes, items: Sequence[Any]) -> tuple[list[Any], float]:
    try:
        function = pickle.loads(packed)
    except Exception as error:
        raise _not_sendable(f"What is to be run is not known in the other process: {error}") from error
    return _done(function, items)


def _not_sendable(message: str) -> GradvizError:
    return GradvizError(
        f"{message.rstrip('.')}.",
        kind="not_sendable",
        ways_out=[
            "Write it with def in a module that the other process can import.",
            "Give an executor of threads: concurrent.futures.ThreadPoolExecutor().",
        ],
    )


def _bad_executor(message: str) -> GradvizError:
    return GradvizError(
        f"{message.rstrip('.')}.",
        kind="bad_executor",
        ways_out=[
            "Give one that is open, as concurrent.futures.ProcessPoolExecutor() or Dask's client.get_executor().",
            "Leave it out: all is done here, one after the other.",
        ],
    )
