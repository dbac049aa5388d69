"""Copies of tensors within a budget of bytes: what does not fit lies in a file, and is read when somebody looks at it.

A copy has the elements that a tensor had when it was made, whoever writes into that afterwards.
"""

from __future__ import annotations

from ctypes import memmove
from weakref import ref

import numpy as np
import torch

from ...operators.registry import Array
from ...runtime.store import Store, StoredArray
from .graph import Kind, Like, Tensor, version_of
from .values import rows_of
from .watch import RecordedTensor, reference

PLAIN = (Tensor, torch.nn.Parameter)
"""The types of tensors whose elements lie where they say."""


class Copies:
    """Copies tensors, each once as long as it stays as it is.

    Args:
        store: where the copies are, in memory or in a file.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._copies: dict[int, tuple[ref[Tensor], int, RecordedTensor]] = {}
        # Where tensors begin and how many bytes they reach over -> one that lies there, and the copy of these bytes.
        self._memory: dict[tuple[int, int], tuple[ref[Tensor], int, ref[Array]]] = {}

    def keep(self, tensor: Tensor) -> RecordedTensor:
        """A tensor as it is now; a reference to one that has no memory, or of a kind whose memory cannot be read."""
        key, version = id(tensor), version_of(tensor)
        if (entry := self._copies.get(key)) is not None and entry[0]() is tensor and entry[1] == version >= 0:
            return entry[2]
        copy = self._copy(tensor)
        self._copies[key] = ref(tensor, lambda _: self._copies.pop(key, None)), version, copy
        return copy

    def _copy(self, tensor: Tensor) -> RecordedTensor:
        if tensor.layout is torch.sparse_coo:
            return SparseCopy(tensor, *map(self.keep, rows_of(tensor)))
        is_plain = tensor.layout is torch.strided and type(tensor) in PLAIN
        if not is_plain or tensor.is_quantized or not tensor.numel() or not tensor.data_ptr():
            return reference(tensor)
        plain = tensor.detach().resolve_conj().resolve_neg()
        size = plain.element_size()
        strides = tuple([size * stride for stride in plain.stride()])
        count = size + sum((length - 1) * stride for length, stride in zip(plain.shape, strides, strict=True))
        owner = self._bytes_of(tensor if plain.data_ptr() == tensor.data_ptr() else plain, count)
        return Copy(tensor, self._store, self._store.keep(np.ndarray(plain.shape, f"V{size}", owner, 0, strides)))

    def _bytes_of(self, tensor: Tensor, count: int) -> Array:
        """The `count` bytes from where a tensor begins, copied, uint8 (count,)."""
        key, version = (tensor.data_ptr(), count), version_of(tensor)
        if (entry := self._memory.get(key)) is not None:
            there, copied = entry[0](), entry[2]()
            if there is not None and copied is not None and version_of(there) == entry[1] == version >= 0:
                return copied
        host = tensor
        if tensor.device.type != "cpu":
            host = tensor.detach().as_strided((count // tensor.element_size(),), (1,)).cpu()
        copied = np.empty(count, np.uint8)
        memmove(copied.ctypes.data, host.data_ptr(), count)
        self._memory[key] = ref(tensor, lambda _: self._memory.pop(key, None)), version, ref(copied)
        return copied


class Copy(RecordedTensor):
    """A copy of a tensor.

    Raises:
        StoreError: ``lost``, on reading `tensor`.
    """

    __slots__ = ("_like", "_store", "_stored")

    def __init__(self, tensor: Tensor, store: Store, stored: StoredArray) -> None:
        self._like = Kind(tensor.dtype, tensor.layout, tensor.shape, tensor.device)
        self._store = store
        self._stored = stored

    @property
    def tensor(self) -> Tensor:
        """Its elements, in memory of their own."""
        elements = np.array(self._store.fetch(self._stored), order="C").reshape(-1).view(np.uint8)
        return torch.from_numpy(elements).view(self._like.dtype).view(self._like.shape).to(self._like.device)

    @property
    def like(self) -> Like:
        """What it is like, without its elements."""
        return self._like

    @property
    def is_changed(self) -> bool:
        """Never."""
        return False


class SparseCopy(RecordedTensor):
    """Copies of the rows of a sparse tensor: which they are, and their values."""

    __slots__ = ("_indices", "_is_coalesced", "_like", "_values")

    def __init__(self, tensor: Tensor, indices: RecordedTensor, values: RecordedTensor) -> None:
        self._like = Kind(tensor.dtype, tensor.layout, tensor.shape, tensor.device)
        self._is_coalesced = tensor.is_coalesced()
        self._indices = indices
        self._values = values

    @property
    def tensor(self) -> Tensor:
        """Its elements."""
        indices, values, shape = self._indices.tensor, self._values.tensor, self._like.shape
        return torch.sparse_coo_tensor(indices, values, shape, is_coalesced=self._is_coalesced, check_invariants=False)

    @property
    def like(self) -> Like:
        """What it is like, without its elements."""
        return self._like

    @property
    def is_changed(self) -> bool:
        """Whether somebody has written into it since."""
        return self._indices.is_changed or self._values.is_changed
