"""The program as lines of text that grow and change while a recording plays.

A backward line can read differently later: when an accumulation renames what it writes, it gets a second revision.
Versions count the writings of a name, so a renaming also moves the versions of later writings of the old name.
"""

from collections.abc import Iterable, Sequence

from ..operators import lookup
from ..program import Gradient, Operator
from ..program.events import Accumulated, Deduplicated, Played, Ran, RuleApplied, Seeded
from ..program.operator import parts_of
from .trace import Line, Revision, Role


class Written:
    """One writing of a blob: its name and version change when an accumulation renames it."""

    __slots__ = ("line", "name", "readers", "version")

    def __init__(self, name: str, version: int, line: "GrowingLine | None") -> None:
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

    def revise(self, at: int) -> None:
        """Note how the line reads from position `at` on."""
        revision = Revision(at=at, inputs=[str(w) for w in self.inputs], outputs=[str(w) for w in self.outputs])
        if self.history and self.history[-1].at == at:
            self.history.pop()
        self.history.append(revision)

    @property
    def text(self) -> str:
        """The line as it reads now."""
        inputs, outputs = ", ".join(map(str, self.inputs)), ", ".join(map(str, self.outputs))
        if self.role == "passed":
            return f"{outputs} := {inputs}"
        args = [f"{name}={value!r}" for name, value in self.op.args.items()]
        call = f"{self.op.type}({', '.join([*map(str, self.inputs), *args])})"
        return f"{outputs} = {call}" if outputs else call

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
            args={} if passed else self.op.args,
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
    """Every line of a program, and which of them wrote what."""

    def __init__(self) -> None:
        self.forward: list[GrowingLine] = []
        self.backward: list[GrowingLine] = []
        self._operators: list[GrowingLine] = []
        self._writings: dict[str, list[Written]] = {}

    def play(self, event: Played, at: int) -> GrowingLine:
        """The forward line of a `Played` event that happened at position `at`."""
        line = GrowingLine(f"f{event.index}", "forward", event.op, None, at)
        self.forward.append(line)
        self._fill(line, event.op.inputs, event.op.outputs, at)
        return line

    def seed(self, event: Seeded, at: int) -> GrowingLine | None:
        """The backward line that fills the seed, None for a given gradient."""
        if event.operator is None:
            return None
        return self._backward("seed", event.operator, None, at)

    def apply(self, event: RuleApplied, at: int) -> list[GrowingLine]:
        """The backward lines of a rule's operators, and one line for the gradients that pass through."""
        lines = [self._backward("gradient", op, event.index, at) for op in event.operators]
        made = {name for op in event.operators for name in op.outputs}
        passed = [
            (blob, gradient)
            for blob, gradient in zip(self.forward[event.index].inputs, event.g_input, strict=True)
            if gradient is not None and made.isdisjoint(parts_of(gradient))
        ]
        if passed:
            lines.append(self._passed(event.index, passed, at))
        return lines

    def accumulate(self, event: Accumulated, at: int) -> list[GrowingLine]:
        """The lines of the operators that add up; lines whose outputs are renamed get a revision."""
        touched: dict[GrowingLine, None] = {}
        moved: dict[str, set[Written]] = {}
        for rename in event.renames:
            if rename.slot < 0:
                continue
            written = self._operators[rename.position].outputs[rename.slot]
            moved.setdefault(rename.old, set()).add(written)
            self._write(rename.new, written)
            touched.update(dict.fromkeys([self._operators[rename.position], *written.readers]))
        for name, gone in moved.items():
            self._writings[name] = [written for written in self._writings[name] if written not in gone]
            touched.update(dict.fromkeys(self._renumber(name)))
        for line in touched:
            line.revise(at)
        return [self._backward(_role(op), op, event.index, at) for op in event.operators]

    def merge(self, event: Deduplicated, at: int) -> list[GrowingLine]:
        """The lines of the operators that merge rows."""
        return [self._backward("deduplication", op, None, at) for op in event.operators]

    def ran(self, event: Ran, at: int) -> GrowingLine:
        """The line that ran, forward or backward."""
        count = len(self.forward)
        line = self.forward[event.position] if event.position < count else self._operators[event.position - count]
        line.ran = at
        return line

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
        line = GrowingLine(f"p{index}", "passed", self.forward[index].op, index, at)
        line.outputs = list(dict.fromkeys(blob for blob, _ in passed))
        names = dict.fromkeys(name for _, gradient in passed for name in parts_of(gradient))
        line.inputs = [self.latest(name) for name in names]
        for gradient in line.inputs:
            gradient.readers.append(line)
        line.revise(at)
        self.backward.append(line)
        return line

    def _backward(self, role: Role, op: Operator, of: int | None, at: int) -> GrowingLine:
        line = GrowingLine(f"b{len(self._operators)}", role, op, of, at)
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

    def _renumber(self, name: str) -> Iterable[GrowingLine]:
        for version, written in enumerate(self._writings[name]):
            if written.version != version:
                written.version = version
                if written.line is not None:
                    yield written.line
                yield from written.readers


def _role(op: Operator) -> Role:
    """What an operator of an accumulation does: adds, or only makes a term dense."""
    return "gradient" if op.type == "SparseToDense" else "accumulation"
