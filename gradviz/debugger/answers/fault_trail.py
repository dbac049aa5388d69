"""The way back from a blob with a fault to where that was born."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from ..document import Line, Number, Value, number
from ..statistics import WORKSPACES
from .net_view.net_view import NetView
from .net_view.wording import split, told
from .producer import Producer, Producers

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

    def __init__(self, producers: Producers) -> None:
        self._producers = producers

    def back(self, view: NetView, blob: str, fault: What) -> Chain:
        """Along inputs that have the fault, until there is none."""
        is_bad = HAS["zero"] if fault == "zero" else _is_not_finite
        chain = Chain()
        while True:
            producer = self._add(chain, view, blob, None)
            bad = (
                []
                if producer is None
                else [one for one in inputs_of(producer) if _is(is_bad, producer.view.value(one))]
            )
            if producer is None or not bad:
                return chain
            same = [one for one in bad if _is(HAS[fault], producer.view.value(one))]
            blob = (same or bad)[-1 if producer.line is not None and producer.line.role == "accumulation" else 0]
            came_from = [self._producers.of(producer.view, one) for one in bad if one != blob]
            chain.beside += [other.view.named(other.blob) for other in came_from]
            view = producer.view

    def growing(self, view: NetView, blob: str) -> Chain:
        """Along the inputs of greatest norm, of a backward operator those that are gradients."""
        chain = Chain()
        while True:
            producer = self._producers.of(view, blob)
            known = [(_norm(producer.view.value(one)), one) for one in self._flowing(producer)]
            norm, came_from = max(known, default=(0.0, ""))
            was = _norm(producer.view.value(producer.blob))
            if self._add(chain, view, blob, was / norm if norm > 0 else None) is None or not norm > 0:
                return chain
            view, blob = producer.view, came_from

    def _flowing(self, producer: Producer) -> list[str]:
        inputs = inputs_of(producer)
        if producer.line is None or producer.line.role == "forward":
            return inputs
        made = {blob for line in producer.view.operators for blob in line.outputs}
        forward = {split(blob)[0] for line in producer.view.forward for blob in (*line.inputs, *line.outputs)}
        return [one for one in inputs if one in made or split(one)[0] not in forward]

    def _add(self, chain: Chain, view: NetView, blob: str, growth: float | None) -> Producer | None:
        """One more link; None where the way ends: nobody computed it, or it was there already."""
        producer = self._producers.of(view, blob)
        link = link_of(producer, self._producers.ran(producer), growth)
        if link.blob in chain.seen:
            return None
        chain.seen.add(link.blob)
        chain.producers.append(producer)
        chain.links.append(link)
        return producer if producer.line is not None else None


def link_of(producer: Producer, at: int | None, growth: float | None) -> Link:
    """A link of what was computed, or fed, by position `at`."""
    view, blob, line = producer
    value = view.value(blob)
    assert value is not None
    return Link(
        blob=view.named(blob),
        by=_by(view, blob, line),
        side="fed" if line is None else "forward" if line.role == "forward" else "backward",
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


def _by(view: NetView, blob: str, line: Line | None) -> str:
    if line is None:
        return "was fed" if not view.path else "came from outside"
    return told(line)


def inputs_of(producer: Producer) -> list[str]:
    """The blob versions of numbers that went into an producer, each once."""
    inputs = [] if producer.line is None else dict.fromkeys(producer.line.inputs)
    return [one for one in inputs if (value := producer.view.value(one)) is not None and value.dtype != WORKSPACES]


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
