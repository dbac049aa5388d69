"""Large recordings, from recording them to verbs, questions, saving and loading: a chain of 100 000 operators, one blob
that 100 000 operators read, and a loop of 100 000 rounds."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from gradviz import GradvizError, Net, Session, Workspace, debug, load
from tests.benchmarks.figures import Figure, Target
from tests.benchmarks.generation import chain
from tests.benchmarks.timing import Effort

MOST_RATIO = 2.0
VERBS = ("back_over", "back", "over", "into", "out")
QUESTIONS = ("ledger", "versions", "why_none", "provenance", "value")


class Shape(NamedTuple):
    """A program, and a blob to ask about."""

    net: Net
    ys: list[str]
    fed: dict[str, Any]
    blob: str


def chained(operators: int) -> Shape:
    """Each operator reads what the one before has written."""
    return Shape(Net("chain", chain(operators)), [f"x{operators}"], {"x0": np.linspace(-1, 1, 4)}, "x5")


def read_by_all(operators: int) -> Shape:
    """One blob that every operator reads: its gradient is a sum of so many."""
    net = Net("read by all")
    for number in range(operators):
        net.Tanh("x", f"y{number}")
    net.Sum([f"y{number}" for number in range(operators)], "y")
    return Shape(net, ["y"], {"x": np.linspace(-1, 1, 4)}, "x")


def looped(rounds: int) -> Shape:
    """A loop of so many rounds of two operators."""
    net = Net("loop")
    net.LT(["i", "n"], "go")
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        net.Tanh("h", "h")
        net.Add(["i", "one"], "i")
    net.SumElements("h", "loss")
    fed = {"h": np.linspace(-1, 1, 4), "i": np.int64(0), "one": np.int64(1), "n": np.int64(rounds)}
    return Shape(net, ["loss"], fed, "h")


SHAPES = {"operators": chained, "readers of one blob": read_by_all, "rounds": looped}


def measure(effort: Effort) -> Iterator[Figure]:
    """Seconds to record, beside generating and running; milliseconds of verbs; seconds of the rest."""
    for things, made in SHAPES.items():
        yield from of(made(effort.operators[-1]), f"{effort.operators[-1]:,} {things}")


def of(shape: Shape, size: str) -> Iterator[Figure]:
    """The figures of one program."""
    workspace = Workspace()
    for name, array in shape.fed.items():
        workspace.feed(name, array)
    plain = _seconds(lambda: _generate_and_run(shape, workspace))
    taken, session = _timed(lambda: debug(shape.net, shape.ys, workspace=workspace))
    yield Figure("debug", size, taken, "s", "generate, then run", plain, Target("ratio", MOST_RATIO))
    session.finish()
    for verb in VERBS:
        yield Figure(verb, size, 1e3 * _seconds(getattr(session, verb)), "ms")
    for question in QUESTIONS:
        yield Figure(question, size, _seconds(lambda: str(getattr(session, question)(shape.blob))), "s")  # noqa: B023 called at once
    yield from searched(session, shape, size)
    yield Figure("what the widget shows", size, _seconds(session.view), "s")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "large.gradviz.json"
        yield Figure("save", size, _seconds(lambda: session.save(path)), "s")
        yield Figure("load", size, _seconds(lambda: load(path)), "s")
        yield Figure("the file", size, path.stat().st_size / 1e6, "MB")


def searched(session: Session, shape: Shape, size: str) -> Iterator[Figure]:
    """Seconds to run to what is looked for in everything that happened."""
    session.restart()
    yield Figure("run to a blob", size, _seconds(lambda: session.run_to(shape.blob)), "s")
    yield Figure("run to a type", size, _seconds(lambda: session.run_to("TanhGradient")), "s")

    def stops() -> None:
        session.break_on("norm > 1e6")
        session.continue_()

    yield Figure("a breakpoint on every norm", size, _seconds(stops), "s")


def _generate_and_run(shape: Shape, workspace: Workspace) -> None:
    both = Net(shape.net.name, shape.net.ops)
    both.add_gradient_operators(shape.ys)
    workspace.fork().run(both)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start, found = process_time(), None
    with suppress(GradvizError):  # no gradients of one blob are added in a chain
        found = work()
    return process_time() - start, found


def _seconds(work: Callable[[], Any]) -> float:
    return _timed(work)[0]
