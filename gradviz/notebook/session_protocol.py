"""What this room asks of a session: a position in time that can be moved and watched, and a trace document."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Protocol

from ..debugger.answers import Questions
from ..debugger.document import Marked, Trace


class Shown(Protocol):
    """A session as widgets, outputs and the side panel see it."""

    @property
    def id(self) -> str:
        """Short and unique among the sessions of this process."""
        ...

    @property
    def name(self) -> str:
        """The net's name."""
        ...

    @property
    def position(self) -> int:
        """How many events have happened, 0 to `len(self)`."""
        ...

    def __len__(self) -> int:
        """How many events there are."""
        ...

    def move_to(self, position: int, /) -> Any:
        """Go to `position`, 0 to `len(self)`."""
        ...

    def observe(self, callback: Callable[[Any], None], /) -> Callable[[], None]:
        """Call `callback(session)` after each move, until the returned function is called."""
        ...

    @property
    def marks(self) -> Marked:
        """Its breakpoints and watches; may be set."""
        ...

    @marks.setter
    def marks(self, marks: Marked, /) -> None: ...

    def observe_marks(self, callback: Callable[[Any], None], /) -> Callable[[], None]:
        """Call `callback(session)` after each change of the marks, until the returned function is called."""
        ...

    def at(self, position: int, /) -> Questions:
        """Its questions at a position; it stays where it is."""
        ...

    def view(self) -> Trace:
        """What a view shows, drawing included: the whole recording, or the part of it around the position."""
        ...


def clamp(position: int, length: int) -> int:
    """The position nearest to `position` that a recording of `length` events has."""
    return max(0, min(position, length))


Observe = Callable[[Callable[[Any], None]], Callable[[], None]]
"""`observe` or `observe_marks` of a session."""


def follow(observe: Observe, callback: Callable[[Any], None]) -> Callable[[], None]:
    """Observe a session without keeping it alive; the function returned ends it, once or more often."""
    follower = weakref.ref(_Follower(observe, callback))

    def stop() -> None:
        following = follower()
        if following is not None:
            following.stop()

    return stop


class _Follower:
    """An observer that lives as long as the session that it observes, since nothing else holds it."""

    def __init__(self, observe: Observe, callback: Callable[[Any], None]) -> None:
        self._callback = callback
        self._unobserve = observe(self)

    def __call__(self, session: Shown) -> None:
        self._callback(session)

    def stop(self) -> None:
        self._unobserve()
        self._unobserve = lambda: None
