"""The widget in a browser: how soon a recording is seen, how soon a key press is, how soon a group opens, and how large
module and page are. Where keys are pressed in a recording of 1 000 operators, all groups of its graph are open. Of
100 000 operators a page shows a part.

Times are of the clock, as a person waits, of a page that `Session.to_html` wrote, in a window of 1 440 x 900. A first
paint counts from the navigation to the first frame that shows the debugger; a key press from when the browser got the
key to the end of the frame that shows the new position. Frames come 60 times a second, so a press waits 8 ms for its
frame even where nothing is to be done.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

import gradviz
from gradviz import Net, Workspace
from tests.benchmarks.figures import Answer, Figure, Skipped, Target
from tests.benchmarks.generation import layers
from tests.benchmarks.timing import Effort
from tests.browser.chromium import FLAGS, find_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WINDOW = {"width": 1440, "height": 900}
WIDTH = 4
"""Of the layers."""
OPERATORS_OF_PAGE = 200
PRESSES_A_REPETITION = 24
OPENINGS_A_REPETITION = 4
PHASES = {"generate": 0.3, "run": 0.7}
"""Where in the timeline each phase is well under way."""

OPERATORS_OF_GROUP = 1_000
GROUPS = 3

MOST_SECONDS_TO_PAINT = 1.0
MOST_MEDIAN = 16.0
MOST_P95 = {"few": 50.0, "many": 100.0}
MOST_TO_OPEN = 200.0
MANY = 10_000
MOST_KB_OF_MODULE = 150
MOST_MB_OF_PAGE = 1.0

SHOWN = """() => new Promise((resolve) => {
  const look = () => document.querySelector(".gv-frame")
    ? requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())))
    : requestAnimationFrame(look);
  look();
})"""

# A large recording is shown in a part until all of it has been read.
WHOLE = "() => !document.querySelector('#gv-recording')"

# One after the other, as a person would: an open group can hold others.
OPEN_ALL = """() => {
  const closed = () => document.querySelector('.gv-graph .toggle[aria-expanded="false"]');
  for (let one = closed(); one; one = closed()) one.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  return document.querySelectorAll(".gv-graph g.node:not(.group)").length;
}"""

# A message that is sent while a frame is made arrives when it is done. People press at any moment of a frame.
LISTEN = """() => {
  window.presses = [];
  window.painted = (count) => new Promise((resolve) => {
    const look = () => presses.length === count ? setTimeout(resolve, (7 * count) % 17) : setTimeout(look);
    look();
  });
  window.addEventListener("keydown", (event) => {
    if (event.repeat) return;
    requestAnimationFrame(() => {
      const done = new MessageChannel();
      done.port1.onmessage = () => window.presses.push(performance.now() - event.timeStamp);
      done.port2.postMessage(null);
    });
  }, true);
}"""


@dataclass(frozen=True)
class Shown:
    """What a page took: seconds to the first paint, and milliseconds for each key press of a phase."""

    seconds: float
    presses: dict[str, list[float]]


def measure(effort: Effort) -> Iterator[Answer]:
    """Milliseconds to paint, and bytes; nothing where there is no browser."""
    yield module()
    with TemporaryDirectory() as folder:
        yield small_page(Path(folder))
        if find_spec("playwright") is None or find_chromium() is None:
            yield Skipped("widget", "a browser", "neither Chromium nor Chrome, or no Playwright to drive it, was found")
            return
        for operators in effort.operators:
            yield from of_length(operators, Path(folder), effort)
        in_group = min(OPERATORS_OF_GROUP, effort.operators[-1] // 10)
        with browser() as running:
            taken = opened(running, grouped_page(in_group, Path(folder)), effort)
        target = Target("figure", MOST_TO_OPEN)
        yield Figure("open a group, median", f"{in_group:,} operators", median(taken), "ms", target=target)


def module() -> Figure:
    """The size of the widget's module."""
    file = Path(gradviz.__file__).parent / "notebook" / "static" / "widget.js"
    return Figure("module", "widget.js", file.stat().st_size / 1024, "KB", target=Target("figure", MOST_KB_OF_MODULE))


def small_page(folder: Path) -> Figure:
    """The size of a page with a small recording."""
    size = f"{OPERATORS_OF_PAGE:,} operators"
    bytes_of_page = recorded_page(OPERATORS_OF_PAGE, folder).stat().st_size
    return Figure("page", size, bytes_of_page / 1e6, "MB", target=Target("figure", MOST_MB_OF_PAGE))


