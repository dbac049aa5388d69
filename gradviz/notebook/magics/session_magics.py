"""The line magics: verbs and questions of the current session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..channel import kernel_channel
from ..session_protocol import Shown
from .current import all_sessions, current_session, session_called
from .glance import Glance, glance, recorded
from .usage import count


class SessionMagics:
    """Each method is the magic of its name, and gives what it shows.

    Args:
        names: the user's variables.
    """

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names

    def step(self, line: str) -> Any:
        """Go on by one event, or by `n`; a live pass runs its next operator, or `n` of them.

        Usage: %step [n]
        Example: %step 3
        """
        times = count("step", line)
        return self._move(lambda one: one.move_to(one.position + times), "step", times=times)

    def over(self, line: str) -> Any:
        """Go over the next operator with all that it brings; a live pass runs it.

        Usage: %over
        Example: %over
        """
        return self._move(lambda one: one.over(), "over")

    def back(self, line: str) -> Any:
        """Go back by one event, or by `n`: nothing is run again.

        Usage: %back [n]
        Example: %back 3
        """
        times = count("back", line)
        return self._move(lambda one: one.move_to(one.position - times))

    def into(self, line: str) -> Any:
        """Go into the next nested net.

        Usage: %into
        Example: %into
        """
        return self._move(lambda one: one.into())

    def out(self, line: str) -> Any:
        """Go out of the nested net that we are in, or to the end of what the operator brings.

        Usage: %out
        Example: %out
        """
        return self._move(lambda one: one.out())

    def run_to(self, line: str) -> Any:
        """Go on to the next event about an operator, a type, a blob, an event or a condition, or to a position.

        Usage: %run_to #3 or FC or x or x@1 or Accumulated or NaN or norm > 10 or 12
        Example: %run_to x_grad
        """
        if line.isdecimal():
            return self._move(lambda one: one.run_to(int(line)))
        return self._move(lambda one: one.run_to(line), "run_to", line)

    def continue_(self, line: str) -> Any:
        """Go on to the next breakpoint, else to the end.

        Usage: %continue
        Example: %continue
        """
        return self._move(_go_on, "continue_")

    def finish(self, line: str) -> Any:
        """Go to the end, past all breakpoints; a live pass runs all that is left.

        Usage: %finish
        Example: %finish
        """
        return self._move(lambda one: (one.live or one).finish())

    def restart(self, line: str) -> Any:
        """Go back to the start: nothing is run again.

        Usage: %restart
        Example: %restart
        """
        return self._move(lambda one: one.restart())

    def where(self, line: str) -> Any:
        """Show where the current session stands.

        Usage: %where
        Example: %where
        """
        session = current_session()
        return glance(session, None, *_coming(session))

    def value(self, line: str) -> Any:
        """Show what was recorded of a blob: its numbers, their range and their histogram.

        Usage: %value BLOB
        Example: %value x@1
        """
        return recorded(current_session(), line)

    def ledger(self, line: str) -> Any:
        """Show who sent how much of the gradient of a blob.

        Usage: %ledger BLOB
        Example: %ledger x
        """
        return current_session().ledger(line)

    def why(self, line: str) -> Any:
        """Show why a blob has no gradient, or where it has one.

        Usage: %why BLOB
        Example: %why x
        """
        return current_session().why_none(line)

    def break_(self, line: str) -> Any:
        """Set a breakpoint, at which %continue stops; alone, list them.

        Usage: %break [an operator, type, blob, event or condition]
        Example: %break norm > 10
        """
        session = current_session()
        if line:
            (session.live or session).break_on(line)
        return session.breakpoints

    def watch(self, line: str) -> Any:
        """Watch a blob or an expression; alone, show what is watched.

        Usage: %watch [a blob or an expression]
        Example: %watch norm(x_grad)
        """
        session = current_session()
        if line:
            session.watch(line)
        return session.watches

    def session(self, line: str) -> Any:
        """Make a session the current one, by a variable or by its name; alone, list them.

        Usage: %session [NAME]
        Example: %session net
        """
        if not line:
            return all_sessions(self._names)
        session = session_called(self._names, line)
        kernel_channel().activate(session)
        return glance(session, None, *_coming(session))

    def _move(self, move: Callable[[Shown], Any], verb: str = "", *arguments: str, times: int = 1) -> Glance:
        """Move the current session.

        Args:
            verb: of a live pass, which it does where its session is at the end of what has happened; empty: none.
            arguments: of the verb.
            times: how often it does.
        """
        session = current_session()
        since = session.position
        live = session.live if verb and since == len(session) else None
        if live is None:
            move(session)
        else:
            for _ in range(times):
                if live.next is None:  # it is over before
                    break
                getattr(live, verb)(*arguments)
        session = current_session()  # the one over what has happened by now
        ends = {0: "This is the start: nothing is behind.", len(session): "This is the end: nothing is ahead."}
        stayed = [ends[since]] if session.position == since and since in ends else []
        return glance(session, since, *(_coming(session) or stayed))


def _go_on(session: Shown) -> None:
    """Go on to the next breakpoint in what has happened, else in what a live pass then runs."""
    session.continue_()
    if session.live is not None and session.position == len(session) and session.stopping is None:
        session.live.continue_()


def _coming(session: Shown) -> list[str]:
    """What a live pass does next, where its session is at the end of what has happened."""
    live = session.live
    return [] if live is None or session.position < len(session) else [f"Next: {live.next}, which has not run yet."]
