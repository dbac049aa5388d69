"""Sparse gradients as arrays like their blobs."""

import numpy as np

from ...operators.registry import Array
from ...runtime.devices import current, device_of, moved
from .gradient_shapes import are_rows


def dense(indices: Array, values: Array, table: Array) -> Array | None:
    """`values` added up in the rows of `table` that `indices` number, where they lie; None: they are no rows of it."""
    device = device_of(values)
    with current(device):
        if not are_rows(moved(indices, device), values, table):
            return None
        whole = np.zeros_like(moved(table, device), dtype=values.dtype)
        np.add.at(whole, moved(indices, device), values)
    return whole
