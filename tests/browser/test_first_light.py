"""gradviz in a real JupyterLab: a notebook imports it, and `gradviz lab` opens the first demo."""

from playwright.sync_api import expect

import gradviz
from gradviz.cli import FIRST_DEMO
from tests.browser.lab_page import LabPage


def test_a_notebook_imports_gradviz_and_prints_its_version(lab: LabPage) -> None:
    lab.open_cells("import gradviz", "print(gradviz.__version__)")
    lab.run_cells(2)
    expect(lab.output(2)).to_have_text(gradviz.__version__)


def test_gradviz_lab_opens_the_first_demo(gradviz_lab: LabPage) -> None:
    gradviz_lab.page.goto(gradviz_lab.server.opened_in_browser())
    gradviz_lab.wait_until_ready()
    expect(gradviz_lab.page.locator(".jp-mod-current .lm-TabBar-tabLabel", has_text=FIRST_DEMO)).to_be_visible()
    gradviz_lab.shot("opened")
