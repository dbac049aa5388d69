"""A loop with a branch in a real JupyterLab: into the branch by keys and out again, the ledger, the workspaces."""

import re

from playwright.sync_api import Locator, expect

from tests.browser.lab_page import LabPage

SESSION = """
import gradviz, numpy as np
net = gradviz.Net("gated")
net.LT(["i", "n"], "go")
with net.While("go") as loop:
    with loop.condition():
        net.LT(["i", "n"], "go")
    net.SumElements("h", "s")
    net.LT(["s", "zero"], "low")
    with net.If("low"):
        net.MatMul(["w", "h"], "a")
        net.Tanh("a", "h")
    with net.Else():
        net.Scale("h", "h", scale=0.5)
    net.Add(["h", "b"], "h")
    net.Add(["i", "one"], "i")
net.SumElements("h", "loss")
ws = gradviz.Workspace()
for name, value in {"i": 0.0, "one": 1.0, "n": 5.0, "zero": 0.0}.items():
    ws.feed(name, value)
ws.feed("w", [[0.9, -0.4], [0.3, 0.8]])
ws.feed("h", [[1.0], [-0.5]])
ws.feed("b", [[-0.8], [0.3]])
session = gradviz.debug(net, ["loss"], workspace=ws)
session
"""


def opened_widget(lab: LabPage, *more: str) -> Locator:
    lab.open_cells(SESSION, *more)
    lab.run_cells(1)
    widget = lab.output(1).locator(".gradviz")
    expect(widget).to_be_visible()
    widget.scroll_into_view_if_needed()
    return widget


def run_to(widget: Locator, target: str) -> None:
    field = widget.get_by_label("Run to")
    field.fill(target)
    field.press("Enter")
    field.press("Escape")


def way(widget: Locator) -> Locator:
    """The nested nets that are open."""
    return widget.get_by_role("navigation", name="Nested nets that we are in")


def test_into_the_branch_of_an_iteration_and_out_again(lab: LabPage) -> None:
    widget = opened_widget(lab, "session.path", "session.value('a').ravel()")
    keyboard = lab.page.keyboard
    run_to(widget, "iteration 3")
    expect(way(widget)).to_contain_text("While #2 · iteration 3 of 5")
    keyboard.press("F11")
    expect(way(widget)).to_contain_text("Do #0")
    for _ in range(12):
        keyboard.press("Enter")
        if "If #4" in (way(widget).text_content() or ""):
            break
    expect(way(widget)).to_contain_text("If #4 · then_net")
    expect(widget.locator(".gv-narration")).to_contain_text("is true, so If #4 runs its then_net")
    keyboard.press("F11")
    keyboard.press("ArrowRight")
    line = widget.locator(".gv-line", has_text="a@0 = MatMul(w@0, h@0)")
    expect(line).to_be_visible()
    expect(line).to_have_attribute("aria-current", "step")
    inspector = widget.get_by_role("region", name="Inspector")
    expect(inspector).to_contain_text("iteration 3 of 5")
    expect(inspector).to_contain_text(re.compile(r"computed at event \d+, by MatMul"))
    lab.shot("in-a-branch")
    lab.run_cells_from(2, 3)
    expect(lab.output(2)).to_contain_text("('2.loop_net[3]', '0.net', '4.then_net', '0.net')")
    widget.locator(".gv-narration").click()
    depth = way(widget).get_by_role("listitem")
    expect(depth).to_have_count(5)
    for count in (4, 3, 2, 1):
        keyboard.press("Shift+F11")
        expect(depth).to_have_count(count)
    expect(widget.locator(".gv-narration")).to_contain_text("Iteration 3 ends")


def test_the_same_place_in_another_iteration(lab: LabPage) -> None:
    widget = opened_widget(lab)
    run_to(widget, "iteration 1")
    run_to(widget, "SumElements")
    sentence = widget.locator(".gv-sentence")
    expect(sentence).to_contain_text("s@0 = SumElements(h@0) ran on cpu")
    expect(way(widget)).to_contain_text("iteration 1 of 5")
    before = sentence.text_content() or ""
    widget.get_by_role("button", name="Next iteration", exact=True).click()
    expect(way(widget)).to_contain_text("iteration 2 of 5")
    expect(sentence).to_contain_text("s@0 = SumElements(h@0) ran on cpu")
    lab.page.keyboard.press("[")
    expect(way(widget)).to_contain_text("iteration 1 of 5")
    expect(sentence).to_have_text(before)


def test_each_iteration_stands_in_the_ledger_of_the_weight(lab: LabPage) -> None:
    widget = opened_widget(lab)
    widget.locator(".gv-narration").click()
    lab.page.keyboard.press("End")
    widget.get_by_role("tab", name="Ledger").click()
    inspector = widget.get_by_role("region", name="Inspector")
    table = inspector.get_by_role("table").filter(has_text="w@0 = sum of 5 contributions")
    for iteration in range(5):
        expect(table.get_by_role("row", name=f"iteration {iteration} ")).to_be_visible()
    expect(table).to_contain_text("w_grad@1")
    lab.shot("ledger")
    table.get_by_role("button", name="iteration 2").click()
    expect(way(widget)).to_contain_text("∂While #2 · iteration 2 of 5")
    expect(widget.locator(".gv-narration")).to_contain_text("takes the workspace that iteration 2 of While #2 left off")


def test_the_workspaces_on_a_scope_can_be_looked_into(lab: LabPage) -> None:
    widget = opened_widget(lab)
    run_to(widget, "loss")
    widget.locator(".gv-narration").click()
    lab.page.keyboard.press("Shift+F10")
    inspector = widget.get_by_role("region", name="Inspector")
    inspector.locator(".gv-blobs button", has_text="scope@1").click()
    expect(inspector).to_contain_text("stack of 5 workspaces")
    inspector.get_by_text("iteration 4 of While #2").click()
    inspector.get_by_role("group", name="Blobs in this workspace").get_by_text("s@0").click()
    expect(inspector.locator("details[open] .gv-single")).to_be_visible()
    lab.shot("workspaces")
