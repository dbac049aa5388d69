"""The gradients of a pass as they went from operator to operator, and where in them a fault was born."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Literal, NamedTuple

import torch
from torch.autograd.graph import Node

from ..graph import Output, Tensor, hooks_of, output_of
from ..watch import RecordedTensor, Visit, reference
from .case import Case


class Birth(NamedTuple):
    """Where a fault was born.

    Attributes:
        node: the operator whose backward sent it, though what it was given was fine.
        visit: of that; None: there is none.
        how: whether it was sent so; or a hook made it so; or the sum of what was sent is so.
    """

    node: Node
    visit: Visit | None
    how: Literal["sent", "hook", "sum"]


def leaf_gradients(case: Case) -> Mapping[Node, Tensor]:
    """The gradient that each leaf gets, those that hold one after a pass."""
    notes = case.notes
    if notes is None:
        if not case.is_over:
            return {}
        return {node: leaf.grad for node, leaf in case.graph.leaves.items() if leaf.grad is not None}
    return {one.node: gradient.tensor for one, gradient in notes.returned.items() if gradient is not None}


def sent_to(case: Case) -> dict[Output, list[tuple[Node | None, RecordedTensor]]]:
    """What was sent to each output, and by the backward of which operator; ones to the roots, by none."""
    sent: dict[Output, list[tuple[Node | None, RecordedTensor]]] = {}
    for root in case.graph_roots:
        sent.setdefault(output_of(root), []).append((None, reference(torch.ones_like(root))))
    for visit in case.visits:
        for (before, slot), one in zip(visit.node.next_functions, visit.sent, strict=False):
            if before is not None and one is not None:
                sent.setdefault(Output(before, slot), []).append((visit.node, one))
    return sent


def births(case: Case, is_bad: Callable[[Tensor], bool], *, every: bool) -> dict[Output, list[Birth]]:
    """Of each output whose gradient is bad, where that was born, the first first.

    Args:
        every: whether a gradient is bad only if all that was sent to it is, as with zeros; else if anything is.
    """
    sent = sent_to(case)
    by_output: dict[Output, list[Birth]] = {}
    # Where what is bad of what an operator sent was born.
    by_sender: dict[Node | None, list[Birth]] = {None: []}

    def arrive(one: Output, tensor: RecordedTensor | None, visit: Visit | None) -> list[Birth]:
        """Where the gradient of an output was born, if it is bad, once all has been sent to it."""
        terms = sent.get(one, []) if tensor is not None and is_bad(tensor.tensor) else []
        leaf = case.graph.leaves.get(one.node)
        is_hooked = leaf is not None and bool(hooks_of(leaf))  # what is changed is not what was sent
        bad = [sender for sender, term in terms if not (is_hooked and term.is_changed) and is_bad(term.tensor)]
        born = [birth for sender in bad for birth in by_sender[sender]]
        if terms and not born:
            is_sum = len(terms) > 1 and _adds_up(is_bad, [term.tensor for _, term in terms])
            born = [Birth(one.node, visit, "sum" if is_sum else "hook")]
        by_output[one] = list({(birth.node, birth.how): birth for birth in born}.values())
        return by_output[one]

    for visit in case.visits:
        around = [arrive(Output(visit.node, slot), one, visit) for slot, one in enumerate(visit.arrived)]
        given = [is_bad(one.tensor) for one in visit.arrived if one is not None]
        is_given_bad = bool(given) and (all(given) if every else any(given))
        own = [birth for each in around for birth in each] if is_given_bad else [Birth(visit.node, visit, "sent")]
        by_sender[visit.node] = own
    for output, gradient in case.notes.returned.items() if case.notes is not None else ():
        arrive(output, gradient, None)
    return by_output


def _adds_up(is_bad: Callable[[Tensor], bool], terms: Sequence[Tensor]) -> bool:
    """Whether the sum of gradients is bad already, before any hook; what cannot be added is taken to be so."""
    if len({(one.shape, one.layout) for one in terms}) > 1:
        return True
    return is_bad(reduce(torch.add, [one.detach() for one in terms]))


def plain(tensor: Tensor) -> Tensor:
    """The elements of a tensor, of a sparse one those that are there."""
    return tensor._values() if tensor.layout is torch.sparse_coo else tensor


def is_not_finite(tensor: Tensor) -> bool:
    """Whether there is a NaN or an infinity."""
    values = plain(tensor.detach())
    return (values.is_floating_point() or values.is_complex()) and not bool(torch.isfinite(values).all())


def is_zero(tensor: Tensor) -> bool:
    """Whether everything is zero."""
    values = plain(tensor.detach())
    return values.numel() > 0 and not bool(values.any())
