"""The lesson with a model of PyTorch in a real JupyterLab: modules are groups, the NaN is found, its line is there."""

import pytest
from playwright.sync_api import expect

from tests.browser.jupyter_server import REPOSITORY
from tests.browser.lab_page import LabPage
from tests.browser.view import View

LESSON = REPOSITORY / "demos" / "07-a-nan-in-a-real-model.ipynb"
WIDGET_CELL = 4


@pytest.mark.slow
def test_the_lesson_finds_the_line_that_makes_a_nan(lab: LabPage) -> None:
    lab.open(LESSON)
    lab.run_cells(WIDGET_CELL)
    view = View(lab.page, lab.output(WIDGET_CELL).locator(".gradviz"))
    expect(view.narration).to_contain_text("blocks.1.var_grad@0 = SqrtBackward0")
    value = view.inspector.get_by_role("tabpanel", name="Value")
    expect(value).to_contain_text("variance.sqrt()")
    expect(value).to_contain_text("called on cell 2:4")
    group = view.drawing.locator(".node.group").filter(has_text="blocks")
    expect(group.first).to_be_visible()
    view.press("Home")
    find = view.root.get_by_role("combobox", name="Run to")
    find.fill("NaN")
    find.press("Enter")
    expect(view.narration).to_contain_text("SqrtBackward0")
    view.press("ArrowLeft", "ArrowLeft")
    expect(view.narration).to_contain_text("sqrt (blocks.1, cell 2:4) is next")
    lab.run_rest_from(WIDGET_CELL + 1)
    expect(lab.output(lab.code_cells.count())).to_contain_text("There is nothing wrong with stem.weight_grad@0.")
