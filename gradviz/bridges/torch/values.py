"""The tensors of a recording as arrays, each made when it is asked for: nothing is copied before somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import torch

from ...operators.registry import Array
from ...program.net_halves import Key
from .graph import Output, Tensor, rows_of
from .watch import Keep, RecordedTensor, reference

Part = Callable[[Tensor], Tensor]

PARTS: tuple[tuple[Part | None, ...], ...] = (
    (None,),
    (
        lambda tensor: rows_of(tensor)[0][0],
        lambda tensor: rows_of(tensor)[1],
    ),
)
"""Of a dense tensor itself, of a sparse one its rows: which, and their values."""


class RecordedSave(NamedTuple):
    """A tensor that an operator kept for its backward, see `Saved`; `identity`: the same for the same tensor."""

    name: str
    tensor: RecordedTensor
    of: Output | None
    identity: int


class Values(Mapping[Key, Array]):
    """Blob version -> array, on the CPU and read-only.

    Not there: not computed, or changed since by somebody who wrote into the tensor.

    Attributes:
        keeper: how tensors that are computed for a recording are kept.
    """

    def __init__(self, keep: Keep = reference) -> None:
        self.keeper = keep
        self._tensors: dict[Key, tuple[RecordedTensor, Part | None]] = {}

    def keep(self, key: Key, tensor: RecordedTensor | None, part: Part | None = None) -> None:
        """A blob version is a tensor, or a part of one."""
        if tensor is not None:
            self._tensors[key] = tensor, part

    def __getitem__(self, key: Key) -> Array:
        one, part = self._tensors[key]
        if one.is_changed:
            raise KeyError(key)
        return array_of(one.tensor if part is None else part(one.tensor))

    def __contains__(self, key: object) -> bool:
        entry = self._tensors.get(key)  # type: ignore[call-overload]
        return entry is not None and not entry[0].is_changed

    def __iter__(self) -> Iterator[Key]:
        return (key for key in self._tensors if key in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def absent(self, blob: str) -> tuple[str, str]:
        """Why a blob, or a version of one, has no value, and a way out."""
        if any(blob in (name, f"{name}@{version}") for name, version in self._tensors):
            return (
                "its tensor was written into after it was recorded",
                "Look before gradients are clipped or zeroed and weights move; session.save keeps numbers.",
            )
        return "PyTorch did not keep it, since no backward needs it", "Look at it where your code computes it."


def array_of(tensor: Tensor) -> Array:
    """The elements of a tensor; what numpy has no type for, as bfloat16, in float32."""
    plain = tensor.detach()
    if plain.layout is not torch.strided:
        plain = plain.to_dense()
    if plain.is_floating_point() and plain.dtype not in (torch.float16, torch.float32, torch.float64):
        plain = plain.float()
    # What is negated or conjugated when read, on another device, or zeros that lie nowhere is resolved.
    array: Array = np.array(plain.numpy(force=True))
    array.setflags(write=False)
    return array
