"""Nets that questions are asked about, and how random ones are recorded."""

import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from gradviz import GradvizError, Net, Session, Workspace, debug


def recorded(net: Net, ys: Any = ("loss",), *, skip: int = 0, **values: Any) -> Session:
    """The session of a net fed with `values`, floats unless they are arrays."""
    ws = Workspace()
    for name, value in values.items():
        ws.feed(name, value if isinstance(value, np.ndarray) else np.asarray(value, float))
    return debug(net, ys if isinstance(ys, dict) else list(ys), workspace=ws, skip=skip)


def diamond() -> Session:
    """loss = sum of x² + 3 x, in two ways from x: by hand, dx = 2 x from the one and 3 from the other."""
    net = Net("diamond")
    net.Mul(["x", "x"], "square")
    net.Scale("x", "triple", scale=3.0)
    net.Add(["square", "triple"], "s")
    net.SumElements("s", "loss")
    return recorded(net, x=[1.0, -2.0])


def ladder(rungs: int) -> Net:
    """b <- tanh(b) b + b, `rungs` times: three ways through each."""
    net, b = Net("ladder"), "x"
    for rung in range(rungs):
        net.Tanh(b, f"t{rung}")
        net.Mul([f"t{rung}", b], f"u{rung}")
        b = net.Add([f"u{rung}", b], f"b{rung}")
    return net


def dead() -> Session:
    """A layer whose Relu is dead: every element of h is -3."""
    net = Net("dead")
    net.FC(["x", "w", "b"], "h")
    net.Relu("h", "a")
    net.FC(["a", "w2", "b2"], "y")
    net.SumElements("y", "loss")
    values = {"x": np.ones((2, 3)), "w": -np.ones((4, 3)), "b": np.zeros(4), "w2": np.ones((1, 4)), "b2": np.zeros(1)}
    return recorded(net, **values)


def overwritten() -> Session:
    """y@0 is needed by the gradient of Sigmoid, and Scale overwrites it: the pass stops."""
    net = Net("overwritten")
    net.Sigmoid("x", "y")
    net.Exp("y", "z")
    net.Scale("y", "y", scale=2.0)
    net.Add(["z", "y"], "q")
    net.SumElements("q", "loss")
    return recorded(net, x=[0.0, 1.0])


def workspace_of(case: Any) -> Workspace:
    """A workspace with what a random net is fed, given gradients too."""
    ws = Workspace()
    for name, array in {**case.feeds, **case.given}.items():
        ws.feed(name, array)
    return ws


def random_sessions(count: int, seed: int) -> Iterator[tuple[Any, Session]]:
    """Random nets of all themes and their sessions; nets that are refused at once are left out."""
    from tests.gradient.nets.strategy import MOST_OPERATORS, SEED_BYTES, decoded
    from tests.gradient.nets.themes import THEMES

    rng = random.Random(seed)
    for number in range(count):
        drawn = rng.randbytes(SEED_BYTES + MOST_OPERATORS + 1)
        yield from _recorded(decoded(THEMES[number % len(THEMES)], drawn))


def random_programs(count: int, seed: int) -> Iterator[tuple[Any, Session]]:
    """The same of random programs with branches and loops."""
    from tests.gradient.nets.strategy import RandomNet
    from tests.gradient.programs.growth import grown
    from tests.gradient.programs.lowering import Lowered
    from tests.gradient.programs.tree import CONSTANTS
    from tests.gradient.programs.verdict import starts

    rng = random.Random(seed)
    for _ in range(count):
        genes = [(rng.randrange(100), rng.randrange(10_000)) for _ in range(rng.randint(6, 20))]
        program = grown(genes, rng.randrange(10_000))
        lowered = Lowered(program)
        ys, given = starts(program, lowered)
        yield from _recorded(RandomNet(lowered.net, {**CONSTANTS, **program.inputs}, ys, given, lowered.skip))


def random_blocks(count: int, seed: int) -> Iterator[tuple[Any, Session]]:
    """The same of random nets parts of which are in Do, If and While."""
    from tests.gradient.blocks import FEEDS, Wrapping, lowered
    from tests.gradient.nets.strategy import MOST_OPERATORS, SEED_BYTES, decoded
    from tests.gradient.nets.themes import THEMES

    rng = random.Random(seed)
    for number in range(count):
        drawn = rng.randbytes(SEED_BYTES + MOST_OPERATORS + 1)
        case = decoded(THEMES[number % len(THEMES)], drawn)._replace(skip=0)
        net = lowered(Wrapping(case, rng.randrange(2**32)).nodes)
        yield from _recorded(case._replace(net=net, feeds=case.feeds | FEEDS))


def _recorded(case: Any) -> Iterator[tuple[Any, Session]]:
    with suppress(GradvizError):
        yield case, debug(case.net, case.ys, workspace=workspace_of(case), skip=case.skip)
