"""The engine of PyTorch standing still: it runs in a thread of its own, which waits before each node."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch
from torch.autograd.graph import Node

from ...program import GradientError
from ...runtime.standing import Worker
from ...runtime.watched import Journal, interrupted
from .engine import Pass, summary
from .graph import Tensor
from .watch import Notes, RecordedTensor

At = tuple[Node, Sequence[RecordedTensor | None]]
"""Where the engine stands: before a node, at which these gradients have arrived."""


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
        inputs: Tensor | Iterable[Tensor] | None = None,
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
        # Of what it has done, what was reported: how much has happened, where it stood, and whether it is over.
        self._count, self._is_over = 0, False
        self._reported: At | None = None
        self._worker: Worker[At] = Worker(partial(_run, one, self._notes))
        self._end = weakref.finalize(self, self._worker.stop)
        self._worker.go()
        self._catch_up()

    @property
    def next(self) -> str | None:
        """The operator whose backward is next, as ``#3 tanh``; None: it is over."""
        return None if self._is_over else self._backward.next

    def is_to_come(self, word: str) -> bool:
        """Whether something that is called so may come."""
        return not self._is_over and self._backward.is_to_come(word)

    def advance(self) -> bool:
        """Run the next node; whether another one is next."""
        self._catch_up()
        if not self._is_over:
            self._worker.go()
            self._catch_up()
        return not self._is_over

    def _catch_up(self) -> None:
        """Tell what the engine has done, also since an interrupt came while it ran."""
        self._worker.wait()
        at = self._worker.at
        if self._is_over or (at is not None and at is self._reported):
            return
        happened = self._notes.happened[self._count :]
        self._count += len(happened)
        self._reported, self._is_over = at, at is None
        with torch.no_grad():
            self._backward.go_on(happened)
            if at is not None:
                self._backward.stand(*at)
            else:
                self._backward.end(self._worker.error or self._notes.error, self._notes.hooked)
        if self._worker.error is not None:
            raise self._worker.error

    def abort(self) -> None:
        """End it here; what happened stays recorded."""
        self._catch_up()
        if (following := self.next) is not None:
            self._is_over = True
            self._worker.stop()
            self._backward.end(interrupted(f"before operator {following}"))

    def journal(self) -> Journal:
        """What happened so far."""
        return self._pass.journal(self._backward, partial(summary, following=self.next))


def _run(one: Pass, notes: Notes, stand: Callable[[At], None]) -> Notes:
    """Let the engine run, which stands still before each node."""
    return one.run(notes, lambda node, arrived: stand((node, arrived)))
