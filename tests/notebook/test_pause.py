"""A cell that waits at a session in a real kernel, until a panel or a widget lets it go on, or it is interrupted."""

import ast
import asyncio
import os
import signal
from typing import Any

import pytest

import gradviz
from tests.notebook.conftest import Kernel, Panel


def value(kernel: Kernel, expression: str) -> Any:
    """The value of an expression in the kernel."""
    (output,) = [message for message in kernel.run(expression) if message["msg_type"] == "execute_result"]
    return ast.literal_eval(output["content"]["data"]["text/plain"])


class Pausing:
    """A cell that has come to a pause, and the panel that looks at it."""

    def __init__(self, kernel: Kernel, code: str) -> None:
        self._kernel = kernel
        self.panel = Panel(kernel)
        self._cell = kernel.begin(code)
        self.heard: list[dict[str, Any]] = []
        self.messages = self.until_it_waits()

    def until_it_waits(self) -> list[dict[str, Any]]:
        """The messages up to the next pause."""
        messages = self._kernel.until(lambda one: self._said(one).get("waits") is True)
        self.heard += messages
        self.session = self._said(messages[-1])["id"]
        return messages

    def _said(self, message: dict[str, Any]) -> dict[str, Any]:
        return next(iter(self.panel.heard([message])), {})

    def say(self, **data: Any) -> None:
        """Say something in the panel."""
        self._kernel.tell("comm_msg", comm_id=self.panel.comm, data={"id": self.session, **data})

    def say_in_widget(self, **content: Any) -> None:
        """Say something in the widget that the cell has shown."""
        (widget,) = {
            one["content"]["comm_id"]
            for one in self.messages
            if one["msg_type"] == "comm_open" and "trace" in one["content"]["data"].get("state", {})
        }
        self._kernel.tell("comm_msg", comm_id=widget, data={"method": "custom", "content": content})

    @property
    def shown(self) -> Any:
        """The session that this widget shows now, by its id."""
        states = [one["content"]["data"].get("state", {}) for one in self.heard if "comm_id" in one["content"]]
        return [state["session"] for state in states if "session" in state][-1]

    def to_its_end(self) -> list[dict[str, Any]]:
        """All messages until the cell has ended, whatever brought them."""
        return self._kernel.until(self._is_end)

    def _is_end(self, message: dict[str, Any]) -> bool:
        is_idle = message["content"].get("execution_state") == "idle"
        return is_idle and message["parent_header"].get("msg_id") == self._cell


def kinds(messages: list[dict[str, Any]]) -> list[str]:
    return [message["msg_type"] for message in messages]


def test_a_panel_steers_the_session_of_a_cell_that_waits_and_lets_it_go_on(kernel: Kernel) -> None:
    cell = Pausing(kernel, "session = debug()\nevent = await session.pause()\nstood = session.position")
    cell.say(type="position", position=3)
    cell.say(type="go_on")
    ended = cell.to_its_end()
    assert {"type": "wait", "id": cell.session, "waits": False} in cell.panel.heard(ended)
    assert value(kernel, "stood, event is session.events[2], session.wait.is_on") == (3, True, False)


def test_the_cell_shows_the_session_and_its_widget_steers_it(kernel: Kernel) -> None:
    cell = Pausing(kernel, "session = debug()\nawait session.pause()\nstood = session.position")
    assert "display_data" in kinds(cell.messages)
    change = {"type": "change", "by": "a page", "turn": 1, "session": cell.session, "state": {"position": 2}}
    cell.say_in_widget(**change)
    cell.say_in_widget(**change | {"session": "the one before", "state": {"position": 1}})
    cell.say_in_widget(type="go_on")
    messages = kernel.until(lambda one: one["content"].get("data", {}).get("content") == change)
    assert not [one for one in messages if "position" in one["content"].get("data", {}).get("state", {})], (
        "an echo would take a page that steps quickly back in time"
    )
    cell.to_its_end()
    assert value(kernel, "stood") == 2


def test_a_session_that_the_cell_has_shown_is_not_shown_again(kernel: Kernel) -> None:
    cell = Pausing(kernel, "session = debug(); display(session)\nfor _ in range(2): await session.pause()")
    assert kinds(cell.messages).count("display_data") == 1
    cell.say(type="go_on")
    assert "display_data" not in kinds(cell.until_it_waits())
    cell.say(type="go_on")
    assert "display_data" not in kinds(cell.to_its_end())


def test_a_loop_shows_one_session_after_the_other_in_one_widget(kernel: Kernel) -> None:
    cell = Pausing(kernel, "for _ in range(2):\n    session = debug()\n    await session.pause()")
    first = cell.session
    cell.say_in_widget(type="go_on")
    messages = cell.until_it_waits()
    assert cell.session != first
    assert "display_data" not in kinds(messages)
    assert [one for one in messages if "trace" in one["content"].get("data", {}).get("state", {})]
    cell.say_in_widget(type="go_on")
    cell.to_its_end()


def test_a_loop_that_comes_back_to_a_session_shows_that_in_its_widget_again(kernel: Kernel) -> None:
    code = """
sessions = [debug(), debug()]
for session in sessions * 2: await session.pause()
"""
    cell = Pausing(kernel, code)
    for at in range(4):
        assert cell.session == cell.shown
        cell.say_in_widget(type="go_on")
        messages = cell.to_its_end() if at == 3 else cell.until_it_waits()
        assert "display_data" not in kinds(messages)


