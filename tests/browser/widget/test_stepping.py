"""Stepping, wherever the widget lives: keys, buttons, the timeline, and what changes with a step."""

import re

from playwright.sync_api import expect

from tests.browser.hosts import Host, everywhere, recorded
from tests.browser.programs import skip_connection
from tests.browser.view import box

pytestmark = everywhere

END = len(recorded(skip_connection))


def accumulation() -> int:
    """The position after the two gradients of `a` were added."""
    return [event.kind for event in recorded(skip_connection).events].index("Accumulated") + 1


def test_the_first_screen_shows_the_net_and_keys_lead_on(host: Host) -> None:
    view = host.show(skip_connection)
    expect(view.position).to_have_text(f"event 0 / {END}")
    expect(view.graph.locator("svg g.node.forward")).to_have_count(6)
    expect(view.program).to_contain_text("h@0 = FC(x@0, w1@0, b1@0)")
    expect(view.narration).to_contain_text("A net of 6 operators, differentiated from loss")
    expect(view.button("Back")).to_have_attribute("aria-disabled", "true")
    view.press("ArrowRight", "ArrowRight")
    view.expect_at(2)
    view.press("ArrowLeft")
    view.expect_at(1)
    view.press("End")
    view.expect_at(END)
    expect(view.narration).to_contain_text("the end")
    view.press("Home")
    view.expect_at(0)


def test_stepping_to_the_accumulation_changes_graph_program_narration_and_inspector(host: Host) -> None:
    view = host.show(skip_connection)
    total = view.root.locator("g.node.accumulation")
    expect(total).to_have_class(re.compile(r"\bfuture\b"))
    view.step_to(accumulation())
    expect(view.narration).to_contain_text("a@0 is read by FC #2 and Sum #3")
    expect(total).to_have_class(re.compile(r"\bnew\b"))
    expect(view.program.locator("[aria-current=step]", has_text="a_grad@1 = Sum(")).to_be_visible()
    for words in ("sum of 2 contributions", "FCGradient #2", "cancellation"):
        expect(view.inspector).to_contain_text(words)
    view.inspector.get_by_role("tab", name="Ledger").focus()
    view.page.keyboard.press("ArrowLeft")
    expect(view.inspector.get_by_role("tab", name="Value")).to_be_focused()
    expect(view.inspector.get_by_role("group", name="a_grad@1")).to_contain_text("8 × 5 · float32 · cpu")
    view.expect_at(accumulation())


def test_the_slash_leads_to_run_to_which_finds_a_blob_and_says_what_it_does_not_find(host: Host) -> None:
    view = host.show(skip_connection)
    view.press("/")
    expect(view.root.get_by_label("Run to")).to_be_focused()
    view.page.keyboard.press("Escape")
    expect(view.root).to_be_focused()
    view.run_to("Accumulated")
    view.expect_at(accumulation())
    view.run_to("nonsense")
    expect(view.root.get_by_role("status").filter(has_text="Nothing matches “nonsense”")).to_be_visible()
    view.expect_at(accumulation())


def test_a_click_on_the_timeline_goes_there_and_the_slider_tells(host: Host) -> None:
    view = host.show(skip_connection)
    left, top, width, height = box(view.timeline.locator(".gv-track"))
    view.page.mouse.click(left + width * accumulation() / END, top + height / 2)
    view.expect_at(accumulation())
    expect(view.timeline).to_have_attribute("aria-valuenow", str(accumulation()))
    expect(view.timeline).to_have_attribute("aria-valuetext", f"event {accumulation()} of {END}: Σ Accumulate")
    view.timeline.focus()
    view.page.keyboard.press("ArrowRight")
    view.expect_at(accumulation() + 1)


def test_a_node_of_the_graph_shows_its_blobs_and_a_line_of_the_program_leads_to_where_it_was_made(host: Host) -> None:
    view = host.show(skip_connection)
    view.press("End")
    view.graph.locator("g.node.forward", has_text="Tanh").click()
    expect(view.inspector).to_contain_text("a@0")
    expect(view.graph.locator("g.node[data-selected]")).to_have_count(1)
    view.expect_at(END)
    view.program.locator(".gv-line", has_text="a_grad@1 = Sum(").click()
    view.expect_at(accumulation())
