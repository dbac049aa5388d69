"""The first demo in a real JupyterLab: it runs, the widget steps by keys, and an accumulation can be looked at."""

import re

from playwright.sync_api import Locator, expect

from tests.browser.jupyter_server import REPOSITORY
from tests.browser.lab_page import LabPage

LESSON = REPOSITORY / "demos" / "01-first-backward-pass.ipynb"
WIDGET_CELL = 3


def opened_widget(lab: LabPage) -> Locator:
    """The widget of the lesson's first session."""
    lab.open(LESSON)
    lab.run_cells(WIDGET_CELL)
    widget = lab.output(WIDGET_CELL).locator(".gradviz")
    expect(widget).to_be_visible()
    widget.scroll_into_view_if_needed()
    return widget


def take_focus(widget: Locator) -> None:
    """Clicks into the widget as a person does: JupyterLab, done with a cell, still moves the focus on its own."""
    widget.locator(".gv-narration").click()


def position(widget: Locator) -> Locator:
    return widget.locator(".gv-position")


def test_the_first_screen_shows_the_net_and_the_arrow_keys_move_it(lab: LabPage) -> None:
    widget = opened_widget(lab)
    expect(position(widget)).to_have_text(re.compile(r"event 0 / \d+"))
    expect(widget.locator(".gv-graph svg g.node.forward")).to_have_count(7)
    expect(widget.locator(".gv-program")).to_contain_text("h@0 = FC(x@0, w1@0, b1@0)")
    take_focus(widget)
    lab.page.keyboard.press("ArrowRight")
    lab.page.keyboard.press("ArrowRight")
    expect(position(widget)).to_have_text(re.compile(r"event 2 / \d+"))
    lab.page.keyboard.press("ArrowLeft")
    expect(position(widget)).to_have_text(re.compile(r"event 1 / \d+"))
    lab.page.keyboard.press("End")
    expect(widget.locator(".gv-narration")).to_contain_text("the end")
    lab.page.keyboard.press("Home")
    expect(position(widget)).to_have_text(re.compile(r"event 0 / \d+"))
    lab.shot("first-screen")


def test_stepping_to_the_first_accumulation_changes_graph_narration_and_ledger(lab: LabPage) -> None:
    widget = opened_widget(lab)
    narration, ledger = widget.locator(".gv-narration"), widget.locator(".gv-inspector")
    total = widget.locator("g.node.accumulation")
    expect(total).to_have_class(re.compile(r"\bfuture\b"))
    expect(narration).not_to_contain_text("is read by")
    take_focus(widget)
    for _ in range(60):
        lab.page.keyboard.press("ArrowRight")
        if "Accumulate" in (widget.locator(".gv-kind").text_content() or ""):
            break
    expect(narration).to_contain_text("a@0 is read by FC #2 and Sum #4")
    expect(total).to_have_class(re.compile(r"\bnew\b"))
    expect(ledger).to_contain_text("sum of 2 contributions")
    expect(ledger).to_contain_text("FCGradient #2")
    expect(ledger).to_contain_text("cancellation")
    lab.shot("accumulation")


def test_moves_in_python_and_in_the_browser_are_one(lab: LabPage) -> None:
    widget = opened_widget(lab)
    take_focus(widget)
    lab.page.keyboard.press("End")
    for _ in range(3):
        lab.page.keyboard.press("ArrowLeft")
    moved = position(widget).text_content() or ""
    lab.run_cells_from(WIDGET_CELL + 1, 5)
    expect(lab.output(5)).to_contain_text("The pass starts at `loss@0`")
    expect(position(widget)).not_to_have_text(moved)
    expect(widget.locator(".gv-narration")).to_contain_text("SoftmaxWithLoss #6")


def test_the_whole_lesson_runs(lab: LabPage) -> None:
    lab.open(LESSON)
    count = lab.code_cells.count()
    lab.run_cells(count)
    assert count >= 20
    expect(lab.notebook.locator(".jp-RenderedImage img").first).to_be_attached()
    lab.shot("end")
