"""What axe, the checker of accessibility, finds wrong in a page."""

from collections.abc import Iterator, Sequence
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from tests.browser.hosts import Host

COLOURS = ("color-contrast",)
"""The rules that a theme can break: what is checked in the light need not be checked whole in the dark."""

CHECK = """([context, rules]) => axe.run(context, {
  resultTypes: ["violations"], preload: false, ...(rules && { runOnly: rules }),
}).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))]))"""


def violations(page: Page, context: str, rules: Sequence[str] | None = None) -> list[Any]:
    """What axe says is wrong inside of the element that `context` selects, with the elements at fault.

    Args:
        rules: those to check; None: all.
    """
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found: list[Any] = page.evaluate(CHECK, [context, rules])
    return found


def in_both_themes(host: Host) -> Iterator[Sequence[str] | None]:
    """The rules to check in the light theme, then those in the dark one; the host has that theme meanwhile."""
    yield None
    host.set_dark(True)
    yield COLOURS
