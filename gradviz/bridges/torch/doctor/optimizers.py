"""Optimizers that hold others than the parameters of the model."""

from __future__ import annotations

from collections.abc import Iterator

from ....program.errors import count_of
from ..capture import Module
from ..graph import Tensor
from ..instances import instances
from .case import Case, each_of, subject, them
from .diagnosis import Finding

UNEVEN = 2
"""Changes by which parameters differ of which some are trained and others are not; to find optimizers takes time."""


def replaced(case: Case) -> Iterator[Finding]:
    """Parameters that get a gradient and that no optimizer holds, if one holds what was in their place."""
    reached = {id(one) for one in case.leaves}
    trained = {name: one for name, one in case.parameters.items() if id(one) in reached}
    changes = [one._version for one in trained.values()]
    if not changes or max(changes) - min(changes) < UNEVEN:
        return
    left = [name for name, one in trained.items() if id(one) not in case.optimized]
    if not left or len(left) == len(trained):
        return
    for optimizer in case.optimizers:
        if gone := _gone(case, [one for group in optimizer.param_groups for one in group["params"]]):
            sentence = (
                f"{subject(left, case.parameters, 'get')} a gradient, but no optimizer holds {them(left)}: one still "
                f"holds {count_of(gone, 'parameter')} that no module has any more."
            )
            ways_out = ("Make the optimizer after the last change of the model's parts.",)
            yield Finding("replaced", sentence, tuple(left), evidence=each_of(left), ways_out=ways_out)
            return


def _gone(case: Case, held: list[Tensor]) -> int:
    """How many nobody has any more but the optimizer, if it holds some of the model's too."""
    ids = {id(one) for one in held}
    if ids.isdisjoint(map(id, case.parameters.values())):
        return 0
    there = {id(one) for module in instances(Module) for one in module._parameters.values()}
    return len(ids - there - {id(one) for one in (*case.leaves, *(value for _, value in case.held()))})
