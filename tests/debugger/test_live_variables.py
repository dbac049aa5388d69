"""Backward passes of Variables that stand still before each function: they end as `debug` records."""

import random
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import gradviz.functions as F
from gradviz import Function, GradientError, GradvizError, Variable, debug, live
from gradviz.debugger import CursorError
from gradviz.program.events import Event, to_dict

SCHEDULES = ("rank", "tape")


def grown(rng: random.Random) -> Variable:
    """A random expression in which blobs are read several times, some of them sparse."""
    draw = np.random.default_rng(rng.randrange(2**32))
    xs = [Variable(draw.normal(size=(3, 2)), name=f"x{at}") for at in range(2)]
    for _ in range(rng.randint(2, 9)):
        one, other = rng.choice(xs), rng.choice(xs)
        xs.append(rng.choice([lambda: F.tanh(one), lambda: one * other, lambda: one + other, lambda: one - other])())  # noqa: B023
    return F.sum(xs[-1] * rng.choice(xs))


def without_seconds(events: Iterator[Event]) -> list[object]:
    return [{name: value for name, value in to_dict(event).items() if name != "seconds"} for event in events]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_function_by_function_it_becomes_what_debug_records(schedule):
    rng = random.Random(4)
    for _ in range(25):
        y = grown(rng)
        one, whole = live(y, schedule=schedule), debug(y, schedule=schedule)
        lengths = [len(one.session)]
        while one.next is not None:
            so_far = without_seconds(one.session.events)
            assert so_far == without_seconds(whole.events)[: len(so_far)]
            assert one.session.narration
            one.step()
            lengths.append(len(one.session))
        assert lengths == sorted(set(lengths))
        assert without_seconds(one.session.events) == without_seconds(whole.events)
        assert all(
            np.array_equal(array, whole._recording.values[key]) for key, array in one.session._recording.values.items()
        )
        assert y.grad is None


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_it_stops_at_targets_and_breakpoints_and_where_it_is_aborted(schedule):
    x = Variable(np.linspace(-1, 1, 5), name="x")
    y = F.sum(F.tanh(x) * x)
    one = live(y, schedule=schedule)
    assert one.next == "#2 ReduceSum"
    one.run_to("tanh_grad")
    assert one.next == "#0 Tanh"
    assert "not" in str(one.session.why_none("x")) or one.session.event is not None
    session = one.abort()
    assert session.events[-1].kind == "Failed"
    assert "before #0 Tanh" in session.narration
    other = live(y, schedule=schedule)
    other.break_on("x_grad")
    other.continue_()
    assert "x_grad" in other.session.narration
    assert np.array_equal(other.finish().value("x.grad"), debug(y, schedule=schedule).value("x.grad"))


def test_gradients_retained_and_given_are_those_of_debug():
    x = Variable(np.ones(3), name="x")
    y = F.tanh(x) * x
    options = {"gradient": np.array([1.0, -2.0, 0.5]), "retain_grad": True}
    assert str(live(y, **options).finish().state()) == str(_finished(debug(y, **options)).state())


def _finished(session):
    session.finish()
    return session


def test_what_cannot_be_done_is_refused_in_words():
    y = F.sum(F.tanh(Variable(np.ones(3), name="x")))
    one = live(y)
    for wrong in (lambda: one.feed("x", 1.0), lambda: one.step(device="cuda:0"), one.skip, lambda: one.workspace):
        with pytest.raises(GradvizError) as caught:
            wrong()
        assert caught.value.kind == "not_live"
        assert caught.value.ways_out
    with pytest.raises(GradientError):
        live(y, schedule="by chance")
    with pytest.raises(GradientError):
        live(Variable(np.ones(3)) + 1.0, gradient=np.ones(4))
    with pytest.raises(GradientError, match="live takes no skip"):
        live(y, skip=1)
    assert one.finish().value("x.grad") is not None


def test_a_function_of_ones_own_that_fails_ends_the_pass():
    class Broken(Function):
        def forward(self, xs):
            return xs[0]

        def backward(self, xs, gys):
            raise ValueError("on purpose")

    session = live(F.sum(Broken()(Variable(np.ones(2), name="x")))).finish()
    assert session.events[-1].kind == "Failed"
    assert "on purpose" in session.narration


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("length", [3, 4])
def test_what_runs_on_behind_an_interrupt_is_told_by_the_next_step(interrupting, schedule, length):
    y = Variable(np.ones(3), name="x")
    for _ in range(length):
        y = F.tanh(y)
    y = F.sum(y)
    one = live(y, schedule=schedule)
    while one.next is not None:
        with interrupting(), pytest.raises(KeyboardInterrupt):
            one.step()
        if one.next is not None:  # it is, as long as the session has not heard of it
            one.step()
    assert without_seconds(one.session.events) == without_seconds(debug(y, schedule=schedule).events)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_function_that_ends_the_program_does_so(schedule):
    class Ended(Function):
        def forward(self, xs):
            return xs[0]

        def backward(self, xs, gys):
            sys.exit("on purpose")

    one = live(F.sum(Ended()(Variable(np.ones(2), name="x"))), schedule=schedule)
    with pytest.raises(SystemExit, match="on purpose"):
        one.finish()
    assert one.next is None
    assert one.session.narration


def test_what_a_tape_has_made_and_not_run_is_not_computed_yet():
    x = Variable(np.array([0.5]), name="x")
    one = live(F.sum(F.tanh(x) * x), schedule="tape")
    one.step()
    assert "Its value is not computed yet." in str(one.session.why_none("x"))
    for ask, blob in ((one.session.check, "x"), (one.session.numbers, "x_grad")):
        with pytest.raises(CursorError, match=r"has not run yet\.\n.*live\.step\(\)"):
            ask(blob)
    assert "not computed" not in str(one.finish().why_none("x"))
