"""The look, wherever the widget lives: themes, widths from 800 to 1 920 pixels, and panes that stay where they are."""

import re
from itertools import chain, product

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator, expect

import gradviz
from tests.browser.hosts import Host, everywhere, on_a_page, recorded
from tests.browser.programs import gated, large, skip_connection
from tests.browser.view import BOXES, View, ask, box
from tests.drawing.nested import Built, workspace

END = len(recorded(skip_connection))
LINE = 20
"""Pixels of a line of the narration."""

HIDDEN = f"text => [text.scrollHeight - text.clientHeight, (text.scrollHeight % {LINE}) + (text.clientHeight % {LINE})]"
"""How many pixels of a text have to be scrolled to, and how much of a line is cut off."""

PLACES = "tabs => tabs.map(tab => [tab.offsetLeft, tab.offsetWidth])"

OTHER_ROWS = """row => {
  const outer = row.getBoundingClientRect();
  return [...row.children].filter((tab) => tab.getBoundingClientRect().top !== outer.top).length;
}"""
"""How many tabs are out of sight."""

UNCOVERED = """one => {
  const { left, top, width, height } = one.getBoundingClientRect();
  const found = document.elementFromPoint(left + width / 2, top + height / 2);
  return found !== null && found.closest(".gv-window") !== null;
}"""
"""Whether the graph, and nothing else, is where an element of it is."""

OVER_ITS_BAR = """graph => [...graph.querySelectorAll(".node:has(> .bar)")].flatMap(node => {
  const bar = node.querySelector(".bar").getBoundingClientRect();
  return [...node.querySelectorAll(":scope > text")]
    .filter(text => text.getBoundingClientRect().left < bar.right).map(text => text.textContent);
})"""
"""The words of operators of the backward lane that begin on their bars."""

HINTED = """field => {
  const probe = document.createElement("span");
  probe.style.cssText = "position: absolute; white-space: pre; padding: 0 9px";
  probe.style.font = getComputedStyle(field).font;
  probe.textContent = field.placeholder;
  document.body.append(probe);
  const needed = probe.offsetWidth;
  probe.remove();
  return needed <= field.clientWidth;
}"""
"""Whether what a field says while it is empty has room in it."""

PANES = ("Program", "Graph", "Inspector")

WIDTHS = (1440, 800)

BESIDE_PANES = 1000
"""How wide a widget is in a window of 1 440 pixels, beside JupyterLab's files."""

FIXED = (".gv-program", ".gv-graph", ".gv-inspector", ".gv-narration", "[role=slider]", ".gv-window > svg")
"""What a step moves nowhere."""

SEEN = f"""(root, fixed) => {{
  const text = root.querySelector(".gv-spoken");
  return [({BOXES})(root, fixed), ({HIDDEN})(text), text.textContent];
}}"""
"""Where that is, what of the narration has to be scrolled to, and what it says."""

BRIGHTNESS = """element => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d");
  canvas.fillStyle = getComputedStyle(element)[PROPERTY];
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
  return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
}"""


def brightness(view: View, of: str) -> float:
    """Of the frame's background or text, 0 to 1."""
    found = view.root.locator(".gv-frame").evaluate(BRIGHTNESS.replace("PROPERTY", f'"{of}"'))
    assert isinstance(found, float | int)
    return found


def panes(view: View) -> dict[str, tuple[float, float, float, float]]:
    return {name: box(view.root.get_by_role("region", name=name)) for name in PANES}


@everywhere
def test_it_follows_the_theme_while_it_is_shown(host: Host) -> None:
    view = host.show(skip_connection)
    view.run_to("Accumulated")
    before = view.position.text_content()
    assert brightness(view, "backgroundColor") > 0.9
    assert brightness(view, "color") < 0.2
    host.set_dark(True)
    assert brightness(view, "backgroundColor") < 0.2
    assert brightness(view, "color") > 0.7
    expect(view.position).to_have_text(before or "")


@on_a_page
def test_panes_stand_side_by_side_where_there_is_room_and_at_800_pixels_nothing_is_cut_off(host: Host) -> None:
    view = host.show(skip_connection)
    view.run_to("Accumulated")
    for width in (1920, 1440):
        host.set_width(width)
        places = panes(view)
        assert len({round(top) for _, top, _, _ in places.values()}) == 1
        assert [name for name, _ in sorted(places.items(), key=lambda pane: pane[1][0])] == list(PANES)
        assert is_within_window(view, width)
    host.set_width(800)
    assert is_within_window(view, 800)
    expect(view.inspector).to_have_count(0)
    view.root.get_by_role("tab", name="Inspector").click()
    expect(view.inspector).to_contain_text("sum of 2 contributions")
    assert box(view.graph)[0] >= box(view.inspector)[0] + box(view.inspector)[2] - 1
    cut = "buttons => buttons.filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert view.root.locator(".gv-toolbar button").evaluate_all(cut) == 0


