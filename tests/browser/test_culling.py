"""In a large drawing only what is near the window is rendered, and what is in the window always is."""

import re

from playwright.sync_api import expect

from tests.benchmarks.widget import OPEN_ALL
from tests.browser.hosts import TWO_FRAMES, Host
from tests.browser.programs import large
from tests.browser.view import View, box

OPERATORS = 241

IN_WINDOW = """([graph]) => {
  const outer = graph.querySelector(".gv-window").getBoundingClientRect();
  const nodes = [...graph.querySelectorAll("g.node.forward:not(.group)")];
  const boxes = nodes.map((node) => {
    const { top, bottom } = node.getBoundingClientRect();
    return { text: node.textContent, top: top - outer.top, bottom: bottom - outer.top };
  });
  const rendered = boxes.filter(({ top, bottom }) => bottom > top);
  const seen = rendered.filter(({ top, bottom }) => bottom > 0 && top < outer.height);
  return { nodes: nodes.length, rendered: rendered.length, height: outer.height, seen };
}"""


def expect_no_gap(view: View) -> list[int]:
    """Return the operators in the window, all that belong there: the net is a chain, drawn from top to bottom."""
    view.page.evaluate(TWO_FRAMES)
    found = view.graph.evaluate_all(IN_WINDOW)
    assert found["nodes"] == OPERATORS
    assert found["rendered"] < OPERATORS / 2, "nothing is left out"
    seen = sorted(found["seen"], key=lambda one: one["top"])
    numbers = [int(re.findall(r"#(\d+)", one["text"])[0]) for one in seen]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    # Room for an operator, the ends of its group and the head of the next one.
    room = 400
    assert seen[0]["top"] < room or numbers[0] == 0
    assert seen[-1]["bottom"] > found["height"] - room or numbers[-1] == OPERATORS - 1
    return numbers


def opened(host: Host) -> View:
    view = host.show(large)
    assert view.page.evaluate(OPEN_ALL) > OPERATORS
    return view


def test_whatever_the_window_is_led_to_is_rendered_and_what_is_far_is_not(host: Host) -> None:
    view = opened(host)
    view.run_to("#10")
    assert 10 in expect_no_gap(view)
    view.run_to("#200")
    assert 200 in expect_no_gap(view)
    view.press("Home", "End")
    expect_no_gap(view)


def test_dragging_and_zooming_leave_no_gap(host: Host) -> None:
    view = opened(host)
    view.run_to("#120")
    before = expect_no_gap(view)
    left, top, _, height = box(view.graph.locator(".gv-window"))
    x, y = left + 20, top + height - 20
    for _ in range(4):
        view.page.mouse.move(x, y)
        view.page.mouse.down()
        view.page.mouse.move(x, y - 450, steps=3)
        view.page.mouse.up()
        after = expect_no_gap(view)
        assert after[0] > before[0]
        before = after
    for _ in range(3):
        view.button("Zoom out").click()
        expect_no_gap(view)
    for _ in range(6):
        view.button("Zoom in (Ctrl + wheel)").click()
        expect_no_gap(view)


def test_the_tab_key_reaches_the_marks_of_groups_that_were_far_away(host: Host) -> None:
    view = opened(host)
    view.run_to("#0")
    marks = view.graph.locator(".toggle")
    marks.locator("visible=true").first.focus()
    reached = {marks.locator(":scope:focus").get_attribute("aria-label")}
    for _ in range(marks.count()):
        view.page.keyboard.press("Tab")
        view.page.evaluate(TWO_FRAMES)
        if marks.locator(":scope:focus").count() == 0:
            break
        expect(marks.locator(":scope:focus")).to_be_in_viewport()
        reached.add(marks.locator(":scope:focus").get_attribute("aria-label"))
    assert reached == {mark.get_attribute("aria-label") for mark in marks.all()}
