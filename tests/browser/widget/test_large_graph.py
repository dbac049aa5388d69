"""The graph of a large net, wherever the view lives: groups, search, focus and the table; keys reach all of it."""

import time

import pytest
from playwright.sync_api import Locator, expect

from gradviz.drawing.nesting import Nesting
from tests.browser.axe import in_both_themes, violations
from tests.browser.hosts import Host, JupyterHost, on_a_page, recorded, with_kernels
from tests.browser.programs import in_place, large, large_loop, skip_connection
from tests.browser.view import View, ask, box

OPENED = """async mark => {
  const started = performance.now();
  mark.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  document.querySelector(".gv-graph svg").getBoundingClientRect();
  return performance.now() - started;
}"""


CUT = """graph => [...graph.querySelectorAll("[role=cell]")]
  .filter(one => one.textContent === "not yet" && one.scrollWidth > one.clientWidth)
  .map(one => one.parentElement.textContent)"""
"""The rows in which "not yet" is cut off."""


def node(view: View, line: str) -> Locator:
    """The node of an operator, by what its tool tip begins with."""
    return view.graph.locator("g.node").filter(has=view.page.locator("title", has_text=line))


def first_group(view: View) -> Locator:
    return view.graph.locator("g.node.group.forward").first


def test_a_large_net_opens_in_groups_and_a_click_opens_one_where_it_stands(host: Host) -> None:
    view = host.show(large)
    count = view.graph.locator("g.node").count()
    assert count <= 200
    expect(first_group(view)).to_contain_text("Tanh, Scale, Sin, … × ")
    expect(first_group(view)).to_contain_text("#0 – #")
    expect(view.graph.locator("g.node.group.forward", has_text="end")).to_have_count(1)
    expect(view.graph.locator("g.node.group.gradient").first).to_contain_text("made")
    name = first_group(view).locator("text.title").text_content()
    before = box(view.mark("Open", f"{name}").first)[1]
    first_group(view).click()
    expect(view.graph.locator("g.cluster")).to_have_count(1)
    assert box(view.mark("Close", f"{name}"))[1] == pytest.approx(before, abs=1)
    view.graph.locator("g.node").filter(has=view.page.get_by_role("button", name=f"Close {name}")).click()
    expect(view.graph.locator("g.cluster")).to_have_count(0)
    assert view.graph.locator("g.node").count() == count
    assert box(view.mark("Open", f"{name}").first)[1] == pytest.approx(before, abs=1)


def test_groups_in_groups_open_and_close_by_enter_and_keep_the_focus(host: Host) -> None:
    view = host.show(large)
    outer = view.graph.get_by_role("button", name="Open Tanh, Scale, Sin, …").first
    outer.focus()
    view.page.keyboard.press("Enter")
    expect(view.graph.locator("g.cluster")).to_have_count(1)
    closing = view.graph.get_by_role("button", name="Close Tanh, Scale, Sin, …").first
    expect(closing).to_be_focused()
    assert closing.get_attribute("aria-expanded") == "true"
    inner = view.graph.locator("g.cluster").get_by_role("button", name="Open Tanh, Scale, Sin, …").first
    inner.focus()
    view.page.keyboard.press("Enter")
    expect(view.graph.locator("g.cluster g.cluster")).to_have_count(1)
    expect(node(view, "Tanh #0:")).to_be_visible()


def test_a_key_opens_the_groups_around_the_operator_one_by_one(host: Host) -> None:
    view = host.show(large)
    view.run_to("#5")
    view.press("o")
    expect(view.graph.locator("g.cluster")).to_have_count(1)
    view.press("o")
    expect(node(view, "Scale #5:")).to_have_class("node forward new")
    view.press("o")
    expect(view.graph.locator("g.cluster g.cluster")).to_have_count(0)


def test_a_closed_group_says_that_we_are_in_it_what_of_it_is_made_and_that_runs_stop_in_it(host: Host) -> None:
    view = host.show(large)
    view.run_to("#5")
    expect(first_group(view)).to_contain_text("here: #5")
    expect(first_group(view)).to_have_class("node group forward new")
    backward = view.graph.locator("g.node.group.gradient").first
    expect(backward).to_contain_text("0 of ")
    expect(backward).to_have_class("node group gradient future")
    view.press("b")
    expect(first_group(view).locator("circle.stop")).to_have_count(1)
    expect(view.graph.locator("circle.stop")).to_have_count(1)
    view.press("b")
    expect(view.graph.locator("circle.stop")).to_have_count(0)
    view.press("End")
    expect(backward).to_contain_text("here · ")
    expect(view.graph.locator("g.node.group.future")).to_have_count(0)


def test_stepping_through_closed_groups_moves_the_window_sideways_at_most(host: Host) -> None:
    view = host.show(large)
    view.run_to("Seeded")
    view.narration.click()
    _, *places = box(view.drawing)
    for _ in range(12):
        view.page.keyboard.press("F10")
    assert view.now() > 250
    assert [*box(view.drawing)][1:] == places


