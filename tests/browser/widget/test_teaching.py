"""Teaching mode, wherever the widget lives: formulas, what the wires carry, and predict, then reveal."""

import re
from itertools import chain

import pytest
from playwright.sync_api import Locator, expect

import gradviz
from tests.browser.axe import in_both_themes, violations
from tests.browser.hosts import Host, on_a_page, recorded
from tests.browser.programs import Build, gated, lanes, large, neuron, shrunken, skip_connection
from tests.browser.view import GEOMETRY, View, ask, box
from tests.drawing.nested import Built, loop, shared_gradient, two_branches, workspace

OVERLAPS = (
    """svg => {"""
    + GEOMETRY
    + """
  const shown = (selector) =>
    [...svg.querySelectorAll(selector)].filter(one => one.textContent !== "" && one.checkVisibility());
  const [labels, crowded] = [shown(".gv-wire:not(.gv-crowded) text"), shown(".gv-crowded text")];
  const nodes = [...svg.querySelectorAll("g.node > :is(rect, ellipse)"), ...shown("g.edge > text")];
  const points = pointsOf(svg.querySelectorAll("g.edge > path"));
  const met = (one, others) =>
    others.filter(other => other.parentElement !== one.parentElement && meets(boxOf(one), boxOf(other)));
  return [...labels, ...crowded].flatMap((one, at) => {
    const others = at < labels.length ? [...labels.slice(at + 1), ...nodes] : crowded.slice(at - labels.length + 1);
    const isCrossed = at < labels.length && points.some(point => isIn(point, boxOf(one)));
    return [...met(one, others).map(other => other.textContent || "a node"), ...(isCrossed ? ["an edge"] : [])]
      .map(other => `${one.textContent} | ${other}`);
  });
}"""
)


def not_run() -> Built:
    """The neuron without any numbers."""
    net, ys, _ = neuron()
    return net, ys, workspace({})


def taught(host: Host, build: Build, course: str = "Whole story") -> View:
    """A widget in teaching mode, at its start."""
    view = host.show(build)
    view.press("t")
    expect(view.button("Teach")).to_have_attribute("aria-pressed", "true")
    panel(view).get_by_role("button", name=course).click()
    return view


def position_of(build: Build, kind: str, of: str = "", nth: int = 0) -> int:
    """The position after the `nth` event of a kind that is about `of`."""
    events = enumerate(recorded(build).trace().events, 1)
    return [at for at, event in events if event.kind == kind and (not of or of in event.targets)][nth]


def go_before(view: View, position: int) -> None:
    """To where `position` is the next one."""
    view.go_to(position - 1)


def label(view: View, text: str) -> Locator:
    """A label, whose tool tip says at length what was not computed."""
    return view.graph.locator(".gv-wire text", has_text=re.compile(f"^(not computed yet)?{re.escape(text)}$"))


def overlaps(view: View) -> list[str]:
    """What labels of wires lie over."""
    found: list[str] = ask(view.graph.locator("svg[role]").first, OVERLAPS)
    return found


def panel(view: View) -> Locator:
    return view.root.get_by_role("region", name="Teaching")


def test_every_step_shows_its_formula_with_the_blobs_of_the_net(host: Host) -> None:
    view = host.show(neuron)
    math = view.root.locator(".gv-formula math")
    expect(math).to_have_count(0)
    view.go_to(position_of(neuron, "RuleApplied", "SigmoidGradient"))
    expect(math).to_have_attribute("alttext", "∂z = ∂f · f (1 - f)")
    expect(math.locator("mi")).to_have_text(["∂", "z", "∂", "f", "f", "f"])
    assert box(math)[3] > 12
    view.go_to(position_of(neuron, "RuleApplied", "AddGradient"))
    expect(math).to_have_attribute("alttext", "∂c = ∂z, ∂w2 = ∂z")


def test_formulas_pair_names_with_blobs_and_an_accumulation_shows_its_sum(host: Host) -> None:
    view = host.show(skip_connection)
    math = view.root.locator(".gv-formula math")
    view.run_to("SoftmaxWithLossGradient")
    # Its second input, `weights`, is left out.
    formula = "∂logits = ∂loss · scale · weightsᵢ (probs - onehot(labels)) / Σᵢ weightsᵢ"
    expect(math).to_have_attribute("alttext", formula)
    view.run_to("Accumulated")
    expect(math).to_have_attribute("alttext", "∂a = ∂a via #3 + ∂a via #2")


