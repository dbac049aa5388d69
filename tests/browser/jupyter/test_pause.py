"""A cell that waits at a session: the widget and the side panel steer it, until a person lets the cell go on."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab_page import CONTEXT, START, LabPage
from tests.browser.view import View

TRAIN = """import numpy as np, gradviz, gradviz.functions as F
w = gradviz.Variable(np.array([0.5, -1.0]), name="w")
stood = []
for step in range(5):
    w.cleargrad()
    loss = F.sum(F.tanh(w) * w)
    if step % 2 == 0:
        session = gradviz.debug(loss)
        await session.pause()
        stood.append((step, session.position))
    loss.backward()
    w.data = w.data - 0.1 * w.grad
print("trained")"""

WAITS = "A cell waits."


def begin(page: LabPage, cell: int = 1) -> None:
    """Run a cell that does not end."""
    prompt(page, cell).click()
    page.page.get_by_role("button", name="Run this cell and advance").click()


def waiting(page: LabPage, cell: int = 1) -> View:
    """The one widget in the output of a cell, which says that the cell waits."""
    view = View(page.page, page.output(cell).locator(".gradviz"))
    expect(view.root.get_by_text(WAITS)).to_be_visible(timeout=START)
    expect(prompt(page, cell)).to_have_text("[*]:")
    return view


def prompt(page: LabPage, cell: int = 1) -> Locator:
    return page.code_cells.nth(cell - 1).locator(".jp-InputPrompt")


def test_a_training_loop_waits_at_the_chosen_steps_and_the_widget_steers_each(opened: LabPage) -> None:
    opened.open_cells(TRAIN, "print(stood)")
    begin(opened)
    view = waiting(opened)
    view.press("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft")
    view.expect_at(2)
    opened.shot("waits")
    view.button("Continue cell").click()
    view.expect_at(0)
    waiting(opened)
    view.press("ArrowRight", "r")
    view.expect_at(0)
    waiting(opened)
    view.press("End", "r")
    expect(prompt(opened)).to_have_text("[1]:")
    expect(view.button("Continue cell")).to_have_count(0)
    expect(opened.output(1)).to_contain_text("trained")
    view.press("ArrowLeft")
    opened.run_cells_from(2, 2)
    last = int((view.position.text_content() or "").split()[-1])
    expect(opened.output(2)).to_contain_text(f"[(0, 2), (2, 1), (4, {last})]")


@pytest.mark.slow
def test_the_side_panel_the_palette_and_a_key_steer_and_continue_a_cell_too(lab: LabPage) -> None:
    lab.open_cells(TRAIN, "print(stood)")
    lab.page.get_by_role("tab", name="Gradients (gradviz)").click()
    panel = lab.page.locator("#gradviz-panel")
    begin(lab)
    view = waiting(lab)
    expect(panel.get_by_text(WAITS)).to_be_visible()
    assert panel.locator(".gv-toolbar").evaluate("bar => bar.scrollWidth <= bar.clientWidth")
    panel.get_by_role("button", name="Step", exact=True).click()
    view.expect_at(1)
    lab.shot("panel")
    panel.get_by_role("button", name="Continue cell").click()
    view.expect_at(0)
    waiting(lab)
    lab.page.keyboard.press("ArrowRight")
    view.expect_at(1)
    lab.page.keyboard.press("ArrowRight")
    view.expect_at(2)
    lab.page.evaluate("window.jupyterapp.commands.execute('apputils:activate-command-palette')")
    lab.page.locator(".lm-CommandPalette-input").fill("continue cell")
    lab.page.keyboard.press("Enter")
    view.expect_at(0)
    waiting(lab)
    expect(panel.get_by_text(WAITS)).to_be_visible()
    prompt(lab).click()
    lab.page.keyboard.press("Alt+F11")
    view.expect_at(1)
    lab.page.keyboard.press("Alt+F8")
    expect(prompt(lab)).to_have_text("[1]:")
    expect(panel.get_by_role("button", name="Continue cell")).to_have_count(0)
    lab.run_cells_from(2, 2)
    expect(lab.output(2)).to_contain_text("[(0, 1), (2, 2), (4, 1)]")


@pytest.mark.slow
def test_the_stop_button_ends_the_wait_and_the_next_cell_runs(opened: LabPage) -> None:
    opened.open_cells(TRAIN, "print(session.wait.is_on, stood)")
    begin(opened)
    view = waiting(opened)
    opened.page.get_by_role("button", name="Interrupt the kernel").click()
    expect(prompt(opened)).to_have_text("[1]:")
    expect(view.button("Continue cell")).to_have_count(0)
    assert opened.outputs(1)[-1]["ename"] in ("CancelledError", "KeyboardInterrupt")
    view.press("ArrowRight")
    view.expect_at(1)
    opened.run_cells_from(2, 2)
    expect(opened.output(2)).to_contain_text("False []")


@pytest.mark.slow
def test_a_kernel_that_restarts_leaves_no_cell_waiting(opened: LabPage) -> None:
    opened.open_cells(TRAIN)
    begin(opened)
    view = waiting(opened)
    opened.page.evaluate(f"{CONTEXT}.session.kernel.restart()")
    expect(view.root.locator("..")).to_contain_text("The kernel behind this is gone.", timeout=START)
    expect(view.button("Continue cell")).to_have_count(0)
    view.press("ArrowRight")
    view.expect_at(1)
    opened.wait_until_ready()
    begin(opened)
    waiting(opened).press("r")
    waiting(opened)


@pytest.mark.slow
def test_a_page_that_is_opened_again_finds_the_cell_waiting_and_lets_it_go_on(lab: LabPage) -> None:
    lab.open_cells(TRAIN, "print(stood)")
    begin(lab)
    waiting(lab)
    lab.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    lab.page.reload()
    expect(lab.notebook).to_be_visible(timeout=START)
    lab.page.get_by_role("tab", name="Gradients (gradviz)").click()
    panel = lab.page.locator("#gradviz-panel")
    expect(panel.get_by_text(WAITS)).to_be_visible(timeout=START)
    for _ in range(3):
        expect(panel).to_contain_text("event 0 /")
        expect(panel.get_by_text(WAITS)).to_be_visible()
        panel.get_by_role("button", name="Step", exact=True).click()
        expect(panel).to_contain_text("event 1 /")
        panel.get_by_role("button", name="Continue cell").click()
    expect(panel.get_by_role("button", name="Continue cell")).to_have_count(0)
    lab.run_cells_from(2, 2)
    expect(lab.output(2)).to_contain_text("[(0, 1), (2, 1), (4, 1)]")
