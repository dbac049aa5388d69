"""The events of a run are made of notes: the same whichever way one asks for them, and those of a run that stops."""

import numpy as np
import pytest

from gradviz import Net, debug
from gradviz.debugger.steering import CursorError
from gradviz.program.events import EnteredSubnet, Failed, LeftSubnet, Ran
from tests.debugger.loops import fed, gated


def recorded(name):
    if name == "a run to its end":
        return debug(gated(), ["loss"], workspace=fed(3))
    net = Net("rows")  # of a table that has three, in five rounds
    net.LT(["i", "n"], "go")
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        net.Gather(["table", "i"], "row")
        net.Add(["h", "row"], "h")
        net.Add(["i", "one"], "i")
    net.SumElements("h", "loss")
    table = {"table": np.ones((3, 2)), "h": np.zeros((1, 2))}
    return debug(net, ["loss"], workspace=fed(i=np.array([0]), one=np.array([1]), n=np.array([5]), **table))


@pytest.mark.parametrize("name", ["a run to its end", "a run that stops"])
def test_events_are_the_same_one_by_one_in_parts_and_all_at_once(name):
    events = recorded(name).events
    count = len(events)
    whole = list(events)
    assert len(whole) == count
    assert [events[number] for number in range(count)] == whole
    assert [*events[: count // 2], *events[count // 2 :]] == whole
    assert list(events[::-3]) == whole[::-3]
    assert events[-1] == whole[-1]
    assert events[count - 1] is events[-1]
    with pytest.raises(IndexError):
        events[count]


def test_every_net_that_is_entered_is_left_in_the_run_that_entered_it():
    open_ = [()]
    ran = 0
    for event in recorded("a run to its end").events:
        if isinstance(event, LeftSubnet):
            open_.pop()
        assert event.path == open_[-1]
        ran += isinstance(event, Ran)
        if isinstance(event, EnteredSubnet):
            round_ = "" if event.iteration is None else f"[{event.iteration}]"
            open_.append((*event.path, f"{event.index}.{event.argument}{round_}"))
    assert open_ == [()]
    assert ran > 50


def test_of_a_run_that_stops_there_are_the_values_before():
    session = recorded("a run that stops")
    last = session.events[-1]
    assert isinstance(last, Failed)
    assert last.path == ("2.loop_net[3]", "0.net")
    np.testing.assert_array_equal(session.value("2.loop_net[2]/0.net:h@1"), [[3, 3]])
    np.testing.assert_array_equal(session.value("2.loop_net[3]/0.net:h@0"), [[3, 3]])
    with pytest.raises(CursorError):
        session.value("2.loop_net[3]/0.net:h@1")