def test_the_button_and_the_key_switch_it_on_and_off(host: Host) -> None:
    view = host.show(neuron)
    expect(panel(view)).to_be_hidden()
    view.button("Teach").click()
    expect(label(view, "w0 = 2")).to_be_visible()
    expect(panel(view)).to_be_visible()
    view.press("t")
    expect(view.graph.locator(".gv-wire")).to_have_count(0)
    expect(panel(view)).to_be_hidden()
    expect(view.button("Teach")).to_have_attribute("aria-pressed", "false")


def test_wires_tell_only_what_is_computed_by_now_and_lie_over_nothing(host: Host) -> None:
    view = taught(host, neuron)
    for text in ("w0 = 2", "∂w0 not yet", "z not yet", "f not yet"):
        expect(label(view, text)).to_have_count(1)
    assert overlaps(view) == []
    view.go_to(position_of(neuron, "Ran", "Sigmoid"))
    expect(label(view, "f = 0.731")).to_be_visible()
    expect(view.graph.locator(".gv-wire text", has_text="∂z not yet")).to_have_count(2)
    view.press("End")
    # On the wire of z, and on the edge that brings its gradient.
    expect(label(view, "∂z = 0.197")).to_have_count(2)
    for text in ("∂w0 = −0.197", "∂x0 = 0.393", "∂x1 = −0.59", "∂w2 = 0.197", "∂f = 1"):
        expect(label(view, text).first).to_be_visible()
    expect(view.graph.locator(".gv-wire text", has_text="not yet")).to_have_count(0)
    assert overlaps(view) == []
    view.press("Home")
    expect(label(view, "f not yet")).to_be_visible()


def test_labels_without_room_are_counted_and_shown_where_the_step_is(host: Host) -> None:
    view = taught(host, shrunken)
    note, window = view.graph.locator(".gv-placeless"), box(view.graph.locator(".gv-window"))
    expect(note).to_have_text(re.compile("^1 label without room"))
    assert box(note)[1] >= window[1] + window[3] - 0.5
    hidden = view.graph.locator(".gv-wire.gv-crowded:not([data-hidden])")
    expect(hidden).to_have_count(0)
    assert overlaps(view) == []
    view.go_to(position_of(shrunken, "Played", "#7"))
    expect(hidden).to_have_count(1)
    assert overlaps(view) == []
    view.press("t")
    expect(note).to_be_hidden()


def test_large_arrays_are_told_by_shape_and_norm(host: Host) -> None:
    view = taught(host, skip_connection)
    wires = view.graph.locator(".gv-wire text")
    view.press("End")
    expect(wires.filter(has_text=re.compile(r"^h 8×5 ‖·‖ [\d.]+$"))).to_be_visible()
    expect(wires.filter(has_text=re.compile(r"^∂b3 = \[.*, .*, .*\]$"))).to_be_visible()
    expect(label(view, "∂labels none")).to_be_visible()
    assert overlaps(view) == []


def test_edges_between_closed_groups_tell_of_all_that_they_stand_for(host: Host) -> None:
    view = taught(host, lanes)
    wires = view.graph.locator(".gv-wire text")
    expect(label(view, "3 blobs not yet").first).to_be_visible()
    expect(label(view, "3 gradients not yet").first).to_be_visible()
    view.go_to(position_of(lanes, "Ran", "#14"))
    expect(wires.filter(has_text=re.compile("^3 blobs .* ‖·‖ [0-9.]+$"))).to_have_count(0)
    expect(wires.filter(has_text=re.compile("^3 blobs ‖·‖ [0-9.]+$"))).to_have_count(1)
    view.press("ArrowRight")
    view.go_to(position_of(lanes, "Ran", "#27"))
    expect(wires.filter(has_text=re.compile("^3 blobs 1 of 3 ‖·‖ [0-9.]+$"))).to_have_count(1)
    view.press("End")
    expect(wires.filter(has_text=re.compile("^3 gradients ‖·‖ [0-9.]+$")).first).to_be_visible()
    expect(wires.filter(has_text=re.compile("^∂ of these ‖·‖ [0-9.]+$")).first).to_be_visible()
    assert overlaps(view) == []


