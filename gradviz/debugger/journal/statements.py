"""What the text of a net consists of: writings, statements, and how they read at a position."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ...program import Operator
from ...program.code_line import CodeLine
from ...program.control_flow import nested_nets
from ...program.errors import joined, repr_of
from ...program.operator import BlobVersion
from ..document import Role

if TYPE_CHECKING:
    from .text import NetText

BINDINGS = ("inner_blobs", "outer_blobs_idx", "saved_fwd_blobs")
"""Arguments of a Do that the events in its net tell better than its statement."""

SEPARATOR = re.compile(r"[/.]")
"""Between the scopes in the name of an operator."""

AT_THE_END = 1 << 62
"""A position behind all events."""

LETTERS: Mapping[Role, str] = {"forward": "f", "passed": "p"}


class Writing(msgspec.Struct, eq=False):
    """One writing of a blob.

    Attributes:
        name, version: what it is called in the end.
        former: what it was called before: until which position, name and version, the oldest first.
        statement: what writes it; None: it is there from outside.
        readers: the statements that read it, one that reads it twice twice.
        arrivals: the positions of the events that bring a gradient of it, or add several up.
    """

    name: str
    version: int
    statement: Statement | None
    former: tuple[tuple[int, str, int], ...] = ()
    readers: list[Statement] = []
    arrivals: list[int] = []

    @property
    def key(self) -> tuple[str, int]:
        """Name and version in the end."""
        return self.name, self.version

    def at(self, position: int) -> Writing | BlobVersion:
        """What it is called at a position."""
        for until, name, version in self.former:
            if position < until:
                return BlobVersion(name, version)
        return self

    def rename(self, name: str, version: int, at: int) -> None:
        """Call it otherwise from position `at` on."""
        if not self.former or self.former[-1][0] != at:
            self.former = (*self.former, (at, self.name, self.version))
        self.name, self.version = name, version

    def __repr__(self) -> str:
        return f"{self.name}@{self.version}"


class Statement(msgspec.Struct, eq=False):
    """An operator of a net, or a gradient that passes through one unchanged.

    Attributes:
        net: the net that it is in.
        number: among the forward operators, or the gradient operators; of a gradient that passes, that of the operator.
        role: what it does.
        of: the forward operator of the same net that it came from; None where there is none.
        made: the position from which on it is there.
        op, inputs, outputs: what it is in the end.
        former: what `op` and `inputs` were before: until which position, and they, the oldest first.
        nets: the nested nets that it runs, by the argument that holds them.
        code: of a forward operator the line of the user's code that called it, where that is known.
        numbered: whether its number stays in its name beside a line.
        visits: of a forward operator the positions of the events in which the pass comes to it, asks its rule or goes
            by.
        ran: the position after its run; None: it was never run, or it is in a nested net, which may run often.
    """

    net: NetText
    number: int
    role: Role
    op: Operator
    of: int | None
    made: int
    inputs: list[Writing] = []
    outputs: list[Writing] = []
    former: tuple[tuple[int, Operator, list[Writing]], ...] = ()
    nets: dict[str, NetText] = {}
    code: CodeLine | None = None
    numbered: bool = True
    visits: tuple[int, ...] = ()
    ran: int | None = None

    def __repr__(self) -> str:
        return f"<{self.id}: {self.at(AT_THE_END).text}>"

    @property
    def id(self) -> str:
        """``f2``, ``b0``, ``p2``; in a nested net behind the id of the net: ``s0.f2``."""
        return f"{self.net.prefix}{LETTERS.get(self.role, 'b')}{self.number}"

    @property
    def name(self) -> str:
        """``FC #2``, of a forward operator; one that people know by its line ``relu (layer1.0, net.py:41)``."""
        if self.code is None or self.numbered:
            return f"{self.op.type} #{self.number}"
        return f"{self.op.type} ({', '.join([*self.scopes[-1:], str(self.code)])})"

    @property
    def name_and_line(self) -> str:
        """``FC #2 (cell 3:5)``: its name, and the line where that is known."""
        return f"{self.name} ({self.code})" if self.code is not None and self.numbered else self.name

    @property
    def scopes(self) -> list[str]:
        """The scopes that it is in by its name, an outer one before those inside: ``layer1``, ``layer1.0``."""
        return [self.op.name[: one.start()] for one in SEPARATOR.finditer(self.op.name)]

    @property
    def words(self) -> list[str]:
        """What a forward operator is found by besides its type and blobs: its number, scopes and line."""
        return [f"#{self.number}", *self.scopes, *([] if self.code is None else [str(self.code)])]

    def at(self, position: int) -> Reading:
        """How it reads at a position."""
        op, inputs = self.op, self.inputs
        for until, former_op, former_inputs in self.former:
            if position < until:
                op, inputs = former_op, former_inputs
                break
        return Reading(self, position, op, _called(inputs, position), _called(self.outputs, position))

    def changes(self) -> list[int]:
        """The positions from which on it reads otherwise, the first of them its own."""
        if not self.former and not any(writing.former for writing in (*self.inputs, *self.outputs)):
            return [self.made]
        forms = [*self.former, (AT_THE_END, self.op, self.inputs)]
        positions = {one[0] for one, other in pairwise(forms) if one[2] is not other[2]}
        writings = [*self.outputs, *(writing for _, _, inputs in forms for writing in inputs)]
        positions.update(until for writing in writings for until, _, _ in writing.former)
        return [self.made, *sorted(position for position in positions if position > self.made)]

    def revise(self, at: int, op: Operator, inputs: list[Writing]) -> None:
        """Let it be another operator, or read something else, from position `at` on."""
        if at > self.made and not (self.former and self.former[-1][0] == at):
            self.former = (*self.former, (at, self.op, self.inputs))
        self.op, self.inputs = op, inputs

    def adopt(self, at: int) -> None:
        """Let the backward passes of its nested nets read as its operator has them."""
        for argument, net in nested_nets(self.op).items():
            if argument in self.nets:
                self.nets[argument].adopt(net.ops, at)


