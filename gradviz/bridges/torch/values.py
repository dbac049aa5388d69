"""The tensors of a recording as arrays, each made when it is asked for: nothing is copied before somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch.autograd.graph import Node

from ...operators.registry import Array
from ...program.net_halves import Key
from .graph import DISABLED, Graph, Output, Tensor, maker_of, output_of, unwrapped, version_of
from .watch import Keep, RecordedTensor, reference

Part = Callable[[Tensor], Tensor]

PARTS: tuple[tuple[Part | None, ...], ...] = (
    (None,),
    (lambda tensor: rows_of(tensor)[0][0], lambda tensor: rows_of(tensor)[1]),
)
"""Of a dense tensor itself, of a sparse one its rows: which, and their values."""


def rows_of(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """The rows of a sparse tensor as it holds them: which they are, (1, n), and their values, of elements too."""
    if tensor.sparse_dim() > 1:
        rows = cast(Any, torch).unique(tensor.coalesce().indices()[0])
        return rows[None], tensor.index_select(0, rows).to_dense()
    if not hasattr(tensor, "_indices"):
        tensor = tensor.coalesce()
        return tensor.indices(), tensor.values()
    return cast(Any, tensor)._indices(), cast(Any, tensor)._values()


class RecordedSave(NamedTuple):
    """A tensor that an operator kept for its backward, see `Saved`; `identity`: the same for the same tensor."""

    name: str
    tensor: RecordedTensor
    of: Output | None
    identity: int


RETURNED = "gradviz: returned"
"""Under this word a node keeps what its operator returned."""


def keep_returned(tensors: Iterable[Tensor]) -> None:
    """Keep what an operator has returned, without its graph, as long as its node is there.

    What function transforms have wrapped is theirs alone, and is not kept.
    """
    for one in tensors:
        if (node := maker_of(one)) is not None and unwrapped(one) is one:
            _metadata(node).setdefault(RETURNED, {}).setdefault(one.output_nr, reference(one.detach()))


def returned(graph: Graph, there: Iterable[Tensor]) -> dict[Output, RecordedTensor]:
    """The leaves of a graph, and what operators have returned and is kept, or is among tensors that are `there`.

    Of these nothing is taken that was ever written into: it may not be what was returned.
    """
    with DISABLED():
        tensors = {Output(node, 0): reference(leaf) for node, leaf in graph.leaves.items()}
        tensors |= {output_of(one): reference(one.detach()) for one in there if version_of(one) == 0}
        for node in graph.unordered_nodes:
            tensors |= {Output(node, slot): one for slot, one in _metadata(node).get(RETURNED, {}).items()}
    return tensors


def _metadata(node: Node) -> dict[str, dict[int, RecordedTensor]]:
    """What a node keeps for whoever wants it to: under `RETURNED`, by slots, what its operator returned."""
    metadata: dict[str, dict[int, RecordedTensor]] = cast(Any, node).metadata
    return metadata


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
        return (
            "PyTorch did not keep it, since no backward needs it",
            "To keep what calls return, run them in `with gradviz.torch.capture(model, keep=True):`.",
        )


def array_of(tensor: Tensor) -> Array:
    """The elements of a tensor, of a nested one row after row; what numpy has no type for, as bfloat16, in float32."""
    plain = tensor.detach()
    if plain.layout is torch.jagged:
        plain = plain.values()
    if plain.layout is not torch.strided:
        plain = plain.to_dense()
    if plain.is_floating_point() and plain.dtype not in (torch.float16, torch.float32, torch.float64):
        plain = plain.float()
    # What is negated or conjugated when read, on another device, or zeros that lie nowhere is resolved.
    array: Array = np.array(plain.numpy(force=True))
    array.setflags(write=False)
    return array


def is_same(whole: RecordedTensor | None, given: RecordedTensor) -> bool:
    """Whether a gradient arrived as it was sent; what is not known any more is taken to be so."""
    if whole is None or whole is given or whole.is_changed or given.is_changed or whole.tensor is given.tensor:
        return True
    return is_equal(whole.tensor, given.tensor)


def is_equal(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are equal to the bit, where both are NaN too."""
    if one.is_sparse != other.is_sparse or one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.is_sparse:
        pairs = zip(rows_of(one), rows_of(other), strict=True)
        return all(is_equal(a, b) for a, b in pairs)
    return bool(torch.equal(one, other) or ((one == other) | (one.isnan() & other.isnan())).all())
