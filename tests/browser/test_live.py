"""A net run operator by operator from cells: the widget follows, and goes back in what has happened."""

from playwright.sync_api import expect

from tests.browser.lab_page import LabPage
from tests.browser.view import View

BEGIN = """import gradviz
net = gradviz.Net("cell by cell")
net.Tanh("x", "a")
net.Mul(["a", "k"], "b")
ws = gradviz.Workspace()
ws.feed("x", [0.5, -1.0])
live = gradviz.live(net, ["b"], workspace=ws)
live"""

MEND = """try:
    live.step()
except gradviz.RunError as error:
    print(error.message)
live.feed("k", [2.0, 3.0])
live.step();"""


def test_cells_run_operators_one_by_one_and_the_widget_follows(lab: LabPage) -> None:
    lab.open_cells(BEGIN, "live.step();", MEND, "live.finish().ledger('a')")
    lab.run_cells(1)
    view = View(lab.page, lab.output(1).locator(".gradviz"))
    expect(view.position).to_contain_text("event 0 / 0")
    lab.run_cells_from(2, 2)
    expect(view.position).to_contain_text("event 2 / 2")
    expect(view.narration).to_contain_text("a@0 = Tanh(x@0)")
    lab.run_cells_from(3, 3)
    expect(lab.output(3)).to_contain_text("k")
    expect(view.position).to_contain_text("event 4 / 4")
    view.press("ArrowLeft", "ArrowLeft")
    view.expect_at(2)
    lab.run_cells_from(4, 4)
    expect(lab.output(4)).to_contain_text("MulGradient #1")
    expect(view.narration).to_contain_text("The backward pass is whole")
    lab.shot("end")
