"""The way back from a blob with a fault to where that was born."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import msgspec

from ..document import Number, Value, number
from ..journal import Statement, Writing
from ..statistics import WORKSPACES
from .net_view import NetView, bindings, placed

What = Literal["nan", "inf", "zero", "explosion"]
Side = Literal["forward", "backward", "fed"]


class Link(msgspec.Struct, frozen=True):
    """A blob version on the way back to where the fault was born, and who computed it.

    Attributes:
        blob: in a nested net behind the path to it.
        by: the operator as text; where nobody computed it, how it came.
        side: whether a forward or a backward operator computed it, or it was fed.
        at: the position after that; None: before the start.
        norm, min, max, nan, inf, zero, size: its statistics.
        growth: its norm as a multiple of the greatest norm that went into it; None: not asked for, or there is none.
    """

    blob: str
    by: str
    side: Side
    at: int | None
    norm: Number | None
    min: Number | None
    max: Number | None
    nan: int
    inf: int
    zero: int
    size: int
    growth: Number | None = None


class Chain:
    """The way back, as producers and as links; `beside` are the inputs with the same fault that were not followed."""

    def __init__(self) -> None:
        self.producers: list[Producer] = []
        self.links: list[Link] = []
        self.beside: list[str] = []
        self.seen: set[str] = set()


class FaultTrail:
    """Goes back from a blob to where its fault was born."""

    def back(self, view: NetView, blob: Writing, fault: What) -> Chain:
        """Along inputs that have the fault, until there is none."""
        is_bad = HAS["zero"] if fault == "zero" else _is_not_finite
        chain = Chain()
        while True:
            producer = self._add(chain, producer_of(view, blob), None)
            bad = (
                []
                if producer is None
                else [one for one in inputs_of(producer) if _is(is_bad, producer.view.value(one))]
            )
            if producer is None or not bad:
                return chain
            same = [one for one in bad if _is(HAS[fault], producer.view.value(one))]
            is_sum = producer.statement is not None and producer.statement.role == "accumulation"
            blob = (same or bad)[-1 if is_sum else 0]
            came_from = [producer_of(producer.view, one) for one in bad if one is not blob]
            chain.beside += [other.view.named(other.blob) for other in came_from]
            view = producer.view

    def growing(self, view: NetView, blob: Writing) -> Chain:
        """Along the inputs of greatest norm, of a backward operator those that are gradients."""
        chain = Chain()
        while True:
            producer = producer_of(view, blob)
            known = [(_norm(producer.view.value(one)), str(one), one) for one in _flowing(producer)]
            norm, _, came_from = max(known, default=(0.0, "", producer.blob), key=lambda one: one[:2])
            was = _norm(producer.view.value(producer.blob))
            if self._add(chain, producer, was / norm if norm > 0 else None) is None or not norm > 0:
                return chain
            view, blob = producer.view, came_from

    def _add(self, chain: Chain, producer: Producer, growth: float | None) -> Producer | None:
        """One more link; None where the way ends: nobody computed it, or it was there already."""
        link = link_of(producer, growth)
        if link.blob in chain.seen:
            return None
        chain.seen.add(link.blob)
        chain.producers.append(producer)
        chain.links.append(link)
        return producer if producer.statement is not None else None


def _flowing(producer: Producer) -> list[Writing]:
    inputs = inputs_of(producer)
    if producer.statement is None or producer.statement.role == "forward":
        return inputs
    view = producer.view
    return [one for one in inputs if _is_made(one) or not any(map(view.is_forward, view.writings(one.name)))]


def _is_made(blob: Writing) -> bool:
    """Whether a gradient operator makes it."""
    return blob.statement is not None and blob.statement.role != "forward"


def link_of(producer: Producer, growth: float | None) -> Link:
    """A link of what was computed, or fed."""
    view, blob, statement = producer
    value = view.value(blob)
    assert value is not None
    at = None if statement is None else view.recorded.ran(statement, view.runs[_is_made(blob)])
    return Link(
        blob=view.named(blob),
        by=placed(statement) if statement is not None else "came from outside" if view.net.path else "was fed",
        side="fed" if statement is None else "forward" if statement.role == "forward" else "backward",
        at=at,
        norm=value.norm,
        min=value.min,
        max=value.max,
        nan=value.nan,
        inf=value.inf,
        zero=value.zero,
        size=value.size,
        growth=None if growth is None else number(growth),
    )


def inputs_of(producer: Producer) -> list[Writing]:
    """The blob versions of numbers that went into a producer, each once."""
    inputs = [] if producer.statement is None else dict.fromkeys(producer.statement.inputs)
    return [one for one in inputs if (value := producer.view.value(one)) is not None and value.dtype != WORKSPACES]


class Producer(NamedTuple):
    """A blob version and the operator that computed it; None: it was there before the program ran."""

    view: NetView
    blob: Writing
    statement: Statement | None


def producer_of(view: NetView, blob: Writing) -> Producer:
    """Who computed a version: the operator, in the run of the innermost net, whose kernel made the array.

    An array that goes from one iteration of a loop to the next, or into a nested net, is the same array; so the first
    kernel that made it is found by it, whatever it is called on the way.
    """
    statement = blob.statement
    if statement is not None and statement.nets:
        return _inside(view, statement, blob) or Producer(view, blob, statement)
    run = view.run_with(blob) if statement is None and view.net.path else None
    if run is None:
        return Producer(view, blob, statement)
    array = view.recorded.identity(run, blob.key)
    maker = None if array is None else view.recorded.makers.get(array)
    if maker is not None:
        inside = view.of(maker[0])
        made = inside.net.version(*maker[1])
        return Producer(inside, made, made.statement)
    return _around(view, run, blob) or Producer(view, blob, None)


def _around(view: NetView, run: int, blob: Writing) -> Producer | None:
    """Who computed the same version in the net around; None: it has none there."""
    outer = view.recorded.runs[run].around
    around = next(reversed(list(view.around()))) if outer is None else view.of(outer)
    statement = around.beginning(run)
    names = {inner: name for name, inner in bindings(statement).items()} if statement.op.type == "Do" else None
    name = blob.name if names is None else names.get(blob.name)
    found = next((one for one in statement.inputs if one.name == name), None)
    return None if found is None else producer_of(around, found)


def _inside(view: NetView, statement: Statement, blob: Writing) -> Producer | None:
    """Who computed an output of an operator with nested nets; None: none of its runs wrote it."""
    inner = bindings(statement).get(blob.name, "") if statement.op.type == "Do" else blob.name
    for run in reversed(view.runs_of(statement)):
        inside = view.of(run)
        is_backward = view.recorded.runs[run].is_backward
        for made in reversed(inside.writings(inner)):
            is_written = made.statement is not None and _is_made(made) == is_backward
            if is_written and inside.value(made) is not None:
                return producer_of(inside, made)
    return None


HAS: dict[What, Callable[[Value], bool]] = {
    "nan": lambda value: value.nan > 0,
    "inf": lambda value: value.inf > 0,
    "zero": lambda value: value.size > 0 and value.zero == value.size,
}


def _is_not_finite(value: Value) -> bool:
    return value.nan > 0 or value.inf > 0


def _is(test: Callable[[Value], bool], value: Value | None) -> bool:
    return value is not None and test(value)


def _norm(value: Value | None) -> float:
    return 0.0 if value is None else finite(value.norm)


def finite(value: Number | None) -> float:
    """A number, 0 where there is none; infinities as they are, NaN as an infinity."""
    if value is None:
        return 0.0
    return float("inf") if isinstance(value, str) else float(value)


def growth_of(links: Sequence[Link]) -> float:
    """By how much the norm has grown from the end of a chain to its start."""
    start = finite(links[-1].norm)
    return finite(links[0].norm) / start if start > 0 else 0.0
