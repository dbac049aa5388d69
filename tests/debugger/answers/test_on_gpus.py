"""Answers about sessions whose arrays lie on a GPU are those about the same session on the CPU."""

import pytest

from gradviz import Net, Workspace, debug
from tests.debugger.answers.nets import diamond
from tests.debugger.conftest import fed_workspace, skip_net
from tests.debugger.journal.test_devices import on_device, same_numbers
from tests.debugger.loops import fed, gated


@pytest.mark.parametrize(
    ("net", "ws", "blobs"),
    [(skip_net, fed_workspace, ("x", "a", "w2")), (gated, lambda: fed(2), ("h", "w", "2.loop_net[1]/0.net:h"))],
)
def test_the_numbers_are_the_same(cupy, net, ws, blobs):
    here = debug(net(), ["loss"], workspace=ws())
    there = debug(net(), ["loss"], workspace=on_device(ws(), "cuda:0"))
    for blob in blobs:
        for ask in ("paths", "provenance", "versions", "why_none"):
            found, wanted = getattr(there, ask)(blob).to_dict(), getattr(here, ask)(blob).to_dict()
            if ask == "paths":
                assert abs(found.pop("difference") - wanted.pop("difference")) < 1e-9
            assert same_numbers(found, wanted), (ask, blob)
        assert there.check(blob).verdict == here.check(blob).verdict == "agrees"
    assert there.check("#0").verdict == here.check("#0").verdict


def test_parts_lie_where_the_gradients_do(cupy):
    net, ws = Net(), Workspace("cuda:0")
    net.Mul(["x", "x"], "y")
    ws.feed("x", diamond().value("x"))
    session = debug(net, ["y"], workspace=ws)
    view = session.paths("x")
    assert view.count == 2
    assert {type(part) for part in view.parts} == {type(session.value("x"))}
