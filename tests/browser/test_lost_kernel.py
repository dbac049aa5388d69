"""Widgets and their kernel, in JupyterLab and in Notebook 7: one session in several places, and a kernel that ends."""

import pytest
from playwright.sync_api import expect

from tests.browser.hosts import JupyterHost, recorded, with_kernels
from tests.browser.lab_page import START
from tests.browser.programs import skip_connection


@with_kernels
@pytest.mark.parametrize("end", ["restart", "exchange", "crash"])
def test_a_widget_whose_kernel_ended_says_so_and_steps_on(host: JupyterHost, end: str) -> None:
    view = host.show(skip_connection)
    view.press("ArrowRight")
    view.expect_at(1)
    expect(host.lost()).to_have_count(0)
    host.end_kernel(end)
    expect(host.lost()).to_be_visible(timeout=START)
    view.press("ArrowRight", "ArrowRight")
    view.expect_at(3)
    view.run_to("Accumulated")
    expect(view.inspector).to_contain_text("sum of 2 contributions")
    host.wait_for_kernel()
    again = host.show(skip_connection)
    again.press("ArrowRight")
    again.expect_at(1)
    expect(host.lost()).to_have_count(0)


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
