"""Checking: all gradients of LeNet held against differences, on two processes against one.

A worker of a Dask cluster is killed in the middle where Dask is installed, and the answer is held against that of one.
"""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from threading import Timer
from time import perf_counter
from typing import Any

from gradviz import Session, Workspace, debug
from tests.benchmarks.convnet import lenet, make_blobs
from tests.benchmarks.figures import Answer, Figure, Skipped, Target
from tests.benchmarks.timing import QUICK, Effort

NAME = "check all gradients of LeNet, on 2 processes"
KILLED = "check all gradients of LeNet, on 2 workers of Dask, one killed"
SAMPLES = 20_000
FEW = 90
TURNS = 3
MOST_RATIO = 1 / 1.7


def measure(effort: Effort) -> Iterator[Answer]:
    """Seconds, of each the best of a few turns: what else the machine does meets both."""
    samples, turns = (FEW, 1) if effort == QUICK else (SAMPLES // TURNS, TURNS)
    workspace = Workspace()
    for name, blob in make_blobs().items():
        workspace.feed(name, blob)
    session = debug(lenet(), ["loss"], workspace=workspace)
    alone, together = [], []
    with ProcessPoolExecutor(2) as executor:
        list(executor.map(abs, range(2)))
        for _ in range(turns):
            seconds, here = _timed(session, samples, None)
            alone.append(seconds)
            seconds, there = _timed(session, samples, executor)
            together.append(seconds)
            assert there == here
    size = f"{samples} of 456 168"
    yield Figure(NAME, size, min(together), "s", "one process", min(alone), Target("ratio", MOST_RATIO))
    if find_spec("distributed") is None:
        yield Skipped(KILLED, "Dask", "distributed is not installed")
        return
    with _cluster() as cluster, import_module("distributed").Client(cluster) as client:
        worker = next(iter(client.run(os.getpid).values()))
        timer = Timer(min(alone) / 4, os.kill, (worker, signal.SIGKILL))
        timer.start()
        seconds, there = _timed(session, samples, client.get_executor())
        timer.join()
        assert there == here
    yield Figure(KILLED, size, seconds, "s", "one process", min(alone))


def _timed(session: Session, samples: int, executor: Any) -> tuple[float, Any]:
    begun = perf_counter()
    view = session.check("all", samples=samples, executor=executor)
    return perf_counter() - begun, view


def _cluster() -> Any:
    make: Callable[..., Any] = import_module("distributed").LocalCluster
    return make(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
