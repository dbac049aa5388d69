"""From a random program to a net: branches become If, loops While, and bodies Do or bare operators.

How a body is written is drawn from the style of its statement: the same program has many nets.
"""

import random
from collections.abc import Callable, Container, Iterable, Sequence

from gradviz import Net, Operator
from gradviz.program import NetDef

from .growth import NAMES
from .tree import (
    ALWAYS,
    CONSTANTS,
    NEVER,
    ONE,
    ROWS,
    THRESHOLD,
    Assign,
    Block,
    Body,
    If,
    Program,
    Statement,
    While,
)

PASSED_DOWN = "scope"
"""A scope of the program itself, on which bodies anywhere may keep their workspaces."""

SWAPPED = {"a": "b", "b": "a", "c": "w", "w": "c"}
RENAMINGS: tuple[Callable[[str], str], ...] = (
    lambda name: name,
    lambda name: SWAPPED.get(name, name),
    lambda name: f"{name}_inside",
    lambda name: f"{name}_grad",
)
"""What a body calls the variables around it."""


class Lowered:
    """A program as a net.

    Attributes:
        net: its operators.
        skip: how many of them make up the statements to skip.
        shapes: what the net is made of, in words.
    """

    def __init__(self, program: Program, *, sheltered: bool = False) -> None:
        """Write `program` as a net; where `sheltered`, every body is a Do, so that all versions are kept."""
        self.words: set[str] = set()
        self._numbers = 0
        self.sheltered = sheltered
        outermost = Frame(self, lambda name: name, random.Random(program.style)).open()
        outermost.emit("CreateScope", [], [PASSED_DOWN])
        for statement in program.statements[: program.skip]:
            outermost.add(statement)
        self.skip = len(outermost.ops)
        rest = program.statements[program.skip :]
        if sheltered:
            outermost.add(Block(Body(rest, frozenset(NAMES)), 0))
        else:
            for statement in rest:
                outermost.add(statement)
        self.net = Net("program", outermost.ops)

    def fresh(self, name: str) -> str:
        """A name that no variable has."""
        self._numbers += 1
        return f"{name}{self._numbers}"


