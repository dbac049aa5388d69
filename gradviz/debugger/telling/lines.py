"""The program as lines of text that grow and change while a recording plays.

A backward line can read differently later: when an accumulation renames what it writes, it gets a second revision.
Versions count the writings of a name, so a renaming also moves the versions of later writings of the old name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...operators import lookup
from ...program import Gradient, Operator
from ...program.control_flow import NETS, RUNNING_SUM, kept_inputs, nested_nets, renamed
from ...program.events import Accumulated, Deduplicated, RuleApplied, Seeded
from ...program.operator import parts_of
from ..document import Line, Revision, Role, json_safe

DUPLICATE = "_DEDUP"
"""In the name of a gradient's copy for one of several outputs that it arrives at."""

BINDINGS = ("inner_blobs", "outer_blobs_idx", "saved_fwd_blobs")
"""Arguments of a Do that the events in its net tell better than its line."""


class Written:
    """One writing of a blob: its name and version change when an accumulation renames it."""

    __slots__ = ("line", "name", "readers", "version")

    def __init__(self, name: str, version: int, line: GrowingLine | None) -> None:
        self.name = name
        self.version = version
        self.line = line
        self.readers: list[GrowingLine] = []

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


class GrowingLine:
    """A line of the program while it may still change."""

    def __init__(self, id: str, role: Role, op: Operator, of: int | None, made: int) -> None:
        self.id = id
        self.role = role
        self.op = op
        self.of = of
        self.made = made
        self.ran: int | None = None
        self.inputs: list[Written] = []
        self.outputs: list[Written] = []
        self.history: list[Revision] = []
        self.subnets: dict[str, Lines] = {}

    def revise(self, at: int) -> None:
        """Note how the line reads from position `at` on."""
        revision = Revision(at=at, inputs=[str(w) for w in self.inputs], outputs=[str(w) for w in self.outputs])
        if self.history and self.history[-1].at == at:
            self.history.pop()
        self.history.append(revision)

    def adopt(self, at: int) -> None:
        """Let the backward passes of its nested nets read as its operator has them."""
        for argument, net in nested_nets(self.op).items():
            if argument in self.subnets:
                self.subnets[argument].adopt(net.ops, at)

    @property
    def text(self) -> str:
        """The line as it reads now."""
        inputs, outputs = ", ".join(map(str, self.inputs)), ", ".join(map(str, self.outputs))
        if self.role == "passed":
            return f"{outputs} := {inputs}"
        args = [f"{name}={net.name}" for name, net in nested_nets(self.op).items()]
        args += [f"{name}={value!r}" for name, value in self.arguments.items() if name not in BINDINGS]
        call = f"{self.op.type}({', '.join([*map(str, self.inputs), *args])})"
        return f"{outputs} = {call}" if outputs else call

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The operator's arguments but for nested nets."""
        nets = nested_nets(self.op)
        return {name: value for name, value in self.op.args.items() if name not in nets} if nets else self.op.args

    def finish(self) -> Line:
        """The line as the trace document keeps it."""
        known = lookup(self.op.type)
        passed = self.role == "passed"
        return Line(
            id=self.id,
            kind="passed" if passed else "operator",
            type=self.op.type,
            inputs=self.history[-1].inputs,
            outputs=self.history[-1].outputs,
            args={} if passed else json_safe(dict(self.arguments)),
            subnets={argument: lines.id for argument, lines in self.subnets.items()},
            device=str(self.op.device) if self.op.device else None,
            name=self.op.name,
            of=self.of,
            role=self.role,
            made=self.made,
            history=self.history,
            formula=known.formula if known and not passed else "",
            ran=self.ran,
        )


