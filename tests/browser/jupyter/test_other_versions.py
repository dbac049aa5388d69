"""A kernel whose gradviz speaks another protocol than the views: they say which side is older, and stepping goes on."""

import pytest
from playwright.sync_api import expect

from tests.browser.lab_page import LabPage
from tests.browser.view import View

OTHER = """import gradviz, numpy as np
from gradviz.notebook import channel, session_protocol, widget
other = session_protocol.PROTOCOL + ({step})
channel.PROTOCOL = widget.PROTOCOL = other
net = gradviz.Net("twice")
net.Tanh("x", "a")
net.Sum(["a", "a"], "s")
session = gradviz.debug(net, ["s"])
session"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "in_widget", "in_panel"),
    [
        (1, "This widget is older than the gradviz of its kernel: reload the page.", "This side panel is older"),
        (-1, "newer than the gradviz that its kernel has loaded: restart the kernel", "of this kernel is older"),
    ],
)
def test_widget_and_panel_say_which_side_is_older_and_both_step_on(
    lab: LabPage, step: int, in_widget: str, in_panel: str
) -> None:
    lab.open_cells(OTHER.format(step=step), "session.position")
    lab.page.get_by_role("tab", name="Gradients (gradviz)").click()
    panel = lab.page.locator("#gradviz-panel")
    lab.run_cells(1)
    view = View(lab.page, lab.output(1).locator(".gradviz"))
    expect(lab.output(1)).to_contain_text(in_widget)
    expect(panel).to_contain_text(in_panel)
    view.press("ArrowRight")
    View(lab.page, panel.locator(".gradviz")).expect_at(1)
    panel.get_by_role("button", name="Step", exact=True).click()
    view.expect_at(2)
    lab.shot("other")
    lab.run_cells_from(2, 2)
    expect(lab.output(2)).to_contain_text("2")
