"""Ledgers of gradients whose contributions and sum lie on several devices."""

import numpy as np

import gradviz.functions as F
from gradviz import Net, Variable, Workspace, debug
from gradviz.debugger.document import Contribution
from gradviz.debugger.journal import record_backward
from gradviz.debugger.telling import Story
from gradviz.debugger.telling.sums import ledger
from gradviz.program.events import Accumulated, Event


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


class Read(list[Event]):
    """Events, and how many of them were read."""

    count = 0

    def __getitem__(self, place):
        self.count += 1
        return super().__getitem__(place)


def events_read(uses: int) -> int:
    """How many events are read to tell the sums of a gradient to which each of so many uses adds when it arrives."""
    x, y = Variable(np.ones(3), name="x"), 0.0
    for _ in range(uses):
        y = x * 2.0 + y
    recording = record_backward(F.sum(y))
    telling = Story(recording)
    telling._events = read = Read(recording.events)
    sums = list(recording.events_of(Accumulated))
    for at, event in sums:
        assert len(telling.terms(event, at)) > 1
        assert telling.is_last(event, at) == ((at, event) == sums[-1])
    return read.count


def test_what_is_read_to_tell_a_sum_grows_no_more_than_what_it_lists():
    assert events_read(400) < 2.2 * events_read(200)
