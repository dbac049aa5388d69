"""A long recording says that it is being opened until it is."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.benchmarks.widget import recorded_page
from tests.browser.conftest import fresh_page

COLLECT = """
window.said = [];
new MutationObserver(() => {
  const notice = document.querySelector(".gv-opening");
  if (notice && said[said.length - 1] !== notice.textContent) said.push(notice.textContent);
}).observe(document, { childList: true, subtree: true, characterData: true });
"""


def test_a_long_recording_says_that_it_is_opened_and_then_takes_the_keys(browser: Browser, tmp_path: Path) -> None:
    path = recorded_page(500, tmp_path)
    with fresh_page(browser) as page:
        page.add_init_script(COLLECT)
        page.goto(path.as_uri())
        root = page.get_by_role("region", name="gradviz debugger: layers")
        expect(root).to_be_focused()
        expect(page.locator(".gv-opening")).to_have_count(0)
        first, size, operators = page.evaluate("said")
        assert first == "Opening …"
        assert size.startswith("Opening a recording of ")
        assert operators.endswith("operators …")
        page.keyboard.press("ArrowRight")
        expect(root.locator(".gv-position")).to_contain_text("event 1 /")
