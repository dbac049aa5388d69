"""A learner's engine of sixty lines is debugged like the engines of gradviz, through an adapter of a hundred."""

import inspect
import math

import pytest

import gradviz
from gradviz.debugger.journal import engines
from tests.debugger.engines import scalar_adapter, scalars
from tests.debugger.engines.scalars import Value


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(engines, "_ENGINES", dict(engines._ENGINES))
    gradviz.register_engine(Value, scalar_adapter.record)


@pytest.fixture
def loss():
    x, w, b = Value(0.5, "x"), Value(-1.5, "w"), Value(2.0, "b")
    h = (x * w + b).tanh()
    h.name = "h"
    y = h * h + x
    y.name = "y"
    return y


@pytest.fixture
def session(loss):
    return gradviz.debug(loss)


def gradients(loss):
    """Name -> gradient of each leaf, as the engine itself computes them."""
    loss.backward()
    return {value.name: value.grad for value in loss.order() if not value.sources}


def test_engine_and_adapter_are_as_short_as_promised():
    assert len(inspect.getsource(scalars).splitlines()) <= 65
    assert len(inspect.getsource(scalar_adapter).splitlines()) <= 120


def test_the_gradients_are_those_of_the_engine(session, loss):
    assert all(value.grad == 0 for value in loss.order())
    assert {name: float(session.value(f"{name}.grad")) for name in "xwb"} == gradients(loss)
    assert float(session.value("x_grad")) == loss.order()[0].grad


def test_it_tells_what_it_is_about(session):
    assert session.name == "y.backward()"
    assert session.narration.startswith("5 operators of scalars, differentiated from `y`: 8 gradient operators")
    assert session.trace().engine == "scalars"


def test_verbs_move_over_operators_with_all_they_bring(session):
    session.run_to("Visited")
    session.back()
    assert session.over().kind == "GeneratorAdded"
    assert session.event.blob == "x"
    assert session.over().kind == "Ran"
    assert session.narration.startswith("`h_grad@1 = Sum(h_grad@0, h_grad_1@0)` ran on cpu")
    position = session.position
    session.back_over()
    session.over()
    assert session.position == position
    session.finish()
    assert session.event.kind == "Completed"
    session.restart()
    assert session.position == 0


def test_the_graph_grows_with_the_pass(session):
    start = session.graph().source
    session.finish()
    end = session.graph().source
    assert "TanhBackward" in end
    assert start != end


def test_accumulations_have_ledgers(session):
    ledger = str(session.ledger("x"))
    assert "sum of 2 contributions" in ledger
    assert "AddBackward of Add #4" in ledger
    assert "MulBackward of Mul #0" in ledger


def test_paths_add_up_to_the_gradient(session):
    text = str(session.paths("x"))
    assert "comes along 3 paths from y@0" in text
    assert "their parts add up to the gradient" in text


def test_why_none(loss):
    apart = Value(3.0, "apart")
    session = gradviz.debug(loss)
    assert session.why_none("w").status == "not yet"
    session.finish()
    assert session.why_none("w").status == "has one"
    with pytest.raises(gradviz.GradvizError):
        session.why_none(apart.name)


def test_provenance_finds_where_a_nan_was_born():
    x = Value(math.inf, "x")
    y = x * Value(0.0, "zero")
    y.name = "y"
    session = gradviz.debug(y)
    session.break_on("NaN")
    session.continue_()
    assert (session.event.kind, session.event.position) == ("Ran", 0)
    session.finish()
    assert "It comes from x@0, which was fed with Inf" in str(session.provenance("y"))


def test_versions(session):
    assert "x has 1 version" in str(session.versions("x"))
    assert "2 versions" in str(session.versions("x_grad"))


def test_breakpoints(session):
    session.break_on("Accumulated", when="n > 1")
    session.continue_()
    assert (session.event.kind, session.event.blob) == ("Accumulated", "h")
    session.continue_()
    assert (session.event.kind, session.event.blob) == ("Accumulated", "x")
    session.reverse_continue()
    assert session.event.blob == "h"


def test_finite_differences_agree(session):
    assert "agrees with differences" in str(session.check("x"))


def test_the_state_is_that_of_the_pass(session):
    session.finish()
    state = str(session.state())
    assert "x         x.grad@0  new" in state
    assert "heap" not in state


def test_it_is_saved_loaded_and_shown_in_a_page(session, tmp_path):
    session.save(tmp_path / "scalars.gradviz.json")
    loaded = gradviz.load(tmp_path / "scalars.gradviz.json")
    assert [event.kind for event in loaded.events] == [event.kind for event in session.events]
    assert str(loaded.ledger("x")) == str(session.ledger("x"))
    session.to_html(tmp_path / "scalars.html")
    assert "TanhBackward" in (tmp_path / "scalars.html").read_text()


def test_a_function_that_has_the_name_of_another_operator_is_no_random_one():
    x = Value(3.0, "x")
    session = gradviz.debug(Value(9.0, "y", "Log", (x,), lambda g: (6 * g,)))
    said = "Log here is another function than Log #0 was: on the same inputs it gives another y@0."
    assert said in str(session.check("x"))
    assert "a rule of the engine's own, or the like, has changed what flows" in str(session.paths("x"))


@pytest.mark.parametrize(
    ("type", "says"),
    [("Concat", "split_info"), ("DepthSplit", "cannot be run again"), ("Dropout", "it gives 2 outputs")],
)
def test_a_function_that_has_the_name_of_another_operator_is_not_run_as_that(type, says):
    session = gradviz.debug(Value(9.0, "y", type, (Value(3.0, "x"),), lambda g: (6 * g,)))
    assert says in str(session.check("x"))
    assert "the shortest paths are shown" in str(session.paths("x"))
