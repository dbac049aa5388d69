"""The inspector's answers: each question put by keys, in every host, and what is said where nobody answers."""

import gzip
import re
from base64 import b64encode
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import gradviz
from tests.browser.conftest import fresh_page
from tests.browser.hosts import Host, JupyterHost, everywhere, recorded, with_kernels
from tests.browser.programs import behind_a_gate, gated, negative_logarithm, skip_connection, wide
from tests.browser.view import View


@everywhere
def test_why_versions_state_and_what_changed_are_told_of_the_position(host: Host) -> None:
    view = host.show(skip_connection)
    view.run_to("Accumulated")
    expect(view.open_tab("Why")).to_contain_text("a@0 has a gradient: a_grad@1.")
    expect(view.open_tab("Versions")).to_contain_text("a_grad has 2 versions")
    state = view.open_tab("State")
    expect(state).to_contain_text(f"The state at event {view.now()}: 6 operators played")
    expect(state).to_contain_text("The last event changed:")
    at = view.now()
    view.press("ArrowLeft")
    expect(state).to_contain_text(f"The state at event {at - 1}:")
    view.press("ArrowRight")
    expect(state).to_contain_text(f"The state at event {at}:")
    view.press_button("Compare")
    expect(state).to_contain_text(f"From event {at - 1} to event {at}")
    expect(state).to_contain_text("a_grad@1, the gradient of a@0")


@everywhere
def test_a_check_is_a_light_with_the_numbers_behind_it(host: Host) -> None:
    view = host.show(skip_connection)
    view.run_to("Accumulated")
    panel = view.open_tab("Check")
    expect(panel.locator(".gv-light").first).to_contain_text(re.compile("agree (exactly|to )"))
    summary = panel.locator("summary").first
    summary.focus()
    summary.press("Enter")
    expect(panel.get_by_text("relative error").first).to_be_visible()
    view.press_button("Check the whole gradient of a@0")
    expect(panel.locator(".gv-light")).to_have_count(2)
    view.press("ArrowLeft", "ArrowRight")
    expect(panel.get_by_role("button", name="Check the whole gradient")).to_have_count(0)
    expect(panel.locator(".gv-light")).to_have_count(2)


def test_where_a_nan_was_born_is_told_without_asking(host: Host) -> None:
    view = host.show(negative_logarithm)
    view.run_to("NaN")
    panel = view.open_tab("Why")
    expect(panel).to_contain_text("Born in the forward pass, in #1 l@0 = Log(d@0)")


def test_names_in_an_answer_lead_to_what_they_name(host: Host) -> None:
    view = host.show(skip_connection)
    view.run_to("a")
    panel = view.open_tab("Why")
    expect(panel).to_contain_text("has no gradient yet")
    panel.get_by_role("button", name=re.compile("^event ")).press("Enter")
    expect(panel).to_contain_text("a@0 has a gradient")
    panel.get_by_role("button", name="#2", exact=True).first.press("Enter")
    expect(view.program.locator(".gv-selected, [aria-selected=true], [aria-current=true]").first).to_be_visible()


def test_blobs_of_an_iteration_are_asked_about_there(host: Host) -> None:
    view = host.show(gated)
    view.run_to("iteration 2")
    view.press("ArrowRight")
    panel = view.open_tab("Versions")
    expect(panel).to_contain_text(re.compile(r"loop_net\[2\].* has \d version"))
    expect(view.open_tab("Why")).to_contain_text(re.compile("has (a|no) gradient"))


def test_numbers_are_a_heat_map_or_a_table_and_stay_what_they_were_chosen_to_be(host: Host) -> None:
    view = host.show(skip_connection)
    view.run_to("Ran")
    panel = view.open_tab("Value")
    expect(panel.get_by_role("img", name=re.compile("^histogram from"))).to_be_visible()
    expect(panel.get_by_role("img", name=re.compile("^heat map of"))).to_be_visible()
    view.press("n")
    table = panel.get_by_role("table")
    expect(table.get_by_role("columnheader")).to_have_text(["0", "1", "2", "3", "4"])
    expect(table.get_by_role("rowheader")).to_have_text(["0", "1", "2", "3", "4", "5"])
    expect(table.get_by_role("cell").nth(1)).to_have_text(re.compile(r"^−?\d"))
    view.press("ArrowRight")
    expect(table).to_be_visible()
    view.press_button("Heat map")
    expect(panel.get_by_role("img", name=re.compile("^heat map of"))).to_be_visible()


@with_kernels
def test_all_numbers_come_from_the_kernel_page_by_page(host: JupyterHost) -> None:
    view = host.show(wide)
    view.run_to("Ran")
    panel = view.open_tab("Value")
    view.press("n")
    view.press_button("All 40 × 20 numbers")
    table = panel.get_by_role("table")
    expect(table.get_by_role("rowheader")).to_have_count(24)
    expect(panel).to_contain_text("rows 0 to 23 of 40")
    view.press_button("rows behind")
    expect(table.get_by_role("rowheader")).to_have_text([str(row) for row in range(24, 40)])
    view.press_button("columns behind")
    expect(table.get_by_role("columnheader")).to_have_text(["16", "17", "18", "19"])
    expect(table.get_by_role("cell").last).to_have_text("799")


