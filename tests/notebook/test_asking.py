"""Questions of views: what a widget and a panel hear, at which position, and what becomes of those that cannot be."""

import gc
from pathlib import Path
from typing import Any

import pytest

import gradviz
from gradviz.debugger.document import decode, encode
from gradviz.notebook.asking import Question, reply
from gradviz.notebook.widget import DebuggerWidget
from tests.debugger.answers.nets import overwritten
from tests.notebook.conftest import Kernel, Panel


def asked(session: gradviz.Session | None, question: Any, *arguments: str | int, position: int = 0) -> dict[str, Any]:
    return reply(session, Question("q", question, list(arguments), position))


@pytest.mark.parametrize(
    ("question", "arguments", "said"),
    [
        ("why_none", ["x@0"], "x@0 has no gradient yet"),
        ("provenance", ["a@0"], "There is nothing wrong with a@0."),
        ("versions", ["a"], "a has 1 version"),
        ("check", ["#0"], "agrees with differences"),
        ("check", ["x@0"], "agrees with differences"),
        ("state", [], "The state at event 3"),
        ("paths", ["x"], "The gradient of x@0 comes along 2 paths"),
        ("diff", [0], "From event 0 to event 3"),
        ("ledger", ["a"], "2 contributions"),
        ("numbers", ["x@0", 1, 0], "x@0, 2 rows of 3"),
    ],
)
def test_every_question_is_answered_at_its_position_and_the_session_stays(
    session: gradviz.Session, question: str, arguments: list[str | int], said: str
) -> None:
    moves: list[int] = []
    session.observe(lambda moved: moves.append(moved.position))
    heard = asked(session, question, *arguments, position=3)
    assert (heard["type"], heard["id"]) == ("answer", "q")
    assert said in " ".join(str(part) for row in heard["blocks"] for part in row)
    assert (session.position, moves) == (0, [])


def test_a_view_saves_a_session_and_replaces_a_file_only_where_it_may(session: gradviz.Session, tmp_path: Path) -> None:
    for form, name in {"recording": "one.gradviz.json", "page": "one.html", "notebook": "one.ipynb"}.items():
        heard = asked(session, "save", form, str(tmp_path / "one"), 0)
        ((_, said, _),) = heard["blocks"]
        assert said.partition(". ")[0] == f"Saved as {tmp_path / name}"
        assert (" operators of the net, " in said) == (form == "notebook")
        assert (tmp_path / name).stat().st_size > 0
    page = tmp_path / "one.html"
    page.write_text("mine")
    refused = asked(session, "save", "page", str(page), 0)
    assert refused["problem"] == f"{page} is there already; it is left as it is."
    assert page.read_text() == "mine"
    asked(session, "save", "page", str(page), 1)
    assert page.read_text().startswith("<!doctype html>")
    assert "no folder" in asked(session, "save", "page", str(tmp_path / "nowhere" / "one"), 0)["problem"]
    arrays = tmp_path / "two.npz"  # where those of the notebook may go
    arrays.write_text("mine")
    refused = asked(session, "save", "notebook", str(tmp_path / "two"), 0)
    assert refused["problem"] == f"{arrays} is there already; it is left as it is."
    assert (arrays.read_text(), (tmp_path / "two.ipynb").exists()) == ("mine", False)


def test_what_it_hears_is_what_python_says(session: gradviz.Session) -> None:
    session.run_to("Accumulated")
    told = str(session.versions("a"))
    heard = asked(session, "versions", "a", position=session.position)
    (grid,) = heard["blocks"]
    assert grid[:2] == ["grid", told.splitlines()[0]]
    assert all(cell in told for row in grid[3] for cell in row)


def test_a_check_and_a_page_of_numbers_bring_their_data(session: gradviz.Session) -> None:
    assert asked(session, "check", "#0")["data"]["verdict"] == "agrees"
    assert asked(session, "numbers", "x@0", 1, 2)["data"]["numbers"] == [[1.0]]
    assert asked(session, "versions", "a")["data"] is None


