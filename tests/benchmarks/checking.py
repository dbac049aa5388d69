"""Checking: all gradients of LeNet held against differences, on two processes against one.

A worker of a Dask cluster is killed in the middle where Dask is installed, and the answer is held against that of one.
"""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from operator import itemgetter
from threading import Timer
from time import perf_counter, process_time
from typing import Any, NamedTuple

from gradviz import Session, Workspace, debug
from tests.benchmarks.convnet import lenet, make_blobs
from tests.benchmarks.figures import Answer, Figure, Skipped, Target
from tests.benchmarks.timing import QUICK, Effort

NAME = "check all gradients of LeNet, on 2 processes"
BY_THE_CLOCK = "the same by the clock"
KILLED = "the same by the clock, on 2 workers of Dask, one killed"
SAMPLES = 20_000
FEW = 90
TURNS = 2
MOST_RATIO = 1 / 1.7
MEANWHILE = 0.01
"""Seconds that a process is kept busy while another one is asked too."""


class Took(NamedTuple):
    """Seconds of a check.

    Attributes:
        cpu: of this process, and half of that of two others: what it takes where each of them has a core of its own.
        clock: what it took beside all else that the machine did.
    """

    cpu: float
    clock: float


def measure(effort: Effort) -> Iterator[Answer]:
    """Seconds, of each the best of a few turns: what else the machine does meets both."""
    samples, turns = (FEW, 1) if effort == QUICK else (SAMPLES, TURNS)
    workspace = Workspace()
    for name, blob in make_blobs().items():
        workspace.feed(name, blob)
    session = debug(lenet(), ["loss"], workspace=workspace)
    alone: list[Took] = []
    together: list[Took] = []
    with ProcessPoolExecutor(2) as executor:
        for _ in range(turns):
            one, here = _timed(session, samples, None)
            two, there = _timed(session, samples, executor)
            assert there == here
            alone.append(one)
            together.append(two)
    size = f"{samples} of 456 168"
    cpu, clock = (min(map(itemgetter(place), alone)) for place in range(2))
    yield Figure(NAME, size, min(one.cpu for one in together), "s", "one process", cpu, Target("ratio", MOST_RATIO))
    yield Figure(BY_THE_CLOCK, size, min(one.clock for one in together), "s", "one process", clock)
    if find_spec("distributed") is None:
        yield Skipped(KILLED, "Dask", "distributed is not installed")
        return
    with _cluster() as cluster, import_module("distributed").Client(cluster) as client:
        worker = next(iter(client.run(os.getpid).values()))
        timer = Timer(clock / 4, os.kill, (worker, signal.SIGKILL))
        timer.start()
        took, there = _timed(session, samples, client.get_executor())
        timer.join()
        assert there == here
    yield Figure(KILLED, size, took.clock, "s", "one process", clock)


def _timed(session: Session, samples: int, executor: Any) -> tuple[Took, Any]:
    processes = executor if isinstance(executor, ProcessPoolExecutor) else None
    before, own, begun = _busy(processes), process_time(), perf_counter()
    view = session.check("all", samples=samples, executor=executor)
    clock, cpu = perf_counter() - begun, process_time() - own
    after = _busy(processes)
    return Took(cpu + sum(after[each] - before[each] for each in after) / 2, clock), view


def _busy(executor: ProcessPoolExecutor | None) -> dict[int, float]:
    """The CPU seconds of each process of a pool so far."""
    found: dict[int, float] = {}
    while executor is not None and len(found) < 2:
        found |= dict(executor.map(_cpu, range(4)))
    return found


def _cpu(_: int) -> tuple[int, float]:
    end = perf_counter() + MEANWHILE
    while perf_counter() < end:
        pass
    return os.getpid(), process_time()


def _cluster() -> Any:
    make: Callable[..., Any] = import_module("distributed").LocalCluster
    return make(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
