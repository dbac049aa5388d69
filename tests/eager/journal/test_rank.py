"""Recordings of the rank schedule: what happened in which order, the heap at every position, and the words for it."""

from heapq import heappop, heappush

import numpy as np
import pytest

import gradviz
from gradviz import Variable, debug, functions
from gradviz.debugger import CursorError
from gradviz.program.events import Accumulated, GeneratorAdded, GradWritten, Played, Ran, Seeded, Visited


def diamond():
    """x is read by three functions, of which two lead to Add #3."""
    x, w = Variable([1.0, 2.0], name="x"), Variable([3.0, 4.0], name="w")
    a = functions.tanh(x * w)
    b = x * x
    loss = functions.sum(a + b)
    loss.name = "loss"
    return x, w, loss


@pytest.fixture
def session():
    return debug(diamond()[2])


def schedule_at(session, position):
    """What the schedule holds at a position."""
    return session.at(position).state().schedule


def heaps(session):
    """The functions in the heap at each position, the next one first."""
    return [[(one.function, one.rank) for one in schedule_at(session, at).heap] for at in range(len(session) + 1)]


def test_functions_come_in_the_order_of_their_calls_with_their_ranks(session):
    played = [event for event in session.events if isinstance(event, Played)]
    assert [(event.op.type, event.rank) for event in played] == [
        ("Mul", 0), ("Tanh", 1), ("Mul", 0), ("Add", 2), ("ReduceSum", 3),
    ]  # fmt: skip


def test_what_was_computed_before_is_known_and_no_time_is_told(session):
    forward = [event for event in session.events if isinstance(event, Ran) and event.position < 5]
    assert [event.seconds for event in forward] == [None] * 5
    assert session.events.index(forward[0]) == 1
    np.testing.assert_array_equal(session.value("x@0"), [1, 2])
    np.testing.assert_array_equal(session.value("mul@0"), [3, 8])
    assert "known since Mul #0 (test_rank.py:17) was called" in session.trace().narration(2)


def test_each_function_brings_its_events_one_after_the_other(session):
    kinds = [event.kind for event in session.events]
    assert kinds[:12] == ["Played", "Ran"] * 5 + ["Seeded", "Ran"]
    assert kinds[12:20] == ["Visited", "RuleApplied", "Ran", "GeneratorAdded"] * 2
    assert kinds[-4:] == ["GradWritten"] * 3 + ["Completed"]


def test_functions_leave_the_heap_by_rank_and_then_by_arrival(session):
    visited = [event for event in session.events if isinstance(event, Visited)]
    assert [(event.index, event.rank, event.waits) for event in visited] == [
        (4, 3, 0), (3, 2, 0), (1, 1, 1), (2, 0, 1), (0, 0, 0),
    ]  # fmt: skip
    assert [(one.index, one.rank, one.arrival) for one in visited[3].waiting] == [(0, 0, 5)]


def test_the_heap_at_every_position(session):
    held = heaps(session)
    changes = [(at, held[at]) for at in range(1, len(held)) if held[at] != held[at - 1]]
    assert [heap for _, heap in changes] == [
        [(4, 3)], [], [(3, 2)], [], [(1, 1)], [(1, 1), (2, 0)], [(2, 0)], [(2, 0), (0, 0)], [(0, 0)], [],
    ]  # fmt: skip
    kinds = [session.events[at - 1].kind for at, _ in changes]
    assert set(kinds) == {"Seeded", "Visited", "GeneratorAdded"}


def test_the_heap_told_is_that_of_a_heap_run_beside_it(session):
    heap = []
    for position, event in enumerate(session.events, 1):
        if isinstance(event, Visited):
            assert heappop(heap)[2] == event.index
        elif isinstance(event, Seeded | GeneratorAdded) and event.queued is not None:
            heappush(heap, (-event.queued.rank, event.queued.arrival, event.queued.index))
        told = schedule_at(session, position).heap
        assert [(-one.rank, one.arrival, one.function) for one in told] == sorted(heap)


def test_a_second_gradient_is_added_when_it_arrives(session):
    sums = [event for event in session.events if isinstance(event, Accumulated)]
    assert [(event.blob, event.so_far, len(event.contributions)) for event in sums] == [("x", 2, 2), ("x", 3, 3)]
    session.run_to("Accumulated")
    assert isinstance(session.events[session.position - 2], GeneratorAdded)
    assert session.narration == (
        "`x@0` is read by Mul #0 and Mul #2 (2 times); the gradients that come from there are added as they arrive: "
        "`x_grad@1 = x_grad@0 + _x_grad_autosplit_0@0`."
    )
    assert isinstance(session.step(), Ran)
    np.testing.assert_array_equal(session.value("x_grad@1"), [2, 4])


def test_why_a_function_is_next(session):
    session.run_to("Tanh")
    while not isinstance(session.event, Visited) or session.event.index != 1:
        session.step()
    assert session.narration == (
        "Tanh #1 (test_rank.py:17) is next: its rank 1 is the greatest in the heap; Mul #2 waits with rank 0. "
        "The readers of `a@0` have greater ranks and ran before: `a_grad@0` is whole."
    )
    session.over()
    session.step()
    assert session.narration.startswith(
        "Mul #2 (test_rank.py:18) is next: no rank in the heap is greater than its 0, "
        "and it was reached first; Mul #0 waits with rank 0."
    )


