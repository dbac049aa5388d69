"""What the schedule of a define-by-run pass holds, as tables: the heap, ``grad`` of every Variable, pools of names."""

from __future__ import annotations

from collections.abc import Iterator

from .forms import Block, Grid, Paragraph, first_of
from .schedule_at import ScheduleState

SHOWN = 40
"""Rows of a table that a text or a table shows."""


def schedule_blocks(schedule: ScheduleState) -> Iterator[Block]:
    """What a text or a table shows of it."""
    if schedule.heap:
        waiting = [
            (f"{one.type} #{one.function}", str(one.rank), str(one.arrival), "now" if one.function in joined else "")
            for joined in [set(schedule.joined)]
            for one in schedule.heap
        ]
        yield Grid("Heap, the next function first", ("function", "rank", "arrival", "joined"), first_of(waiting, SHOWN))
    elif not schedule.pools:
        yield Paragraph("The heap is empty.")
    if schedule.grads:
        grads = [(one.variable, one.value or "None", one.how, "now" if one.is_new else "") for one in schedule.grads]
        yield Grid("grad of Variables", ("Variable", "is", "how", "written"), first_of(grads, SHOWN))
    if schedule.pools:
        pools = [(one.name, str(one.in_use), str(one.free)) for one in schedule.pools]
        yield Grid("Pools of names", ("pool", "in use", "free"), pools)
