"""The channel of a real kernel to side panels: which session is shown, where it stands, who moves it."""

import ast
from typing import Any

import pytest

from gradviz.debugger.document import decode
from gradviz.notebook.session_protocol import PROTOCOL
from tests.notebook.conftest import Kernel, Panel


@pytest.fixture
def shown(kernel: Kernel) -> Kernel:
    """The kernel with a new `session` at its beginning, displayed."""
    # Sessions of other tests that are garbage leave the list now, and not some time later.
    kernel.run("import gc; session = debug(); display(session); gc.collect();")
    return kernel


def value(kernel: Kernel, expression: str) -> Any:
    """The value of an expression in the kernel."""
    (output,) = [message for message in kernel.run(expression) if message["msg_type"] == "execute_result"]
    return ast.literal_eval(output["content"]["data"]["text/plain"])


def test_a_panel_that_comes_late_is_shown_the_session_displayed_last(shown: Kernel) -> None:
    listed, said = Panel(shown).greeting
    assert (listed["type"], said["type"]) == ("sessions", "session")
    assert said["id"] == value(shown, "session.id") == listed["sessions"][-1]["id"]
    assert decode(said["trace"]).name == "twice"
    assert listed["protocol"] == PROTOCOL


def test_a_panel_follows_steps_in_python(shown: Kernel) -> None:
    panel = Panel(shown)
    said = panel.heard(shown.run("session.step(); session.step()"))
    assert [(message["type"], message["position"]) for message in said] == [("position", 1), ("position", 2)]


def test_a_step_in_a_panel_moves_the_session_and_the_other_panels(shown: Kernel) -> None:
    first, second = Panel(shown), Panel(shown)
    messages = first.say({"type": "position", "id": first.active, "position": 2})
    assert value(shown, "session.position") == 2
    assert second.heard(messages) == [{"type": "position", "id": first.active, "position": 2}]
    assert first.heard(messages) == [], "an echo would take a panel that steps quickly back in time"


def test_a_panel_that_goes_too_far_is_told_where_the_session_stands(shown: Kernel) -> None:
    panel = Panel(shown)
    identity = panel.active
    end = value(shown, "len(session)")
    said = panel.heard(panel.say({"type": "position", "id": identity, "position": 10**6}))
    assert said == [{"type": "position", "id": identity, "position": end}]


def test_breakpoints_set_in_a_panel_and_in_python_are_the_same(shown: Kernel) -> None:
    first, second = Panel(shown), Panel(shown)
    entry = {"id": 1, "on": "Sum", "log": None, "ignore": 0, "every": 1, "enabled": True}
    mark = {"type": "marks", "id": first.active, "breakpoints": [entry], "watches": ["norm(a)"]}
    messages = first.say(mark)
    assert value(shown, "[one.on for one in session.breakpoints]") == ["Sum"]
    assert (first.heard(messages)[:1], second.heard(messages)[-1]) == ([], mark)
    said = first.heard(shown.run("session.watches[0].remove()"))
    assert said == [{**mark, "watches": []}]


def test_breakpoints_that_cannot_be_are_put_back_in_the_panel(shown: Kernel) -> None:
    panel = Panel(shown)
    shown.run("session.break_on('Tanh')")
    twice = [{"id": 2, "on": "x"}, {"id": 2, "on": "a"}]
    said = panel.heard(panel.say({"type": "marks", "id": panel.active, "breakpoints": twice, "watches": []}))
    assert [[one["on"] for one in message["breakpoints"]] for message in said] == [["Tanh"]]
    assert value(shown, "[one.on for one in session.breakpoints]") == ["Tanh"]


def test_a_session_that_is_only_made_is_listed_and_takes_nothing_over_until_it_is_chosen(shown: Kernel) -> None:
    shown.run("import gc; gc.collect()")  # else it may be said at any time that sessions of other tests are gone
    panel, other = Panel(shown), Panel(shown)
    (said,) = panel.heard(shown.run("first = debug(); second = debug()"))
    made = {one["id"]: one["label"] for one in said["sessions"][-2:]}
    assert list(made) == value(shown, "[first.id, second.id]")
    cell = value(shown, "len(In) - 1") - 2
    assert list(made.values()) == [f"twice · cell {cell}", f"twice · cell {cell} (2)"]
    assert [message["type"] for message in panel.heard(shown.run("session.step()"))] == ["position"]
    messages = panel.say({"type": "choose", "id": list(made)[1]})
    for one in (panel, other):
        assert [(message["type"], message["id"]) for message in one.heard(messages)] == [("session", list(made)[1])]
    assert panel.heard(shown.run("session.step()")) == []