def test_over_takes_a_function_with_all_that_it_brings(session):
    session.run_to("Seeded")
    session.over()
    indices = []
    while session.event.kind != "Completed":
        start = session.position
        session.over()
        brought = session.events[start : session.position]
        if isinstance(brought[0], Visited):
            indices.append(brought[0].index)
            assert not any(isinstance(event, Visited | GradWritten) for event in brought[1:])
    assert indices == [4, 3, 1, 2, 0]
    while session.position > 0:
        before = session.position
        session.back_over()
        assert session.position < before


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("Accumulated", "Accumulated"),
        ("GradWritten", "GradWritten"),
        ("#3", "Played"),
        ("TanhGradient", "RuleApplied"),
        ("x.grad", "GradWritten"),
        ("x_grad@1", "Accumulated"),
        ("w", "Played"),
    ],
)
def test_run_to_finds_operators_blobs_and_events(session, target, kind):
    assert session.run_to(target).kind == kind


def test_run_to_what_is_not_there_stays(session):
    with pytest.raises(CursorError):
        session.run_to("nowhere")
    assert session.position == 0


def test_gradients_reach_grad_when_the_heap_is_empty(session):
    written = [event for event in session.events if isinstance(event, GradWritten)]
    assert [(event.blob, event.how, event.before) for event in written] == [
        ("x", "new", None), ("w", "new", None), ("loss", "new", None),
    ]  # fmt: skip
    session.run_to("GradWritten")
    assert session.narration == "`x.grad` was empty and is `x.grad@0` now, `x_grad@2`, the sum of 3 gradients."


def test_grad_at_every_position():
    _, w, loss = diamond()
    w.grad = np.ones(2)
    session = debug(loss)
    first = schedule_at(session, 0).grads
    assert [(one.variable, one.how, one.is_new) for one in first] == [("w", "held", False)]
    last = schedule_at(session, len(session)).grads
    assert {one.variable: one.how for one in last} == {"w": "added", "x": "new", "loss": "new"}
    session.run_to("w.grad")
    (changed,) = [one for one in schedule_at(session, session.position).grads if one.is_new]
    assert changed.variable == "w"
    np.testing.assert_allclose(session.value(changed.value), 1 + session.value("w_grad"))
    assert "of an earlier pass" in session.narration
    assert "w.grad@1 = w.grad@0 + w_grad@0" in session.narration


def test_gradients_on_the_way_are_kept_or_dropped_as_asked():
    _, _, loss = diamond()
    add = loss.creator.inputs[0]
    add.name = "middle"
    add.grad = np.array([5.0, 6.0])
    dropped = [event for event in debug(loss).events if isinstance(event, GradWritten) and event.blob == "middle"]
    assert [(event.how, event.before, event.after) for event in dropped] == [("dropped", "middle.grad@0", None)]
    session = debug(loss, retain_grad=True)
    session.run_to("middle.grad")
    assert session.event.how == "replaced"
    np.testing.assert_array_equal(session.value(session.event.after), [1, 1])
    assert len([event for event in session.events if isinstance(event, GradWritten)]) == 7


def test_the_lines_are_the_program_that_computes_the_gradients(session):
    net, ws = session.net, gradviz.Workspace()
    x, w, loss = diamond()
    ws.feed("x", x.data)
    ws.feed("w", w.data)
    ws.run(net)
    loss.backward()
    np.testing.assert_allclose(ws["x_grad"], x.grad)
    np.testing.assert_allclose(ws["w_grad"], w.grad)


def test_the_engine_stands_in_the_document(session, tmp_path):
    session.save(tmp_path / "pass.gradviz.json")
    again = gradviz.load(tmp_path / "pass.gradviz.json")
    assert again.trace() == session.trace()
    assert again.trace().engine == "rank"
    assert again.events == session.events
    assert heaps(again) == heaps(session)
    again.run_to("Accumulated")
    assert again.narration.startswith("`x@0` is read by")


def test_every_event_has_a_sentence_and_every_focus_a_value(session):
    trace = session.trace()
    assert all(trace.narration(at).endswith(".") for at in range(1, len(trace.events) + 1))
    assert {blob for event in trace.events for blob in event.blobs} <= set(trace.values)


def test_a_session_that_nobody_looks_at_makes_no_document():
    session = debug(diamond()[2])
    assert len(session) > 0
    assert "_trace" not in vars(session)
    assert "Mul" in repr(session.step().op)
    assert session.narration.startswith("Function #0 was called")
    assert "_trace" not in vars(session)
    assert session.trace().forward[0].type == "Mul"
    assert "_trace" in vars(session)


def test_the_state_can_be_asked(session):
    session.run_to("TanhGradient")
    answer = session.state()
    assert [(one.type, one.function, one.rank) for one in answer.schedule.heap] == [("Mul", 2, 0)]
    assert answer.schedule.taken == 1
    assert "Mul #2" in str(answer)
    assert "<table>" in answer._repr_html_()
    assert answer.to_dict()["schedule"]["heap"][0] == {"function": 2, "type": "Mul", "rank": 0, "arrival": 4}
    session.run_to("x.grad")
    assert ("x", "x.grad@0", "new", True) in [
        (one.variable, one.value, one.how, one.is_new) for one in session.state().schedule.grads
    ]
