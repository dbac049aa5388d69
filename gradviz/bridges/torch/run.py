"""Lets the engine go backward from tensors under watch, and leaves everything else as it was."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

import torch
from torch.autograd.graph import Node

from .capture import capture
from .checkpoints import check, inner_passes
from .graph import Graph, Tensor
from .watch import Notes, Stand, watched


def run(
    graph: Graph,
    roots: Sequence[Tensor],
    gradients: Sequence[Tensor],
    inputs: Sequence[Tensor] | None,
    *,
    captured: Mapping[Node, capture],
    create_graph: bool,
    write: bool,
    notes: Notes | None = None,
    stand: Stand | None = None,
) -> Notes:
    """Let the engine go backward.

    Args:
        inputs: what gradients are wanted of; None: of every leaf.
        captured: the operators that were called inside of captures.
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
        check(graph)
    inside = inner_passes(graph, notes, write=write) if is_reentrant else nullcontext()
    wanted = {} if writes else graph.asked(inputs)
    watch = watched(graph, notes, wanted, write=write, stand=stand)
    with watch, inside, nullcontext() if write else _put_back(_retaining(graph, captured)):
        try:
            if writes:
                backward(roots, gradients, retain_graph=not write or None, create_graph=create_graph, inputs=inputs)
            else:
                torch.autograd.grad(
                    roots,
                    list(wanted.values()),
                    gradients,
                    retain_graph=True,
                    create_graph=create_graph,
                    allow_unused=True,
                )
        except Exception as error:
            if not notes.has_begun:
                raise
            notes.error = error
    return notes


backward = torch.autograd.backward
"""As it is while no checkpoint is watched."""


@contextmanager
def _put_back(tensors: Iterable[Tensor]) -> Iterator[None]:
    """What tensors hold for a gradient is the same object afterwards."""
    held = [(tensor, tensor.grad) for tensor in tensors]
    for tensor, _ in held:
        tensor.grad = None
    try:
        yield
    finally:
        for tensor, grad in held:
            tensor.grad = grad


def _retaining(graph: Graph, captured: Mapping[Node, capture]) -> list[Tensor]:
    """The tensors on the way that keep their gradient: a capture knows its own, others are looked for among all."""
    if len(captured) == len(graph.found):
        return [tensor for one in set(captured.values()) for tensor in one.retaining()]
    found = set(graph.found)
    tensors = [one for one in gc.get_objects() if issubclass(type(one), Tensor)]
    return [one for one in tensors if one.grad_fn in found and one.retains_grad]
