"""What a set of random programs covers: the words for one of them, and how many programs each word needs."""

from collections import Counter
from collections.abc import Iterator

from .lowering import Lowered
from .reference import Reference
from .tree import ALWAYS, NEVER, Assign, Block, If, Program, While, bodies, every
from .verdict import COMPARED

LEAST = {
    COMPARED: 0.65,
    "depth 2": 0.4,
    "depth 3": 0.25,
    "a block": 0.2,
    "a loop": 0.3,
    "a loop in a loop": 0.12,
    "a loop that data ends": 0.12,
    **{f"{rounds} rounds": 0.02 for rounds in range(5)},
    **{f"{rounds} rounds": 0.004 for rounds in (5, 6)},
    "a branch that data decides": 0.3,
    "a branch in a loop in a branch": 0.01,
    "one branch writes": 0.4,
    "then taken": 0.2,
    "else taken": 0.2,
    "no branch taken": 0.06,
    "hidden variable": 0.5,
    "in place": 0.3,
    **{f"{operation} inside": 0.06 for operation in ("Gather", "StopGradient", "Constant", "Sum", "Floor")},
    "skip": 0.03,
    "several ys": 0.4,
    "given gradient": 0.4,
    "one gradient for two ys": 0.04,
    "renamed": 0.5,
    "unlisted input": 0.5,
    "idle output": 0.3,
    "reused workspace": 0.2,
    "bare branch": 0.3,
    "bare condition": 0.1,
    "condition in a Do": 0.1,
    "condition in the body": 0.2,
    "common scope": 0.15,
    "scope passed down": 0.25,
}
"""Word -> the share of the programs that must have it: well below what is drawn, which changes of the code shift."""


def words(program: Program, reference: Reference, lowered: Lowered) -> set[str]:
    """What there is in a program, as it ran and as it is written."""
    found = {*lowered.words, *_of_statements(program), *_of_starts(program)}
    found.update(f"{rounds} rounds" for rounds in reference.rounds)
    found.update({True: "then taken", False: "else taken"}[taken] for taken in reference.taken)
    return found


def assert_rich(census: Counter[str], programs: int) -> None:
    """Raise unless each word was found often enough."""
    poor = {word: census[word] for word, share in LEAST.items() if census[word] < share * programs}
    assert not poor, f"of {programs} programs too few have {poor}"


def _of_statements(program: Program) -> Iterator[str]:
    for statement in every(program.statements):
        match statement:
            case If(condition, then, otherwise):
                if condition not in (ALWAYS, NEVER):
                    yield "a branch that data decides"
                if condition == NEVER and otherwise is None:
                    yield "no branch taken"
                if otherwise is None or _targets(then) != _targets(otherwise):
                    yield "one branch writes"
            case While(_, condition, body):
                yield "a loop"
                if condition is not None:
                    yield "a loop that data ends"
                if any(isinstance(inner, While) for inner in every(body.statements)):
                    yield "a loop in a loop"
            case Block():
                yield "a block"
        for body in bodies(statement):
            yield from (f"{inner.operation} inside" for inner in body.statements if isinstance(inner, Assign))
            if _targets(body) - body.outer:
                yield "hidden variable"
    yield from _of_nesting(program.statements, ())


def _of_nesting(statements: tuple, around: tuple[str, ...]) -> Iterator[str]:
    for statement in statements:
        if bodies(statement):
            nest = (*around, type(statement).__name__)
            yield f"depth {len(nest)}"
            if nest == ("If", "While", "If"):
                yield "a branch in a loop in a branch"
            for body in bodies(statement):
                yield from _of_nesting(body.statements, nest)


def _of_starts(program: Program) -> Iterator[str]:
    if program.skip:
        yield "skip"
    if len(program.ys) > 1:
        yield "several ys"
    given = [id(array) for array in program.ys.values() if array is not None]
    if given:
        yield "given gradient"
    if len(set(given)) < len(given):
        yield "one gradient for two ys"


def _targets(body) -> set[str]:
    return {statement.target for statement in body.statements if isinstance(statement, Assign)}
