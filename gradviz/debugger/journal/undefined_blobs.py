"""Blobs that a program reads and nobody fed or wrote.

Planning stops at the first fault. Of such blobs all are named: they are mended together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...program import GradvizError, Operator, RunError
from ...program.errors import get_close_matches, listed, shorten

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
        f"{error.message} Nor are {listed(more)} there, which are read as well.",
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
