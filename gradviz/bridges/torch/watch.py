"""The engine of PyTorch under watch: what each node was given and what it sent on, by hooks that are removed again."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from types import CodeType, MethodType
from typing import Any, NamedTuple

import torch
from torch.autograd.graph import Node

from ...runtime.watched import Limits, interrupted
from .graph import Graph, Like, Output, Tensor, is_leaf, task, version_of

Gradients = Sequence[Tensor | None]

Stand = Callable[[Node, "Sequence[RecordedTensor | None]"], None]
"""Returns when a node may run; takes what has arrived there."""


class RecordedTensor:
    """A tensor as it was recorded: a reference to it, and how often it had been written by then."""

    __slots__ = ("_tensor", "_written")

    def __init__(self, tensor: Tensor, written: int) -> None:
        self._tensor = tensor
        self._written = written

    @property
    def tensor(self) -> Tensor:
        """The tensor itself."""
        return self._tensor

    @property
    def like(self) -> Like:
        """What it is like, without its elements."""
        return self._tensor

    @property
    def is_changed(self) -> bool:
        """Whether somebody has written into it since."""
        return version_of(self._tensor) != self._written


def reference(tensor: Tensor) -> RecordedTensor:
    """A tensor as it is now; of one that does not count how often it is written into, a copy."""
    if (written := version_of(tensor)) < 0:
        tensor = tensor.detach().clone()
        written = version_of(tensor)
    return RecordedTensor(tensor, written)


Keep = Callable[[Tensor], RecordedTensor]
"""How a tensor is kept as it is now: by reference, or otherwise."""


class Visit(NamedTuple):
    """A node was run.

    Attributes:
        sent: what it sent to each input, also to leaves inside of a checkpoint.
        arrived: the gradient of each output of its operator.
        seconds: how long it took, since the node before.
    """

    node: Node
    sent: Sequence[RecordedTensor | None]
    arrived: Sequence[RecordedTensor | None]
    seconds: float


class Written(NamedTuple):
    """``grad`` of a leaf was written: what it was, a copy, and what it became."""

    output: Output
    arrived: RecordedTensor | None
    before: RecordedTensor | None
    after: RecordedTensor | None


class Returned(NamedTuple):
    """The gradient of an output that was asked for is there, after the hooks of its tensor."""

    output: Output
    arrived: RecordedTensor | None


Noted = Visit | Written | Returned


class Hooked(NamedTuple):
    """A hook has raised.

    Attributes:
        output: of whose gradient; None: it is not known.
        hook: what it runs; None: it is not known.
    """

    output: Output | None = None
    hook: CodeType | None = None


class Notes:
    """What the engine did.

    Args:
        keep: how gradients are kept.
        limits: within which it is recorded; None: there are none.
        of: how many nodes it is to run.

    Attributes:
        visited: how many nodes have run.
        inside: what a checkpoint sent to the leaves inside of it.
        running: the checkpoint that runs.
        error: what has ended it.
        hooked: the hook that has raised it; None: none has.
    """

    def __init__(self, keep: Keep = reference, limits: Limits | None = None, of: int | None = None) -> None:
        self.visited = 0
        self._happened: list[Noted] = []
        # As little as can be done while the engine runs: what nodes sent and were given, and when.
        self._noted: list[tuple[Node, Gradients, Gradients, list[int], float] | Written | Returned] = []
        # What ``grad`` of leaves was, while it is written.
        self._grads_before: dict[Node, RecordedTensor | None] = {}
        self.inside: dict[Node, list[RecordedTensor | None]] = {}
        self.running: Node | None = None
        self.error: Exception | None = None
        self.hooked: Hooked | None = None
        self._task: int | None = None
        self._before = perf_counter()
        self._keep = keep
        self._limits = limits
        self._of = of

    @property
    def happened(self) -> Sequence[Noted]:
        """Each node that the engine ran, ``grad`` that it wrote and gradient that was asked for, in order."""
        self._read()
        return self._happened

    def recorded_tensor(self, tensor: Tensor | None) -> RecordedTensor | None:
        """A tensor as it is now, where there is one."""
        return None if tensor is None else self._keep(tensor)

    @property
    def has_begun(self) -> bool:
        """Whether the engine has come to a root."""
        return self._task is not None

    def begin(self, arrived: Gradients) -> None:
        """To be called before a root is run."""
        if self._task is None:
            self._task, self._before = task(), perf_counter()

    @property
    def returned(self) -> dict[Output, RecordedTensor | None]:
        """The gradients that were asked for."""
        return {one.output: one.arrived for one in self.happened if isinstance(one, Returned)}

    def note(self, node: Node, sent: Gradients, arrived: Gradients) -> None:
        """A node has run."""
        if self._task != task():
            return
        try:
            written = [-1 if one is None else one._version for one in (*sent, *arrived)]
        except (RuntimeError, AttributeError):  # by one of inference mode, which does not count
            written = []
        now = perf_counter()
        self._noted.append((node, sent, arrived, written, now))
        self.visited += 1
        if self._keep is not reference or not written:
            self._read()
            self._before = perf_counter()
        limits = self._limits
        if limits is not None and (limits.interrupts.is_asked or now > limits.pace.due):
            self._look_up(node, limits)

    def _read(self) -> None:
        """Make visits of what was noted."""
        noted, self._noted = self._noted, []
        for one in noted:
            if isinstance(one, Written | Returned):
                self._happened.append(one)
                continue
            node, sent, arrived, written, at = one
            if self._keep is reference and written:
                pairs = zip((*sent, *arrived), written, strict=True)
                every = [None if tensor is None else RecordedTensor(tensor, count) for tensor, count in pairs]
            else:
                every = list(map(self.recorded_tensor, (*sent, *arrived)))
            sends = [*every[: len(sent)], *self.inside.get(node, ())]
            self._happened.append(Visit(node, sends, every[len(sent) :], at - self._before))
            self._before = at

    def _look_up(self, node: Node, limits: Limits) -> None:
        """A node has run: tell how far it is, or end if that is asked for."""
        if limits.interrupts.is_asked:
            raise interrupted(f"after {node.name()} had run")
        limits.pace.reached(None, self.visited, self._of)

    def stop(self, node: Node, stand: Stand, arrived: Gradients) -> None:
        """A node is next: `stand` returns when it may run."""
        if self.is_running():
            stand(node, [None if one is None else reference(one) for one in arrived])
            self._before = perf_counter()

    def arrive(self, one: Output, gradient: Tensor) -> None:
        """The gradient of an output that was asked for comes by."""
        if self.is_running():
            self.returns(one, gradient)

    def returns(self, one: Output, gradient: Tensor | None) -> None:
        """The gradient of an output that was asked for is there."""
        self._noted.append(Returned(one, self.recorded_tensor(gradient)))

    def before_grad(self, node: Node, leaf: Tensor, arrived: Gradients) -> None:
        """``grad`` of a leaf is about to be written."""
        if self.is_running():
            self._grads_before[node] = None if leaf.grad is None else self._keep(leaf.grad.detach().clone())

    def after_grad(self, node: Node, leaf: Tensor, sent: Gradients, arrived: Gradients) -> None:
        """``grad`` of a leaf was written, and its hooks have run."""
        if self.is_running():
            before, after = self._grads_before.pop(node), self.recorded_tensor(leaf.grad)
            self._noted.append(Written(Output(node, 0), self.recorded_tensor(arrived[0]), before, after))

    def enter(self, node: Node, arrived: Gradients) -> None:
        """A checkpoint is about to compute its part again."""
        self.running = node

    def is_running(self) -> bool:
        """Whether it is the pass under watch that calls, and none that somebody else has begun meanwhile."""
        return self._task == task()


@contextmanager
def watched(
    graph: Graph, notes: Notes, asked: Mapping[Output, Tensor], *, write: bool, stand: Stand | None = None
) -> Iterator[None]:
    """While it lasts, what the engine does with a graph is noted.

    Args:
        asked: what gradients are asked for, which are returned.
        write: whether ``grad`` is written, which is noted too.
        stand: called with each node before it runs, and what has arrived there.
    """
    handles: list[Any] = []
    try:
        for root in graph.roots:
            handles.append(root.node.register_prehook(notes.begin))
        note = notes.note
        for node in graph.unordered_nodes:
            handles.append(node.register_hook(MethodType(note, node)))  # one object, where a closure is several
        if write:
            for node, leaf in graph.leaves.items():
                handles.append(node.register_prehook(partial(notes.before_grad, node, leaf)))
                handles.append(node.register_hook(partial(notes.after_grad, node, leaf)))
        for node in graph.checkpoints:
            handles.append(node.register_prehook(partial(notes.enter, node)))
        for one, tensor in asked.items():
            handles.append(tensor.register_hook(partial(notes.arrive, one)))  # type: ignore[no-untyped-call]
        if stand is not None:
            for node in graph.unordered_nodes:
                handles.append(node.register_prehook(partial(notes.stop, node, stand)))
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def returning(notes: Notes, wanted: Container[Node]) -> Iterator[None]:
    """While it lasts, hooks of several tensors learn which leaves the engine comes to, as where ``grad`` is written.

    What answers PyTorch then is in its place only while such passes last, which may end in any order.

    Args:
        wanted: the nodes of those whose gradient is returned.
    """
    mine = notes, wanted
    if not _RETURNING:
        torch._C._will_engine_execute_node = _will_run
    _RETURNING.append(mine)
    try:
        yield
    finally:
        _RETURNING.remove(mine)
        if not _RETURNING:
            torch._C._will_engine_execute_node = _WILL_RUN


_RETURNING: list[tuple[Notes, Container[Node]]] = []
"""The passes that return gradients in place of writing them, and the nodes that they come to."""


def _will_run(node: Node) -> bool:
    """Whether the engine comes to a node; of a leaf PyTorch itself says it only of a pass that writes ``grad``."""
    if is_leaf(node):
        for notes, wanted in list(_RETURNING):
            if notes.is_running():
                return node in wanted
    return bool(_WILL_RUN(node))


_WILL_RUN: Any = getattr(torch._C, "_will_engine_execute_node", None)
