"""Recordings of backward passes of PyTorch, by its own engine: beside the user's own, or instead of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import torch

from ...debugger.journal import Recording
from ...program import GradientError, NetDef
from ...program.errors import code, count_of, listed
from ...program.events import Accumulated, Failed
from ...runtime.watched import Journal, uncollected
from .capture import captures
from .flow import users
from .graph import Graph, Tensor, saved_by
from .names import called_in, named
from .origins import origins
from .run import run
from .tell import Backward, Forward, Seed
from .values import Values
from .watch import kept

EVENTS_A_NODE = 6
"""About so many."""


def record(
    loss: Tensor | Sequence[Tensor],
    *,
    gradient: Any = None,
    inputs: Sequence[Tensor] | None = None,
    create_graph: bool = False,
    write: bool = False,
    progress: Any = None,
) -> Recording:
    """Let the engine of PyTorch go backward from tensors, and keep what it does.

    Args:
        loss: where to start; from several, what they send to a tensor is added.
        gradient: that of the loss, a tensor of its shape; of several a list. None: ones, for a loss of one element.
        inputs: of what gradients are wanted; None: of every leaf.
        create_graph: whether the gradients can be differentiated again.
        write: whether this is the user's own ``backward()``: ``grad`` is written and the graph freed. Else every
            tensor stays as it is, its ``grad`` too; hooks of tensors run.

    Raises:
        GradientError: ``bad_ys``: there is nothing to start from. A fault met on the way is the last event, `Failed`.
    """
    roots = [loss] if isinstance(loss, Tensor) else list(loss)
    gradients = [gradient] if isinstance(loss, Tensor) else [None] * len(roots) if gradient is None else list(gradient)
    _check(roots, gradients)
    graph = Graph(roots)
    saved = {node: list(saved_by(node)) for node in graph.found}
    captured = captures(graph)
    seeds = [
        Seed(kept(torch.ones_like(root) if own is None else own), own is not None)  # type: ignore[arg-type]
        for root, own in zip(roots, gradients, strict=True)
    ]
    with uncollected():
        notes = run(
            graph,
            roots,
            [seed.gradient.tensor for seed in seeds],
            inputs,
            captured=captured,
            create_graph=create_graph,
            write=write,
        )

    called = called_in(users(sys._getframe(1)), graph, set(captured.values()))

    def journal() -> Journal:
        values, whence = Values(), origins(captured)
        forward = Forward(graph, named(graph, called, whence), saved, called.data, whence, values)
        backward = Backward(forward, notes, values)
        with torch.no_grad():
            backward.tell(seeds)
        names = [forward.names[root] for root in graph.roots]
        net = NetDef(f"{listed(names[:2])}.backward()")
        net.ops = forward.operators
        return Journal(
            "torch", net, names, (*forward.operators, *backward.operators), tuple(backward.events), values, _summary,
            held=backward.held, absent=values.absent,
        )  # fmt: skip

    return Recording(journal, size=EVENTS_A_NODE * len(graph.found))


def _check(roots: Sequence[Any], gradients: Sequence[Any]) -> None:
    """Refuse what there is no backward pass from."""
    if not roots or len(gradients) != len(roots):
        what = f"{count_of(len(gradients), 'gradient')} for {count_of(len(roots), 'tensor')}"
        raise _bad_ys(
            f"{what}: there is nothing to go backward from.", "Give one gradient for each tensor, None for 1."
        )
    for root, gradient in zip(roots, gradients, strict=True):
        if not isinstance(root, Tensor):
            raise _bad_ys(f"{type(root).__name__} is no tensor.", "Give a tensor or a list of them.")
        if root.is_inference():
            raise _bad_ys(
                "The tensor was computed in torch.inference_mode(), which keeps no graph.",
                "Compute it outside of that.",
            )
        if not root.requires_grad:
            raise _bad_ys(
                f"The tensor, {described(root)}, requires no gradient, nor does anything that it was computed from.",
                *(
                    []
                    if root.is_floating_point()
                    else ["Integers have no gradient: go backward from what they come from."]
                ),
                "Compute it from parameters that require one, outside of torch.no_grad().",
                "detach(), item(), numpy(), argmax and casts to integers cut the way between.",
            )
        if root.grad_fn is None:
            raise _bad_ys("The tensor is a leaf: nothing was computed.", "Give what was computed from it, a loss.")
        if gradient is None and root.numel() != 1:
            raise _bad_ys(
                f"The tensor is {described(root)}: only a single number has a gradient of its own, 1.",
                "Give one: debug(y, gradient=torch.ones_like(y)).", "Sum it up first: debug(y.sum()).",
            )  # fmt: skip
        if gradient is not None and (not isinstance(gradient, Tensor) or gradient.shape != root.shape):
            given = described(gradient) if isinstance(gradient, Tensor) else type(gradient).__name__
            raise _bad_ys(f"The gradient is {given}, and the tensor {described(root)}.", "Give a tensor of its shape.")


def described(tensor: Tensor) -> str:
    """``3 x 4 float32``."""
    shape = " × ".join(map(str, tensor.shape)) or "a single"
    return f"{shape} {str(tensor.dtype).removeprefix('torch.')}"


def _bad_ys(message: str, *ways_out: str) -> GradientError:
    return GradientError(message, kind="bad_ys", ways_out=ways_out)


def _summary(journal: Journal) -> str:
    """What a recording is about."""
    said = f"{count_of(len(journal.net.ops), 'operator')} led to {listed(list(map(code, journal.ys)))}"
    if isinstance(last := journal.events[-1], Failed):
        return f"{said}. The backward pass stops at the last event: {last.message}"
    sums = sum(isinstance(event, Accumulated) for event in journal.events)
    said += "; the engine of PyTorch goes backward through them, of those that are ready the one called last first"
    return f"{said}, with {count_of(sums, 'accumulation')}, and hooks of tensors. Step to see who is next."
