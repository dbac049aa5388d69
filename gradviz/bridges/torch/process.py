"""What a process of PyTorch has but once: its rank in a distributed job, its random numbers, and its last captures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import torch
from torch.nn.modules.module import register_module_forward_pre_hook

from ...debugger import Recording
from .again import Again
from .capture import REMEMBERED, Module, capture
from .names import legal

T = TypeVar("T")


def rank() -> tuple[int, int] | None:
    """Which process of a distributed job this is, from 0, and of how many; None: of none that torch knows of."""
    distributed = torch.distributed
    if not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank(), distributed.get_world_size()


def parameters_beside(recording: Recording) -> list[str]:
    """The parameters that require a gradient of the models of the last capture that knows a leaf of a recording."""
    if not isinstance(recording.again, Again):  # it is of another engine
        return []
    leaves = {id(leaf): name for name, leaf in recording.again.leaves.items()}
    for one in reversed(REMEMBERED):
        names = {id(parameter): name for name, parameter in one.parameters() if parameter.requires_grad}
        if not leaves.keys().isdisjoint(names):
            return [leaves.get(parameter) or legal(name) for parameter, name in names.items()]
    return []


@contextmanager
def seeded(seed: int, compute: Callable[[], T]) -> Iterator[T]:
    """What a function computes, with random numbers from a seed, which go on as before behind the ``with`` block.

    Inside of it the modules that the function has called give their names to what it has computed, though nobody else
    may know them any more.
    """
    called: list[Module] = []
    hook = register_module_forward_pre_hook(lambda module, given: called.append(module))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        one = capture()
        try:
            with hook, one:
                computed = compute()
            yield computed
        finally:
            with suppress(ValueError):  # it made many captures of its own
                REMEMBERED.remove(one)
