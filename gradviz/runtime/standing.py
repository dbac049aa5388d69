"""Standing still: a function that runs in a thread of its own, and waits wherever it is told to."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from threading import Condition, Thread
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """Ends the function where it stands."""


class Worker(Generic[T]):
    """A thread that runs a function, and waits wherever this calls what it was given.

    Attributes:
        at: what the function said when it stood still; None: it has come to its end.
        result: what it has returned.
        error: what has ended it.

    Args:
        run: is given the function to call, which raises `Stopped` once `stop` was called. It must not refer to the
            worker's owner, which could not go away otherwise.
    """

    def __init__(self, run: Callable[[Callable[[T], None]], Any]) -> None:
        self.at: T | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self._run = run
        self._may_run = False
        self._is_stopped = False
        self._changed = Condition()
        context = copy_context()
        self._thread = Thread(target=lambda: context.run(self._work), name="gradviz.live", daemon=True)

    def go(self) -> None:
        """Let it run on, to where it waits next or to its end."""
        with self._changed:
            self._may_run = True
            self._changed.notify_all()
        if self._thread.ident is None:
            self._thread.start()
        self.wait()

    def wait(self) -> None:
        """Until it stands still, or has ended: an interrupt may have come while it ran."""
        with self._changed:
            self._changed.wait_for(lambda: not self._may_run)

    def stop(self) -> None:
        """End it where it stands, or will stand next."""
        self._is_stopped = True
        if self.at is not None and not self._may_run:
            self.go()

    def _work(self) -> None:
        try:
            self.result = self._run(self._stand)
        except BaseException as error:
            self.error = error
        finally:
            self._pause(None)

    def _stand(self, at: T) -> None:
        if not self._is_stopped:
            self._pause(at)
            with self._changed:
                self._changed.wait_for(lambda: self._may_run)
        if self._is_stopped:
            raise Stopped

    def _pause(self, at: T | None) -> None:
        with self._changed:
            self.at = at
            self._may_run = False
            self._changed.notify_all()
