"""What happened to the heap of functions, to every ``grad``, and to the pools of names."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ...program.events import GeneratorAdded, GradWritten, Played, Seeded, Visited
from ..document import Grad, Pool, Schedule, Wait
from ..journal import Lending, Recording


def schedule_of(recording: Recording) -> Schedule | None:
    """The schedule of a recording, position by position; None: it says nothing of ranks, ``grad`` and pools."""
    ranks: list[int | None] = []
    waits: dict[int, Wait] = {}
    grads = [Grad(blob, 0, value, "held") for blob, value in recording.held.items()]
    begin, end = 1, 0
    for at, event in enumerate(recording.events, 1):
        if isinstance(event, GradWritten):
            grads.append(Grad(event.blob, at, event.after, event.how))
        else:
            end = at
        if isinstance(event, Seeded | GeneratorAdded) and event.queued is not None:
            one = event.queued
            waits[one.index] = Wait(one.index, one.rank, one.arrival, at)
        elif isinstance(event, Visited) and event.index in waits:
            waits[event.index] = replace(waits[event.index], until=at)
        elif isinstance(event, Played) and not event.path:
            ranks.append(event.rank)
            begin = at + 1
    if not (grads or recording.pools or any(rank is not None for rank in ranks)):
        return None
    pools = [row for lending in recording.pools for row in _pools(lending, begin, end)]
    return Schedule(ranks=ranks, waits=list(waits.values()), grads=grads, pools=pools)


def _pools(lending: Lending, begin: int, end: int) -> Iterator[Pool]:
    """A pool of names from the start, from position `begin` on, and from position `end` on."""
    name, in_use, free, taken = lending
    yield Pool(name, 0, in_use, free)
    yield Pool(name, begin, in_use + taken, max(0, free - taken))
    yield Pool(name, end, in_use, max(free, taken))
