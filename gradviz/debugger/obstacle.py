"""What keeps a recorded program from being run, found before its first operator: said at once, not when it is reached.

Planning stops at the first fault. Of blobs that nobody fed or wrote, all that are read are named: they are mended
together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ..program import GradvizError, Operator, RunError
from ..program.errors import shorten
from .lines import Lines
from .trace_parts import Obstacle

if TYPE_CHECKING:
    from .trace import Trace

UNDEFINED = "undefined_blob"

MOST_NAMED = 4
"""Blobs that a message names before the rest is counted."""


def complete(error: GradvizError, operators: Sequence[Operator], fed: Iterable[str]) -> GradvizError:
    """The error of planning `operators`; of a blob that is not there, with the others that are not there either."""
    if error.kind != UNDEFINED:
        return error
    undefined = dict(_undefined(operators, list(fed)))
    others = [name for name in undefined if name not in error.blobs]
    if not others:
        return error
    names = [*error.blobs, *others]
    more = [shorten(name) for name in others[:MOST_NAMED]]
    if len(others) > MOST_NAMED:
        more.append(f"{len(others) - MOST_NAMED} more")
    near = [f"In place of {shorten(name)}, did you mean {undefined[name]}?" for name in names if undefined.get(name)]
    return RunError(
        f"{error.message} Nor are {_listed(more)} there, which are read as well.",
        kind=UNDEFINED,
        operator_index=error.operator_index,
        blobs=names,
        ways_out=[*near, f'Feed them first: ws.feed("{names[0]}", array), and so the others.'],
    )


def _undefined(operators: Sequence[Operator], fed: list[str]) -> Iterator[tuple[str, str]]:
    """What is read before anybody wrote or fed it, each with the names like it that are there by then."""
    there = dict.fromkeys(fed)
    found: set[str] = set()
    for op in operators:
        # The gradient of a branch reads what only the other branch may have written.
        for name in op.inputs[:1] if op.is_gradient and op.type == "If" else op.inputs:
            if name not in there and name not in found:
                found.add(name)
                yield name, " or ".join(get_close_matches(name, there))
        there |= dict.fromkeys(op.outputs)


def entry(error: GradvizError, lines: Lines) -> Obstacle:
    """What a document says of it, with the lines at fault: those of gradient operators only where no other is."""
    index = error.operator_index
    every = [*lines.forward, *lines.operators]
    missing = {f"{name}@0" for name in error.blobs} if error.kind == UNDEFINED else set()
    at_fault = [line.id for line in every if not missing.isdisjoint(map(str, line.inputs))]
    if index is not None and index < len(every) and not at_fault:
        at_fault = [every[index].id]
    return Obstacle(
        kind=error.kind,
        message=error.message,
        ways_out=list(error.ways_out),
        blobs=list(map(str, error.blobs)),
        lines=list(dict.fromkeys(id for id in at_fault if id[0] == at_fault[0][0])),
    )


def sentence(obstacle: Obstacle | GradvizError) -> str:
    """Why, and the ways out."""
    return " ".join([obstacle.message, *obstacle.ways_out])


def reminder(trace: Trace, position: int) -> str:
    """That the program is not run, and why, for where the narration does not say it; else empty."""
    if trace.obstacle is None or position == 0:
        return ""
    event = trace.events[position - 1]
    return "" if event.kind == "Failed" and event.phase == "run" else f"Not run: {sentence(trace.obstacle)}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