def recorded_page(operators: int, folder: Path) -> Path:
    """A page with the recording of a chain of layers that was generated and run."""
    return _recorded(Net("layers", layers(operators)), folder / f"{operators}.html")


def grouped_page(in_group: int, folder: Path) -> Path:
    """A page with the recording of a chain whose operators lie in scopes, each of which is a group of so many."""
    ops = [replace(op, name=f"scope{at // in_group}/{at}") for at, op in enumerate(layers(GROUPS * in_group))]
    return _recorded(Net("scopes", ops), folder / "scopes.html")


def _recorded(net: Net, path: Path) -> Path:
    numbers, workspace = np.random.default_rng(len(net.ops)), Workspace()
    written = {name for op in net.ops for name in op.outputs}
    for name in sorted({name for op in net.ops for name in op.inputs} - written):
        shape = (WIDTH,) if name.startswith("b") else (WIDTH, WIDTH)
        workspace.feed(name, numbers.normal(scale=0.5, size=shape).astype(np.float32))
    gradviz.debug(net, [net.ops[-1].outputs[0]], workspace=workspace).to_html(path)
    return path


def of_length(operators: int, folder: Path, effort: Effort) -> Iterator[Figure]:
    """The figures of one recording."""
    path, size = recorded_page(operators, folder), f"{operators:,} operators"
    visible = operators if operators < MANY else None
    with browser() as running:
        shown = [look_at(running, path, effort, visible) for _ in range(effort.repetitions // 3)]
    paint = median(one.seconds for one in shown)
    yield Figure("first paint", size, paint, "s", target=Target("figure", MOST_SECONDS_TO_PAINT))
    for phase in PHASES:
        taken = [press for one in shown for press in one.presses[phase]]
        p95 = quantiles(taken, n=20)[-1]
        most = Target("figure", MOST_MEDIAN) if operators < MANY else None
        yield Figure(f"key press, {phase}, median", size, median(taken), "ms", target=most)
        target = Target("figure", MOST_P95["few" if operators < MANY else "many"])
        yield Figure(f"key press, {phase}, p95", size, p95, "ms", target=target)


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        yield running
        running.close()


def look_at(running: Browser, path: Path, effort: Effort, visible: int | None = None) -> Shown:
    """Open the page, and all groups where so many operators are to be `visible`, and step through both phases."""
    page = running.new_page(viewport=WINDOW)
    page.goto(path.as_uri(), wait_until="commit")
    seconds = page.evaluate(SHOWN) / 1000
    page.wait_for_function(WHOLE)
    if visible is not None:
        assert page.evaluate(OPEN_ALL) >= visible, "there are groups that did not open"
    page.evaluate(LISTEN)
    count = PRESSES_A_REPETITION * effort.repetitions
    presses = {phase: press(page, fraction, count) for phase, fraction in PHASES.items()}
    page.close()
    return Shown(seconds, presses)


def opened(running: Browser, path: Path, effort: Effort) -> list[float]:
    """Milliseconds for each opening of the first group of a page."""
    page = running.new_page(viewport=WINDOW)
    page.goto(path.as_uri(), wait_until="commit")
    page.evaluate(SHOWN)
    page.evaluate(LISTEN)
    page.locator(".gv-graph g.group.forward [role=button]").first.focus()
    for number in range(2 * OPENINGS_A_REPETITION * effort.repetitions):
        page.keyboard.press("Enter")
        page.evaluate("count => painted(count)", number + 1)
    taken: list[float] = page.evaluate("presses")
    page.close()
    # Every other press closed it.
    return taken[::2]


def press(page: Page, fraction: float, count: int) -> list[float]:
    """Milliseconds for each of so many steps from a place of the timeline, forward and back in turns of ten."""
    track = page.locator(".gv-track").bounding_box()
    assert track is not None
    page.mouse.click(track["x"] + fraction * track["width"], track["y"] + track["height"] / 2)
    page.evaluate("presses.length = 0")
    for number in range(count):
        page.keyboard.press("ArrowLeft" if number // 10 % 4 == 3 else "ArrowRight")
        page.evaluate("count => painted(count)", number + 1)
    taken: list[float] = page.evaluate("presses")
    return taken
