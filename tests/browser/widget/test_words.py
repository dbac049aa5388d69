"""Words in the widget: none lies over another, wherever one looks."""

import pytest

from tests.browser.hosts import Host, on_a_page
from tests.browser.programs import (
    Build,
    first_row_of_a_table,
    gated,
    lanes,
    large,
    neuron,
    relu_in_place,
    shrunken,
    skip_connection,
    written_into,
)  # fmt: skip
from tests.browser.view import GEOMETRY, ask
from tests.drawing.nested import loop, shared_gradient, three_deep, two_branches

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

TURNS = ((), ("f",), ("f", "t"), ("End",), ("t",), ("f",))
"""Keys, beginning in the midst of the recording: the focus, a lesson, and the end with and without one."""

PROGRAMS = (
    neuron, skip_connection, gated, lanes, large, relu_in_place, written_into, shrunken, first_row_of_a_table, loop,
    shared_gradient, two_branches, three_deep,
)  # fmt: skip


@on_a_page
@pytest.mark.parametrize("build", PROGRAMS)
def test_no_word_lies_over_another(host: Host, build: Build) -> None:
    view = host.show(build)
    view.run_to("GeneratorAdded")
    for keys in TURNS:
        view.press(*keys)
        assert ask(view.root, COVERED) == [], keys
