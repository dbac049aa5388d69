"""The engine of PyTorch under watch: what each node was given and what it sent on, by hooks that are removed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple

from torch.autograd.graph import Node

from .graph import Graph, Output, Tensor, task

Gradients = Sequence[Tensor | None]


class Kept(NamedTuple):
    """A tensor kept by reference, and how often it had been written by then."""

    tensor: Tensor
    written: int

    @property
    def is_changed(self) -> bool:
        """Whether somebody has written into it since."""
        return self.tensor._version != self.written


def kept(tensor: Tensor | None) -> Kept | None:
    """A tensor as it is now."""
    return None if tensor is None else Kept(tensor, tensor._version)


class Visit:
    """A node was run.

    Attributes:
        arrived: the gradient of each output of its operator; None: none arrived.
        sent: what it sent to each input; None: it has raised.
        begun: when.
        inside: what a checkpoint sent to the leaves inside of it.
        seconds: how long it took.
        before, after: of a leaf what ``grad`` was and became.
    """

    __slots__ = ("after", "arrived", "before", "begun", "inside", "node", "seconds", "sent")

    def __init__(self, node: Node, arrived: Gradients) -> None:
        self.node = node
        self.arrived = [kept(one) for one in arrived]
        self.sent: list[Kept | None] | None = None
        self.inside: list[Kept | None] = []
        self.before: Tensor | None = None
        self.after: Kept | None = None
        self.seconds = 0.0
        self.begun = perf_counter()

    def end(self, sent: Gradients) -> None:
        """It has sent on."""
        self.seconds = perf_counter() - self.begun
        self.sent = [kept(one) for one in sent]


class Notes:
    """What the engine did.

    Attributes:
        visits: the nodes that it ran, in order.
        captured: what it was asked for instead of running its node -> the gradient.
        error: what has ended it.
    """

    def __init__(self) -> None:
        self.visits: list[Visit] = []
        self.captured: dict[Output, Kept | None] = {}
        self.error: Exception | None = None
        self._task: int | None = None

    def before(self, node: Node) -> Callable[[Gradients], None]:
        """To be called as a node is about to run."""

        def note(arrived: Gradients) -> None:
            if self._is_ours():
                self.visits.append(Visit(node, arrived))

        return note

    def after(self, node: Node) -> Callable[[Gradients, Gradients], None]:
        """To be called when a node has run."""

        def note(sent: Gradients, arrived: Gradients) -> None:
            if self._is_ours():
                next(visit for visit in reversed(self.visits) if visit.node is node).end(sent)

        return note

    def before_leaf(self, node: Node, leaf: Tensor) -> Callable[[Gradients], None]:
        """To be called as the gradient of a leaf is about to be written."""

        def note(arrived: Gradients) -> None:
            if self._is_ours():
                visit = Visit(node, arrived)
                visit.before = None if leaf.grad is None else leaf.grad.detach().clone()
                self.visits.append(visit)

        return note

    def after_leaf(self, node: Node, leaf: Tensor) -> Callable[[Gradients, Gradients], None]:
        """To be called when the gradient of a leaf has been written, and its hooks have run."""
        end = self.after(node)

        def note(sent: Gradients, arrived: Gradients) -> None:
            end(sent, arrived)
            if self._is_ours():
                self.visits[-1].after = kept(leaf.grad)

        return note

    def _is_ours(self) -> bool:
        """Whether it is the pass under watch that calls, and none that somebody else has begun meanwhile."""
        if self._task is None:
            self._task = task()
        return self._task == task()


@contextmanager
def watched(graph: Graph, notes: Notes) -> Iterator[None]:
    """While it lasts, what the engine does with a graph is noted."""
    handles: list[Any] = []
    try:
        for node in graph.nodes:
            handles += (node.register_prehook(notes.before(node)), node.register_hook(notes.after(node)))
        for node, leaf in graph.leaves.items():
            handles += (
                node.register_prehook(notes.before_leaf(node, leaf)),
                node.register_hook(notes.after_leaf(node, leaf)),
            )
        yield
    finally:
        for handle in handles:
            handle.remove()