@pytest.mark.parametrize(
    ("question", "arguments", "position", "problem"),
    [
        ("why_none", ["nothing"], 0, "The recording has no blob nothing."),
        ("why_none", [], 0, "missing a required argument"),
        ("state", ["x"], 0, "too many positional arguments"),
        ("diff", [999], 0, "a=999 is no answerable question."),
        ("versions", ["x"], 999, "position=999 is no answerable question."),
        ("numbers", ["x@0", 2, 0], 0, "row=2 is no answerable question."),
    ],
)
def test_what_cannot_be_answered_says_so_with_ways_out(
    session: gradviz.Session, question: str, arguments: list[str | int], position: int, problem: str
) -> None:
    heard = asked(session, question, *arguments, position=position)
    assert problem in heard["problem"]
    assert isinstance(heard["ways_out"], list)


def test_the_ssa_form_is_shown_by_the_widget_that_asked_for_it_and_the_session_by_the_next_output() -> None:
    refused = overwritten()
    widget = DebuggerWidget(refused)
    widget._handle_custom_msg({"type": "question", "id": "q", "question": "to_ssa", "arguments": [], "position": 3}, [])
    whole = refused.to_ssa()
    assert (widget.trace, widget.position) == (encode(whole.trace()).decode(), 0)
    whole.step()
    assert widget.position == 1
    widget.show(refused)
    whole.step()
    assert (decode(widget.trace.encode()).name, widget.position) == ("overwritten", 3)