def test_sessions_at_which_a_cell_waits_at_once_have_each_a_widget(kernel: Kernel) -> None:
    code = """
import asyncio
one, other = debug(), debug()
await asyncio.gather(one.pause(), other.pause())
"""
    cell = Pausing(kernel, code)
    cell.messages += cell.until_it_waits()
    opened = [one["content"] for one in cell.messages if one["msg_type"] == "comm_open"]
    widgets = {
        one["data"]["state"]["session"]: one["comm_id"] for one in opened if "trace" in one["data"].get("state", {})
    }
    assert len(widgets) == kinds(cell.messages).count("display_data") == 2
    for widget in widgets.values():
        kernel.tell("comm_msg", comm_id=widget, data={"method": "custom", "content": {"type": "go_on"}})
    cell.to_its_end()
    assert value(kernel, "one.wait.is_on, other.wait.is_on") == (False, False)


def test_an_interrupt_ends_the_wait(kernel: Kernel) -> None:
    process = value(kernel, "__import__('os').getpid()")
    cell = Pausing(kernel, "session = debug()\nawait session.pause()")
    os.kill(process, signal.SIGINT)
    (error,) = [one["content"]["ename"] for one in cell.to_its_end() if one["msg_type"] == "error"]
    assert error in ("CancelledError", "KeyboardInterrupt")
    assert value(kernel, "session.wait.is_on") is False


def test_a_condition_that_nothing_fits_lets_the_cell_run_and_one_that_fits_moves_there(kernel: Kernel) -> None:
    cell = Pausing(
        kernel,
        "session = debug()\nnothing = await session.pause(when='norm > 1e9')\nat = session.position\n"
        "await session.pause(when='Accumulated')",
    )
    cell.say(type="go_on")
    cell.to_its_end()
    assert value(kernel, "nothing, at, type(session.event).__name__") == (None, 0, "Accumulated")


def test_what_is_no_target_is_refused_before_anything_waits(session: gradviz.Session) -> None:
    for when in ("nrom > 1", "nobody"):
        with pytest.raises(gradviz.GradvizError, match=r"nrom|nobody"):
            asyncio.run(session.pause(when))
    assert session.position == 0


def test_a_second_pause_at_one_session_is_refused_and_the_first_goes_on_waiting(kernel: Kernel) -> None:
    code = """
import asyncio
session = debug()
first = asyncio.create_task(session.pause())
await asyncio.sleep(0)
try:
    await session.pause()
except gradviz.GradvizError as error:
    said = error.kind, session.wait.is_on
await first
"""
    cell = Pausing(kernel, code)
    cell.say(type="go_on")
    cell.to_its_end()
    assert value(kernel, "said") == ("is_paused", True)


def test_a_live_pass_waits_too_and_its_widget_goes_along_with_what_is_run(kernel: Kernel) -> None:
    code = """
import asyncio
live = gradviz.live(net, ["s"], workspace=ws)
asyncio.get_running_loop().call_later(0.1, live.step)
await live.pause()
ran = len(live.session)
"""
    cell = Pausing(kernel, code)
    first = cell.session
    messages = kernel.until(lambda one: any("trace" in said for said in cell.panel.heard([one])))
    (said,) = cell.panel.heard(messages[-1:])
    assert (said["id"] != first, said["waits"]) == (True, True)
    cell.session = said["id"]
    cell.say(type="go_on")
    cell.to_its_end()
    assert value(kernel, "ran > 0")


def test_a_program_that_runs_a_notebook_without_a_person_is_not_held_up(kernel: Kernel) -> None:
    # `run` says that nobody can be asked.
    messages = kernel.run("session = debug()\nawait session.pause()")
    said = "".join(one["content"]["text"] for one in messages if one["msg_type"] == "stream")
    assert "pause() does not wait: no person is at this notebook" in said


def test_a_script_is_not_held_up(session: gradviz.Session) -> None:
    with pytest.warns(UserWarning, match="this is no Jupyter kernel") as warned:
        assert asyncio.run(session.pause("Accumulated")) is session.event
    assert type(session.event).__name__ == "Accumulated"
    assert warned[0].filename == __file__ or "asyncio" in warned[0].filename


def test_a_kernel_that_would_hear_no_widget_says_so(kernel: Kernel) -> None:
    kernel.run("from gradviz.notebook import pausing; hears, pausing.HEARS_WIDGETS = pausing.HEARS_WIDGETS, (99, 0)")
    request = kernel.begin("session = debug()\nawait session.pause()")
    (error,) = [one["content"] for one in kernel.answers(request) if one["msg_type"] == "error"]
    kernel.run("pausing.HEARS_WIDGETS = hears")
    assert "hears no widget while a cell waits" in error["evalue"]
    assert "pip install -U 'ipykernel>=99.0'" in error["evalue"]


def test_a_pause_that_nobody_awaits_is_told(session: gradviz.Session) -> None:
    with pytest.warns(RuntimeWarning, match=r"Session\.pause.* was never awaited"):
        session.pause()