def test_the_search_outlines_matches_opens_the_way_to_each_and_ends_focus_and_table(host: Host) -> None:
    view = host.show(large)
    view.press("s")
    field = view.graph.get_by_label("Search the graph")
    expect(field).to_be_focused()
    field.fill("t7@0")
    expect(view.graph.get_by_role("search")).to_contain_text("3 found")
    expect(view.graph.locator("g.node[data-match]")).not_to_have_count(0)
    field.press("Enter")
    expect(view.graph.get_by_role("search")).to_contain_text("1 of 3")
    expect(node(view, "Tanh #28:")).to_have_attribute("data-selected", "")
    assert is_in_sight(view, node(view, "Tanh #28:"))
    field.press("Enter")
    expect(node(view, "Scale #29:")).to_have_attribute("data-selected", "")
    field.fill("#230")
    field.press("Enter")
    expect(node(view, "Sin #230:")).to_have_attribute("data-selected", "")
    field.fill("nothing like it")
    expect(view.graph.get_by_role("search")).to_contain_text("nothing")
    field.fill("t7@0")
    expect(view.graph.locator("g.node[data-match]")).not_to_have_count(0)
    field.press("Escape")
    expect(field).to_have_value("")
    expect(view.root).to_be_focused()
    expect(view.graph.locator("[data-match]")).to_have_count(0)
    view.press("f")
    expect(field).to_be_hidden()
    view.press("g", "s")
    expect(field).to_be_focused()
    expect(view.graph.get_by_role("table", name="Operators")).to_be_hidden()
    expect(view.graph.get_by_role("group", name="Focus", exact=True)).to_be_hidden()


def is_in_sight(view: View, element: Locator) -> bool:
    window, area = box(view.graph), box(element)
    return all(window[i] <= area[i] and area[i] + area[i + 2] <= window[i] + window[i + 2] for i in (0, 1))


def test_the_focus_leaves_what_is_near_and_escape_brings_all_back(host: Host) -> None:
    view = host.show(large)
    whole = view.graph.locator("g.node").count()
    view.run_to("#100")
    view.press("f")
    focus = view.graph.get_by_role("group", name="Focus", exact=True)
    expect(focus).to_contain_text("2 hops around Tanh #100")
    expect(node(view, "Tanh #100:")).to_be_visible()
    expect(node(view, "Sin #102:")).to_have_count(1)
    expect(node(view, "Tanh #104:")).to_have_count(0)
    assert is_in_sight(view, node(view, "Tanh #100:"))
    focus.get_by_role("button", name="Fewer hops").click()
    expect(focus).to_contain_text("1 hop around")
    expect(node(view, "Sin #102:")).to_have_count(0)
    view.press("Escape")
    expect(focus).to_be_hidden()
    expect(view.graph.locator("g.node")).to_have_count(whole)


def test_in_a_small_net_the_focus_pales_the_rest_and_nothing_moves(host: Host) -> None:
    view = host.show(skip_connection)
    view.run_to("#0")
    view.narration.click()  # the notebook scrolls to it
    places = box(view.drawing)
    view.press("f")
    expect(node(view, "SoftmaxWithLoss #5:")).to_have_attribute("data-ghost", "")
    assert node(view, "FC #0:").get_attribute("data-ghost") is None
    assert box(view.drawing) == places
    view.press("f")
    expect(view.graph.locator("[data-ghost]")).to_have_count(0)


def test_the_table_has_every_operator_and_says_what_is_not_computed_yet(host: Host) -> None:
    view = host.show(large)
    view.press("g")
    table = view.graph.get_by_role("table", name="Operators")
    assert table.get_attribute("aria-rowcount") == "242"
    assert table.get_by_role("row").count() < 80
    expect(table.get_by_role("row").nth(1)).to_contain_text("not yet")
    view.press("End")
    expect(table.get_by_role("row").nth(1)).not_to_contain_text("not yet")
    table.get_by_role("button", name="type", exact=True).click()
    expect(table.get_by_role("row").nth(1)).to_contain_text("Scale")
    first = table.get_by_role("row").nth(1).get_by_role("button")
    first.focus()
    view.page.keyboard.press("ArrowDown")
    view.page.keyboard.press("Enter")
    expect(table.locator(".gv-selected")).to_have_count(1)
    expect(table.locator(".gv-selected")).to_contain_text("#5")
    view.press("g")
    expect(table).to_be_hidden()


@on_a_page
def test_the_table_marks_the_operator_of_the_event_and_keeps_it_in_sight(host: Host) -> None:
    view = host.show(large)
    view.press("g")
    current = view.graph.get_by_role("table", name="Operators").locator(".gv-current")
    expect(current).to_have_count(0)
    for at, name in (1, "#0"), (90, "#89"):
        view.step_to(at)
        expect(current).to_have_count(1)
        expect(current).to_contain_text(name)
        expect(current).to_be_in_viewport(ratio=1)
    view.press("Home")
    expect(current).to_have_count(0)


