"""Static single assignment: which version of a blob each operator reads and writes.

    a blob that was never written is version 0
    an output is version 0 where its name is new, else one more than before

Inputs are read before outputs are written, so an in-place operator reads x@0 and writes x@1.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

import msgspec

from .operator import Operator, numbered_name


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


def number(operators: Iterable[Operator], initial: Iterable[str] = ()) -> list[Ssa[BlobVersion]]:
    """Every operator of a program with its versions. The blobs `initial` are there before the first operator."""
    blobs = {name: [BlobVersion(name, 0)] for name in initial}
    return [play(op, blobs, BlobVersion) for op in operators]


def without_overwriting(operators: Sequence[Operator]) -> list[Operator]:
    """The same program with a name of its own for every version, so that nothing is overwritten.

    What the program reads from outside keeps its name; of a blob made inside, the last version keeps it. The others
    are called ``<name>_<version>``, or the next free number.
    """
    numbered = number(operators)
    kept: dict[str, BlobVersion] = {}
    inside: set[str] = set()
    for ssa in numbered:
        for blob in ssa.reads:
            kept.setdefault(blob.name, blob)
        for blob in ssa.writes:
            if blob.version == 0:
                inside.add(blob.name)
            if blob.name in inside:
                kept[blob.name] = blob
    taken = set(kept)
    names: dict[BlobVersion, str] = {blob: blob.name for blob in kept.values()}

    def name_of(blob: BlobVersion) -> str:
        if blob not in names:
            names[blob] = numbered_name(blob.name, taken.__contains__, blob.version)
            taken.add(names[blob])
        return names[blob]

    return [
        msgspec.structs.replace(ssa.op, inputs=list(map(name_of, ssa.reads)), outputs=list(map(name_of, ssa.writes)))
        for ssa in numbered
    ]
