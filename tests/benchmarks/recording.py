"""Recording: what keeping every event and value adds to a run, and what telling the events takes."""

from collections.abc import Callable, Iterator

import numpy as np

from gradviz import Net, Variable, Workspace
from gradviz.debugger import record
from gradviz.debugger.journal import record_backward
from gradviz.debugger.telling import document
from tests.benchmarks import convnet, mlp
from tests.benchmarks.eager import LENGTH, chain_blobs, code_chain, lenet, perceptron
from tests.benchmarks.execution import ELEMENTS
from tests.benchmarks.figures import Figure, Target
from tests.benchmarks.generation import chain
from tests.benchmarks.mlp import SIZE, Blobs, fed, make_blobs, mlp_net
from tests.benchmarks.timing import Effort, best_seconds

YS = ["loss"]
MOST_RATIO_TO_PASS = 2.0
MOST_RATIO_TO_RUN = 1.5
LARGE_ROWS, LARGE_WIDTHS = 512, (1024, 512, 512, 10)
"""Operators of about a millisecond each on the machine of the README."""


def measure(effort: Effort) -> Iterator[Figure]:
    """Milliseconds to record an MLP, against the same without a recording; microseconds to tell an event."""
    yield from perceptrons("record MLP", SIZE, make_blobs(), effort)
    large = f"{LARGE_ROWS} x {'-'.join(map(str, LARGE_WIDTHS))}"
    target = Target("ratio", MOST_RATIO_TO_RUN)
    yield from perceptrons("record MLP of 1 ms operators", large, make_blobs(LARGE_ROWS, LARGE_WIDTHS), effort, target)
    yield telling(effort, effort.operators[-2])
    yield from eager(effort)


def perceptrons(name: str, size: str, blobs: Blobs, effort: Effort, target: Target | None = None) -> Iterator[Figure]:
    """Milliseconds to record an MLP, with and without a budget, and to run it."""
    net, workspace = mlp_net(), fed(blobs)
    both = Net("both", net.ops)
    both.add_gradient_operators(YS)
    ready = workspace.fork()
    budget = record(net, YS, workspace=workspace, budget="1 TB").store.contents.kept.bytes // 2
    seconds = best_seconds(
        {
            "record": lambda: record(net, YS, workspace=workspace),
            "half": lambda: record(net, YS, workspace=workspace, budget=budget),
            "Workspace.run, made before": lambda: ready.run(both),
            "generate, then run": lambda: generate_and_run(net, workspace),
        },
        effort,
    )
    ours, half = 1e3 * seconds.pop("record"), 1e3 * seconds.pop("half")
    for peer, theirs in seconds.items():
        yield Figure(name, size, ours, "ms", peer, 1e3 * theirs, target)
    yield Figure(f"{name}, in half of the memory", size, half, "ms", "record", ours)


def generate_and_run(net: Net, workspace: Workspace) -> None:
    """All that `record` has to do except recording."""
    both = Net(net.name, net.ops)
    both.add_gradient_operators(YS)
    workspace.fork().run(both)


def telling(effort: Effort, operators: int) -> Figure:
    """The trace document of a chain that was generated and run."""
    net = Net("chain", chain(operators))
    workspace = Workspace()
    workspace.feed("x0", np.linspace(-1, 1, ELEMENTS, dtype=np.float32))
    recording = record(net, [f"x{operators}"], workspace=workspace)
    seconds = best_seconds({"document": lambda: document(recording)}, effort)["document"]
    events = len(recording.events)
    return Figure(
        "document of chain", f"{operators:,} operators, {events:,} events", 1e6 * seconds / events, "us/event"
    )


def eager(effort: Effort) -> Iterator[Figure]:
    """What it takes to run code and record its backward pass, against forward and backward alone.

    A recording notes what it needs, and makes events of the notes when it is looked at.
    """
    for name, size, unit, factor, program in (
        ("chain", f"{LENGTH:,} functions", "us/function", 1e6 / LENGTH, code_chain(chain_blobs())),
        ("MLP", mlp.SIZE, "ms", 1e3, perceptron(mlp.make_blobs())),
        ("LeNet", convnet.SIZE, "ms", 1e3, lenet(convnet.make_blobs())),
    ):
        seconds = best_seconds(ways(program.forward), effort)
        taken = {who: factor * found for who, found in seconds.items()}
        peer, target = ("forward + backward", taken["pass"]), Target("ratio", MOST_RATIO_TO_PASS)
        yield Figure(f"record eager {name}", size, taken["record"], unit, *peer, target)
        yield Figure(f"record eager {name}, with events", size, taken["with events"], unit, *peer)


def ways(forward: Callable[[], Variable]) -> dict[str, Callable[[], object]]:
    """To record the pass from what `forward` computes, also with its events, and the pass alone."""
    return {
        "record": lambda: record_backward(forward()),
        "with events": lambda: record_backward(forward()).events,
        "pass": lambda: forward().backward(),
    }