def is_within_window(view: View, width: int) -> bool:
    """Whether the whole width is in sight, and the page does not scroll to the side."""
    left, _, wide, _ = box(view.root)
    scrolls = view.page.evaluate("document.scrollingElement.scrollWidth > document.scrollingElement.clientWidth")
    return left >= 0 and left + wide <= width and not scrolls


def stands(boxes: list[list[float]]) -> list[float]:
    """Where everything of FIXED is, and how large the drawing: only the window on it moves."""
    *bars, (_, _, width, height) = boxes
    return [*chain.from_iterable(bars), width, height]


def test_nothing_jumps_while_stepping_and_every_narration_is_whole(host: Host) -> None:
    view = host.show(skip_connection)
    for width in (1440, 1200):
        host.set_width(width)
        view.press("Home")
        stood = stands(view.boxes(*FIXED))
        for _ in range(END):
            view.page.keyboard.press("ArrowRight")
            boxes, (hidden, of_line), said = view.root.evaluate(SEEN, FIXED)
            assert stands(boxes) == pytest.approx(stood, abs=0.5)
            assert (hidden, of_line) == (0, 0), said
        expect(view.position).to_have_text(f"event {END} / {END}")


def test_colour_does_not_stand_alone(host: Host) -> None:
    view = host.show(skip_connection)
    view.run_to("Accumulated")
    expect(view.root.locator(".gv-kind")).to_have_text("Σ Accumulate")
    expect(view.graph.locator("g.node.accumulation text")).to_have_text("Σ")
    dashed = view.graph.locator("g.node.future path, g.node.future polygon, g.node.future rect").first
    assert re.search(r"\d", dashed.evaluate("one => getComputedStyle(one).strokeDasharray"))


@on_a_page
def test_a_narration_that_is_too_long_rests_at_whole_lines_and_keys_scroll_it(host: Host) -> None:
    host.page.set_viewport_size({"width": 800, "height": 300})
    view = host.show(skip_connection)
    view.press("End")
    hidden, of_line = spoken(view).evaluate(HIDDEN)
    assert hidden >= LINE
    assert of_line == 0
    spoken(view).focus()
    view.page.keyboard.press("End")
    view.page.keyboard.press("ArrowDown")
    expect(spoken(view)).to_have_js_property("scrollTop", hidden)
    spoken(view).evaluate(f"text => text.scrollTo({{ top: {hidden - LINE // 2 - 1} }})")
    expect(spoken(view)).to_have_js_property("scrollTop", hidden - LINE)


def spoken(view: View) -> Locator:
    """The part of the narration that scrolls."""
    return view.narration.locator(".gv-spoken")


@on_a_page
def test_one_row_of_tabs_is_in_sight_with_the_open_one_and_a_button_counts_the_others(host: Host) -> None:
    view = host.show(skip_connection)
    view.run_to("Accumulated")
    row, tabs = view.inspector.get_by_role("tablist"), view.inspector.get_by_role("tab")
    expect(tabs).to_have_count(8)
    chosen = tabs.and_(view.root.locator("[aria-selected=true]"))
    more = view.inspector.locator(".gv-more")
    for width in (1920, 1440, 1000):
        host.set_width(width)
        chosen.focus()
        row_box, places = box(row), tabs.evaluate_all(PLACES)
        for _ in range(tabs.count()):
            view.page.keyboard.press("ArrowRight")
            hidden = row.evaluate(OTHER_ROWS)
            expect(more).to_have_text(f"{hidden} more")
            assert more.is_visible() == (hidden > 0)
            left, top, wide, _ = box(chosen)
            assert row_box[0] <= left
            assert left + wide <= row_box[0] + row_box[2] + 1
            assert top == row_box[1]
            assert tabs.evaluate_all(PLACES) == places
            assert box(row) == row_box
    more.click()
    assert box(row)[3] > row_box[3], "all rows are in sight"
    expect(more).to_have_text("fewer")


def two_linear_layers() -> torch.Tensor:
    """Operators of PyTorch with wide letters."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    return torch.baddbmm(model(torch.ones(4, 3))[None], torch.ones(1, 4, 1), torch.ones(1, 1, 1)).sum()


@on_a_page
def test_no_title_lies_over_the_bar_of_its_operator(host: Host) -> None:
    view = host.show(two_linear_layers)
    view.press("End")
    expect(view.graph.locator(".node", has_text="AddmmBackward0")).to_have_count(2)
    assert ask(view.graph, OVER_ITS_BAR) == []


def long_names() -> Built:
    """Two gradients of one weight come from operators that have long names, as a model's do."""
    net = gradviz.Net("long names")
    net.Softmax("embedding.words.weight", "softmax")
    net.LogSoftmax("embedding.words.weight", "log_softmax")
    net.Sum(["softmax", "log_softmax"], "y")
    return net, ["y"], workspace({"embedding.words.weight": np.eye(4)})


