"""The window on the graph, and the widget on the screen: text that can be read, and in view what a step is about."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.hosts import TWO_FRAMES, Host, on_a_page, recorded
from tests.browser.programs import Build, deep, gated, neuron, skip_connection, wide_apart
from tests.browser.view import View, ask, box, seen

READABLE, FAR = 11, 16
"""Pixels of the smallest text at rest."""

SIZE = "one => parseFloat(getComputedStyle(one).fontSize) * one.currentCSSZoom"
"""Pixels of an element's text on the screen."""

SCREENS = {(1280, 720): 540, (1440, 900): 675, (1920, 1080): 760}
"""How high the widget is at most where a notebook shows it."""

each_program = pytest.mark.parametrize("build", [skip_connection, neuron, deep], ids=lambda build: build.__name__)


@each_program
def test_after_every_step_text_can_be_read_and_what_it_is_about_is_in_view(host: Host, build: Build) -> None:
    is_read_at_every_step(host, build, 1440)


@on_a_page
@each_program
@pytest.mark.parametrize("width", [390, 800])
def test_it_can_be_read_in_a_narrow_window_too(host: Host, build: Build, width: int) -> None:
    is_read_at_every_step(host, build, width)


def is_read_at_every_step(host: Host, build: Build, width: int) -> None:
    host.set_width(width)
    view = host.show(build)
    expect(view.drawing).to_have_attribute("style", re.compile("width"))
    view.focus()
    # The two nodes of a row can be too wide for a phone; what was made is in view there too.
    nodes = "made" if width < 800 and build is skip_connection else "nodes"
    for at in range(1, min(len(recorded(build)), 60) + 1):
        view.page.keyboard.press("ArrowRight")
        found = seen(view)
        assert found["smallest"] >= READABLE - 0.01, at
        assert all(found[nodes]), at


def between(view: View) -> tuple[float, float]:
    """Where the window begins, and the overview on its right, once the drawing is laid out."""
    overview = view.graph.locator(".gv-overview")
    expect(overview).to_be_visible()
    return box(view.graph.locator(".gv-window"))[0], box(overview)[0]


@on_a_page
@pytest.mark.parametrize("width", [900, 1280])
def test_all_that_is_added_up_is_in_view_with_its_names(host: Host, width: int) -> None:
    host.set_width(width)
    view = host.show(skip_connection)
    view.run_to("Accumulated")
    names = view.graph.locator(".edge.hot text")
    expect(names).to_have_count(2)
    left, right = between(view)
    for begin, _, across, _ in map(box, names.all()):
        assert left <= begin <= right - across


@on_a_page
def test_lanes_that_are_wide_apart_are_in_sight_together(host: Host) -> None:
    host.set_width(1440)
    view = host.show(wide_apart)
    view.step_to(1)
    left, right = between(view)
    assert seen(view)["smallest"] >= READABLE
    for node in view.graph.locator("g.node").all()[:12]:
        begin, _, across, _ = box(node)
        assert left <= begin <= right - across


def test_fit_is_a_look_at_the_whole_and_the_next_step_can_be_read_again(host: Host) -> None:
    view = host.show(deep)
    view.step_to(30)
    overview = view.graph.locator(".gv-overview")
    expect(overview).to_be_visible()
    view.press(" ")
    assert seen(view)["smallest"] < READABLE
    expect(overview).to_be_hidden()
    view.press("ArrowRight")
    assert seen(view)["smallest"] >= READABLE
    assert all(seen(view)["nodes"])
    view.press(" ", " ")
    assert seen(view)["smallest"] >= READABLE


def test_p_and_its_button_show_text_as_large_as_a_projector_needs_it(host: Host) -> None:
    view = host.show(gated)
    view.step_to(12)
    view.press("p")
    expect(view.button("Projector")).to_have_attribute("aria-pressed", "true")
    assert seen(view)["smallest"] >= FAR - 0.01
    view.press("ArrowRight")
    assert seen(view)["smallest"] >= FAR - 0.01
    view.button("Projector").click()
    assert READABLE <= seen(view)["smallest"] < FAR


