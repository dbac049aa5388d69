"""Breakpoints and watches in the widget: set by key, by mouse, by text and from Python; runs that stop at them."""

import re
from pathlib import Path

import msgspec
import numpy as np
from playwright.sync_api import Browser, expect

import gradviz
from tests.browser.axe import in_both_themes, violations
from tests.browser.conftest import fresh_page
from tests.browser.hosts import Host, JupyterHost, recorded, with_kernels
from tests.browser.programs import gated, skip_connection
from tests.browser.view import View
from tests.drawing.nested import workspace

END = len(recorded(skip_connection))


def hits(on: str, ignore: int = 0, every: int = 1) -> tuple[int, ...]:
    """Where Python says that a breakpoint stops."""
    return gradviz.Session(recorded(skip_connection).trace()).break_on(on, ignore=ignore, every=every).hits


def add(view: View, on: str, label: str = "Stop at") -> None:
    """Write a breakpoint, or what to watch, into the field of its tab."""
    field = view.inspector.get_by_label(label, exact=True)
    field.fill(on)
    field.press("Enter")


def test_a_run_stops_where_python_says_in_both_directions(host: Host) -> None:
    view = host.show(skip_connection)
    view.open_tab("Breakpoints")
    add(view, "FC if norm > 3")
    forward = [*hits("FC if norm > 3"), END]
    for position in forward:
        view.press("Shift+ArrowRight")
        view.expect_at(position)
    expect(view.narration).to_contain_text("The end")
    for position in [*forward[-2::-1], 0]:
        view.button("Back to").click()
        view.expect_at(position)
    view.button("Continue").click()
    expect(view.narration).to_contain_text(re.compile(r"FC if norm > 3, norm of h@0 = [\d.]+"))


def test_space_switches_a_breakpoint_off_and_on(host: Host) -> None:
    view = host.show(skip_connection)
    view.open_tab("Breakpoints")
    add(view, "Tanh")
    switch = view.inspector.get_by_role("checkbox", name="Stop at Tanh")
    for is_on in (False, True):
        switch.focus()
        view.page.keyboard.press("Space")
        expect(switch).to_be_checked(checked=is_on)
    view.expect_at(0)


def test_the_gutter_and_the_key_b_set_and_take_away(host: Host) -> None:
    view = host.show(skip_connection)
    row = view.program.locator("[data-line=f1]")
    row.locator(".gv-gutter").click()
    expect(row).to_have_class(re.compile("gv-stops"))
    view.expect_at(0)
    view.press("Shift+ArrowRight")
    view.expect_at(hits("a@0")[0])
    view.press("b")
    expect(row).not_to_have_class(re.compile("gv-stops"))
    row.focus()
    view.page.keyboard.press("b")
    expect(row).to_have_attribute("aria-description", "breakpoint")


def test_the_list_disables_and_removes_and_counts(host: Host) -> None:
    view = host.show(skip_connection)
    view.open_tab("Breakpoints")
    add(view, "Accumulated")
    add(view, "norm > 1e9")
    listed = view.inspector.get_by_role("list", name="Breakpoints").get_by_role("listitem")
    expect(listed).to_have_text([re.compile(r"Accumulated.*1 hit"), re.compile("norm > 1e9.*no hit")])
    listed.first.get_by_role("checkbox").uncheck()
    view.press("Shift+ArrowRight")
    view.expect_at(END)
    listed.first.get_by_role("checkbox").check()
    view.press("Shift+ArrowLeft")
    expect(listed.first).to_contain_text("hit 1 of 1")
    view.button("Remove Accumulated").click()
    expect(listed).to_have_count(1)


def test_a_malformed_condition_is_shown_with_its_place(host: Host) -> None:
    view = host.show(skip_connection)
    view.open_tab("Breakpoints")
    add(view, "norm >> 3")
    expect(view.inspector.get_by_role("alert")).to_contain_text("makes no sense here, at character 7")
    expect(view.inspector.locator("pre")).to_have_text("norm >> 3\n      ^")
    expect(view.inspector.get_by_role("list", name="Breakpoints")).to_have_count(0)
    assert violations(host.page, ".gv-inspector") == []


