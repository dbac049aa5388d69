"""The nets of a program, the outermost one and those nested in it, each with its backward pass and its versions.

The backward pass of a nested net goes on counting the versions of its forward net, whose workspace it continues in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter

import msgspec

from .control_flow import NETS, implicit_inputs, nested_nets, take_apart
from .events import Event, RuleApplied, element
from .net import NetDef
from .operator import BlobVersion, Operator, Ssa, play

Key = tuple[str, int]
"""A blob version: its name and number."""

Place = tuple[bool, int, str]
"""Where a net stands in the one around it: whether a backward operator runs it, which one, and from which argument."""


class Part(msgspec.Struct, eq=False, dict=True):
    """The forward or the backward half of a net, ready to be followed while it runs.

    Attributes:
        program: its operators with their versions.
        initial: blobs that are there before the first of them.
    """

    program: Sequence[Ssa[BlobVersion]]
    initial: Iterable[str]

    @cached_property
    def reads(self) -> list[Key]:
        """The versions that it finds when it begins."""
        written: set[str] = set()
        reads: dict[Key, None] = {(name, 0): None for name in self.initial}
        for ssa in self.program:
            keys = [*(blob.key for blob in ssa.reads), *((name, 0) for name in implicit_inputs(ssa.op))]
            reads.update(dict.fromkeys([key for key in keys if key[0] not in written]))
            written.update(ssa.op.outputs)
        return list(reads)

    @property
    def writes(self) -> list[Key]:
        """The versions that it writes, as it goes."""
        return [key for ssa in self.program for key in ssa.written]


class NetHalves:
    """A net: its operators, those of its backward pass, and the nets inside.

    Attributes:
        path: the nested nets to go through to reach it, as the pass or, for a net of a backward pass alone, the run
            of the program calls them; empty for the outermost net.
        argument, name: where it stands in its operator, and what it is called.
        forward, backward: operators; `backward` is empty while there is no pass.
        inside: the nets in it by their places; one with a backward pass has two.

    Args:
        initial: blobs that are there before the first operator.
        program: all operators with their versions, where they are numbered already.
    """

    def __init__(
        self,
        path: tuple[str, ...],
        argument: str,
        name: str,
        forward: Sequence[Operator],
        backward: Sequence[Operator],
        initial: Sequence[str] = (),
        program: Sequence[Ssa[BlobVersion]] | None = None,
    ) -> None:
        self.path = path
        self.argument = argument
        self.name = name
        self.forward = list(forward)
        self.backward = list(backward)
        self.inside: dict[Place, NetHalves] = {}
        self._initial = initial
        if program is not None:
            self.program = program

    @cached_property
    def program(self) -> Sequence[Ssa[BlobVersion]]:
        """All operators with their versions."""
        return number([*self.forward, *self.backward], self._initial)

    @cached_property
    def parts(self) -> tuple[Part, Part]:
        """Its forward half and its backward half, ready to run."""
        count = len(self.forward)
        return Part(self.program[:count], self._initial), Part(self.program[count:], ())

    def __iter__(self) -> Iterator[NetHalves]:
        """Itself and every net inside, an outer one before those in it."""
        yield self
        for net in dict.fromkeys(self.inside.values()):
            yield from net

    @property
    def nested(self) -> dict[str, NetHalves]:
        """Every net inside by its id, an outer one before those in it."""
        return {f"s{number}": net for number, net in enumerate(net for net in self if net is not self)}


TYPE = attrgetter("type")

Makers = Mapping[tuple[tuple[str, ...], int], int]
"""(path of a net, gradient operator) -> the forward operator of that net whose rule made it."""


def nets_of(
    forward: Sequence[Operator],
    backward: Sequence[Operator],
    events: Iterable[Event],
    program: Sequence[Ssa[BlobVersion]] | None = None,
) -> NetHalves:
    """The outermost net, with all that is nested in it.

    Args:
        forward, backward: the forward operators, and the gradient operators as they read at the end.
        events: those of the pass.
        program: all of them with their versions, where they are numbered already.
    """
    outermost = NetHalves((), "", "", forward, backward, program=program)
    if not NETS.keys().isdisjoint(map(TYPE, (*forward, *backward))):
        makers = {
            (event.path, position): event.index
            for event in events
            if type(event) is RuleApplied
            for position, op in enumerate(event.operators, event.position)
            if op.type in NETS
        }
        _fill(outermost, makers, len(forward), ())
    return outermost


def _fill(net: NetHalves, makers: Makers, first: int, run: tuple[str, ...]) -> None:
    """Make the nets inside of `net`, whose backward operators are numbered from `first` when the net at `run` runs."""
    passes: dict[tuple[int, str], tuple[int, NetDef]] = {}
    alone: list[tuple[int, str, NetDef]] = []
    for index, op in enumerate(net.backward):
        # The Do in the body of a loop is differentiated by the rule of the loop.
        of = 0 if net.argument == "loop_net" and net.forward else makers.get((net.path, index))
        for argument, inner in nested_nets(op).items():
            # The net of a condition computes that of the backward loop: it is no backward pass.
            if of is not None and argument != "cond_net" and argument in nested_nets(net.forward[of]):
                passes[of, argument] = index, inner
            else:
                alone.append((index, argument, inner))
    for of, op in enumerate(net.forward):
        for argument, inner in nested_nets(op).items():
            path = (*net.path, element(of, argument))
            index, back = passes.get((of, argument), (-1, None))
            initial = take_apart(op, of).initial if op.type == "Do" else ()
            nested = NetHalves(path, argument, inner.name, inner.ops, back.ops if back else (), initial)
            net.inside[False, of, argument] = nested
            if back is not None:
                net.inside[True, index, argument] = nested
            _fill(nested, makers, 0, (*run, element(first + index, argument)))
    for index, argument, inner in alone:
        path = (*run, element(first + index, argument))
        nested = net.inside[True, index, argument] = NetHalves(path, argument, inner.name, (), inner.ops)
        _fill(nested, makers, 0, path)


def number(operators: Iterable[Operator], initial: Iterable[str] = ()) -> list[Ssa[BlobVersion]]:
    """Every operator of a program with its versions. The blobs `initial` are there before the first operator.

    So is an output that an If or While may leave as it is, though it does not list it as an input.
    """
    blobs = {name: [BlobVersion(name, 0)] for name in initial}
    return [numbered(op, blobs) for op in operators]


def numbered(op: Operator, blobs: dict[str, list[BlobVersion]]) -> Ssa[BlobVersion]:
    """The next operator of a program with its versions, which join `blobs`: name -> its versions so far."""
    if op.type in NETS:
        for name in implicit_inputs(op):
            blobs.setdefault(name, [BlobVersion(name, 0)])
    return play(op, blobs, BlobVersion)


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
