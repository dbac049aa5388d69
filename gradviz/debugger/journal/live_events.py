"""The events of a net that stood still between operators, with the names that gradients have by now."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ...program import Gradient, GradientSlice, Operator
from ...program.events import Accumulated, ChangedByHand, Event, GeneratorAdded, InputChecked, Ran, RuleApplied, Seeded
from ...program.operator import BlobVersion, Ssa, parts_of
from .live_run import Done


class LiveEvents:
    """The events so far, with the names that gradients have by now.

    In a nested net, whose pass is made whole, they have those that they had then.

    Attributes:
        events: they.
        of_pass: those of the pass alone, without what ran.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.of_pass: list[Event] = []
        self._count = 0
        # Of the rule that was applied last, what it called its outputs, and what these are called now.
        self._names: dict[str, deque[str]] = {}

    def go_on(self, happened: Sequence[Event | Done], numbered: Sequence[Ssa[BlobVersion]], forward: int) -> None:
        """Add what has happened since.

        Args:
            happened: all that has.
            numbered: every operator of the net, then of its backward pass, with its versions; `forward`: how many are
                of the net.
        """
        for one in happened[self._count :]:
            if isinstance(one, Done):
                ssa = numbered[one.position]
                self.events += one.inside
                self.events.append(
                    Ran(one.position, ssa.op, ssa.in_versions, ssa.out_versions, one.device, one.seconds)
                )
            else:
                self.of_pass.append(one if one.path else self._with_new_names(one, numbered, forward))
                self.events.append(self.of_pass[-1])
        self._count = len(happened)

    def _with_new_names(self, event: Event, numbered: Sequence[Ssa[BlobVersion]], forward: int) -> Event:
        """An event around all nested nets, with the names that gradients have now."""
        match event:
            case Seeded() if event.position is not None:
                op = numbered[forward + event.position].op
                return replace(event, operator=op, gradient=op.outputs[0])
            case RuleApplied():
                operators = _operators(event, numbered, forward)
                self._names, of_inputs = _new_names(event.operators, operators), _new_names(event.operators, operators)
                return replace(event, operators=operators, g_input=[_named(each, of_inputs) for each in event.g_input])
            case GeneratorAdded() if event.position is not None:
                named = _named(event.gradient, self._names)
                return event if named is None else replace(event, gradient=named)
            case Accumulated():
                return replace(event, renames=[], operators=_operators(event, numbered, forward))
            case ChangedByHand() if event.position is not None:
                ssa = numbered[forward + event.position]
                return replace(event, blob=ssa.op.outputs[0], version=ssa.writes[0].version, operators=[ssa.op])
        return event


def _operators(event: RuleApplied | Accumulated, numbered: Sequence[Ssa[BlobVersion]], forward: int) -> list[Operator]:
    """The operators that came with an event, as they are now."""
    first = forward + event.position
    return [ssa.op for ssa in numbered[first : first + len(event.operators)]]


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
    names: dict[str, deque[str]] = {}
    for one, other in zip(before, now, strict=True):
        for old, new in zip(one.outputs, other.outputs, strict=True):
            if new not in (called := names.setdefault(old, deque())):
                called.append(new)
    return names


def _named(gradient: Gradient | None, names: Mapping[str, deque[str]]) -> Gradient | None:
    """A gradient as it is called now; where there are several of its name, the next of them."""
    if gradient is None:
        return None
    parts = [
        called.popleft() if len(called := names.get(one, deque([one]))) > 1 else called[0] for one in parts_of(gradient)
    ]
    return GradientSlice(*parts) if isinstance(gradient, GradientSlice) else parts[0]
