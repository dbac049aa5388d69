"""Finds the Chromium or Chrome that the browser tests drive; run as a script, prints its path or exits with 1."""

import os
import shutil
import sys
from pathlib import Path

NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "chrome.exe",
)
APPLICATIONS = (
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_chromium() -> str | None:
    """The path of the browser: $GRADVIZ_BROWSER, else the first installed one, else None."""
    named = os.environ.get("GRADVIZ_BROWSER")
    if named:
        return named
    on_path = (shutil.which(name) for name in NAMES)
    applications = (str(path) for path in APPLICATIONS if path.is_file())
    return next(filter(None, on_path), None) or next(applications, None)


if __name__ == "__main__":
    found = find_chromium()
    print(found or "no Chromium found")
    sys.exit(found is None)
