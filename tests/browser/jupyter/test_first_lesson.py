"""The first demo in a real JupyterLab: it runs, and what moves in its cells moves in its widget."""

import pytest
from playwright.sync_api import expect

from tests.browser.jupyter_server import REPOSITORY
from tests.browser.lab_page import LabPage
from tests.browser.view import View

LESSON = REPOSITORY / "demos" / "01-first-backward-pass.ipynb"
WIDGET_CELL = 3


@pytest.mark.slow
def test_the_lesson_runs_and_moves_in_python_and_in_its_widget_are_one(lab: LabPage) -> None:
    lab.open(LESSON)
    count = lab.code_cells.count()
    assert count >= 20
    lab.run_cells(WIDGET_CELL)
    view = View(lab.page, lab.output(WIDGET_CELL).locator(".gradviz"))
    view.press("End", "ArrowLeft", "ArrowLeft", "ArrowLeft")
    moved = view.position.text_content() or ""
    lab.run_cells_from(WIDGET_CELL + 1, 5)
    expect(lab.output(5)).to_contain_text("The pass starts at `loss@0`")
    expect(view.position).not_to_have_text(moved)
    expect(view.narration).to_contain_text("SoftmaxWithLoss #6")
    lab.run_rest_from(6)
    expect(lab.notebook.locator(".jp-RenderedImage img").first).to_be_attached()
