"""Which session magics are about: the one that was displayed, chosen, moved or made last, or one by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...debugger.answers import Answer, Block, Grid, Paragraph
from ...program.errors import meant, shorten
from ..channel import kernel_channel
from ..session_protocol import Shown
from .usage import misused

MAKE = "session = gradviz.debug(net, ys), or gradviz.debug(loss), makes one and keeps it."


def current_session() -> Shown:
    """The session that magics are about.

    Raises:
        GradvizError: ``usage``: there is none.
    """
    session = kernel_channel().latest
    if session is None:
        raise misused("There is no session: none was made, or nothing refers to it any more.", MAKE)
    return session


def session_called(names: Mapping[str, Any], name: str) -> Shown:
    """The session of a variable, or the one of this label, net name or id that was made last.

    Raises:
        GradvizError: ``usage``: there is none.
    """
    value = names.get(name)
    of_variable: Any = getattr(value, "session", value)  # of a pass that stands still, that over what has happened
    if isinstance(of_variable, Shown):
        return of_variable
    sessions = kernel_channel().sessions
    for session, label in reversed(sessions.items()):
        if name in (label, session.name, session.id):
            return session
    if name in names:
        raise misused(f"{name} is a {type(value).__name__}, and no session.", MAKE)
    offered = meant(name, [*sessions.values(), *session_variables(names)], 3)
    lists = "%session lists those that there are."
    raise misused(f"There is no session {shorten(name)}, or not any more.", *(offered or [lists]))


def session_variables(names: Mapping[str, Any]) -> dict[str, Shown]:
    """The variables that are sessions, or passes that go on from one, each with it; without IPython's results."""
    sessions = kernel_channel().sessions
    own = {id(one): session for session in sessions for one in (session, session.live) if one is not None}
    return {name: own[id(it)] for name, it in list(names.items()) if id(it) in own and not name.startswith("_")}


class SessionsView(Answer, frozen=True):
    """The sessions of a kernel, the oldest first.

    Attributes:
        rows: of each whether it is current, its label, its position, and the variables that are it, or the pass that
            goes on from it.
    """

    answer = "sessions"
    rows: list[tuple[str, str, str, str]]

    def blocks(self) -> Iterator[Block]:
        if self.rows:
            yield Grid("Sessions", ("", "session", "event", "variable"), self.rows)
        else:
            yield Paragraph(f"There is no session. {MAKE}")


def all_sessions(names: Mapping[str, Any]) -> SessionsView:
    """The sessions of this kernel, and which one is current."""
    latest, rows, of_variables = kernel_channel().latest, [], session_variables(names)
    for session, label in kernel_channel().sessions.items():
        variables = ", ".join(name for name, one in of_variables.items() if one is session)
        mark = "current" if session is latest else ""
        rows.append((mark, label, f"{session.position} of {len(session)}", variables))
    return SessionsView(rows)
