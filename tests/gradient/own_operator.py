"""A net with an operator type of one's own in the middle, whose rule and kernels a test makes."""

import numpy as np

from gradviz import Net, Operator, Workspace, debug, register_gradient, register_kernel
from gradviz.debugger.document import encode

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


def own_net():
    """x = Tanh(w), y = Own(x), z = Tanh(y)."""
    net = Net("own")
    net.Tanh("w", "x")
    net.add("Own", "x", "y")
    net.Tanh("y", "z")
    return net


def fed(**blobs):
    ws = Workspace()
    for name, value in ({"w": X} | blobs).items():
        ws.feed(name, value)
    return ws


def own_gradient(made):
    """Own doubles; its rule makes one operator with the kernel `made`."""
    register_kernel("Own")(lambda op, x: 2 * x)
    register_kernel("OwnGradient")(lambda op, dy: made(dy))
    register_gradient("Own")(lambda op, g: (Operator("OwnGradient", [g[0]], ["x_grad"]), ["x_grad"]))


def failed(net, ys, ws):
    """The last event of a session that cannot go on; its document can be written."""
    session = debug(net, ys, workspace=ws)
    encode(session.trace())
    event = session.finish()
    assert event.kind == "Failed"
    assert "Ways out" in event.explanation
    return event
