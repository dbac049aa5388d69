"""Tables in blocks that fit into the cache of a processor, where what is computed on the way has room too."""

from __future__ import annotations

from collections.abc import Iterator

from ...operators.registry import Array
from ...runtime.devices import is_on_gpu

BLOCK = 1 << 15
"""Elements of a block, at most."""


def blocks(table: Array) -> Iterator[tuple[slice, Array]]:
    """The parts of a table (rows, elements), each with its rows: several whole ones, or some elements of one.

    A table on a GPU is one part: there, many small steps take longer than a large one.
    """
    rows, elements = table.shape
    if is_on_gpu(table):
        yield slice(0, rows), table
        return
    together = max(1, BLOCK // max(1, elements))
    for row in range(0, rows, together):
        for first in range(0, elements, BLOCK):
            yield slice(row, row + together), table[row : row + together, first : first + BLOCK]
