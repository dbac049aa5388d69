"""In a large drawing only what is near the window is rendered, and what is in the window always is."""

import re

from playwright.sync_api import expect

from tests.browser.hosts import TWO_FRAMES, Host
from tests.browser.programs import deep, large
from tests.browser.view import View, ask, box

OPERATORS = 120

IN_WINDOW = """graph => {
  const outer = graph.querySelector(".gv-window").getBoundingClientRect();
  const nodes = [...graph.querySelectorAll("g.node.forward")];
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
    found = ask(view.graph, IN_WINDOW)
    assert found["nodes"] == OPERATORS
    assert found["rendered"] < OPERATORS, "nothing is left out"
    seen = found["seen"]
    numbers = [int(re.findall(r"#(\d+)", one["text"])[0]) for one in seen]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    pitch = seen[1]["top"] - seen[0]["top"]
    assert seen[0]["top"] < pitch or numbers[0] == 0
    assert seen[-1]["bottom"] > found["height"] - pitch or numbers[-1] == OPERATORS - 1
    return numbers


def test_wherever_the_window_is_led_there_is_no_gap_and_what_is_far_is_not_rendered(host: Host) -> None:
    view = host.show(deep)
    view.press("End")
    expect_no_gap(view)
    view.press("Home")
    for target in (10, 100):
        view.run_to(f"#{target}")
        assert target in expect_no_gap(view)
    before = expect_no_gap(view)
    left, top, _, height = box(view.graph.locator(".gv-window"))
    for _ in range(3):
        view.page.mouse.move(left + 20, top + 20)
        view.page.mouse.down()
        view.page.mouse.move(left + 20, top + height - 20, steps=2)
        view.page.mouse.up()
        after = expect_no_gap(view)
        assert after[0] < before[0]
        before = after
    for name in ("Zoom out", "Zoom out", *["Zoom in (Ctrl + wheel)"] * 4):
        view.button(name).click()
        expect_no_gap(view)


def test_the_tab_key_reaches_the_marks_of_all_groups_wherever_the_window_is(host: Host) -> None:
    view = host.show(large)
    marks = view.graph.locator(".toggle")
    for _ in range(3):
        view.press("End", "o")
        count = marks.count()
        view.press("Home")
        expect(marks.locator("visible=true")).to_have_count(count)
    last = marks.last
    ask(last, "mark => mark.focus()")
    expect(last).to_be_in_viewport()
