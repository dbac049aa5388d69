"""The JupyterLab plugin: the side panel, recordings opened from the file browser, outputs of notebooks opened again."""

import json
import re
import shutil
import uuid
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

import gradviz
from gradviz.debugger.document.schema import VERSION
from tests.browser.lab_page import START, TWICE, TWICE_SHOWN, LabPage
from tests.browser.view import View, box

WIDGET = "application/vnd.jupyter.widget-view+json"

NARROWEST = 252
"""Pixels of the side panel, as narrow as JupyterLab lets it be, with its border."""

TABS = ("Value", "Ledger", "Why", "Versions", "Check", "State", "Breakpoints", "Watch")

TOO_WIDE = """root => ["", ".gv-toolbar", ".gv-strip", ".gv-inside", ".gv-teach", ".gv-predict", ".gv-frame"]
  .map((one) => (one === "" ? root : root.querySelector(one)))
  .filter((one) => one?.checkVisibility() && one.scrollWidth > one.clientWidth)
  .map((one) => [one.className, one.scrollWidth, one.clientWidth])"""
"""What of a widget is wider than its place, but for what has a way to scroll of its own."""


def test_the_side_panel_and_shortcuts_move_the_session_of_the_notebook_until_its_kernel_restarts(lab: LabPage) -> None:
    lab.open_cells(TWICE_SHOWN, "session.step();", "session.position")
    panel = lab.open_panel()
    expect(panel).to_contain_text("Run session = gradviz.debug(net, ys, workspace=ws) in a cell")
    lab.run_cells(1)
    expect(panel).to_contain_text("event 0 /")
    lab.run_cells_from(2, 2)
    expect(panel).to_contain_text("event 1 /")
    panel.get_by_role("button", name="Step", exact=True).click()
    lab.page.keyboard.press("ArrowRight")
    expect(panel).to_contain_text("event 3 /")
    lab.run_cells_from(3, 3)
    expect(lab.output(3)).to_contain_text("3")
    lab.page.get_by_role("button", name="Restart the kernel", exact=True).click()
    lab.page.get_by_role("button", name="Confirm Kernel Restart").click()
    expect(panel).to_contain_text("This notebook has no session yet.", timeout=START)
    lab.run_cells(1)
    expect(panel).to_contain_text("event 0 /")
    lab.code_cells.nth(1).locator(".jp-InputPrompt").click()
    for keys in ("Alt+F11", "Alt+F11", "Alt+Shift+F11"):
        lab.page.keyboard.press(keys)
    expect(panel).to_contain_text("event 1 /")
    lab.page.keyboard.press("Alt+F10")
    expect(panel).not_to_contain_text("event 1 /")
    lab.page.keyboard.press("Alt+Shift+F9")
    expect(panel).to_contain_text("The start: no breakpoint before.")
    lab.page.keyboard.press("Alt+F9")
    expect(panel).to_contain_text("The end: no breakpoint ahead.")


ANOTHER = """
def another():
    session = gradviz.debug(net, ["s"], workspace=ws)
    session.restart()
    return session
"""


@pytest.mark.slow
def test_panel_and_commands_follow_the_widget_clicked_or_displayed_last_and_never_one_that_was_only_made(
    lab: LabPage,
) -> None:
    lab.open_cells(TWICE_SHOWN, ANOTHER + "second = another()\nsecond", "third = another(); fourth = another()")
    panel = lab.open_panel()
    chooser = panel.get_by_label("Recording")
    expect(chooser).to_be_hidden()
    lab.run_cells(2)
    widgets = [View(lab.page, lab.output(cell).locator(".gradviz")) for cell in (1, 2)]
    expect(chooser.locator("option:checked")).to_have_text("twice · cell 2")
    lab.code_cells.nth(2).locator(".jp-InputPrompt").click()
    lab.page.keyboard.press("Alt+F11")
    widgets[1].expect_at(1)
    widgets[0].expect_at(0)
    lab.run_cells_from(3, 3)
    expect(chooser.locator("option")).to_have_text(
        ["twice · cell 1", "twice · cell 2", "twice · cell 3", "twice · cell 3 (2)"]
    )
    expect(chooser.locator("option:checked")).to_have_text("twice · cell 2")
    widgets[0].graph.click()
    expect(chooser.locator("option:checked")).to_have_text("twice · cell 1")
    lab.run_command("Gradients: Step Over")
    widgets[0].expect_at(1)
    lab.page.keyboard.press("Alt+F11")
    widgets[0].expect_at(2)
    widgets[1].expect_at(1)
    expect(panel).to_contain_text("event 2 /")
    chooser.select_option("twice · cell 3 (2)")
    expect(panel).to_contain_text("event 0 /")
    panel.get_by_role("button", name="Step", exact=True).click()
    expect(panel).to_contain_text("event 1 /")
    widgets[0].expect_at(2)


