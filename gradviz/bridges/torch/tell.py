"""From what was noted to events: the operators that were called, and then each node as the engine ran it.

The engine adds the gradients of an output as they arrive, and runs a node when no more can come.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import NamedTuple

import torch
from torch.autograd.graph import Node

from ...gradient.accumulation import GradientNames
from ...operators.gradients import is_gradient_of
from ...operators.registry import source_of
from ...program import Gradient, GradientError, GradientSlice, GradvizError, NetDef, Operator
from ...program.code_line import CodeLine
from ...program.errors import listed, raised
from ...program.events import (
    Accumulated,
    Completed,
    Contribution,
    Event,
    Failed,
    GeneratorAdded,
    GradWritten,
    HookRan,
    Played,
    Ran,
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
    Waiting,
    Writing,
)
from ...program.operator import parts_of
from ...runtime.watched import Again, Journal
from .graph import Graph, Output, fits, fitted, function_of, is_function, number_of, type_of
from .names import Distinct, Names
from .origins import Origin
from .values import PARTS, Part, RecordedSave, Values, is_equal, is_same
from .watch import Hooked, Keep, Noted, RecordedTensor, Visit, Written, reference

MOST_WAITING = 8
"""Operators in the queue that an event lists."""


class Forward:
    """The operators that were called, and what they read, as blobs.

    Attributes:
        graph: they are its nodes.
        names: of their outputs and of leaves.
        operators: one for each node.
        lines: of each the line of the user's code that called it.
        saved: of each the blobs that it has kept for its backward.

    Args:
        returned: the leaves and what operators returned, as far as it is there still, as they were before the pass.
            Leaves inside of checkpoints are not there.
        saved: what each has kept.
        data: what tensors are called that no gradient goes to, by their identity.
        origins: where operators come from.
        values: takes the values of all this.
    """

    def __init__(
        self,
        graph: Graph,
        names: Names,
        returned: Mapping[Output, RecordedTensor],
        saved: Mapping[Node, Sequence[RecordedSave]],
        data: Mapping[int, str],
        origins: Mapping[Node, Origin],
        values: Values,
    ) -> None:
        self.graph = graph
        self.names = names
        self.operators: list[Operator] = []
        self.lines: list[CodeLine | None] = []
        self.saved: list[list[str]] = []
        self._values = values
        self._data = data
        self._origins = origins
        self._others: dict[int, str] = {}
        self._distinct = Distinct(names.values())
        for one, name in names.items():
            leaf = graph.leaves.get(one.node)
            values.keep((name, 0), returned.get(one) or (None if leaf is None else reference(leaf)))
        for node in graph.nodes:
            self._add(node, saved.get(node, ()))

    def _add(self, node: Node, saved: Iterable[RecordedSave]) -> None:
        outputs = [self.names[Output(node, slot)] for slot in range(self.graph.outputs[node])]
        inputs = [self.names[one] for one in self.graph.inputs(node) if one is not None]
        reads: dict[str, None] = {}
        for one in saved:
            name = self.names.get(one.of) if one.of is not None else None
            if name is None:
                name = self._other(f"{outputs[0]}.{one.name}", one)
                inputs += [] if one.of is not None or name in inputs else [name]
            self._values.keep((name, 0), one.tensor)
            reads[name] = None
        type, origin = type_of(node), self._origins.get(node, Origin())
        self.operators.append(Operator(type, inputs, outputs, name=f"{origin.module}.{type}" if origin.module else ""))
        self.lines.append(origin.line)
        self.saved.append(list(reads))

    def _other(self, name: str, saved: RecordedSave) -> str:
        """A tensor that was kept and is no output that a gradient goes to: data, or something on the way."""
        if saved.identity not in self._others:
            self._others[saved.identity] = self._distinct.take(self._data.get(saved.identity, name))
        return self._others[saved.identity]


NamedTensor = tuple[Gradient, RecordedTensor]
"""A gradient, by name and as it is."""


class Seed(NamedTuple):
    """What the pass starts from at a root; `is_given`: not filled with ones."""

    gradient: RecordedTensor
    is_given: bool


@dataclass(slots=True)
class Arrivals:
    """What arrives of the gradient of an output.

    Attributes:
        terms: what has come, and the tensors of that.
        to_come: how many times more the engine sends something, be it nothing.
        gradient: what the sum is called, once all are in.
        whole: the sum.
    """

    terms: list[tuple[Contribution, RecordedTensor]] = field(default_factory=list)
    to_come: int = 0
    gradient: Gradient | None = None
    whole: RecordedTensor | None = None


class Backward:
    """Tells what the engine does, event by event.

    Args:
        forward: what was called.
        runs: the nodes that the engine is to run.
        asked: what gradients are wanted of.
        values: takes the values of gradients.
        hooks: the hooks of tensors, as events name them.

    Attributes:
        events: what happened.
        operators: the gradient operators.
        names: of the outputs of operators and of leaves.
        grads_before: the leaves that had a gradient before -> its blob version.
        changed: the nodes by which backward hooks of modules have sent on something else than was given to them.
    """

    def __init__(
        self,
        forward: Forward,
        runs: Iterable[Node],
        asked: Container[Output],
        values: Values,
        hooks: Mapping[Output, tuple[str, ...]],
    ) -> None:
        self.events: list[Event] = []
        self.operators: list[Operator] = []
        self.names = forward.names
        self.grads_before: dict[str, str] = {}
        self.changed: set[Node] = set()
        self._forward = forward
        self._graph = forward.graph
        self._runs = set(runs)
        self._asked = asked
        self._values = values
        self._hooks = hooks
        self._names = GradientNames({name for op in forward.operators for name in (*op.inputs, *op.outputs)})
        self._versions: Counter[str] = Counter()
        # What each output was given in the end, after hooks.
        self._sums: dict[Output, RecordedTensor | None] = {}
        self._arrivals: dict[Output, Arrivals] = {}
        # How many times more something is sent to an operator: then it joins the queue.
        self._to_come: Counter[Node] = Counter()
        self._expect(self._graph.roots)
        for node in self._runs:
            self._expect(self._graph.inputs(node))
        # The operators that are ready, the next one last.
        self._queue: list[Waiting] = []
        self._at: Node | None = None
        self._ready: dict[Node, Waiting] = {}

    def begin(self, seeds: Iterable[Seed]) -> None:
        """What was called, and what each root starts with."""
        for index, (op, line) in enumerate(zip(self._forward.operators, self._forward.lines, strict=True)):
            ins, outs = (0,) * len(op.inputs), (0,) * len(op.outputs)
            self.events += [Played(index, op, ins, outs, code=line), Ran(index, op, ins, outs, "cpu", None)]
        for root, seed in zip(self._graph.roots, seeds, strict=True):
            self._seed(root, seed)

    def go_on(self, happened: Sequence[Noted]) -> None:
        """What happened then."""
        for one in happened:
            if isinstance(one, Visit):
                self._give(one.node, one.arrived)
            else:
                self._sums[one.output] = one.arrived
        for one in happened:
            if isinstance(one, Visit):
                if self._at is not one.node:
                    self._visit(one.node)
                self._run(one)
            elif isinstance(one, Written):
                self._write_grad(one)
            else:
                self._hook(one.output)

    def stand(self, node: Node, arrived: Iterable[RecordedTensor | None]) -> None:
        """The engine has come to a node, and has not run it; what has arrived there, after hooks."""
        self._give(node, arrived)
        self._visit(node)

    def _give(self, node: Node, arrived: Iterable[RecordedTensor | None]) -> None:
        self._sums |= {Output(node, slot): gradient for slot, gradient in enumerate(arrived)}

    def _expect(self, outputs: Iterable[Output | None]) -> None:
        """Something is sent to each of some outputs."""
        for one in outputs:
            if one is not None:
                self._arrivals.setdefault(one, Arrivals()).to_come += 1
                self._to_come[one.node] += 1

    def _seed(self, root: Output, seed: Seed) -> None:
        y, position = self.names[root], len(self.operators)
        name, queued = self._names.of_next(y), self._reach(root.node)
        if seed.is_given:
            self._write(name, seed.gradient)
            self.events.append(Seeded(y, 0, name, queued=queued))
            term = Contribution(name, "given", None, None)
        else:
            op = Operator("ConstantFill", [y], [name], {"value": 1.0}, is_gradient=True)
            self.events.append(Seeded(y, 0, name, op, position, queued))
            self._ran(op, [(name, seed.gradient)])
            term = Contribution(name, "seed", None, position)
        self._arrivals[root].terms.append((term, seed.gradient))
        self._complete(root, None)

    def _visit(self, node: Node) -> None:
        """A node is next."""
        self._at, index = node, self._graph.index[node]
        outputs = [Output(node, slot) for slot in range(self._graph.outputs[node])]
        for one in outputs:
            self._hook(one)
        arrived = [self._gradient_of(one) for one in outputs]
        del self._queue[bisect_left(self._queue, _priority(self._ready[node]), key=_priority)]
        waiting = self._queue[: -MOST_WAITING - 1 : -1]
        self.events.append(Visited(index, arrived, number_of(node), len(self._queue), waiting))

    def _run(self, visit: Visit) -> None:
        """The node was run."""
        node, index = visit.node, self._graph.index[visit.node]
        self._at = None
        if type_of(node) == "BackwardHookFunction" and any(
            one and sent and not is_same(one, sent) for one, sent in zip(visit.arrived, visit.sent, strict=False)
        ):
            self.changed.add(node)
        every = zip(self._graph.inputs(node), visit.sent, strict=True)
        pairs = [(one, sent) for one, sent in every if one is not None]
        keep = self._values.keeper
        sends = [
            None if sent is None else (self._next(self.names[one], sent), _fitting(sent, one, keep))
            for one, sent in pairs
        ]
        idle = [slot for slot, (one, _) in enumerate(pairs) if not (one.node in self._runs or one in self._asked)]
        self._apply(visit, index, sends, idle)
        position = len(self.operators) - 1
        for (one, _), named in zip(pairs, sends, strict=True):
            queued = self._reach(one.node)
            if named is not None:
                gradient, sent = named
                blob, count = self.names[one], len(self._arrivals[one].terms) + 1
                self.events.append(GeneratorAdded(index, blob, 0, gradient, "generated", position, count, queued))
                self._arrivals[one].terms.append((Contribution(gradient, "generated", index, position), sent))
            self._complete(one, index)

    def _apply(self, visit: Visit, index: int, sends: Sequence[NamedTensor | None], idle: Sequence[int]) -> None:
        """The operator of a node joins the gradient operators, and runs.

        Args:
            sends: None where it sent nothing.
            idle: to where nothing was to be sent.
        """
        node, forward = visit.node, self._forward.operators[index]
        outputs = (Output(node, slot) for slot in range(self._graph.outputs[node]))
        reads = [name for one in outputs for name in parts_of(self._gradient_of(one))]
        written = [one for one in sends if one is not None]
        writes = [name for gradient, _ in written for name in parts_of(gradient)]
        op = Operator(node.name(), [*reads, *self._forward.saved[index]], writes, is_gradient=True)
        own, others = function_of(node), len(forward.inputs) - len(sends)
        self.events.append(
            RuleApplied(
                index,
                "" if own is None else source_of(own.backward),
                len(self.operators),
                [op] if writes else [],
                [*(one and one[0] for one in sends), *[None] * others],
                (*idle, *range(len(sends), len(forward.inputs))),
                "method" if is_function(node) else "rule",
            )
        )
        if writes:
            self._ran(op, written, visit.seconds)

    def _reach(self, node: Node) -> Waiting | None:
        """Something was sent to a node, be it nothing; its operator joins the queue with the last."""
        self._to_come[node] -= 1
        index = self._graph.index.get(node)
        if self._to_come[node] or index is None:
            return None
        joined = self._ready[node] = Waiting(index, number_of(node), len(self._ready) + 1)
        insort(self._queue, joined, key=_priority)
        return joined

    def _complete(self, one: Output, index: int | None) -> None:
        """Something was sent to an output, be it nothing; the sum is there when all is in."""
        arrivals = self._arrivals[one]
        arrivals.to_come -= 1
        if arrivals.to_come or not arrivals.terms:
            return
        if len(arrivals.terms) == 1:
            term, arrivals.whole = arrivals.terms[0]
            arrivals.gradient = term.gradient
        else:
            self._accumulate(one, arrivals, index)

    def _accumulate(self, one: Output, arrivals: Arrivals, index: int | None) -> None:
        """All gradients of an output are in, and are added up."""
        blob = self.names[one]
        terms = [term for term, _ in arrivals.terms]
        arrivals.whole = total([tensor for _, tensor in arrivals.terms], self._sums.get(one), self._values.keeper)
        op, arrivals.gradient = self._sum(blob, [term.gradient for term in terms])
        reader, first = terms[-1].index if index is None else index, len(self.operators)
        self.events.append(
            Accumulated(reader or 0, blob, 0, terms, [], [op], first, arrivals.gradient, so_far=len(terms))
        )
        self._ran(op, [] if arrivals.whole is None else [(arrivals.gradient, arrivals.whole)])

    def _hook(self, one: Output) -> None:
        """What an output was given in the end, where hooks have made something else of the sum."""
        arrivals, given = self._arrivals.get(one), self._sums.get(one)
        if arrivals is None or arrivals.gradient is None or given is None or is_same(arrivals.whole, given):
            return
        blob, before = self.names[one], arrivals.gradient
        if given.like.is_sparse is isinstance(before, str):
            arrivals.gradient = self._next(blob, given)
        after = arrivals.gradient
        op = Operator("hook", list(parts_of(before)), list(parts_of(after)), is_gradient=True)
        maker = self._graph.index.get(one.node)
        hooks = self._hooks.get(one, ())
        self.events.append(HookRan(maker, blob, 0, before, after, [op], len(self.operators), hooks))
        self._ran(op, [(after, given)])

    def _sum(self, blob: str, terms: Sequence[Gradient]) -> tuple[Operator, Gradient]:
        """What adds gradients up, and the name of their sum."""
        are_sparse = all(isinstance(term, GradientSlice) for term in terms)
        gradient = self._names.of_joined(blob) if are_sparse else self._names.of_sum(blob)
        is_plain = not any(isinstance(term, GradientSlice) for term in terms)
        reads = [part for term in terms for part in parts_of(term)]
        return Operator("Sum" if is_plain else "add", reads, list(parts_of(gradient)), is_gradient=True), gradient

    def _next(self, blob: str, gradient: RecordedTensor) -> Gradient:
        return self._names.of_next_slice(blob) if gradient.like.is_sparse else self._names.of_next(blob)

    def _gradient_of(self, one: Output) -> Gradient | None:
        arrivals = self._arrivals.get(one)
        return None if arrivals is None else arrivals.gradient

    def _write_grad(self, written: Written) -> None:
        one = written.output
        self._hook(one)
        blob = self.names[one]
        grad = self._names.always(f"{blob}.grad")
        before = after = None
        if written.before is not None:
            before = self.grads_before[blob] = f"{grad}@0"
            self._values.keep((grad, 0), written.before)
        if written.arrived is None:
            return
        if written.after is not None:
            version = int(before is not None)
            after = f"{grad}@{version}"
            self._values.keep((grad, version), written.after)
        how: Writing = "dropped" if after is None else "new" if before is None else "added"
        self.events.append(GradWritten(blob, how, self._gradient_of(one), before, after))

    @property
    def next(self) -> str | None:
        """The operator whose node the engine has come to, as ``#3 tanh``; None: to none."""
        if self._at is None:
            return None
        index = self._graph.index[self._at]
        return f"#{index} {self._forward.operators[index].type}"

    def is_to_come(self, word: str) -> bool:
        """Whether something may yet be called so: a node, or the gradient of a blob."""
        if is_gradient_of(word, self.names.values()):
            return True
        return any(node.name() == word for node in self._runs)

    def end(self, error: BaseException | None, hooked: Hooked | None = None) -> None:
        """How it ended: with an error, which a hook has raised or else the node that was next, or whole."""
        if error is not None:
            at = self._at or (self._graph.nodes[self._queue[-1].index] if self._queue else None)
            who = "A hook" if hooked is not None else "The engine" if at is None else at.name()
            if hooked is not None:
                at = None if hooked.output is None else hooked.output.node
                who += "" if hooked.output is None else f" of the gradient of {self.names[hooked.output]}"
            self.events.append(_failed(error, who, None if at is None else self._graph.index.get(at)))
            return
        for index in reversed(range(len(self._graph.nodes))):
            if self._graph.nodes[index] not in self._runs:
                self.events.append(Skipped(index, "no gradient is asked for of anything that it read"))
        gradients = {self.names[one]: arrivals.gradient for one, arrivals in self._arrivals.items()}
        self.events.append(Completed({blob: gradient for blob, gradient in gradients.items() if gradient is not None}))

    @cached_property
    def _net(self) -> tuple[NetDef, list[str]]:
        """The net, whose operators are all there, and its ys."""
        ys = [self.names[root] for root in self._graph.roots]
        return NetDef(f"{listed(ys[:2])}.backward()", self._forward.operators), ys

    def journal(self, summary: Callable[[Journal], str], again: Again) -> Journal:
        """All that happened so far; `again` runs parts of it once more."""
        forward, (net, ys) = self._forward, self._net
        return Journal(
            "torch", net, ys, (*forward.operators, *self.operators), tuple(self.events), self._values, summary,
            grads_before=self.grads_before, absent=self._values.absent, again=again,
        )  # fmt: skip

    def _ran(self, op: Operator, outputs: Sequence[NamedTensor], seconds: float | None = None) -> None:
        """A gradient operator joins and runs."""
        tensors = {
            name: (tensor, part)
            for gradient, tensor in outputs
            for name, part in zip(parts_of(gradient), PARTS[tensor.like.is_sparse], strict=True)
        }
        position = len(self._forward.operators) + len(self.operators)
        ins = tuple([max(0, self._versions[name] - 1) for name in op.inputs])
        outs = tuple([self._write(name, *tensors.get(name, (None, None))) for name in op.outputs])
        device = next((str(tensor.like.device) for _, tensor in outputs), "cpu")
        self.operators.append(op)
        self.events.append(Ran(position, op, ins, outs, device, seconds))

    def _write(self, name: str, tensor: RecordedTensor | None, part: Part | None = None) -> int:
        """A new version of a name."""
        version = self._versions[name]
        self._versions[name] += 1
        self._values.keep((name, version), tensor, part)
        return version


def _priority(one: Waiting) -> tuple[int, int]:
    """The engine takes the operator with the greatest rank, of equal ones that which was ready first."""
    return one.rank, -one.arrival


def _failed(error: BaseException, who: str, index: int | None) -> Failed:
    """The engine has stopped, at an operator if one was next."""
    if not isinstance(error, GradvizError):
        what = f"{who} raised {raised(error)}."
        error = GradientError(what, kind="engine_failed", operator_index=index)
    return Failed.of(error, index)


def _fitting(sent: RecordedTensor, one: Output, keep: Keep) -> RecordedTensor:
    """What was sent to an output, as the engine adds it."""
    if sent.is_changed or fits(sent.like, one):
        return sent
    return keep(fitted(sent.tensor, one))


def total(terms: Sequence[RecordedTensor], given: RecordedTensor | None, keep: Keep) -> RecordedTensor | None:
    """The sum of gradients as the engine adds them; None: it is not known any more."""
    if any(one.is_changed or one.like.is_sparse for one in terms):
        return given
    added = reduce(torch.add, (one.tensor for one in terms))
    return given if given is not None and is_equal(added, given.tensor) else keep(added)
