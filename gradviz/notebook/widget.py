"""The widget: one session, seen and steered from a notebook."""

from __future__ import annotations

import logging
import weakref
from pathlib import Path
from typing import Any

import anywidget
import msgspec
import traitlets

from ..debugger.document import Marked, encode
from .asking import Question, reply, shown_after
from .session_protocol import Shown, follow

logger = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"


class DebuggerWidget(anywidget.AnyWidget):
    """Shows `session`; steps here and `session.step()` in a cell move the same position.

    Widgets outlive the cell that showed them, so a widget does not keep its session, and all the values recorded
    there, alive. Without it the widget still steps: everything it shows is in `trace`.
    """

    _esm = STATIC / "widget.js"
    _css = STATIC / "widget.css"

    trace = traitlets.Unicode().tag(sync=True)
    """The trace document as JSON text; of a large recording the part around the position."""
    position = traitlets.Int().tag(sync=True)
    """How many events have happened, 0 to the length of the session, which alone changes it."""

    marks = traitlets.Dict().tag(sync=True)
    """The breakpoints and watches as the document has them; of malformed ones the session's stay."""

    def __init__(self, session: Shown, **traits: Any) -> None:
        self._session = weakref.ref(session)
        self._shown = session.view()
        marks = session.marks.to_dict()
        super().__init__(trace=encode(self._shown).decode(), position=session.position, marks=marks, **traits)
        self._ends = [follow(session.observe, self._follow), follow(session.observe_marks, self._follow_marks)]
        self.on_msg(self._hear)

    def show(self, session: Shown) -> None:
        """Show this session from now on, if it is another one."""
        if session is self._session():
            return
        for end in self._ends:
            end()
        self._session, self._shown = weakref.ref(session), session.view()
        with self.hold_sync():
            self.trace = encode(self._shown).decode()
            self.position = session.position
            self.marks = session.marks.to_dict()
        self._ends = [follow(session.observe, self._follow), follow(session.observe_marks, self._follow_marks)]

    def close(self) -> None:
        """Stop following the session and remove the widget from every output."""
        # The base class also closes in its finalizer, which may run for a widget that was never built to its end.
        for end in getattr(self, "_ends", ()):
            end()
        super().close()

    def _follow(self, session: Shown) -> None:
        with self.hold_sync():
            if not self._shown.shows(session.position):
                self._shown = session.view()
                self.trace = encode(self._shown).decode()
            self.position = session.position

    def _follow_marks(self, session: Shown) -> None:
        self.marks = session.marks.to_dict()

    def _hear(self, _widget: Any, content: Any, _buffers: Any) -> None:
        try:
            question = msgspec.convert(content, Question)
        except msgspec.ValidationError as error:
            logger.warning("A message of the gradviz widget was not understood and is ignored: %s", error)
        else:
            session = self._session()
            answer = reply(session, question)
            self.send(answer)
            if shown := shown_after(session, question, answer):
                self.show(shown)

    @traitlets.observe("marks")
    def _mark(self, change: dict[str, Any]) -> None:
        session = self._session()
        if session is None:
            return
        try:
            session.marks = msgspec.convert(change["new"], Marked)
        except msgspec.ValidationError:
            self._follow_marks(session)
