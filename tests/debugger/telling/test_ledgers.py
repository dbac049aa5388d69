"""Ledgers of gradients whose contributions and sum lie on several devices."""

import numpy as np

from gradviz import Net, Workspace, debug
from gradviz.debugger.document import Contribution
from gradviz.debugger.telling.sums import ledger


def test_contributions_may_lie_elsewhere_than_their_sum(cupy):
    with cupy.cuda.Device(0):
        first = cupy.asarray(np.array([3.0, 0.0]))
    with cupy.cuda.Device(1):
        whole = cupy.asarray(np.array([3.0, 4.0]))
    terms = [
        (Contribution(gradient="x_grad_0", producer="Mul #0", how="generated"), first),
        (Contribution(gradient="x_grad_1", producer="Mul #0", how="generated"), np.array([0.0, 4.0])),
    ]
    found = ledger("x@0", 1, "x_grad@0", terms, whole)
    assert found.norm == 5
    assert [one.norm for one in found.contributions] == [3, 4]
    assert np.allclose([one.share for one in found.contributions], [9 / 25, 16 / 25])


def test_a_sparse_gradient_on_the_second_gpu_has_its_norm(cupy):
    net = Net("rows")
    net.Gather(["table", "ids"], "rows")
    net.SumElements("rows", "loss")
    ws = Workspace("cuda:1")
    ws.feed("table", np.ones((3, 2)))
    ws.feed("ids", np.array([0, 2]))
    session = debug(net, ["loss"], workspace=ws)
    session.finish()
    assert "norm 2" in str(session.ledger("table"))
