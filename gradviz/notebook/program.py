"""The program of a trace as it reads at one position: the lines that the static forms of an output show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..debugger.document import Line, Trace

__all__ = ["Row", "rows"]

MOST_ROWS = 200
"""Longer programs are cut in an output; the widget and the trace have them whole."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of text with what has to be said about it."""

    text: str
    mark: str = " "
    """">" the forward operator visited, "*" made, changed or run by the current event, "!" why nothing is run, " " none
    of these."""
    made: bool = True
    """False: it does not exist yet at this position."""
    is_obstacle: bool = False
    """Whether it is at fault that nothing is run."""


def rows(trace: Trace, lines: Sequence[Line], position: int) -> Iterator[Row]:
    """The lines of one half of the program at `position`, in their order, at most MOST_ROWS of them."""
    event = trace.events[position - 1] if position else None
    new = set(event.lines) if event is not None else set()
    obstacles = set(trace.obstacle.lines) if trace.obstacle is not None else set()
    visited = f"f{event.forward}" if event is not None and event.subnet is None else None
    for line in lines[:MOST_ROWS]:
        is_obstacle = line.id in obstacles
        mark = "*" if line.id in new else ">" if line.id == visited else "!" if is_obstacle else " "
        # The net is there from the start; only what differentiation makes comes about.
        yield Row(_text(line, position), mark, line.role == "forward" or line.made <= position, is_obstacle)
    if len(lines) > MOST_ROWS:
        yield Row(f"… and {len(lines) - MOST_ROWS} more")


def _text(line: Line, position: int) -> str:
    inputs, outputs = _names(line, position)
    if line.kind == "passed":
        number, gradients = "", _listed(f"∂{blob}" for blob in outputs)
        return f"{number:<4} {gradients} := {_listed(inputs)}  passed through {line.type} #{line.of}"
    number = f"#{line.id[1:]}" if line.role == "forward" else line.id
    return f"{number:<4} {_listed(outputs)} = {line.type}({_listed(inputs)})"


def _names(line: Line, position: int) -> tuple[list[str], list[str]]:
    """What the line read and wrote at `position`; a line that is not made yet reads as it will when it is made."""
    now = line.history[0]
    for revision in line.history:
        if revision.at <= position:
            now = revision
    return now.inputs, now.outputs


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
