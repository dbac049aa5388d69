"""Lets the engine go backward from tensors under watch, and leaves everything else as it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

import torch
from torch.autograd.graph import GradientEdge

from .checkpoints import check, inner_passes
from .graph import Graph, Tensor, hooks_of
from .watch import Notes, Stand, watched


def run(
    graph: Graph,
    roots: Sequence[Tensor],
    gradients: Sequence[Tensor],
    inputs: Sequence[Tensor] | None,
    *,
    tensors: Iterable[Tensor],
    create_graph: bool,
    write: bool,
    notes: Notes | None = None,
    stand: Stand | None = None,
) -> Notes:
    """Let the engine go backward.

    Args:
        inputs: what gradients are wanted of; None: of every leaf.
        tensors: on the way; of those that keep their gradient it is put back, unless it is written.
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
    # While it stands still nothing is returned; else what no hook changes is as it is returned in the end.
    hooked = {one: tensor for one, tensor in wanted.items() if stand is not None or hooks_of(tensor)}
    watch = watched(graph, notes, hooked, write=write, stand=stand)
    with watch, inside, nullcontext() if write else _put_back(tensors):
        try:
            if writes:
                backward(roots, gradients, retain_graph=not write or None, create_graph=create_graph, inputs=inputs)
            else:
                found = torch.autograd.grad(
                    roots,
                    [GradientEdge(*one) for one in wanted],
                    gradients,
                    retain_graph=True,
                    create_graph=create_graph,
                    allow_unused=True,
                )
                for one, gradient in zip(wanted, found, strict=True):
                    if one not in hooked:
                        notes.returns(one, gradient)
        except Exception as error:
            if not notes.has_begun:
                raise
            notes.error = error
    return notes


backward = torch.autograd.backward
"""As it is while no checkpoint is watched."""


@contextmanager
def _put_back(tensors: Iterable[Tensor]) -> Iterator[None]:
    """What tensors keep for their gradient is the same object afterwards."""
    held = [(tensor, tensor.grad) for tensor in tensors if tensor.retains_grad]
    for tensor, _ in held:
        tensor.grad = None
    try:
        yield
    finally:
        for tensor, grad in held:
            tensor.grad = grad