def test_a_page_is_saved_beside_the_notebook_and_replaces_older_pages_alone(
    session: gradviz.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = tmp_path / "lesson.ipynb"
    notebook.touch()
    monkeypatch.setenv("JPY_SESSION_NAME", str(notebook))
    files = [asked(session, "save", "page", "", 1, position=position)["data"]["file"] for position in (2, 3)]
    assert files == ["twice -b-read--b.html"] * 2
    page = tmp_path / files[0]
    assert 'data-position="3"' in page.read_text(encoding="utf-8")
    page.write_text("somebody's own")
    assert asked(session, "save", "page", "", 1)["data"]["file"] == "twice -b-read--b-2.html"
    assert page.read_text() == "somebody's own"


def test_a_session_that_is_gone_says_so(session: gradviz.Session) -> None:
    assert "The session is gone" in asked(None, "state")["problem"]


def test_blobs_of_the_outermost_net_are_asked_for_behind_a_colon(session: gradviz.Session) -> None:
    assert asked(session, "versions", ":a") == asked(session, "versions", "a")
    assert str(session.check(":#0")) == str(session.check("#0"))


@pytest.fixture
def shown(kernel: Kernel) -> Kernel:
    """The kernel with a new `session` at its beginning, displayed."""
    kernel.run("session = debug(); display(session)")
    return kernel


QUESTION = {"type": "question", "id": "1", "question": "why_none", "arguments": ["x"], "position": 2}


def test_a_widget_hears_the_answer_over_its_comm(kernel: Kernel) -> None:
    kernel.run(
        "from gradviz.notebook.widget import DebuggerWidget; session = debug(); widget = DebuggerWidget(session)"
    )
    (opened,) = [
        message["content"]["comm_id"]
        for message in kernel.run("widget = DebuggerWidget(session)")
        if message["msg_type"] == "comm_open" and message["content"]["target_name"] == "jupyter.widget"
        and "trace" in message["content"]["data"]["state"]
    ]  # fmt: skip
    messages = kernel.send("comm_msg", comm_id=opened, data={"method": "custom", "content": QUESTION})
    heard = [message["content"]["data"] for message in messages if message["msg_type"] == "comm_msg"]
    (content,) = [data["content"] for data in heard if data["method"] == "custom"]
    assert content["blocks"][0] == ["paragraph", "x@0 has no gradient yet: x_grad@0 comes with event 12.", True]


def test_only_the_panel_that_asks_hears_the_answer(shown: Kernel) -> None:
    first, second = Panel(shown), Panel(shown)
    messages = first.say({"type": "ask", "id": first.active, "question": QUESTION})
    (heard,) = first.heard(messages)
    assert (heard["type"], heard["id"]) == ("answer", "1")
    assert "has no gradient yet" in heard["blocks"][0][1]
    assert second.heard(messages) == []


def test_a_panel_that_asks_another_session_hears_that_it_is_gone(shown: Kernel) -> None:
    panel = Panel(shown)
    (heard,) = panel.heard(panel.say({"type": "ask", "id": "another", "question": QUESTION}))
    assert "The session is gone" in heard["problem"]


def test_a_panel_that_asks_a_session_that_is_not_the_active_one_any_more_hears_that(shown: Kernel) -> None:
    panel = Panel(shown)
    shown.run("before = session; session = debug(); display(session)")
    (heard,) = panel.heard(panel.say({"type": "ask", "id": panel.active, "question": QUESTION}))
    assert heard["problem"] == "Another session is the active one by now."


def test_a_widget_whose_session_is_gone_hears_that(session: gradviz.Session) -> None:
    made = gradviz.debug(session.net, ["s"])
    widget = DebuggerWidget(made)
    del made
    gc.collect()
    heard: list[Any] = []
    widget.send = heard.append  # type: ignore[method-assign]
    widget._handle_custom_msg(QUESTION, [])
    assert "The session is gone" in heard[0]["problem"]


@pytest.mark.parametrize(
    "content",
    [
        None,
        {},
        {**QUESTION, "question": "move_to"},
        {**QUESTION, "arguments": [None]},
        {**QUESTION, "position": "2"},
        {**QUESTION, "type": "run"},
    ],
)
def test_a_message_that_is_no_question_is_ignored_with_a_warning(
    session: gradviz.Session, caplog: pytest.LogCaptureFixture, content: Any
) -> None:
    widget = DebuggerWidget(session)
    widget._handle_custom_msg(content, [])
    assert "not understood and is ignored" in caplog.text
    assert session.position == 0


def test_a_view_lets_a_pass_go_on_that_stands_still_at_the_end_of_its_session() -> None:
    ws = gradviz.Workspace()
    ws.feed("x", [0.5, -1.0])
    net = gradviz.Net("live")
    net.Tanh("x", "a")
    live = gradviz.live(net, ["a"], workspace=ws)
    begun = live.session
    assert begun.view().upcoming == "#0 Tanh"
    assert asked(begun, "advance", "step") == {"type": "answer", "id": "q", "blocks": [], "data": None}
    assert live.session.events[-1].kind == "Ran"
    refused = asked(begun, "advance", "step")
    assert "another session shows what has happened since" in refused["problem"]
    assert "cannot be asked so" in asked(live.session, "advance")["problem"]
    asked(live.session, "advance", "run_to", "x_grad", position=0)
    assert live.next is None
    assert live.session.view().upcoming is None
    assert "the pass is over" in asked(live.session, "advance", "finish")["problem"]
    assert asked(begun, "advance", "abort")["problem"]


def test_what_fails_where_a_pass_stands_still_is_said_and_it_stays_there() -> None:
    net = gradviz.Net("live")
    net.Mul(["x", "k"], "a")
    ws = gradviz.Workspace()
    ws.feed("x", [0.5, -1.0])
    live = gradviz.live(net, ["a"], workspace=ws)
    heard = asked(live.session, "advance", "step")
    assert "reads k, which nobody fed" in heard["problem"]
    assert live.session.view().upcoming == "#0 Mul"


def test_what_stays_in_the_output_is_of_where_the_session_stands(session: gradviz.Session) -> None:
    session.finish()
    heard = asked(session, "still", position=1)
    assert heard["data"]["text/plain"].startswith(f"{session.name}: event {len(session)} of ")
    assert session.position == len(session)
