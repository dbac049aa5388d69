"""Shared gradient buffers: gradients that are not needed at the same time take turns in one place.

Kernels make new arrays and never write into old ones, so a buffer is no memory that is kept, but a place that one
gradient after the other has: what a gradient takes is free again when the last operator that needs it has run. At no
time are more gradients there than there are buffers.
"""

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from ...program import Operator
from ...program.control_flow import NETS

PREFIX = "share/buffer/grads"


class Sharing(NamedTuple):
    """What sharing has saved.

    Attributes:
        buffers: how many buffers there are.
        gradients: how many gradients took turns in them: those of the Variables on the way, and their parts.
        bytes_shared: the size of the buffers together; each is as large as the largest gradient that it had.
        bytes_apart: the size of the gradients together, which they would have with a buffer each.
    """

    buffers: int
    gradients: int
    bytes_shared: int
    bytes_apart: int

    def __str__(self) -> str:
        return (
            f"{self.gradients} gradients took turns in {self.buffers} buffers: "
            f"{self.bytes_shared:,} bytes instead of {self.bytes_apart:,}."
        )


class Buffers:
    """Which buffer each gradient has; the one that was left first is taken first."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._free: deque[int] = deque()
        self._of: dict[int | str, int] = {}
        self._gradients = self._apart = 0

    def take(self, gradient: int | str, size: int = 0) -> int:
        """A buffer for `gradient`, which takes `size` bytes."""
        if self._free:
            buffer = self._free.popleft()
            self._sizes[buffer] = max(self._sizes[buffer], size)
        else:
            buffer = len(self._sizes)
            self._sizes.append(size)
        self._of[gradient] = buffer
        self._gradients += 1
        self._apart += size
        return buffer

    def leave(self, gradient: int | str) -> None:
        """`gradient` is not needed any more, if it ever had a buffer."""
        buffer = self._of.pop(gradient, None)
        if buffer is not None:
            self._free.append(buffer)

    def sharing(self) -> Sharing:
        """What was saved."""
        return Sharing(len(self._sizes), self._gradients, sum(self._sizes), self._apart)


def with_shared_buffers(operators: Sequence[Operator], apart: Collection[str]) -> list[Operator]:
    """The operators of a flow, in which what they write has the names of shared buffers.

    Args:
        apart: gradients that keep names of their own: they are wanted when the flow has run.
    """
    written: dict[str, int] = {}
    last: dict[str, int] = {}
    for at, op in enumerate(operators):
        for name in op.outputs:
            written[name] = written.get(name, 0) + 1
        last.update(dict.fromkeys((*op.inputs, *op.outputs), at))
    nested = {name for op in operators if op.type in NETS for name in (*op.inputs, *op.outputs)}
    sharing = {name for name, times in written.items() if times == 1} - nested - {*apart}
    names: dict[str, str] = {}
    buffers = Buffers()
    made = []
    for at, op in enumerate(operators):
        for name in op.outputs:
            if name in sharing:
                names[name] = f"{PREFIX}:{buffers.take(name)}"
        made.append(msgspec.structs.replace(op, inputs=_called(op.inputs, names), outputs=_called(op.outputs, names)))
        for name in dict.fromkeys((*op.inputs, *op.outputs)):
            if name in names and last[name] == at:
                buffers.leave(name)
    return made


def _called(blobs: Iterable[str], names: dict[str, str]) -> list[str]:
    return [names.get(blob, blob) for blob in blobs]
