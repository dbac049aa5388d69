"""A define-by-run pass in a real JupyterLab: step to an accumulation, look into the heap, see grad being written."""

import re

from playwright.sync_api import Locator, expect

from tests.browser.lab_page import LabPage

SESSION = """
import gradviz
from gradviz import Variable, functions as F
x, w = Variable([1.0, 2.0], name="x"), Variable([3.0, 4.0], name="w")
loss = F.sum(F.tanh(x * w) + x * x)
session = gradviz.debug(loss)
session
"""


def opened_widget(lab: LabPage, *more: str) -> Locator:
    lab.open_cells(SESSION, *more)
    lab.run_cells(1)
    widget = lab.output(1).locator(".gradviz")
    expect(widget).to_be_visible()
    widget.scroll_into_view_if_needed()
    widget.locator(".gv-narration").click()
    return widget


def run_to(widget: Locator, target: str) -> None:
    field = widget.get_by_label("Run to")
    field.fill(target)
    field.press("Enter")
    field.press("Escape")


def test_from_the_heap_to_an_accumulation_and_to_grad(lab: LabPage) -> None:
    widget = opened_widget(lab, "session.event.blob, session.value('x_grad@1').tolist(), x.grad")
    inspector = widget.get_by_role("region", name="Inspector")
    heap = inspector.get_by_role("list", name="Heap")
    run_to(widget, "TanhGradient")
    inspector.get_by_role("tab", name="State").click()
    expect(inspector).to_contain_text(re.compile(r"rank 1\s*Tanh #1.*running"))
    expect(heap.get_by_role("listitem")).to_have_text(re.compile(r"rank 0\s*Mul #2\s*arrival 4\s*next"))
    widget.locator(".gv-narration").click()
    for _ in range(2):
        lab.page.keyboard.press("ArrowRight")
    expect(heap.get_by_role("listitem")).to_have_count(2)
    expect(heap.locator(".gv-changed")).to_contain_text("Mul #0")
    expect(heap.locator(".gv-changed")).to_contain_text("joined now")
    lab.shot("heap")
    run_to(widget, "Accumulated")
    expect(widget.locator(".gv-sentence")).to_contain_text("x_grad@1 = x_grad@0 + _x_grad_autosplit_0@0")
    inspector.get_by_role("tab", name="Ledger").click()
    expect(inspector).to_contain_text("MulGradient #2")
    run_to(widget, "x.grad")
    inspector.get_by_role("tab", name="State").click()
    written = inspector.get_by_role("row", name=re.compile("x.grad@0"))
    expect(written).to_have_attribute("aria-current", "step")
    expect(inspector).to_contain_text("Heap empty")
    lab.shot("grad")
    lab.run_cells_from(2, 2)
    expect(lab.output(2)).to_contain_text("('x', [2.0, 4.0], None)")


def test_a_click_in_the_heap_shows_the_function(lab: LabPage) -> None:
    widget = opened_widget(lab)
    run_to(widget, "Seeded")
    widget.get_by_role("tab", name="State").click()
    widget.get_by_role("list", name="Heap").get_by_role("button", name="ReduceSum #4").click()
    expect(widget.locator(".gv-line.gv-selected")).to_contain_text("ReduceSum")
