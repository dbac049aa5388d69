"""Hooks of tensors: which there are, and whether they change gradients."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any

import torch
from torch.autograd.graph import Node

from ....program.code_line import CodeLine
from ....program.errors import code
from ..graph import Output, Tensor
from .case import Case, line_of, where
from .diagnosis import Finding
from .gradients import leaf_gradients


def hooks(case: Case) -> Iterator[Finding]:
    """Hooks that change the gradient of a leaf or of something on the way."""
    if case.graph is None or case.notes is None:
        return
    arrived = {Output(node, 0): one for node, one in leaf_gradients(case).items()}
    sent: dict[Output, list[Tensor | None]] = {}
    for visit in case.visits:
        if visit.node in case.graph.index:
            for slot, one in enumerate(visit.arrived):
                if one is not None and not one.is_changed:
                    arrived[Output(visit.node, slot)] = one.tensor
        for (before, slot), one in zip(visit.node.next_functions, visit.sent, strict=False):
            if before is not None and one is not None:
                sent.setdefault(Output(before, slot), []).append(None if one.is_changed else one.tensor)
    for output, terms in sent.items():
        if output in arrived and _is_changed(terms, arrived[output]):
            name = case.output_name(output)
            hook, line = hook_of(case, output.node)
            whose = f"of {code(name)}" if name else f"of the result of {case.operator(output.node)}"
            yield Finding(
                "hook",
                f"A hook{hook}{where(line)} changes the gradient {whose}.",
                (name,) if name else (),
                line,
                harm=False,
            )


def _is_changed(terms: list[Tensor | None], arrived: Tensor) -> bool:
    """Whether what arrived is not the sum of what was sent."""
    plain = [one for one in terms if one is not None]
    if len(plain) < len(terms) or any(one.layout != torch.strided for one in (*plain, arrived)):
        return False
    total = plain[0]
    for one in plain[1:]:
        total = total + one
    if total.dtype != arrived.dtype:
        return False
    if total.shape != arrived.shape:
        try:
            total = total.sum_to_size(arrived.shape)
        except RuntimeError:
            return False
    if len(plain) == 1 and total.shape == plain[0].shape:
        return not _same(total, arrived)
    scale = float(arrived.abs().max()) if arrived.numel() else 0.0
    return isfinite(scale) and not torch.allclose(total, arrived, rtol=1e-3, atol=1e-6 * (scale or 1))


def _same(one: Tensor, other: Tensor) -> bool:
    return bool(((one == other) | ((one != one) & (other != other))).all())


def hook_of(case: Case, node: Node) -> tuple[str, CodeLine | None]:
    """What the hook of a tensor is called, after a space, and where it is; empty: it is not known."""
    for function in _functions(case, node):
        name = getattr(function, "__name__", "")
        return (f" {code(name)}" if name and name != "<lambda>" else ""), line_of(function)
    return "", None


def _functions(case: Case, node: Node) -> Iterator[Any]:
    assert case.graph is not None
    tensors = [case.graph.leaves[node]] if node in case.graph.leaves else _results(case, node)
    for one in tensors:
        yield from (getattr(one, "_backward_hooks", None) or {}).values()


def _results(case: Case, node: Node) -> list[Tensor]:
    """The tensors that are known to be the results of an operator."""
    values = [one for values in case.variables for one in values.values()]
    seen = [one.ref() for step in case.steps for one in step.makes]
    return [one for one in (*seen, *values) if isinstance(one, Tensor) and one.grad_fn is node]
