"""The channel between a kernel and the JupyterLab side panels that look at it.

A panel opens a comm of the target "gradviz"; it may do so at any time, several panels at once. Then the kernel sends

    {"type": "sessions", "protocol", "sessions": [{"id", "label"}]}      all that there are, the oldest first
    {"type": "session", "id", "position", "waits", "trace": JSON text}   the active one: displayed or chosen last; when
                                                                         it leaves the part that is shown of a large
                                                                         recording it is sent again
    {"type": "position", "id", "position"}                               it moved
    {"type": "marks", "id", "breakpoints", "watches"}                    other things are marked in it
    {"type": "wait", "id", "waits"}                                      a cell waits at it, or not any more
    {"type": "none"}                                                     no session is active (any more)

and the panel sends messages of the types position and marks, {"type": "choose", "id"}: make this session the active
one, {"type": "go_on", "id"}: let the cell that waits at it go on, and {"type": "ask", "id", "question"}: a question
about the active session, whose answer only that panel hears; see `asking`. So that a panel need not knock at kernels
that know nothing of gradviz, the kernel opens one empty comm of the same target with its first session, as a sign.
"""

from __future__ import annotations

import logging
import weakref
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import comm
import msgspec
from comm.base_comm import BaseComm

from ..debugger.document import BreakpointEntry, Marked, Trace, encode
from ..program import GradvizError
from ..program.events import Event
from .asking import Question, reply, shown_after
from .session_protocol import PROTOCOL, Shown, Wait, follow

logger = logging.getLogger(__name__)

TARGET = "gradviz"


class OfSession(msgspec.Struct, frozen=True, tag_field="type"):
    """What a panel may say of a session."""

    id: str


class Move(OfSession, frozen=True, tag="position"):
    """Take it to this position."""

    position: int


class Mark(OfSession, frozen=True, tag="marks"):
    """This is marked in it now."""

    breakpoints: list[BreakpointEntry]
    watches: list[str]


class Choose(OfSession, frozen=True, tag="choose"):
    """It is the active one now."""


class GoOn(OfSession, frozen=True, tag="go_on"):
    """Let the cell that waits at it go on."""


class Ask(OfSession, frozen=True, tag="ask"):
    """Answer a question about it."""

    question: Question


