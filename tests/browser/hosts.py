"""Where the widget lives: JupyterLab, Notebook 7, and a page without a server. Each shows recordings in one page."""

from abc import ABC, abstractmethod
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import gradviz
from tests.browser.lab_page import CONTEXT, START, LabPage
from tests.browser.programs import Build, record
from tests.browser.view import View

SHOWN = ".gradviz:not(.gv-opening)"
"""The widget, once it has opened its recording."""

WIDE = {"width": 1440, "height": 900}

RUN = """async ([cell, source, shown, patience]) => {
  const app = window.jupyterapp;
  const notebook = app.shell.currentWidget.content;
  if (cell === 0) await app.commands.execute("notebook:clear-all-cell-outputs");
  notebook.activeCellIndex = cell;
  const { model, node } = notebook.activeCell;
  model.sharedModel.setSource(source);
  await app.commands.execute("notebook:run-cell");
  const failed = model.outputs.toJSON().find((output) => output.output_type === "error");
  if (failed) throw new Error(`the cell failed: ${failed.ename}: ${failed.evalue}`);
  const end = performance.now() + patience;
  while (!node.querySelector(shown) && performance.now() < end) await new Promise(requestAnimationFrame);
  node.querySelector(shown)?.scrollIntoViewIfNeeded();
}"""
"""Runs a cell until it shows something, or patience ends, and brings that into sight."""

SLOW_LAB, SLOW_NOTEBOOK = (pytest.param(host, marks=pytest.mark.slow) for host in ("jupyterlab", "notebook"))
"""These hosts, in the slow set alone."""

on_a_page = pytest.mark.parametrize("host_of_run", ["page"], indirect=True)
"""Where the widget is as wide as the window; beside it JupyterLab and Notebook have panes of their own."""

with_kernels = pytest.mark.parametrize("host_of_run", ["jupyterlab", SLOW_NOTEBOOK], indirect=True)
"""For tests that talk to the kernel too."""

everywhere = pytest.mark.parametrize("host_of_run", ["jupyterlab", SLOW_NOTEBOOK, "page"], indirect=True)
"""What must hold in JupyterLab in every run too. Without any of these, a test runs on a page, and in the slow set in
JupyterLab and Notebook 7 too."""

TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"

HOLDS = f"""async ([condition, patience]) => {{
  const asked = {{ code: "", user_expressions: {{ holds: `bool(${{condition}})` }} }};
  const end = performance.now() + patience;
  for (;;) {{
    const reply = await {CONTEXT}.session.kernel.requestExecute(asked).done;
    const holds = reply.content.user_expressions?.holds.data?.["text/plain"] === "True";
    if (holds || performance.now() > end) return holds;
  }}
}}"""
"""Whether an expression is true in the kernel, or becomes true before patience ends."""

PATIENCE = 10_000
"""Milliseconds for what is true soon."""

CHANGE_THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"


@cache
def recorded(build: Build) -> gradviz.Session:
    """The recording that every host shows; nobody may move it."""
    return record(build)


