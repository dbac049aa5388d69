"""What the browser tests record."""

import random
from collections.abc import Callable
from threading import Event
from typing import Any

import numpy as np
import torch

import gradviz
import gradviz.functions as F
from gradviz.bridges.torch import capture
from tests.debugger import loops
from tests.drawing.nested import Built, loop, workspace
from tests.gradient.nets.strategy import MOST_OPERATORS, PLAIN, SEED_BYTES, decoded
from tests.gradient.nets.themes import THEMES
from tests.gradient.programs.growth import grown
from tests.gradient.programs.lowering import Lowered
from tests.gradient.programs.tree import CONSTANTS
from tests.gradient.programs.verdict import starts

Build = Callable[[], Built | gradviz.Variable | torch.Tensor]
"""A function of a module: a net, what to differentiate and what to run it on, or what came of code."""


def record(build: Build) -> gradviz.Session:
    """A new recording, at its start."""
    built = build()
    if not isinstance(built, tuple):
        return gradviz.debug(built)
    net, ys, ws = built
    return gradviz.debug(net, ys, workspace=ws)


def skip_connection() -> Built:
    """A small classifier; `a` is read twice, so its two gradients are added."""
    numbers = np.random.default_rng(1)
    net = gradviz.Net("skip connection")
    net.FC(["x", "w1", "b1"], "h")
    net.Tanh("h", "a")
    net.FC(["a", "w2", "b2"], "g")
    net.Sum(["g", "a"], "s")
    net.FC(["s", "w3", "b3"], "logits")
    net.SoftmaxWithLoss(["logits", "labels"], ["probs", "loss"])
    shapes = {"x": (8, 6), "w1": (5, 6), "b1": (5,), "w2": (5, 5), "b2": (5,), "w3": (3, 5), "b3": (3,)}
    fed = {name: numbers.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return net, ["loss"], workspace(fed | {"labels": numbers.integers(0, 3, 8)})


def neuron() -> Built:
    """A neuron with two inputs, of numbers alone: f = sigmoid(w0 x0 + w1 x1 + w2)."""
    net = gradviz.Net("neuron")
    net.Mul(["w0", "x0"], "a")
    net.Mul(["w1", "x1"], "b")
    net.Add(["a", "b"], "c")
    net.Add(["c", "w2"], "z")
    net.Sigmoid("z", "f")
    fed = {"w0": 2.0, "x0": -1.0, "w1": -3.0, "x1": -2.0, "w2": -3.0}
    return net, ["f"], workspace({name: np.float64(number) for name, number in fed.items()})


def gated() -> Built:
    """A loop of five iterations with a branch inside."""
    return loops.gated(), ["loss"], loops.fed(rounds=5)


def in_place() -> Built:
    """`h` is written three times, the last time in a branch; behind it the second of two outputs has a gradient."""
    net = gradviz.Net("in place")
    net.Scale("x", "h", scale=2.0)
    net.Scale("h", "h", scale=3.0)
    with net.If("c"):
        net.Scale("h", "h", scale=2.0)
    net.SoftmaxWithLoss(["h", "labels"], ["probs", "loss"])
    return net, ["loss"], workspace({"x": np.zeros((2, 2)), "c": np.array([True]), "labels": np.array([0, 1])})


def large() -> Built:
    """Sixty blocks of four operators, each added to what it began from; the blocks have scopes from #200 on."""
    net = gradviz.Net("large")
    for block in range(60):
        scope = f"end/block{block}/" if block >= 50 else ""
        for name, (kind, inputs, output) in {
            "tanh": ("Tanh", [f"x{block}"], f"t{block}"),
            "scale": ("Scale", [f"t{block}"], f"s{block}"),
            "sin": ("Sin", [f"s{block}"], f"u{block}"),
            "sum": ("Sum", [f"u{block}", f"x{block}"], f"x{block + 1}"),
        }.items():
            net.add(kind, inputs, output, name=f"{scope}{name}" if scope else "")
    net.SumElements("x60", "loss")
    return net, ["loss"], workspace({"x0": np.linspace(-1, 1, 4)})


def long_chain() -> Built:
    """8 000 operators, whose 56 003 events are too many to be shown at once."""
    net = gradviz.Net("long chain")
    for at in range(8_000):
        net.Tanh(f"x{at}", f"x{at + 1}")
    return net, ["x8000"], workspace({"x0": np.linspace(-1, 1, 4)})


def long_loop() -> Built:
    """A loop of 3 000 iterations."""
    return loops.recurrent(), ["loss"], loops.fed(rounds=3_000)


def deep() -> Built:
    """A chain of 120 operators, which are too few for groups and too many for a window."""
    net = gradviz.Net("deep")
    for at in range(120):
        net.Tanh(f"x{at}", f"x{at + 1}")
    return net, ["x120"], workspace({"x0": np.linspace(-1, 1, 4)})


def wide_apart() -> torch.Tensor:
    """Twelve layers of PyTorch, whose operators have long names, added to what the first of them gave."""
    x = torch.linspace(-1, 1, 8).reshape(1, 2, 4).requires_grad_()
    h = first = torch.nn.functional.max_pool2d(x, 1)
    for _ in range(12):
        h = torch.nn.functional.max_pool2d(torch.tanh(h), 1)
    return (first + h).square().sum()


def lanes() -> Built:
    """Three chains side by side, added in the end: between two groups of it three blobs flow."""
    net = gradviz.Net("lanes")
    for number in range(60):
        for kind, lane in zip(("Tanh", "Sin", "Cos"), "abc", strict=True):
            net.add(kind, [f"{lane}{number}"], f"{lane}{number + 1}")
    net.Sum(["a60", "b60", "c60"], "sum")
    net.SumElements("sum", "loss")
    return net, ["loss"], workspace({f"{lane}0": np.linspace(-1, 1, 4) for lane in "abc"})


def large_loop() -> Built:
    """A loop of two iterations over 400 operators."""
    return loop(operators=400)


def negative_logarithm() -> Built:
    """The logarithm of a number below zero: a NaN is born in the forward pass."""
    net = gradviz.Net("negative logarithm")
    net.Sub(["x", "one"], "d")
    net.Log("d", "l")
    net.SumElements("l", "loss")
    fed = {"x": np.array([3.0, 0.5, 4.0], np.float32), "one": np.ones(3, np.float32)}
    return net, ["loss"], workspace(fed)


def wide() -> Built:
    """Numbers from 0 to 799 in 40 rows, more than a view shows of its own."""
    net = gradviz.Net("wide")
    net.Copy("x", "y")
    net.SumElements("y", "loss")
    return net, ["loss"], workspace({"x": np.arange(800, dtype=np.float32).reshape(40, 20)})


def written_into() -> torch.Tensor:
    """The gradient of the sigmoid needs its output, which a line behind it multiplies in place."""
    x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    with capture():
        a = torch.sigmoid(x)
        b = torch.exp(a)
        a.mul_(2)
        return (a + b).sum()


def relu_in_place() -> Built:
    """The gradient of the sigmoid needs its output, which the Relu overwrites."""
    net = gradviz.Net("relu in place")
    net.FC(["x", "w", "b"], "h")
    net.Sigmoid("h", "a")
    net.Relu("a", "a")
    net.SumElements("a", "loss")
    return net, ["loss"], workspace({"x": np.ones((2, 3)), "w": np.ones((4, 3)), "b": np.zeros(4)})


gate, reached = Event(), Event()
gate.set()


def shrunken() -> Built:
    """Seven operators that each make the gradient smaller, and a branch that no gradient comes back from."""
    net = gradviz.Net("shrunken")
    for number in range(7):
        net.Scale(f"h{number}", f"h{number + 1}", scale=0.6)
    net.StopGradient("h7", "fixed")
    net.Mul(["h7", "fixed"], "product")
    net.SumElements("product", "loss")
    ws = gradviz.Workspace()
    ws.feed("h0", [1.0, 2.0, 3.0])
    return net, ["loss"], ws


def first_row_of_a_table() -> Built:
    """The first row of a table, looked up four times in two places, whose rows are joined."""
    net = gradviz.Net("first row of a table")
    for name in "ab":
        net.Gather(["table", "rows"], name)
    net.Sum(["a", "b"], "y")
    return net, ["y"], workspace({"table": np.ones((3, 2)), "rows": np.zeros(2, np.int64)})


def decayed() -> Built:
    """The mean squares of some weights, added up: of each two operators of the backward pass stand side by side."""
    net, numbers = gradviz.Net("decayed"), range(1, 7)
    for number in numbers:
        net.Sqr(f"w{number}", f"square{number}")
        net.AveragedLoss(f"square{number}", f"mean{number}")
    net.Sum([f"mean{number}" for number in numbers], "size")
    return net, ["size"], workspace({f"w{number}": np.ones((3, 2)) / number for number in numbers})


def used_four_times() -> gradviz.Variable:
    """A value that code reads four times, whose gradients are added as they arrive."""
    a = F.tanh(gradviz.Variable(np.full(3, 0.5), name="x"))
    return F.sum(F.sin(a * 2.0) + a * a * F.cos(a))


def behind_a_gate() -> Built:
    """Twice x, computed by a kernel that waits until the gate is open."""
    net = gradviz.Net("behind a gate")
    net.add("Gated", "x", "y")
    net.SumElements("y", "loss")
    return net, ["loss"], workspace({"x": np.ones(3, np.float32)})


@gradviz.register_kernel("Gated")
def _gated(op: gradviz.Operator, x: np.ndarray) -> np.ndarray:
    reached.set()
    gate.wait()
    return x * 2


@gradviz.register_gradient("Gated")
def _gated_gradient(op: gradviz.Operator, g_output: list[Any]) -> tuple[gradviz.Operator, list[Any]]:
    return gradviz.Operator("Scale", [g_output[0]], ["x_grad"], args={"scale": 2.0}), ["x_grad"]


def random_program(seed: int) -> Build:
    """A net of a theme, or every third time one with branches and loops, that a seed stands for."""
    rng = random.Random(seed)
    if seed % 3 == 0:
        genes = [(rng.randrange(100), rng.randrange(10_000)) for _ in range(rng.randint(3, 14))]
        program = grown(genes, rng.randrange(1, 10_000))
        lowered = Lowered(program)
        ys, given = starts(program, lowered)
        built = lowered.net, ys, workspace({**CONSTANTS, **program.inputs, **given})
    else:
        bytes_of_seed = rng.randbytes(SEED_BYTES) + bytes([PLAIN + 1] * (MOST_OPERATORS + 1))
        case = decoded(THEMES[seed % len(THEMES)], bytes_of_seed)
        built = case.net, case.ys, workspace({**case.feeds, **case.given})

    def build() -> Built:
        return built

    build.__name__ = f"random_program_{seed}"
    return build