def test_numbers_that_a_page_has_not_are_asked_for_in_python(page: Page, tmp_path: Path) -> None:
    recorded(wide).to_html(tmp_path / "page.html")
    view = opened(page, tmp_path / "page.html")
    view.run_to("Ran")
    panel = view.open_tab("Value")
    view.press("n")
    expect(panel.get_by_role("rowheader")).to_have_count(6)
    view.press_button("All 40 × 20 numbers")
    expect(panel).to_contain_text('session.numbers("y@0", 0, 0)')


@with_kernels
def test_an_answer_is_waited_for_while_stepping_goes_on(host: JupyterHost) -> None:
    view = host.show(behind_a_gate)
    host.run("from tests.browser.programs import gate, reached; gate.clear(); reached.clear()")
    view.run_to("RuleApplied")
    view.run_to("Gated")
    panel, at = view.open_tab("Check"), view.now()
    expect(panel).to_contain_text("asking the kernel…")
    # A question that waits for another one is forgotten with its place.
    host.expect_in_python("reached.is_set()")
    view.press("ArrowRight")
    view.expect_at(at + 1)
    view.press("Home")
    expect(panel).not_to_contain_text("asking the kernel…")
    view.go_to(at)
    expect(panel).to_contain_text("asking the kernel…")
    host.run("gate.set()")
    expect(panel.locator(".gv-light")).to_contain_text("agree")


@with_kernels
def test_a_view_is_answered_while_a_cell_runs(host: JupyterHost) -> None:
    view = host.show(skip_connection)
    panel = view.open_tab("State")
    expect(panel).to_contain_text("The state at event 0:")
    host.keep_busy()
    try:
        view.press("ArrowRight")
        expect(panel).to_contain_text("The state at event 1:")
    finally:
        host.interrupt()


@with_kernels
def test_a_session_that_is_gone_says_so(host: JupyterHost) -> None:
    view = host.show_forgotten(skip_connection)
    view.run_to("Accumulated")
    expect(view.open_tab("Why")).to_contain_text("The session is gone")


@pytest.fixture
def page(browser: Browser) -> "Page":
    with fresh_page(browser) as fresh:
        yield fresh  # type: ignore[misc]


def opened(page: Page, path: Path) -> View:
    page.goto(path.as_uri())
    return View(page, page.locator(".gradviz"))


def test_a_page_without_room_says_what_to_call_in_python(page: Page, tmp_path: Path) -> None:
    recorded(skip_connection).to_html(tmp_path / "page.html", answers=0)
    view = opened(page, tmp_path / "page.html")
    view.run_to("Accumulated")
    panel = view.open_tab("Check")
    expect(panel).to_contain_text("This page has no room for the answer.")
    expect(panel.get_by_role("button", name="Check the")).to_have_count(0)
    expect(panel).to_contain_text('session.check("#2")')


def test_a_page_of_a_file_says_that_arrays_are_missing(page: Page, tmp_path: Path) -> None:
    recorded(skip_connection).save(tmp_path / "net.gradviz.json")
    gradviz.load(tmp_path / "net.gradviz.json").to_html(tmp_path / "page.html")
    view = opened(page, tmp_path / "page.html")
    view.run_to("Accumulated")
    expect(view.open_tab("Why")).to_contain_text("a@0 has a gradient")
    panel = view.open_tab("Check")
    expect(panel).to_contain_text("a saved trace keeps statistics, no arrays")
    expect(panel.get_by_role("button", name="Check the")).to_have_count(0)


@pytest.mark.parametrize(
    "answers",
    [
        b"[]",
        b"{",
        b'{"rows":[],"blocks":[],"replies":[],"asked":{"[\\"state\\"]":[[0,7]]}}',
        b'{"rows":[],"blocks":[],"replies":[{"blocks":[3],"data":null}],"asked":{"[\\"state\\"]":[[0,0]]}}',
        b'{"rows":[],"blocks":[["grid","t",["h"],[9],""]],"replies":[{"blocks":[0]}],"asked":{"[\\"state\\"]":[[0,0]]}}',
    ],
)
def test_answers_that_are_damaged_are_refused_and_the_recording_is_shown(
    page: Page, tmp_path: Path, answers: bytes
) -> None:
    recorded(skip_connection).to_html(tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text()
    packed = b64encode(gzip.compress(answers)).decode()
    (tmp_path / "page.html").write_text(re.sub(r'(id="gv-answers">)[^<]*', rf"\g<1>{packed}", html))
    view = opened(page, tmp_path / "page.html")
    expect(view.open_tab("State")).to_contain_text("are damaged")
    view.press("ArrowRight")
    view.expect_at(1)
