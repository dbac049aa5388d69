"""Random programs with branches, loops and blocks: what they are made of.

Every variable of a program holds numbers of one shape. A body may touch the variables in `Body.outer` as they are
around it; any other that it assigns is its own, and is gone at its end.
"""

from collections.abc import Iterator
from typing import NamedTuple, Union

import numpy as np

SHAPE = (3,)
"""Of every variable."""

ROWS = "rows"
"""Input that `Gather` reads, indices (3,) with one that repeats."""

THRESHOLD = "threshold"
"""Input with which conditions compare sums, a scalar."""

ONE, ALWAYS, NEVER = "one", "always", "never"
"""Inputs that count rounds and decide branches: the integer 1, true and false."""

CONSTANTS = {
    ROWS: np.array([2, 0, 2]),
    THRESHOLD: np.array(0.25),
    ONE: np.array(1),
    ALWAYS: np.array(True),
    NEVER: np.array(False),
}


class Assign(NamedTuple):
    """``target = operation(*sources)``."""

    target: str
    operation: str
    sources: tuple[str, ...]


class Body(NamedTuple):
    """Statements, and the variables around them that they may touch."""

    statements: "tuple[Statement, ...]"
    outer: frozenset[str]


class Block(NamedTuple):
    """A body that runs once. `style`: a seed for how it is written as operators."""

    body: Body
    style: int


class If(NamedTuple):
    """A branch. `condition`: `ALWAYS`, `NEVER`, or a variable whose sum must be below the threshold."""

    condition: str
    then: Body
    otherwise: Body | None
    style: int


class While(NamedTuple):
    """A loop of at most `rounds` rounds, which ends before where the sum of `condition` is not below the threshold."""

    rounds: int
    condition: str | None
    body: Body
    style: int


Statement = Union[Assign, Block, If, While]  # noqa: UP007 (it names itself)


class Program(NamedTuple):
    """A program and what to differentiate.

    Attributes:
        inputs: the variables that are there before it.
        skip: how many of its first statements take no part in the backward pass.
        ys: variable -> gradient that it starts from, or None for ones.
        style: a seed for how it is written as operators.
    """

    inputs: dict[str, np.ndarray]
    statements: tuple[Statement, ...]
    skip: int
    ys: dict[str, np.ndarray | None]
    style: int

    def __str__(self) -> str:
        lines = [f"inputs {', '.join(self.inputs)}; skip {self.skip}; ys {self.ys}; style {self.style}"]
        return "\n".join([*lines, *_lines(self.statements, "  ")])


def every(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """The statements and those inside of them."""
    for statement in statements:
        yield statement
        for body in bodies(statement):
            yield from every(body.statements)


def touched(statements: tuple[Statement, ...]) -> set[str]:
    """The variables around the statements that they read or assign."""
    names: set[str] = set()
    for statement in statements:
        match statement:
            case Assign(target, _, sources):
                names.update([target, *sources])
            case If(condition) | While(_, condition) if condition not in (None, ALWAYS, NEVER):
                names.add(condition)
        for body in bodies(statement):
            names |= touched(body.statements) & body.outer
    return names


def bodies(statement: Statement) -> list[Body]:
    """The bodies of a statement."""
    match statement:
        case Block(body) | While(body=body):
            return [body]
        case If(_, then, otherwise):
            return [then] if otherwise is None else [then, otherwise]
    return []


def _lines(statements: tuple[Statement, ...], indent: str) -> Iterator[str]:
    for statement in statements:
        match statement:
            case Assign(target, operation, sources):
                yield f"{indent}{target} = {operation}({', '.join(sources)})"
            case Block(body, style):
                yield f"{indent}block around {sorted(body.outer)} style {style}:"
            case If(condition, _, _, style):
                yield f"{indent}if {condition}: style {style}"
            case While(rounds, condition, body, style):
                yield f"{indent}while below {rounds} and {condition}, around {sorted(body.outer)} style {style}:"
        for number, body in enumerate(bodies(statement)):
            if number:
                yield f"{indent}else:"
            yield from _lines(body.statements, f"{indent}    ")
