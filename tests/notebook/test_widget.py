"""The widget and its session: one position, moved from either side."""

import gc
import weakref
from typing import Any

import pytest

import gradviz
from gradviz.debugger.document import decode
from gradviz.notebook.widget import DebuggerWidget


def from_front_end(widget: DebuggerWidget, position: int) -> None:
    """What a message of the front end does."""
    widget.set_state({"position": position})


def test_it_shows_the_trace_of_the_session(session: gradviz.Session) -> None:
    session.step()
    widget = DebuggerWidget(session)
    assert decode(widget.trace) == session.trace()
    assert widget.position == session.position == 1


def test_a_step_in_python_moves_the_widget(session: gradviz.Session) -> None:
    widget = DebuggerWidget(session)
    session.step()
    assert widget.position == 1
    session.finish()
    assert widget.position == len(session)


def test_a_step_in_the_front_end_moves_the_session(session: gradviz.Session) -> None:
    widget = DebuggerWidget(session)
    from_front_end(widget, 3)
    assert session.position == 3


def test_widgets_on_one_session_stay_in_step_and_each_move_happens_once(session: gradviz.Session) -> None:
    first, second = DebuggerWidget(session), DebuggerWidget(session)
    moves: list[int] = []
    session.observe(lambda moved: moves.append(moved.position))
    from_front_end(first, 2)
    from_front_end(second, 4)
    session.back()
    assert first.position == second.position == session.position == 3
    assert moves == [2, 4, 3]


def test_positions_outside_the_recording_are_clamped(session: gradviz.Session) -> None:
    widget = DebuggerWidget(session)
    from_front_end(widget, 10**6)
    assert widget.position == session.position == len(session)
    from_front_end(widget, -1)
    assert widget.position == session.position == 0


def test_a_closed_widget_follows_no_more(session: gradviz.Session) -> None:
    widget = DebuggerWidget(session)
    widget.close()
    session.step()
    assert widget.position == 0


def test_a_widget_keeps_no_recording_alive_and_steps_without_it(session: gradviz.Session) -> None:
    made = gradviz.debug(session.net, ["s"])
    widget = DebuggerWidget(made)
    gone = weakref.ref(made)
    del made
    gc.collect()
    assert gone() is None
    from_front_end(widget, 1)
    assert widget.position == 1


def test_breakpoints_and_watches_are_the_same_on_both_sides(session: gradviz.Session) -> None:
    session.break_on("FC")
    widget, other = DebuggerWidget(session), DebuggerWidget(session)
    assert [one["on"] for one in widget.marks["breakpoints"]] == ["FC"]
    session.watch("norm(a)")
    assert widget.marks["watches"] == ["norm(a)"]
    entry = {"id": 2, "on": "norm > 1", "log": None, "ignore": 0, "every": 1, "enabled": True}
    widget.set_state({"marks": {"breakpoints": [*widget.marks["breakpoints"], entry], "watches": []}})
    assert [one.on for one in session.breakpoints] == ["FC", "norm > 1"]
    assert list(session.watches) == []
    assert other.marks == widget.marks


def test_a_change_in_the_front_end_keeps_the_breakpoint_that_it_changes(session: gradviz.Session) -> None:
    point = session.break_on("FC")
    widget = DebuggerWidget(session)
    entry = {**widget.marks["breakpoints"][0], "enabled": False}
    widget.set_state({"marks": {"breakpoints": [entry], "watches": []}})
    assert session.breakpoints[0] is point
    assert not point.enabled


@pytest.mark.parametrize(
    "state", [{"position": 2.5}, {"position": None}, {"marks": 3}, {"waits": True}, {"trace": "{}"}, 3]
)
def test_what_no_view_says_changes_nothing_and_raises_nothing(session: gradviz.Session, state: Any) -> None:
    widget = DebuggerWidget(session)
    before = widget.get_state(["position", "marks", "waits", "trace"])
    widget._hear(widget, {"type": "change", "by": "a page", "turn": 1, "session": session.id, "state": state}, [])
    assert widget.get_state(["position", "marks", "waits", "trace"]) == before
    assert session.position == 0


def test_marks_that_are_none_are_put_back(session: gradviz.Session) -> None:
    session.break_on("FC")
    widget = DebuggerWidget(session)
    known = widget.marks
    for entries in ([{"id": 0}], [{"id": 2, "on": "x"}, {"id": 2, "on": "a"}]):
        widget.set_state({"marks": {"breakpoints": entries}})
        assert [one.on for one in session.breakpoints] == ["FC"]
        assert widget.marks == known
