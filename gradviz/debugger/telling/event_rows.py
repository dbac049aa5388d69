"""What conditions ask about in each event, as rows: which blob versions it writes, and which operator it is about."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ..document import EventRow, Line, Trace, TraceEvent, all_lines


def with_rows(trace: Trace) -> list[TraceEvent]:
    """The events of `trace` with their rows; those that are told like an earlier one share its row."""
    lines = {line.id: line for line in all_lines(trace)}
    backward = (line for line in lines.values() if line.kind == "operator" and line.role != "forward")
    gradients = {(line.id.rpartition(".")[0], blob) for line in backward for blob in line.outputs}
    rows: dict[int, EventRow] = {}
    events = []
    for position, event in enumerate(trace.events, 1):
        key = id(event.detail)
        if key not in rows:
            writes = _written(position, event, lines)
            about = writes or event.blobs
            is_gradient = bool(about) and (event.subnet or "", about[0]) in gradients
            is_gradient |= event.kind == "GradWritten" and bool(writes)
            added = _added(event) if event.kind == "Accumulated" else None
            rows[key] = EventRow(_operator(event), writes, is_gradient, added)
        events.append(replace(event, row=rows[key]))
    return events


def _written(position: int, event: TraceEvent, lines: Mapping[str, Line]) -> list[str]:
    written: list[str] = []
    if event.kind == "GradWritten":
        return [blob for blob in event.blobs[:1] if blob == event.detail.get("after")]
    for id in event.lines:
        line = lines[id]
        if (line.made == position or event.kind == "Ran") and line.kind == "operator":
            # Most events write what one operator does, whose list they share.
            written = [*written, *line.outputs] if written else line.outputs
    return written


def _operator(event: TraceEvent) -> str | None:
    """Id of the operator that ran, else of the forward one, else of the last one made."""
    if event.kind != "Ran" and event.forward is not None:
        return f"{event.subnet}.f{event.forward}" if event.subnet else f"f{event.forward}"
    return event.lines[-1] if event.lines else None


def _added(event: TraceEvent) -> tuple[int, int]:
    """How many of the gradients of an accumulation are sparse, and how many dense."""
    contributions = event.detail["contributions"]
    dense = sum(isinstance(one["gradient"], str) for one in contributions)
    return len(contributions) - dense, dense
