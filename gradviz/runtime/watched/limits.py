"""Limits: what holds while an engine is recorded.

Interrupts, Ctrl+C and Jupyter's stop button, end a recording between two operators, and what was recorded stays.
"""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import inf
from time import perf_counter
from types import FrameType
from typing import Any, Literal, NamedTuple, Self, TypeVar

from ...program import RunError
from ..store import Store

T = TypeVar("T")

PATIENCE = 1.0
"""Seconds before anything is told: most are done by then."""

PAUSE = 0.25
"""Seconds between one telling and the next."""


Work = Literal["record", "describe", "draw", "write", "answer"]
"""What takes long: a recording, its trace document, the drawing of that, a page with it, an answer from all of it."""


class SoFar(NamedTuple):
    """What has been done.

    Attributes:
        operators, of: how many operators of the outermost net have run, or have been drawn, and how many there are; 0
            of None where they do not count, as while a pass is generated.
        events: how many events there are; None where they do not count.
        seconds: since it began.
    """

    operators: int
    of: int | None
    events: int | None
    seconds: float
    work: Work = "record"


Progress = Callable[[SoFar], None]


class Pace:
    """Tells of progress, now and then.

    Attributes:
        due: when to tell next, by `perf_counter`; infinity where nobody wants to know.
        before: how many events there were before those that are counted now.
    """

    def __init__(self, progress: Progress | None, work: Work = "record") -> None:
        self._progress = progress
        self._work = work
        self._begun = perf_counter()
        self._has_told = False
        self.before = 0
        self.due = inf if progress is None else self._begun + PATIENCE

    def tell(self, now: float, events: int | None, operators: int = 0, of: int | None = None) -> None:
        """It is `now`, and so much has been done."""
        if self._progress is not None:
            count = None if events is None else self.before + events
            self._progress(SoFar(operators, of, count, now - self._begun, self._work))
            self.due = perf_counter() + PAUSE
            self._has_told = True

    def end(self, events: int | None, operators: int = 0, of: int | None = None) -> None:
        """All is done: who has heard of it hears that."""
        if self._has_told:
            self.tell(perf_counter(), events, operators, of)

    def over(self, events: Iterable[T]) -> Iterator[T]:
        """`events`, each counted once it has been dealt with."""
        for number, event in enumerate(events):
            self.reached(number)
            yield event

    def reached(self, events: int | None, operators: int = 0, of: int | None = None) -> None:
        """So much has been done, which is told if it is time to."""
        if (now := perf_counter()) > self.due:
            self.tell(now, events, operators, of)


INTERRUPTED = "interrupted"


class Interrupts:
    """Inside its ``with`` block an interrupt is noted; a second one raises KeyboardInterrupt where the program stands.

    Where somebody else handles interrupts, and in a thread that gets none, nothing is noted.

    Attributes:
        is_asked: whether there was one.
    """

    def __init__(self) -> None:
        self.is_asked = False
        self._before: Any = None

    def __enter__(self) -> Self:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.is_asked:
            signal.default_int_handler(number, frame)
        self.is_asked = True


class Limits(NamedTuple):
    """What holds while something is recorded.

    Attributes:
        store: keeps the values within a budget; None: they are kept by references.
        interrupts: end the recording after the operator that runs.
        pace: is told how far it is.
    """

    store: Store | None
    interrupts: Interrupts
    pace: Pace

    @property
    def waited(self) -> float:
        """The seconds that went into files so far, which no operator took."""
        return 0.0 if self.store is None else self.store.seconds


def interrupted(where: str, operator_index: int | None = None) -> RunError:
    """What ends a recording that was interrupted."""
    return RunError(
        f"Interrupted by you {where}.",
        kind=INTERRUPTED,
        operator_index=operator_index,
        ways_out=[
            "Everything before is here: step, look at values, ask.",
            "Record it again to see the rest; a smaller net or fewer iterations take less time.",
        ],
    )


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the cycle collector from passing over and over objects that are all still needed.

    Without it the time for n objects grows faster than n. What becomes garbage inside is collected after the block.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
