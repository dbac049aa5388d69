"""The engine of PyTorch standing still: it runs in a thread of its own, which waits before each node."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from threading import Condition, Thread
from typing import Any

import torch
from torch.autograd.graph import Node

from ...debugger.journal import Recording
from ...program import GradientError
from ...runtime.watched import interrupted
from .engine import Pass, summary
from .graph import Tensor
from .watch import Kept, Notes, Stand


class Stopped(Exception):
    """Ends the engine where it stands."""


class Worker:
    """A thread that runs a function, and waits wherever this calls `stand`.

    Attributes:
        at: the node where it waits, and what has arrived there; None: it has come to its end.
        error: what has ended it.
    """

    def __init__(self, run: Callable[[Stand], Any]) -> None:
        self.at: tuple[Node, Sequence[Kept | None]] | None = None
        self.error: BaseException | None = None
        self._run = run
        self._may_run = False
        self._is_stopped = False
        self._changed = Condition()
        self._thread = Thread(target=self._work, name="gradviz.live", daemon=True)

    def go(self) -> None:
        """Let it run on, to where it waits next or to its end."""
        with self._changed:
            self._may_run = True
            self._changed.notify_all()
        if self._thread.ident is None:
            self._thread.start()
        self.wait()

    def wait(self) -> None:
        """Until it stands still, or has ended."""
        with self._changed:
            self._changed.wait_for(lambda: not self._may_run)

    def stop(self) -> None:
        """End it where it stands, or will stand next."""
        self._is_stopped = True
        if self.at is not None and not self._may_run:
            self.go()

    def _work(self) -> None:
        try:
            self._run(self._stand)
        except BaseException as error:
            self.error = error
        finally:
            self._pause(None)

    def _stand(self, node: Node, arrived: Sequence[Kept | None]) -> None:
        if not self._is_stopped:
            self._pause((node, arrived))
            with self._changed:
                self._changed.wait_for(lambda: self._may_run)
        if self._is_stopped:
            raise Stopped

    def _pause(self, at: tuple[Node, Sequence[Kept | None]] | None) -> None:
        with self._changed:
            self.at = at
            self._may_run = False
            self._changed.notify_all()


class LivePass:
    """A backward pass of PyTorch that stands still before each node; the arguments are those of `record`.

    While it does, its hooks are on the nodes; they go when it is over, or aborted, or nobody has it any more.

    Raises:
        GradientError: ``bad_ys``: there is nothing to start from. ``reentrant_checkpoint``: a node runs a backward pass
            inside. RuntimeError: the engine does not begin.
    """

    fixed = (
        "the engine of PyTorch works on what its nodes have kept, where that is",
        "Change the forward pass, and go backward from its result.",
    )

    def __init__(
        self,
        loss: Tensor | Sequence[Tensor],
        *,
        gradient: Any = None,
        inputs: Sequence[Tensor] | None = None,
        create_graph: bool = False,
        write: bool = False,
    ) -> None:
        one = Pass(loss, gradient=gradient, inputs=inputs, create_graph=create_graph, write=write)
        if one.graph.checkpoints:
            raise GradientError(
                "A reentrant checkpoint runs a backward pass of its own inside of a node: there is no standing still.",
                kind="reentrant_checkpoint",
                ways_out=["Call checkpoint(..., use_reentrant=False).", "Record the whole pass: debug(loss)."],
            )
        self._pass = one
        self._backward = one.backward(one.called(sys._getframe(1)))
        self._notes = Notes()
        self._count = 0
        self._worker = Worker(partial(one.run, self._notes))
        self._end = weakref.finalize(self, self._worker.stop)
        self._go_on()
        if self._worker.error is not None:
            raise self._worker.error

    @property
    def next(self) -> str | None:
        """The operator whose backward is next, as ``#3 tanh``; None: it is over."""
        return None if self._worker.at is None else self._backward.next

    def is_to_come(self, word: str) -> bool:
        """Whether something that is called so may come."""
        return self._worker.at is not None and self._backward.is_to_come(word)

    def advance(self) -> bool:
        """Run the next node; whether another one is next."""
        if self._worker.at is not None:
            self._go_on()
        return self._worker.at is not None

    def _go_on(self) -> None:
        # An interrupt may have come while the last node ran.
        self._worker.wait()
        self._worker.go()
        happened = self._notes.happened[self._count :]
        self._count += len(happened)
        with torch.no_grad():
            self._backward.go_on(happened)
            if self._worker.at is not None:
                self._backward.stand(*self._worker.at)
            elif self._worker.error is None:
                self._backward.end(self._notes.error)

    def abort(self) -> None:
        """End it here; what happened stays recorded."""
        self._worker.wait()
        if (following := self.next) is not None:
            self._worker.stop()
            self._backward.end(interrupted(f"before operator {following}"))

    def recording(self) -> Recording:
        """What happened so far."""
        journal = self._pass.journal(self._backward, partial(summary, following=self.next))
        return Recording(lambda: journal)
