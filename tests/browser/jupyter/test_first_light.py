"""`gradviz lab` opens the first demo in a real JupyterLab."""

from playwright.sync_api import expect

from gradviz.cli.lab import FIRST_DEMO
from tests.browser.lab_page import LabPage


def test_gradviz_lab_opens_the_first_demo(gradviz_lab: LabPage) -> None:
    gradviz_lab.page.goto(gradviz_lab.server.opened_in_browser())
    gradviz_lab.wait_until_ready()
    expect(gradviz_lab.page.locator(".jp-mod-current .lm-TabBar-tabLabel", has_text=FIRST_DEMO)).to_be_visible()
