"""Ledgers: which one a word means where nets stand in nets, and that one which came alone is one row."""

from pathlib import Path

import numpy as np
import pytest

from gradviz import Net, Session, Workspace, debug, live, load
from gradviz.debugger import CursorError
from tests.debugger.answers.nets import recorded
from tests.debugger.loops import fed, recurrent
from tests.handwritten import do, op, scope

ROUNDS = 3


@pytest.fixture(scope="module")
def loop() -> Session:
    """In each round k = tanh(w h) is read twice: its gradient is a sum in every run of the body."""
    net = Net("loop")
    net.LT(["i", "n"], "go")
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        net.MatMul(["w", "h"], "a")
        net.Tanh("a", "k")
        net.Mul(["k", "k"], "h")
        net.Add(["i", "one"], "i")
    net.SumElements("h", "loss")
    return debug(net, ["loss"], workspace=fed(ROUNDS))


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_a_run_has_the_ledger_of_its_own_round(loop: Session, round_: int) -> None:
    forward = f"2.loop_net[{round_}]/0.net"
    ledger = loop.ledger(f"{forward}:k").ledger
    assert len(ledger.contributions) == 2
    assert ledger.norm == pytest.approx(np.linalg.norm(loop.value(f"{forward}:{ledger.total}")))


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_standing_in_a_run_one_asks_for_that_of_its_round(loop: Session, round_: int) -> None:
    forward = f"2.loop_net[{round_}]/0.net"
    here = loop.at(next(at for at, told in enumerate(loop.events, 1) if told.path == (*forward.split("/"),)))
    assert here.ledger("k") == loop.ledger(f"{forward}:k")


def test_a_net_without_a_run_has_the_ledger_of_its_pass(loop: Session) -> None:
    for session in (loop, debug(loop.net, ["loss"])):
        assert len(session.ledger("2.loop_net/0.net:k").ledger.contributions) == 2


def test_what_is_read_in_a_loop_and_outside_has_the_ledger_of_all_and_the_part_of_the_loop_has_its_own() -> None:
    net = recurrent()
    net.SumElements("w", "outside")
    net.Add(["loss", "outside"], "all")
    session = debug(net, ["all"], workspace=fed(ROUNDS))
    for position in (0, len(session)):
        ledger = session.at(position).ledger("w").ledger
        assert [one.producer for one in ledger.contributions] == [
            "SumElementsGradient #4",
            "backward pass of While #2",
        ]
    part = session.ledger(ledger.contributions[-1].gradient).ledger
    assert [one.producer for one in part.contributions] == [f"iteration {round_}" for round_ in range(ROUNDS)]


def test_outside_a_branch_it_is_the_gradient_that_is_there() -> None:
    net = Net("branch")
    with net.If("yes"):
        net.Mul(["x", "x"], "h")
        net.Mul(["h", "x"], "y")
    with net.Else():
        net.Tanh("x", "y")
    session = recorded(net, ["y"], yes=np.array(True), x=[1.0, 2.0])
    session.finish()
    ledger = session.ledger("x").ledger
    assert (ledger.subnet, ledger.total, len(ledger.contributions)) == (None, "x_grad@0", 1)
    assert ledger.norm == pytest.approx(np.linalg.norm([3.0, 12.0]))
    assert session.ledger(":x").ledger == ledger
    assert len(session.ledger("2.then_net/0.net:x").ledger.contributions) == 3


def test_what_has_no_gradient_has_none_though_a_block_calls_something_else_so() -> None:
    block = do("x", "y", op("Mul", "x x", "t"), op("Sum", "t t", "y"))
    session = recorded(Net("apart", [op("Print", "t", ""), scope(), block]), ["y"], x=[1.0, 2.0], t=[1.0])
    assert session.why_none("t").status == "none"
    with pytest.raises(CursorError) as caught:
        session.ledger("t")
    assert caught.value.kind == "not_found"
    assert len(session.ledger("2.net:t").ledger.contributions) == 2


def test_what_a_file_does_not_have_of_a_sparse_gradient_is_not_said_to_be_not_computed(tmp_path: Path) -> None:
    net = Net("rows")
    net.Gather(["table", "at"], "rows")
    net.Tanh("rows", "y")
    session = recorded(net, ["y"], table=[[1.0], [2.0]], at=np.array([1, 1]))
    session.save(tmp_path / "rows.gradviz.json")
    read = str(load(tmp_path / "rows.gradviz.json").ledger("table"))
    assert "not computed" not in read
    assert "norm not in the file" in read
    assert "norm not computed" in str(debug(net, ["y"]).ledger("table"))


@pytest.mark.parametrize("lookups", [1, 2])
def test_a_sparse_gradient_that_is_made_dense_comes_from_who_looked_rows_up(lookups: int, tmp_path: Path) -> None:
    net = Net("rows of tanh")
    net.Tanh("table", "t")  # its rule reads a dense gradient
    for number in range(lookups):
        net.Gather(["t", "at"], f"rows{number}")
    net.Sum([f"rows{number}" for number in range(lookups)], "y")
    ws = Workspace()
    ws.feed("table", np.array([[1.0], [2.0], [3.0]]))
    ws.feed("at", np.array([1, 1]))
    recordings = debug(net, ["y"], workspace=ws), live(net, ["y"], workspace=ws).finish()
    recordings[0].save(tmp_path / "rows.gradviz.json")
    for session in (*recordings, load(tmp_path / "rows.gradviz.json")):
        session.finish()
        ledger = session.ledger("t").ledger
        assert [one.of for one in ledger.contributions] == [*range(lookups, 0, -1)]
        assert [one.path[0] for one in ledger.contributions] == [f"#{one.of}" for one in ledger.contributions]
        assert ledger.norm == 2.0 * lookups


def test_of_a_gradient_it_is_said_whose_it_is() -> None:
    net = Net("product")
    net.Mul(["x", "w"], "y")
    session = recorded(net, ["y"], x=[1.0], w=[2.0])
    with pytest.raises(CursorError, match=r'x_grad@0 is the gradient of x@0: session\.ledger\("x@0"\)'):
        session.ledger("x_grad")
    net.Add(["y", "x"], "z")
    summed = recorded(net, ["z"], x=[1.0], w=[2.0])
    with pytest.raises(CursorError, match=r'x_grad@1 is the gradient of x@0: session\.ledger\("x@0"\)'):
        summed.ledger("x_grad")


def test_a_gradient_that_came_alone_with_a_NaN_in_it_has_no_infinite_norm(tmp_path: Path) -> None:
    net = Net("sick")
    net.Log("x", "l")
    net.SumElements("l", "loss")
    session = recorded(net, x=[np.nan, 1.0])
    session.save(tmp_path / "it.json")
    for one in (session, load(tmp_path / "it.json")):
        ledger = one.ledger("x").ledger
        assert [ledger.norm, ledger.contributions[0].norm, ledger.cancellation] == ["nan", "nan", None]


def test_where_nothing_was_run_the_reason_stands_below_the_numbers_that_are_missing(tmp_path: Path) -> None:
    net = Net()
    net.FC(["x", "w", "b"], "y")
    session = recorded(net, ["y"], x=np.ones((4, 3)), w=np.ones((2, 5)), b=np.ones(2))
    session.save(tmp_path / "refused.gradviz.json")
    for one in (session, load(tmp_path / "refused.gradviz.json")):
        assert "Nothing was run: Operator #0 y = FC(x, w, b)" in str(one.ledger("w"))
        assert "Nothing was run, so the shortest paths are shown." in str(one.paths("w"))