def test_watches_follow_the_position_and_lead_to_where_they_changed(host: Host) -> None:
    view = host.show(gated)
    view.open_tab("Watch")
    add(view, "norm(h)", "Blob or expression")
    card = view.inspector.get_by_role("group", name="Watch norm(h)")
    expect(card).to_contain_text("1.118")
    view.press("End")
    session = recorded(gated)
    position, _ = session.watch("norm(h)").history[-1]
    card.get_by_role("button", name=f"event {position}", exact=True).click()
    view.expect_at(position)
    view.button("Stop watching norm(h)").click()
    expect(card).to_have_count(0)


KINDS = (
    "Exp",  # an operator's type
    "e",  # a blob
    "#1",
    "x_grad@0",  # the writing of a version
    "Accumulated",
    "accumulation",
    "n > 1",
    "sparse meets dense",
    "device change",
    "NaN",
    "NaN appears",
    "Inf",
    "Inf appears",
    "subnormal",
    "subnormal appears",
    "norm > 5",
    "max > 2",
    "min < -1",
    "Exp if inf > 0",
    "op == 'Mul' and event == 'Ran' and step > 3",
    "g.norm >= 0",
    "norm(e) > 1e300",
)


def extremes() -> gradviz.Session:
    """A recording in which all of them happen; one value lies on another device."""
    net = gradviz.Net("extremes")
    net.Gather(["w", "ids"], "rows")
    net.MatMul(["rows", "w"], "m")
    net.Exp("x", "e")
    net.Mul(["x", "e"], "p")
    net.Log("x", "l")
    net.Add(["p", "l"], "s")
    net.Sum(["s", "m"], "y")
    fed = {"w": np.eye(2), "ids": np.array([0, 1]), "x": np.array([[800.0, -740.0], [1.0, 2.0]])}
    document = gradviz.debug(net, ["y"], workspace=workspace(fed)).trace()
    values = dict(document.values)
    values["l@0"] = msgspec.structs.replace(values["l@0"], device="cuda:0")
    return gradviz.Session(msgspec.structs.replace(document, values=values))


def test_each_kind_of_breakpoint_is_set_and_hit(browser: Browser, tmp_path: Path) -> None:
    session = extremes()
    session.to_html(tmp_path / "page.html")
    with fresh_page(browser) as page:
        page.goto((tmp_path / "page.html").as_uri())
        view = View(page, page.locator(".gradviz"))
        view.open_tab("Breakpoints")
        for on in KINDS:
            expected = session.break_on(on).hits
            assert expected, f"{on} happens nowhere"
            add(view, on)
            expect(view.inspector.get_by_role("listitem")).to_contain_text(on)
            view.press("Home")
            for position in expected:
                page.keyboard.press("Shift+ArrowRight")
                view.expect_at(position)
            view.button(f"Remove {on}").click()


def test_the_key_w_watches_the_blob_in_focus_and_c_changes_the_clock(host: Host) -> None:
    view = host.show(skip_connection)
    view.press("ArrowRight", "w")
    expect(view.inspector.get_by_role("group", name="Watch h@0")).to_contain_text("not computed")
    view.press("c")
    net, ys, ws = skip_connection()
    session = gradviz.debug(net, ys, workspace=ws)
    session.step()
    session.other_clock()
    view.expect_at(session.position)
    expect(view.inspector.get_by_role("group", name="Watch h@0")).to_contain_text("norm")
    view.button("Other clock").click()
    view.expect_at(1)


