"""A table that two operators look rows up in, some of them several times."""

import numpy as np

from gradviz import Net, Workspace


def embedding() -> Net:
    """Two readings of one table of five rows, added; rows 0 and 1 are read several times."""
    net = Net("embedding")
    net.Gather(["table", "i"], "a")
    net.Gather(["table", "j"], "b")
    net.Add(["a", "b"], "y")
    return net


def fed() -> Workspace:
    """A workspace with the table and the numbers of the rows."""
    ws = Workspace()
    ws.feed("table", np.arange(10.0).reshape(5, 2))
    ws.feed("i", np.array([0, 1, 1]))
    ws.feed("j", np.array([2, 1, 0]))
    return ws
