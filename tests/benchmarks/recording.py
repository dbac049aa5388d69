"""Recording: what keeping every event and value adds to a run, and what telling the events takes."""

from collections.abc import Iterator

import numpy as np

from gradviz import Net, Workspace
from gradviz.debugger import document, record
from tests.benchmarks.execution import ELEMENTS
from tests.benchmarks.figures import Figure
from tests.benchmarks.generation import chain
from tests.benchmarks.mlp import SIZE, fed, make_blobs, mlp_net
from tests.benchmarks.timing import Effort, best_seconds

YS = ["loss"]


def measure(effort: Effort) -> Iterator[Figure]:
    """Milliseconds to record the MLP, against the same without a recording; microseconds to tell an event."""
    net, workspace = mlp_net(), fed(make_blobs())
    both = Net("both", net.ops)
    both.add_gradient_operators(YS)
    ready = workspace.fork()
    seconds = best_seconds(
        {
            "record": lambda: record(net, YS, workspace=workspace),
            "Workspace.run, made before": lambda: ready.run(both),
            "generate, then run": lambda: generate_and_run(net, workspace),
        },
        effort,
    )
    ours = 1e3 * seconds.pop("record")
    for peer, theirs in seconds.items():
        yield Figure("record MLP", SIZE, ours, "ms", peer, 1e3 * theirs)
    yield telling(effort, effort.operators[-2])


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
