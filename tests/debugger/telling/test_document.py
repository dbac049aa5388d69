"""Documents of recordings whose programs are unusual."""

import numpy as np

from gradviz import Net, Operator, Workspace, debug
from gradviz.debugger.document import decode, encode
from gradviz.program import NetDef
from tests.debugger.answers.nets import recorded


def test_a_rule_that_refuses_an_operator_in_place_can_be_saved():
    """There names stand for two blobs each, and the error names one of them."""
    net = Net()
    net.RMSNorm(["r", "gamma", "beta"], ["y", "r"])
    net.Mul(["y", "r"], "loss")
    session = debug(net, {"r": None, "loss": None})
    assert session.finish().kind == "Failed"
    assert decode(encode(session.trace())).events == session.trace().events


def test_a_do_that_reads_an_output_without_listing_it_has_a_document():
    net = Net()
    net.CreateScope([], "s")
    inside = NetDef("inside", [Operator("Tanh", ["w"], ["w"])])
    binding = {"inner_blobs": ["w"], "outer_blobs_idx": [0]}
    net.ops.append(Operator("Do", ["s"], ["w", "s"], {"net": inside, **binding}))
    net.SumElements("w", "loss")
    ws = Workspace()
    ws.feed("w", np.array([0.5]))
    session = debug(net, ["loss"], workspace=ws)
    do = session.trace().forward[1]
    assert (do.inputs, do.outputs) == (["s@0", "w@0"], ["w@1", "s@1"])
    assert session.check("w").verdict == "agrees"


def test_a_given_gradient_that_nobody_reads_is_known():
    net = Net()
    net.Tanh("x", "y")
    session = recorded(net, {"y": None, "x": "dx"}, x=[1.0], dx=[5.0])
    np.testing.assert_array_equal(session.value("dx"), [5.0])
    alone = Net()
    alone.StopGradient("x", "y")
    alone.Tanh("y", "z")
    session = recorded(alone, {"x": "dx"}, x=[1.0], dx=[5.0])
    np.testing.assert_array_equal(session.value("dx"), [5.0])
