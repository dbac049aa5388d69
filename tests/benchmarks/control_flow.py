"""Control flow: what a round of a While takes in time and memory, beside the same operators without a loop."""

import tracemalloc
from collections.abc import Iterator
from functools import partial

import numpy as np

from gradviz import Net, Workspace
from tests.benchmarks.agreement import check_agreement
from tests.benchmarks.figures import Figure, Target
from tests.benchmarks.timing import Effort, best_seconds

BODY = (
    ("Tanh", "h", "a"),
    ("Mul", "a w", "b"),
    ("Add", "b x", "c"),
    ("Sigmoid", "c", "d"),
    ("Mul", "d a", "e"),
    ("Sub", "e b", "f"),
    ("Sin", "f", "g"),
    ("Mul", "g v", "k"),
    ("Add", "k h", "m"),
    ("Tanh", "m", "h"),
)
"""A recurrent cell of ten operators: type, inputs, output. It carries h and reads w, x and v in every round."""

READ = ("w", "x", "v")
ELEMENTS = 16
MOST_RATIO = 3.0
MOST_GROWTH = 1.2


def measure(effort: Effort) -> Iterator[Figure]:
    """Microseconds a round, of the loop and unrolled; bytes a round that the forward pass leaves, of two loops."""
    rounds = effort.operators[-2] // len(BODY)
    nets = {"loop": loop(), "unrolled": unrolled(rounds)}
    ys = {"loop": "h", "unrolled": f"h_{rounds - 1}"}
    both, workspaces, found = {}, {}, {}
    for name, net in nets.items():
        both[name] = Net(name, net.ops)
        gradients = both[name].add_gradient_operators({ys[name]: "dh"})
        workspace = workspaces[name] = fed(rounds)
        workspace.run(both[name])
        found[name] = {blob: workspace[str(gradients[blob])] for blob in ("start", *READ)}
    check_agreement("the same unrolled", found["unrolled"], found["loop"])
    runs = {("forward", name): net for name, net in nets.items()}
    runs |= {("forward + backward", name): net for name, net in both.items()}
    seconds = best_seconds({key: partial(workspaces[key[1]].run, net) for key, net in runs.items()}, effort)
    each = {key: 1e6 * value / rounds for key, value in seconds.items()}
    size = f"{rounds:,} rounds of {len(BODY)} operators"
    for passes in ("forward", "forward + backward"):
        yield Figure(
            f"run a loop, {passes}",
            size,
            each[passes, "loop"],
            "us/round",
            "the same unrolled",
            each[passes, "unrolled"],
            Target("ratio", MOST_RATIO),
        )
    yield Figure(
        "memory of a loop",
        f"{10 * rounds:,} rounds",
        bytes_held(nets["loop"], 10 * rounds) / (10 * rounds),
        "B/round",
        f"{rounds:,} rounds",
        bytes_held(nets["loop"], rounds) / rounds,
        Target("ratio", MOST_GROWTH),
    )


def loop() -> Net:
    """n rounds of the body."""
    net = Net("loop")
    net.ConstantFill([], "i", value=0, dtype="int64")
    net.ConstantFill([], "one", value=1, dtype="int64")
    net.Copy("start", "h")
    with net.While("go") as rounds:
        with rounds.condition():
            net.LT(["i", "n"], "go")
        for type, inputs, output in BODY:
            net.add(type, inputs.split(), output)
        net.Add(["i", "one"], "i")
    return net


def unrolled(rounds: int) -> Net:
    """The same without a loop: every round writes blobs of its own."""
    net = Net("unrolled")
    net.Copy("start", "h")
    now = {name: name for name in ("h", *READ)}
    for at in range(rounds):
        for type, inputs, output in BODY:
            reads = [now[name] for name in inputs.split()]
            now[output] = f"{output}_{at}"
            net.add(type, reads, now[output])
    return net


def fed(rounds: int) -> Workspace:
    """A workspace with what both nets read."""
    random = np.random.default_rng(0)
    workspace = Workspace()
    for name in ("start", *READ, "dh"):
        workspace.feed(name, random.normal(0, 0.3, ELEMENTS).astype(np.float32))
    workspace.feed("n", rounds)
    return workspace


def bytes_held(net: Net, rounds: int) -> int:
    """What the rounds of a loop leave in memory for its backward pass."""
    workspace = fed(rounds)
    tracemalloc.start()
    try:
        workspace.run(net)
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
