"""The widget: one session, seen and steered from a notebook."""

from __future__ import annotations

import logging
import weakref
from pathlib import Path
from typing import Any

import anywidget
import msgspec
import traitlets

from ..debugger.document import Marked, Trace, encode
from ..program import GradvizError
from .asking import Question, reply, shown_after
from .session_protocol import PROTOCOL, Shown, Wait, follow

logger = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"


class Changed(msgspec.Struct, frozen=True):
    """Traits that a person changes in a view, and what they are now."""

    position: int | msgspec.UnsetType = msgspec.UNSET
    marks: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class Change(msgspec.Struct, frozen=True, tag_field="type", tag="change"):
    """What a view says: the person changed the position or the marks. All views of all pages hear it.

    It is a message of its own, since a front end sends changed state once while a cell waits and then no more: it waits
    for the kernel to say that it is idle, which a kernel does not say of what it hears meanwhile.
    """

    by: str
    """The page in which it has happened already."""
    turn: int
    """Counts what that page has changed."""
    session: str
    """The one that the view showed: a kernel that was busy hears of it when the widget shows another one."""
    state: Changed


class GoOn(msgspec.Struct, frozen=True, tag_field="type", tag="go_on"):
    """What a view says: let the cell that waits go on."""


class Resend(msgspec.Struct, frozen=True, tag_field="type", tag="resend"):
    """What a page says: this is all that it has heard, when it begins to listen or is given older state."""

    revision: int | msgspec.UnsetType = msgspec.UNSET
    """Of all that it has, when it begins to listen: where nothing has changed since, nothing is sent."""


class DebuggerWidget(anywidget.AnyWidget):
    """Shows `session`; steps here and `session.step()` in a cell move the same position.

    Widgets outlive the cell that showed them, so a widget does not keep its session, and all the values recorded
    there, alive. Without it the widget still steps: everything it shows is in `trace`.
    """

    _esm = STATIC / "widget.js"
    _css = STATIC / "widget.css"

    trace = traitlets.Unicode().tag(sync=True)
    """The trace document as JSON text; of a large recording the part around the position."""
    position = traitlets.Int().tag(sync=True, echo_update=False)
    """How many events have happened, 0 to the length of the session; anything else is clamped."""

    marks = traitlets.Dict().tag(sync=True, echo_update=False)
    """The breakpoints and watches as the document has them; of malformed ones the session's stay."""

    session = traitlets.Unicode().tag(sync=True)
    """The id of the session."""

    protocol = traitlets.Int().tag(sync=True)
    """`PROTOCOL`: the module, which may be of another version than this class, compares it with its own."""

    waits = traitlets.Bool().tag(sync=True)
    """Whether a cell waits at the session."""

    heard = traitlets.Dict().tag(sync=True)
    """The `Change.turn` heard last of each page: a position told before it is older than where that page is by now.

    It is state, which a page that was cut off gets whole, and no answer, which would be lost.
    """

    revision = traitlets.Int().tag(sync=True)
    """Counts the changes of all that is above: a page that comes back may get the state that it asked for after what
    has changed since, and knows by this."""

    def __init__(self, session: Shown) -> None:
        self._session = weakref.ref(session)
        self._shown = session.view()
        super().__init__(**_state(session, self._shown), protocol=PROTOCOL)
        self._observe(session)
        self.on_msg(self._hear)

    def show(self, session: Shown) -> None:
        """Show this session from now on, if it is another one."""
        if session is self._session():
            return
        self._end()
        self._session, self._shown = weakref.ref(session), session.view()
        with self.hold_sync():
            for name, value in _state(session, self._shown).items():
                self.set_trait(name, value)
        self._observe(session)

    def close(self) -> None:
        """Stop following the session and remove the widget from every output."""
        # The base class also closes in its finalizer, which may run for a widget that was never built to its end.
        getattr(self, "_end", lambda: None)()
        super().close()

    def _observe(self, session: Shown) -> None:
        self._end = follow(session, self._follow, self._follow_marks, self._follow_wait)

    def _follow_wait(self, wait: Wait) -> None:
        self.waits = wait.is_on

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
            message = msgspec.convert(content, Question | Change | GoOn | Resend)
        except msgspec.ValidationError as error:
            logger.warning("A message of the gradviz widget was not understood and is ignored: %s", error)
            return
        session = self._session()
        match message:
            case Question():
                answer = reply(session, message)
                self.send(answer)
                if shown := shown_after(session, message, answer):
                    self.show(shown)
            case Change():
                if message.session == self.session:
                    self.set_state(msgspec.to_builtins(message.state))
                    self.send(content)
                self.heard = {**self.heard, message.by: message.turn}
            case GoOn() if session is not None:
                session.wait.end()
            case Resend() if message.revision != self.revision:
                self.send_state()

    @traitlets.validate("position")
    def _clamp(self, proposal: dict[str, Any]) -> int:
        position: int = proposal["value"]
        return max(0, min(position, self._shown.length))

    @traitlets.observe("position")
    def _steer(self, change: dict[str, Any]) -> None:
        session = self._session()
        if session is not None and session.position != change["new"]:
            session.move_to(change["new"])

    @traitlets.observe("trace", "session", "position", "marks", "waits", "heard")
    def _count(self, _change: dict[str, Any]) -> None:
        self.revision += 1

    @traitlets.observe("marks")
    def _mark(self, change: dict[str, Any]) -> None:
        session = self._session()
        if session is None:
            return
        try:
            session.marks = msgspec.convert(change["new"], Marked)
        except (msgspec.ValidationError, GradvizError):
            self._follow_marks(session)


def _state(session: Shown, shown: Trace) -> dict[str, Any]:
    """The traits of a widget over a session."""
    return {
        "trace": encode(shown).decode(),
        "session": session.id,
        "position": session.position,
        "marks": session.marks.to_dict(),
        "waits": session.wait.is_on,
    }
