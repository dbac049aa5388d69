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


class Visit(NamedTuple):
    """A node was run.

    Attributes:
        sent: what it sent to each input, also to leaves inside of a checkpoint.
        arrived: the gradient of each output of its operator.
        seconds: how long it took, since the node before.
    """

    node: Node
    sent: Sequence[Kept | None]
    arrived: Sequence[Kept | None]
    seconds: float


class Written(NamedTuple):
    """``grad`` of a leaf was written: what it was, a copy, and what it became."""

    node: Node
    arrived: Kept | None
    before: Tensor | None
    after: Kept | None


class Notes:
    """What the engine did.

    Attributes:
        happened: each node that it ran and each ``grad`` that it wrote, in order; read when the pass is over.
        captured: what it was asked for instead of running its node -> the gradient.
        inside: what a checkpoint sent to the leaves inside of it.
        running: the checkpoint that runs.
        error: what has ended it.
    """

    def __init__(self) -> None:
        self.captured: dict[Output, Kept | None] = {}
        self.inside: dict[Node, list[Kept | None]] = {}
        self.running: Node | None = None
        self.error: Exception | None = None
        self._task: int | None = None
        self._begun = perf_counter()
        # As little as can be done while the engine runs.
        self._noted: list[tuple[Node, Gradients, Gradients, list[int], float] | Written] = []

    @property
    def has_begun(self) -> bool:
        """Whether the engine has come to a root."""
        return self._task is not None

    def begin(self, arrived: Gradients) -> None:
        """To be called before a root is run."""
        if self._task is None:
            self._task, self._begun = task(), perf_counter()

    @property
    def happened(self) -> Iterator[Visit | Written]:
        before = self._begun
        for one in self._noted:
            if isinstance(one, Written):
                yield one
                continue
            node, sent, arrived, written, at = one
            sends = [tensor if tensor is None else Kept(tensor, written[slot]) for slot, tensor in enumerate(sent)]
            yield Visit(node, [*sends, *self.inside.get(node, ())], list(map(kept, arrived)), at - before)
            before = at

    def of(self, node: Node) -> Callable[[Gradients, Gradients], None]:
        """To be called when a node has run."""

        def note(sent: Gradients, arrived: Gradients) -> None:
            if self._task == task():
                written = [-1 if one is None else one._version for one in sent]
                self._noted.append((node, sent, arrived, written, perf_counter()))

        return note

    def of_leaf(self, node: Node, leaf: Tensor) -> tuple[Callable[..., None], Callable[..., None]]:
        """To be called before and after ``grad`` of a leaf is written; after it with its hooks."""
        held: list[Tensor | None] = []

        def before(arrived: Gradients) -> None:
            if self._is_ours():
                held.append(None if leaf.grad is None else leaf.grad.detach().clone())

        def after(sent: Gradients, arrived: Gradients) -> None:
            if self._is_ours():
                self._noted.append(Written(node, kept(arrived[0]), held.pop(), kept(leaf.grad)))

        return before, after

    def of_checkpoint(self, node: Node) -> Callable[[Gradients], None]:
        """To be called before a checkpoint computes its part again."""

        def begin(arrived: Gradients) -> None:
            self.running = node

        return begin

    def _is_ours(self) -> bool:
        """Whether it is the pass under watch that calls, and none that somebody else has begun meanwhile."""
        return self._task == task()


@contextmanager
def watched(graph: Graph, notes: Notes, *, write: bool) -> Iterator[None]:
    """While it lasts, what the engine does with a graph is noted, also what it writes."""
    handles: list[Any] = []
    try:
        for root in graph.roots:
            handles.append(root.node.register_prehook(notes.begin))
        for node in graph.found:
            handles.append(node.register_hook(notes.of(node)))
        if write:
            for node, leaf in graph.leaves.items():
                before, after = notes.of_leaf(node, leaf)
                handles += (node.register_prehook(before), node.register_hook(after))
        for node in graph.checkpoints:
            handles.append(node.register_prehook(notes.of_checkpoint(node)))
        yield
    finally:
        for handle in handles:
            handle.remove()
