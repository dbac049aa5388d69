"""Clusters of the graph in a page: they open and close by hand and by stepping, and nothing jumps."""

from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Locator, Page, expect

from gradviz.debugger.trace import Trace, encode
from gradviz.drawing import render
from gradviz.drawing.nesting import Nesting
from gradviz.notebook.widget import STATIC
from tests.drawing.nested import loop, three_deep, trace

HOST = """
async ([code, style, trace]) => {
  document.head.append(Object.assign(document.createElement("style"), { textContent: style }));
  const widget = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  const state = { trace, position: 0 };
  const model = { get: (name) => state[name], set() {}, on() {}, off() {}, save_changes() {} };
  widget.default.render({ model, el: document.body });
}
"""


class Widget:
    """The widget in a page without a kernel: all that it shows is in the document."""

    def __init__(self, page: Page, document: Trace) -> None:
        self.page = page
        self.document = document
        code, style = ((STATIC / name).read_text() for name in ("widget.js", "widget.css"))
        page.evaluate(HOST, [code, style, encode(replace(document, graph=render(document))).decode()])
        self.graph = page.locator(".gv-graph")

    def mark(self, action: str, name: str) -> Locator:
        return self.graph.get_by_role("button", name=f"{action} {name}", exact=True)

    def net(self, title: str) -> Locator:
        return self.graph.locator("g.net > text.title", has_text=title)

    def step_to(self, position: int) -> None:
        self.page.locator(".gradviz").focus()
        where = self.page.locator(".gv-position")
        for at in range(int(where.inner_text().split()[1]) + 1, position + 1):
            self.page.keyboard.press("ArrowRight")
            expect(where).to_contain_text(f"event {at} /")

    def top_of(self, mark: Locator) -> float:
        area = mark.bounding_box()
        assert area is not None
        return area["y"]


@pytest.fixture
def show(browser: Browser) -> Iterator[Callable[[Trace], Widget]]:
    page = browser.new_context(viewport={"width": 1300, "height": 800}, reduced_motion="reduce").new_page()
    page.set_default_timeout(10_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield lambda document: Widget(page, document)
    page.context.close()
    assert errors == []


def entering(document: Trace, nth: int = 0) -> int:
    """The position after the `nth` event that enters a nested net of the outermost one."""
    return [
        at
        for at, event in enumerate(document.events, 1)
        if event.kind == "EnteredSubnet" and len(Nesting(document).around(event.subnet)) == 1
    ][nth]


def leaving(document: Trace) -> int:
    """The position after the first event that leaves all nested nets."""
    events = enumerate(document.events, 1)
    return next(at for at, event in events if event.kind == "LeftSubnet" and event.subnet is None)


def test_a_click_opens_an_operator_where_it_stands_and_another_closes_it(show):
    widget = show(trace(loop))
    assert widget.net("loop_net").count() == 0
    before = widget.top_of(widget.mark("Open", "While #3"))
    widget.mark("Open", "While #3").click()
    expect(widget.net("loop_net")).to_be_visible()
    assert widget.top_of(widget.mark("Close", "While #3")) == pytest.approx(before, abs=1)
    widget.mark("Close", "While #3").click()
    expect(widget.net("loop_net")).to_have_count(0)
    assert widget.top_of(widget.mark("Open", "While #3")) == pytest.approx(before, abs=1)


def test_enter_opens_and_closes_and_the_mark_keeps_the_focus(show):
    widget = show(trace(loop))
    widget.mark("Open", "While of #3").focus()
    widget.page.keyboard.press("Enter")
    expect(widget.mark("Close", "While of #3")).to_be_focused()
    assert widget.mark("Close", "While of #3").get_attribute("aria-expanded") == "true"
    widget.page.keyboard.press("Enter")
    expect(widget.mark("Open", "While of #3")).to_be_focused()


def test_the_title_bar_of_an_open_operator_closes_it(show):
    widget = show(trace(loop))
    widget.mark("Open", "While #3").click()
    widget.graph.locator("g.cluster > rect.bar").first.click(position={"x": 4, "y": 12})
    expect(widget.net("loop_net")).to_have_count(0)


def test_stepping_into_a_net_opens_it_and_leaving_closes_it(show):
    document = trace(loop)
    widget = show(document)
    widget.step_to(entering(document))
    expect(widget.net("loop_net")).to_be_visible()
    expect(widget.graph.locator("g.net.here")).to_have_count(1)
    widget.step_to(leaving(document))
    expect(widget.net("loop_net")).to_have_count(0)


def test_leaving_does_not_close_what_was_opened_by_hand(show):
    document = trace(loop)
    widget = show(document)
    widget.mark("Open", "While #3").click()
    widget.step_to(leaving(document))
    expect(widget.net("loop_net")).to_have_count(1)


def test_each_level_closes_by_itself(show):
    widget = show(trace(three_deep))
    widget.mark("Open", "If #2").click()
    widget.mark("Open", "While #3").click()
    expect(widget.net("loop_net")).to_have_count(1)
    expect(widget.mark("Open", "If #3")).to_have_count(1)
    widget.mark("Close", "While #3").click()
    expect(widget.net("loop_net")).to_have_count(0)
    expect(widget.net("then_net")).to_have_count(1)


def test_what_is_current_is_in_sight_in_the_deepest_net(show):
    document = trace(three_deep)
    deepest = max(document.subnets, key=lambda net: len(net.path)).id
    widget = show(document)
    widget.step_to(next(at for at, event in enumerate(document.events, 1) if event.subnet == deepest and event.lines))
    marked = widget.graph.locator("g.node:is(.new, .current)")
    assert marked.count() >= 1
    window = widget.graph.bounding_box()
    area = marked.first.bounding_box()
    assert window is not None
    assert area is not None
    for start, size in (("x", "width"), ("y", "height")):
        assert window[start] <= area[start]
        assert area[start] + area[size] <= window[start] + window[size]
