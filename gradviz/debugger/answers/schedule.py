"""The schedule of a define-by-run pass at one position: the heap, the ranks, and ``grad`` of every Variable."""

from __future__ import annotations

import msgspec

from ..document import How, Trace


class InHeap(msgspec.Struct, frozen=True):
    """A function that waits: index and type of its forward operator, its rank, and which gradient reached it first."""

    function: int
    type: str
    rank: int
    arrival: int


class GradOf(msgspec.Struct, frozen=True):
    """``grad`` of a Variable: a blob version or None, how it became that, and whether the last event did it."""

    variable: str
    value: str | None
    how: How
    is_new: bool


class PoolOf(msgspec.Struct, frozen=True):
    """How many names of a pool are in use, and how many wait to be taken again."""

    name: str
    in_use: int
    free: int


class ScheduleState(msgspec.Struct, frozen=True):
    """What a schedule holds at a position.

    Attributes:
        ranks: of each forward operator; None: it is no function that can go backward.
        heap: the functions that wait, the next one first.
        joined: those that the last event brought into the heap.
        taken: the one that was taken out of it last.
        grads: every Variable that holds a gradient, or has held one in the recording.
        pools: the pools of names.
    """

    ranks: list[int | None]
    heap: list[InHeap]
    joined: list[int]
    taken: int | None
    grads: list[GradOf]
    pools: list[PoolOf]


def schedule_at(trace: Trace, position: int) -> ScheduleState | None:
    """The schedule after `position` events; None where the recording has none."""
    schedule = trace.schedule
    if schedule is None:
        return None
    waits = [one for one in schedule.waits if one.since <= position]
    inside = [one for one in waits if one.until is None or one.until > position]
    out = [(one.until, one.function) for one in waits if one.until is not None and one.until <= position]
    inside.sort(key=lambda one: (-one.rank, one.arrival))
    grads = {one.variable: one for one in schedule.grads if one.at <= position}
    pools = {one.name: one for one in schedule.pools if one.at <= position}
    return ScheduleState(
        schedule.ranks,
        [InHeap(one.function, trace.forward[one.function].type, one.rank, one.arrival) for one in inside],
        [one.function for one in waits if one.since == position],
        max(out, key=lambda one: one[0])[1] if out else None,
        [GradOf(one.variable, one.value, one.how, 0 < one.at == position) for one in grads.values()],
        [PoolOf(one.name, one.in_use, one.free) for one in pools.values()],
    )
