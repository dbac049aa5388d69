"""Limits: what holds while an engine is recorded.

Interrupts, Ctrl+C and Jupyter's stop button, end a recording between two operators, and what was recorded stays.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, NamedTuple, Self

from ...program import RunError
from ..store import Store
from .progress import Pace

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