class Frame:
    """A net in the making.

    Attributes:
        ops: its operators.
        reads: what they read that was there before, in order.
        writes: what they write, in order.
        sure: what they write for sure.
        scope: a scope that several of its statements may use; None: there is none.
        busy: scopes that statements in it may not use.
    """

    def __init__(
        self, lowered: Lowered, rename: Callable[[str], str], rng: random.Random, busy: frozenset[str] = frozenset()
    ) -> None:
        self.ops: list[Operator] = []
        self.reads: dict[str, None] = {}
        self.writes: dict[str, None] = {}
        self.sure: set[str] = set()
        self.busy = busy
        self._lowered = lowered
        self._rename = rename
        self.scope = lowered.fresh("common") if rng.random() < 0.4 else None

    def open(self) -> "Frame":
        """The frame of a Do: its common scope is made first."""
        if self.scope is not None:
            self.emit("CreateScope", [], [self.scope])
        return self

    def beside(self) -> "Frame":
        """A frame for a net that works on the same blobs."""
        frame = Frame(self._lowered, self._rename, random.Random(0), self.busy)
        frame.scope = self.scope
        return frame

    def name(self, variable: str) -> str:
        """What a variable is called here."""
        return variable if variable in CONSTANTS else self._rename(variable)

    def emit(self, type: str, inputs: Iterable[str], outputs: Iterable[str], **args: object) -> None:
        """Append an operator on variables."""
        reads, writes = list(inputs), list(outputs)
        self.record(reads, writes, writes)
        self.ops.append(Operator(type, [self.name(v) for v in reads], [self.name(v) for v in writes], args))

    def record(self, reads: Iterable[str], writes: Iterable[str], sure: Iterable[str]) -> None:
        """Note what an operator reads and writes."""
        self.reads.update(dict.fromkeys(name for name in reads if name not in self.sure))
        self.writes.update(dict.fromkeys(writes))
        self.sure.update(sure)

    def add(self, statement: Statement) -> None:
        """Append the operators of a statement."""
        match statement:
            case Assign(target, operation, sources):
                self._assign(target, operation, sources)
            case Block(body, style):
                self._do(body, random.Random(style))
            case If():
                self._if(statement, random.Random(statement.style))
            case While():
                self._while(statement, random.Random(statement.style))

    def _assign(self, target: str, operation: str, sources: tuple[str, ...]) -> None:
        word = self._lowered.words.add
        if target in sources:
            word("in place")
        if operation in ("StopGradient", "Floor"):
            passing = self._lowered.fresh("stopped")
            self.emit(operation, sources, [passing])
            if operation == "Floor":
                self.emit("StopGradient", [passing], [f"{passing}_too"])
                passing = f"{passing}_too"
            self.emit("Copy", [passing], [target])
        elif operation == "Constant":
            self.emit("ConstantFill", sources, [target], value=0.3)
        elif operation == "Scale":
            self.emit("Scale", sources, [target], scale=0.7)
        else:
            self.emit(operation, [*sources, ROWS] if operation == "Gather" else sources, [target])

    def _holds(self, condition: str) -> str:
        """A boolean for the condition."""
        if condition in (ALWAYS, NEVER):
            return condition
        total, flag = self._lowered.fresh("total"), self._lowered.fresh("flag")
        self.emit("SumElements", [condition], [total])
        self.emit("LT", [total, THRESHOLD], [flag])
        return flag

    def _if(self, statement: If, rng: random.Random) -> None:
        flag = self._holds(statement.condition)
        frames = [self._branch(body, rng) for body in (statement.then, statement.otherwise) if body is not None]
        reads = [name for frame in frames for name in frame.reads]
        writes = dict.fromkeys(name for frame in frames for name in frame.writes)
        sure = set.intersection(*(frame.sure for frame in frames)) if len(frames) == 2 else set()
        nets = dict(zip(("then_net", "else_net"), frames, strict=False))
        self._over_nets("If", flag, nets, reads, writes, sure, statement.then.outer, rng)

    def _branch(self, body: Body, rng: random.Random) -> "Frame":
        frame = self.beside()
        if not self._lowered.sheltered and rng.random() < 0.5:
            self._lowered.words.add("bare branch")
            for statement in body.statements:
                frame.add(statement)
        else:
            frame._do(body, rng, made_in=self)
        return frame

    def _while(self, statement: While, rng: random.Random) -> None:
        fresh = self._lowered.fresh
        counter, limit, flag = fresh("counter"), fresh("limit"), fresh("go")
        self.emit("ConstantFill", [], [counter], value=0, dtype="int64")
        self.emit("ConstantFill", [], [limit], value=statement.rounds, dtype="int64")

        def ask(frame: Frame) -> None:
            if statement.condition is None:
                frame.emit("LT", [counter, limit], [flag])
                return
            below, holds = fresh("below"), frame._holds(statement.condition)
            frame.emit("LT", [counter, limit], [below])
            frame.emit("And", [below, holds], [flag])

        def count(frame: Frame) -> None:
            frame.emit("Add", [counter, ONE], [counter])

        style = rng.choice(("bare condition", "condition in a Do", "condition in the body"))
        self._lowered.words.add(style)
        inner, asking = self.beside(), self.beside()
        ask(self)
        if style == "condition in the body":
            inner._do(statement.body, rng, [count, ask], [counter, limit, flag], made_in=self)
        else:
            inner._do(statement.body, rng, [count], [counter], made_in=self)
            if style == "bare condition":
                ask(asking)
            else:
                outer = frozenset() if statement.condition is None else frozenset({statement.condition})
                asking._do(Body((), outer), rng, [ask], [counter, limit, flag], made_in=self)
        nets = {"cond_net": asking, "loop_net": inner} if asking.ops else {"loop_net": inner}
        reads = [*asking.reads, *(name for name in inner.reads if name not in asking.sure)]
        writes = {**inner.writes, **asking.writes}
        self._over_nets("While", flag, nets, reads, writes, asking.sure, statement.body.outer, rng)

    def _over_nets(
        self,
        type: str,
        flag: str,
        nets: "dict[str, Frame]",
        reads: Sequence[str],
        writes: Iterable[str],
        sure: Iterable[str],
        outer: Container[str],
        rng: random.Random,
    ) -> None:
        """Append an If or While of `nets`, which need not say that it reads what it also writes.

        It may list an output that its nets only read.
        """
        idle = [name for name in reads if name in outer and name not in writes]
        if idle and rng.random() < 0.3:
            self._lowered.words.add("idle output")
            writes = [*writes, rng.choice(idle)]
        listed = [name for name in dict.fromkeys(reads) if name != flag and (name not in writes or rng.random() < 0.6)]
        kept = [name for name in writes if name in outer and name not in sure]
        self.record([flag, *reads, *kept], writes, sure)
        inputs, outputs = [self.name(v) for v in (flag, *listed)], [self.name(v) for v in writes]
        if any(name in writes and name not in listed for name in reads):
            self._lowered.words.add("unlisted input")
        args = {argument: NetDef(argument, frame.ops) for argument, frame in nets.items()}
        self.ops.append(Operator(type, inputs, outputs, args))

    def _do(
        self,
        body: Body,
        rng: random.Random,
        then: Sequence[Callable[["Frame"], None]] = (),
        around: Sequence[str] = (),
        made_in: "Frame | None" = None,
    ) -> None:
        """Append a Do of a body and of what comes after it, which touches the names `around` it.

        Args:
            made_in: where its scope is made, if it has one of its own.
        """
        lowered, words = self._lowered, self._lowered.words
        scope = self._scope(rng, made_in or self)
        number = rng.choice((0, 0, 1, 2, 3))
        frame = Frame(lowered, RENAMINGS[number], rng, self.busy | {scope}).open()
        for statement in body.statements:
            frame.add(statement)
        for add in then:
            add(frame)
        outer = {*body.outer, *around, *CONSTANTS, PASSED_DOWN}
        writes = [name for name in frame.writes if name in outer]
        reads = [name for name in frame.reads if name in outer]
        idle = [name for name in reads if name in body.outer and name not in writes]
        if idle and rng.random() < 0.2:
            words.add("idle output")
            writes.append(rng.choice(idle))
        listed = [name for name in reads if name not in writes or rng.random() < 0.6]
        candidates = [*listed, *writes]
        bound = list(dict.fromkeys(candidates))
        if number:
            words.add("renamed")
        if any(name in writes and name not in listed for name in reads):
            words.add("unlisted input")
        args = {
            "net": NetDef("body", frame.ops),
            "inner_blobs": [frame.name(name) for name in bound],
            "outer_blobs_idx": [candidates.index(name) for name in bound],
        }
        if rng.random() < 0.15:
            words.add("reused workspace")
            args["reuse_workspace"] = 1
        kept = [name for name in writes if name not in frame.sure]
        self.record([*reads, *kept, scope], [*writes, scope], [*(n for n in writes if n in frame.sure), scope])
        names = [self.name(name) for name in (*listed, scope)], [self.name(name) for name in (*writes, scope)]
        self.ops.append(Operator("Do", *names, args))

    def _scope(self, rng: random.Random, made_in: "Frame") -> str:
        """A scope for a Do: its own, one that is common to this frame, or the one that is passed down."""
        words, roll = self._lowered.words, 0.5 if self._lowered.sheltered else rng.random()
        if roll < 0.3 and self.scope is not None:
            words.add("common scope")
            return self.scope
        if roll > 0.8 and PASSED_DOWN not in self.busy:
            words.add("scope passed down")
            return PASSED_DOWN
        scope = self._lowered.fresh("scope")
        made_in.emit("CreateScope", [], [scope])
        return scope
