"""The page without a server: it asks for nothing, runs nothing but its own script, and can be used by keys alone."""

import base64
import gzip
import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import gradviz
from gradviz.debugger.document import Trace, decode, encode
from gradviz.notebook.page import page as page_of
from tests.browser.conftest import fresh_page
from tests.browser.hosts import TWO_FRAMES, recorded
from tests.browser.programs import skip_connection

Open = Callable[[str], Page]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens HTML from a file. The test fails when the page asks for anything else, or reports an error."""
    asked: list[str] = []
    errors: list[str] = []

    def open_file(html: str) -> Page:
        path = tmp_path / "page.html"
        path.write_text(html)
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: message.type == "error" and errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path.as_uri())
        return page

    with fresh_page(browser) as page:
        yield open_file
    assert [url for url in asked if not url.endswith("/page.html") and not url.startswith("data:")] == []
    assert errors == []


def lesson() -> Trace:
    return recorded(skip_connection).trace()


def test_it_opens_where_the_session_stood_and_asks_for_nothing(opened: Open) -> None:
    page = opened(page_of(lesson(), 5))
    expect(page.locator(".gv-position")).to_contain_text("event 5 /")
    page.keyboard.press("End")
    expect(page.locator(".gv-narration")).to_contain_text("the end")


def test_a_program_that_cannot_be_run_says_so_at_once(opened: Open) -> None:
    net = gradviz.Net("typo")
    net.Tanh("x", "a")
    net.Mul(["aa", "w"], "y")
    ws = gradviz.Workspace()
    for name in ("x", "w"):
        ws.feed(name, np.ones(3))
    page = opened(page_of(gradviz.debug(net, ["y"], workspace=ws).trace()))
    narration, sign = page.locator(".gv-narration"), page.get_by_role("button", name="✗ not run")
    expect(narration).to_contain_text("Cannot run")
    expect(narration).to_contain_text("Did you mean a?")
    row, node = page.locator(".gv-line[data-line=f1]"), page.locator(".gv-graph g.node", has_text="✗ Mul")
    for key in ("ArrowRight", "End", "ArrowLeft"):
        expect(sign).to_have_attribute("title", re.compile("reads aa.*Did you mean a"))
        expect(row).to_contain_text("cannot be run")
        expect(node).to_have_class(re.compile("obstacle"))
        page.keyboard.press(key)
    expect(narration).to_contain_text("Generated, not run")
    assert "Complete" not in narration.inner_text()
    sign.click()
    expect(row).to_have_class(re.compile("gv-selected"))


def test_the_keys_work_at_once_and_the_page_does_not_scroll_by_itself(opened: Open) -> None:
    page = opened(page_of(lesson()))
    expect(page.locator(".gradviz")).to_be_focused()
    assert page.evaluate("window.scrollY") == 0
    page.keyboard.press("ArrowRight")
    expect(page.locator(".gv-position")).to_contain_text("event 1 /")
    # On a small window the widget does not fit: the focus on it must not bring its end into sight.
    page.set_viewport_size({"width": 800, "height": 500})
    page.reload()
    expect(page.locator(".gradviz")).to_be_focused()
    assert page.evaluate("window.scrollY") == 0


def test_every_control_is_reached_by_tab_and_there_is_no_trap(opened: Open) -> None:
    page = opened(page_of(lesson()))
    expect(page.locator(".gradviz")).to_be_focused()
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        label = "e => e === document.body ? '' : e.getAttribute('aria-label') || e.textContent"
        seen.append(page.evaluate(f"({label})(document.activeElement)"))
        if seen[-1] == "Dark colours":
            break
    for name in ("Step", "Run to", "Position", "Fit the graph (Space)", "Value", "Narration", "Dark colours"):
        assert name in seen


def test_the_switch_turns_the_colours_and_the_system_decides_until_then(opened: Open) -> None:
    page = opened(page_of(lesson()))
    switch = page.get_by_role("button", name="Dark colours")
    colour = "getComputedStyle(document.querySelector('.gv-frame')).backgroundColor"
    expect(page.locator(".gv-frame")).to_be_visible()
    light = page.evaluate(colour)
    expect(switch).to_have_attribute("aria-pressed", "false")
    page.emulate_media(color_scheme="dark")
    expect(switch).to_have_attribute("aria-pressed", "true")
    dark = page.evaluate(colour)
    assert dark != light
    switch.focus()
    page.keyboard.press("Enter")
    expect(switch).to_have_attribute("aria-pressed", "false")
    assert page.evaluate(colour) == light
    page.emulate_media(color_scheme="light")
    page.keyboard.press("Space")
    assert page.evaluate(colour) == dark


WICKED = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


def test_a_hostile_name_is_shown_and_cannot_run(opened: Open) -> None:
    text = encode(lesson()).decode()
    quoted = WICKED.replace('"', '\\"')
    wicked = decode(text.replace('"name":"skip connection"', f'"name":"{quoted}"').replace("a@0", f"{quoted}@0"))
    page = opened(page_of(wicked, 2))
    expect(page.get_by_role("heading", level=1)).to_have_text(WICKED)
    expect(page.locator(".gv-program")).to_contain_text(f"{WICKED}@0 = Tanh(")
    page.keyboard.press("End")
    expect(page.locator(".gv-narration")).to_contain_text("the end")
    assert page.locator("main img, main script").count() == 0
    assert page.title() == f"{WICKED} · gradviz"


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    """The address of a server on this machine, and what it has been asked for."""
    asked: list[str] = []

    class Noting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on the screen."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Noting) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def test_what_is_added_to_the_page_cannot_run_or_fetch(
    browser: Browser, tmp_path: Path, listener: tuple[str, list[str]]
) -> None:
    address, asked = listener
    own = "document.title='owned'"
    added = (
        f'<script>{own}</script><img src="{address}/image" onerror="{own}"><svg onload="{own}"></svg>'
        f'<iframe src="{address}/frame"></iframe><link rel="stylesheet" href="{address}/style">'
        f'<script src="{address}/script"></script><object data="{address}/object"></object>'
    )
    path = tmp_path / "page.html"
    path.write_text(page_of(lesson()).replace("<footer>", f"{added}<footer>"))
    with fresh_page(browser) as page:
        page.goto(path.as_uri())
        expect(page.locator(".gradviz")).to_be_visible()
        is_refused = "url => fetch(url, { mode: 'no-cors' }).then(() => false, () => true)"
        assert page.evaluate(is_refused, f"{address}/fetched")
        assert page.title() == "skip connection · gradviz"
    assert asked == []


@pytest.mark.parametrize(
    ("packed", "words"),
    [
        ("!not base64!", "This recording cannot be shown."),
        (base64.b64encode(b"no gzip").decode(), "This recording cannot be shown."),
        (base64.b64encode(gzip.compress(b"{}", mtime=0)).decode(), "this is not a gradviz trace"),
    ],
)
def test_a_damaged_page_says_so(opened: Open, packed: str, words: str) -> None:
    page = opened(re.sub(r'(data-position="\d+">)[^<]+', rf"\g<1>{packed}", page_of(lesson())))
    expect(page.get_by_role("alert")).to_contain_text(words)


def test_without_scripts_the_text_is_there(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page_of(lesson(), len(lesson().events)))
    # In a frame like this one scripts are switched off.
    (tmp_path / "outer.html").write_text('<!doctype html><iframe sandbox src="page.html"></iframe>')
    with fresh_page(browser) as page:
        page.goto((tmp_path / "outer.html").as_uri())
        inner = page.frame_locator("iframe")
        for words in ("Stepping needs scripts", "a_grad@1 = Sum("):
            expect(inner.locator("main")).to_contain_text(words, use_inner_text=True)
        expect(inner.locator("#gv-colours")).to_be_hidden()


def test_what_was_left_out_is_said_and_not_shown_as_a_number(opened: Open) -> None:
    page = opened(page_of(lesson(), budget=0))
    expect(page.get_by_role("banner")).to_contain_text("all numbers of values were left out")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.get_by_role("tab", name="Value").click()
    inspector = page.get_by_role("region", name="Inspector")
    expect(inspector).to_contain_text("8 × 5 · float32 · cpu")
    expect(inspector).to_contain_text("Its numbers were left out to keep this recording small.")
    expect(inspector).not_to_contain_text("norm")
    expect(inspector.locator(".gv-heat")).to_have_count(0)


def test_what_was_left_out_is_nowhere_said_not_to_be_computed(opened: Open) -> None:
    page = opened(page_of(lesson(), len(lesson().events), budget=0))
    inspector = page.get_by_role("region", name="Inspector")
    for tab, label, text, said in (
        ("Watch", "Blob or expression", "norm(a_grad) / 2", "left out"),
        ("Watch", "Blob or expression", "loss", "left out (loss@0, float32)"),
        ("Breakpoints", "Stop at", "norm > 1", "x.norm was left out to keep this recording small"),
        ("Breakpoints", "Stop at", "h.max > 1", "h.max was left out to keep this recording small"),
    ):
        page.get_by_role("tab", name=tab).click()
        inspector.get_by_label(label, exact=True).fill(text)
        page.keyboard.press("Enter")
        expect(inspector).to_contain_text(said)
        expect(inspector).not_to_contain_text("computed")
    field = page.get_by_label("Run to")
    field.fill("norm > 1")
    field.press("Enter")
    expect(page.get_by_role("status").filter(has_text="Nothing matches")).to_contain_text("x.norm was left out")
    page.get_by_role("button", name="Table", exact=True).click()
    cells = page.get_by_role("table", name="Operators").get_by_role("row", name="Tanh").get_by_role("cell")
    expect(cells.nth(5)).to_have_text("left out")


def test_of_a_large_array_the_page_shows_a_corner_and_says_which(opened: Open) -> None:
    page = opened(page_of(lesson(), budget=10_000))
    expect(page.get_by_role("banner")).to_contain_text(
        re.compile(r"it has the first \d × \d elements of an array at most")
    )
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.get_by_role("tab", name="Value").click()
    expect(page.get_by_role("region", name="Inspector")).to_contain_text(
        re.compile(r"first \d of \d+ rows, \d of \d+ columns")
    )


def test_the_debugger_fills_a_wide_window_and_nothing_of_the_page_is_beside_it(opened: Open) -> None:
    position = [event.kind for event in lesson().events].index("Accumulated") + 1
    page = opened(page_of(lesson(), position))
    for width, height in ((800, 900), (1280, 800), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(TWO_FRAMES)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        if width > 900:
            assert page.evaluate("document.documentElement.scrollHeight") == height
