"""The events that the details of a trace document describe, checked: each has what events of its kind have."""

from __future__ import annotations

from typing import Any

import msgspec

from ...program.errors import GradvizError
from ...program.events import Event, from_dict, from_dicts
from .bounds import TraceError, wrong
from .check import distinct
from .parts import Subnet, TraceEvent
from .schema import Trace

NUMBERS = ("index", "position", "version", "in_versions", "out_versions")
"""Fields of events that count operators or versions."""


def told(trace: Trace) -> list[Event]:
    """For each event of a trace the one that its detail describes.

    What the document says once for all iterations of a loop, and how long an operator ran, is not in it. Raises
    TraceError where a detail is not what events of its kind have.
    """
    first = distinct(trace)
    events = [trace.events[index] for index in first]
    try:
        made = from_dicts(map(described, events))
    except (msgspec.ValidationError, GradvizError):
        for index, event in zip(first, events, strict=True):
            _check_detail(f"events[{index}].detail", event)
        raise
    nets: list[Trace | Subnet] = [trace, *trace.subnets]
    most = sum(len(net.forward) + len(net.backward) for net in nets)
    for index, found in zip(first, made, strict=True):
        _check_numbers(f"events[{index}].detail", found, most)
    by_detail = {id(event.detail): found for event, found in zip(events, made, strict=True)}
    return [by_detail[id(event.detail)] for event in trace.events]


def described(event: TraceEvent) -> dict[str, Any]:
    """What the detail of an event describes, as `from_dict` reads it."""
    return {"seconds": None, **event.detail, "event": event.kind}


def _check_detail(where: str, event: TraceEvent) -> None:
    try:
        from_dict(described(event))
    except (msgspec.ValidationError, GradvizError) as error:
        raise TraceError(
            f"The trace is not built as {event.kind} events are, at {where}: {error}.",
            kind="bad_structure",
            ways_out=["The file may be damaged: save the session again."],
        ) from None


def _check_numbers(where: str, event: Event, most: int) -> None:
    """`most` lines there are: no operator, position or version has a greater number."""
    for field in NUMBERS:
        given = getattr(event, field, None)
        for number in given if isinstance(given, tuple) else (given,):
            if number is not None and not 0 <= number <= most:
                wrong(f"{where}.{field}", f"it is {number}, and there are {most} lines")
