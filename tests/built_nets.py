"""Nets written in blocks, and what they run on, for the tests of the builder."""

import numpy as np

from gradviz import Net, Workspace

X, W = np.array([0.3, -0.5]), np.array([1.2, 0.7])


def fed(**values):
    ws = Workspace()
    for name, value in {"x": X, "w": W, "one": 1, "i": 0, **values}.items():
        ws.feed(name, value)
    return ws


def ran(net, **values):
    ws = fed(**values)
    ws.run(net)
    return ws


def chosen():
    """y = tanh(x) w where c holds, else sin(x) - w."""
    net = Net("chosen")
    with net.If("c"):
        net.Tanh("x", "t")
        net.Mul(["t", "w"], "y")
    with net.Else():
        net.Sin("x", "s")
        net.Sub(["s", "w"], "y")
    return net


def power():
    """x = x w, n times."""
    net = Net("power")
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        net.Mul(["x", "w"], "x")
        net.Add(["i", "one"], "i")
    return net


def squared():
    """y = tanh(x)^2."""
    net = Net("squared")
    with net.Do(outputs="y"):
        net.Tanh("x", "t")
        net.Mul(["t", "t"], "y")
    return net
