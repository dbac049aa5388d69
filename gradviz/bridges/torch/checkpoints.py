"""Reentrant checkpoints: a node that computes its part again runs a backward pass of its own inside, into ``grad``.

What that pass writes is what the node sends to the leaves inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from ...program import GradientError
from .graph import Graph, Tensor, waits_for_grad
from .watch import Notes


def check(graph: Graph) -> None:
    """Refuse to write into ``grad``, be it for a moment, where somebody waits for that.

    Raises:
        GradientError: ``reentrant_checkpoint``.
    """
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
def inner_passes(graph: Graph, notes: Notes, *, write: bool) -> Iterator[None]:
    """While it lasts, what backward passes inside of nodes write is what these send; unless that is to `write`, every
    ``grad`` is put back."""
    held: dict[Tensor, Tensor | None] = {}
    backward = torch.autograd.backward

    def set_aside(leaf: Tensor) -> None:
        held.setdefault(leaf, leaf.grad)
        leaf.grad = None

    def inner(tensors: Tensor | Sequence[Tensor], *args: Any, **kwargs: Any) -> None:
        node = notes.running
        assert node is not None
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
                    notes.inside.setdefault(node, []).append(notes.kept(leaf.grad))
        finally:
            for leaf, grad in zip(leaves, before, strict=True) if write else ():
                if grad is not None:
                    leaf.grad = grad if leaf.grad is None else grad.add_(leaf.grad)

    try:
        if not write:
            for leaf in graph.leaves.values():
                set_aside(leaf)
        torch.autograd.backward = inner  # type: ignore[assignment]
        yield
    finally:
        torch.autograd.backward = backward
        if not write:
            for leaf, grad in held.items():
                leaf.grad = grad
