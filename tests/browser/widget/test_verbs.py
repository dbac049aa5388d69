"""Every verb and every key, wherever the widget lives: each leads where Python's verb leads, by key and by button."""

import re
from functools import cache
from pathlib import Path

from playwright.sync_api import expect

import gradviz
from tests.browser.hosts import TWO_FRAMES, Host, everywhere, recorded
from tests.browser.programs import gated
from tests.browser.view import box

START = "iteration 3"
BREAKPOINT = "MatMul"

VERBS = {
    "→": ("ArrowRight", "Step", "step"),
    "←": ("ArrowLeft", "Back", "back"),
    "F10": ("F10", "Over", "over"),
    "⇧ F10": ("Shift+F10", "Back over", "back_over"),
    "Enter": ("Enter", "Into", "into"),
    "F11": ("F11", "Into", "into"),
    "⇧ F11": ("Shift+F11", "Out", "out"),
    "⇧ →": ("Shift+ArrowRight", "Continue", "continue_"),
    "⇧ ←": ("Shift+ArrowLeft", "Back to", "reverse_continue"),
    "Home": ("Home", "Restart", "restart"),
    "End": ("End", "Finish", "finish"),
}
"""What the card calls a key: the key, the button that does the same, and Python's verb."""

ARROWS = {"→": "ArrowRight", "←": "ArrowLeft", "↑": "ArrowUp", "↓": "ArrowDown"}
NAMES = {**ARROWS, "⇧ ": "Shift+", "Space": " ", "1 – 4": "1"}
"""What keys are called here that the card calls otherwise; of a range the first stands for all."""


@cache
def leads_to(verb: str) -> int:
    """Where Python comes from the start."""
    session = gradviz.Session(recorded(gated).trace())
    session.break_on(BREAKPOINT)
    session.run_to(START)
    getattr(session, verb)()
    return session.position


@everywhere
def test_every_verb_leads_where_python_leads_by_key_and_by_button(host: Host) -> None:
    view = host.show(gated)
    view.inspector.get_by_role("tab", name="Breakpoints").click()
    field = view.inspector.get_by_label("Stop at", exact=True)
    field.fill(BREAKPOINT)
    field.press("Enter")
    view.run_to(START)
    expect(view.way).to_contain_text("iteration 3 of 5")
    start = view.now()
    for key, button, verb in VERBS.values():
        expected = leads_to(verb)
        view.go_to(start)
        view.page.keyboard.press(key)
        view.expect_at(expected)
        view.go_to(start)
        view.button(button).click()
        view.expect_at(expected)


def test_space_fits_the_graph_and_l_shows_the_ledger(host: Host) -> None:
    view = host.show(gated)
    host.page.evaluate(TWO_FRAMES)  # a window that finds its size later shows text that can be read again
    view.press(" ")
    picture = view.graph.locator(".gv-window > svg")
    fitted = box(picture)
    view.button("Zoom in (Ctrl + wheel)").click()
    assert box(picture)[2] > fitted[2]
    view.press("ArrowRight")
    assert box(picture)[2] > fitted[2], "what was zoomed by hand stays"
    view.press(" ")
    assert box(picture) == fitted
    view.press(" ", "l")
    expect(view.inspector.get_by_role("tab", name="Ledger")).to_have_attribute("aria-selected", "true")


def test_every_key_on_the_card_and_every_button_of_the_toolbar_is_pressed_in_a_test(host: Host) -> None:
    view = host.show(gated)
    view.press("?")
    card = view.root.get_by_role("list", name="Keys")
    expect(card).to_be_visible()
    shown = card.locator("kbd").all_text_contents()
    assert len(shown) > 15
    keys = {key: re.sub("|".join(NAMES), lambda found: NAMES[found.group()], key) for key in shown}
    tested = pressed_keys() | {key for key, _, _ in VERBS.values()}
    assert [shown for shown, key in keys.items() if key not in tested] == [], "each needs a test that presses it"
    view.press("Escape")
    expect(card).to_be_hidden()
    names = "buttons => buttons.map(button => button.getAttribute('aria-label'))"
    stepping = view.root.get_by_role("group", name="Stepping").get_by_role("button").evaluate_all(names)
    assert set(stepping) <= {button for _, button, _ in VERBS.values()} | pressed_buttons()


def pressed_keys() -> set[str]:
    """The keys that browser tests press by name."""
    calls = re.findall(r"\bpress\(([^()]*)\)", sources())
    return {key for call in calls for key in re.findall(r'"([^"]+)"', call)}


def pressed_buttons() -> set[str]:
    """The buttons that browser tests click by name."""
    return set(re.findall(r'button\("([^"]+)"\)\.click\(\)', sources())) | {"Keys"}


def sources() -> str:
    return "\n".join(path.read_text() for path in Path(__file__).parents[1].rglob("test_*.py"))
