"""A define-by-run pass, wherever the widget lives: to an accumulation, into the heap, and grad being written."""

import re

import numpy as np
from playwright.sync_api import Locator, expect

from gradviz import Variable, functions
from tests.browser.hosts import Host, JupyterHost, with_kernels
from tests.browser.view import View


def twice() -> Variable:
    """x is read twice by code, so its two gradients are added."""
    x, w = Variable([1.0, 2.0], name="x"), Variable([3.0, 4.0], name="w")
    return functions.sum(functions.tanh(x * w) + x * x)


def no_rows() -> Variable:
    """The sum of no elements."""
    return functions.sum(functions.tanh(Variable(np.zeros((0, 3)), name="x")))


def heap(view: View) -> Locator:
    return view.inspector.get_by_role("list", name="Heap")


def run_to(view: View, target: str) -> None:
    view.run_to(target)
    view.page.keyboard.press("Escape")


def test_the_heap_says_what_joined_it_and_what_is_next(host: Host) -> None:
    view = host.show(twice)
    run_to(view, "TanhGradient")
    view.inspector.get_by_role("tab", name="State").click()
    expect(view.inspector).to_contain_text(re.compile(r"rank 1\s*Tanh #1.*running"))
    expect(heap(view).get_by_role("listitem")).to_have_text(re.compile(r"rank 0\s*Mul #2\s*arrival 4\s*next"))
    view.press("ArrowRight", "ArrowRight")
    expect(heap(view).get_by_role("listitem")).to_have_count(2)
    expect(heap(view).locator(".gv-changed")).to_contain_text("Mul #0")
    expect(heap(view).locator(".gv-changed")).to_contain_text("joined now")


def test_an_accumulation_of_code_has_a_ledger_and_grad_is_written(host: Host) -> None:
    view = host.show(twice)
    run_to(view, "Accumulated")
    expect(view.root.locator(".gv-sentence")).to_contain_text("x_grad@1 = x_grad@0 + _x_grad_autosplit_0@0")
    view.inspector.get_by_role("tab", name="Ledger").click()
    expect(view.inspector).to_contain_text("MulGradient #2")
    run_to(view, "x.grad")
    view.inspector.get_by_role("tab", name="State").click()
    written = view.inspector.get_by_role("row", name=re.compile("x.grad@0"))
    expect(written).to_have_attribute("aria-current", "step")
    expect(view.inspector).to_contain_text("Heap empty")


def test_a_gradient_without_elements_is_empty(host: Host) -> None:
    view = host.show(no_rows)
    view.press("End")
    view.inspector.get_by_role("tab", name="State").click()
    expect(view.inspector.get_by_role("row", name=re.compile("x.grad@0"))).to_contain_text("empty")


def test_a_click_in_the_heap_shows_the_function(host: Host) -> None:
    view = host.show(twice)
    run_to(view, "Seeded")
    view.inspector.get_by_role("tab", name="State").click()
    heap(view).get_by_role("button", name="ReduceSum #4").click()
    expect(view.root.locator(".gv-line.gv-selected")).to_contain_text("ReduceSum")


@with_kernels
def test_python_is_where_the_widget_is(host: JupyterHost) -> None:
    view = host.show(twice)
    run_to(view, "x.grad")
    host.expect_python_at(view.now())
    host.run("assert session.event.blob == 'x' and session.value('x_grad@1').tolist() == [2.0, 4.0]")
