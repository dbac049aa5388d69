"""How far what is computed from parameters reaches by the flow of a capture, and where a way to the loss is cut."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..flow import LEAVES, Seen, Step
from ..graph import Tensor

ABOUT_GRADIENTS = {"grad", "grad=", "backward", "autograd.backward", "step", "zero_grad"}
"""Calls whose results are no part of a forward pass."""


class Cut(NamedTuple):
    """A call whose result requires no gradient though something that it read has one, and what it read of that."""

    step: Step
    result: Seen
    carrier: Seen
    sources: tuple[int, ...]


class Reach(NamedTuple):
    """What became of some tensors.

    Attributes:
        reads: of each the calls that read it first, until one is on the way to the loss.
        cuts: those on the way to the loss, in order.
        exits: calls that took something computed from them out of PyTorch, and of which.
        late: of those that required no gradient when they were read, the call.
    """

    reads: Mapping[int, Step]
    cuts: Sequence[Cut]
    exits: Sequence[tuple[Step, tuple[int, ...]]]
    late: Mapping[int, Step]


def slice_of(steps: Sequence[Step], start: Iterable[Seen]) -> set[Seen]:
    """Everything that tensors were computed from, gradients or not."""
    leads = set(start)
    oldest = {one.storage: one.step for one in leads}
    for step in reversed(steps):
        if step.function in ABOUT_GRADIENTS:
            continue
        into_alias = any(one.storage and oldest.get(one.storage, step.number) < step.number for one in step.writes)
        if into_alias or not leads.isdisjoint(step.makes):
            for one in step.reads:
                leads.add(one)
                oldest[one.storage] = min(oldest.get(one.storage, one.step), one.step)
    return leads


def ends(steps: Sequence[Step]) -> list[Seen]:
    """The last results that nobody read: those of the last call that has such."""
    read = {one for step in steps for one in step.reads}
    for step in reversed(steps):
        if step.function not in ABOUT_GRADIENTS and (unread := [one for one in step.makes if one not in read]):
            return unread
    return []


def reach(steps: Sequence[Step], sources: Sequence[Tensor], leads: set[Seen]) -> Reach:
    """Follow what is computed from tensors.

    Args:
        sources: the tensors; in what is returned their numbers stand for them.
        leads: what leads to the loss.
    """
    bit = {id(one): 1 << number for number, one in enumerate(sources)}
    carried: dict[Seen, int] = {}
    tainted: dict[Seen, int] = {}
    written: dict[int, tuple[int, int]] = {}
    cuts: list[Cut] = []
    exits: list[tuple[Step, tuple[int, ...]]] = []
    reads: dict[int, Step] = {}
    late: dict[int, Step] = {}

    def of(one: Seen) -> int:
        tensor = one.ref()
        return bit.get(id(tensor), 0) if tensor is not None else 0

    def spread(one: Seen) -> int:
        at, mask = written.get(one.storage, (-1, 0)) if one.storage else (-1, 0)
        return tainted.get(one, 0) | of(one) | (mask if at > one.step else 0)

    for step in steps:
        if step.function in ABOUT_GRADIENTS:
            continue
        carrying = {one: carried.get(one, 0) | (of(one) if one.requires_grad else 0) for one in step.reads}
        mask, all_of, is_on_the_way = 0, 0, not leads.isdisjoint(step.makes)
        for one in step.reads:
            mask, all_of = mask | carrying[one], all_of | spread(one)
            if (own := of(one)) and not any(one in step.writes for one in step.makes):
                number = own.bit_length() - 1
                if number not in reads or (is_on_the_way and leads.isdisjoint(reads[number].makes)):
                    reads[number] = step
                if not one.requires_grad and is_on_the_way:
                    late.setdefault(number, step)
        if step.function in LEAVES and all_of:
            exits.append((step, _numbers(all_of)))
        for result in step.makes:
            if of(result):
                continue
            tainted[result] = tainted.get(result, 0) | all_of
            is_new_leaf = result.is_leaf and result not in step.reads
            if result.requires_grad and not is_new_leaf:
                carried[result] = carried.get(result, 0) | mask
            elif mask and result in leads:
                carrier = next(one for one in step.reads if carrying[one])
                cuts.append(Cut(step, result, carrier, _numbers(mask)))
            if result in step.writes and all_of:
                written[result.storage] = step.number, all_of
    return Reach(reads, cuts, exits, late)


def _numbers(mask: int) -> tuple[int, ...]:
    return tuple(number for number in range(mask.bit_length()) if mask >> number & 1)


def reads_gradient(steps: Sequence[Step], step: Step, most: int = 8) -> bool:
    """Whether a call read something that was computed from what ``grad`` held."""
    makers = {one: each for each in steps for one in each.makes}
    stack = [one for one in step.reads if not one.requires_grad]
    walked = set(stack)
    for _ in range(most):
        before = [makers[one] for one in stack if one in makers]
        if any(each.function == "grad" for each in before):
            return True
        stack = [one for each in before for one in each.reads if one not in walked and not one.requires_grad]
        walked.update(stack)
    return False