class Channel:
    """Tells the panels of one kernel about its sessions, and moves the active one when they say so.

    Sessions are held by weak references: a panel alone keeps no recording alive.
    """

    def __init__(self) -> None:
        self._panels: dict[str, BaseComm] = {}
        self._labels: weakref.WeakKeyDictionary[Shown, str] = weakref.WeakKeyDictionary()
        # The one that was displayed, chosen, moved or made last comes last.
        self._recent: weakref.WeakKeyDictionary[Shown, None] = weakref.WeakKeyDictionary()
        self._active: weakref.ref[Shown] | None = None
        self._end: Callable[[], None] = lambda: None
        self._sign: BaseComm | None = None
        self._announced: str | None = None
        self._listed = self._listing()
        self._shown: Trace | None = None
        self._speaking: BaseComm | None = None
        # Panels that chose a session that is gone, and show none until one is displayed or chosen.
        self._without: set[str] = set()

    def listen(self, shell: Any) -> None:
        """Answer panels that open a comm in the kernel of the IPython `shell`."""
        comm.get_comm_manager().register_target(TARGET, self.accept)
        shell.events.register("post_execute", self.tell)

    def announce(self, session: Shown, cell: int | None) -> None:
        """List `session`, made by the cell of this number; panels hear of it with the next `tell`."""
        name = session.name or "recording"
        self._labels[session] = name if cell is None else f"{name} · cell {cell}"
        self._touch(session)
        session.observe(self._touch)
        if self._sign is None:
            self._sign = comm.create_comm(target_name=TARGET)

    @property
    def latest(self) -> Shown | None:
        """The session that was displayed, chosen, moved or made last, of those that there are; None: there is none."""
        return next(reversed(list(self._recent)), None)

    @property
    def sessions(self) -> dict[Shown, str]:
        """All sessions that there are, the oldest first, each with a label that no other has."""
        seen: Counter[str] = Counter()
        labels = {}
        for session, label in list(self._labels.items()):
            seen[label] += 1
            labels[session] = f"{label} ({seen[label]})" if seen[label] > 1 else label
        return labels

    def activate(self, session: Shown) -> None:
        """Make `session` the one that all panels show and move."""
        self._touch(session)
        self._labels.setdefault(session, session.name or "recording")  # it was replaced before
        if not self.is_active(session):
            self._end()
            self._active = weakref.ref(session)
            self._end = follow(session, self._moved, self._marked, self._waited)
        self.tell()
        while self._without:
            self._panels[self._without.pop()].send(self._introduction(session))

    def replace(self, before: Shown, after: Shown) -> None:
        """List `after` alone, in the place of `before`, which may be collected much later."""
        if (label := self._labels.pop(before, None)) is not None:
            self._labels[after] = label

    def is_active(self, session: Shown) -> bool:
        """Whether panels show a session."""
        return self._current() is session

    def session_at(self, event: Event) -> Shown | None:
        """The session of this kernel that stands at an event of its recording, if one does."""
        return next((session for session in list(self._labels) if session.event is event), None)

    def tell(self) -> None:
        """Tell all panels which sessions there are and which one is active, unless they know."""
        listed = self._listing()
        if listed != self._listed:
            self._listed = listed
            self._send(listed)
        session = self._current()
        active = session.id if session is not None else None
        if active != self._announced:
            self._announced = active
            self._without.clear()
            if self._panels:
                self._send(self._introduction(session))

    def accept(self, panel: BaseComm, _message: object = None) -> None:
        """A panel opened `panel`: answer its messages from now on, and tell it where things stand."""
        self._panels[panel.comm_id] = panel
        panel.on_msg(lambda message: self._heard(panel, message))
        panel.on_close(lambda _message: self._forget(panel))
        panel.send(self._listing())
        panel.send(self._introduction(self._current()))

    def _forget(self, panel: BaseComm) -> None:
        self._panels.pop(panel.comm_id, None)
        self._without.discard(panel.comm_id)

    def _send(self, message: dict[str, Any]) -> None:
        for panel in self._panels.values():
            panel.send(message)

    def _listing(self) -> dict[str, Any]:
        sessions = [{"id": session.id, "label": label} for session, label in self.sessions.items()]
        return {"type": "sessions", "protocol": PROTOCOL, "sessions": sessions}

    def _touch(self, session: Shown) -> None:
        self._recent.pop(session, None)
        self._recent[session] = None

    def _current(self) -> Shown | None:
        return self._active() if self._active is not None else None

    def _heard(self, panel: BaseComm, message: dict[str, Any]) -> None:
        data = message.get("content", {}).get("data")
        try:
            command = msgspec.convert(data, Move | Mark | Choose | GoOn | Ask)
        except msgspec.ValidationError as error:
            logger.warning("A message of the gradviz panel was not understood and is ignored: %s", error)
            return
        if isinstance(command, Choose):
            self._choose(panel, command.id)
            return
        session = self._current()
        if isinstance(command, Ask):
            asked = session if session is not None and session.id == command.id else None
            is_there = any(one.id == command.id for one in list(self._recent))
            answer = reply(asked, command.question, is_there=is_there)
            panel.send(answer)
            if shown := shown_after(asked, command.question, answer):
                self.activate(shown)
            return
        if session is None or session.id != command.id:
            # The panel still shows a session that is gone or was replaced while its message was on the way.
            panel.send(self._introduction(session))
            return
        self._speaking = panel
        try:
            match command:
                case Mark():
                    try:
                        session.marks = Marked(breakpoints=command.breakpoints, watches=command.watches)
                    except GradvizError:
                        panel.send(_marks(session))
                case Move():
                    session.move_to(command.position)
                case GoOn():
                    session.wait.end()
        finally:
            self._speaking = None
        if isinstance(command, Move) and session.position != command.position:
            panel.send(_whereabouts(session))

    def _choose(self, panel: BaseComm, identity: str) -> None:
        session = next((one for one in list(self._labels) if one.id == identity), None)
        if session is None or session.id == self._announced:
            # The panel waits for a word; and it must not go on moving another session than the one that was chosen.
            panel.send(self._introduction(session))
            if session is None:
                self._without.add(panel.comm_id)
            else:
                self._without.discard(panel.comm_id)
        else:
            self.activate(session)

    def _introduction(self, session: Shown | None) -> dict[str, Any]:
        if session is None:
            return {"type": "none"}
        self._shown = session.view()
        return {
            "type": "session",
            "id": session.id,
            "position": session.position,
            "waits": session.wait.is_on,
            "trace": encode(self._shown).decode(),
        }

    def _moved(self, session: Shown) -> None:
        if self._shown is not None and session.id == self._announced and not self._shown.shows(session.position):
            self._send(self._introduction(session))
        self._tell_others(session, _whereabouts(session))

    def _marked(self, session: Shown) -> None:
        self._tell_others(session, _marks(session))

    def _waited(self, wait: Wait) -> None:
        if (session := self._current()) is not None:
            self._send({"type": "wait", "id": session.id, "waits": wait.is_on})

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


def _marks(session: Shown) -> dict[str, Any]:
    return {"type": "marks", "id": session.id, **session.marks.to_dict()}


def _whereabouts(session: Shown) -> dict[str, Any]:
    return {"type": "position", "id": session.id, "position": session.position}
