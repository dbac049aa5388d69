"""The border of a nested net: which blobs around it its own ones stand for, and what crosses over, in and out.

A cluster has a port for each way across: forward data goes in at its top and out at its bottom, gradients go in at its
bottom and out at its top. What leaves a loop's net and enters it again with the next iteration is carried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal

import msgspec

from .flows import Flow, Flows
from .words import in_one_line, short

if TYPE_CHECKING:
    from ..debugger.document import Line, Subnet

Lane = Literal["forward", "backward"]
LANES: tuple[Lane, Lane] = ("forward", "backward")
Way = Literal["in", "out"]
TOP: dict[Lane, Way] = {"forward": "in", "backward": "out"}
BOTTOM: dict[Lane, Way] = {"forward": "out", "backward": "in"}
"""Where the ports are."""

LOOPS = ("cond_net", "loop_net")
"""The arguments whose nets run again and again."""


class Binding(msgspec.Struct, frozen=True):
    """What names in a nested net stand for: inner name -> the outer version that comes in, or the one that goes out."""

    enters: Mapping[str, str]
    leaves: Mapping[str, str]


def port(subnet: str, lane: Lane, way: Way) -> str:
    """The id of a port."""
    return f"{subnet}.{lane}-{way}"


def binding(owner: Line | None) -> Binding:
    """The names in the nets that `owner` runs: those around them, but for a Do, which says what stands for what."""
    if owner is None:
        return Binding({}, {})
    enters = {_name(blob): blob for blob in reversed(owner.inputs)}
    leaves = {_name(blob): blob for blob in owner.outputs}
    if owner.type != "Do":
        return Binding(enters, leaves)
    outer = dict(_bound(owner))
    return Binding(
        {inner: enters[name] for inner, name in outer.items() if name in enters},
        {inner: leaves[name] for inner, name in outer.items() if name in leaves},
    )


def crossings(subnet: Subnet, flows: Flows, bound: Mapping[Lane, Binding]) -> Iterator[Flow]:
    """What flows between the lines of a net and its ports, and from port to port where it is carried on."""
    readers: dict[Lane, list[tuple[str, str]]] = {"forward": flows.forward_in, "backward": flows.backward_in}
    makers: dict[Lane, dict[str, str]] = {"forward": flows.forward_made, "backward": flows.backward_made}
    for lane in LANES:
        enter, leave = port(subnet.id, lane, "in"), port(subnet.id, lane, "out")
        entered: set[str] = set()
        for line, blob in readers[lane]:
            entered.add(_name(blob))
            yield lane, enter, line, crossing(bound[lane].enters.get(_name(blob)), blob)
        last = _last(makers[lane])
        for inner, outer in bound[lane].leaves.items():
            if inner in last:
                yield lane, last[inner][0], leave, crossing(last[inner][1], outer)
        carried = [short(inner) for inner in bound[lane].leaves if inner in last and inner in entered]
        if carried and subnet.argument in LOOPS:
            yield lane, leave, enter, f"↻ {in_one_line(carried)}"


def crossing(source: str | None, target: str) -> str:
    """A blob that crosses the border, by its names on both sides."""
    if source is None or source == target:
        return short(target)
    return f"{short(source)} → {short(target)}"


def _bound(do: Line) -> Iterable[tuple[str, str]]:
    """Inner name and outer name of each binding; nothing of what a document has that is none."""
    names, places = do.args.get("inner_blobs"), do.args.get("outer_blobs_idx")
    outer = [*do.inputs[:-1], *do.outputs[:-1]]
    if not isinstance(names, list) or not isinstance(places, list):
        return
    for name, place in zip(names, places, strict=False):
        if isinstance(name, str) and isinstance(place, int) and 0 <= place < len(outer):
            yield name, _name(outer[place])


def _last(makers: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Who makes the last version of a name, and that version; makers stand in the order of versions."""
    return {_name(blob): (line, blob) for blob, line in makers.items()}


def _name(blob: str) -> str:
    """``x`` of ``x@1``."""
    return blob.rpartition("@")[0] or blob
