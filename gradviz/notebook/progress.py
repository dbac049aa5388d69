"""Progress of what takes long: in a notebook as an output that changes, in a terminal as a line that does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from ..debugger.journal import Progress, SoFar, Work
from . import kernel_shell

WORDS: dict[Work, tuple[str, str, str, str]] = {
    "run": ("Running", "Ran", "operators", "it"),
    "record": ("Recording", "Recorded", "operators", "here and keep what is recorded"),
    "describe": ("Document", "Described", "operators", "it"),
    "draw": ("Drawing", "Laid out", "operators", "it"),
    "write": ("Page", "Wrote a page with", "operators", "it"),
    "answer": ("Answer", "Looked through", "operators", "it"),
    "check": ("Check", "Checked", "elements", "it"),
    "sweep": ("Sweep", "Ran", "points", "it"),
}
"""What work is called, what is done by now, to what, and what an interrupt stops."""


@contextmanager
def shown_progress() -> Iterator[Progress | None]:
    """What shows progress inside the ``with`` block; None where nobody would see it, as in a script."""
    shown = _Output() if kernel_shell() is not None else _Line() if _is_terminal() else None
    if shown is None:
        yield None
        return
    try:
        yield shown.show
    finally:
        shown.end()


def _is_terminal() -> bool:
    """Whether stderr is a terminal; it may be closed, None as in a process without a console, or stand in for one."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


class _Output:
    """An output of the cell that runs. It appears when there is something to show."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._last: SoFar | None = None

    def show(self, so_far: SoFar) -> None:
        self._last = so_far
        self._put(f"{words(so_far)} Interrupt the kernel to stop {WORDS[so_far.work][3]}.", so_far)

    def end(self) -> None:
        if self._last is not None:
            self._put(words(self._last), None)

    def _put(self, text: str, so_far: SoFar | None) -> None:
        from IPython.display import display

        share = "" if so_far is None or so_far.of is None else f' value="{so_far.operators}" max="{so_far.of}"'
        bar = "" if so_far is None else f'<progress aria-label="{WORDS[so_far.work][0]}"{share}></progress> '
        bundle = {"text/plain": text, "text/html": f"<div>{bar}{escape(text)}</div>"}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(bundle, raw=True)


class _Line:
    """The last line of a terminal."""

    def __init__(self) -> None:
        self._width = 0

    def show(self, so_far: SoFar) -> None:
        self._write(f"{words(so_far)} Ctrl+C to stop {WORDS[so_far.work][3]}.")

    def end(self) -> None:
        if self._width:
            self._write("")
            print(end="\r", file=sys.stderr, flush=True)

    def _write(self, text: str) -> None:
        print(f"\r{text.ljust(self._width)}", end="", file=sys.stderr, flush=True)
        self._width = len(text)


def words(so_far: SoFar) -> str:
    """``Recorded 1,200 of 5,000 operators, 31,400 events in 3.2 s.``"""
    _, did, what, _ = WORDS[so_far.work]
    operators = "" if so_far.of is None else f"{so_far.operators:,} of {so_far.of:,} {what}"
    events = "" if so_far.events is None else f"{so_far.events:,} events"
    return f"{did} {', '.join(filter(None, [operators, events]))} in {so_far.seconds:.1f} s."