@pytest.mark.slow
def test_toolbar_menus_and_status_bar_lead_to_the_session_and_say_where_it_stands(lab: LabPage) -> None:
    lab.open_cells(TWICE_SHOWN)
    status = lab.page.locator(".gradviz-lab-Status")
    expect(status).to_be_hidden()
    lab.notebook.locator(".jp-Toolbar-item[data-jp-item-name='gradviz'] button, jp-button").first.click()
    panel = lab.page.locator("#gradviz-panel")
    expect(panel).to_contain_text("Run session = gradviz.debug(net, ys, workspace=ws) in a cell")
    lab.run_cells(1)
    expect(status).to_have_text(re.compile("^∇ 0 / "))
    lab.open_menu("Run", "Gradients", "Step").first.click()
    expect(status).to_have_text(re.compile("^∇ 1 / "))


@pytest.mark.slow
def test_a_session_is_saved_as_a_recording_a_page_and_a_notebook_and_says_why_where_it_cannot(lab: LabPage) -> None:
    lab.open_cells(TWICE_SHOWN)
    lab.run_cells(1)
    folder = lab.server.root / lab.page.evaluate("window.jupyterapp.shell.currentWidget.context.path").split("/")[0]
    for form, name in {"Recording": "twice.gradviz.json", "Page": "twice.html", "Notebook": "twice.ipynb"}.items():
        lab.open_menu("File", "Gradients", f"Save as {form}").click()
        dialog = lab.page.get_by_role("dialog")
        expect(dialog.get_by_role("textbox")).to_have_value(name)
        dialog.get_by_role("button", name="Save").click()
        expect(lab.notifications()).to_contain_text(f"Saved as {folder / name}")
    assert gradviz.load(folder / "twice.gradviz.json").name == "twice"
    assert (folder / "twice.html").read_text().startswith("<!doctype html>")
    assert json.loads((folder / "twice.ipynb").read_text())["cells"]


@pytest.mark.slow
def test_a_tile_of_the_launcher_opens_a_copy_of_the_lessons(lab: LabPage) -> None:
    lab.page.goto(f"{lab.server.url}/lab/workspaces/{uuid.uuid4().hex[:8]}?token={lab.server.token}")
    lab.page.locator(".jp-LauncherCard", has_text="Lessons").click(timeout=START)
    lab.wait_until_ready()
    expect(lab.notebook).to_contain_text("backward pass")
    assert (lab.server.root / "gradviz-demos" / "01-first-backward-pass.ipynb").is_file()


def make_narrow(lab: LabPage, panel: Locator) -> None:
    """Make the side panel as narrow as a person may, by dragging its edge."""
    left, top, _, height = box(panel)
    lab.page.mouse.move(left - 1, top + height / 2)
    lab.page.mouse.down()
    lab.page.mouse.move(left + 40, top + height / 2)
    lab.page.mouse.move(lab.page.viewport_size["width"] - 1, top + height / 2)  # type: ignore[index]
    lab.page.mouse.up()


@pytest.mark.slow
def test_in_a_narrow_side_panel_everything_can_be_read_and_pressed_and_is_answered(lab: LabPage) -> None:
    lab.open_cells(TWICE_SHOWN)
    lab.run_cells(1)
    panel = lab.open_panel()
    expect(panel).to_contain_text("event 0 /")
    make_narrow(lab, panel)
    view = View(lab.page, panel.locator(".gradviz"))
    assert box(view.root)[2] <= NARROWEST
    for name, position in {"Step": 1, "Over": None, "Back": None, "Finish": None, "Restart": 0}.items():
        view.button(name).click()
        if position is not None:
            view.expect_at(position)
    view.run_to("Accumulated")
    view.press("l")
    expect(view.open_tab("Why")).to_contain_text("a@0 has a gradient")
    view.press("b")
    for shown, keys in {"graph": "", "table": "g", "teaching": "gt"}.items():
        view.press(*keys)
        assert view.root.evaluate(TOO_WIDE) == [], shown
        view.press("l")
        for tab in TABS:
            content = view.open_tab(tab)
            expect(content.get_by_text("asking the kernel…")).to_have_count(0)
            assert view.root.evaluate(TOO_WIDE) == [], (shown, tab)
            assert box(view.inspector.get_by_role("tab", name=tab))[0] >= box(view.inspector)[0]
        assert panel.evaluate("panel => panel.scrollWidth <= panel.clientWidth")
        assert view.narration.locator(".gv-spoken").evaluate("text => text.clientHeight % 20") == 0


