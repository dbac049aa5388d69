"""What makes the scalars debuggable: their backward pass as events and values; nothing of theirs is changed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from time import perf_counter

from gradviz import Operator
from gradviz.events import (
    About,
    Accumulated,
    Completed,
    Contribution,
    Event,
    GeneratorAdded,
    GradWritten,
    Played,
    Ran,
    RuleApplied,
    Seeded,
    Visited,
)
from tests.debugger.engines.scalars import Value

Item = About | Event | dict[str, float]


class Pass:
    """One pass backward from `loss`, told as it goes."""

    def __init__(self, loss: Value) -> None:
        self.order = loss.order()
        self.names = {id(value): value.name or f"v{number}" for number, value in enumerate(self.order)}
        self.computed = [value for value in self.order if value.sources]
        self.index = {id(value): index for index, value in enumerate(self.computed)}
        self.made: list[Operator] = []
        self.versions: Counter[str] = Counter()
        self.sums: dict[int, float] = {}
        self.terms: dict[int, list[Contribution]] = {}

    def forward(self) -> Iterator[Item]:
        """The net as it was computed, with its values."""
        yield {f"{self.names[id(value)]}@0": value.data for value in self.order}
        for index, value in enumerate(self.computed):
            op = Operator(value.op, [self.names[id(source)] for source in value.sources], [self.names[id(value)]])
            yield Played(index, op, (0,) * len(op.inputs), (0,))
            yield Ran(index, op, (0,) * len(op.inputs), (0,), "cpu", None)

    def backward(self, loss: Value) -> Iterator[Item]:
        """Everything that ``loss.backward()`` does."""
        y = self.names[id(loss)]
        seed = Operator("ConstantFill", [y], [f"{y}_grad"], {"value": 1.0})
        yield Seeded(y, 0, f"{y}_grad", seed, 0)
        yield from self.run(seed, [1.0])
        self.sums[id(loss)] = 1.0
        self.terms[id(loss)] = [Contribution(f"{y}_grad", "seed", None, 0)]
        for value in reversed(self.computed):
            yield from self.visit(value)
        gradients = {self.names[key]: f"{self.names[key]}_grad" for key in self.sums}
        for value in self.order:
            if not value.sources:
                name = self.names[id(value)]
                yield {f"{name}.grad@0": self.sums[id(value)]}
                yield GradWritten(name, "new", f"{name}_grad", None, f"{name}.grad@0")
        yield Completed(gradients)

    def visit(self, value: Value) -> Iterator[Item]:
        """A value sends its gradient on to its sources."""
        index, name, position = self.index[id(value)], self.names[id(value)], len(self.made)
        reads = [self.names[id(source)] for source in value.sources]
        yield Visited(index, [f"{name}_grad"])
        start = perf_counter()
        parts = value.share(self.sums[id(value)])
        seconds = perf_counter() - start
        op = Operator(f"{value.op}Backward", [*reads, name, f"{name}_grad"], self.names_of_parts(value))
        yield RuleApplied(index, "", position, [op], list(op.outputs))
        yield from self.run(op, parts, seconds)
        for source, blob, part, gradient in zip(value.sources, reads, parts, op.outputs, strict=True):
            terms = self.terms.setdefault(id(source), [])
            terms.append(Contribution(gradient, "generated", index, position))
            yield GeneratorAdded(index, blob, 0, gradient, "generated", position, len(terms))
            if len(terms) == 1:
                self.sums[id(source)] = part
                continue
            self.sums[id(source)] += part
            total = f"{blob}_grad"
            add = Operator("Sum", [total, gradient], [total])
            yield Accumulated(index, blob, 0, terms.copy(), [], [add], len(self.made), total, len(terms))
            yield from self.run(add, [self.sums[id(source)]])

    def names_of_parts(self, value: Value) -> list[str]:
        """The first gradient of x is x_grad, the next ones x_grad_1, x_grad_2, ..."""
        counts = Counter({id(source): len(self.terms.get(id(source), [])) for source in value.sources})
        names = []
        for source in value.sources:
            base, number = f"{self.names[id(source)]}_grad", counts[id(source)]
            names.append(f"{base}_{number}" if number else base)
            counts[id(source)] += 1
        return names

    def run(self, op: Operator, values: Sequence[float], seconds: float | None = None) -> Iterator[Item]:
        """A gradient operator ran and made `values`."""
        forward = {self.names[id(value)] for value in self.order}
        ins = tuple(0 if name in forward else self.versions[name] - 1 for name in op.inputs)
        outs = tuple(self.versions[name] for name in op.outputs)
        self.versions.update(op.outputs)
        self.made.append(op)
        yield {f"{name}@{at}": value for name, at, value in zip(op.outputs, outs, values, strict=True)}
        yield Ran(len(self.computed) + len(self.made) - 1, op, ins, outs, "cpu", seconds)


def record(loss: Value) -> Iterator[Item]:
    """What ``loss.backward()`` would do."""
    yield About(engine="scalars", name=f"{loss.name or loss.op}.backward()")
    told = Pass(loss)
    yield from told.forward()
    yield from told.backward(loss)
