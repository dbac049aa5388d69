"""Notebooks and kernels in one JupyterLab: each on its own, two on one, one closed and reopened, the network away."""

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import WebSocketRoute, expect

from tests.browser.lab_page import CONTEXT, START, LabPage, notebook_of
from tests.browser.view import View

pytestmark = pytest.mark.slow

SESSION = """import gradviz, numpy as np
net = gradviz.Net("{name}")
net.Tanh("x", "a")
net.Sum(["a", "a"], "s")
session = gradviz.debug(net, ["s"])
session"""

OPEN = "path => window.jupyterapp.commands.execute('docmanager:open', { path })"


def open_beside(lab: LabPage, *sources: str, kernel: str | None = None) -> str:
    """Open another notebook in the same folder, on a kernel that runs, or on one of its own; returns its path."""
    path = lab.folder / "second.ipynb"
    path.write_text(json.dumps(notebook_of(sources)))
    name = f"{lab.folder.name}/{path.name}"
    if kernel is not None:
        asked = {"path": name, "name": name, "type": "notebook", "kernel": {"id": kernel}}
        lab.server.request("POST", "/api/sessions", asked)
    else:
        lab.server.start_session(name)
    lab.page.evaluate(OPEN, name)
    tab(lab, "second.ipynb")
    lab.wait_until_ready()
    return name


def tab(lab: LabPage, name: str) -> None:
    """Bring a notebook to the front."""
    own = lab.page.locator("#jp-main-dock-panel").get_by_role("tab", name=name)
    own.click()
    expect(own).to_have_attribute("aria-selected", "true")


def shown(lab: LabPage, cell: int = 1) -> View:
    """Run a cell of the notebook in front; the widget that it shows."""
    lab.code_cells.nth(cell - 1).locator(".jp-InputPrompt").click()
    lab.page.keyboard.press("Shift+Enter")
    view = View(lab.page, lab.output(cell).locator(".gradviz"))
    expect(view.root).to_be_visible(timeout=START)
    return view


def test_two_notebooks_on_two_kernels_keep_their_sessions_apart(lab: LabPage) -> None:
    lab.open_cells(SESSION.format(name="first"))
    panel = lab.open_panel()
    shown(lab).press("ArrowRight")
    expect(panel).to_contain_text("event 1 /")
    open_beside(lab, SESSION.format(name="second"))
    expect(panel).to_contain_text("This notebook has no session yet.")
    second = shown(lab)
    expect(panel.get_by_label("Recording").locator("option")).to_have_text(["second · cell 1"])
    second.press("ArrowRight", "ArrowRight", "ArrowRight")
    expect(panel).to_contain_text("event 3 /")
    tab(lab, "notebook.ipynb")
    expect(panel.get_by_label("Recording").locator("option")).to_have_text(["first · cell 1"])
    expect(panel).to_contain_text("event 1 /")
    panel.get_by_role("button", name="Step", exact=True).click()
    View(lab.page, lab.output(1).locator(".gradviz")).expect_at(2)
    tab(lab, "second.ipynb")
    expect(panel).to_contain_text("event 3 /")


def test_two_notebooks_on_one_kernel_have_one_panel_and_one_that_was_closed_finds_it_again(
    lab: LabPage,
) -> None:
    lab.open_cells(SESSION.format(name="shared"), "session.position")
    panel = lab.open_panel()
    first = shown(lab)
    first.press("ArrowRight")
    # JupyterLab lets the notebook that came first hear the kernel: the panel hears through that one.
    path = open_beside(lab, "session", kernel=lab.page.evaluate(f"{CONTEXT}.session.kernel.id"))
    expect(panel).to_contain_text("event 1 /")
    second = shown(lab)
    second.expect_at(1)
    second.press("ArrowRight")
    expect(panel).to_contain_text("event 2 /")
    lab.code_cells.nth(0).locator(".jp-InputPrompt").click()
    lab.page.keyboard.press("Alt+F11")
    expect(panel).to_contain_text("event 3 /")
    lab.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    # JupyterLab's own debugger tells the console of a notebook that was closed while it asked.
    lab.expected.append("Could not restore the debugger state")
    lab.page.evaluate("window.jupyterapp.shell.currentWidget.close()")
    expect(lab.page.get_by_role("tab", name="second.ipynb")).to_have_count(0)
    first.expect_at(3)
    first.press("ArrowRight")
    lab.page.evaluate(OPEN, path)
    tab(lab, "second.ipynb")
    expect(panel).to_contain_text("event 4 /")
    tab(lab, "notebook.ipynb")
    lab.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    lab.page.evaluate("window.jupyterapp.shell.currentWidget.close()")
    expect(panel).to_contain_text("the one that heard this kernel is closed: reload the page.")
    lab.page.reload()
    lab.wait_until_ready()
    expect(panel).to_contain_text("event 4 /", timeout=START)


