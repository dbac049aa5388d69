"""Whole programs in SSA: every operator with its versions, and the text of a net."""

from collections.abc import Iterable, Iterator

from .control_flow import NETS, kept_inputs
from .net import NetDef
from .operator import Operator
from .ssa import BlobVersion, Ssa, play


def number(operators: Iterable[Operator], initial: Iterable[str] = ()) -> list[Ssa[BlobVersion]]:
    """Every operator of a program with its versions. The blobs `initial` are there before the first operator.

    So is an output that an If or While may leave as it is, though it does not list it as an input.
    """
    blobs = {name: [BlobVersion(name, 0)] for name in initial}
    numbered = []
    for op in operators:
        if op.type in NETS:
            for name in kept_inputs(op):
                blobs.setdefault(name, [BlobVersion(name, 0)])
        numbered.append(play(op, blobs, BlobVersion))
    return numbered


def text(net: NetDef) -> str:
    """The program in SSA, a numbered line for each operator."""
    return "\n".join([f"net {net.name}", *_lines(net, "")])


def _lines(net: NetDef, indent: str) -> Iterator[str]:
    for index, ssa in enumerate(number(net.ops)):
        yield f"{indent}{index:4}  {ssa}"
        for argument, value in ssa.op.args.items():
            if isinstance(value, NetDef):
                yield f"{indent}      {argument}: {value.name}"
                yield from _lines(value, f"{indent}    ")
