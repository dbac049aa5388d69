"""Lines of code in JupyterLab: the cell or file that the current operator comes from is marked while one steps."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab_page import START, TWICE_SHOWN, LabPage
from tests.browser.view import View

NET = TWICE_SHOWN.strip()

VARIABLES = """import gradviz, numpy as np
import gradviz.functions as F
x = gradviz.Variable(np.ones(3), name="x")
a = F.tanh(x)
s = F.sum(a * a)
session = gradviz.debug(s)
session.restart()
session"""

TORCH = """import torch, gradviz
x = torch.ones(3, requires_grad=True)
with gradviz.torch.capture():
    a = torch.tanh(x)
    s = (a * a).sum()
session = gradviz.debug(s)
session.restart()
session"""


def marked(lab: LabPage, kind: str) -> Locator:
    """The marked lines of a kind."""
    return lab.page.locator(f".gradviz-lab-{kind}:visible")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "tanh", "total"),
    [
        (NET, 'net.Tanh("x", "a")', 'net.Sum(["a", "a"], "s")'),
        (VARIABLES, "a = F.tanh(x)", "s = F.sum(a * a)"),
        (TORCH, "    a = torch.tanh(x)", "    s = (a * a).sum()"),
    ],
    ids=["net", "variables", "torch"],
)
def test_the_line_of_the_current_operator_is_marked_while_one_steps(
    lab: LabPage, source: str, tanh: str, total: str
) -> None:
    lab.open_cells("1 + 1", f"\n{source}")  # IPython does not count the empty line
    lab.run_cells(2)
    view = View(lab.page, lab.output(2).locator(".gradviz"))
    view.run_to(f"cell 2:{source.splitlines().index(tanh) + 1}")
    expect(marked(lab, "forward")).to_have_text([tanh])
    scrolled = lab.notebook.locator(".jp-WindowedPanel-outer").evaluate("pane => pane.scrollTop")
    view.run_to(f"cell 2:{source.splitlines().index(total) + 1}")
    expect(lab.page.locator(".gradviz-lab-line:visible").first).to_have_text(total)
    view.run_to("x_grad")
    expect(marked(lab, "backward")).to_have_text([tanh])
    assert lab.notebook.locator(".jp-WindowedPanel-outer").evaluate("pane => pane.scrollTop") == scrolled
    lab.run_command("Gradients: Show the Current Line")
    expect(marked(lab, "backward")).to_be_in_viewport()


def test_a_line_is_run_to_and_broken_on_in_its_cell_and_unmarked_once_it_reads_otherwise(lab: LabPage) -> None:
    lab.open_cells(NET)
    lab.run_cells(1)
    view = View(lab.page, lab.output(1).locator(".gradviz"))
    editor = lab.code_cells.first.locator(".cm-content")
    editor.get_by_text("net.Sum").click(button="right")
    lab.page.get_by_role("menuitem", name="Gradients: Run to This Line").click()
    view.expect_at(2)
    expect(marked(lab, "forward")).to_have_text(['net.Sum(["a", "a"], "s")'])
    editor.get_by_text("ws.feed").click(button="right")
    expect(lab.page.get_by_role("menuitem", name=re.compile("Cut Cell"))).to_be_visible()
    expect(lab.page.get_by_role("menuitem", name=re.compile("This Line"))).to_have_count(0)
    lab.page.keyboard.press("Escape")
    dots = lab.code_cells.first.locator(".gradviz-lab-gutter .gradviz-lab-dot")
    dots.last.click(force=True)
    expect(lab.code_cells.first.locator(".gradviz-lab-set")).to_have_count(1)
    expect(view.open_tab("Breakpoints")).to_contain_text("cell 1:4")
    view.press("Home", "Shift+ArrowRight")
    view.expect_at(2)
    dots.last.click(force=True)
    expect(lab.code_cells.first.locator(".gradviz-lab-set")).to_have_count(0)
    editor.get_by_text("net.Sum").click()
    lab.page.keyboard.press("End")
    lab.page.keyboard.type(" ")
    expect(marked(lab, "line")).to_have_count(1)
    lab.page.keyboard.type("# changed")
    expect(marked(lab, "line")).to_have_count(0)
    lab.page.keyboard.press("Control+z")
    expect(marked(lab, "line")).to_have_count(1)


@pytest.mark.slow
def test_the_mark_goes_with_the_widget_and_comes_back_with_the_panel(lab: LabPage) -> None:
    lab.open_cells(NET)
    lab.run_cells(1)
    View(lab.page, lab.output(1).locator(".gradviz")).press("ArrowRight")
    expect(marked(lab, "line")).to_have_count(1)
    lab.page.evaluate("window.jupyterapp.shell.currentWidget.content.widgets[0].model.outputs.clear()")
    expect(marked(lab, "line")).to_have_count(0)
    lab.open_panel()
    expect(marked(lab, "line")).to_have_count(1)
    lab.page.get_by_role("button", name="Restart the kernel", exact=True).click()
    lab.page.get_by_role("button", name="Confirm Kernel Restart").click()
    expect(marked(lab, "line")).to_have_count(0, timeout=START)
    expect(lab.page.locator(".gradviz-lab-gutter")).to_have_count(0)
    lab.wait_until_ready()


@pytest.mark.slow
def test_an_open_file_shows_the_line_that_it_called_an_operator_on(lab: LabPage) -> None:
    module = 'def build(net):\n    net.Tanh("x", "a")\n    net.Sum(["a", "a"], "s")\n'
    (lab.server.root / "parts.py").write_text(module)
    cell = NET.replace(
        'net.Tanh("x", "a")\nnet.Sum(["a", "a"], "s")', 'sys.path.insert(0, ".."); import parts; parts.build(net)'
    )
    lab.open_cells(cell.replace("import gradviz", "import sys, gradviz"))
    lab.run_cells(1)
    view = View(lab.page, lab.output(1).locator(".gradviz"))
    view.press("ArrowRight", "ArrowRight")
    lab.page.evaluate(
        "window.jupyterapp.commands.execute('docmanager:open', {path: 'parts.py', options: {mode: 'split-bottom'}})"
    )
    expect(lab.page.locator(".jp-FileEditor .gradviz-lab-forward")).to_have_text('    net.Sum(["a", "a"], "s")')