@on_a_page
def test_no_cell_of_a_narrow_table_cuts_off_that_something_is_not_yet(host: Host) -> None:
    host.set_width(1280)
    view = host.show(large)
    view.press("g")
    expect(view.graph.get_by_role("cell", name="not yet", exact=True).first).to_be_visible()
    assert ask(view.graph, CUT) == []


def test_the_table_has_the_gradient_of_each_version_of_any_output_and_in_nested_nets(host: Host) -> None:
    view = host.show(in_place)
    view.press("g", "End")
    table = view.graph.get_by_role("table", name="Operators")
    rows = table.get_by_role("row").filter(has=view.page.get_by_role("cell"))
    cells = [row.get_by_role("cell").all_inner_texts() for row in rows.all()]
    # Of two rows the gradient of SoftmaxWithLoss has four elements of 1/4.
    assert [(cell[0], cell[1], cell[5]) for cell in cells] == [
        ("#0", "Scale", "3"),
        ("#1", "Scale", "1"),
        ("#2", "CreateScope", "no gradient"),
        ("#3", "If", "0.5"),
        ("#4", "SoftmaxWithLoss", "1"),
        ("s0 #0", "Do", "0.5"),
        ("s1 #0", "Scale", "0.5"),
    ]


def test_a_loop_of_hundreds_of_operators_opens_at_once_and_in_groups(host: Host) -> None:
    document = recorded(large_loop).trace()
    assert any(group for groups in Nesting(document).groups.values() for group in groups)
    view = host.show(large_loop)
    view.run_to("iteration 1")
    view.press("ArrowRight", "ArrowRight")
    expect(view.net("loop_net")).to_be_visible()
    expect(view.graph.locator("g.node.group:is(.new, .current)")).not_to_have_count(0)
    view.press("Home")
    expect(view.net("loop_net")).to_have_count(0)
    view.mark("Open", "While #2").or_(view.mark("Open", "While #3")).first.evaluate(OPENED)
    expect(view.net("loop_net")).to_be_visible()
    assert view.graph.locator("g.node").count() < 200
    group = view.graph.locator("g.net g.node.group.forward").first
    started = time.monotonic()
    assert group.evaluate(OPENED) < 1000
    assert time.monotonic() - started < 5


def test_axe_finds_nothing_in_groups_search_focus_and_table(host: Host) -> None:
    view = host.show(large)
    view.run_to("#5")
    view.press("b", "o", "o")
    for rules in in_both_themes(host):
        view.press("s")
        view.graph.get_by_label("Search the graph").fill("Tanh")
        assert violations(host.page, ".gv-graph", rules) == []
        view.press("f")
        assert violations(host.page, ".gv-graph", rules) == []
        view.press("f", "g")
        expect(view.graph.get_by_role("table", name="Operators")).to_be_visible()
        assert violations(host.page, ".gv-graph", rules) == []


@with_kernels
def test_the_table_stays_when_another_recording_is_shown(host: JupyterHost) -> None:
    view = host.show(skip_connection)
    view.press("g")
    table = view.graph.get_by_role("table", name="Operators")
    expect(table.get_by_role("row")).to_have_count(7)
    host.run(
        "from ipywidgets.widgets.widget import _instances\n"
        "from gradviz.debugger.document import encode\n"
        "from tests.browser.programs import neuron, record\n"
        "document = session.trace()\n"
        "[shown] = [one for one in _instances.values() if getattr(one, 'trace', '') == encode(document).decode()]\n"
        "shown.trace = encode(record(neuron).trace()).decode()"
    )
    expect(table.get_by_role("row")).to_have_count(6)
    expect(view.button("Table")).to_have_attribute("aria-pressed", "true")
    view.press("g")
    expect(view.drawing).to_be_visible()


@on_a_page
def test_at_800_pixels_the_table_needs_no_scrolling_sideways(host: Host) -> None:
    host.set_width(800)
    view = host.show(skip_connection)
    view.press("g", "End")
    table = view.graph.get_by_role("table", name="Operators")
    table.get_by_role("button", name="made", exact=True).click()
    cells = table.get_by_role("columnheader").or_(table.get_by_role("row").nth(1).get_by_role("cell"))
    cut = "cells => cells.filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"
    assert cells.evaluate_all(cut) == []
    left, _, width, _ = box(view.graph)
    for cell in cells.all():
        assert left <= box(cell)[0]
        assert box(cell)[0] + box(cell)[2] <= left + width


@on_a_page
def test_a_step_lays_the_page_out_hardly_more_than_once(host: Host) -> None:
    view = host.show(skip_connection)
    view.press("ArrowRight")
    chromium = host.page.context.new_cdp_session(host.page)
    chromium.send("Performance.enable")

    def layouts() -> int:
        metrics = chromium.send("Performance.getMetrics")["metrics"]
        return int(next(one["value"] for one in metrics if one["name"] == "LayoutCount"))

    before, steps = layouts(), len(recorded(skip_connection)) - 1
    for at in range(2, steps + 2):
        host.page.keyboard.press("ArrowRight")
        view.expect_at(at)
    assert layouts() - before < 2 * steps
    chromium.detach()
