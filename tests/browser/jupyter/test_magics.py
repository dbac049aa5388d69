"""Magics as a person types them: they move the widget, offer blobs, and where one is wrong they say what is right."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.conftest import page_over
from tests.browser.hosts import CHANGE_THEME
from tests.browser.jupyter_server import JupyterServer
from tests.browser.lab_page import RUN, LabPage, NotebookPage
from tests.browser.view import View

BEGIN = """import numpy as np
import gradviz
%load_ext gradviz
net = gradviz.Net("mlp")
net.FC(["x", "w", "b"], "hidden")
net.Tanh("hidden", "a")
net.Sum(["a", "hidden"], "y")
ws = gradviz.Workspace()
for name, shape in {"x": (4, 3), "w": (2, 3), "b": (2,)}.items():
    ws.feed(name, np.ones(shape))
session = gradviz.debug(net, ["y"], workspace=ws)
session"""

INK = "node => getComputedStyle(node).stroke"


def write(lab: LabPage, cell: int, source: str) -> None:
    """Type into a cell."""
    lab.code_cells.nth(cell - 1).locator(".cm-content").click()
    lab.page.keyboard.type(source)


def run(lab: LabPage, cell: int, source: str) -> Locator:
    """Type into a cell and run it; returns its output."""
    write(lab, cell, source)
    lab.page.keyboard.press("Shift+Enter")
    expect(lab.code_cells.nth(cell - 1).locator(".jp-InputPrompt")).to_have_text(f"[{cell}]:", timeout=RUN)
    return lab.output(cell)


@pytest.mark.slow
def test_magics_move_the_widget_and_a_wrong_one_says_what_is_right(lab: LabPage) -> None:
    lab.open_cells(BEGIN, "", "", "", "")
    lab.run_cells(1)
    view = View(lab.page, lab.output(1).locator(".gradviz"))
    run(lab, 2, "%step 3")
    view.expect_at(3)
    output = run(lab, 3, "%run_to Accumulated")
    expect(output).to_contain_text("hidden_grad@1 = ")
    expect(view.narration).to_contain_text("hidden_grad@1 = ")
    tanh = output.locator("svg .node.forward rect").nth(1)
    light = tanh.evaluate(INK)
    lab.shot("light")
    wrong = run(lab, 4, "%step abc")
    expect(wrong).to_contain_text("UsageError: %step takes a number of events, 1 or more, and not abc.")
    expect(wrong).to_contain_text("Usage: %step [n]")
    expect(wrong).not_to_contain_text("Traceback")
    lab.page.evaluate(CHANGE_THEME, "JupyterLab Dark")
    expect(lab.page.locator("#jupyterlab-splash")).to_have_count(0)
    lab.shot("dark")
    assert tanh.evaluate(INK) != light
    lab.page.evaluate(CHANGE_THEME, "JupyterLab Light")  # the server keeps it for the next page
    expect(lab.page.locator("#jupyterlab-splash")).to_have_count(0)


@pytest.mark.slow
def test_blobs_are_offered_behind_a_magic(lab: LabPage) -> None:
    lab.open_cells(BEGIN, "")
    lab.run_cells(1)
    write(lab, 2, "%value hid")
    lab.page.keyboard.press("Tab")
    offered = lab.page.locator(".jp-Completer-match")
    expect(offered).to_have_text(["hidden", "hidden_grad"])
    lab.shot("offered")
    offered.first.click()
    lab.page.keyboard.press("Shift+Enter")
    expect(lab.output(2)).to_contain_text("hidden@0: 4 × 2 float64, norm 11.3", timeout=RUN)
    lab.shot("value")


DATA = """import numpy as np
import torch
%load_ext gradviz
x, w, b = np.linspace(-1, 1, 6).reshape(2, 3), np.ones((2, 3)), np.ones(2)"""


def test_a_cell_runs_its_operators_and_the_next_one_goes_back(lab: LabPage) -> None:
    lab.open_cells(DATA, "", "", "", "")
    lab.run_cells(1)
    table = run(lab, 2, '%%gradviz --net mlp\nnet.FC(["x", "w", "b"], "h")\nnet.Tanh("h", "y")').get_by_role("table")
    expect(table.locator("tbody tr")).to_have_count(2)
    expect(table).to_contain_text("y@0 2 × 2 float64")
    lab.shot("operators")
    output = run(lab, 3, "%%gradviz --net mlp --ys y\n# goes back")
    view = View(lab.page, output.locator(".gradviz"))
    expect(view.narration).to_contain_text("y_autogen_grad@0")
    run(lab, 4, "%step")
    expect(view.narration).to_contain_text("TanhGradient")
    lab.shot("backward")
    output = run(lab, 5, "%%gradviz\nt = torch.ones(3, requires_grad=True)\nloss = (t.exp() * t).sum()")
    of_torch = View(lab.page, output.locator(".gradviz"))
    expect(of_torch.position).to_contain_text("event 0 /")
    lab.shot("torch")


@pytest.fixture
def notebook(server: JupyterServer, browser: Browser, request: pytest.FixtureRequest) -> Iterator[LabPage]:
    """A page over Notebook 7."""
    with page_over(server, browser, request, NotebookPage) as page:
        yield page


@pytest.mark.slow
def test_magics_move_the_widget_in_notebook_7(notebook: LabPage) -> None:
    notebook.open_cells(BEGIN, "", "")
    notebook.errors.clear()  # what Notebook 7 itself reports while it loads is not ours
    notebook.run_cells(1)
    view = View(notebook.page, notebook.output(1).locator(".gradviz"))
    output = run(notebook, 2, "%step 2")
    view.expect_at(2)
    expect(output.locator("svg .node").first).to_be_visible()
    notebook.shot("step")