@on_a_page
def test_a_ledger_of_long_names_fits_into_the_inspector_beside_a_notebook_s_panes(host: Host) -> None:
    view = host.show(long_names)
    host.set_width(BESIDE_PANES)
    view.run_to("Accumulated")
    ledger = view.open_tab("Ledger")
    expect(ledger).to_contain_text("sum of 2 contributions")
    assert ledger.evaluate("pane => pane.scrollWidth - pane.clientWidth") == 0
    expect(ledger.locator("tbody td:last-child").first).to_be_in_viewport(ratio=1)


def test_the_graph_or_the_table_is_chosen_in_the_toolbar(host: Host) -> None:
    view = host.show(skip_connection)
    table = view.graph.get_by_role("table", name="Operators")
    expect(view.button("Graph")).to_have_attribute("aria-pressed", "true")
    view.button("Table").click()
    expect(table).to_be_visible()
    expect(view.drawing).to_be_hidden()
    expect(view.button("Table")).to_have_attribute("aria-pressed", "true")
    view.press("g")
    expect(table).to_be_hidden()
    expect(view.button("Table")).to_have_attribute("aria-pressed", "false")
    view.press("g")
    expect(table).to_be_visible()
    view.button("Graph").click()
    expect(view.drawing).to_be_visible()


@on_a_page
def test_nothing_lies_over_the_graph_while_teaching_and_in_the_focus_too(host: Host) -> None:
    view = host.show(skip_connection)
    view.run_to("Accumulated")
    window, strip = view.graph.locator(".gv-window"), view.graph.locator(".gv-strip")
    for keys, width in product(("", "t", "tf"), WIDTHS):
        if width == WIDTHS[0]:
            view.press(*keys)
        host.set_width(width)
        view.graph.evaluate("graph => graph.scrollIntoView({ block: 'center' })")
        assert box(strip)[1] + box(strip)[3] <= box(window)[1] + 0.5
        assert strip.evaluate("strip => strip.scrollWidth <= strip.clientWidth")
        for title in view.graph.locator("g.node.new text").all():
            assert title.evaluate(UNCOVERED), title.text_content()


def test_the_toolbar_keeps_its_height_and_an_error_of_run_to_is_read_in_full(host: Host) -> None:
    view = host.show(large)
    toolbar = view.root.get_by_role("group", name="Stepping")
    message = view.root.get_by_role("status").filter(has_text="Nothing matches")
    for width in WIDTHS:
        host.set_width(width)
        view.press("Home")
        expect(message).to_have_count(0)
        before = box(toolbar)
        view.run_to("nothing of this name is there, or ever was, in any net")
        expect(message).to_be_visible()
        assert message.evaluate("one => one.scrollWidth <= one.clientWidth")
        left, _, wide, _ = box(message)
        assert left + wide <= box(view.root)[0] + box(view.root)[2]
        view.press("End")
        assert box(toolbar)[2:] == before[2:]


@on_a_page
@pytest.mark.parametrize("width", [500, 700, 900, 1100, 1440])
def test_the_hint_of_run_to_is_read_in_full(host: Host, width: int) -> None:
    view = host.show(skip_connection)
    host.set_width(width)
    field = view.root.get_by_label("Run to")
    assert ask(field, HINTED), field.get_attribute("placeholder")


@on_a_page
def test_where_no_operator_can_be_focused_on_f_says_so(host: Host) -> None:
    view = host.show(skip_connection)
    view.press("f")
    expect(view.narration).to_contain_text("This step is about no operator")
    expect(view.button("Fewer hops")).to_be_hidden()
    view.press("ArrowRight", "f")
    expect(view.narration).not_to_contain_text("about no operator")
    expect(view.button("Fewer hops")).to_be_visible()


@on_a_page
@pytest.mark.parametrize("width", [500, 700, 900, 1440])
def test_the_card_of_keys_leaves_the_toolbar_free(host: Host, width: int) -> None:
    view = host.show(gated)
    host.set_width(width)
    card = view.root.get_by_role("list", name="Keys")
    view.press("?")
    expect(card).to_be_visible()
    view.button("Keys").click()
    expect(card).to_be_hidden()


def test_the_list_of_keys_can_be_read_to_its_end(host: Host) -> None:
    host.set_width(800)
    view = host.show(skip_connection)
    view.press("?")
    card = view.root.get_by_role("list", name="Keys")
    expect(card).to_be_visible()
    card.get_by_role("listitem").last.scroll_into_view_if_needed()
    last, frame = box(card.get_by_role("listitem").last), box(view.root)
    assert last[1] + last[3] <= frame[1] + frame[3]
