"""Lets the engine go backward from tensors under watch, leaves everything else as it was, and says which hook raised.

A reentrant checkpoint, a node that computes its part again, runs a backward pass of its own inside, into ``grad``: what
that pass writes is what the node sends to the leaves inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy
from itertools import pairwise
from traceback import walk_tb
from types import CodeType
from typing import Any

import torch
from torch.autograd.graph import GradientEdge

from ...program import GradientError
from ...program.errors import message_of
from .frames import inner, is_inside
from .graph import Graph, Output, Tensor, hooks_of, is_hooked, waits_for_grad
from .instances import instances
from .watch import Hooked, Notes, Returned, Stand, Visit, Written, returning, watched


def run(
    graph: Graph,
    roots: Sequence[Tensor],
    gradients: Sequence[Tensor],
    inputs: Sequence[Tensor] | None,
    *,
    tensors: Sequence[Tensor],
    create_graph: bool,
    write: bool,
    notes: Notes | None = None,
    stand: Stand | None = None,
) -> Notes:
    """Let the engine go backward.

    Args:
        inputs: what gradients are wanted of; None: of every leaf.
        tensors: on the way that have hooks or keep their gradient, which is put back, unless it is written.
        write: whether ``grad`` is written and the graph freed, as `torch.autograd.backward` does it; else nothing is.
        notes: take what it does; None: new ones.
        stand: called with each node before it runs.

    Raises:
        GradientError: ``reentrant_checkpoint``. RuntimeError: the engine does not begin.
    """
    notes = notes or Notes()
    is_reentrant = bool(graph.checkpoints)
    writes = write or is_reentrant
    if is_reentrant and not write:
        _check(graph)
    inside = _inner_passes(graph, notes, write=write) if is_reentrant else nullcontext()
    wanted = {} if writes else graph.asked(inputs)
    # While it stands still nothing is returned; else what no hook changes is as it is returned in the end, as is that
    # of a leaf that was frozen since.
    hooked = {
        one: tensor
        for one, tensor in wanted.items()
        if tensor.requires_grad and (stand is not None or hooks_of(tensor))
    }
    watch = watched(graph, notes, hooked, write=write, stand=stand)
    kept = nullcontext() if write else _cached_put_back(graph)
    told = nullcontext() if writes else returning(notes, {one.node for one in wanted})
    with watch, inside, told, kept, nullcontext() if write else _put_back(tensors):
        try:
            if writes:
                backward(roots, gradients, retain_graph=not write or None, create_graph=create_graph, inputs=inputs)
            else:
                returned = torch.autograd.grad(
                    roots,
                    [GradientEdge(*one) for one in wanted],
                    gradients,
                    retain_graph=True,
                    create_graph=create_graph,
                    allow_unused=True,
                )
                for one, gradient in zip(wanted, returned, strict=True):
                    if one not in hooked:
                        notes.returns(one, gradient)
        except BaseException as error:
            notes.hooked = _raised_by(error, graph, tensors, notes)
            if not isinstance(error, Exception) or (not notes.has_begun and notes.hooked is None):
                raise
            notes.error = error
    return notes


backward = torch.autograd.backward
"""As it is while no checkpoint is watched."""


@contextmanager
def _put_back(tensors: Iterable[Tensor]) -> Iterator[None]:
    """What tensors keep for their gradient is the same object afterwards."""
    grads = [(tensor, tensor.grad) for tensor in tensors if tensor.retains_grad]
    for tensor, _ in grads:
        tensor.grad = None
    try:
        yield
    finally:
        for tensor, grad in grads:
            tensor.grad = grad


CACHES: type[Any] | None = getattr(torch.utils.checkpoint, "_CachedTorchDispatchMode", None)
"""The class of what selective checkpoints have cached; None: this PyTorch has none."""


@contextmanager
def _cached_put_back(graph: Graph) -> Iterator[None]:
    """What selective checkpoints have cached, and give to the first pass alone, is there for another one afterwards."""
    modes = instances(CACHES) if CACHES and any(map(is_hooked, graph.unordered_nodes)) else []
    cached = [(mode, {key: copy(values) for key, values in mode.storage.items()}) for mode in modes]
    try:
        yield
    finally:
        for mode, values in cached:
            mode.storage.update(values)


def _check(graph: Graph) -> None:
    """Refuse to write into ``grad``, be it for a moment, where somebody waits for that."""
    waiting = any(map(waits_for_grad, graph.leaves.values()))
    is_parallel = torch.distributed.is_available() and torch.distributed.is_initialized()
    if waiting or is_parallel:
        who = "a hook that waits for gradients to be written" if waiting else "torch.distributed"
        raise GradientError(
            f"A reentrant checkpoint goes backward only by writing gradients, and there is {who}.",
            kind="reentrant_checkpoint",
            ways_out=["Call checkpoint(..., use_reentrant=False).", "Record your own pass: debug(loss, write=True)."],
        )


@contextmanager
def _inner_passes(graph: Graph, notes: Notes, *, write: bool) -> Iterator[None]:
    """While it lasts, what backward passes inside of nodes write is what these send; unless that is to `write`, every
    ``grad`` is put back."""
    grads: dict[Tensor, Tensor | None] = {}
    backward = torch.autograd.backward

    def set_aside(leaf: Tensor) -> None:
        grads.setdefault(leaf, leaf.grad)
        leaf.grad = None

    def inside(tensors: Tensor | Sequence[Tensor], *args: Any, **kwargs: Any) -> None:
        if (node := notes.running) is None:  # the pass itself, which a capture is asked about by this name
            return backward(tensors, *args, **kwargs)
        roots = [tensors] if isinstance(tensors, Tensor) else list(tensors)
        inputs = {one.data_ptr() for one in node.saved_tensors}  # type: ignore[attr-defined]
        leaves = list(Graph([root for root in roots if root.requires_grad]).leaves.values())
        before = [leaf.grad for leaf in leaves]
        for leaf in leaves:
            set_aside(leaf)
        try:
            backward(tensors, *args, **kwargs)
            for leaf in leaves:
                if leaf.data_ptr() not in inputs:
                    graph.send_inside(node, leaf)
                    notes.inside.setdefault(node, []).append(notes.recorded_tensor(leaf.grad))
        finally:
            for leaf, grad in zip(leaves, before, strict=True) if write else ():
                if grad is not None:
                    leaf.grad = grad if leaf.grad is None else grad.add_(leaf.grad)

    try:
        if not write:
            for leaf in graph.leaves.values():
                set_aside(leaf)
        torch.autograd.backward = inside  # type: ignore[assignment]
        yield
    finally:
        torch.autograd.backward = backward
        if not write:
            for leaf, grad in grads.items():
                leaf.grad = grad


ENGINE = torch.autograd.graph._engine_run_backward.__code__
"""What calls the engine: what it calls that is not PyTorch's own is a hook."""

