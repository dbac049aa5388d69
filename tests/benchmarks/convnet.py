"""Convnet: one training step's forward and backward pass of LeNet, by gradviz and by PyTorch.

Both compute the same: the loss, and its gradients with respect to every filter, weight and bias and the images x.
The network is that of Caffe2's tutorial on MNIST.
"""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from gradviz import Net
from tests.benchmarks.agreement import check_agreement
from tests.benchmarks.figures import Answer, Figure, Skipped, Target
from tests.benchmarks.mlp import Blobs, Step, net_step
from tests.benchmarks.timing import Effort, best_seconds

BATCH = 32
IMAGE = (1, 28, 28)
SHAPES = {
    "conv1_w": (20, 1, 5, 5),
    "conv1_b": (20,),
    "conv2_w": (50, 20, 5, 5),
    "conv2_b": (50,),
    "fc3_w": (500, 800),
    "fc3_b": (500,),
    "pred_w": (10, 500),
    "pred_b": (10,),
}
LEAVES = ("x", *SHAPES)
NAME = "LeNet forward + backward"
SIZE = f"{BATCH} x {' x '.join(map(str, IMAGE))}"
MOST_RATIO = 1.0


def measure(effort: Effort) -> Iterator[Answer]:
    """Milliseconds a step, gradviz against PyTorch where it is installed."""
    blobs = make_blobs()
    steps = {"gradviz": net_step(lenet(), blobs, LEAVES)}
    if find_spec("torch") is None:
        yield Skipped(NAME, "torch", "torch is not installed")
    else:
        steps["torch"] = torch_step(blobs)
        exact = {name: blob.astype(np.float64) if blob.dtype.kind == "f" else blob for name, blob in blobs.items()}
        # In float32 two elements under a window may tie for one and not for the other, and dy go another way.
        check_agreement("torch", torch_step(exact)(), net_step(lenet(), exact, LEAVES)())
    milliseconds = {who: 1e3 * seconds for who, seconds in best_seconds(steps, effort).items()}
    ours = milliseconds.pop("gradviz")
    if not milliseconds:
        yield Figure(NAME, SIZE, ours, "ms")
    for peer, theirs in milliseconds.items():
        yield Figure(NAME, SIZE, ours, "ms", peer, theirs, Target("ratio", MOST_RATIO))


def make_blobs() -> Blobs:
    """Images (n, 1, 28, 28), labels, filters, weights and biases; float32, the labels int32."""
    random = np.random.default_rng(0)
    blobs: Blobs = {
        "x": random.uniform(size=(BATCH, *IMAGE)).astype(np.float32),
        "labels": random.integers(10, size=BATCH, dtype=np.int32),
    }
    for name, shape in SHAPES.items():
        scale = np.sqrt(2 / np.prod(shape[1:])) if name.endswith("w") else 0.1
        blobs[name] = random.normal(scale=scale, size=shape).astype(np.float32)
    return blobs


def lenet() -> Net:
    """Twice Conv and MaxPool, FC, Relu, FC, SoftmaxWithLoss."""
    net = Net("lenet")
    net.Conv(["x", "conv1_w", "conv1_b"], "conv1", kernel=5)
    net.MaxPool("conv1", "pool1", kernel=2, stride=2)
    net.Conv(["pool1", "conv2_w", "conv2_b"], "conv2", kernel=5)
    net.MaxPool("conv2", "pool2", kernel=2, stride=2)
    net.FC(["pool2", "fc3_w", "fc3_b"], "fc3")
    net.Relu("fc3", "relu3")
    net.FC(["relu3", "pred_w", "pred_b"], "pred")
    net.SoftmaxWithLoss(["pred", "labels"], ["p", "loss"])
    return net


def torch_step(blobs: Blobs) -> Step:
    """By PyTorch, on one thread."""
    torch = import_module("torch")
    torch.set_num_threads(1)
    functional = torch.nn.functional
    leaves = {name: torch.tensor(blobs[name], requires_grad=True) for name in LEAVES}
    labels = torch.tensor(blobs["labels"], dtype=torch.int64)

    def step() -> dict[str, Any]:
        x = leaves["x"]
        for layer in ("conv1", "conv2"):
            x = functional.max_pool2d(functional.conv2d(x, leaves[f"{layer}_w"], leaves[f"{layer}_b"]), 2)
        x = torch.relu(functional.linear(x.flatten(1), leaves["fc3_w"], leaves["fc3_b"]))
        loss = functional.cross_entropy(functional.linear(x, leaves["pred_w"], leaves["pred_b"]), labels)
        return dict(zip(LEAVES, torch.autograd.grad(loss, list(leaves.values())), strict=True))

    return step