class Network:
    """The line from a page to its kernels, which can be cut."""

    def __init__(self, lab: LabPage) -> None:
        self.loses: Callable[[bytes], bool] = lambda _message: False
        """Which messages of kernels do not arrive."""
        self.lost: list[bytes] = []
        self._is_away = False
        self._lines: list[tuple[WebSocketRoute, WebSocketRoute]] = []
        lab.page.route_web_socket(re.compile("/channels"), self._connect)

    def _connect(self, page: WebSocketRoute) -> None:
        if self._is_away:
            page.close()
            return
        kernel = page.connect_to_server()
        kernel.on_message(lambda message: self._pass_on(page, message))
        self._lines.append((page, kernel))

    def go_away(self) -> None:
        """Cut all lines; none can be made."""
        self._is_away = True
        for line in self._lines:
            for end in line:
                end.close()
        self._lines.clear()

    def come_back(self) -> None:
        """Lines can be made again."""
        self._is_away = False

    def find_lost(self) -> None:
        """What did not arrive does so now."""
        for message in self.lost:
            self._lines[-1][0].send(message)

    def _pass_on(self, page: WebSocketRoute, message: str | bytes) -> None:
        if self.loses(message if isinstance(message, bytes) else message.encode()):
            assert isinstance(message, bytes)
            self.lost.append(message)
        else:
            page.send(message)


def test_steps_made_while_the_network_was_away_reach_python_when_it_is_back_and_python_s_the_page(lab: LabPage) -> None:
    network = Network(lab)
    lab.open_cells(SESSION.format(name="far"), "session.step(); session.position")
    panel = lab.open_panel()
    view = shown(lab)
    view.press("ArrowRight")
    expect(panel).to_contain_text("event 1 /")
    network.go_away()
    lab.page.wait_for_function(f"{CONTEXT}.session.kernel.connectionStatus !== 'connected'")
    view.press("ArrowRight", "ArrowRight")
    view.expect_at(3)
    network.come_back()
    lab.page.wait_for_function(f"{CONTEXT}.session.kernel.connectionStatus === 'connected'", timeout=START)
    expect(panel).to_contain_text("event 3 /", timeout=START)
    view.expect_at(3)
    lab.run_cells_from(2, 2)
    expect(lab.output(2)).to_contain_text("4")
    view.expect_at(4)
    expect(panel).to_contain_text("event 4 /")
    expect(lab.output(1)).not_to_contain_text("The kernel behind this is gone.")


def step_far_away(lab: LabPage, network: Network, loses: Callable[[bytes], bool]) -> View:
    """A widget that went to event 1 while the network was away, which is back, and loses some messages."""
    lab.open_cells(SESSION.format(name="far"), "session.step(); session.position", "session.position")
    view = shown(lab)
    network.go_away()
    lab.page.wait_for_function(f"{CONTEXT}.session.kernel.connectionStatus !== 'connected'")
    view.press("ArrowRight")
    view.expect_at(1)
    network.loses = loses
    network.come_back()
    lab.page.wait_for_function(f"{CONTEXT}.session.kernel.connectionStatus === 'connected'", timeout=START)
    return view


def test_a_widget_that_misses_what_the_kernel_has_heard_of_it_still_follows_the_kernel(lab: LabPage) -> None:
    network = Network(lab)

    def loses(message: bytes) -> bool:
        return b'"heard"' in message and b"update_states" not in message and not network.lost

    view = step_far_away(lab, network, loses)
    lab.run_cells_from(2, 2)
    expect(lab.output(2)).to_contain_text("2")
    view.expect_at(2)
    assert network.lost


def test_a_widget_that_gets_old_state_late_asks_for_that_of_now(lab: LabPage) -> None:
    network = Network(lab)
    view = step_far_away(lab, network, lambda message: b"update_states" in message)
    lab.run_cells_from(2, 2)
    expect(lab.output(2)).to_contain_text("2")
    view.expect_at(2)
    network.find_lost()
    # The kernel answers in turn: what it was asked for by then is here when this is.
    lab.run_cells_from(3, 3)
    expect(lab.output(3)).to_contain_text("2")
    view.expect_at(2)
