"""Function transforms of torch.func, as vmap: what they wrap, and how deep they are.

PyTorch hides both in names of its own, and each may be gone one day: then less is said.
"""

from __future__ import annotations

import torch

from .graph import Tensor


def unwrapped(tensor: Tensor) -> Tensor:
    """What function transforms of torch.func, as vmap, have wrapped; the tensor itself where none has, or none says."""
    functorch = getattr(torch._C, "_functorch", None)
    is_wrapped = getattr(functorch, "is_functorch_wrapped_tensor", lambda one: False)
    while is_wrapped(tensor):
        tensor = functorch.get_unwrapped(tensor)  # type: ignore[union-attr]
    return tensor


def transform_level() -> int | None:
    """How deep the innermost function transform of torch.func is; None: there is none, or none says."""
    functorch = getattr(torch._C, "_functorch", None)
    level: int | None = getattr(functorch, "maybe_current_level", lambda: None)()
    return level
