"""A notebook open in JupyterLab, in a page of a real browser: open it, run its cells, look at it."""

import json
import re
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import ConsoleMessage, Error, Locator, Page, expect

from tests.browser.jupyter_server import JupyterServer

START = 60_000  # ms, for JupyterLab and the kernel to be ready on a busy machine
RUN = 60_000  # ms, for one cell

CONTEXT = "window.jupyterapp.shell.currentWidget.sessionContext"

TWICE = """
import gradviz, numpy as np
net = gradviz.Net("twice")
net.Tanh("x", "a")
net.Sum(["a", "a"], "s")
ws = gradviz.Workspace()
ws.feed("x", np.ones((2, 3), np.float32))
session = gradviz.debug(net, ["s"], workspace=ws)
session.restart();
"""
"""A cell with a session: x reaches s in two ways."""

TWICE_SHOWN = TWICE + "session"

SLOW = "[anywidget] Failed to initialize model."
"""What anywidget reports where a widget takes two seconds to open; the widget goes on without it, which a test sees."""


class LabPage:
    """One page of one test.

    `errors` collects what the page says it did wrong: messages at error level and uncaught exceptions. A test fails on
    any that it did not take out of the list, and that has no text of `expected`. `folder` is that of the notebook that
    was opened last.
    """

    folder: Path

    def __init__(self, server: JupyterServer, page: Page, name: str, artifacts: Path) -> None:
        self.server = server
        self.page = page
        self.errors: list[str] = []
        self.expected: list[str] = []
        self._name = name
        self._artifacts = artifacts
        self._others = self._sessions()
        page.on("console", self._on_console)
        page.on("pageerror", self._on_page_error)

    @property
    def notebook(self) -> Locator:
        """The notebook that is open and visible.

        Like what is in it, it is looked for in the light alone: else each look goes through all elements of JupyterLab
        to find shadow roots.
        """
        return self.page.locator("css:light=.jp-NotebookPanel:not(.lm-mod-hidden)")

    @property
    def code_cells(self) -> Locator:
        """The notebook's code cells, in order."""
        return self.notebook.locator("css:light=.jp-Notebook-cell.jp-CodeCell")

    def output(self, cell: int) -> Locator:
        """The output area of code cell number `cell`, counted from 1 as the prompts count."""
        return self.code_cells.nth(cell - 1).locator("css:light=.jp-OutputArea")

    def open(self, notebook: Path) -> None:
        """Opens a copy of this notebook, with the modules beside it, its kernel running, in a workspace of its own."""
        folder = self.server.root / uuid.uuid4().hex[:8]
        folder.mkdir()
        for file in (notebook, *notebook.parent.glob("*.py")):
            shutil.copyfile(file, folder / file.name)
        path = f"{folder.name}/{notebook.name}"
        self.server.start_session(path)
        self.folder = folder
        self.visit(path)
        self.wait_until_ready()

    def visit(self, path: str) -> None:
        """Goes to a file or folder below the server's root, in a workspace that nobody used before."""
        self.page.goto(f"{self.server.url}/{self._address(path)}?token={self.server.token}")

    def _address(self, path: str) -> str:
        return f"lab/workspaces/{uuid.uuid4().hex[:8]}/tree/{path}"

    def wait_until_ready(self) -> None:
        """Returns when a notebook is on the screen and its kernel, connected to the page, is idle."""
        expect(self.notebook).to_be_visible(timeout=START)
        self.page.wait_for_function(
            """() => {
                const context = window.jupyterapp?.shell.currentWidget?.sessionContext;
                return context?.isReady && context.session?.kernel?.status === "idle";
            }""",
            timeout=START,
        )

    def open_cells(self, *sources: str, name: str = "notebook.ipynb") -> None:
        """Opens a new notebook that has these code cells."""
        path = self.server.folder / name
        path.write_text(json.dumps(notebook_of(sources)))
        self.open(path)

    def run_cells(self, count: int) -> None:
        """Runs the first `count` code cells, each after the one before has ended; AssertionError if one fails."""
        self.run_cells_from(1, count)

    def run_cells_from(self, first: int, last: int) -> None:
        """Runs code cells number `first` to `last` in the same way, those before having run in order."""
        for number in range(first, last + 1):
            prompt = self.code_cells.nth(number - 1).locator(".jp-InputPrompt")
            prompt.click()
            self.page.keyboard.press("Shift+Enter")
            expect(prompt).to_have_text(f"[{number}]:", timeout=RUN)
            self._expect_no_error(number)

    def run_rest_from(self, first: int) -> None:
        """Runs code cell number `first` and all below it by JupyterLab's own command; AssertionError if one fails."""
        self.code_cells.nth(first - 1).locator(".jp-InputPrompt").click()
        self.page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-below')")
        last = self.code_cells.count()
        expect(self.code_cells.last.locator(".jp-InputPrompt")).to_have_text(f"[{last}]:", timeout=RUN)
        for number in range(first, last + 1):
            self._expect_no_error(number)

    def execute(self, source: str) -> None:
        """Runs code in the kernel, without a cell; AssertionError if it fails."""
        done = f"{CONTEXT}.session.kernel.requestExecute({{ code }}).done"
        reply = self.page.evaluate(f"async code => (await {done}).content", source)
        assert reply["status"] == "ok", f"{reply['ename']}: {reply['evalue']}"

    def outputs(self, cell: int) -> list[dict[str, Any]]:
        """The outputs of code cell number `cell` as the notebook file would hold them."""
        outputs: list[dict[str, Any]] = self.page.evaluate(
            """index => window.jupyterapp.shell.currentWidget.content.widgets
                .filter(cell => cell.model.type === "code")[index].model.outputs.toJSON()""",
            cell - 1,
        )
        return outputs

    def _expect_no_error(self, cell: int) -> None:
        failed = [output for output in self.outputs(cell) if output["output_type"] == "error"]
        if failed and self._is_to_fail(cell):
            return
        assert not failed, f"cell {cell} failed: {failed[0]['ename']}: {failed[0]['evalue']}"

    def _is_to_fail(self, cell: int) -> bool:
        """Whether code cell number `cell` says of itself, by a tag that Jupyter knows, that it raises."""
        is_to_fail: bool = self.page.evaluate(
            """index => (window.jupyterapp.shell.currentWidget.content.widgets
                .filter(cell => cell.model.type === "code")[index].model.getMetadata("tags") ?? [])
                .includes("raises-exception")""",
            cell - 1,
        )
        return is_to_fail

    def open_panel(self) -> Locator:
        """The side panel, brought up by its tab."""
        self.page.get_by_role("tab", name="Gradients (gradviz)").click()
        panel = self.page.locator("#gradviz-panel")
        expect(panel).to_be_visible()
        return panel

    def run_command(self, label: str) -> None:
        """Run a command by the palette."""
        self.page.evaluate("window.jupyterapp.commands.execute('apputils:activate-command-palette')")
        field = self.page.locator(".lm-CommandPalette-input")
        field.fill(label)
        entry = self.page.locator(".lm-CommandPalette-item").filter(has_text=label).first
        expect(entry).to_be_visible()
        field.press("Enter")
        expect(field).to_be_hidden()

    def open_menu(self, *labels: str) -> Locator:
        """The entry of a menu that these labels lead to."""
        self.page.locator(".lm-MenuBar-item").filter(has_text=re.compile(f"^{labels[0]}$")).click()
        for label in labels[1:-1]:
            self.page.locator(".lm-Menu-item").filter(has_text=re.compile(f"^{label}$")).hover()
        return self.page.locator(".lm-Menu-item").filter(has_text=re.compile(f"^{labels[-1]}"))

    def notifications(self) -> Locator:
        """The center of notifications."""
        center = self.page.locator(".jp-Notification-List")
        if not center.is_visible():
            self.page.evaluate("window.jupyterapp.commands.execute('apputils:display-notifications')")
        return center

    def shot(self, name: str) -> Path:
        """A picture of the page as it is, in tests/artifacts; returns its path."""
        path = self._artifacts / f"{self._name}-{name}.png"
        self.page.screenshot(path=path)
        return path

    def close(self) -> None:
        """Ends the kernels that run on the server since this page, so that the next test finds none."""
        # Those on one kernel go together.
        while sessions := self._sessions() - self._others:
            self.server.request("DELETE", f"/api/sessions/{sessions.pop()}")

    def _sessions(self) -> set[str]:
        return {session["id"] for session in self.server.request("GET", "/api/sessions")}

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not any(text in message.text for text in self.expected):
            self.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def _on_page_error(self, error: Error) -> None:
        if error.message != SLOW:
            self.errors.append(f"uncaught: {error}")


OF_NOTEBOOK = ("reading 'schema'", "'filebrowser:open-path' not registered")
"""What Notebook 7 itself reports now and then while it loads."""


class NotebookPage(LabPage):
    """The same in Notebook 7, which the server serves beside JupyterLab."""

    def _on_page_error(self, error: Error) -> None:
        if not any(own in error.message for own in OF_NOTEBOOK):
            super()._on_page_error(error)

    def _address(self, path: str) -> str:
        return f"notebooks/{path}"


def notebook_of(sources: Sequence[str]) -> dict[str, Any]:
    """A notebook of these code cells, as its file holds it (format 4.5): nbformat takes seconds to import."""
    empty = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**empty, "id": f"cell-{number}", "source": source} for number, source in enumerate(sources)]
    kernel = {"name": "python3", "display_name": "Python 3"}  # else JupyterLab may ask which
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": cells}


def file_name(test: str) -> str:
    """The name of a test as a part of a file name."""
    return re.sub(r"[^\w.-]+", "-", test).strip("-")
