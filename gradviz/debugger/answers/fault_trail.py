"""The way back from a blob with a fault to where that was born."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from ..document import Line, Number, Value, number
from ..statistics import WORKSPACES
from .net_view.net_view import Scene
from .net_view.wording import split, told
from .producer import Origin, Origins

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
    """The way back, as origins and as links; `beside` are the inputs with the same fault that were not followed."""

    def __init__(self) -> None:
        self.origins: list[Origin] = []
        self.links: list[Link] = []
        self.beside: list[str] = []
        self.seen: set[str] = set()


class Walk:
    """Goes back from a blob to where its fault was born."""

    def __init__(self, origins: Origins) -> None:
        self._origins = origins

    def back(self, scene: Scene, blob: str, fault: What) -> Chain:
        """Along inputs that have the fault, until there is none."""
        is_bad = HAS["zero"] if fault == "zero" else _is_not_finite
        chain = Chain()
        while True:
            origin = self._add(chain, scene, blob, None)
            bad = [] if origin is None else [one for one in inputs_of(origin) if _is(is_bad, origin.scene.value(one))]
            if origin is None or not bad:
                return chain
            same = [one for one in bad if _is(HAS[fault], origin.scene.value(one))]
            blob = (same or bad)[-1 if origin.line is not None and origin.line.role == "accumulation" else 0]
            came_from = [self._origins.of(origin.scene, one) for one in bad if one != blob]
            chain.beside += [other.scene.named(other.blob) for other in came_from]
            scene = origin.scene

    def growing(self, scene: Scene, blob: str) -> Chain:
        """Along the inputs of greatest norm, of a backward operator those that are gradients."""
        chain = Chain()
        while True:
            origin = self._origins.of(scene, blob)
            known = [(_norm(origin.scene.value(one)), one) for one in self._flowing(origin)]
            norm, came_from = max(known, default=(0.0, ""))
            was = _norm(origin.scene.value(origin.blob))
            if self._add(chain, scene, blob, was / norm if norm > 0 else None) is None or not norm > 0:
                return chain
            scene, blob = origin.scene, came_from

    def _flowing(self, origin: Origin) -> list[str]:
        inputs = inputs_of(origin)
        if origin.line is None or origin.line.role == "forward":
            return inputs
        made = {blob for line in origin.scene.operators for blob in line.outputs}
        forward = {split(blob)[0] for line in origin.scene.forward for blob in (*line.inputs, *line.outputs)}
        return [one for one in inputs if one in made or split(one)[0] not in forward]

    def _add(self, chain: Chain, scene: Scene, blob: str, growth: float | None) -> Origin | None:
        """One more link; None where the way ends: nobody computed it, or it was there already."""
        origin = self._origins.of(scene, blob)
        link = link_of(origin, self._origins.ran(origin), growth)
        if link.blob in chain.seen:
            return None
        chain.seen.add(link.blob)
        chain.origins.append(origin)
        chain.links.append(link)
        return origin if origin.line is not None else None


def link_of(origin: Origin, at: int | None, growth: float | None) -> Link:
    """A link of what was computed, or fed, by position `at`."""
    scene, blob, line = origin
    value = scene.value(blob)
    assert value is not None
    return Link(
        blob=scene.named(blob),
        by=_by(scene, blob, line),
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


def _by(scene: Scene, blob: str, line: Line | None) -> str:
    if line is None:
        return "was fed" if not scene.path else "came from outside"
    return told(line)


def inputs_of(origin: Origin) -> list[str]:
    """The blob versions of numbers that went into an origin, each once."""
    inputs = [] if origin.line is None else dict.fromkeys(origin.line.inputs)
    return [one for one in inputs if (value := origin.scene.value(one)) is not None and value.dtype != WORKSPACES]


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
