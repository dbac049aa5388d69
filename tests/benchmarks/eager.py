"""Define by run: what recording a program while it runs and differentiating it takes, beside others that do the same.

The schedule is that by rank; that of tapes is measured beside it. Everybody computes gradients of the same leaves, and
they agree.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from gradviz import Variable, functions
from tests.benchmarks import chainer_peer, convnet, mlp
from tests.benchmarks.agreement import check_agreement
from tests.benchmarks.figures import Answer, Figure, Skipped, Target
from tests.benchmarks.mlp import Blobs, Step
from tests.benchmarks.timing import Effort, best_seconds

CHAIN, MLP, LENET = (f"eager {what}, forward + backward" for what in ("chain", "MLP", "LeNet"))
TAPE = "gradviz by tape"
LENGTH = 1_000
ELEMENTS = 16
MOST_RATIO = 1.0
MOST_GROWTH = 1.5


class Program(NamedTuple):
    """Code to differentiate: its leaves, and what computes a Variable of one element from them."""

    leaves: Mapping[str, Variable]
    forward: Callable[[], Variable]


Make = Callable[[Blobs], Step]
Peers = Mapping[str, tuple[str, Make]]
"""Peer -> the module that it needs, and what makes its step."""


def measure(effort: Effort) -> Iterator[Answer]:
    """Microseconds an operation of a chain of tiny ones, and milliseconds a training step."""
    peers = {
        CHAIN: {
            TAPE: ("gradviz", partial(step_of, code_chain, schedule="tape")),
            "torch": ("torch", torch_chain),
            "HIPS autograd": ("autograd", hips_chain),
        },
        MLP: {
            TAPE: ("gradviz", partial(step_of, perceptron, schedule="tape")),
            "numpy by hand": ("numpy", mlp.numpy_step),
            "torch": ("torch", mlp.torch_step),
            "HIPS autograd": ("autograd", mlp.hips_step),
            "Chainer": ("chainer", chainer_peer.perceptron),
        },
        LENET: {
            TAPE: ("gradviz", partial(step_of, lenet, schedule="tape")),
            "torch": ("torch", convnet.torch_step),
            "Chainer": ("chainer", chainer_peer.lenet),
        },
    }
    hips = {"HIPS autograd": Target("ratio", MOST_RATIO)}
    steps, skipped = contenders(CHAIN, partial(step_of, code_chain), peers[CHAIN], chain_blobs())
    yield from skipped
    yield from figures(CHAIN, f"{LENGTH:,} operations", "us/operation", 1e6 / LENGTH, steps, effort, hips)
    yield growth(effort, "rank")
    yield growth(effort, "tape")
    for name, size, program, blobs in (
        (MLP, mlp.SIZE, perceptron, mlp.make_blobs()),
        (LENET, convnet.SIZE, lenet, convnet.make_blobs()),
    ):
        steps, skipped = contenders(name, partial(step_of, program), peers[name], blobs)
        yield from skipped
        yield from figures(name, size, "ms", 1e3, steps, effort, {"Chainer": Target("ratio", MOST_RATIO)})


def contenders(name: str, ours: Make, peers: Peers, blobs: Blobs) -> tuple[dict[str, Step], list[Skipped]]:
    """The steps of gradviz and of each peer that is installed; and those that are not.

    That all compute the same is checked in float64, in which no two elements tie that do not tie for the others.
    """
    makers = {"gradviz": ours, **{peer: make for peer, (module, make) in peers.items() if find_spec(module)}}
    exact = {name: blob.astype(np.float64) if blob.dtype.kind == "f" else blob for name, blob in blobs.items()}
    expected = ours(exact)()
    for peer, make in makers.items():
        check_agreement(peer, make(exact)(), expected)
    missing = [Skipped(name, peer, f"{module} is not installed") for peer, (module, _) in peers.items()]
    return {who: make(blobs) for who, make in makers.items()}, [one for one in missing if one.peer not in makers]


def figures(
    name: str, size: str, unit: str, factor: float, steps: Mapping[str, Step], effort: Effort, targets: Any
) -> Iterator[Figure]:
    """A step of gradviz beside that of each peer."""
    taken = {who: factor * seconds for who, seconds in best_seconds(steps, effort).items()}
    gradviz = taken.pop("gradviz")
    for peer, theirs in taken.items():
        yield Figure(name, size, gradviz, unit, peer, theirs, targets.get(peer))


def growth(effort: Effort, schedule: str) -> Figure:
    """How the time of an operation grows with the length of a chain."""
    *_, short, long = effort.operators
    blobs = chain_blobs()
    steps = {length: step_of(partial(code_chain, length=length), blobs, schedule) for length in (short, long)}
    each = {length: 1e6 * taken / length for length, taken in best_seconds(steps, effort.for_length(long)).items()}
    return Figure(
        "growth of eager chain" if schedule == "rank" else "growth of eager chain by tape",
        f"{long:,} operations",
        each[long],
        "us/operation",
        f"{short:,} operations",
        each[short],
        Target("ratio", MOST_GROWTH),
    )


def chain_blobs() -> Blobs:
    """What a chain starts with, and what it multiplies by."""
    random = np.random.default_rng(0)
    return {"x": random.random(ELEMENTS, np.float32), "w": random.random(ELEMENTS, np.float32) + np.float32(0.5)}


def code_chain(blobs: Blobs, length: int = LENGTH) -> Program:
    """Tanh and a product in turn, on so few elements that what counts is the work around the kernels."""
    leaves, w = {"x": Variable(blobs["x"])}, Variable(blobs["w"], requires_grad=False)

    def forward() -> Variable:
        y = leaves["x"]
        for _ in range(length // 2):
            y = functions.tanh(y) * w
        return functions.sum(y)

    return Program(leaves, forward)


def perceptron(blobs: Blobs) -> Program:
    """The network of `tests.benchmarks.mlp`."""
    leaves, labels = {name: Variable(blobs[name]) for name in mlp.LEAVES}, Variable(blobs["labels"])

    def forward() -> Variable:
        x = leaves["x"]
        for layer in mlp.LAYERS:
            x = functions.linear(x, leaves[f"w{layer}"], leaves[f"b{layer}"])
            x = x if layer == mlp.LAYERS[-1] else functions.relu(x)
        return functions.softmax_cross_entropy(x, labels)

    return Program(leaves, forward)


def lenet(blobs: Blobs) -> Program:
    """The network of `tests.benchmarks.convnet`."""
    leaves, labels = {name: Variable(blobs[name]) for name in convnet.LEAVES}, Variable(blobs["labels"])

    def forward() -> Variable:
        x = leaves["x"]
        for layer in ("conv1", "conv2"):
            x = functions.max_pooling_2d(functions.convolution_2d(x, leaves[f"{layer}_w"], leaves[f"{layer}_b"]), 2)
        x = functions.relu(functions.linear(x, leaves["fc3_w"], leaves["fc3_b"]))
        x = functions.linear(x, leaves["pred_w"], leaves["pred_b"])
        return functions.softmax_cross_entropy(x, labels)

    return Program(leaves, forward)


def step_of(make: Callable[[Blobs], Program], blobs: Blobs, schedule: str = "rank") -> Step:
    """A program forward and backward; a step gives the gradients of its leaves."""
    leaves, forward = make(blobs)

    def step() -> dict[str, Any]:
        forward().backward(schedule=schedule)
        return taken(leaves)

    return step


def taken(leaves: Mapping[str, Variable]) -> dict[str, Any]:
    """The gradients of the leaves, which forget them."""
    gradients = {name: leaf.grad for name, leaf in leaves.items()}
    for leaf in leaves.values():
        leaf.cleargrad()
    return gradients


def torch_chain(blobs: Blobs) -> Step:
    """By PyTorch, on one thread."""
    torch = import_module("torch")
    torch.set_num_threads(1)
    x, w = torch.tensor(blobs["x"], requires_grad=True), torch.tensor(blobs["w"])

    def step() -> dict[str, Any]:
        y = x
        for _ in range(LENGTH // 2):
            y = torch.tanh(y) * w
        return {"x": torch.autograd.grad(y.sum(), x)[0]}

    return step


def hips_chain(blobs: Blobs) -> Step:
    """By HIPS autograd."""
    np_, grad = import_module("autograd.numpy"), import_module("autograd").grad

    def total(y: Any) -> Any:
        for _ in range(LENGTH // 2):
            y = np_.tanh(y) * blobs["w"]
        return np_.sum(y)

    slope = grad(total)
    return lambda: {"x": slope(blobs["x"])}
