"""MLP: one training step's forward and backward pass, by gradviz, by hand in numpy, by PyTorch and by HIPS autograd.

Everybody computes the same: the loss, and its gradients with respect to every weight, every bias and the data x.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from gradviz import Net, Workspace
from tests.benchmarks.agreement import check_agreement
from tests.benchmarks.figures import Answer, Figure, Skipped
from tests.benchmarks.timing import Effort, best_seconds

Blobs = dict[str, npt.NDArray[Any]]
Step = Callable[[], dict[str, Any]]
"""Runs forward and backward; gives the gradients by blob name."""

ROWS = 64
WIDTHS = (784, 256, 128, 10)
LAYERS = range(1, len(WIDTHS))
LEAVES = ("x", *(f"{kind}{layer}" for layer in LAYERS for kind in "wb"))
SIZE = f"{ROWS} x {'-'.join(map(str, WIDTHS))}"
NAME = "MLP forward + backward"


def measure(effort: Effort) -> Iterator[Answer]:
    """Milliseconds a step, gradviz against each peer that is installed."""
    blobs = make_blobs()
    steps = {"gradviz": net_step(mlp_net(), blobs, LEAVES), "numpy by hand": numpy_step(blobs)}
    for peer, module, make in (("torch", "torch", torch_step), ("HIPS autograd", "autograd", hips_step)):
        if find_spec(module) is None:
            yield Skipped(NAME, peer, f"{module} is not installed")
        else:
            steps[peer] = make(blobs)
    ours = steps["gradviz"]()
    for peer, step in steps.items():
        check_agreement(peer, step(), ours)
    milliseconds = {who: 1e3 * seconds for who, seconds in best_seconds(steps, effort).items()}
    gradviz = milliseconds.pop("gradviz")
    for peer, theirs in milliseconds.items():
        yield Figure(NAME, SIZE, gradviz, "ms", peer, theirs)


def make_blobs(rows: int = ROWS, widths: Sequence[int] = WIDTHS) -> Blobs:
    """Data, labels, and the weights (m, k) and biases (m,) of each layer; float32, the labels int32."""
    random = np.random.default_rng(0)
    blobs: Blobs = {
        "x": random.normal(size=(rows, widths[0])).astype(np.float32),
        "labels": random.integers(widths[-1], size=rows, dtype=np.int32),
    }
    for layer in LAYERS:
        k, m = widths[layer - 1 : layer + 1]
        blobs[f"w{layer}"] = random.normal(scale=np.sqrt(2 / k), size=(m, k)).astype(np.float32)
        blobs[f"b{layer}"] = random.normal(scale=0.1, size=m).astype(np.float32)
    return blobs


def mlp_net() -> Net:
    """FC and Relu in turn, SoftmaxWithLoss on top of the last FC."""
    net = Net("mlp")
    x = "x"
    for layer in LAYERS:
        z = f"z{layer}"
        net.FC([x, f"w{layer}", f"b{layer}"], z)
        x = z if layer == LAYERS[-1] else str(net.Relu(z, f"h{layer}"))
    net.SoftmaxWithLoss([x, "labels"], ["p", "loss"])
    return net


def fed(blobs: Blobs) -> Workspace:
    """A workspace that holds `blobs`."""
    workspace = Workspace()
    for name, array in blobs.items():
        workspace.feed(name, array)
    return workspace


def net_step(net: Net, blobs: Blobs, leaves: Iterable[str]) -> Step:
    """`net` with its gradient operators, run by a workspace; a step gives the gradients of `leaves`."""
    workspace = fed(blobs)
    gradients = net.add_gradient_operators(["loss"])

    def step() -> dict[str, Any]:
        workspace.run(net)
        return {name: workspace[str(gradients[name])] for name in leaves}

    return step


def numpy_step(blobs: Blobs) -> Step:
    """As a person writes it who knows the derivatives."""
    x, labels, w1, b1, w2, b2, w3, b3 = (blobs[name] for name in ("x", "labels", "w1", "b1", "w2", "b2", "w3", "b3"))
    rows = np.arange(ROWS)

    def step() -> dict[str, Any]:
        h1 = np.maximum(x @ w1.T + b1, 0)
        h2 = np.maximum(h1 @ w2.T + b2, 0)
        z = h2 @ w3.T + b3
        z -= z.max(axis=1, keepdims=True)
        p = np.exp(z)
        total = p.sum(axis=1, keepdims=True)
        loss = (np.log(total[:, 0]) - z[rows, labels]).mean()
        p /= total

        g3 = p.copy()
        g3[rows, labels] -= 1
        g3 /= ROWS
        g2 = g3 @ w3 * (h2 > 0)
        g1 = g2 @ w2 * (h1 > 0)
        weights = {"w3": g3.T @ h2, "w2": g2.T @ h1, "w1": g1.T @ x}
        biases = {"b3": g3.sum(axis=0), "b2": g2.sum(axis=0), "b1": g1.sum(axis=0)}
        return {"loss": loss, **weights, **biases, "x": g1 @ w1}

    return step


def torch_step(blobs: Blobs) -> Step:
    """By PyTorch, on one thread."""
    torch = import_module("torch")
    torch.set_num_threads(1)
    functional = torch.nn.functional
    leaves = {name: torch.tensor(blobs[name], requires_grad=True) for name in LEAVES}
    labels = torch.tensor(blobs["labels"], dtype=torch.int64)

    def step() -> dict[str, Any]:
        x = leaves["x"]
        for layer in LAYERS:
            x = functional.linear(x, leaves[f"w{layer}"], leaves[f"b{layer}"])
            x = x if layer == LAYERS[-1] else torch.relu(x)
        loss = functional.cross_entropy(x, labels)
        return dict(zip(LEAVES, torch.autograd.grad(loss, list(leaves.values())), strict=True))

    return step


def hips_step(blobs: Blobs) -> Step:
    """By HIPS autograd, the loss written in its numpy."""
    np_, value_and_grad = import_module("autograd.numpy"), import_module("autograd").value_and_grad
    leaves = {name: blobs[name] for name in LEAVES}
    labels, rows = blobs["labels"], np.arange(ROWS)

    def loss(leaves: dict[str, Any]) -> Any:
        x = leaves["x"]
        for layer in LAYERS:
            x = np_.dot(x, leaves[f"w{layer}"].T) + leaves[f"b{layer}"]
            x = x if layer == LAYERS[-1] else np_.maximum(x, 0)
        z = x - np_.max(x, axis=1, keepdims=True)
        return np_.mean(np_.log(np_.sum(np_.exp(z), axis=1)) - z[rows, labels])

    differentiated = value_and_grad(loss)
    return lambda: dict(differentiated(leaves)[1])