def test_an_edge_that_stands_for_one_blob_tells_it_and_an_open_group_too(host: Host) -> None:
    view = taught(host, large)
    view.press("End")
    expect(view.graph.locator(".gv-wire text", has_text=re.compile(r"^∂x60 = \[1, 1, 1, 1\]$"))).to_have_count(2)
    view.graph.get_by_role("button", name="Open end").first.click()
    expect(view.graph.locator(".gv-wire text", has_text=re.compile(r"^x51 = \[.*\]$")).first).to_be_attached()
    assert overlaps(view) == []


@pytest.mark.parametrize("build", [two_branches, shared_gradient, gated])
def test_labels_lie_over_nothing(host: Host, build: Build) -> None:
    view = taught(host, build)
    for key in ("Home", "End"):
        view.press(key)
        expect(view.graph.locator(".gv-wire").first).to_be_attached()
        assert overlaps(view) == []


def test_labels_are_at_home_in_an_open_loop_and_around_a_closed_one(host: Host) -> None:
    view = taught(host, loop)
    expect(view.graph.locator(".gv-wire text", has_text="scope")).to_have_count(0)  # the workspaces of the iterations
    for key in ("End", "Home"):
        view.press(key)
        expect(view.graph.locator(".gv-wire").first).to_be_attached()
        assert overlaps(view) == []
    view.run_to("iteration 1")
    view.press("ArrowRight", "ArrowRight", "ArrowRight")
    expect(view.graph.locator("g.net.here")).to_have_count(1)
    expect(view.graph.locator(".gv-wire text", has_text=re.compile(r"^i@1 = 2$")).first).to_be_visible()
    assert overlaps(view) == []


def test_inspector_and_timeline_do_not_give_away_what_comes(host: Host) -> None:
    view = host.show(neuron)
    marks, end = view.timeline.locator(".gv-mark"), len(recorded(neuron))
    expect(marks.locator("visible=true")).to_have_count(end)
    view.press("t")
    rule = position_of(neuron, "RuleApplied", "SigmoidGradient")
    for position in (end, 0, rule):
        view.go_to(position)
        expect(marks.locator("visible=true")).to_have_count(position)
    card = view.inspector.get_by_role("group", name="z_grad@0")
    expect(card).to_have_text("not computed yet")
    view.press("t")
    expect(card).to_contain_text("computed later")
    expect(card).to_contain_text("0.1966")


def test_a_ledger_tells_only_what_is_computed_and_after_the_lesson_all(host: Host) -> None:
    view = taught(host, skip_connection)
    view.run_to("Accumulated")
    ledger = view.inspector.get_by_role("table")
    expect(ledger.locator(".gv-not-computed")).to_have_text(["not computed yet"] * 3)
    view.go_to(position_of(skip_connection, "Ran", "Sum", nth=-1) - 1)
    view.open_tab("Ledger")
    expect(ledger.locator(".gv-not-computed")).to_have_text(["not computed yet"])
    expect(ledger.locator(".gv-share")).to_have_text(["not yet"] * 2)
    view.press("ArrowRight")
    expect(ledger.locator(".gv-not-computed")).to_have_count(0)
    expect(ledger.locator(".gv-share")).to_have_text([re.compile("%$")] * 2)
    view.press("t")
    view.run_to("Accumulated")
    view.press("Home")
    view.run_to("Accumulated")
    expect(ledger.locator(".gv-share")).to_have_text([re.compile("%$")] * 2)
    expect(ledger).to_contain_text("computed later")


