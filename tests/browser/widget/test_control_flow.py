"""A loop with a branch, wherever the widget lives: into the branch and out again, the ledger, the workspaces."""

import re

from playwright.sync_api import expect

from tests.browser.hosts import Host, JupyterHost, with_kernels
from tests.browser.programs import gated
from tests.browser.view import View


def go_to(view: View, target: str) -> None:
    """Run to a target and give the keys back to the widget."""
    view.run_to(target)
    view.page.keyboard.press("Escape")


def test_into_the_branch_of_an_iteration_and_out_again(host: Host) -> None:
    view = host.show(gated)
    keyboard = view.page.keyboard
    go_to(view, "iteration 3")
    expect(view.way).to_contain_text("While #2 · iteration 3 of 5")
    keyboard.press("F11")
    expect(view.way).to_contain_text("Do #0")
    for _ in range(12):
        keyboard.press("Enter")
        if "If #4" in (view.way.text_content() or ""):
            break
    expect(view.way).to_contain_text("If #4 · then_net")
    expect(view.narration).to_contain_text("is true, so If #4 runs its then_net")
    keyboard.press("F11")
    keyboard.press("ArrowRight")
    line = view.program.locator(".gv-line", has_text="a@0 = MatMul(w@0, h@0)")
    expect(line).to_be_visible()
    expect(line).to_have_attribute("aria-current", "step")
    expect(view.inspector).to_contain_text("iteration 3 of 5")
    expect(view.inspector).to_contain_text(re.compile(r"computed at event \d+, by MatMul"))
    depth = view.way.get_by_role("listitem")
    expect(depth).to_have_count(5)
    for count in (4, 3, 2, 1):
        keyboard.press("Shift+F11")
        expect(depth).to_have_count(count)
    expect(view.narration).to_contain_text("Iteration 3 ends")


@with_kernels
def test_python_is_in_the_same_iteration_and_sees_its_values(host: JupyterHost) -> None:
    view = host.show(gated)
    go_to(view, "iteration 3")
    go_to(view, "MatMul")
    expect(view.way).to_contain_text("iteration 3 of 5")
    host.expect_python_at(view.now())
    host.run("assert session.path == ('2.loop_net[3]', '0.net', '4.then_net', '0.net'), session.path")
    host.run("import numpy; assert numpy.allclose(session.value('a'), session.value('w') @ session.value('h@0'))")


def test_the_same_place_in_another_iteration(host: Host) -> None:
    view = host.show(gated)
    go_to(view, "iteration 1")
    go_to(view, "SumElements")
    sentence = view.root.locator(".gv-sentence")
    expect(sentence).to_contain_text(re.compile(r"s@0 = SumElements\(h@0\) \(.+:\d+\) ran on cpu"))
    expect(view.way).to_contain_text("iteration 1 of 5")
    before = sentence.text_content() or ""
    view.root.get_by_role("button", name="Next iteration", exact=True).click()
    expect(view.way).to_contain_text("iteration 2 of 5")
    expect(sentence).to_contain_text(re.compile(r"s@0 = SumElements\(h@0\) \(.+:\d+\) ran on cpu"))
    view.page.keyboard.press("[")
    expect(view.way).to_contain_text("iteration 1 of 5")
    expect(sentence).to_have_text(before)
    view.page.keyboard.press("]")
    expect(view.way).to_contain_text("iteration 2 of 5")


def test_each_iteration_stands_in_the_ledger_of_the_weight(host: Host) -> None:
    view = host.show(gated)
    view.narration.click()
    view.page.keyboard.press("End")
    view.root.get_by_role("tab", name="Ledger").click()
    table = view.inspector.get_by_role("table").filter(has_text="w@0 = sum of 5 contributions")
    for iteration in range(5):
        expect(table.get_by_role("row", name=f"iteration {iteration} ")).to_be_visible()
    expect(table).to_contain_text("w_grad@1")
    table.get_by_role("button", name="iteration 2").click()
    expect(view.way).to_contain_text("∂While #2 · iteration 2 of 5")
    expect(view.narration).to_contain_text("takes the workspace that iteration 2 of While #2 left off")


def test_the_workspaces_on_a_scope_can_be_looked_into(host: Host) -> None:
    view = host.show(gated)
    go_to(view, "loss")
    view.narration.click()
    view.page.keyboard.press("Shift+F10")
    inspector = view.inspector
    inspector.locator(".gv-chips button", has_text="scope@1").click()
    expect(inspector).to_contain_text("stack of 5 workspaces")
    inspector.get_by_text("iteration 4 of While #2").click()
    inspector.get_by_role("group", name="Blobs in this workspace").get_by_text("s@0").click()
    expect(inspector.locator("details[open] .gv-single")).to_be_visible()
