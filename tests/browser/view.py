"""The widget in a page, wherever it is shown: its parts, and what a person does with it."""

from typing import Any

from playwright.sync_api import Locator, Page, expect

ENTER_TABS = """inspector => {
  const tabs = [...inspector.querySelectorAll("[role=tab]")];
  const chosen = tabs.findIndex((tab) => tab.ariaSelected === "true");
  tabs[chosen].focus();
  return [tabs.map((tab) => tab.textContent), chosen];
}"""
"""Gives the focus to the chosen tab; the names of all, and which of them that is."""

TRACK = """timeline => {
  const track = timeline.querySelector(".gv-track");
  track.scrollIntoViewIfNeeded();
  const { left, top, width } = track.getBoundingClientRect();
  return [left, top, width, Number(timeline.ariaValueMax)];
}"""
"""Brings the timeline into sight: where it begins, how wide it is, and the last position."""

BOX = """element => {
  const { left, top, width, height } = element.getBoundingClientRect();
  return element.getClientRects().length === 0 ? null : [left, top, width, height];
}"""

BOXES = """(root, selectors) => selectors.map((selector) => {
  const { left, top, width, height } = root.querySelector(selector).getBoundingClientRect();
  return [left, top, width, height];
})"""


GEOMETRY = """
  const boxOf = one => one.getBoundingClientRect();
  const pointsOf = paths => [...paths].flatMap(path => {
    const screen = path.getScreenCTM();
    const along = Array.from({ length: Math.ceil(path.getTotalLength() / 4) + 1 }, (_, at) => 4 * at);
    return along.map(at => path.getPointAtLength(at).matrixTransform(screen));
  });
  const meets = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const isIn = ({ x, y }, box) => x > box.left && x < box.right && y > box.top + 1 && y < box.bottom - 1;
"""
"""For functions of the page: where elements and paths are on the screen, and what lies over what."""


COVERED = (
    """root => {"""
    + GEOMETRY
    + """
  const clipsIn = one => {
    const clips = [];
    for (let around = one; around; around = around.parentElement) {
      if (around.localName === "svg" || getComputedStyle(around).overflow !== "visible") clips.push(boxOf(around));
    }
    return clips;
  };
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const words = [];
  while (walker.nextNode()) {
    const [text, one] = [walker.currentNode.textContent.trim(), walker.currentNode.parentElement];
    const isShown = text && !one.closest("title, option") && one.checkVisibility({ visibilityProperty: true });
    if (!isShown) continue;
    const [range, clips] = [document.createRange(), clipsIn(one)];
    range.selectNodeContents(walker.currentNode);
    for (const { left, right, top, bottom } of range.getClientRects()) {
      const margin = (bottom - top) / 5;  // a font has room above its capitals and below its letters
      const box = {
        left: Math.max(left + 2, ...clips.map(clip => clip.left)),
        right: Math.min(right - 2, ...clips.map(clip => clip.right)),
        top: Math.max(top + margin, ...clips.map(clip => clip.top)),
        bottom: Math.min(bottom - margin, ...clips.map(clip => clip.bottom)),
      };
      if (box.right > box.left && box.bottom > box.top + 2) words.push({ text, one, box });
    }
  }
  const isAside = ({ one }) => one.closest(".gv-crowded") !== null;  // lies over the drawing, for a step
  return words.flatMap((word, at) => words.slice(at + 1)
    .filter(other => other.one !== word.one && isAside(other) === isAside(word) && meets(word.box, other.box))
    .map(other => `${word.text} | ${other.text}`));
}"""
)
"""The words that lie over others, and those others."""


SEEN = """root => {
  const outer = root.querySelector(".gv-window").getBoundingClientRect();
  const drawing = root.querySelector(".gv-window > svg");
  const isOut = ({ left, right, top, bottom }) =>
    right <= outer.left || left >= outer.right || bottom <= outer.top || top >= outer.bottom;
  const isWhole = ({ left, right, top, bottom }) =>
    left >= outer.left - 1 && right <= outer.right + 1 && top >= outer.top - 1 && bottom <= outer.bottom + 1;
  const drawn = [...drawing.querySelectorAll("text")].filter((text) => text.checkVisibility());
  const texts = drawn.filter((text) => !isOut(text.getBoundingClientRect()));
  const outline = (node) => (node.querySelector("rect, ellipse, path") ?? node).getBoundingClientRect();
  const wholes = (nodes) => [...drawing.querySelectorAll(nodes)].map((node) => isWhole(outline(node)));
  return {
    smallest: Math.min(...texts.map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().d)),
    made: wholes(".node.new"),
    nodes: wholes(".node:is(.new, .current)"),
  };
}"""
"""The pixels of the smallest text in view; whether what a step made, and all that it is about, is wholly in view."""


