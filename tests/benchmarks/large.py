"""Large recordings: a chain of 100 000 operators, from recording it to verbs, questions, saving and loading."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

from gradviz import GradvizError, Net, Workspace, debug, load
from tests.benchmarks.figures import Figure, Target
from tests.benchmarks.generation import chain
from tests.benchmarks.timing import Effort

MOST_RATIO = 2.0
VERBS = ("back_over", "back", "over", "into", "out")
QUESTIONS = ("ledger", "versions", "why_none", "provenance")


def measure(effort: Effort) -> Iterator[Figure]:
    """Seconds to record the chain, beside generating and running it; milliseconds of verbs; seconds of the rest."""
    operators = effort.operators[-1]
    size = f"{operators:,} operators"
    net, ys = Net("chain", chain(operators)), [f"x{operators}"]
    workspace = Workspace()
    workspace.feed("x0", np.linspace(-1, 1, 4))
    plain = _seconds(lambda: _generate_and_run(net, ys, workspace))
    taken, session = _timed(lambda: debug(net, ys, workspace=workspace))
    yield Figure("debug", size, taken, "s", "generate, then run", plain, Target("ratio", MOST_RATIO))
    session.finish()
    for verb in VERBS:
        yield Figure(verb, size, 1e3 * _seconds(getattr(session, verb)), "ms")
    for question in QUESTIONS:
        yield Figure(question, size, _seconds(lambda: getattr(session, question)("x5")), "s")  # noqa: B023 called at once
    with TemporaryDirectory() as folder:
        path = Path(folder) / "large.gradviz.json"
        yield Figure("save", size, _seconds(lambda: session.save(path)), "s")
        yield Figure("load", size, _seconds(lambda: load(path)), "s")
        yield Figure("the file", size, path.stat().st_size / 1e6, "MB")


def _generate_and_run(net: Net, ys: list[str], workspace: Workspace) -> None:
    both = Net(net.name, net.ops)
    both.add_gradient_operators(ys)
    workspace.fork().run(both)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start, found = process_time(), None
    with suppress(GradvizError):  # no gradients of one blob are added in a chain
        found = work()
    return process_time() - start, found


def _seconds(work: Callable[[], Any]) -> float:
    return _timed(work)[0]
