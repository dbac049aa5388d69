"""Every lesson on the screens that people have: text that can be read at each step, and a widget that fits.

This takes minutes, and runs by `bash tests/run slow`.
"""

from pathlib import Path

import pytest

from tests.browser.hosts import TWO_FRAMES
from tests.browser.jupyter_server import REPOSITORY
from tests.browser.lab_page import LabPage
from tests.browser.view import COVERED, View, ask, box, seen

pytestmark = pytest.mark.slow

READABLE, FAR = 11, 16
"""Pixels of the smallest text at rest, and of that for a projector."""

SCREENS = {(1280, 720): 540, (1440, 900): 675, (1920, 1080): 760}
"""How high the widget is at most."""

PHONE = {"width": 390, "height": 844}

STEPS = 40
"""How many steps of a recording are looked at, spread over all of it."""

WRITE_PAGES = """
import gradviz
shown = {id(one): one for one in list(globals().values()) if isinstance(one, gradviz.Session)}
for number, one in enumerate(shown.values()):
    one.restart()
    one.to_html(f"page-{number}.html")
"""

TOGETHER = """root => {
  root.scrollIntoView({ block: "center" });
  const pane = root.closest(".jp-WindowedPanel-outer, .jp-Notebook, body").getBoundingClientRect();
  return [".gv-toolbar", ".gv-narration", ".node.current", ".gv-timeline"]
    .map((part) => [part, root.querySelector(part)])
    .filter(([, element]) => element !== null)
    .filter(([, element]) => {
      const { top, bottom } = element.getBoundingClientRect();
      return top < Math.max(pane.top, 0) || bottom > Math.min(pane.bottom, innerHeight);
    })
    .map(([part]) => part);
}"""
"""Which of these are not in view where the widget is scrolled to."""

LESSONS = sorted((REPOSITORY / "demos").glob("[0-9]*.ipynb"))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_a_lesson_can_be_read_at_every_step_on_every_screen(lab: LabPage, lesson: Path) -> None:
    lab.open(lesson)
    lab.run_rest_from(1)
    widgets = lab.notebook.locator("css:light=.gradviz:not(.gv-opening)")
    assert widgets.count() > 0
    found = []
    for (width, height), highest in SCREENS.items():
        lab.page.set_viewport_size({"width": width, "height": height})
        lab.page.evaluate(TWO_FRAMES)
        for number in range(widgets.count()):
            view = View(lab.page, widgets.nth(number))
            where = f"{lesson.stem}, widget {number}, {width} x {height}"
            if box(view.root)[3] > highest + 1:
                found.append(f"{where}: {box(view.root)[3]} px high")
            found += [f"{where}, {what}" for what in unreadable(view)]
            found += [f"{where}: {part} is out of view" for part in ask(view.root, TOGETHER)]
    lab.execute(WRITE_PAGES)
    lab.page.set_viewport_size(PHONE)
    for page in sorted(lab.folder.glob("page-*.html")):
        lab.page.goto(page.as_uri())
        found += [
            f"{lesson.stem}, {page.stem} on a phone, {what}"
            for what in unreadable(View(lab.page, lab.page.locator(".gradviz:not(.gv-opening)")))
        ]
    assert not found


def unreadable(view: View) -> list[str]:
    """At which steps text is too small or lies over another, or what is current is out of view."""
    count = int(view.timeline.get_attribute("aria-valuemax") or 0)
    found = []
    view.press("Home")
    for at in sorted({round(count * share / STEPS) for share in range(1, STEPS + 1)}):
        view.step_to(at)
        found += [f"event {at}: {words}" for words in ask(view.root, COVERED)]
        what = seen(view)
        if what["smallest"] < READABLE - 0.01:
            found.append(f"event {at}: {what['smallest']:.1f} px")
        if not all(what["made"]):
            found.append(f"event {at}: what is new is out of view")
    view.press("p")
    if seen(view)["smallest"] < FAR - 0.01:
        found.append(f"for a projector: {seen(view)['smallest']:.1f} px")
    view.press("p")
    return found
