"""Recordings that are too large to be shown at once: the part around the position, and the way to all others."""

import re
from itertools import pairwise

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.axe import in_both_themes, violations
from tests.browser.hosts import Host, JupyterHost, on_a_page, with_kernels
from tests.browser.lab_page import LabPage
from tests.browser.programs import long_chain, long_loop, record
from tests.browser.view import box

END = 56_003
"""The last position of the chain."""

VERBS = {"F10": "over", "Shift+F10": "back_over", "c": "other_clock"}


@pytest.mark.slow
@with_kernels
def test_a_part_stands_in_the_whole_program_and_both_ends_are_one_key_away(host: Host) -> None:
    view = host.show(long_chain)
    expect(view.position).to_contain_text(f"event 0 / {END}")
    expect(view.program).to_contain_text("8\u202f000 operators")
    expect(view.program).to_contain_text("0 of 8\u202f001 made")
    expect(view.graph).to_contain_text("– #7999")
    norm = view.root.locator(".gv-code .gv-norm").first
    expect(norm).to_have_attribute("title", re.compile("of its last run, in this part of the recording$"))
    view.press("End")
    view.expect_at(END)
    expect(view.narration).to_contain_text("x0_grad@0 = TanhGradient(x1@0, x1_grad@0)")
    expect(view.inspector).to_contain_text(f"computed at event {END}")
    view.press("ArrowLeft")
    view.expect_at(END - 1)
    view.press("Home")
    view.expect_at(0)


@with_kernels
def test_steps_lead_out_of_a_part_into_the_next_and_back(host: JupyterHost) -> None:
    view = host.show(long_chain)
    host.run("session.move_to(599)")
    view.expect_at(599)
    for position in (600, 601, 602, 601, 600, 599):
        view.press("ArrowRight" if position > view.now() else "ArrowLeft")
        view.expect_at(position)
        expect(view.narration).to_contain_text(f"#{position - 1}")
    host.expect_python_at(599)


@pytest.mark.slow
@with_kernels
def test_verbs_lead_where_python_leads_however_far_that_is(host: JupyterHost) -> None:
    view = host.show(long_chain)
    session = record(long_chain)
    session.run_to("TanhGradient")
    view.run_to("TanhGradient")
    view.expect_at(session.position)
    for key, verb in VERBS.items():
        getattr(session, verb)()
        view.press(key)
        view.expect_at(session.position)
    view.run_to("nothing of it")
    expect(view.narration).to_contain_text("No event after position")


@with_kernels
def test_a_breakpoint_in_another_part_stops(host: JupyterHost) -> None:
    view = host.show(long_chain)
    field = view.open_tab("Breakpoints").get_by_label("Stop at", exact=True)
    field.fill("x7000_grad")
    field.press("Enter")
    host.expect_in_python("len(session.breakpoints) == 1")
    view.press("Shift+ArrowRight")
    expect(view.narration).to_contain_text("Breakpoint: x7000_grad")
    host.expect_in_python(f"session.stopped.position == {view.now()} > 8000")


@pytest.mark.slow
@with_kernels
def test_any_place_of_the_whole_is_a_click_away_and_so_is_a_stretch(host: Host) -> None:
    view = host.show(long_chain)
    left, top, width, height = box(view.timeline.locator(".gv-whole"))
    view.page.mouse.click(left + width / 2, top + height / 2)
    expect(view.position).not_to_contain_text("event 0 /")
    assert abs(view.now() - END / 2) < END / 100
    view.program.locator(".gv-line", has_text="⋯").first.click()
    view.expect_at(1)


@pytest.mark.slow
@with_kernels
def test_a_part_is_no_lesson_and_its_table_has_operators_by_their_numbers(host: JupyterHost) -> None:
    view = host.show(long_chain)
    host.run("session.run_to('#4000')")
    view.press("t")
    expect(view.narration).to_contain_text("teaching is for smaller ones")
    expect(view.button("Teach")).to_have_attribute("aria-pressed", "false")
    view.press("g")
    rows = view.graph.get_by_role("table", name="Operators").get_by_role("row")
    row = rows.filter(has=view.page.locator("[data-operator='f4000']"))
    expect(row.get_by_role("cell").first).to_have_text("#4000")
    host.run("session.finish()")
    row = rows.filter(has=view.page.locator("[data-operator='f4']"))
    expect(row.get_by_role("cell").nth(4)).to_have_text("TanhGradient")
    session = record(long_chain)
    session.finish()
    norm = np.linalg.norm(session.value("x5_grad@0"))
    expect(row.get_by_role("cell").nth(5)).to_contain_text(f"{norm:.1e}"[:3] + "·10")


