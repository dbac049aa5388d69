"""A session that nobody refers to any longer is gone at once, with all values: no cycle waits for the collector."""

import gc
import weakref

import numpy as np
import pytest

import gradviz
from gradviz.program.control_flow import nested_nets
from tests.debugger.loops import fed, recurrent

WORK = {
    "finish": lambda session: session.finish(),
    "run_to": lambda session: session.run_to("Accumulated"),
    "ledger": lambda session: session.ledger("x"),
    "paths": lambda session: session.paths("x"),
    "why_none": lambda session: session.why_none("x"),
    "versions": lambda session: session.versions("x"),
    "graph": lambda session: session.graph(),
    "check": lambda session: session.check("x"),
    "narration": lambda session: session.narration,
    "repr": repr,
}


def of_a_net():
    workspace = gradviz.Workspace()
    workspace.feed("x", np.ones(3))
    net = gradviz.Net("squares")
    net.Mul(["x", "x"], "y")
    return gradviz.debug(net, ["y"], workspace=workspace)


def of_variables():
    x = gradviz.Variable(np.ones(3), name="x")
    return gradviz.debug(x * x, gradient=np.ones(3))


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("session_of", [of_a_net, of_variables])
def test_a_session_goes_when_nobody_refers_to_it(session_of, work):
    work(session_of())  # what is kept once and for all
    gc.disable()
    try:
        session = session_of()
        work(session)
        session.finish()
        value = weakref.ref(session.value("x"))
        del session
        assert value() is None
    finally:
        gc.enable()


def test_the_nets_of_loops_and_branches_go_with_their_program():
    net, workspace = recurrent(), fed(2)
    net.add_gradient_operators(["loss"])
    workspace.run(net)
    inner = [weakref.ref(one) for op in net.ops for one in nested_nets(op).values()]
    assert len(inner) > 1
    del net
    gc.collect()
    assert [one() for one in inner] == [None] * len(inner)
