"""Static single assignment: which version of a blob each operator reads and writes.

    a blob that was never written is version 0
    an output is version 0 where its name is new, else one more than before

Inputs are read before outputs are written, so an in-place operator reads x@0 and writes x@1.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from .operator import Operator


class BlobVersion(msgspec.Struct, eq=False, gc=False):
    """What a name stands for between two writings. There is one of them for each version: compare by identity."""

    name: str
    version: int

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


V = TypeVar("V", bound=BlobVersion)


class Ssa(msgspec.Struct, Generic[V], eq=False, gc=False):
    """An operator with the blob versions that it reads and writes, in the order of its inputs and outputs."""

    op: Operator
    reads: list[V]
    writes: list[V]

    @property
    def in_versions(self) -> tuple[int, ...]:
        return tuple([blob.version for blob in self.reads])

    @property
    def out_versions(self) -> tuple[int, ...]:
        return tuple([blob.version for blob in self.writes])

    @property
    def inputs(self) -> list[str]:
        """The inputs as ``name@version``."""
        return list(map(str, self.reads))

    @property
    def outputs(self) -> list[str]:
        """The outputs as ``name@version``."""
        return list(map(str, self.writes))

    def __str__(self) -> str:
        args = [f"{name}={getattr(value, 'name', value)!r}" for name, value in self.op.args.items()]
        call = f"{self.op.type}({', '.join([*self.inputs, *args])})"
        return f"{', '.join(self.outputs)} = {call}" if self.op.outputs else call


def play(op: Operator, blobs: dict[str, list[V]], make: Callable[[str, int], V]) -> Ssa[V]:
    """Number what `op` reads and writes; new versions, made by `make`, join `blobs` (name -> its versions so far)."""
    reads = []
    for name in op.inputs:
        versions = blobs.get(name)
        if versions is None:
            versions = blobs[name] = [make(name, 0)]
        reads.append(versions[-1])
    writes = []
    for name in op.outputs:
        versions = blobs.get(name)
        if versions is None:
            versions = blobs[name] = [make(name, 0)]
        else:
            versions.append(make(name, len(versions)))
        writes.append(versions[-1])
    return Ssa(op, reads, writes)