def test_which_hits_count_and_what_is_logged_are_set_by_keyboard(host: Host) -> None:
    view = host.show(skip_connection)
    keyboard = view.page.keyboard
    view.open_tab("Breakpoints")
    add(view, "FC")
    view.button("Which hits of FC count, and what it logs").focus()
    for key in ("Enter", "Tab", "Tab"):  # over the button that removes it
        keyboard.press(key)
    keyboard.type("1")
    keyboard.press("Tab")
    keyboard.type("2")
    keyboard.press("Enter")
    entry = view.inspector.get_by_role("list", name="Breakpoints").get_by_role("listitem")
    expect(entry).to_contain_text("ignores the first 1, one in 2")
    for position in [*hits("FC", ignore=1, every=2), END]:
        view.press("Shift+ArrowRight")
        view.expect_at(position)
    log = view.inspector.get_by_label("Log and do not stop: FC", exact=True)
    log.fill("norm of {x} is {norm")
    log.press("Enter")
    expect(view.inspector.get_by_role("alert")).to_contain_text("never closed")
    assert violations(host.page, ".gv-inspector") == []
    log.fill("norm of {x} is {norm}")
    log.press("Enter")
    expect(log).to_be_focused()
    messages = view.inspector.get_by_role("list", name="Messages").get_by_role("listitem")
    expect(messages).to_have_count(len(hits("FC", ignore=1, every=2)))
    expect(messages.last).to_contain_text(re.compile(r"norm of \w+@0 is [\d.]+"))
    view.press("Home", "Shift+ArrowRight")
    view.expect_at(END)


def test_axe_finds_nothing_in_the_lists(host: Host) -> None:
    view = host.show(skip_connection)
    view.open_tab("Breakpoints")
    add(view, "FC if norm > 3")
    view.program.locator("[data-line=f1] .gv-gutter").click()
    view.press("End", "w")
    for rules in in_both_themes(host):
        view.open_tab("Breakpoints")
        assert violations(host.page, ".gradviz", rules) == []
        view.open_tab("Watch")
        assert violations(host.page, ".gv-inspector", rules) == []


@with_kernels
def test_python_and_the_widget_have_the_same_breakpoints(host: JupyterHost) -> None:
    view = host.show(skip_connection)
    host.run("session.break_on('Accumulated'); session.watch('loss')")
    view.open_tab("Breakpoints")
    expect(view.inspector.get_by_role("list", name="Breakpoints")).to_contain_text("Accumulated")
    view.program.locator("[data-line=f1] .gv-gutter").click()
    add(view, "norm > 1e9")
    expect(view.inspector.get_by_role("listitem")).to_have_count(3)
    host.expect_in_python("[one.on for one in session.breakpoints] == ['Accumulated', 'a@0', 'norm > 1e9']")
    host.run("session.breakpoints[1].remove(); session.continue_(); assert session.event.kind == 'Accumulated'")
    expect(view.inspector.get_by_role("listitem")).to_have_count(2)
    view.expect_at(hits("Accumulated")[0])
    view.open_tab("Watch")
    expect(view.inspector.get_by_role("group", name="Watch loss")).to_be_visible()


def test_what_is_typed_stays_with_its_caret_until_it_is_set(host: Host) -> None:
    view = host.show(skip_connection)
    keyboard = view.page.keyboard
    for name, label in (("Watch", "Blob or expression"), ("Breakpoints", "Stop at")):
        view.open_tab(name)
        field = view.inspector.get_by_label(label, exact=True)
        field.fill("norm > 1")
        field.press("Home")
        at = view.now()
        keyboard.press("F10")
        expect(view.position).not_to_contain_text(f"event {at} /")
        expect(field).to_be_focused()
        keyboard.type("2 * ")
        expect(field).to_have_value("2 * norm > 1")
    view.press("ArrowRight")
    expect(field).to_have_value("2 * norm > 1")
    field.press("Enter")
    expect(view.inspector.get_by_role("list", name="Breakpoints")).to_contain_text("2 * norm > 1")
    expect(field).to_be_focused()
    expect(field).to_have_value("")
    view.press_button("Which hits of 2 * norm > 1 count, and what it logs")
    log = view.inspector.get_by_label("Log and do not stop: 2 * norm > 1")
    log.fill("here: {norm}")
    log.press("Home")
    keyboard.press("F10")
    expect(log).to_be_focused()
    add(view, "Accumulated")
    log.focus()
    keyboard.type("Look ")
    expect(log).to_have_value("Look here: {norm}")
    keyboard.press("Enter")
    expect(view.inspector.get_by_role("checkbox", name="Log at 2 * norm > 1")).to_be_checked()
    expect(log).to_be_focused()
    view.open_tab("Watch")
    expect(view.inspector.get_by_label("Blob or expression", exact=True)).to_have_value("2 * norm > 1")
