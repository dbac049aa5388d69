"""Trace documents of small nets, written by a plain reverse pass: what the drawing is tried on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gradviz.debugger.document import Contribution, Ledger, Line, Narration, Revision, Trace, TraceEvent

PASSES = {"Sum", "Alias"}
NO_GRADIENT = {"StopGradient", "ConstantFill"}
ONE_FOR_EACH_INPUT = {"MatMul", "Bilinear"}

Operator = tuple[str, Sequence[str], Sequence[str]]
"""Type, inputs, outputs; names without versions."""


def chain(length: int) -> list[Operator]:
    types = ("FC", "Relu")
    return [(types[i % 2], [f"x{i}", f"w{i}"][: 2 - i % 2], [f"x{i + 1}"]) for i in range(length)]


SKIP_CONNECTION: list[Operator] = [
    ("FC", ["x", "w1", "b1"], ["h"]),
    ("Relu", ["h"], ["a"]),
    ("FC", ["a", "w2", "b2"], ["u"]),
    ("Relu", ["u"], ["v"]),
    ("Sum", ["v", "a"], ["s"]),
    ("FC", ["s", "w3", "b3"], ["z"]),
    ("SoftmaxWithLoss", ["z", "label"], ["p", "loss"]),
]

DIAMOND: list[Operator] = [
    ("Tanh", ["x"], ["a"]),
    ("Sin", ["a"], ["b"]),
    ("Exp", ["a"], ["c"]),
    ("Mul", ["b", "c"], ["loss"]),
]


PRODUCTS: list[Operator] = [
    ("Tanh", ["x"], ["a"]),
    ("Sin", ["x"], ["b"]),
    ("Exp", ["a"], ["c"]),
    ("MatMul", ["a", "b"], ["m"]),
    ("MatMul", ["b", "c"], ["n"]),
    ("Add", ["m", "n"], ["loss"]),
]
"""A diamond whose arms are products; each has two gradient operators side by side."""

WIDE_PRODUCTS: list[Operator] = [
    ("Split", ["x"], ["a", "b", "c"]),
    ("Bilinear", ["a", "b", "c"], ["m"]),
    ("Bilinear", ["m", "a", "b"], ["n"]),
    ("Relu", ["n"], ["r"]),
    ("Bilinear", ["m", "c", "r"], ["s"]),
    ("Sum", ["m", "n", "s"], ["loss"]),
]
"""Three gradient operators side by side, whose gradients come and go on many tracks."""


def fan_out(width: int) -> list[Operator]:
    arms = [("Scale", ["a"], [f"s{i}"]) for i in range(width)]
    return [("Tanh", ["x"], ["a"]), *arms, ("Concat", [f"s{i}" for i in range(width)], ["loss"])]


def residual(blocks: int) -> list[Operator]:
    """Blocks of four operators around which their input skips."""
    operators: list[Operator] = []
    for k in range(blocks):
        operators += [
            ("Conv", [f"x{k}", f"w{k}"], [f"c{k}"]),
            ("Relu", [f"c{k}"], [f"r{k}"]),
            ("Conv", [f"r{k}", f"v{k}"], [f"d{k}"]),
            ("Sum", [f"d{k}", f"x{k}"], [f"x{k + 1}"]),
        ]
    return operators


@dataclass
class _Pass:
    """One reverse pass over operators, which notes lines and events as it goes."""

    operators: Sequence[Operator]
    forward: list[Line] = field(default_factory=list)
    backward: list[Line] = field(default_factory=list)
    events: list[TraceEvent] = field(default_factory=list)
    ledgers: list[Ledger] = field(default_factory=list)
    gradients: dict[str, list[Contribution]] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    first_reader: dict[str, int] = field(default_factory=dict)
    emitted: int = 0

    def happen(self, kind: str, group: int, **fields: object) -> int:
        phase = "play" if kind == "Played" else "generate"
        self.events.append(TraceEvent(kind=kind, narration=Narration(0, [kind]), group=group, phase=phase, **fields))
        return len(self.events)

    def version(self, name: str) -> str:
        self.versions[name] = self.versions.get(name, -1) + 1
        return f"{name}@{self.versions[name]}"

    def play(self) -> None:
        current: dict[str, str] = {}
        for index, (kind, inputs, outputs) in enumerate(self.operators):
            read = [current.setdefault(name, f"{name}@0") for name in inputs]
            for name in outputs:
                known = current.get(name)
                current[name] = f"{name}@{int(known.rsplit('@')[-1]) + 1}" if known else f"{name}@0"
            written = [current[name] for name in outputs]
            line = f"f{index}"
            for blob in read:
                self.first_reader.setdefault(blob, index)
            at = self.happen("Played", index, forward=index, lines=[line])
            self.forward.append(_line(line, kind, read, written, at, "forward", index))

    def seed(self, y: str) -> None:
        gradient = self.version(f"{y.split('@')[0]}_autogen_grad")
        at = self.happen("Seeded", len(self.operators), lines=[self.next_id()])
        self.operator(_line(self.next_id(), "ConstantFill", [y], [gradient], at, "seed", None))
        self.add(y, gradient, "ConstantFill", None, "seed")

    def next_id(self) -> str:
        return f"b{self.emitted}"

    def operator(self, line: Line) -> None:
        self.backward.append(line)
        self.emitted += 1

    def add(self, blob: str, gradient: str, producer: str, of: int | None, how: str) -> None:
        contribution = Contribution(gradient=gradient, producer=producer, of=of, how=how, path=[])
        self.gradients.setdefault(blob, []).append(contribution)

    def gradient_of(self, blob: str) -> str | None:
        contributions = self.gradients.get(blob, [])
        return contributions[-1].gradient if contributions else None

    def visit(self, index: int) -> None:
        line = self.forward[index]
        group = 2 * len(self.operators) - index
        self.happen("Visited", group, forward=index)
        incoming = [gradient for blob in line.outputs if (gradient := self.gradient_of(blob))]
        if not incoming or line.type in NO_GRADIENT:
            self.happen("Skipped", group, forward=index)
        elif line.type in PASSES:
            at = self.happen("RuleApplied", group, forward=index, lines=[f"p{index}"])
            self.backward.append(_line(f"p{index}", line.type, incoming, line.inputs, at, "passed", index))
            for blob in line.inputs:
                self.add(blob, incoming[0], f"{line.type} #{index}", index, "passed")
        else:
            groups = [[blob] for blob in line.inputs] if line.type in ONE_FOR_EACH_INPUT else [line.inputs]
            for blobs in groups:
                self.emit(index, group, incoming, blobs)
        for blob in dict.fromkeys(line.inputs):
            self.accumulate(blob, index, group)

    def emit(self, index: int, group: int, incoming: list[str], blobs: list[str]) -> None:
        line = self.forward[index]
        kind = f"{line.type}Gradient"
        outputs = [self.version(f"{blob.split('@')[0]}_grad") for blob in blobs]
        at = self.happen("RuleApplied", group, forward=index, lines=[self.next_id()])
        inputs = [*line.inputs, *incoming]
        self.operator(_line(self.next_id(), kind, inputs, outputs, at, "gradient", index))
        for blob, gradient in zip(blobs, outputs, strict=True):
            self.add(blob, gradient, f"{kind} #{index}", index, "generated")

    def accumulate(self, blob: str, index: int, group: int) -> None:
        contributions = self.gradients.get(blob, [])
        if self.first_reader[blob] != index or len(contributions) < 2:
            return
        total = self.version(f"{blob.split('@')[0]}_grad")
        line, at = self.next_id(), len(self.events) + 1
        self.ledgers.append(Ledger(blob=blob, at=at, total=total, contributions=contributions))
        ledger = len(self.ledgers) - 1
        self.happen("Accumulated", group, forward=index, lines=[line], blobs=[blob, total], ledger=ledger)
        parts = [contribution.gradient for contribution in contributions]
        self.operator(_line(line, "Sum", parts, [total], at, "accumulation", index))
        self.gradients[blob] = [Contribution(gradient=total, producer="Sum", of=index, how="generated", path=[])]


def _line(
    line: str, kind: str, inputs: Sequence[str], outputs: Sequence[str], at: int, role: str, of: int | None
) -> Line:
    return Line(
        id=line,
        kind="passed" if role == "passed" else "operator",
        type=kind,
        inputs=list(inputs),
        outputs=list(outputs),
        of=None if role == "forward" else of,
        role=role,
        made=at,
        history=[Revision(at=at, inputs=list(inputs), outputs=list(outputs))],
    )


def trace(operators: Sequence[Operator], ys: Sequence[str] | None = None) -> Trace:
    """The document of `operators`, differentiated from `ys`, or from the last output."""
    run = _Pass(operators)
    run.play()
    for y in ys or [operators[-1][2][-1]]:
        run.seed(max(blob for line in run.forward for blob in line.outputs if blob.split("@")[0] == y))
    for index in reversed(range(len(operators))):
        run.visit(index)
    run.happen("Completed", 2 * len(operators) + 1)
    return Trace(
        producer="gradviz tests",
        templates=["{kind}."],
        name="example",
        net={"name": "example", "ops": []},
        ys=list(ys or [operators[-1][2][-1]]),
        forward=run.forward,
        backward=run.backward,
        events=run.events,
        ledgers=run.ledgers,
    )
