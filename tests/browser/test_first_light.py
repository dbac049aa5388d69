"""A notebook in a real JupyterLab imports gradviz."""

from playwright.sync_api import expect

import gradviz
from tests.browser.lab_page import LabPage


def test_a_notebook_imports_gradviz_and_prints_its_version(lab: LabPage) -> None:
    lab.open_cells("import gradviz", "print(gradviz.__version__)")
    lab.run_cells(2)
    expect(lab.output(2)).to_have_text(gradviz.__version__)