class View:
    """One widget.

    Attributes:
        root: the element that takes the keys.
    """

    def __init__(self, page: Page, root: Locator) -> None:
        self.page = page
        self.root = root
        self.graph = root.locator(".gv-graph")
        self.drawing = self.graph.locator(".gv-window > svg")
        self.inspector = root.get_by_role("region", name="Inspector")
        self.narration = root.locator(".gv-narration")
        self.position = root.locator(".gv-position")
        self.timeline = root.get_by_role("slider", name="Position")
        self.way = root.get_by_role("navigation", name="Nested nets that we are in")

    @property
    def program(self) -> Locator:
        """The program, which stands behind the user's code where the recording has that."""
        tab = self.root.get_by_role("tab", name="Program", exact=True)
        if tab.count() and tab.get_attribute("aria-selected") == "false":
            ask(tab, "tab => tab.click()")
        return self.root.locator(".gv-program")

    def press(self, *keys: str) -> None:
        """Press keys, with the focus in the widget."""
        self.focus()
        for key in keys:
            self.page.keyboard.press(key)

    def focus(self) -> None:
        """The keys are the widget's, as they are after a click into it; nothing scrolls."""
        ask(self.root, "root => root.focus({ preventScroll: true })")

    def button(self, name: str) -> Locator:
        return self.root.get_by_role("button", name=name, exact=True)

    def open_tab(self, name: str) -> Locator:
        """The panel of a tab of the inspector, reached by keys alone."""
        pane = self.root.get_by_role("tablist", name="Panes").get_by_role("tab", name="Inspector")
        if pane.is_visible():
            pane.click()
        names, chosen = ask(self.inspector, ENTER_TABS)
        steps = (names.index(name) - chosen) % len(names)
        for _ in range(min(steps, len(names) - steps)):
            self.page.keyboard.press("ArrowRight" if 2 * steps <= len(names) else "ArrowLeft")
        panel = self.inspector.get_by_role("tabpanel", name=name)
        expect(panel).to_be_visible()
        return panel

    def press_button(self, name: str) -> None:
        """Press a button of the inspector by a key."""
        button = self.inspector.get_by_role("button", name=name)
        expect(button).to_be_enabled()
        ask(button, "button => button.focus()")
        self.page.keyboard.press("Enter")

    def run_to(self, target: str) -> None:
        """Type a target over what the field holds; the keys are the widget's then, if it was found."""
        ask(self.root.get_by_label("Run to"), "field => { field.focus(); field.select(); }")
        self.page.keyboard.insert_text(target)
        self.page.keyboard.press("Enter")

    def step_to(self, position: int) -> None:
        """Step forward to a position."""
        self.press(*["ArrowRight"] * (position - self.now()))
        self.expect_at(position)

    def go_to(self, position: int) -> None:
        """Go to a position at once, by a click on the timeline; the keys are the widget's then."""
        left, top, width, length = ask(self.timeline, TRACK)
        self.page.mouse.click(left + min(width * position / length, width - 1), top + 1)
        self.expect_at(position)
        self.focus()

    def now(self) -> int:
        """The position that it shows."""
        return int((self.position.text_content() or "").split()[1])

    def expect_at(self, position: int) -> None:
        expect(self.position).to_contain_text(f"event {position} /")

    def boxes(self, *selectors: str) -> list[list[float]]:
        """Left, top, width and height of the first element for each selector, all asked at once."""
        found: list[list[float]] = self.root.evaluate(BOXES, selectors)
        return found

    def mark(self, action: str, name: str) -> Locator:
        """What opens or closes a cluster of the graph."""
        return self.graph.get_by_role("button", name=f"{action} {name}", exact=True)

    def net(self, title: str) -> Locator:
        """The title of an open nested net in the graph."""
        return self.graph.locator("g.net > text.title", has_text=title)


def ask(element: Locator, function: str, argument: object = None) -> Any:
    """What a function of the page says of the one element, as soon as it is there.

    `Locator.evaluate` waits for a frame besides, which takes longer than all else that is asked here.
    """
    expect(element).to_have_count(1)
    return element.evaluate_all(f"([one], argument) => ({function})(one, argument)", argument)


def seen(view: View) -> dict[str, Any]:
    found: dict[str, Any] = ask(view.root, SEEN)
    return found


def box(element: Locator) -> tuple[float, float, float, float]:
    """Left, top, width and height of an element that is on the screen."""
    found = ask(element, BOX)
    assert found is not None, "it is not on the screen"
    left, top, width, height = found
    return left, top, width, height
