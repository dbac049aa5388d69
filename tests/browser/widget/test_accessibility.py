"""What axe finds in the widget, wherever it lives, and in the page without a server as a whole."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import in_both_themes, violations
from tests.browser.conftest import fresh_page
from tests.browser.hosts import Host, everywhere, on_a_page, recorded
from tests.browser.programs import Build, gated, relu_in_place, skip_connection, written_into
from tests.browser.view import ask
from tests.drawing.nested import loop

ANSWERS: list[tuple[str, str, str | re.Pattern[str]]] = [
    ("Value", "Table", "5 · float32"),
    ("Why", "", "a@0 has a gradient"),
    ("Versions", "", "a_grad has 2 versions"),
    ("Check", "Check the rule of FC #2", "agree"),
    ("State", "Compare", "From event"),
    ("Ledger", "Paths of the gradient of a@0", re.compile("along 2 paths.*their parts add up to the gradient", re.S)),
]
"""Tabs, what to press there, and what it brings."""


@everywhere
def test_axe_finds_nothing_in_the_widget(host: Host) -> None:
    view = host.show(skip_connection)
    for rules in in_both_themes(host):
        view.press("Home")
        assert violations(host.page, ".gradviz", rules) == []
        view.run_to("Accumulated")
        expect(view.inspector).to_contain_text("sum of 2 contributions")
        assert violations(host.page, ".gradviz", rules) == []
        view.open_tab("Value")
        view.press("?")
        assert violations(host.page, ":is(.gv-inspector, .gv-help)", rules) == []
        view.press("Escape", "l")


def test_axe_finds_nothing_in_the_answers(host: Host) -> None:
    view = host.show(skip_connection)
    view.run_to("Accumulated")
    for rules in in_both_themes(host):
        for tab, button, said in ANSWERS:
            panel = view.open_tab(tab)
            # In the dark most have been asked already; whether there is something to ask the kernel says first.
            expect(panel.locator("[aria-busy]")).to_have_count(0)
            if button and panel.get_by_role("button", name=button).count() > 0:
                view.press_button(button)
            expect(panel).to_contain_text(said)
            assert violations(host.page, ".gv-inspector", rules) == [], tab


@on_a_page
def test_keywords_are_readable_in_a_marked_line_of_code(host: Host) -> None:
    view = host.show(gated)
    marked = view.root.locator(".gv-code-line.gv-now .gv-keyword")
    for rules in in_both_themes(host):
        for keys in (["Home", "ArrowRight", "ArrowRight"], ["End"]):  # in the forward and in the backward pass
            view.press(*keys)
            expect(marked.first).to_be_visible()
            assert violations(host.page, ".gv-code", rules) == []


def test_axe_finds_nothing_in_an_open_loop(host: Host) -> None:
    view = host.show(loop)
    view.run_to("iteration 1")
    view.press("ArrowRight", "ArrowRight")
    expect(view.way).to_contain_text("iteration 1 of")
    assert violations(host.page, ".gradviz") == []


@on_a_page
@pytest.mark.parametrize(
    ("build", "width"), [(skip_connection, 390), (relu_in_place, 620), (written_into, 800), (skip_connection, 1366)]
)
def test_axe_finds_nothing_in_a_page_of_any_width(host: Host, build: Build, width: int) -> None:
    host.set_width(width)
    view = host.show(build)
    view.press("End")
    for rules in in_both_themes(host):
        assert violations(host.page, "html", rules) == []
        rule = view.open_tab("Value").locator("details.gv-rule > summary")
        if rule.count() > 0 and rule.get_attribute("open") is None:
            rule.click()
        assert violations(host.page, ".gradviz", rules) == []


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    recorded(skip_connection).to_html(tmp_path / "page.html")
    with fresh_page(browser) as fresh:
        fresh.goto((tmp_path / "page.html").as_uri())
        expect(fresh.locator(".gradviz")).to_be_visible()
        yield fresh


def test_the_page_has_its_landmarks_title_and_one_heading(page: Page) -> None:
    expect(page).to_have_title("skip connection · gradviz")
    expect(page.get_by_role("banner")).to_contain_text("skip connection")
    expect(page.get_by_role("main").get_by_role("region", name="gradviz debugger: skip connection")).to_be_visible()
    expect(page.get_by_role("contentinfo")).to_contain_text("Made by gradviz")
    expect(page.get_by_role("heading", level=1)).to_have_count(1)


@on_a_page
def test_where_the_system_chooses_the_colours_it_shows_what_is_on_and_what_is_current(host: Host) -> None:
    host.page.emulate_media(forced_colors="active")
    view = host.show(skip_connection)
    view.run_to("Accumulated")
    background = "one => getComputedStyle(one).backgroundColor"
    tabs = view.inspector.get_by_role("tab")
    assert ask(tabs.and_(host.page.locator("[aria-selected=true]")), background) != ask(tabs.nth(0), background)
    assert ask(view.button("Graph"), background) != ask(view.button("Table"), background)
    outline = "one => getComputedStyle(one).outlineStyle"
    lines = view.root.locator(".gv-code-line")
    assert ask(lines.and_(host.page.locator("[aria-current=step]")), outline) == "solid"
    assert ask(lines.first, outline) == "none"
    host.page.emulate_media(forced_colors="none")