class Reading(NamedTuple):
    """How a statement reads at a position."""

    statement: Statement
    position: int
    op: Operator
    inputs: Sequence[Writing | BlobVersion]
    outputs: Sequence[Writing | BlobVersion]

    @property
    def id(self) -> str:
        return self.statement.id

    @property
    def role(self) -> Role:
        return self.statement.role

    @property
    def of(self) -> int | None:
        return self.statement.of

    @property
    def name(self) -> str:
        """``FC #2``, of a forward operator."""
        return self.statement.name

    @property
    def name_and_line(self) -> str:
        """``FC #2 (cell 3:5)``, of a forward operator."""
        return self.statement.name_and_line

    @property
    def nets(self) -> dict[str, NetText]:
        return self.statement.nets

    @property
    def text(self) -> str:
        """``a@0 = Tanh(h@0)``; of a gradient that passes ``x@0 := y_grad@0``."""
        inputs, outputs = joined(self.inputs), joined(self.outputs)
        if self.role == "passed":
            return f"{outputs} := {inputs}"
        if not self.op.args:
            call = f"{self.op.type}({inputs})"
        else:
            args = [f"{name}={net.name}" for name, net in nested_nets(self.op).items()]
            args += [f"{name}={_literal(value)}" for name, value in arguments(self.op).items() if name not in BINDINGS]
            call = f"{self.op.type}({', '.join([*([inputs] if inputs else []), *args])})"
        return f"{outputs} = {call}" if outputs else call


def _literal(value: Any) -> str:
    """An argument as it is written: a tuple as the list that files have in its place."""
    return repr_of(list(value) if type(value) is tuple else value)


def arguments(op: Operator) -> Mapping[str, Any]:
    """An operator's arguments but for nested nets."""
    nets = nested_nets(op)
    return {name: value for name, value in op.args.items() if name not in nets} if nets else op.args


def _called(writings: list[Writing], position: int) -> Sequence[Writing | BlobVersion]:
    """What writings are called at a position."""
    for writing in writings:
        if writing.former:
            return [writing.at(position) for writing in writings]
    return writings