def test_what_is_made_later_is_told_nowhere(host: Host) -> None:
    view = taught(host, skip_connection)
    rule = position_of(skip_connection, "RuleApplied", "SoftmaxWithLossGradient")
    view.go_to(rule - 1)
    later = view.program.locator(".gv-line.gv-future")
    assert later.count() > 0
    assert not any(one.is_visible() for one in later.all())
    expect(view.narration.locator(".gv-next")).to_be_hidden()
    expect(view.graph.locator("g.node.future text").first).to_be_hidden()
    for tab in ("Why", "Versions", "Check"):
        expect(view.open_tab(tab)).to_contain_text("it is yours to predict")
    expect(view.open_tab("Ledger")).to_have_text("No gradients have been added yet.")
    view.press("End")
    for tab, said in (("Why", "has"), ("Versions", "version"), ("Check", "Check the")):
        expect(view.open_tab(tab)).to_contain_text(said)
    view.press("Home", "t")
    expect(view.program.locator(".gv-line.gv-future").first).to_be_visible()


def test_no_tool_tip_says_what_a_later_operator_reads(host: Host) -> None:
    view = taught(host, skip_connection)
    view.go_to(position_of(skip_connection, "Accumulated"))
    tips = view.graph.locator(":is(.node, .edge).future:has(> title)")
    texts = " ".join(tips.locator("> title").all_text_contents())
    assert "saved for Tanh #1 → TanhGradient of #1" in texts
    events = "tips => tips.map(tip => getComputedStyle(tip).pointerEvents)"
    assert set(tips.evaluate_all(events)) == {"none"}


def test_the_chain_rule_in_numbers_at_a_gradient_operator(host: Host) -> None:
    view = taught(host, neuron)
    chain = view.root.get_by_role("group", name="Chain rule").locator(".gv-equation")
    view.go_to(position_of(neuron, "RuleApplied", "SigmoidGradient"))
    expect(chain).to_have_attribute("aria-label", "∂z = ∂f/∂z × ∂f = not computed yet")
    view.go_to(position_of(neuron, "Ran", "SigmoidGradient"))
    expect(chain).to_have_attribute("aria-label", "∂z = ∂f/∂z × ∂f = 0.197 × 1 = 0.197")
    view.press("End")
    assert ask(chain.first, "chain => chain.scrollWidth <= chain.clientWidth")
    texts = [one.get_attribute("aria-label") for one in chain.all()]
    assert texts == ["∂w0 = ∂a/∂w0 × ∂a = (−1) × 0.197 = −0.197", "∂x0 = ∂a/∂x0 × ∂a = 2 × 0.197 = 0.393"]


def test_a_choice_is_predicted_by_its_number_and_revealed_by_a_step(host: Host) -> None:
    view = taught(host, neuron)
    rule = position_of(neuron, "RuleApplied", "SigmoidGradient")
    go_before(view, rule)
    expect(panel(view)).to_contain_text("The rule of Sigmoid is asked. What does the operator that it makes read")
    answers = panel(view).get_by_role("group", name="Your prediction").get_by_role("button")
    number = [one.inner_text().split() for one in answers.all()].index(["1", "f@0"]) + 1
    view.page.keyboard.press(str(number))
    expect(answers.nth(number - 1)).to_have_attribute("aria-pressed", "true")
    view.page.keyboard.press("Enter")
    view.expect_at(rule)
    expect(panel(view).get_by_role("status")).to_have_text("✓ Right: f@0")
    expect(panel(view)).to_contain_text("1 of 1 predicted")
    expect(view.narration).to_contain_text("The rule of Sigmoid #4 makes")


def test_a_wrong_prediction_is_told_what_is_right_and_counts_once(host: Host) -> None:
    view = taught(host, neuron)
    rule = position_of(neuron, "RuleApplied", "SigmoidGradient")
    go_before(view, rule)
    answers = panel(view).get_by_role("group", name="Your prediction").get_by_role("button")
    answers.filter(has_text="passes through unchanged").click()
    view.page.keyboard.press("ArrowRight")
    expect(panel(view).get_by_role("status")).to_have_text("✗ Not so: f@0")
    view.page.keyboard.press("ArrowLeft")
    view.expect_at(rule - 1)
    answers.filter(has_text="f@0").click()
    view.page.keyboard.press("ArrowRight")
    expect(panel(view).get_by_role("status")).to_have_text("✓ Right: f@0")
    expect(panel(view)).to_contain_text("0 of 1 predicted")


