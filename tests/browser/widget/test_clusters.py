"""Clusters of the graph, wherever the view lives: they open and close by hand and by stepping, and nothing jumps."""

import pytest
from playwright.sync_api import expect

from gradviz.debugger.document import Trace
from gradviz.drawing.nesting import Nesting
from tests.browser.hosts import Host, recorded
from tests.browser.view import View, box
from tests.drawing.nested import loop, three_deep


def top_of(view: View, action: str, name: str) -> float:
    return box(view.mark(action, name))[1]


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


def test_a_click_opens_an_operator_where_it_stands_and_another_or_its_title_bar_closes_it(host: Host) -> None:
    view = host.show(loop)
    assert view.net("Body").count() == 0
    before = top_of(view, "Open", "While #3")
    view.mark("Open", "While #3").click()
    expect(view.net("Body")).to_be_visible()
    assert top_of(view, "Close", "While #3") == pytest.approx(before, abs=1)
    view.mark("Close", "While #3").click()
    expect(view.net("Body")).to_have_count(0)
    assert top_of(view, "Open", "While #3") == pytest.approx(before, abs=1)
    view.mark("Open", "While #3").click()
    view.graph.locator("g.cluster > rect.bar").first.click(position={"x": 4, "y": 12})
    expect(view.net("Body")).to_have_count(0)


def test_enter_opens_and_closes_and_the_mark_keeps_the_focus(host: Host) -> None:
    view = host.show(loop)
    view.mark("Open", "While of #3").focus()
    view.page.keyboard.press("Enter")
    expect(view.mark("Close", "While of #3")).to_be_focused()
    assert view.mark("Close", "While of #3").get_attribute("aria-expanded") == "true"
    view.page.keyboard.press("Enter")
    expect(view.mark("Open", "While of #3")).to_be_focused()


def test_stepping_into_a_net_opens_it_and_leaving_closes_it_if_it_was_not_opened_by_hand(host: Host) -> None:
    document = recorded(loop).trace()
    view = host.show(loop)
    view.step_to(entering(document))
    expect(view.net("Body")).to_be_visible()
    expect(view.graph.locator("g.net.here")).to_have_count(1)
    view.step_to(leaving(document))
    expect(view.net("Body")).to_have_count(0)
    view.press("Home")
    view.mark("Open", "While #3").click()
    view.step_to(leaving(document))
    expect(view.net("Body")).to_have_count(1)


def test_each_level_closes_by_itself(host: Host) -> None:
    view = host.show(three_deep)
    view.mark("Open", "If #2").click()
    view.mark("Open", "While #3").click()
    expect(view.net("Body")).to_have_count(1)
    expect(view.mark("Open", "If #3")).to_have_count(1)
    view.mark("Close", "While #3").click()
    expect(view.net("Body")).to_have_count(0)
    expect(view.net("If c@0")).to_have_count(1)


def test_what_is_current_is_in_sight_in_the_deepest_net(host: Host) -> None:
    document = recorded(three_deep).trace()
    deepest = max(document.subnets, key=lambda net: len(net.path)).id
    view = host.show(three_deep)
    view.go_to(next(at for at, event in enumerate(document.events) if event.subnet == deepest and event.lines))
    view.press("ArrowRight")
    marked = view.graph.locator("g.node:is(.new, .current)")
    assert marked.count() >= 1
    window, area = box(view.graph), box(marked.first)
    for start in (0, 1):
        assert window[start] <= area[start]
        assert area[start] + area[start + 2] <= window[start] + window[start + 2]