@pytest.fixture
def recording(lab: LabPage) -> Path:
    """A recording in a folder of its own below the server's root: rows of a table are read twice, and merged."""
    net = gradviz.Net("rows")
    net.Gather(["table", "i"], "y")
    ws = gradviz.Workspace()
    ws.feed("table", np.ones((3, 4), np.float32))
    ws.feed("i", [1, 0, 1])
    folder = lab.server.root / uuid.uuid4().hex[:8]
    folder.mkdir()
    gradviz.debug(net, ["y"], workspace=ws, deduplicate="sum").save(folder / "lesson.gradviz.json")
    return folder / "lesson.gradviz.json"


def test_a_double_click_opens_a_recording_and_of_a_file_that_cannot_be_read_it_says_why(
    lab: LabPage, recording: Path
) -> None:
    text = recording.read_text()
    damaged = {
        "truncated": text[: len(text) // 2],
        "version 99": text.replace(f'"version":{VERSION}', '"version":99'),
        "is not a gradviz trace": "{}",
    }
    for number, content in enumerate(damaged.values()):
        recording.with_name(f"{number}.gradviz.json").write_text(content)
    lab.visit(recording.parent.name)
    lab.page.locator(".jp-DirListing-item", has_text="lesson.gradviz.json").dblclick(timeout=START)
    document = lab.page.locator(".jp-Document:visible")
    expect(document).to_contain_text("event 0 /")
    document.get_by_role("button", name="Step", exact=True).click()
    expect(document).to_contain_text("event 1 /")
    document.get_by_label("Run to").fill("Deduplicated")
    document.get_by_label("Run to").press("Enter")
    inspector = document.get_by_role("region", name="Inspector")
    expect(inspector).to_contain_text("rows of the gradient of table@0")
    expect(inspector.get_by_role("row", name="after")).to_contain_text("2 rows")
    expect(inspector).to_contain_text("As a dense array the gradient is the same.")
    for number, words in enumerate(damaged):
        lab.page.locator(".jp-DirListing-item", has_text=f"{number}.gradviz.json").dblclick()
        alert = lab.page.locator(".jp-Document:visible").get_by_role("alert")
        expect(alert).to_contain_text(f"{number}.gradviz.json cannot be shown")
        expect(alert).to_contain_text(words)


def reopen(lab: LabPage) -> Locator:
    """Saves the notebook and opens a copy of it, which has a kernel of its own; returns the first cell's output."""
    lab.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    saved = lab.server.root / lab.page.evaluate("window.jupyterapp.shell.currentWidget.context.path")
    kept = json.loads(saved.read_text())["cells"][0]["outputs"][0]["data"]
    assert WIDGET not in kept, "a converter or another editor would show the place of a widget that is not there"
    assert {"image/svg+xml", "text/html", "text/plain"} <= set(kept)
    copy = saved.with_name("again.ipynb")
    shutil.copyfile(saved, copy)
    lab.visit(copy.relative_to(lab.server.root).as_posix())
    expect(lab.notebook.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']")).to_be_visible(timeout=START)
    return lab.output(1)


LEFT_AT = """said => window.jupyterapp.shell.currentWidget.content.widgets[0].model.outputs.toJSON()[0]
  .data["text/plain"].includes(said)"""
"""Whether the output of the first cell, as it is saved, says where it was left."""


@pytest.mark.slow
def test_a_saved_notebook_finds_its_session_after_a_reload_and_without_a_kernel_shows_a_picture(lab: LabPage) -> None:
    lab.open_cells(TWICE + "session.step()\nsession")
    lab.run_cells(1)
    widget = lab.output(1).locator(".gradviz")
    expect(widget).to_be_visible()
    expect(lab.output(1).locator("img")).to_have_count(2)
    expect(lab.output(1).locator("img:visible")).to_have_count(0)
    lab.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    lab.page.reload()
    expect(lab.notebook).to_be_visible(timeout=START)
    panel = lab.open_panel()
    expect(panel).to_contain_text("event 1 /", timeout=START)
    widget.get_by_role("button", name="Step", exact=True).click(timeout=START)
    expect(widget).to_contain_text("event 2 /")
    expect(panel).to_contain_text("event 2 /")
    lab.page.wait_for_function(LEFT_AT, arg="twice: event 2 of")
    # The renderer of widgets, which waits behind the picture, tells the console that it found none.
    lab.expected.append("widget model not found")
    output = reopen(lab)
    expect(output.locator("img:visible")).to_have_count(1, timeout=START)
    expect(output).to_contain_text("twice: event 2 of")
    expect(output.get_by_text("Run this cell to step on.")).to_be_visible()
    expect(output.get_by_text("Error displaying widget")).to_be_hidden()
    lab.page.evaluate("window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})")
    expect(output.locator("img.gradviz-lab-dark")).to_be_visible()
    lab.page.evaluate("window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Light'})")
    expect(output.locator("img.gradviz-lab-light")).to_be_visible()
