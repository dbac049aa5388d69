"""Recordings that the debugger's tests look at."""

import numpy as np
import pytest

from gradviz import Net, Workspace, debug


def skip_net():
    """The net with a skip connection: a@0 is read by FC #2 and Sum #4."""
    net = Net("skip")
    net.FC(["x", "w1", "b1"], "h")
    net.Relu("h", "a")
    net.FC(["a", "w2", "b2"], "u")
    net.Relu("u", "v")
    net.Sum(["v", "a"], "s")
    net.FC(["s", "w3", "b3"], "z")
    net.SoftmaxWithLoss(["z", "label"], ["p", "loss"])
    return net


def fed_workspace():
    random = np.random.default_rng(0)
    ws = Workspace()
    shapes = {"x": (6, 8), "w1": (5, 8), "b1": (5,), "w2": (5, 5), "b2": (5,), "w3": (3, 5), "b3": (3,)}
    for name, shape in shapes.items():
        ws.feed(name, random.normal(size=shape))
    ws.feed("label", random.integers(0, 3, 6))
    return ws


@pytest.fixture
def session():
    return debug(skip_net(), ["loss"], workspace=fed_workspace())
