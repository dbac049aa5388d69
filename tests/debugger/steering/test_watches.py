"""Watches: what an expression about blobs is at a position, and what it was at every event that changed it."""

import numpy as np
import pytest

from gradviz import Net, Workspace, debug
from gradviz.debugger import ConditionError
from gradviz.debugger.steering.watches import sparkline
from tests.debugger.conftest import skip_net
from tests.debugger.loops import fed, recurrent, states


def norm(session, blob):
    return pytest.approx(float(np.linalg.norm(session.value(blob))))


def test_a_watch_is_not_computed_until_it_is(session):
    watch = session.watch("h")
    assert watch.value is None
    assert "not computed" in repr(watch)
    session.run_to("Ran")
    assert watch.value == norm(session, "h")
    assert watch.text.endswith("(h@0, float64 6×5, norm)")
    session.back()
    assert watch.value is None


def test_every_version_is_in_the_history(session):
    watch = session.watch("a_grad")
    (first, before), (second, after) = watch.history
    assert (before, after) == (norm(session, "a_grad@0"), norm(session, "a_grad@1"))
    session.run_to(second - 1)
    assert watch.value == before
    session.step()
    assert watch.value == after
    assert session.watch("a_grad@0").history == [(first, before)]


def test_an_expression_is_evaluated_where_a_blob_of_it_changes(session):
    watch = session.watch("norm(a_grad) / norm(h)")
    assert [position for position, _ in watch.history] == [p for p, _ in session.watch("a_grad").history]
    session.finish()
    assert watch.value == pytest.approx(np.linalg.norm(session.value("a_grad")) / np.linalg.norm(session.value("h")))


def test_what_was_fed_is_there_from_the_start_and_words_are_blobs_first(session):
    assert session.watch("norm(x)").value == norm(session, "x")
    assert session.watch("x@0").history == [(0, norm(session, "x"))]


def test_other_things_than_numbers_are_watched(session):
    session.finish()
    assert session.watch("h.shape").value == [6, 5]
    assert session.watch("norm(h) > 1e9").value is False
    assert session.watch("h.dtype").text == "float64"
    assert session.watch("loss").value == pytest.approx(float(session.value("loss")))


def test_a_blob_without_elements_is_empty_and_not_uncomputed():
    net = Net("no rows")
    net.Tanh("x", "y")
    ws = Workspace()
    ws.feed("x", np.zeros((0, 3)))
    session = debug(net, ["y"], workspace=ws)
    assert session.watch("y").text == "not computed"
    session.finish()
    assert session.watch("y").text == "empty (y@0, float64 0×3)"


def test_a_given_gradient_that_nothing_reads_is_watched_and_not_computed():
    net = Net("skipped")
    net.Tanh("x", "y")
    session = debug(net, {"y": "given"}, skip=1)
    assert session.watch("given").text == session.watch("given@0.norm").text == "not computed"
    assert session.break_on("norm(given) > 0").hits == ()


def test_what_was_fed_is_there_from_the_start_where_a_branch_writes_it_too():
    net = Net("branch")
    net.Scale("z", "a", scale=2.0)
    with net.If("c"):
        net.Tanh("a", "z")
    net.SumElements("z", "loss")
    ws = Workspace()
    ws.feed("z", np.array([5.0]))
    ws.feed("c", np.array([True]))
    session = debug(net, ["loss"], workspace=ws)
    assert session.watch("z").history[0] == (0, 5.0)
    assert session.watch("z@0").at(0) == 5.0


def test_in_a_loop_the_history_has_each_iteration():
    session = debug(recurrent(), ["loss"], workspace=fed(4))
    forward = [value for _, value in session.watch("norm(a)").history]
    assert len(forward) == 4
    known = [value for _, value in session.watch("norm(h)").history]
    assert known[:5] == pytest.approx([np.linalg.norm(state) for state in states(4)], rel=1e-5)


@pytest.fixture
def dotted():
    """A recording whose blobs are called as parameters of PyTorch are."""
    net, ws = Net("dotted"), Workspace()
    net.Mul(["0.weight", "a-b"], "s/1.h")
    ws.feed("0.weight", np.array([3.0, 4.0]))
    ws.feed("a-b", np.array([1.0, 2.0]))
    made = debug(net, ["s/1.h"], workspace=ws)
    made.finish()
    return made


@pytest.mark.parametrize("on", ["0.weight", "a-b", "s/1.h", "0.weight_grad", "0.weight_grad@0", " 0.weight "])
def test_the_name_of_a_blob_alone_is_that_blob_whatever_is_in_it(dotted, on):
    assert dotted.watch(on).value == norm(dotted, on.strip())


@pytest.mark.parametrize("on", ["norm(0.weight) > 1", "0.weight.norm > 1", "1 < norm(0.weight)"])
def test_in_an_expression_the_way_to_write_such_a_name_is_told(dotted, on):
    for ask in (dotted.watch, dotted.break_on):
        with pytest.raises(ConditionError) as caught:
            ask(on)
        assert caught.value.ways_out[0] == "Write the name 0.weight between backticks: norm(`0.weight`)."
    assert dotted.watch("norm(`0.weight`)").value == 5


@pytest.mark.parametrize("name", ["a-b", "layer[0].w", "p(1)", "is%", "#1", "not", "in", "größe"])
def test_the_name_is_told_where_its_fault_is_whatever_the_language_takes_it_for(name):
    net, ws = Net("odd"), Workspace()
    net.Mul([name, "norm"], "y")
    for blob in (name, "norm"):
        ws.feed(blob, np.array([3.0, 4.0]))
    made = debug(net, ["y"], workspace=ws)
    for ask, on in ((made.watch, f"norm({name})"), (made.watch, f"{name}.norm"), (made.break_on, f"norm({name}) > 1")):
        with pytest.raises(ConditionError) as caught:
            ask(on)
        assert caught.value.ways_out[0] == f"Write the name {name} between backticks: norm(`{name}`)."
    with pytest.raises(ConditionError) as caught:
        made.break_on("norm >")
    assert "backticks" not in str(caught.value)


@pytest.mark.parametrize("on", ["kind", "step", "norm", "nowhere", "h +", ""])
def test_what_says_nothing_about_blobs_is_refused(session, on):
    with pytest.raises(ConditionError):
        session.watch(on)
    assert len(session.watches) == 0


def test_the_list_tells_itself_and_lets_go(session):
    first, second = session.watch("h"), session.watch("norm(`a`)")
    assert session.watch("h") is first
    assert [one.on for one in session.watches] == ["h", "norm(`a`)"]
    session.finish()
    assert "▁" in repr(session.watches)
    assert session.watches._repr_html_().count("<tr>") == 3
    first.remove()
    assert list(session.watches) == [second]


def test_without_values_nothing_is_computed():
    session = debug(skip_net(), ["loss"])
    session.finish()
    assert session.watch("norm(h) > 0").value is None
    assert session.watch("h").history == []


def test_a_sparkline_is_as_long_as_its_numbers_up_to_a_limit():
    assert sparkline([0, 1, 2, 7]) == "▁▂▃█"
    assert sparkline([3, 3]) == "▁▁"
    assert sparkline([1, float("nan"), 2]) == "▁×█"
    assert sparkline([]) == ""
    assert len(sparkline(range(1000))) == 40
    assert sparkline([-1e308, 1e308]) == "▁█"
