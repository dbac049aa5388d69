"""A net run operator by operator, from cells and from the widget, which follows and goes back in what has happened."""

import re

import pytest
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


def test_the_widget_runs_what_is_next_where_the_pass_stands_still(opened: LabPage) -> None:
    opened.open_cells(
        BEGIN,
        "live.step(); live.feed('k', [2.0, 3.0]);",
        "live.feed('a', [1.0, 2.0]);",
        "print(live.next, len(live.session))",
    )
    opened.run_cells(1)
    view = View(opened.page, opened.output(1).locator(".gradviz"))
    expect(view.root.locator(".gv-narration .gv-next")).to_contain_text("now runs next: #0 Tanh")
    opened.run_cells_from(2, 2)
    expect(view.position).to_contain_text("event 2 / 2")
    view.press("ArrowRight")
    expect(view.position).to_contain_text("event 4 / 4")
    expect(view.narration).to_contain_text("b@0 = Mul(a@0, k@0)")
    view.press("g")
    table = view.graph.get_by_role("table", name="Operators")
    expect(table).to_contain_text("Mul")
    expect(table).not_to_contain_text("no gradient")
    view.press("g")
    view.press("ArrowLeft", "ArrowLeft", "ArrowRight", "ArrowRight")
    view.expect_at(4)
    opened.run_cells_from(3, 3)
    expect(view.position).to_contain_text("event 9 / 9")
    expect(view.root.locator(".gv-line.gv-stale")).to_have_text(re.compile("b@0.*stale"))
    view.press("End")
    expect(view.narration).to_contain_text("The backward pass is whole")
    opened.run_cells_from(4, 4)
    expect(opened.output(4)).to_contain_text("None")
    expect(view.root.locator(".gv-narration .gv-next")).to_have_text("the end")


@pytest.mark.slow
def test_an_operator_that_fails_says_so_in_the_widget_and_is_run_again(lab: LabPage) -> None:
    lab.open_cells(BEGIN, "live.feed('k', [2.0, 3.0])")
    lab.run_cells(1)
    view = View(lab.page, lab.output(1).locator(".gradviz"))
    view.press("ArrowRight")
    view.expect_at(2)
    view.press("ArrowRight")
    expect(view.narration).to_contain_text("Operator #1 b = Mul(a, k) reads k")
    view.expect_at(2)
    lab.run_cells_from(2, 2)
    view.press("ArrowRight")
    view.expect_at(4)