@pytest.mark.slow
@with_kernels
def test_nothing_that_runs_later_counts_as_computed(host: JupyterHost) -> None:
    view = host.show(long_chain)
    host.run("session.run_to('#4000')")
    expect(view.root.locator(".gv-called.gv-now")).to_have_text(re.compile("net.Tanh"))
    assert set(view.root.locator(".gv-called .gv-norm span").all_inner_texts()) == {""}
    session = record(long_chain)
    session.run_to("#4000")
    program = session.view().forward
    behind = next(line for before, line in pairwise(program) if (before.kind, line.kind) == ("stretch", "operator"))
    view.press("s")
    field = view.graph.get_by_label("Search the graph")
    field.fill(f"#{behind.number}")
    field.press("Enter")
    view.inspector.locator(".gv-chips button", has_text=behind.inputs[0]).click()
    expect(view.inspector).to_contain_text(re.compile(r"computed later, by one of Tanh × \d+"))


@with_kernels
def test_what_other_parts_have_is_asked_of_python(host: JupyterHost) -> None:
    view = host.show(long_chain)
    host.run("session.run_to('x1_grad'); session.step()")
    session = record(long_chain)
    session.finish()
    watch = view.open_tab("Watch")
    field = watch.get_by_label("Blob or expression")
    for text in ("x7000.max", "x3"):
        field.fill(text)
        field.press("Enter")
    cards = view.inspector.locator(".gv-watch")
    expect(cards.first).to_contain_text(
        re.compile(r"not computed\s*event \d+\s*" + f"{session.value('x7000').max():.4g}")
    )
    host.run("session.finish()")
    expect(cards.nth(1)).to_contain_text(f"{np.linalg.norm(session.value('x3')):.4g} (x3@0, float64 4, norm)")
    view.open_tab("Ledger")
    host.run("session.move_to(1)")
    expect(view.inspector).to_contain_text("Gradient of x1@0 = sum of 1 contribution")


@with_kernels
def test_in_a_long_loop_the_way_in_is_told_wherever_the_part_begins(host: JupyterHost) -> None:
    view = host.show(long_loop)
    host.run("session.run_to('2.loop_net[1500]/0.net'); session.step()")
    expect(view.way).to_contain_text("iteration 1500 of 3000")
    before = view.now()
    view.press("Shift+F11")
    expect(view.position).not_to_contain_text(f"event {before} /")
    expect(view.way).to_contain_text("iteration 1500 of 3000")
    host.expect_python_at(view.now())
    host.run("session.restart(); session.run_to('iteration 0')")
    expect(view.timeline.get_by_title("While: 3\u202f000 iterations", exact=True)).to_have_count(1)


@pytest.mark.slow
def test_the_side_panel_follows_from_part_to_part(lab: LabPage) -> None:
    lab.open_cells(
        "from tests.browser.programs import long_chain, record\nsession = record(long_chain)",
        "session.finish()\nsession",
    )
    panel = lab.open_panel()
    lab.run_cells(2)
    expect(panel).to_contain_text(f"event {END} / {END}")
    panel.get_by_role("button", name="Restart").click()
    expect(panel).to_contain_text("event 0 /")


@on_a_page
def test_a_page_shows_a_part_at_once_and_then_the_whole(host: Host) -> None:
    view = host.show(long_chain)
    expect(view.timeline.locator(".gv-whole")).to_have_count(0)
    view.press("End")
    view.expect_at(END)
    view.press("Home", "F10")
    view.expect_at(1)


@with_kernels
def test_axe_finds_nothing_in_a_part(host: Host) -> None:
    view = host.show(long_chain)
    for rules in in_both_themes(host):
        view.press("Home")
        assert violations(host.page, ".gradviz", rules) == []
