"""A backward pass from Variables that stands still before each function: the schedule runs in a thread of its own."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ...operators.gradients import is_gradient_of
from ...program.errors import code, listed
from ...runtime.pace import Pace
from ...runtime.standing import Stopped, Worker
from ...runtime.watched import Interrupts, Journal, Limits, interrupted
from ..variable import Variable
from .recording import watch_backward

At = tuple[str, Callable[[], Journal]]
"""The function that goes backward next, and what says what happened so far."""


class LiveBackward:
    """A backward pass that stands still before each function; the arguments are those of `watch_backward`.

    Every Variable stays as it is, its ``grad`` too.

    Raises:
        GradientError: as `watch_backward`.
    """

    fixed = (
        "functions go backward on what they have read and returned",
        "Change the data of a Variable, compute again, and go backward from there.",
    )

    def __init__(
        self,
        y: Variable | Sequence[Variable],
        *,
        gradient: Any = None,
        schedule: str = "rank",
        retain_grad: bool = False,
    ) -> None:
        def run(stand: Callable[[At], None]) -> Callable[[], Journal]:
            def before(name: str, so_far: Callable[[], Journal]) -> None:
                try:
                    stand((name, so_far))
                except Stopped:
                    raise interrupted(f"before {name} went backward") from None

            limits = Limits(None, Interrupts(), Pace(None))
            return watch_backward(
                y, limits, gradient=gradient, schedule=schedule, retain_grad=retain_grad, stand=before
            )

        self._worker: Worker[At] = Worker(run)
        self._end = weakref.finalize(self, self._worker.stop)
        self._worker.go()
        self._catch_up()

    @property
    def next(self) -> str | None:
        """The function that goes backward next, as ``#3 Tanh``; None: the pass is over."""
        return None if self._at is None else self._at[0]

    def is_to_come(self, word: str) -> bool:
        """Whether something may yet be called so: the gradient of a blob, or the backward of a function."""
        operators = self.journal().net.ops
        blobs = {name for op in operators for name in (*op.inputs, *op.outputs)}
        of_function = word in {f"{op.type}Gradient" for op in operators}
        return self.next is not None and (of_function or is_gradient_of(word, blobs))

    def advance(self) -> bool:
        """Let the next function go backward; whether another one is next."""
        self._catch_up()
        if self._at is not None:
            self._worker.go()
            self._catch_up()
        return self._at is not None

    def _catch_up(self) -> None:
        """Wait until it stands still: an interrupt may have come while it ran; raises what has ended the thread."""
        self._worker.wait()
        self._at = self._worker.at
        if self._worker.error is not None:
            raise self._worker.error

    def abort(self) -> None:
        """End it here; what happened stays recorded."""
        self._worker.wait()
        self._worker.stop()

    def journal(self) -> Journal:
        """What happened so far."""
        self._catch_up()
        if self._at is None:
            journal: Journal = self._worker.result()
            return journal
        name, so_far = self._at
        journal = so_far()
        roots = listed(list(map(code, journal.ys)))
        summary = f"A backward pass from {roots}, function by function. It stands still before {name}."
        return journal._replace(values=dict(journal.values), summary=lambda _: summary)
