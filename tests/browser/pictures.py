"""Draws the README's pictures anew, in Chromium: ``python -m tests.browser.pictures``."""

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from playwright.sync_api import Browser, FloatRect, Page, sync_playwright

import gradviz
from tests.browser.chromium import FLAGS, find_chromium
from tests.browser.view import View, box

PICTURES = Path(__file__).resolve().parents[2] / ".github" / "pictures"
WIDE = {"width": 1280, "height": 800}
SHARP = 1.5
"""Pixels of a picture for one of the page."""

MARGIN = 12


def skip_connection() -> gradviz.Session:
    """A classifier whose first layer is added to its second one."""
    rng = np.random.default_rng(2)
    net = gradviz.Net("skip connection")
    net.FC(["x", "w1", "b1"], "h")
    net.Relu("h", "a")
    net.FC(["a", "w2", "b2"], "u")
    net.Relu("u", "v")
    net.Sum(["v", "a"], "s")
    net.FC(["s", "w3", "b3"], "z")
    net.SoftmaxWithLoss(["z", "label"], ["p", "loss"])
    ws = gradviz.Workspace()
    shapes = {"x": (8, 6), "w1": (16, 6), "b1": (16,), "w2": (16, 16), "b2": (16,), "w3": (4, 16), "b3": (4,)}
    for name, shape in shapes.items():
        ws.feed(name, rng.normal(size=shape))
    ws.feed("label", rng.integers(0, 4, 8))
    return gradviz.debug(net, ["loss"], workspace=ws)


def cut_short() -> gradviz.Session:
    """A net in which one way from x to y is stopped, and the other one ends where nobody reads on."""
    net = gradviz.Net("cut short")
    net.Tanh("x", "h")
    net.StopGradient("h", "frozen")
    net.Mul(["frozen", "w"], "y")
    net.Sigmoid("h", "unused")
    ws = gradviz.Workspace()
    for name in ("x", "w"):
        ws.feed(name, np.linspace(-1, 1, 6))
    return gradviz.debug(net, ["y"], workspace=ws)


def divided_by_zero() -> gradviz.Session:
    """A root whose slope is infinite at 0: forward nothing is wrong, backward a NaN is born."""
    net = gradviz.Net("root of a square")
    net.Sqr("x", "squared")
    net.Sqrt("squared", "root")
    net.Mul(["root", "w"], "y")
    ws = gradviz.Workspace()
    ws.feed("x", np.array([-1.0, 0.0, 2.0]))
    ws.feed("w", np.array([0.5, 2.0, 1.0]))
    return gradviz.debug(net, ["y"], workspace=ws)


def ledger(view: View) -> None:
    view.run_to("Accumulated")
    tab(view, "Ledger")


def paths(view: View) -> None:
    ledger(view)
    view.inspector.get_by_role("button", name="Paths of the gradient of a@0").click()
    view.inspector.get_by_text("path", exact=False).last.scroll_into_view_if_needed()


def why_none(view: View) -> None:
    view.run_to("Completed")
    about(view, "Tanh", "x@0", "Why")


def provenance(view: View) -> None:
    view.run_to("Completed")
    view.button("Finish").click()
    tab(view, "Why")


def versions(view: View) -> None:
    view.run_to("Accumulated")
    tab(view, "Versions")


def check(view: View) -> None:
    view.run_to("Accumulated")
    tab(view, "Check")
    view.inspector.get_by_role("button", name="Check the whole gradient of a@0").click()
    view.inspector.get_by_text("The numbers").first.click()


def state(view: View) -> None:
    view.run_to("Accumulated")
    tab(view, "State")


def diff(view: View) -> None:
    state(view)
    view.inspector.get_by_role("button", name="Compare").click()


def tab(view: View, name: str) -> None:
    view.inspector.get_by_role("tab", name=name, exact=True).click()


def about(view: View, node: str, blob: str, name: str) -> None:
    """Show a tab about a blob of a node of the graph."""
    view.graph.locator("g.node", has_text=node).first.click()
    tab(view, name)
    view.inspector.get_by_role("button", name=blob, exact=True).click()


Shown = tuple[Callable[[], gradviz.Session], Callable[[View], None]]

ANSWERS: dict[str, Shown] = {
    "ledger": (skip_connection, ledger),
    "paths": (skip_connection, paths),
    "why_none": (cut_short, why_none),
    "provenance": (divided_by_zero, provenance),
    "versions": (skip_connection, versions),
    "check": (skip_connection, check),
    "diff": (skip_connection, diff),
    "state": (skip_connection, state),
}


def content(view: View) -> FloatRect:
    """Where the inspector's content is, as far as it is not empty."""
    left, top, width, height = box(view.inspector)
    _, last, _, below = box(view.inspector.locator(".gv-inside > *").last)
    return {"x": left, "y": top, "width": width, "height": min(height, last + below + MARGIN - top)}


def opened(browser: Browser, session: gradviz.Session, folder: Path) -> tuple[Page, View]:
    """The session as a page, in the browser."""
    path = folder / "page.html"
    session.to_html(path)
    page = browser.new_page(viewport=WIDE, device_scale_factor=SHARP, color_scheme="light")
    page.goto(path.as_uri())
    root = page.locator(".gradviz")
    root.wait_for()
    return page, View(page, root)


def draw(browser: Browser, folder: Path) -> None:
    """Write every picture."""
    page, view = opened(browser, skip_connection(), folder)
    view.run_to("Accumulated")
    view.narration.click()
    view.root.screenshot(path=PICTURES / "accumulation.png")
    page.close()
    for name, (build, show) in ANSWERS.items():
        page, view = opened(browser, build(), folder)
        show(view)
        page.mouse.move(0, 0)
        page.screenshot(path=PICTURES / f"{name}.png", clip=content(view))
        page.close()


if __name__ == "__main__":
    chromium = find_chromium()
    if chromium is None:
        sys.exit("There is no Chromium or Chrome here; GRADVIZ_BROWSER=/path/to/chrome names one.")
    with sync_playwright() as playwright, TemporaryDirectory() as made:
        draw(playwright.chromium.launch(executable_path=chromium, args=list(FLAGS)), Path(made))
