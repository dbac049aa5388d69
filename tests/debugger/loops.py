"""Nets with branches and loops that the debugger's tests look into, and what they compute as plain numpy."""

import numpy as np

from gradviz import Net, Workspace

W = np.array([[0.9, -0.4], [0.3, 0.8]])
H = np.array([[1.0], [-0.5]])


def recurrent():
    """h = tanh(w h), n times; the loss is the sum of h. While is operator #2, its body is path 2.loop_net / 0.net."""
    net = Net("recurrent")
    net.LT(["i", "n"], "go")
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        net.MatMul(["w", "h"], "a")
        net.Tanh("a", "h")
        net.Add(["i", "one"], "i")
    net.SumElements("h", "loss")
    return net


def gated():
    """In each round h = tanh(w h) where its sum is below zero, else h = h u; then h = h + b."""
    net = Net("gated")
    net.LT(["i", "n"], "go")
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        net.SumElements("h", "s")
        net.LT(["s", "zero"], "low")
        with net.If("low"):
            net.MatMul(["w", "h"], "a")
            net.Tanh("a", "h")
        with net.Else():
            net.Mul(["h", "u"], "h")
        net.Add(["h", "b"], "h")
        net.Add(["i", "one"], "i")
    net.SumElements("h", "loss")
    return net


def fed(rounds=4, **values):
    """What the nets read."""
    ws = Workspace()
    known = {"w": W, "h": H, "i": 0.0, "one": 1.0, "n": float(rounds), "zero": 0.0, "u": np.array([[0.5], [2.0]])}
    for name, value in {**known, "b": np.array([[-0.8], [0.3]]), **values}.items():
        ws.feed(name, value)
    return ws


def states(rounds):
    """The h of `recurrent` before each iteration, and at the end."""
    found = [H]
    for _ in range(rounds):
        found.append(np.tanh(W @ found[-1]))
    return found


def weight_gradients(rounds):
    """What each iteration of `recurrent` contributes to the gradient of w, first iteration first."""
    found, arriving, h = [], np.ones_like(H), states(rounds)
    for before, after in zip(h[-2::-1], h[:0:-1], strict=True):
        through = arriving * (1 - after**2)
        found.append(through @ before.T)
        arriving = W.T @ through
    return found[::-1]
