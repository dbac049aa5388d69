"""Cells inserted into a notebook from the widget, the side panel and the palette: run, looked at, undone."""

import ast
import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.hosts import Host, PageHost
from tests.browser.lab_page import TWICE_SHOWN, LabPage
from tests.browser.programs import skip_connection
from tests.browser.view import View, box

CELLS = """() => {
  const { content } = window.jupyterapp.shell.currentWidget;
  return [content.widgets.map(({ model }) => [model.type, model.sharedModel.getSource()]), content.activeCellIndex];
}"""
"""Type and source of each cell, and which one is active."""


def cells(lab: LabPage) -> tuple[list[tuple[str, str]], int]:
    found, active = lab.page.evaluate(CELLS)
    return [(kind, source) for kind, source in found], active


def choose(view: Locator, part: str) -> None:
    """Insert cells by the menu of a debugger."""
    view.locator(".gv-menu > summary").click()
    view.get_by_role("button", name=part, exact=True).click()


def run_inserted(lab: LabPage, first: int, last: int) -> dict[str, bool]:
    """Runs code cells; what the last of them says of what was computed."""
    lab.run_cells_from(first, last)
    (shown,) = lab.outputs(last)
    found: dict[str, bool] = ast.literal_eval("".join(shown["data"]["text/plain"]))
    return found


def code_of(lab: LabPage) -> list[str]:
    return [source for kind, source in cells(lab)[0] if kind == "code"]


def test_the_panel_inserts_the_group_of_its_operator_below_the_active_cell_and_one_undo_takes_it_back(
    lab: LabPage,
) -> None:
    lab.open_cells(TWICE_SHOWN, "'the last cell'")
    panel = lab.open_panel()
    lab.run_cells(1)
    view = View(lab.page, panel.locator(".gradviz"))
    view.run_to("TanhGradient")
    lab.code_cells.nth(0).locator(".jp-InputPrompt").click()
    choose(panel, "All of its group")
    expect(view.narration).to_contain_text("cells inserted below.")
    found, active = cells(lab)
    assert active == 1
    assert found[1][0] == "markdown"
    assert found[-1] == ("code", "'the last cell'")
    last = len(code_of(lab)) - 1
    assert run_inserted(lab, 2, last) == {"x_grad": True}
    lab.shot("group")
    lab.code_cells.nth(0).locator(".jp-InputPrompt").click()
    lab.page.keyboard.press("z")
    expect(lab.code_cells).to_have_count(2)
    assert [source for _, source in cells(lab)[0]] == [TWICE_SHOWN, "'the last cell'"]


@pytest.mark.slow
def test_the_widget_inserts_the_whole_pass_below_its_own_cell_as_steps_that_the_live_widget_follows(
    lab: LabPage,
) -> None:
    lab.open_cells(TWICE_SHOWN, "'the last cell'")
    lab.run_cells(1)
    widget = View(lab.page, lab.output(1).locator(".gradviz"))
    choose(widget.root, "The whole pass")
    expect(widget.narration).to_contain_text("cells inserted below.")
    code = code_of(lab)
    assert len([source for source in code if re.search(r"live\w*\.step\(\)", source)]) == 5
    assert cells(lab)[1] == 1
    expect(lab.notebook.get_by_role("heading", name="Steps of twice")).to_be_in_viewport()
    lab.shot("inserted")
    computed = run_inserted(lab, 2, len(code) - 1)
    assert computed["x_grad"]
    assert all(computed.values())
    live = View(lab.page, lab.output(2).locator(".gradviz"))
    expect(live.narration).to_contain_text("The backward pass is whole")
    expect(lab.output(3)).to_contain_text("ran on cpu")
    lab.shot("ran")
    widget.expect_at(0)


@pytest.mark.slow
def test_commands_and_the_menu_insert_too_and_say_what_cannot_be(lab: LabPage) -> None:
    lab.open_cells(TWICE_SHOWN, "'the last cell'")
    lab.run_cells(1)
    lab.code_cells.nth(0).locator(".jp-InputPrompt").click()
    lab.run_command("Gradients: Insert This Operator as Cells")
    expect(lab.notifications()).to_contain_text("Step to one.")
    lab.shot("refused")
    lab.run_command("Gradients: Step")
    lab.open_menu("Run", "Gradients", "Insert This Operator as Cells").click()
    expect(lab.code_cells).to_have_count(5)
    assert run_inserted(lab, 2, 4) == {"a": True}


@pytest.mark.slow
def test_where_nobody_inserts_cells_the_widget_says_so(lab: LabPage) -> None:
    lab.open_cells(TWICE_SHOWN, "'the last cell'")
    lab.run_cells(1)
    widget = View(lab.page, lab.output(1).locator(".gradviz"))
    lab.page.evaluate("document.addEventListener('gradviz-insert', (event) => event.stopImmediatePropagation(), true)")
    choose(widget.root, "The whole pass")
    expect(widget.narration).to_contain_text('Elsewhere: session.to_notebook("lesson.ipynb")')
    expect(lab.code_cells).to_have_count(2)


def test_every_notebook_inserts_and_a_page_without_a_kernel_does_not_offer_it(host: Host) -> None:
    view = host.show(skip_connection)
    menu = view.root.locator(".gv-menu")
    if isinstance(host, PageHost):
        expect(menu).to_have_count(0)
        return
    count = "() => window.jupyterapp.shell.currentWidget.content.widgets.length"
    before = host.page.evaluate(count)
    choose(view.root, "The whole pass")
    expect(view.narration).to_contain_text("cells inserted below.")
    assert host.page.evaluate(count) > before + 2 * 15
    host.page.evaluate("window.jupyterapp.commands.execute('notebook:undo-cell-action')")
    assert host.page.evaluate(count) == before


@pytest.mark.slow
def test_the_list_opens_below_its_button_and_within_the_widget_at_any_width(lab: LabPage) -> None:
    lab.open_cells(TWICE_SHOWN)
    lab.run_cells(1)
    view = View(lab.page, lab.output(1).locator(".gradviz"))
    for width in (1000, 1180, 1280, 1440, 1920):
        lab.page.set_viewport_size({"width": width, "height": 900})
        view.root.locator(".gv-menu > summary").click()
        left, top, across, height = box(view.root.locator(".gv-menu > summary"))
        listed = box(view.root.locator(".gv-menu > div"))
        bar = box(view.root.locator(".gv-toolbar"))
        assert listed[0] <= left + across
        assert left <= listed[0] + listed[2]
        assert 0 <= listed[1] - (top + height) < 8
        assert bar[0] <= listed[0]
        assert listed[0] + listed[2] <= bar[0] + bar[2]
        view.root.locator(".gv-menu > summary").click()
