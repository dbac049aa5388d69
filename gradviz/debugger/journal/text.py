"""The text of a net: its statements, and what each writing is called at each position.

A writing is one output of one operator in one net, or what is there from outside. Accumulation renames writings, and
versions count the writings of a name, so that a renaming also moves the versions of later writings of the old name.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter, itemgetter

from ...program import Gradient, Operator
from ...program.control_flow import DUPLICATE, NETS, RUNNING_SUM, implicit_inputs, renamed
from ...program.events import (
    Accumulated,
    ChangedByHand,
    Deduplicated,
    GeneratorAdded,
    HookRan,
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
)
from ...program.operator import parts_of
from ..document import Role
from .statements import AT_THE_END, Reading, Statement, Writing

Hops = dict[int, tuple[str, int | None]]
"""Forward operator -> the blob and the operator that it reaches a y through, None when the blob is the y."""


MADE = attrgetter("made")


class NetText:
    """The statements of one net.

    Args:
        id: the nested net's, empty for the outermost one.
        path: the nested nets to go through to reach it.
        initial: blobs that are there before the first operator.

    Attributes:
        forward: the forward operators.
        operators: the gradient operators, in the order of emission.
        backward: the same, with the gradients that pass through an operator between.
        writings: by name, in the order of their versions in the end.
        ys: what the pass over the net has started from so far: the blobs with their versions.
    """

    def __init__(self, id: str = "", path: tuple[str, ...] = (), initial: Iterable[str] = ()) -> None:
        self.id = id
        self.path = path
        self.prefix = f"{id}." if id else ""
        self.forward: list[Statement] = []
        self.operators: list[Statement] = []
        self.backward: list[Statement] = []
        self.writings: dict[str, list[Writing]] = {name: [Writing(name, 0, None)] for name in initial}
        self.ys: dict[tuple[str, int], int] = {}
        # The writings that have lost a name; of such names, once asked, every one that was called so and since when.
        self._lost: dict[str, list[Writing]] = {}
        self._words: dict[str, set[int]] = {}
        self._worded = 0
        self._called: dict[str, list[tuple[int, Writing]]] = {}

    def play(self, op: Operator, at: int) -> Statement:
        """The next forward operator, which joined the net at position `at`."""
        statement = Statement(self, len(self.forward), "forward", op, None, at)
        self.forward.append(statement)
        self._fill(statement, [*op.inputs, *implicit_inputs(op)] if op.type in NETS else op.inputs, op.outputs)
        return statement

    def visit(self, event: Visited | Skipped, at: int) -> None:
        """The pass comes to a forward operator, or goes by."""
        self.forward[event.index].visits += (at,)

    def arrive(self, event: GeneratorAdded | Accumulated, at: int) -> None:
        """A gradient of a blob arrives, or the sum of several."""
        self.version(event.blob, event.version).arrivals.append(at)

    def seed(self, event: Seeded, at: int) -> None:
        """The pass starts at a blob; an operator fills the seed where none is given."""
        self.ys[event.y, event.version] = at
        if event.operator is not None:
            self._backward("seed", event.operator, None, at)
        self.version(event.y, event.version).arrivals.append(at)

    def apply(self, event: RuleApplied, at: int) -> list[Statement]:
        """The operators of a rule, and one statement for the gradients that pass through."""
        forward = self.forward[event.index]
        statements = [self._backward(_role_of_rule(op, forward.op), op, event.index, at) for op in event.operators]
        written = {name for op in event.operators for name in op.outputs}
        forward.visits += (at,)
        passed = [
            (blob, self.now(gradient))
            for blob, gradient in zip(forward.inputs, event.g_input, strict=False)
            if gradient is not None and written.isdisjoint(parts_of(gradient))
        ]
        if passed:
            statements.append(self._passed(event.index, passed, at))
        return statements

    def accumulate(self, event: Accumulated, at: int) -> None:
        """The operators that add up join; those before them write under other names from now on."""
        renames: list[tuple[Writing, str]] = []
        for rename in event.renames:
            statement = self.operators[rename.position]
            if rename.slot >= 0:
                renames.append((statement.outputs[rename.slot], rename.new))
            if statement.nets:
                writes = {rename.old: rename.new} if rename.slot >= 0 else {}
                statement.revise(at, renamed(statement.op, {rename.old: rename.new}, writes), statement.inputs)
                statement.adopt(at)
        self._rename(renames, at)
        for op in event.operators:
            self._backward(_role_of_sum(op), op, event.index, at)
        self.arrive(event, at)

    def adopt(self, operators: Sequence[Operator], at: int) -> None:
        """Let the gradient operators read as `operators`, and add those that are not there yet.

        The rule of the operator that runs a nested net may write more into its backward pass than the pass did.
        """
        for statement, op in zip(self.operators, operators, strict=False):
            inputs = statement.inputs.copy()
            for slot, (writing, name) in enumerate(zip(statement.inputs, op.inputs, strict=True)):
                if writing.name != name:
                    inputs[slot] = self._read(name)
                    inputs[slot].readers.append(statement)
            if inputs != statement.inputs:
                statement.revise(at, statement.op, inputs)
            pairs = zip(statement.outputs, op.outputs, strict=True)
            self._rename([(writing, name) for writing, name in pairs if writing.name != name], at)
            if statement.nets:
                statement.revise(at, op, statement.inputs)
                statement.adopt(at)
        for op in operators[len(self.operators) :]:
            # The one operator in the body of a loop comes from the one there is in the forward body.
            self._backward(_role_of_more(op), op, 0 if op.type in NETS else None, at)

    def hook(self, event: HookRan, at: int) -> None:
        """What a hook did joins."""
        for op in event.operators:
            self._backward("gradient", op, event.index, at)

    def change(self, event: ChangedByHand, at: int) -> None:
        """What puts a value that was given in place of a gradient joins; of a blob of the net it has joined before."""
        for op in event.operators:
            writer = self.latest(op.outputs[0]).statement
            self._backward("gradient", op, None if writer is None else writer.of, at)

    def merge(self, event: Deduplicated, at: int) -> None:
        """The operators that merge rows join."""
        for op in event.operators:
            self._backward("deduplication", op, None, at)

    def new_statements(self, at: int) -> list[Statement]:
        """The backward statements that came with the event at position `at`."""
        return self.backward[bisect_left(self.backward, at, key=MADE) : bisect_right(self.backward, at, key=MADE)]

    def backward_at(self, position: int) -> list[Reading]:
        """The backward statements that are there at a position, as they read then."""
        return [one.at(position) for one in self.backward[: bisect_right(self.backward, position, key=MADE)]]

    def latest(self, name: str, position: int = AT_THE_END) -> Writing:
        """The last writing that is called `name` at a position; version 0 when only the outside can have written it.

        What no operator reads has no version from the outside: as in SSA, its first writing is version 0.
        """
        writings = self.writings.get(name, ())
        if name not in self._lost:
            place = bisect_right(writings, position, key=_since)
            return writings[place - 1] if place else Writing(name, 0, None)
        if name not in self._called:
            once = dict.fromkeys([*self._lost[name], *writings])
            self._called[name] = sorted(((at, one) for one in once for at in _times(one, name)), key=itemgetter(0))
        called = self._called[name]
        for place in range(bisect_right(called, position, key=itemgetter(0)) - 1, -1, -1):
            if called[place][1].at(position).name == name:
                return called[place][1]
        return Writing(name, 0, None)

    def parts(self, gradient: Gradient | None, position: int) -> list[Writing]:
        """The writings that a gradient consists of at a position: one, indices and values, or for None none."""
        return [self.latest(name, position) for name in parts_of(gradient)]

    def now(self, gradient: Gradient) -> list[Writing]:
        """The writings that a gradient consists of, as far as the text has been followed."""
        every = ((name, self.writings.get(name)) for name in parts_of(gradient))
        return [writings[-1] if writings else Writing(name, 0, None) for name, writings in every]

    def version(self, name: str, version: int) -> Writing:
        """What is called so in the end; what nobody writes or reads is from outside."""
        writings = self.writings.get(name, ())
        return writings[version] if version < len(writings) else Writing(name, version, None)

    def called(self, name: str, version: int, position: int) -> Writing | None:
        """What is called so at a position, or else will be in the end; None: nothing that is written or read."""
        writings = self.writings.get(name) or []
        renamed = [*self._lost[name], *writings] if name in self._lost else []
        for one in renamed:
            then = one.at(position)
            if _written(one) <= position and (then.name, then.version) == (name, version):
                return one
        return writings[version] if version < len(writings) else None

    def every(self, name: str) -> set[str]:
        """The versions that anything called `name` has or had; none: nothing was."""
        writings = self.writings.get(name, ())
        versions = {str(one.version) for one in writings}
        former = [one for writing in (*self._lost.get(name, ()), *writings) for one in writing.former]
        return versions.union(str(version) for _, called, version in former if called == name)

    @property
    def words(self) -> Mapping[str, set[int]]:
        """The forward operators by their numbers, scopes and lines."""
        for one in self.forward[self._worded :]:
            for word in one.words:
                self._words.setdefault(word, set()).add(one.number)
        self._worded = len(self.forward)
        return self._words

    @cached_property
    def hops(self) -> Hops:
        """The way from each forward operator towards a y, once the pass is whole."""
        hops: Hops = {}
        queue: list[Statement] = []
        for y, _ in self.ys:
            statement = self.latest(y).statement
            if statement is not None and statement.role == "forward" and statement.number not in hops:
                hops[statement.number] = (y, None)
                queue.append(statement)
        for statement in queue:
            for writing in statement.inputs:
                before = writing.statement
                if before is not None and before.number not in hops:
                    hops[before.number] = (writing.name, statement.number)
                    queue.append(before)
        return hops

    def _passed(self, index: int, passed: Sequence[tuple[Writing, Sequence[Writing]]], at: int) -> Statement:
        statement = Statement(self, index, "passed", self.forward[index].op, index, at)
        statement.outputs = list(dict.fromkeys(blob for blob, _ in passed))
        statement.inputs = list({part.name: part for _, parts in passed for part in parts}.values())
        for gradient in statement.inputs:
            gradient.readers.append(statement)
        self.backward.append(statement)
        return statement

    def _backward(self, role: Role, op: Operator, of: int | None, at: int) -> Statement:
        statement = Statement(self, len(self.operators), role, op, of, at)
        self.operators.append(statement)
        self.backward.append(statement)
        if op.type in NETS:
            for name in implicit_inputs(op):  # what it may leave as it is has a version from before
                self._read(name)
        self._fill(statement, op.inputs, op.outputs)
        return statement

    def _fill(self, statement: Statement, inputs: list[str], outputs: list[str]) -> None:
        for name in inputs:
            writing = self._read(name)
            writing.readers.append(statement)
            statement.inputs.append(writing)
        for name in outputs:
            statement.outputs.append(self._write(name, statement))

    def _read(self, name: str) -> Writing:
        """The last writing of `name`, which from now on has a version from the outside if nobody wrote it."""
        writings = self.writings.get(name)
        return writings[-1] if writings else self._write(name, None)

    def _write(self, name: str, statement: Statement | None) -> Writing:
        writings = self.writings.get(name)
        if writings is None:
            writings = self.writings[name] = []
        writing = Writing(name, len(writings), statement)
        writings.append(writing)
        return writing

    def _rename(self, renames: Sequence[tuple[Writing, str]], at: int) -> None:
        """Call writings otherwise from position `at` on."""
        gone = {writing for writing, _ in renames}
        lost = dict.fromkeys([writing.name for writing, _ in renames])
        for name in lost:
            writings = self.writings[name]
            self._lost.setdefault(name, []).extend([one for one in writings if one in gone])
            self.writings[name] = [one for one in writings if one not in gone]
        for writing, new in renames:
            writings = self.writings.setdefault(new, [])
            writing.rename(new, len(writings), at)
            writings.append(writing)
        for name in lost:
            for version, writing in enumerate(self.writings[name]):
                if writing.version != version:
                    writing.rename(name, version, at)


def _written(writing: Writing) -> int:
    """The position from which on a writing is there."""
    return -1 if writing.statement is None else writing.statement.made


def _times(writing: Writing, name: str) -> Iterator[int]:
    """The positions from which on a writing was called so."""
    since, before = _written(writing), ""
    for until, called, _ in (*writing.former, (AT_THE_END, writing.name, writing.version)):
        if called == name != before:
            yield since
        since, before = until, called


def _since(writing: Writing) -> int:
    """The position from which on a writing has the name that it has in the end."""
    return max(_times(writing, writing.name)) if writing.former else _written(writing)


def _role_of_rule(op: Operator, forward: Operator) -> Role:
    """What an operator of a rule does: copies a gradient for one of several outputs, or computes one."""
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
