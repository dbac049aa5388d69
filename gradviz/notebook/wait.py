"""The wait of a cell at a session, which views show and end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
