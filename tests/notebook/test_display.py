"""What a session leaves in an output of a real kernel, and outside of one."""

import re
import subprocess
import sys
from html import escape
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest
from nbconvert import HTMLExporter

import gradviz
from gradviz.debugger.document import decode, encode
from gradviz.drawing import svg
from gradviz.notebook import still
from gradviz.notebook.display import mimebundle
from gradviz.notebook.still import SESSION_TYPE
from tests.notebook.conftest import REPOSITORY, Kernel

WIDGET = "application/vnd.jupyter.widget-view+json"


def bundle(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The one output among `messages`."""
    (output,) = [message for message in messages if message["msg_type"] in ("display_data", "execute_result")]
    data: dict[str, Any] = output["content"]["data"]
    return data


def test_an_output_has_the_widget_and_forms_for_where_none_lives(kernel: Kernel) -> None:
    kernel.run("session = debug(); session.step()")
    data = bundle(kernel.run("session"))
    assert set(data) == {WIDGET, SESSION_TYPE, "image/svg+xml", "text/html", "text/plain"}
    assert data[SESSION_TYPE]["position"] == 1
    assert ElementTree.fromstring(data["image/svg+xml"]).tag.endswith("svg")
    assert "a@0 = Tanh(x@0)" in data["text/plain"]


def test_a_widget_follows_what_is_live(kernel: Kernel) -> None:
    kernel.run(
        "import numpy as np\n"
        "short = gradviz.Net('short'); short.Tanh('x', 'a'); fed = gradviz.Workspace(); fed.feed('x', np.ones(2))\n"
        "live = gradviz.live(short, ['a'], workspace=fed)"
    )
    assert "event 0 of 0" in bundle(kernel.run("live"))["text/plain"]
    told = [message["content"]["data"] for message in kernel.run("live.step()") if message["msg_type"] == "comm_msg"]
    states = [one["state"] for one in told if one.get("method") == "update" and "trace" in one["state"]]
    assert [state["position"] for state in states] == [2]
    assert '"Tanh"' in states[0]["trace"]


def saved(data: dict[str, Any]) -> dict[str, Any]:
    """What a notebook keeps of a bundle once JupyterLab or Notebook has shown the widget."""
    return {kind: content for kind, content in data.items() if kind != WIDGET}


def test_a_viewer_without_widgets_shows_picture_and_text(kernel: Kernel) -> None:
    data = bundle(kernel.run("session = debug(); session.run_to('Accumulated'); session"))
    cell = nbformat.v4.new_code_cell("session")
    cell.outputs = [nbformat.v4.new_output("execute_result", saved(data), execution_count=1)]
    notebook = nbformat.v4.new_notebook(cells=[cell])
    nbformat.validate(notebook)
    page, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook)
    shown = Tags(page)
    assert {"svg", "pre", "code"} <= shown.elements
    assert "script" not in shown.elements
    assert "a_grad@0" in page
    assert "is read twice" in page or "are added" in page


@pytest.mark.parametrize("kind", ["image/svg+xml", "text/html", "text/plain"])
def test_each_form_alone_tells_where_the_session_stands(kernel: Kernel, kind: str) -> None:
    data = bundle(kernel.run("session = debug(); session.run_to('Accumulated'); session"))
    text = re.sub(r"<[^>]+>", "", data[kind])
    for words in ("Tanh", "Sum", "x_grad"):
        assert words in text


def test_a_verb_in_a_cell_shows_where_it_led_to_and_another_event_itself(kernel: Kernel) -> None:
    kernel.run("session = debug(); event = session.run_to('Accumulated')")
    data = bundle(kernel.run("session.step()"))
    assert set(data) == {SESSION_TYPE, "image/svg+xml", "text/html", "text/plain"}
    shown = "get_ipython().display_formatter.format(session.event)[0]['text/plain']"
    assert bundle(kernel.run(f"session.narration.replace('`', '') in {shown}")) == {"text/plain": "True"}
    assert bundle(kernel.run("event"))["text/plain"].startswith("Accumulated(")


def test_a_large_picture_is_left_out_and_the_text_stays(kernel: Kernel) -> None:
    data = bundle(
        kernel.run(
            "dense = gradviz.Net('dense')\n"
            "for number in range(1, 150): dense.Sum([f'x{one}' for one in range(number)][-12:], f'x{number}')\n"
            "gradviz.debug(dense, ['x149'])"
        )
    )
    assert "image/svg+xml" not in data
    assert "<svg" not in data["text/html"]
    assert "x1@0 = Sum(x0@0)" in data["text/plain"]
    assert sum(len(str(data[kind])) for kind in ("text/html", "text/plain")) < 200_000


def test_showing_a_session_again_shows_the_same_widget(kernel: Kernel) -> None:
    first = bundle(kernel.run("session = debug(); display(session)"))
    again = bundle(kernel.run("session.step(); display(session)"))
    assert first[WIDGET] == again[WIDGET]
    assert (first[SESSION_TYPE]["position"], again[SESSION_TYPE]["position"]) == (0, 1)


def test_a_session_whose_widget_was_closed_gets_a_new_one(kernel: Kernel) -> None:
    first = bundle(kernel.run("session = debug(); display(session)"))
    again = bundle(kernel.run("import ipywidgets; ipywidgets.Widget.close_all(); display(session)"))
    assert first[WIDGET] != again[WIDGET]


class Tags(HTMLParser):
    """Which elements and attributes there are."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_the_static_forms_escape_every_name_and_run_nothing(session: gradviz.Session) -> None:
    wicked = "<script>alert(1)</script><img src=x onerror=alert(1)>`"
    written = encode(session.trace()).decode()
    read = decode(written.replace("x@0", f"{wicked}@0").replace("Relu", wicked))
    for position in range(len(session) + 1):
        picture = svg(read, position)
        page = still.html(read, position, picture)
        assert escape(wicked.replace("`", "")) in page
        for form in (page, picture):
            tags = Tags(form)
            assert tags.elements.isdisjoint({"script", "img", "iframe", "object", "foreignobject", "style", "a"})
            assert [name for name in tags.attributes if name.startswith("on") or "href" in name] == []


def test_the_text_says_where_it_is_what_happened_and_how_the_program_reads(session: gradviz.Session) -> None:
    recorded = session.trace()
    made = next(index for index, event in enumerate(recorded.events, 1) if event.kind == "Accumulated")
    lines = still.text(recorded, made).splitlines()
    assert lines[0] == f"twice <b>read</b>: event {made} of {len(recorded.events)}"
    assert lines[2] == recorded.narration(made).replace("`", "")
    assert any(line.startswith("* ") and "= Sum(" in line for line in lines)
    assert any(line.startswith("> #") for line in lines)
    assert any(line.endswith("(not made yet)") for line in lines)


def test_outside_a_kernel_a_session_is_text(session: gradviz.Session) -> None:
    assert mimebundle(session) == ({"text/plain": still.text(session.trace(), 0)}, {})


def test_importing_gradviz_in_a_script_loads_nothing_of_jupyter() -> None:
    loaded = "IPython|anywidget|comm|ipykernel|ipywidgets|traitlets"
    program = "import sys, gradviz; print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert [name for name in output.stdout.split() if re.fullmatch(loaded, name)] == []
