"""What this room asks of a session: a cursor that can be moved, watched and waited at, and a trace document."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from ..debugger import Cursor
from ..debugger.answers import Answer
from ..debugger.document import Trace

PROTOCOL = 2
"""Of the messages and the state that Python and its views exchange: the next number where one would not understand the
other. Views compare it with theirs and say which side is older; see `extension/src/model/schema/protocol.ts`."""

BEAT = 0.05
"""Seconds after which a cell that waits looks whether it may go on."""


class Wait:
    """Whether a cell waits at a session.

    Attributes:
        is_on: a cell waits.
    """

    def __init__(self) -> None:
        self.is_on = False
        self._observers: list[Callable[[Any], None]] = []

    def observe(self, observer: Callable[[Any], None]) -> Callable[[], None]:
        """Call `observer(self)` when a cell begins or ends to wait; the function returned ends that."""
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    def end(self) -> None:
        """Let the cell go on, from any thread; where none waits nothing happens."""
        if self.is_on:
            self._turn(False)

    async def until_ended(self) -> None:
        """Wait."""
        import asyncio  # takes its time to import

        self._turn(True)
        try:
            # An interrupt alone does not wake the loop of a kernel, which would not end the wait then.
            while self.is_on:
                await asyncio.sleep(BEAT)
        finally:
            self.end()

    def _turn(self, is_on: bool) -> None:
        self.is_on = is_on
        for observer in tuple(self._observers):
            observer(self)


class Advancing(Protocol):
    """A pass that stands still and goes on as verbs say.

    Attributes:
        session: what has happened so far.
        next: what is next; None: it is over.
    """

    @property
    def session(self) -> Shown: ...

    @property
    def next(self) -> str | None: ...
    def step(self) -> object: ...
    def over(self) -> object: ...
    def run_to(self, target: str) -> object: ...
    def continue_(self) -> object: ...
    def finish(self) -> object: ...
    def break_on(self, on: str) -> object: ...


class Shown(Cursor):
    """A session as widgets, outputs and the side panel see it.

    Attributes:
        id: short and unique among the sessions of this process.
        wait: of a cell at this session.
    """

    id: str
    wait: Wait

    @property
    @abstractmethod
    def live(self) -> Advancing | None:
        """The pass that goes on from the end of this session; None: nothing more happens."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write the recording."""

    @abstractmethod
    def to_html(self, path: Path) -> None:
        """Write a page that opens at the position."""

    @abstractmethod
    def to_notebook(self, path: Path) -> Answer:
        """Write a notebook that runs the recorded program again; the answer says what is in it."""

    @abstractmethod
    def to_cells(self, of: Any) -> list[dict[str, Any]]:
        """Cells that run a part of the recorded program again, for the notebook of this kernel."""

    @abstractmethod
    def view(self) -> Trace:
        """What a view shows, drawing included: the whole recording, or the part of it around the position."""

    @abstractmethod
    def nearby(self) -> Trace:
        """The operators that the events around the position are about, and what stands for all others."""

    @abstractmethod
    def to_ssa(self) -> Shown:
        """The same pass over the SSA form of the net."""


Listener = Callable[[Any], None]
"""Takes a session, or its wait, after a change."""


def follow(session: Shown, moved: Listener, marked: Listener, waited: Listener) -> Callable[[], None]:
    """Observe a session without keeping it alive; the function returned ends it, once or more often.

    Args:
        moved, marked: hear of the session after each move, and each change of what is marked in it.
        waited: hears of its wait.
    """
    follower = weakref.ref(_Follower(session, moved, marked, waited))

    def stop() -> None:
        following = follower()
        if following is not None:
            following.stop()

    return stop


class _Follower:
    """An observer that lives as long as the session that it observes, since nothing else holds it."""

    def __init__(self, session: Shown, moved: Listener, marked: Listener, waited: Listener) -> None:
        self._moved = moved
        self._ends = [session.observe(self), session.observe_marks(marked), session.wait.observe(waited)]

    def __call__(self, session: Shown) -> None:
        self._moved(session)

    def stop(self) -> None:
        while self._ends:
            self._ends.pop()()