class Lines:
    """Every line of one net, and which of them wrote what.

    Args:
        id: the nested net's, empty for the outermost one.
        initial: blobs that are there before the first operator.
    """

    def __init__(self, id: str = "", initial: Iterable[str] = ()) -> None:
        self.id = id
        self.forward: list[GrowingLine] = []
        self.backward: list[GrowingLine] = []
        self._operators: list[GrowingLine] = []
        self._writings: dict[str, list[Written]] = {name: [Written(name, 0, None)] for name in initial}

    def play(self, op: Operator, at: int) -> GrowingLine:
        """The line of the next forward operator, which joined the net at position `at`."""
        line = GrowingLine(self._id(f"f{len(self.forward)}"), "forward", op, None, at)
        self.forward.append(line)
        kept = kept_inputs(op)
        self._fill(line, [*op.inputs, *kept], op.outputs, at)
        return line

    def seed(self, event: Seeded, at: int) -> GrowingLine | None:
        """The backward line that fills the seed, None for a given gradient."""
        if event.operator is None:
            return None
        return self._backward("seed", event.operator, None, at)

    def apply(self, event: RuleApplied, at: int) -> list[GrowingLine]:
        """The backward lines of a rule's operators, and one line for the gradients that pass through."""
        forward = self.forward[event.index]
        lines = [self._backward(_role_of_made(op, forward.op), op, event.index, at) for op in event.operators]
        made = {name for op in event.operators for name in op.outputs}
        passed = [
            (blob, gradient)
            for blob, gradient in zip(forward.inputs, event.g_input, strict=True)
            if gradient is not None and made.isdisjoint(parts_of(gradient))
        ]
        if passed:
            lines.append(self._passed(event.index, passed, at))
        return lines

    def accumulate(self, event: Accumulated, at: int) -> list[GrowingLine]:
        """The lines of the operators that add up; lines whose outputs are renamed get a revision."""
        touched: dict[GrowingLine, None] = {}
        for rename in event.renames:
            line = self._operators[rename.position]
            if rename.slot >= 0:
                touched |= dict.fromkeys(self._rename(line.outputs[rename.slot], rename.new))
            if line.subnets:
                writes = {rename.old: rename.new} if rename.slot >= 0 else {}
                line.op = renamed(line.op, {rename.old: rename.new}, writes)
                line.adopt(at)
        for line in touched:
            line.revise(at)
        return [self._backward(_role_of_sum(op), op, event.index, at) for op in event.operators]

    def adopt(self, operators: Sequence[Operator], at: int) -> None:
        """Let the backward lines read as `operators`, and add those that are not there yet.

        The rule of the operator that runs a nested net may write more into its backward pass than the pass made.
        """
        for line, op in zip(self._operators, operators, strict=False):
            touched: dict[GrowingLine, None] = {}
            for slot, (written, name) in enumerate(zip(line.inputs, op.inputs, strict=True)):
                if written.name != name:
                    line.inputs[slot] = self._read(name)
                    line.inputs[slot].readers.append(line)
                    touched[line] = None
            for written, name in zip(line.outputs, op.outputs, strict=True):
                if written.name != name:
                    touched |= dict.fromkeys(self._rename(written, name))
            for one in touched:
                one.revise(at)
            if line.subnets:
                line.op = op
                line.adopt(at)
        for op in operators[len(self._operators) :]:
            # The one operator in the body of a loop comes from the one there is in the forward body.
            self._backward(_role_of_more(op), op, 0 if op.type in NETS else None, at)

    def merge(self, event: Deduplicated, at: int) -> list[GrowingLine]:
        """The lines of the operators that merge rows."""
        return [self._backward("deduplication", op, None, at) for op in event.operators]

    @property
    def operators(self) -> Sequence[GrowingLine]:
        """The lines of the gradient operators."""
        return self._operators

    def operator(self, position: int) -> GrowingLine:
        """The line of gradient operator `position`."""
        return self._operators[position]

    def latest(self, name: str) -> Written:
        """The last writing of `name`; version 0 when only the outside can have written it.

        What no operator reads has no version from the outside: as in SSA, its first writing is version 0.
        """
        writings = self._writings.get(name)
        return writings[-1] if writings else Written(name, 0, None)

    def _passed(self, index: int, passed: Sequence[tuple[Written, Gradient]], at: int) -> GrowingLine:
        line = GrowingLine(self._id(f"p{index}"), "passed", self.forward[index].op, index, at)
        line.outputs = list(dict.fromkeys(blob for blob, _ in passed))
        names = dict.fromkeys(name for _, gradient in passed for name in parts_of(gradient))
        line.inputs = [self.latest(name) for name in names]
        for gradient in line.inputs:
            gradient.readers.append(line)
        line.revise(at)
        self.backward.append(line)
        return line

    def _backward(self, role: Role, op: Operator, of: int | None, at: int) -> GrowingLine:
        line = GrowingLine(self._id(f"b{len(self._operators)}"), role, op, of, at)
        self._operators.append(line)
        self.backward.append(line)
        self._fill(line, op.inputs, op.outputs, at)
        return line

    def _fill(self, line: GrowingLine, inputs: list[str], outputs: list[str], at: int) -> None:
        line.inputs = [self._read(name) for name in inputs]
        for written in line.inputs:
            written.readers.append(line)
        line.outputs = [self._write(name, Written(name, 0, line)) for name in outputs]
        line.revise(at)

    def _read(self, name: str) -> Written:
        """The last writing of `name`, which from now on has a version from the outside if nobody wrote it."""
        written = self.latest(name)
        return written if name in self._writings else self._write(name, written)

    def _write(self, name: str, written: Written) -> Written:
        writings = self._writings.setdefault(name, [])
        written.name, written.version = name, len(writings)
        writings.append(written)
        return written

    def _rename(self, written: Written, new: str) -> Iterable[GrowingLine]:
        """Call a writing `new`; says which lines read otherwise now."""
        old = written.name
        if written.line is not None:
            yield written.line
        yield from written.readers
        self._writings[old] = [other for other in self._writings[old] if other is not written]
        self._write(new, written)
        yield from self._renumber(old)

    def _renumber(self, name: str) -> Iterable[GrowingLine]:
        for version, written in enumerate(self._writings[name]):
            if written.version != version:
                written.version = version
                if written.line is not None:
                    yield written.line
                yield from written.readers

    def _id(self, id: str) -> str:
        return f"{self.id}.{id}" if self.id else id


def _role_of_made(op: Operator, forward: Operator) -> Role:
    """What an operator of a rule does: copies a gradient for one of several outputs, or makes a gradient."""
    is_duplicate = forward.type in NETS and op.type == "Copy" and DUPLICATE in op.outputs[0]
    return "duplicate" if is_duplicate else "gradient"


def _role_of_more(op: Operator) -> Role:
    """What an operator does that the rule of a control operator adds to the backward pass of a nested net."""
    if op.type in NETS or op.type == "HasScope":
        return "gradient"
    return "accumulation" if op.type == "Sum" and op.outputs[0].endswith(RUNNING_SUM) else "handover"


def _role_of_sum(op: Operator) -> Role:
    """What an operator of an accumulation does: adds, or only makes a term dense."""
    return "gradient" if op.type == "SparseToDense" else "accumulation"
