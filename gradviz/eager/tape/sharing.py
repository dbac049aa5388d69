"""Shared gradient buffers: gradients that are not needed at the same time take turns in one place.

Kernels make new arrays and never write into old ones, so a buffer is no memory that is kept, but a place that one
gradient after the other has: what a gradient takes is free again when the last operator that needs it has run. At no
time are more gradients there than there are buffers.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from ...program import Operator
from ...program.control_flow import NETS

PREFIX = "share/buffer/grads"

Key = TypeVar("Key", bound=Hashable)


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


def take_turns(
    turns: Sequence[tuple[Sequence[Key], Sequence[Key]]], apart: Collection[Key], size_of: Callable[[Key], int]
) -> tuple[dict[Key, int], Sharing]:
    """The buffer that each gradient has; the one that was left first is taken first.

    Args:
        turns: in order what is read and what is written; each gradient is written once.
        apart: what has a place of its own.
        size_of: the size of a gradient in bytes.
    """
    met = [dict.fromkeys((*reads, *writes)) for reads, writes in turns]
    last = {gradient: at for at, gradients in enumerate(met) for gradient in gradients}
    buffer_of: dict[Key, int] = {}
    sizes: list[int] = []
    free: deque[int] = deque()
    for at, (_, writes) in enumerate(turns):
        for gradient in writes:
            if gradient not in apart:
                if not free:
                    free.append(len(sizes))
                    sizes.append(0)
                buffer_of[gradient] = buffer = free.popleft()
                sizes[buffer] = max(sizes[buffer], size_of(gradient))
        free += [buffer_of[gradient] for gradient in met[at] if last[gradient] == at and gradient in buffer_of]
    return buffer_of, Sharing(len(sizes), len(buffer_of), sum(sizes), sum(map(size_of, buffer_of)))


def with_shared_buffers(operators: Sequence[Operator], apart: Collection[str]) -> list[Operator]:
    """The operators of a flow, in which what they write has the names of shared buffers.

    Args:
        apart: gradients that keep names of their own: they are wanted when the flow has run.
    """
    written = Counter(name for op in operators for name in op.outputs)
    nested = {name for op in operators if op.type in NETS for name in (*op.inputs, *op.outputs)}
    own = {*apart, *nested, *[name for name, times in written.items() if times > 1]}
    buffer_of, _ = take_turns([(op.inputs, op.outputs) for op in operators], own, lambda name: 0)
    names = {name: f"{PREFIX}:{buffer}" for name, buffer in buffer_of.items()}
    return [
        msgspec.structs.replace(op, inputs=_called(op.inputs, names), outputs=_called(op.outputs, names))
        for op in operators
    ]


def _called(blobs: Iterable[str], names: Mapping[str, str]) -> list[str]:
    return [names.get(blob, blob) for blob in blobs]