@on_a_page
def test_a_projector_shows_what_is_said_of_a_step_large_and_the_graph_wide(host: Host) -> None:
    view = host.show(gated)
    view.step_to(12)
    (_, _, wide, _) = box(view.graph)
    assert ask(view.narration, SIZE) < FAR
    view.press("p")
    assert ask(view.narration, SIZE) >= FAR
    assert ask(view.root.get_by_role("group", name="Formula"), SIZE) >= FAR
    assert box(view.graph)[2] > 1.15 * wide
    view.press("p")
    assert box(view.graph)[2] == wide


def test_a_click_into_the_overview_shows_what_is_there(host: Host) -> None:
    view = host.show(deep)
    left, top, width, height = box(view.graph.locator(".gv-overview"))
    view.page.mouse.click(left + width / 2, top + height - 8)
    view.page.evaluate(TWO_FRAMES)
    window, last = box(view.graph.locator(".gv-window")), box(view.graph.locator("g.node.forward").last)
    assert window[1] < last[1] < window[1] + window[3]


@on_a_page
@pytest.mark.parametrize("width", [850, 1280])
def test_a_drawing_of_which_nothing_is_open_is_in_view_with_all_that_the_net_is_given(host: Host, width: int) -> None:
    host.set_width(width)
    view = host.show(gated)
    left, _, wide, _ = box(view.graph.locator(".gv-window"))
    leaves = view.graph.locator(".gv-leaf > rect").all()
    assert len(leaves) > 3
    for x, _, across, _ in map(box, leaves):
        assert left - 2 <= x < x + across < left + wide


HIDDEN = """root => {
  root.style.display = "none";
  root.querySelector(".gv-window").dispatchEvent(new Event("scroll"));
  root.style.display = "";
}"""
"""Takes the widget out of the page for less than a frame, as JupyterLab does when its colours change."""


def test_the_overview_frames_what_is_in_view_after_the_widget_was_out_of_sight(host: Host) -> None:
    view = host.show(skip_connection)
    (before,) = view.boxes(".gv-overview .gv-seen")
    ask(view.root, HIDDEN)
    (after,) = view.boxes(".gv-overview .gv-seen")
    assert after[2:] == before[2:]
    assert before[3] > 20


def test_the_window_moves_smoothly_where_motion_is_welcome(host: Host) -> None:
    host.page.emulate_media(reduced_motion="no-preference")
    view = host.show(deep)
    view.step_to(16)
    expect(view.graph.locator(".gv-canvas:not([data-moving])")).to_have_count(1)
    assert all(seen(view)["nodes"])
    host.page.emulate_media(reduced_motion="reduce")


@pytest.mark.parametrize("screen", SCREENS)
def test_the_widget_fits_the_screen_and_keeps_its_height(host: Host, screen: tuple[int, int]) -> None:
    view = host.show(gated)
    host.page.set_viewport_size({"width": screen[0], "height": screen[1]})
    host.page.evaluate(TWO_FRAMES)
    if "main" not in host.page.evaluate("[...document.body.children].map(one => one.localName)"):
        assert box(view.root)[3] <= SCREENS[screen] + 1
    else:
        assert box(view.root)[3] <= screen[1], "a page is filled, and does not scroll"


@on_a_page
def test_a_narrow_widget_shows_one_pane_at_a_time_below_the_narration(host: Host) -> None:
    host.set_width(390)
    view = host.show(skip_connection)
    tabs = view.root.get_by_role("tablist", name="Panes")
    expect(view.graph).to_be_visible()
    expect(view.program).to_be_hidden()
    toolbar = view.root.get_by_role("group", name="Stepping")
    assert box(view.narration)[1] == pytest.approx(box(toolbar)[1] + box(toolbar)[3], abs=1)
    assert box(view.narration)[1] < box(tabs)[1]
    tabs.get_by_role("tab", name="Code").click()
    expect(view.program).to_be_visible()
    expect(view.graph).to_be_hidden()
    view.press("l")
    expect(view.inspector).to_be_visible()
    view.press("s")
    expect(view.graph).to_be_visible()
