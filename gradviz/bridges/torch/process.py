"""What a process of PyTorch has but once: its random numbers, and its rank in a distributed job."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import torch

from .capture import REMEMBERED


def rank() -> tuple[int, int] | None:
    """Which process of a distributed job this is, from 0, and of how many; None: of none that torch knows of."""
    distributed = torch.distributed
    if not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank(), distributed.get_world_size()


def parameters_beside(names: Collection[str]) -> list[str]:
    """The parameters that require a gradient of the models of the last capture that knows one of `names`."""
    for one in reversed(REMEMBERED):
        found = [name for name, parameter in one.parameters() if parameter.requires_grad]
        if not set(names).isdisjoint(found):
            return found
    return []


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Inside the ``with`` block random numbers come from a seed; behind it they go on as before."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
