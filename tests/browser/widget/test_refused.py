"""A refused pass: what is at fault is marked, the ways out are told, and the SSA form is one click away."""

import re

from playwright.sync_api import expect

from tests.browser.hosts import Host, JupyterHost, everywhere, on_a_page, with_kernels
from tests.browser.programs import relu_in_place


@everywhere
def test_who_overwrote_which_version_is_marked_and_told(host: Host) -> None:
    view = host.show(relu_in_place)
    view.press("End")
    row = view.program.locator(".gv-obstacle")
    expect(row).to_have_count(2)
    expect(row.first).to_contain_text("∂ needs a@0")
    expect(row.last).to_contain_text("overwrites a@0")
    expect(view.graph.locator("g.node.obstacle")).to_have_count(2)
    expect(view.program).to_contain_text("3 made, then it stops")
    wrong = view.inspector.get_by_label("What is wrong")
    expect(wrong.get_by_role("listitem")).to_have_count(3)
    versions = view.open_tab("Versions")
    expect(versions).to_contain_text("a@0 is needed by the gradient of Sigmoid #1, and Relu #2 overwrites it.")
    view.press("ArrowLeft")
    expect(wrong).to_have_count(0)
    expect(row).to_have_count(0)


@on_a_page
def test_why_says_once_what_stopped_the_pass(host: Host) -> None:
    view = host.show(relu_in_place)
    view.press("End")
    why = view.open_tab("Why")
    why.get_by_role("button", name="h@0", exact=True).click()
    expect(why).to_contain_text("h@0 has no gradient")
    assert (why.text_content() or "").count("overwrote it") == 1
    assert (why.text_content() or "").count("write a new name") == 1


@with_kernels
def test_the_ssa_form_is_debugged_in_the_same_widget(host: JupyterHost) -> None:
    view = host.show(relu_in_place)
    view.press("End")
    view.press_button("Debug the SSA form")
    expect(view.root).to_have_attribute("aria-label", "gradviz debugger: relu in place in SSA form")
    view.press("End")
    expect(view.narration).to_contain_text("ran on cpu")
    assert host.show_again().root.get_attribute("aria-label") == "gradviz debugger: relu in place"


@with_kernels
def test_hand_out_saves_a_page_beside_the_notebook_and_links_to_it(host: JupyterHost) -> None:
    view = host.show(relu_in_place)
    view.step_to(3)
    view.button("Hand out").click()
    link = view.narration.get_by_role("link", name="relu in place.html")
    expect(link).to_have_attribute("href", re.compile(r"^/files/\w+/relu%20in%20place\.html$"))
    with host.page.context.expect_page() as opened:
        link.click()
    expect(opened.value.locator(".gv-position")).to_contain_text("event 3 /")
    opened.value.close()


@on_a_page
def test_a_page_without_a_kernel_offers_neither(host: Host) -> None:
    view = host.show(relu_in_place)
    view.press("End")
    expect(view.inspector.get_by_label("What is wrong")).to_contain_text("net.to_ssa()")
    expect(view.button("Debug the SSA form")).to_have_count(0)
    expect(view.button("Hand out")).to_have_count(0)
