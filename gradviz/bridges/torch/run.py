"""Lets the engine go backward from tensors under watch, and leaves everything else as it was."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

import torch

from .capture import REMEMBERED
from .checkpoints import check, has_checkpoints, inner_passes
from .graph import Graph, Tensor, number_of, output_of
from .watch import Notes, kept, watched


def run(
    graph: Graph,
    roots: Sequence[Tensor],
    gradients: Sequence[Tensor],
    inputs: Sequence[Tensor] | None,
    *,
    create_graph: bool,
    write: bool,
) -> Notes:
    """Let the engine go backward.

    Args:
        inputs: what gradients are wanted of; None: of every leaf.
        write: whether ``grad`` is written and the graph freed, as `torch.autograd.backward` does it; else nothing is.

    Raises:
        GradientError: ``reentrant_checkpoint``. RuntimeError: the engine does not begin.
    """
    notes = Notes()
    is_reentrant = has_checkpoints(graph)
    if is_reentrant and not write:
        check(graph)
    inside = inner_passes(graph, notes, write=write) if is_reentrant else nullcontext()
    with watched(graph, notes), inside, nullcontext() if write else _put_back(_retaining(graph)):
        try:
            if write or is_reentrant:
                backward(roots, gradients, retain_graph=not write or None, create_graph=create_graph, inputs=inputs)
            else:
                wanted = list(graph.leaves.values()) if inputs is None else inputs
                found = torch.autograd.grad(
                    roots, wanted, gradients, retain_graph=True, create_graph=create_graph, allow_unused=True
                )
                notes.captured = {output_of(one): kept(grad) for one, grad in zip(wanted, found, strict=True)}
        except Exception as error:
            if not notes.visits:
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


def _retaining(graph: Graph) -> list[Tensor]:
    """The tensors on the way that keep their gradient: a capture knows its own, others are looked for among all."""
    captured = list(REMEMBERED)
    if all(any(one.covers(number_of(node)) for one in captured) for node in graph.nodes):
        return [tensor for one in captured for tensor in one.retaining()]
    tensors = [one for one in gc.get_objects() if issubclass(type(one), Tensor)]
    return [one for one in tensors if one.grad_fn in graph.index and one.retains_grad]