RETURNED = "expected Variable, but hook returned"
"""How a message begins that is about a hook, and does not say which."""


def _raised_by(error: BaseException, graph: Graph, tensors: Iterable[Tensor], notes: Notes) -> Hooked | None:
    """The hook of a tensor that has raised; None: none has.

    Args:
        tensors: on the way, with hooks, beside the leaves.
    """
    ran = [frame.f_code for frame, _ in walk_tb(error.__traceback__)]
    called = next((after for before, after in pairwise(ran) if before is ENGINE), None)
    message = message_of(error)
    candidates: dict[Output, list[Callable[..., Any]]] = {}
    for tensor in (*tensors, *graph.leaves.values()):
        for hook in hooks_of(tensor):
            if (_code(hook) or hook) in ran or message.startswith((f"hook '{_name(hook)}' has changed", RETURNED)):
                candidates.setdefault(graph.output_of(tensor), []).append(hook)
    if not candidates and called is not None and not is_inside(called.co_filename):
        return Hooked(hook=called)  # of a tensor that is not known, or of an operator
    if not candidates:
        return Hooked() if message.startswith(("hook '", RETURNED)) else None
    gone = {one.node for one in notes.happened if isinstance(one, Visit)}
    over = {one.output for one in notes.happened if isinstance(one, Returned | Written)}
    waiting = {before for node in graph.unordered_nodes if node not in gone for before, _ in node.next_functions}
    here = [one for one in candidates if one.node not in gone and one.node not in waiting and one not in over]
    if len(here) != 1:
        return Hooked()
    hooks = candidates[here[0]]
    return Hooked(here[0], _code(hooks[0]) if len(hooks) == 1 else None)


def _code(hook: Any) -> CodeType | None:
    return getattr(inner(hook), "__code__", None)


def _name(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)
