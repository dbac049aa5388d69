"""Random programs as a hypothesis strategy."""

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from .tree import ALWAYS, NEVER, SHAPE, Assign, Block, Body, If, Program, Statement, While, touched

INPUTS = ("a", "b", "w", "table")
NAMES = (*INPUTS, "c", "d", "a_grad", "a_grad_1", "_b_grad_autosplit_0", "c_grad")
"""Names of variables: some are those that gradients take where nobody else has them."""

UNARY = ("Tanh", "Sigmoid", "Sin", "Sqr", "Negative", "Scale", "Copy", "Gather", "StopGradient", "Floor", "Constant")
BINARY = ("Mul", "Add", "Sub", "Sum")
WEIGHTS = {**dict.fromkeys(UNARY, 2), **dict.fromkeys(BINARY, 5), "Scale": 4, "Tanh": 4, "Gather": 4, "Floor": 1}

MOST_GENES = 24
DEEPEST = 3
MOST_ROUNDS = (6, 3, 2)
"""Of a loop in the program itself, in a loop, and in a loop in a loop."""

Gene = tuple[int, int]
"""What a gene does, from 0 to 99, and the seed of all else."""


def programs() -> st.SearchStrategy[Program]:
    """Programs of 1 to `MOST_GENES` statements, which hypothesis makes smaller by leaving statements out."""
    # Three lists, since those of hypothesis are as a rule short.
    genes = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9999)), max_size=MOST_GENES // 3)
    return st.builds(
        lambda seed, *parts: grown([gene for part in parts for gene in part], seed),
        st.integers(0, 9999),
        genes,
        genes,
        genes,
    )


def grown(genes: Sequence[Gene], seed: int) -> Program:
    """The program that the genes stand for; with `seed` 0 its last variable is the only y."""
    growth = Growth()
    for kind, gene_seed in genes:
        growth.read(kind, random.Random(gene_seed))
    while len(growth.open) > 1:
        growth.close(random.Random(seed))
    statements, variables = growth.open[0].statements, growth.open[0].variables
    if touched(tuple(statements)).isdisjoint(variables):
        statements.append(Assign("c", "Tanh", ("a",)))
        variables.append("c")
    rng = random.Random(seed)
    inputs = {name: np.random.default_rng(seed + at).normal(0, 0.8, SHAPE) for at, name in enumerate(INPUTS)}
    # Not by the seed alone, which hypothesis likes to give to many programs.
    skipping = random.Random(f"{seed} {genes}")
    skip = skipping.randrange(len(statements)) if skipping.random() < 0.2 and seed else 0
    used = touched(tuple(statements))
    variables = [name for name in variables if name in used]
    ys: dict[str, np.ndarray | None] = {variables[-1]: None}
    if seed:
        wanted = rng.choices(variables[-4:], k=rng.randint(1, 2)) + rng.choices(variables, k=rng.randint(0, 2))
        seeds = [None, None, *(rng_array(rng) for _ in range(2))]
        ys = {y: rng.choice(seeds) for y in wanted}
    return Program(inputs, tuple(statements), skip, ys, seed)


def rng_array(rng: random.Random) -> np.ndarray:
    """A gradient to start from."""
    return np.array([rng.uniform(-1, 1) for _ in range(SHAPE[0])])


class Level(NamedTuple):
    """A body that grows.

    Attributes:
        kind: the statement that it will be part of; empty for the program itself.
        statements: so far.
        variables: those that are assigned whatever happens, the latest last.
        outer: those around it that it may touch.
        rng: for the statement that it will be part of.
        then: the body before the else, and what was assigned at its end.
        loops: how many loops are around its statements.
    """

    kind: str
    statements: list[Statement]
    variables: list[str]
    outer: frozenset[str]
    rng: random.Random
    then: tuple[Body, list[str]] | None
    loops: int


class Growth:
    """A program that grows gene by gene.

    Attributes:
        open: the bodies that have not been closed, the innermost last.
    """

    def __init__(self) -> None:
        self.open = [Level("", [], list(INPUTS), frozenset(), random.Random(0), None, 0)]

    def read(self, kind: int, rng: random.Random) -> None:
        """Grow by one gene: low numbers assign, so that hypothesis prefers them."""
        inside = self.open[-1]
        if kind >= 86 and len(self.open) > 1:
            if inside.kind == "if" and inside.then is None and kind >= 90:
                self._else()
            else:
                self.close(rng)
        elif kind >= 50 and len(self.open) <= DEEPEST:
            self._begin(("if", "while", "block", "if", "while")[kind % 5], rng)
        else:
            self._assign(rng)

    def _assign(self, rng: random.Random) -> None:
        inside = self.open[-1]
        operation = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        count = rng.randint(2, 3) if operation == "Sum" else 1 + (operation in BINARY)
        recent = inside.variables[-3:] if rng.random() < 0.7 else inside.variables
        sources = tuple(rng.choice(recent if rng.random() < 0.7 else inside.variables) for _ in range(count))
        unused = [name for name in NAMES if name not in inside.variables]
        target = rng.choice(unused) if unused and rng.random() < 0.35 else rng.choice(NAMES)
        inside.statements.append(Assign(target, operation, sources))
        if target in inside.variables:
            inside.variables.remove(target)
        inside.variables.append(target)

    def _begin(self, kind: str, rng: random.Random) -> None:
        around = self.open[-1]
        hidden = set(rng.sample(around.variables, min(2, len(around.variables) - 2))) if rng.random() < 0.3 else set()
        seen = [name for name in around.variables if kind == "if" or name not in hidden]
        self.open.append(Level(kind, [], seen, frozenset(seen), rng, None, around.loops + (kind == "while")))

    def _else(self) -> None:
        then = self.open.pop()
        before = self.open[-1].variables
        body = Body(tuple(then.statements), then.outer)
        self.open.append(then._replace(statements=[], variables=list(before), then=(body, then.variables)))

    def close(self, rng: random.Random) -> None:
        """End the innermost body."""
        inside = self.open.pop()
        around = self.open[-1]
        new = [name for name in inside.variables if name not in around.variables]
        if inside.then is not None:
            new = [name for name in new if name in inside.then[1]]
        if inside.kind == "while" or (inside.kind == "if" and inside.then is None) or rng.random() < 0.3:
            new = []
        outer = inside.outer | set(new)
        body = Body(tuple(inside.statements), outer)
        around.statements.append(self._statement(inside, body, inside.rng))
        around.variables.extend(new)

    def _statement(self, inside: Level, body: Body, rng: random.Random) -> Statement:
        style = rng.randrange(10_000)
        variable = rng.choice([name for name in self.open[-1].variables if name in body.outer])
        if inside.kind == "block":
            return Block(body, style)
        if inside.kind == "while":
            rounds = min(rng.choice((0, 1, 2, 3, 4, 5, 6, 6)), MOST_ROUNDS[inside.loops - 1])
            return While(rounds, variable if rng.random() < 0.3 else None, body, style)
        condition = rng.choice((ALWAYS, NEVER, variable, variable))
        if inside.then is None:
            return If(condition, body, None, style)
        then = inside.then[0]._replace(outer=body.outer)
        return If(condition, then, body, style)
