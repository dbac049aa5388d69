"""The widget: one session, seen and steered from a notebook."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ..debugger.trace import encode
from .shown import Shown, clamp, follow

__all__ = ["DebuggerWidget"]

STATIC = Path(__file__).parent / "static"


class DebuggerWidget(anywidget.AnyWidget):
    """Shows `session`; steps here and `session.step()` in a cell move the same position.

    Widgets outlive the cell that showed them, so a widget does not keep its session, and all the values recorded
    there, alive. Without it the widget still steps: everything it shows is in `trace`.
    """

    _esm = STATIC / "widget.js"
    _css = STATIC / "widget.css"

    trace = traitlets.Unicode().tag(sync=True)
    """The trace document as JSON text."""
    position = traitlets.Int().tag(sync=True)
    """How many events have happened, 0 to the length of the session; anything else is clamped."""

    def __init__(self, session: Shown, **traits: Any) -> None:
        self._length = len(session)
        self._session = weakref.ref(session)
        super().__init__(trace=encode(session.trace()).decode(), position=session.position, **traits)
        self._unobserve = follow(session, self._follow)

    def close(self) -> None:
        """Stop following the session and remove the widget from every output."""
        # The base class also closes in its finalizer, which may run for a widget that was never built to its end.
        getattr(self, "_unobserve", lambda: None)()
        super().close()

    def _follow(self, session: Shown) -> None:
        self.position = session.position

    @traitlets.validate("position")
    def _clamp(self, proposal: dict[str, Any]) -> int:
        return clamp(proposal["value"], self._length)

    @traitlets.observe("position")
    def _steer(self, change: dict[str, Any]) -> None:
        session = self._session()
        if session is not None and session.position != change["new"]:
            session.move_to(change["new"])
