"""The state of the engine at a position, as a person reads it, with what the schedule of a define-by-run pass holds."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ...program import Gradient
from ..document import How, Trace
from .forms import Answer, Block, Bullets, Grid, Paragraph, first_of
from .net_view.engine_state import Generator, changes, operators_of, shown, state_at
from .net_view.finding import views
from .net_view.recorded import Recorded
from .net_view.wording import text_of

SHOWN = 40
"""Rows of a table that a text or a table shows."""


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


class StateView(Answer, frozen=True):
    """The state of the pass over one net.

    Attributes:
        position: where this was asked.
        net: the path to the net, empty for the outermost one.
        ssa: the forward operators played so far, as text with versions.
        input_usages: name -> version -> the operators that read it; being a y counts as the operator after the last.
        frontier: name -> the version that it stands for.
        gradient_frontier: name -> the version that its gradient belongs to, the earliest that has any.
        gradient_generators: name -> version -> the gradients that have arrived.
        gradients: name -> its gradient so far: the map.
        gradient_ops: the gradient operators so far, as they read now.
        changed: what the last event changed, in words.
        schedule: of a pass that runs as it goes, what its schedule holds.
    """

    answer = "state"
    position: int
    net: str
    ssa: list[str]
    input_usages: dict[str, list[list[int]]]
    frontier: dict[str, int]
    gradient_frontier: dict[str, int]
    gradient_generators: dict[str, list[list[Generator]]]
    gradients: dict[str, Gradient]
    gradient_ops: list[str]
    changed: list[str]
    schedule: ScheduleState | None = None

    def blocks(self) -> Iterator[Block]:
        where = f" of {self.net}" if self.net else ""
        operators, gradient_operators = len(self.ssa), len(self.gradient_ops)
        yield Paragraph(
            f"The state{where} at event {self.position}: {operators} operators played, "
            f"{gradient_operators} gradient operators made.",
            is_title=True,
        )
        if self.changed:
            yield Paragraph("The last event changed:")
            yield Bullets(self.changed)
        rows = [
            (
                name,
                str(self.frontier[name]),
                ", ".join(self._uses(name)) or "nobody",
                "; ".join(self._generators(name)) or "none",
                shown(self.gradients.get(name)),
            )
            for name in self.frontier
        ]
        head = ("blob", "version", "read by", "gradients that arrived", "gradient")
        if rows:
            yield Grid("Blobs", head, first_of(rows, SHOWN))
        if self.gradient_ops:
            made = [(str(place), text) for place, text in enumerate(self.gradient_ops)]
            yield Grid("Gradient operators", ("", "operator"), first_of(made, SHOWN))
        if self.schedule is not None:
            yield from schedule_blocks(self.schedule)

    def _uses(self, name: str) -> Iterator[str]:
        count = len(self.ssa)
        for version, uses in enumerate(self.input_usages.get(name, ())):
            if uses:
                readers = ", ".join("a y" if index == count else f"#{index}" for index in uses)
                yield f"@{version}: {readers}"

    def _generators(self, name: str) -> Iterator[str]:
        for version, generators in enumerate(self.gradient_generators.get(name, ())):
            if generators:
                yield f"@{version}: " + ", ".join(shown(one.gradient) for one in generators)


def schedule_blocks(schedule: ScheduleState) -> Iterator[Block]:
    """What a text or a table shows of it."""
    if schedule.heap:
        waiting = [
            (f"{one.type} #{one.function}", str(one.rank), str(one.arrival), "now" if one.function in joined else "")
            for joined in [set(schedule.joined)]
            for one in schedule.heap
        ]
        yield Grid("Heap, the next function first", ("function", "rank", "arrival", "joined"), first_of(waiting, SHOWN))
    elif not schedule.pools and (not schedule.ranks or any(rank is not None for rank in schedule.ranks)):
        yield Paragraph("The heap is empty.")
    if schedule.grads:
        grads = [(one.variable, one.value or "None", one.how, "now" if one.is_new else "") for one in schedule.grads]
        yield Grid("grad of Variables", ("Variable", "is", "how", "written"), first_of(grads, SHOWN))
    if schedule.pools:
        pools = [(one.name, str(one.in_use), str(one.free)) for one in schedule.pools]
        yield Grid("Pools of names", ("pool", "in use", "free"), pools)


def answer(recorded: Recorded, subnet: str | None, frame: int | None) -> StateView:
    """The state of the net that we are in."""
    view = next(views(recorded, subnet, frame))
    state = state_at(view, recorded.position)
    before = state_at(view, recorded.position - 1) if recorded.position else None
    forward = view.forward[: len(state.ssa)]
    return StateView(
        position=recorded.position,
        net="/".join(view.path),
        ssa=[text_of(line) for line in forward],
        input_usages=state.input_usages,
        frontier=state.frontier,
        gradient_frontier=state.gradient_frontier,
        gradient_generators=state.generators,
        gradients=state.gradients,
        gradient_ops=operators_of(state),
        changed=[] if before is None else list(changes(before, state)),
        schedule=schedule_at(recorded.trace, recorded.position),
    )
