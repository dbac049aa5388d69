"""The program's text in a browser: only the rows near its window exist, and it behaves as if all did."""

import re
from itertools import pairwise

import numpy as np
from playwright.sync_api import Locator, expect

import gradviz
from tests.browser.hosts import TWO_FRAMES, Host
from tests.browser.programs import gated
from tests.browser.view import View, ask, box
from tests.drawing.nested import Built, workspace

OPERATORS = 400

Row = tuple[str, float, float]
"""A line, and the top and height of its row in pixels."""

SCROLLED = """async (box, to) => {
  const placeOf = (row) => [row.dataset.line, row.getBoundingClientRect().top, row.getBoundingClientRect().height];
  const rows = () => [...box.querySelectorAll(".gv-line")].map(placeOf);
  const seen = [rows()];
  for (const one of to) {
    box.scrollTop = "by" in one ? box.scrollTop + one.by : one.fraction * (box.scrollHeight - box.clientHeight);
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    seen.push(rows());
  }
  return seen;
}"""
"""Scrolls by pixels or to a fraction of all; the rows that exist at first and then: their lines, tops and heights."""


def long() -> Built:
    """A chain with some names that take two lines and more of the program."""
    net, x = gradviz.Net("long"), "x"
    for at in range(OPERATORS):
        y = f"y{at}" if at % 3 else f"a_rather_long_name_of_a_blob_that_needs_more_than_one_line_{at}"
        net.Tanh(x, y)
        x = y
    return net, [x], workspace({"x": np.linspace(-1, 1, 4, dtype=np.float32)})


def many() -> Built:
    """x is read by 300 operators, whose results are added."""
    net = gradviz.Net("many")
    for number in range(300):
        net.Tanh("x", f"y{number}")
    net.Sum([f"y{number}" for number in range(300)], "y")
    return net, ["y"], workspace({"x": np.linspace(-1, 1, 4)})


def part(view: View, name: str) -> Locator:
    """The forward or the backward lines; they scroll."""
    return view.program.get_by_role("tree", name=name, exact=True)


def scrolled(lines: Locator, *to: dict[str, float]) -> list[list[Row]]:
    """The rows that exist at first, and each time that it was scrolled `by` pixels or to a `fraction` of all."""
    seen: list[list[Row]] = ask(lines, SCROLLED, to)
    return seen


def is_in_sight(row: Locator, window: Locator) -> bool:
    (_, top, _, height), (_, upper, _, room) = box(row), box(window)
    return top >= upper - 1 and top + height <= upper + room + 1


def test_few_rows_exist_and_what_is_current_or_looked_for_is_in_sight(host: Host) -> None:
    view = host.show(long)
    lines = part(view, "Forward")
    for target in ("y1", "y397", "y397_grad", "y2_grad"):
        view.run_to(target)
        current = view.program.locator("[aria-current=step]", has_text=f"{target}@0").first
        expect(current).to_be_visible()
        assert is_in_sight(current, current.locator("xpath=ancestor::*[@role='tree']"))
    view.press("Home", "s")
    for number in (300, 7):
        field = view.graph.get_by_label("Search the graph")
        field.fill(f"#{number}")
        field.press("Enter")
        row = lines.locator(f"[data-line=f{number}]")
        expect(row).to_have_class(re.compile(r"\bgv-selected\b"))
        assert is_in_sight(row, lines)
    view.run_to("y200")
    current = lines.locator("[aria-current=step]")
    expect(current).to_contain_text("y200@0 =")
    for width in (1200, 1440):
        host.set_width(width)
        host.page.evaluate(TWO_FRAMES)
        assert is_in_sight(current, lines)
    assert view.program.get_by_role("treeitem").count() < 150


