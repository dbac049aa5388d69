"""Two linked clocks: the event that made an operator, and the event that ran it."""

from __future__ import annotations

from ..document.parts import Line, TraceEvent
from ..document.schema import Trace
from .faults import CursorError
from .writings import all_lines


def other_clock(trace: Trace, position: int) -> int:
    """From where an operator was made the position where it ran; from where it ran the one where it was made.

    An operator in a loop runs often: the first time counts.

    Raises:
        CursorError: ``not_found`` where the event is about no operator; ``not_computed`` where it was never run.
    """
    lines = {line.id: line for line in all_lines(trace)}
    event = trace.events[position - 1] if position else None
    about = [line for id in _about(event) if (line := lines[id]).kind == "operator"]
    if not about:
        raise CursorError(
            f"The event at position {position} is about no operator.",
            kind="not_found",
            ways_out=["Move to one that makes or runs an operator: Played, RuleApplied, Accumulated, Ran."],
        )
    return _other(position, event, about)


def _about(event: TraceEvent | None) -> list[str]:
    """The operators of an event: those that it makes or runs, else the forward operator."""
    if event is None:
        return []
    if event.lines or event.forward is None:
        # Of an accumulation the last line is the sum; the others were only renamed.
        return list(reversed(event.lines)) if event.kind == "Accumulated" else event.lines
    return [f"{event.subnet}.f{event.forward}" if event.subnet else f"f{event.forward}"]


def _other(position: int, event: TraceEvent | None, about: list[Line]) -> int:
    if event is not None and event.kind == "Ran":
        return about[0].made
    ran = next((line.ran for line in about if line.ran is not None), None)
    if ran is None:
        raise CursorError(
            f"{about[0].type} was made at event {about[0].made} and never run.",
            kind="not_computed",
            blobs=about[0].outputs,
            ways_out=["Feed the net's inputs and give the workspace: gradviz.debug(net, ys, workspace=ws)."],
        )
    return ran
