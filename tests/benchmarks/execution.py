"""Execution: what running a tiny operator takes, by Workspace.run and by hand in numpy."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from gradviz import Net, Workspace
from tests.benchmarks.agreement import check_agreement
from tests.benchmarks.figures import Figure, Target
from tests.benchmarks.timing import Effort, best_seconds

Array = npt.NDArray[np.float32]

LAYERS = 333
ELEMENTS = 16
MOST_RATIO = 3.0


def measure(effort: Effort) -> Iterator[Figure]:
    """Microseconds a forward operator: the forward pass alone, then forward and backward."""
    blobs = make_blobs()
    forward = layered_net()
    size = f"{len(forward.ops):,} operators"
    both = Net("both", forward.ops)
    both.add_gradient_operators({"y": "dy"})
    workspace = Workspace()
    for name, array in blobs.items():
        workspace.feed(name, array)
    workspace.run(both)
    by_hand = backward_by_hand(blobs, *forward_by_hand(blobs))
    check_agreement("numpy by hand", by_hand, {name: workspace[name] for name in by_hand})
    seconds = best_seconds(
        {
            ("forward", "gradviz"): lambda: workspace.run(forward),
            ("forward", "numpy"): lambda: forward_by_hand(blobs),
            ("forward + backward", "gradviz"): lambda: workspace.run(both),
            ("forward + backward", "numpy"): lambda: backward_by_hand(blobs, *forward_by_hand(blobs)),
        },
        effort,
    )
    each = {key: 1e6 * value / len(forward.ops) for key, value in seconds.items()}
    for passes in ("forward", "forward + backward"):
        yield Figure(
            f"run tiny operators, {passes}",
            size,
            each[passes, "gradviz"],
            "us/operator",
            "numpy by hand",
            each[passes, "numpy"],
            Target("ratio", MOST_RATIO),
        )


def make_blobs() -> dict[str, Array]:
    """What the net reads: x, the weights and biases of each layer, and dy, the gradient that the backward pass gets."""
    random = np.random.default_rng(0)
    names = ["x", "dy", *(f"{kind}{at}" for at in range(LAYERS) for kind in "wb")]
    return {name: random.normal(1, 0.1, ELEMENTS).astype(np.float32) for name in names}


def layered_net() -> Net:
    """Layers of Tanh, Mul and Add, each with a weight and a bias of its own, and a Tanh at the end."""
    net = Net("layers")
    x = "x"
    for at in range(LAYERS):
        net.Tanh(x, f"t{at}")
        net.Mul([f"t{at}", f"w{at}"], f"m{at}")
        net.Add([f"m{at}", f"b{at}"], f"x{at}")
        x = f"x{at}"
    net.Tanh(x, "y")
    return net


def forward_by_hand(blobs: dict[str, Array]) -> tuple[Array, list[Array]]:
    """y, and the output of each layer's Tanh, which the backward pass reads."""
    x = blobs["x"]
    kept = []
    for at in range(LAYERS):
        t = np.tanh(x)
        kept.append(t)
        x = t * blobs[f"w{at}"] + blobs[f"b{at}"]
    return np.tanh(x), kept


def backward_by_hand(blobs: dict[str, Array], y: Array, kept: list[Array]) -> dict[str, Array]:
    """The gradients of x and of every weight and bias."""
    gradients = {}
    g = blobs["dy"] * (1 - y * y)
    for at in reversed(range(LAYERS)):
        t = kept[at]
        gradients[f"b{at}_grad"] = g
        gradients[f"w{at}_grad"] = g * t
        g = g * blobs[f"w{at}"] * (1 - t * t)
    gradients["x_grad"] = g
    return gradients
