"""Recordings of passes whose arrays lie on a GPU: the same story and numbers, and where each operator ran."""

import sys

import numpy as np
import pytest

from gradviz import Variable, debug, functions
from gradviz.program.events import Ran
from tests.cupy_stand_in import stand_in
from tests.eager.differences import floats


def program(device):
    """x is read by two functions, a table's rows by two, and w was moved."""
    x, table = Variable(floats(3, 4), name="x"), Variable(floats(5, 4, seed=1), name="table")
    w = Variable(floats(4, 4, seed=2), name="w")
    if device is not None:
        x, table = (Variable(one.to_gpu(device).data, name=one.name) for one in (x, table))
        w = w.to_gpu(device)
    rows = functions.embed_id([1, 1, 3], table) + functions.embed_id([0, 1, 2], table)
    return functions.sum(functions.tanh(functions.matmul(x, w)) * x + rows)


@pytest.mark.parametrize("schedule", ["rank", "tape"])
def test_a_pass_on_a_gpu_tells_what_one_on_the_cpu_tells(monkeypatch, schedule):
    monkeypatch.setitem(sys.modules, "cupy", stand_in(gpus=2))
    session, on_cpu = debug(program(1), schedule=schedule), debug(program(None), schedule=schedule)
    backward = [event for event in session.events if isinstance(event, Ran) and event.seconds is not None]
    assert "cuda:1" in {event.device for event in backward}
    trace, expected = session.trace(), on_cpu.trace()
    for name in ("x.grad@0", "table.grad@0"):
        assert trace.values[name].device == "cuda:1"
        assert trace.values[name].norm == pytest.approx(expected.values[name].norm)
        np.testing.assert_allclose(session.value(name).get(), on_cpu.value(name))
    for ledger in trace.ledgers:
        assert sum(one.share for one in ledger.contributions) == pytest.approx(1)
