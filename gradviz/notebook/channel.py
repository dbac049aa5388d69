"""The channel between a kernel and the JupyterLab side panels that look at it.

A panel opens a comm of the target "gradviz"; it may do so at any time, several panels at once. Then the kernel sends

    {"type": "session", "id", "name", "position", "trace": JSON text}    the session displayed or created last;
                                                                         when it leaves the part that is shown of a
                                                                         large recording it is sent again
    {"type": "position", "id", "position"}                               it moved
    {"type": "marks", "id", "breakpoints", "watches"}                    other things are marked in it
    {"type": "none"}                                                     there is no session (any more)

and the panel sends messages of the types position and marks, and {"type": "ask", "id", "question"}: a question about
this session, whose answer only that panel hears; see `asking`. So that a panel need not knock at kernels that know
nothing of gradviz, the kernel opens one empty comm of the same target with its first session, as a sign.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any

import comm
import msgspec
from comm.base_comm import BaseComm

from ..debugger.document import BreakpointEntry, Marked, Trace, encode
from .asking import Question, reply
from .session_protocol import Shown, follow

logger = logging.getLogger(__name__)

TARGET = "gradviz"


class Move(msgspec.Struct, frozen=True, tag_field="type", tag="position"):
    """What a panel may say: take this session to this position."""

    id: str
    position: int


class Mark(msgspec.Struct, frozen=True, tag_field="type", tag="marks"):
    """What a panel may say: this is marked in this session now."""

    id: str
    breakpoints: list[BreakpointEntry]
    watches: list[str]


class Ask(msgspec.Struct, frozen=True, tag_field="type", tag="ask"):
    """What a panel may say: ask this session."""

    id: str
    question: Question


class Channel:
    """Tells the panels of one kernel about its newest session, and moves it when they say so.

    The session is held by a weak reference: a panel alone keeps no recording alive.
    """

    def __init__(self) -> None:
        self._panels: dict[str, BaseComm] = {}
        self._session: weakref.ref[Shown] | None = None
        self._ends: list[Callable[[], None]] = []
        self._sign: BaseComm | None = None
        self._announced: str | None = None
        self._shown: Trace | None = None
        self._speaking: BaseComm | None = None

    def listen(self, shell: Any) -> None:
        """Answer panels that open a comm in the kernel of the IPython `shell`."""
        comm.get_comm_manager().register_target(TARGET, self.accept)
        shell.events.register("post_execute", self.tell)

    def announce(self, session: Shown) -> None:
        """Make `session` the newest one; panels hear of it with the next `tell`."""
        if self._current() is not session:
            for end in self._ends:
                end()
            self._session = weakref.ref(session)
            self._ends = [follow(session.observe, self._moved), follow(session.observe_marks, self._marked)]
        if self._sign is None:
            self._sign = comm.create_comm(target_name=TARGET)

    def tell(self) -> None:
        """Tell all panels what the newest session is, unless they know."""
        session = self._current()
        known = session.id if session is not None else None
        if known == self._announced:
            return
        self._announced = known
        if self._panels:
            self._introduce(session)

    def accept(self, panel: BaseComm, _message: object = None) -> None:
        """A panel opened `panel`: answer its messages from now on, and tell it where things stand."""
        self._panels[panel.comm_id] = panel
        panel.on_msg(lambda message: self._heard(panel, message))
        panel.on_close(lambda _message: self._forget(panel))
        panel.send(self._introduction(self._current()))

    def _forget(self, panel: BaseComm) -> None:
        self._panels.pop(panel.comm_id, None)

    def _introduce(self, session: Shown | None) -> None:
        message = self._introduction(session)
        for panel in self._panels.values():
            panel.send(message)

    def _current(self) -> Shown | None:
        return self._session() if self._session is not None else None

    def _heard(self, panel: BaseComm, message: dict[str, Any]) -> None:
        data = message.get("content", {}).get("data")
        try:
            said = msgspec.convert(data, Move | Mark | Ask)
        except msgspec.ValidationError as error:
            logger.warning("A message of the gradviz panel was not understood and is ignored: %s", error)
            return
        session = self._current()
        if isinstance(said, Ask):
            panel.send(reply(session if session is not None and session.id == said.id else None, said.question))
            return
        if session is None or session.id != said.id:
            # The panel still shows a session that is gone or was replaced while its message was on the way.
            panel.send(self._introduction(session))
            return
        self._speaking = panel
        try:
            if isinstance(said, Mark):
                session.marks = Marked(breakpoints=said.breakpoints, watches=said.watches)
            else:
                session.move_to(said.position)
        finally:
            self._speaking = None
        if isinstance(said, Move) and session.position != said.position:
            panel.send(_whereabouts(session))

    def _introduction(self, session: Shown | None) -> dict[str, Any]:
        self._shown = None
        if session is None:
            return {"type": "none"}
        self._shown = session.view()
        return {
            "type": "session",
            "id": session.id,
            "name": session.name,
            "position": session.position,
            "trace": encode(self._shown).decode(),
        }

    def _moved(self, session: Shown) -> None:
        if self._shown is not None and session.id == self._announced and not self._shown.shows(session.position):
            self._introduce(session)
        self._tell_others(session, _whereabouts(session))

    def _marked(self, session: Shown) -> None:
        self._tell_others(session, {"type": "marks", "id": session.id, **session.marks.to_dict()})

    def _tell_others(self, session: Shown, message: dict[str, Any]) -> None:
        if session.id != self._announced:
            return
        for panel in self._panels.values():
            # An echo would arrive late and take a panel that steps quickly back in time.
            if panel is not self._speaking:
                panel.send(message)


@cache
def kernel_channel() -> Channel:
    """The one channel of this kernel."""
    return Channel()


def _whereabouts(session: Shown) -> dict[str, Any]:
    return {"type": "position", "id": session.id, "position": session.position}