def test_a_number_is_typed_at_once_and_need_not_be_exact(host: Host) -> None:
    view = taught(host, neuron)
    ran = position_of(neuron, "Ran", "SigmoidGradient")
    for typed, verdict in (("-1/2", "✗ Not so: 0.197"), ("0.2", "✓ Right: 0.197")):
        go_before(view, ran)
        expect(panel(view).locator(".gv-question math")).to_have_attribute("alttext", "∂z = ∂f · f (1 - f)")
        view.page.keyboard.type(typed)
        field = panel(view).get_by_role("textbox")
        expect(field).to_have_value(typed)
        expect(field).to_be_focused()
        view.page.keyboard.press("Enter")
        view.expect_at(ran)
        expect(panel(view).get_by_role("status")).to_have_text(verdict)


def test_a_course_by_numbers_asks_for_a_number_at_once_and_for_the_next_after_each_step(host: Host) -> None:
    view = taught(host, neuron, course="Numbers first")
    question = panel(view).locator(".gv-question")
    expect(question).to_contain_text("Mul runs. What is a@0?")
    view.page.keyboard.type("-2")
    view.page.keyboard.press("Enter")
    view.expect_at(position_of(neuron, "Ran", "Mul"))
    expect(panel(view).get_by_role("status")).to_have_text("✓ Right: −2")
    view.press("ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight")
    expect(question).to_contain_text("∂f/∂f is the number that the pass starts with")
    view.press("ArrowRight")
    expect(question).to_contain_text("SigmoidGradient runs. What is z_grad@0, the gradient of z?")
    for _ in range(5):
        view.press("ArrowLeft")
    view.expect_at(position_of(neuron, "Ran", "Mul"))
    view.press("ArrowLeft")
    view.expect_at(0)
    panel(view).get_by_role("button", name="Whole story").click()
    view.press("ArrowRight")
    view.expect_at(1)


def test_where_nothing_ran_there_is_only_the_whole_story(host: Host) -> None:
    view = host.show(not_run)
    view.press("t", "ArrowRight")
    view.expect_at(1)
    expect(panel(view).get_by_role("group", name="Course of the lesson")).to_have_count(0)


def stands(view: View) -> list[float]:
    """Where the panes lie, and how large the drawing is."""
    *panes, (_, _, width, height) = view.boxes(
        ".gv-program", ".gv-graph", ".gv-inspector", ".gv-teach", ".gv-window > svg"
    )
    return [*chain.from_iterable(panes), width, height]


def test_a_step_needs_no_prediction_and_nothing_jumps(host: Host) -> None:
    view = taught(host, skip_connection)
    view.focus()
    end = len(recorded(skip_connection))
    stood = stands(view)
    for at in range(1, end + 1):
        view.page.keyboard.press("ArrowRight")
        view.expect_at(at)
        assert stands(view) == pytest.approx(stood, abs=1)
    expect(panel(view)).to_contain_text("The lesson is over")
    expect(panel(view)).not_to_contain_text("predicted")


@on_a_page
def test_at_the_end_nothing_is_asked_that_is_answered(host: Host) -> None:
    view = host.show(neuron)
    view.press("End", "t")
    expect(panel(view)).to_contain_text("The lesson is over")
    expect(panel(view).get_by_role("textbox")).to_have_count(0)
    view.press("ArrowLeft")
    expect(panel(view)).to_contain_text("Predict:")


@on_a_page
@pytest.mark.parametrize("height", [720, 800, 1080])
def test_a_lesson_fits_a_screen_as_a_projector_shows_it_too(host: Host, height: int) -> None:
    view = host.show(skip_connection)
    host.page.set_viewport_size({"width": 1280, "height": height})
    for key in "tp":
        view.press(key)
        assert host.page.evaluate("document.documentElement.scrollHeight") <= height


@on_a_page
def test_the_formula_of_a_loop_names_its_condition(host: Host) -> None:
    view = host.show(gated)
    view.run_to("While")
    expect(view.root.locator(".gv-formula")).to_contain_text("while go@0 holds")


