"""Trace documents of nets with control flow, recorded by the debugger: what clusters are tried on."""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from gradviz import Net, Workspace, debug
from gradviz.debugger.document import Line, Trace
from gradviz.drawing.view import Cluster, View

Built = tuple[Net, list[str], Workspace]


def two_branches() -> Built:
    """An If whose branches both write z; its then branch reads h twice."""
    net = Net("branches")
    net.FC(["x", "w", "b"], "h")
    net.ConstantFill([], "z", shape=[2, 3], value=0.0)
    with net.If("c"):
        net.Tanh("h", "t")
        net.Mul(["t", "h"], "z")
    with net.Else():
        net.Sigmoid("h", "z")
    net.SumElements("z", "loss")
    fed = {"x": np.ones((2, 4)), "w": np.ones((3, 4)), "b": np.zeros(3), "c": np.array([True])}
    return net, ["loss"], workspace(fed)


def loop(operators: int = 1) -> Built:
    """A While that carries h and i, and reads w in each iteration."""
    net = Net("loop")
    net.Sin("x", "h")
    net.LT(["i", "n"], "go")
    with net.While("go"):
        for _ in range(operators):
            net.Mul(["h", "w"], "h")
        net.Add(["i", "one"], "i")
        net.LT(["i", "n"], "go")
    net.SumElements("h", "loss")
    fed = {"x": np.ones(3), "w": np.full(3, 0.5), "i": np.array(0.0), "n": np.array(2.0), "one": np.array(1.0)}
    return net, ["loss"], workspace(fed)


def three_deep() -> Built:
    """An If in a While in an If."""
    net = Net("deep")
    net.Sin("x", "y")
    with net.If("c"):
        net.Mul(["y", "w"], "y")
        net.LT(["i", "n"], "go")
        with net.While("go"):
            net.Tanh("y", "t")
            with net.If("d"):
                net.Mul(["t", "w"], "y")
            with net.Else():
                net.Sigmoid("t", "y")
            net.Add(["i", "one"], "i")
            net.LT(["i", "n"], "go")
    net.SumElements("y", "loss")
    fed = {"x": np.ones(3), "w": np.full(3, 0.5), "i": np.array(0.0), "n": np.array(2.0), "one": np.array(1.0)}
    return net, ["loss"], workspace(fed | {"c": np.array([True]), "d": np.array([False])})


def shared_gradient() -> Built:
    """A Do with two outputs at which one gradient arrives."""
    net = Net("shared")
    with net.Do(outputs=["u", "v"]):
        net.Tanh("x", "u")
        net.Sigmoid("x", "v")
    net.Sum(["u", "v"], "s")
    net.SumElements("s", "loss")
    return net, ["loss"], workspace({"x": np.ones(3)})


def workspace(fed: dict[str, np.ndarray]) -> Workspace:
    ws = Workspace()
    for name, array in fed.items():
        ws.feed(name, array)
    return ws


@cache
def trace(built: Callable[[], Built]) -> Trace:
    """The document of a recording, which has reached its end."""
    net, ys, ws = built()
    document = debug(net, ys, workspace=ws).trace()
    assert document.events[-1].kind != "Failed", document.narration(len(document.events))
    return document


NETS = [two_branches, loop, three_deep, shared_gradient]


def all_lines(document: Trace) -> Iterator[Line]:
    for net in (document, *document.subnets):
        yield from net.forward
        yield from net.backward


def clusters_of(drawn: View) -> list[Cluster]:
    """The clusters of a net and of those in it."""
    return [cluster for net in drawn.nets() for cluster in net.clusters]
