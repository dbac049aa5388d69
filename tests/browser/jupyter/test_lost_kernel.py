"""Widgets and their kernel, in JupyterLab and in Notebook 7: one session in several places, and a kernel that ends."""

import re

import pytest
from playwright.sync_api import WebSocketRoute, expect

from tests.browser.hosts import SHOWN, TWO_FRAMES, JupyterHost, recorded, with_kernels
from tests.browser.lab_page import START, LabPage
from tests.browser.programs import long_chain, record, skip_connection
from tests.browser.view import View

PATIENCE = 21_000
"""Milliseconds after which nobody waits for an answer any more."""

NOTE_REST = "() => addEventListener('gradviz-rested', () => document.body.classList.add('rested'), { once: true })"
"""Lets the page note that a widget has stood at a position for a while."""

AT_ONCE = """AbortSignal.timeout = () => {
  const controller = new AbortController();
  queueMicrotask(() => controller.abort());
  return controller.signal;
}"""
"""The time that the page gives to anything is up at once, as on a machine that is busy elsewhere."""

SHOW = """
import gradviz
from tests.browser.programs import skip_connection
net, ys, ws = skip_connection()
session = gradviz.debug(net, ys, workspace=ws)
session
"""


@pytest.mark.slow
@with_kernels
def test_a_widget_whose_kernel_ended_says_so_steps_on_and_keeps_what_was_answered(host: JupyterHost) -> None:
    for end in ("restart", "exchange", "crash"):
        view = host.show(skip_connection)
        expect(host.lost()).to_have_count(0)
        view.run_to("Accumulated")
        panel = view.open_tab("Why")
        expect(panel).to_contain_text("a@0 has a gradient")
        at = view.now()
        host.end_kernel(end)
        expect(host.lost()).to_be_visible(timeout=START)
        view.press("ArrowRight")
        view.expect_at(at + 1)
        expect(panel).to_contain_text("The kernel behind this is gone, so nobody can answer.")
        view.press("ArrowLeft")
        view.expect_at(at)
        expect(panel).to_contain_text("a@0 has a gradient")
        expect(view.open_tab("Ledger")).to_contain_text("sum of 2 contributions")
        host.wait_for_kernel()
    again = host.show(skip_connection)
    again.press("ArrowRight")
    again.expect_at(1)
    expect(host.lost()).to_have_count(0)


@pytest.mark.slow
@with_kernels
def test_of_a_recording_whose_kernel_ended_the_widget_steps_through_the_part_that_it_has(host: JupyterHost) -> None:
    view = host.show(long_chain)
    host.end_kernel("crash")
    expect(host.lost()).to_be_visible(timeout=START)
    view.press("End")
    view.expect_at(600)
    expect(view.narration).to_contain_text("Only events 1 to 600 of 56003 are here.")
    view.press("Shift+F10")
    view.expect_at(599)
    host.wait_for_kernel()


@pytest.mark.slow
@with_kernels
def test_two_widgets_of_one_session_and_python_stay_in_step(host: JupyterHost) -> None:
    first = host.show(skip_connection)
    second = host.show_again()
    second.press("ArrowRight")
    first.expect_at(1)
    first.press("ArrowRight")
    second.expect_at(2)
    host.expect_python_at(2)
    host.run("session.step()")
    first.expect_at(3)
    second.expect_at(3)
    host.run("session.finish()")
    expect(first.narration).to_contain_text("the end")
    expect(second.narration).to_contain_text("the end")


@with_kernels
def test_a_widget_whose_session_is_gone_steps_on(host: JupyterHost) -> None:
    view = host.show(skip_connection)
    host.run("import gc; del session; get_ipython().displayhook.flush(); gc.collect()")
    view.press("ArrowRight", "ArrowRight")
    view.expect_at(2)


@with_kernels
def test_a_busy_kernel_does_not_hold_up_a_widget(host: JupyterHost) -> None:
    view = host.show(skip_connection)
    host.keep_busy()
    view.press("End")
    expect(view.narration).to_contain_text("the end")
    host.interrupt()
    host.expect_python_at(len(recorded(skip_connection)))


@with_kernels
def test_python_has_the_last_word_over_a_widget_that_comes_to_rest(host: JupyterHost) -> None:
    view = host.show(skip_connection)
    host.keep_busy()
    view.page.evaluate(NOTE_REST)
    view.press("ArrowRight")
    host.run_later("session.finish()")
    expect(view.page.locator("body")).to_contain_class("rested")
    host.interrupt()
    host.expect_python_at(len(recorded(skip_connection)))
    expect(view.narration).to_contain_text("the end")


@with_kernels
def test_keys_pressed_before_a_cell_runs_count_before_it(host: JupyterHost) -> None:
    view = host.show(skip_connection)
    host.keep_busy()
    for position in (1, 2, 3):
        view.press("ArrowRight")
        view.expect_at(position)
        view.page.evaluate(TWO_FRAMES)
    host.run_later("seen = session.position; session.finish()")
    host.interrupt()
    host.expect_in_python("seen == 3")
    host.expect_python_at(len(recorded(skip_connection)))
    expect(view.narration).to_contain_text("the end")


def test_a_widget_that_comes_late_has_missed_nothing_and_hears_its_kernel(opened: LabPage) -> None:
    opened.page.add_init_script(AT_ONCE)
    opened.open_cells(f"{SHOW.rstrip().removesuffix('session')}display(session)\nsession.run_to('Accumulated');")
    opened.run_cells(1)
    view = View(opened.page, opened.output(1).locator(SHOWN))
    session = record(skip_connection)
    session.run_to("Accumulated")
    view.expect_at(session.position)
    opened.execute("session.finish()")
    view.expect_at(len(session))
    expect(view.open_tab("Why")).to_contain_text("x@0 has a gradient")


class LossyLine:
    """The line from a page to its kernels, on which questions of widgets can get lost."""

    def __init__(self, lab: LabPage) -> None:
        self.loses_questions = False
        lab.page.route_web_socket(re.compile("/channels"), self._connect)

    def _connect(self, page: WebSocketRoute) -> None:
        kernel = page.connect_to_server()
        page.on_message(lambda message: None if self.loses_questions and is_question(message) else kernel.send(message))


def is_question(message: str | bytes) -> bool:
    text = message.decode(errors="ignore") if isinstance(message, bytes) else message
    return '"comm_msg"' in text and '"question"' in text


@pytest.mark.slow
def test_a_question_that_got_lost_can_be_asked_again(lab: LabPage) -> None:
    lab.page.clock.install()
    line = LossyLine(lab)
    lab.open_cells(SHOW)
    lab.run_cells(1)
    view = View(lab.page, lab.output(1).locator(SHOWN))
    view.run_to("Accumulated")
    line.loses_questions = True
    panel = view.open_tab("Why")
    expect(panel).to_contain_text("asking the kernel…")
    lab.page.clock.fast_forward(PATIENCE)
    expect(panel).to_contain_text("No answer for 20 seconds")
    line.loses_questions = False
    view.press_button("Ask again")
    expect(panel).to_contain_text("a@0 has a gradient")
    expect(panel.get_by_role("button", name="Ask again")).to_have_count(0)
    assert panel.evaluate("panel => panel.contains(document.activeElement)")
