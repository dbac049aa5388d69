"""Static single assignment: which version of a blob each operator reads and writes.

    a blob that was never written is version 0
    an output is version 0 where its name is new, else one more than before

Inputs are read before outputs are written, so an in-place operator reads x@0 and writes x@1.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from .operator import Operator, numbered_name


class Ssa(NamedTuple):
    """An operator with the versions it reads and writes, in the order of its inputs and outputs."""

    op: Operator
    in_versions: tuple[int, ...]
    out_versions: tuple[int, ...]

    @property
    def inputs(self) -> list[str]:
        """The inputs as ``name@version``."""
        return [f"{name}@{version}" for name, version in zip(self.op.inputs, self.in_versions, strict=True)]

    @property
    def outputs(self) -> list[str]:
        """The outputs as ``name@version``."""
        return [f"{name}@{version}" for name, version in zip(self.op.outputs, self.out_versions, strict=True)]

    def __str__(self) -> str:
        args = [f"{name}={value!r}" for name, value in self.op.args.items()]
        call = f"{self.op.type}({', '.join([*self.inputs, *args])})"
        return f"{', '.join(self.outputs)} = {call}" if self.op.outputs else call


def play(op: Operator, frontier: dict[str, int]) -> Ssa:
    """Number what `op` reads and writes, and move `frontier` (name -> latest version) past it."""
    in_versions = tuple([frontier.setdefault(name, 0) for name in op.inputs])
    out_versions = []
    for name in op.outputs:
        frontier[name] = version = frontier.get(name, -1) + 1
        out_versions.append(version)
    return Ssa(op, in_versions, tuple(out_versions))


def number(operators: Iterable[Operator]) -> list[Ssa]:
    """Every operator of a program with its versions."""
    frontier: dict[str, int] = {}
    return [play(op, frontier) for op in operators]


def without_overwriting(operators: Sequence[Operator]) -> list[Operator]:
    """The same program with a name of its own for every version, so that nothing is overwritten.

    What the program reads from outside keeps its name; of a blob made inside, the last version keeps it. The others
    are called ``<name>_<version>``, or the next free number.
    """
    numbered = number(operators)
    written = [blob for ssa in numbered for blob in zip(ssa.op.outputs, ssa.out_versions, strict=True)]
    inside = {name for name, version in written if version == 0}
    last = dict(written)
    taken = {name for op in operators for name in (*op.inputs, *op.outputs)}
    names: dict[tuple[str, int], str] = {}

    def name_of(blob: tuple[str, int]) -> str:
        name, version = blob
        if version == (last[name] if name in inside else 0):
            return name
        if blob not in names:
            names[blob] = numbered_name(name, taken.__contains__, version)
            taken.add(names[blob])
        return names[blob]

    return [
        msgspec.structs.replace(
            ssa.op,
            inputs=[name_of(blob) for blob in zip(ssa.op.inputs, ssa.in_versions, strict=True)],
            outputs=[name_of(blob) for blob in zip(ssa.op.outputs, ssa.out_versions, strict=True)],
        )
        for ssa in numbered
    ]
