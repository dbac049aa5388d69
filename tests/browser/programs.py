"""What the browser tests record."""

import numpy as np

import gradviz
from tests.debugger import loops
from tests.drawing.nested import Built, workspace


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


def gated() -> Built:
    """A loop of five iterations with a branch inside."""
    return loops.gated(), ["loss"], loops.fed(rounds=5)
