"""Live passes: what it takes to let one go on operator by operator, and to look for a breakpoint after each of them."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import gradviz.functions as F
from gradviz import Live, Net, Variable, Workspace, live
from tests.benchmarks.figures import Figure
from tests.benchmarks.timing import Effort, best_seconds

NEVER = "norm > 1e9"
LONGER = 10
"""How many times as long the longer chain is."""


def measure(effort: Effort) -> Iterator[Figure]:
    """Milliseconds for each operator of a chain of Tanh and its backward pass, beside those of a shorter chain."""
    most, few = effort.operators[0], effort.operators[0] // LONGER
    effort = replace(effort, repetitions=2)
    for what, begun in (("net", of_net), ("Variables", of_variables)):
        for how, went in (("", finished), (", with a breakpoint", continued)):
            seconds = best_seconds({n: lambda n=n, begun=begun, went=went: went(begun(n)) for n in (few, most)}, effort)
            each = {n: 1e3 * taken / n for n, taken in seconds.items()}
            size = f"{most:,} operators"
            yield Figure(f"live {what}{how}", size, each[most], "ms/operator", f"{few:,} operators", each[few])


def of_net(operators: int) -> Live:
    """A live pass of a net."""
    net = Net("chain")
    for number in range(operators):
        net.Tanh(f"h{number}", f"h{number + 1}")
    ws = Workspace()
    ws.feed("h0", np.ones(3))
    return live(net, [f"h{operators}"], workspace=ws)


def of_variables(operators: int) -> Live:
    """A live pass from a Variable."""
    h = Variable(np.ones(3))
    for _ in range(operators):
        h = F.tanh(h)
    return live(F.sum(h))


def finished(one: Live) -> None:
    """Let a pass go on to its end."""
    one.finish()


def continued(one: Live) -> None:
    """The same with a breakpoint that never stops it."""
    one.break_on(NEVER)
    one.continue_()