def test_scrolling_shows_every_line_once_without_gaps_and_moves_nothing_by_itself(host: Host) -> None:
    view = host.show(long)
    lines = part(view, "Forward")
    from_the_end = scrolled(lines, {"fraction": 1}, *[{"by": -150}] * 30)[1:]
    for before, after in pairwise(from_the_end):
        # The rows above are higher than it took them for, before it knew them.
        then = {line: top for line, top, _ in after}
        moved = {round(then[line] - top) for line, top, _ in before if line in then and line != "f0"}
        assert moved <= {149, 150, 151}, moved
    seen: set[str] = set()
    for rows in scrolled(lines, *({"fraction": step / 100} for step in range(0, 101, 2))):
        # The line that the Tab key reaches may stand apart.
        near = [row for row in rows if row[0] != "f0"]
        for (_, top, height), (_, below, _) in pairwise(near):
            assert abs(top + height - below) < 0.5
        seen |= {line for line, _, _ in rows}
    assert seen == {f"f{at}" for at in range(OPERATORS)}


def test_arrows_walk_through_all_lines_and_tab_comes_back_to_the_last_one(host: Host) -> None:
    view = host.show(long)
    forward, backward = part(view, "Forward"), part(view, "Backward")
    third = forward.locator("[data-line=f2]")
    expect(third).to_have_attribute("aria-posinset", "3")
    expect(third).to_have_attribute("aria-setsize", str(OPERATORS))
    expect(third).to_have_attribute("aria-level", "1")
    forward.locator("[data-line=f0]").focus()
    for at in range(1, 60):
        host.page.keyboard.press("ArrowDown")
        assert host.page.evaluate("document.activeElement.dataset.line") == f"f{at}"
    row = forward.locator("[data-line=f59]")
    assert is_in_sight(row, forward)
    scrolled(forward, {"fraction": 1})
    expect(forward.locator("[data-line=f399]")).to_be_visible()
    expect(row).to_be_focused()
    host.page.keyboard.press("ArrowUp")
    expect(forward.locator("[data-line=f58]")).to_be_focused()
    assert is_in_sight(forward.locator("[data-line=f58]"), forward)
    scrolled(forward, {"fraction": 1})
    forward.locator("[data-line=f399]").focus()
    host.page.keyboard.press("ArrowDown")
    expect(backward.locator("[data-line=b0]")).to_be_focused()
    host.page.keyboard.press("ArrowUp")
    expect(forward.locator("[data-line=f399]")).to_be_focused()


def test_plus_and_minus_unfold_a_line_and_the_focus_stays(host: Host) -> None:
    view = host.show(gated)
    forward = part(view, "Forward")
    row = forward.locator("[data-line=f2]")
    row.focus()
    before = box(row)
    host.page.keyboard.press("+")
    expect(row).to_have_attribute("aria-expanded", "true")
    inner = forward.locator("[aria-level='2']")
    expect(inner.first).to_be_visible()
    expect(row).to_be_focused()
    assert box(row) == before
    host.page.keyboard.press("ArrowDown")
    expect(inner.first).to_be_focused()
    host.page.keyboard.press("ArrowUp")
    host.page.keyboard.press("-")
    expect(inner).to_have_count(0)
    row.locator(".gv-fold").click()
    expect(inner.first).to_be_visible()
    view.expect_at(0)


def test_of_hundreds_of_blobs_the_first_are_named_and_the_others_counted(host: Host) -> None:
    view = host.show(many)
    view.run_to("Accumulated")
    expect(view.narration).to_contain_text("… 280 more")
    row = view.program.locator(".gv-line", has_text="x_grad@1 = Sum(")
    expect(row).to_contain_text("_x_grad_autosplit_18@0, and 280 more)")
    assert box(row)[3] < 500
    view.inspector.get_by_role("tab", name="Value").click()
    expect(view.inspector.locator(".gv-chips")).to_contain_text(re.compile(r"28\d more"))
    assert view.inspector.locator(".gv-chips button").count() <= 21
    box_of_rows = box(view.program.locator(".gv-lines-backward"))
    assert box(row)[1] >= box_of_rows[1] - 1  # its first line is in sight, though it is higher than the window
