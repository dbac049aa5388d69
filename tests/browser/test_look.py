"""The look, wherever the widget lives: themes, widths from 800 to 1 920 pixels, and panes that stay where they are."""

import math
import re

import pytest
from playwright.sync_api import expect

from tests.browser.hosts import Host, recorded
from tests.browser.programs import skip_connection
from tests.browser.view import View, box

END = len(recorded(skip_connection))
NARROW = 560
"""Pixels of a widget that is too narrow for all narrations."""

PANES = ("Program", "Graph", "Inspector")
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


def middle_of(view: View) -> tuple[float, float]:
    """Where the first node stands; its outline grows when it is the current one."""
    left, top, width, height = box(view.graph.locator("g.node.forward").first)
    return left + width / 2, top + height / 2


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


@pytest.mark.parametrize("width", [1920, 1440])
def test_where_there_is_room_the_panes_stand_side_by_side(host: Host, width: int) -> None:
    host.set_width(width)
    view = host.show(skip_connection)
    places = panes(view)
    assert len({round(top) for _, top, _, _ in places.values()}) == 1
    assert [name for name, _ in sorted(places.items(), key=lambda pane: pane[1][0])] == list(PANES)
    assert is_within_window(view, width)


def test_at_800_pixels_the_inspector_goes_below_and_nothing_is_cut_off(host: Host) -> None:
    host.set_width(800)
    view = host.show(skip_connection)
    view.run_to("Accumulated")
    places = panes(view)
    assert places["Inspector"][1] >= places["Graph"][1] + places["Graph"][3] - 1
    assert is_within_window(view, 800)
    expect(view.inspector).to_contain_text("sum of 2 contributions")
    cut = "buttons => buttons.filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert view.root.locator(".gv-toolbar button").evaluate_all(cut) == 0


def is_within_window(view: View, width: int) -> bool:
    """Whether the whole width is in sight, and the page does not scroll to the side."""
    left, _, wide, _ = box(view.root)
    scrolls = view.page.evaluate("document.scrollingElement.scrollWidth > document.scrollingElement.clientWidth")
    return left >= 0 and left + wide <= width and not scrolls


@pytest.mark.parametrize("width", [1440, 800])
def test_nothing_jumps_while_stepping(host: Host, width: int) -> None:
    host.set_width(width)
    view = host.show(skip_connection)
    view.narration.click()
    middle = middle_of(view)
    before = panes(view), box(view.narration), box(view.timeline)
    while view.button("Over").get_attribute("aria-disabled") == "false":
        view.page.keyboard.press("F10")
        assert (panes(view), box(view.narration), box(view.timeline)) == before
        assert middle_of(view) == pytest.approx(middle, abs=0.5)


def test_colour_does_not_stand_alone(host: Host) -> None:
    view = host.show(skip_connection)
    view.run_to("Accumulated")
    expect(view.root.locator(".gv-kind")).to_have_text("Σ Accumulate")
    expect(view.graph.locator("g.node.accumulation text")).to_have_text("Σ")
    dashed = view.graph.locator("g.node.future path, g.node.future polygon, g.node.future rect").first
    assert re.search(r"\d", dashed.evaluate("one => getComputedStyle(one).strokeDasharray"))


@pytest.mark.parametrize("width", [1440, 800])
def test_every_narration_is_whole_and_the_bar_keeps_its_height(host: Host, width: int) -> None:
    host.set_width(width)
    view = host.show(skip_connection)
    view.narration.click()
    height = box(view.narration)[3]
    # A pane of a notebook beside its file browser is narrower: there the longest narrations scroll.
    most_hidden = 1 if box(view.narration)[2] > NARROW else math.inf
    hidden = "bar => bar.scrollHeight - bar.clientHeight"
    for _ in range(END):
        view.page.keyboard.press("ArrowRight")
        assert view.narration.evaluate(hidden) <= most_hidden, view.narration.text_content()
        assert box(view.narration)[3] == height
    expect(view.position).to_have_text(f"event {END} / {END}")