class Host(ABC):
    """A page that shows one recording after the other."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []

    @abstractmethod
    def show(self, build: Build) -> View:
        """A new widget over a new recording, at its start."""

    @abstractmethod
    def set_dark(self, is_dark: bool) -> None:
        """Change to the dark or the light theme."""

    def set_width(self, width: int) -> None:
        """Make the window so many pixels wide; returns once what is in it has found its place."""
        self.page.set_viewport_size({"width": width, "height": WIDE["height"]})
        self.page.evaluate(TWO_FRAMES)

    def reset(self) -> None:
        """As it was at first."""
        self.page.set_viewport_size(WIDE)
        self.set_dark(False)
        self.errors.clear()


class JupyterHost(Host):
    """A notebook of two cells: one is run anew for each recording, the other shows it once more."""

    def __init__(self, opened: LabPage) -> None:
        super().__init__(opened.page)
        self._opened = opened
        opened.open_cells("", "")
        # What Notebook 7 itself reports while it loads is not ours.
        opened.errors.clear()
        self.errors = opened.errors

    def show(self, build: Build) -> View:
        return self._run_cell(
            0,
            f"from tests.browser.programs import record\nfrom {build.__module__} import {build.__name__}\n"
            f"session = record({build.__name__})\nsession",
        )

    def show_forgotten(self, build: Build) -> View:
        """A widget over a session that nobody in the kernel refers to any more."""
        return self._run_cell(
            0,
            f"import gc\nfrom tests.browser.programs import record\nfrom {build.__module__} import {build.__name__}\n"
            f"display(record({build.__name__}))\ngc.collect();",
        )

    def show_again(self) -> View:
        """A second widget over the same session."""
        return self._run_cell(1, "session")

    def _run_cell(self, cell: int, source: str) -> View:
        self.page.evaluate(RUN, [cell, source, SHOWN, START])
        root = self._opened.output(cell + 1).locator(f"css:light={SHOWN}")
        expect(root).to_be_visible()
        return View(self.page, root)

    def run(self, source: str) -> None:
        """Run code in the kernel, without a cell; AssertionError if it fails."""
        self._opened.execute(source)

    def expect_python_at(self, position: int) -> None:
        """Return once the session in the kernel is there."""
        self.expect_in_python(f"session.position == {position}")

    def expect_in_python(self, condition: str) -> None:
        """Return once an expression is true in the kernel: what widgets tell comes there with a delay."""
        assert self.page.evaluate(HOLDS, [condition, PATIENCE]), f"this does not hold in the kernel: {condition}"

    def keep_busy(self) -> None:
        """Let the kernel run code that ends when it is interrupted; returns once it does."""
        self.run_later("import threading; threading.Event().wait()")
        self.page.wait_for_function(f"{CONTEXT}.session.kernel.status === 'busy'")

    def run_later(self, source: str) -> None:
        """Let the kernel run code as soon as it has done all else that it was asked to do before."""
        requested = f"code => void {CONTEXT}.session.kernel.requestExecute({{ code, stop_on_error: false }})"
        self.page.evaluate(requested, source)

    def interrupt(self) -> None:
        """End what the kernel is doing."""
        self.page.evaluate(f"{CONTEXT}.session.kernel.interrupt()")

    def lost(self) -> Locator:
        """What the widget says when its kernel is gone."""
        return self._opened.output(1).get_by_role("status").filter(has_text="The kernel behind this is gone.")

    def end_kernel(self, how: str) -> None:
        """Let the kernel "restart", "crash", or be "exchange"d for another one; afterwards it knows nothing."""
        if how == "crash":
            self.page.evaluate(f"void {CONTEXT}.session.kernel.requestExecute({{ code: 'import os; os._exit(1)' }})")
            self.page.get_by_role("dialog").get_by_role("button", name="Ok").click(timeout=START)
        elif how == "restart":
            self.page.evaluate(f"void {CONTEXT}.session.kernel.restart()")
        else:
            self.page.evaluate(f"void {CONTEXT}.changeKernel({{ name: 'python3' }})")

    def wait_for_kernel(self) -> None:
        """Return when there is a kernel, and it is idle."""
        self._opened.wait_until_ready()

    def set_dark(self, is_dark: bool) -> None:
        body, wanted = self.page.locator("body"), str(not is_dark).lower()
        if body.get_attribute("data-jp-theme-light") != wanted:
            self.page.evaluate(CHANGE_THEME, "JupyterLab Dark" if is_dark else "JupyterLab Light")
            expect(body).to_have_attribute("data-jp-theme-light", wanted)
            # JupyterLab covers a change with its splash screen, and stumbles over a second change before that is gone.
            expect(self.page.locator("#jupyterlab-splash")).to_have_count(0)


class PageHost(Host):
    """Pages that `Session.to_html` writes, opened from the file."""

    def __init__(self, page: Page, folder: Path) -> None:
        super().__init__(page)
        self._folder = folder
        page.on("pageerror", lambda error: self.errors.append(f"uncaught: {error}"))
        page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))

    def show(self, build: Build) -> View:
        path = self._folder / f"{build.__module__}.{build.__name__}.html"
        if not path.exists():
            recorded(build).to_html(path)
        self.page.goto(path.as_uri())
        root = self.page.locator(SHOWN)
        expect(root).to_be_visible()
        return View(self.page, root)

    def set_dark(self, is_dark: bool) -> None:
        self.page.emulate_media(color_scheme="dark" if is_dark else "light")