def test_axe_finds_nothing_while_teaching(host: Host) -> None:
    view = taught(host, neuron)
    for rules in in_both_themes(host):
        go_before(view, position_of(neuron, "RuleApplied", "SigmoidGradient"))
        assert violations(host.page, ".gradviz", rules) == []
        view.press("1", "ArrowRight")
        go_before(view, position_of(neuron, "Ran", "SigmoidGradient"))
        assert violations(host.page, ".gv-teach", rules) == []


def test_at_800_pixels_questions_and_chain_stay_within_the_window(host: Host) -> None:
    host.set_width(800)
    view = taught(host, neuron)
    go_before(view, position_of(neuron, "RuleApplied", "SigmoidGradient"))
    left, _, width, _ = box(panel(view))
    assert left >= 0
    assert left + width <= 800
    cut = "buttons => buttons.filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert panel(view).locator("button").evaluate_all(cut) == 0


def test_the_timeline_of_a_lesson_veils_the_loops_to_come_and_tells_their_rounds_as_they_come(host: Host) -> None:
    view = host.show(loop)
    veil, bands = view.timeline.locator(".gv-veil"), view.timeline.locator(".gv-span")
    expect(veil).to_be_hidden()
    view.press("t", "Home")
    first, last = box(bands.first), box(bands.last)
    assert box(veil)[0] <= first[0]
    assert box(veil)[0] + box(veil)[2] >= last[0] + last[2]
    assert box(veil)[1] <= last[1]
    assert box(veil)[1] + box(veil)[3] >= last[1] + last[3]
    view.press("End")
    assert box(veil)[0] >= last[0] + last[2]
    ran = [at for at, event in enumerate(recorded(loop).trace().events, 1) if event.kind == "Ran" and event.subnet]
    view.go_to(ran[0])
    rounds = view.inspector.locator(".gv-rounds")
    expect(rounds).to_have_count(0)
    view.press("t")
    expect(rounds).to_be_visible()


def test_the_table_of_a_lesson_tells_nothing_of_what_comes(host: Host) -> None:
    view = host.show(skip_connection)
    view.press("g")
    table = view.graph.get_by_role("table", name="Operators")
    rows = table.get_by_role("row")
    expect(table).to_contain_text("FCGradient")
    table.get_by_role("button", name="ran", exact=True).dblclick()
    expect(rows.nth(1)).to_contain_text("SoftmaxWithLoss")
    view.press("t")
    expect(rows.nth(1)).to_have_text(re.compile("^#0FC.*h@0(not yet){4}$"))
    expect(table).not_to_contain_text("Gradient")
    rule = position_of(skip_connection, "RuleApplied", "SoftmaxWithLossGradient")
    view.go_to(rule)
    expect(rows.nth(6)).to_have_text(re.compile(r"SoftmaxWithLossGradientnot yet\d+not yet$"))
    expect(table).not_to_contain_text("FCGradient")
    view.press("End")
    expect(rows.nth(1)).to_contain_text("SoftmaxWithLoss")


def test_what_has_no_gradient_is_no_secret_once_the_pass_is_made(host: Host) -> None:
    view = host.show(loop)
    view.press("g", "t")
    table = view.graph.get_by_role("table", name="Operators")
    expect(table).to_contain_text("While")
    expect(table).not_to_contain_text("no gradient")
    view.press("End")
    expect(table).to_contain_text("no gradient")


def test_the_breakpoints_of_a_lesson_count_only_hits_by_now(host: Host) -> None:
    view = host.show(skip_connection)
    hits = gradviz.Session(recorded(skip_connection).trace()).break_on("FC").hits
    view.inspector.get_by_role("tab", name="Breakpoints", exact=True).click()
    field = view.inspector.get_by_label("Stop at", exact=True)
    field.fill("FC")
    field.press("Enter")
    count = view.inspector.locator(".gv-hits")
    expect(count).to_have_text(f"{len(hits)} hits")
    view.press("t")
    expect(count).to_have_text("no hit by now")
    view.press("Shift+ArrowRight")
    view.expect_at(hits[0])
    expect(count).to_have_text("hit 1")
    view.go_to(hits[1] - 1)
    expect(count).to_have_text("1 hit by now")
    view.press("End")
    expect(count).to_have_text(f"{len(hits)} hits, none ahead")
