"""The events of a net that stood still between operators, with the names that gradients have by now."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from ...program import Gradient, GradientSlice, Operator
from ...program.events import Accumulated, ChangedByHand, Event, GeneratorAdded, InputChecked, Ran, RuleApplied, Seeded
from ...program.operator import BlobVersion, Ssa, parts_of
from .live_run import Done


def told(happened: Iterable[Event | Done], numbered: Sequence[Ssa[BlobVersion]], forward: int) -> list[Event]:
    """The events, with the names that gradients have by now.

    In a nested net, whose pass is made whole, they have those that they had then.

    Args:
        numbered: every operator of the net, then of its backward pass, with its versions; `forward`: how many are of
            the net.
    """
    backward = [ssa.op for ssa in numbered[forward:]]
    events: list[Event] = []
    # Of the rule that was applied last, what it called its outputs, and what these are called now.
    names: dict[str, deque[str]] = {}
    for one in happened:
        match one:
            case Done():
                ssa = numbered[one.position]
                events += one.inside
                event: Event = Ran(one.position, ssa.op, ssa.in_versions, ssa.out_versions, one.device, one.seconds)
            case Event() if one.path:
                event = one
            case Seeded() if one.position is not None:
                op = backward[one.position]
                event = replace(one, operator=op, gradient=op.outputs[0])
            case RuleApplied():
                made = backward[one.position : one.position + len(one.operators)]
                names, of_inputs = _new_names(one.operators, made), _new_names(one.operators, made)
                event = replace(one, operators=made, g_input=[_named(each, of_inputs) for each in one.g_input])
            case GeneratorAdded() if one.position is not None:
                named = _named(one.gradient, names)
                event = one if named is None else replace(one, gradient=named)
            case Accumulated():
                made = backward[one.position : one.position + len(one.operators)]
                event = replace(one, renames=[], operators=made)
            case ChangedByHand() if one.position is not None:
                op = backward[one.position]
                version = numbered[forward + one.position].writes[0].version
                event = replace(one, blob=op.outputs[0], version=version, operators=[op])
            case _:
                event = one
        events.append(event)
    return events


def placed(event: Event, places: Sequence[int]) -> Event:
    """An event with the numbers that gradient operators have by their `places`."""
    if event.path:
        return event
    if isinstance(event, Accumulated):
        terms = [
            one if one.position is None else replace(one, position=places[one.position]) for one in event.contributions
        ]
        return replace(event, contributions=terms, position=places[event.position])
    if isinstance(event, RuleApplied):
        return replace(event, position=places[event.position]) if event.operators else event
    if isinstance(event, Seeded | InputChecked | GeneratorAdded) and event.position is not None:
        return replace(event, position=places[event.position])
    return event


def _new_names(before: Sequence[Operator], now: Sequence[Operator]) -> dict[str, deque[str]]:
    """What outputs of operators were called -> what they are called now, one after the other where inputs shared it."""
    found: dict[str, deque[str]] = {}
    for one, other in zip(before, now, strict=True):
        for old, new in zip(one.outputs, other.outputs, strict=True):
            if new not in (called := found.setdefault(old, deque())):
                called.append(new)
    return found


def _named(gradient: Gradient | None, names: Mapping[str, deque[str]]) -> Gradient | None:
    """A gradient as it is called now; where there are several of its name, the next of them."""
    if gradient is None:
        return None
    parts = [
        called.popleft() if len(called := names.get(one, deque([one]))) > 1 else called[0] for one in parts_of(gradient)
    ]
    return GradientSlice(*parts) if isinstance(gradient, GradientSlice) else parts[0]