def test_who_chooses_a_session_that_is_gone_is_not_left_with_another_one(shown: Kernel) -> None:
    panel, other = Panel(shown), Panel(shown)
    messages = panel.say({"type": "choose", "id": "gone"})
    assert (panel.heard(messages), other.heard(messages)) == ([{"type": "none"}], [])
    said = panel.heard(panel.say({"type": "choose", "id": panel.active}))
    assert [(message["type"], message["id"]) for message in said] == [("session", panel.active)]


def test_a_panel_that_chose_a_session_that_is_gone_is_shown_the_active_one_when_that_is_displayed(
    shown: Kernel,
) -> None:
    panel, other = Panel(shown), Panel(shown)
    panel.say({"type": "choose", "id": "gone"})
    messages = shown.run("display(session)")
    assert [(message["type"], message["id"]) for message in panel.heard(messages)] == [("session", panel.active)]
    assert other.heard(messages) == []
    assert panel.heard(shown.run("display(session)")) == []


def test_a_session_that_a_message_made_has_no_cell_in_its_label(shown: Kernel) -> None:
    shown.run("""
from comm import get_comm_manager
made = []
get_comm_manager().register_target("maker", lambda comm, message: made.append(debug()))
""")
    shown.send("comm_open", comm_id="maker", target_name="maker", data={})
    assert Panel(shown).greeting[0]["sessions"][-1]["label"].startswith("twice")
    assert "cell" not in Panel(shown).greeting[0]["sessions"][-1]["label"]


def test_displaying_an_older_session_shows_it_again(shown: Kernel) -> None:
    panel = Panel(shown)
    shown.run("newer = debug()")
    shown.run("display(newer)")
    said = panel.heard(shown.run("display(session)"))
    assert [message["id"] for message in said] == [value(shown, "session.id")]
    assert panel.heard(shown.run("newer.step()")) == []


def test_a_session_that_is_gone_is_not_kept_alive_by_panels(shown: Kernel) -> None:
    panel = Panel(shown)
    said = panel.heard(shown.run("import gc; lost = debug(); display(lost)"))
    assert said[-1]["type"] == "session"
    listed, nothing = panel.heard(shown.run("del lost; gc.collect();"))
    assert said[-1]["id"] not in [one["id"] for one in listed["sessions"]]
    assert nothing == {"type": "none"}
    stale = panel.say({"type": "position", "id": said[-1]["id"], "position": 1})
    assert panel.heard(stale) == [{"type": "none"}]


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"type": "position"},
        {"type": "position", "id": "x", "position": "1"},
        {"type": "position", "id": "x", "position": 1.5},
        {"type": "position", "id": None, "position": 1},
        {"type": "run", "code": "1/0"},
        {"type": ["position"], "id": {}, "position": []},
    ],
)
def test_a_message_that_makes_no_sense_is_ignored_with_a_warning(shown: Kernel, data: object) -> None:
    panel = Panel(shown)
    messages = panel.say(data)
    assert panel.heard(messages) == []
    logged = "".join(message["content"]["text"] for message in messages if message["msg_type"] == "stream")
    assert "not understood and is ignored" in logged
    said = panel.heard(shown.run("session.step()"))
    assert [message["type"] for message in said] == ["position"]


def test_a_panel_that_closed_is_not_spoken_to(shown: Kernel) -> None:
    panel = Panel(shown)
    shown.send("comm_close", comm_id=panel.comm, data={})
    assert panel.heard(shown.run("session.step()")) == []


def test_the_kernel_gives_a_sign_that_a_page_can_find_later(shown: Kernel) -> None:
    comms = value(shown, "[c.target_name for c in get_ipython().kernel.comm_manager.comms.values()]")
    assert "gradviz" in comms
