"""Progress of what takes long, where somebody looks: in a kernel, in a terminal, and nowhere else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from nbclient import NotebookClient
from nbformat import v4

ROOT = Path(__file__).resolve().parents[2]

SLOW = """
import numpy as np
from gradviz import Net, Workspace, debug
import gradviz.runtime.pace as progress
progress.PATIENCE = progress.PAUSE = 0.0
net, ws = Net("chain"), Workspace()
ws.feed("x0", np.ones(2))
for place in range(20):
    net.Tanh(f"x{place}", f"x{place + 1}")
session = debug(net, ["x20"], workspace=ws)
"""


def test_a_notebook_shows_one_output_that_changes_and_ends_with_what_was_recorded():
    notebook = v4.new_notebook(cells=[v4.new_code_cell(SLOW)])
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(ROOT)}}).execute()
    (output,) = notebook.cells[0].outputs
    assert output.data["text/plain"].startswith("Recorded 41 of 41 operators, 143 events in ")
    assert "<progress" not in output.data["text/html"]


PAGE = f"""{SLOW}
session.to_html(PATH)
"""
STAGES = ("Recorded 41 of 41", "Described 143 events", "Laid out 20 of 20 operators", "Wrote a page with 143 events")


def test_a_page_tells_of_the_document_and_the_layout_that_it_needs(tmp_path):
    source = PAGE.replace("PATH", repr(str(tmp_path / "page.html")))
    notebook = v4.new_notebook(cells=[v4.new_code_cell(source)])
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(ROOT)}}).execute()
    told = [output.data["text/plain"] for output in notebook.cells[0].outputs]
    assert all(text.startswith(stage) for text, stage in zip(told, STAGES, strict=True))
    assert not any("<progress" in output.data["text/html"] for output in notebook.cells[0].outputs)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_while_a_page_is_written_leaves_the_file_that_was_there(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("what was there")
    source = f"""{SLOW}
import os, signal
import gradviz.notebook.page as page
whole = page.encode
page.encode = lambda trace: (os.kill(os.getpid(), signal.SIGINT), whole(trace))[1]
try:
    session.to_html({str(path)!r})
except KeyboardInterrupt:
    print("ended", session.position)
page.encode = whole
session.to_html({str(tmp_path / "again.html")!r})
"""
    ended = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout == "ended 0\n"
    assert path.read_text() == "what was there"
    assert [one.name for one in sorted(tmp_path.iterdir())] == ["again.html", "page.html"]


@pytest.mark.usefixtures("ctrl_c")
def test_the_stop_button_leaves_a_session_with_what_was_recorded():
    stopped = """
import os, signal
import numpy as np
import gradviz

@gradviz.register_kernel("Stop")
def stop(op, x):
    os.kill(os.getpid(), signal.SIGINT)
    return x * 1

net, ws = gradviz.Net("stopped"), gradviz.Workspace()
net.Stop("x", "a")
net.Tanh("a", "y")
ws.feed("x", np.ones(2))
session = gradviz.debug(net, ["y"], workspace=ws, skip=1)
print(session.events[-1].error, session.value("a"))
"""
    notebook = v4.new_notebook(cells=[v4.new_code_cell(stopped)])
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(ROOT)}}).execute()
    assert notebook.cells[0].outputs[-1].text == "interrupted [1. 1.]\n"


def test_a_script_prints_nothing():
    ended = subprocess.run([sys.executable, "-c", SLOW], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("", "")


def test_a_terminal_shows_one_line_that_is_gone_at_the_end():
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", SLOW], cwd=ROOT, stderr=theirs, stdout=theirs) as process:
        os.close(theirs)
        shown = read_all(ours)
    assert process.returncode == 0
    assert "\n" not in shown
    assert "Recorded 41 of 41 operators" in shown
    assert shown.endswith("\r")
    assert shown.split("\r")[-2].strip() == ""


@pytest.mark.parametrize(
    "stderr", ["None", "type('Mine', (), {'flush': str})()", "open(os.devnull); sys.stderr.close()"]
)
def test_where_there_is_no_stderr_or_one_that_knows_no_terminal_debug_records_all_the_same(stderr):
    source = f"import os, sys; sys.stderr = {stderr}\n{SLOW}\nprint(len(session))"
    finished = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stdout) == (0, "143\n")


def test_a_terminal_shows_the_stages_of_a_page_one_after_the_other_in_one_line(tmp_path):
    pty = pytest.importorskip("pty")
    source = PAGE.replace("PATH", repr(str(tmp_path / "page.html")))
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", source], cwd=ROOT, stderr=theirs, stdout=theirs) as process:
        os.close(theirs)
        shown = read_all(ours)
    assert process.returncode == 0
    assert "\n" not in shown
    places = [shown.index(stage) for stage in STAGES]
    assert places == sorted(places)
    assert shown.split("\r")[-2].strip() == ""


def read_all(terminal):
    """What is written to a terminal until all have closed it."""
    parts = []
    while True:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:  # Linux says so when the other side is closed
            part = b""
        if not part:
            os.close(terminal)
            return b"".join(parts).decode()
        parts.append(part)
