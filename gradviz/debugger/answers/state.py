"""The state of the engine at a position, as a person reads it, with what the schedule of a define-by-run pass holds."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any

import msgspec

from ...program import Gradient, GradientSlice, Operator
from ...program.control_flow import NETS
from ...program.events import Accumulated, Deduplicated, Event, GeneratorAdded, Played, RuleApplied, Seeded
from ...program.events import How as HowSent
from ...program.operator import parts_of
from ..document import How
from ..journal import NetText, Pace
from .flow import gives
from .forms import Answer, Block, Bullets, Grid, Paragraph, first_of
from .net_view import NetView, text_of
from .recorded import Recorded

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


def schedule_at(recorded: Recorded, position: int) -> ScheduleState | None:
    """The schedule after `position` events; None where the recording has none."""
    schedule = recorded.schedule
    if schedule is None:
        return None
    waits = [one for one in schedule.waits if one.since <= position]
    inside = [one for one in waits if one.until is None or one.until > position]
    out = [(one.until, one.function) for one in waits if one.until is not None and one.until <= position]
    inside.sort(key=lambda one: (-one.rank, one.arrival))
    grads = {one.variable: one for one in schedule.grads if one.at <= position}
    pools = {one.name: one for one in schedule.pools if one.at <= position}
    forward = recorded.text.outermost.forward
    return ScheduleState(
        schedule.ranks,
        [InHeap(one.function, forward[one.function].op.type, one.rank, one.arrival) for one in inside],
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


def answer(here: NetView, pace: Pace) -> StateView:
    """The state of the net that we are in."""
    position = here.position
    state = state_at(here, position, pace)
    last = here.recorded.events[position - 1] if position else None
    before = state_at(here, position - 1, pace) if isinstance(last, CHANGING) else None
    return StateView(
        position=position,
        net="/".join(here.net.path),
        ssa=[text_of(statement) for statement in here.net.forward[: len(state.ssa)]],
        input_usages=state.input_usages,
        frontier=state.frontier,
        gradient_frontier=state.gradient_frontier,
        gradient_generators=state.generators,
        gradients=state.gradients,
        gradient_ops=operators_of(state),
        changed=[] if before is None else list(changes(before, state)),
        schedule=schedule_at(here.recorded, position),
    )


CHANGING = (Played, Seeded, RuleApplied, GeneratorAdded, Accumulated, Deduplicated)
"""Events that change the state."""


class Generator(msgspec.Struct, frozen=True):
    """One gradient of a blob version; fields as of the event `GeneratorAdded`."""

    gradient: Gradient
    how: HowSent
    index: int | None
    position: int | None


class State:
    """The state of an engine, made of its events one after the other; nothing is generated again.

    Attributes are those of `StateView` and of `gradviz.IR`, as far as it has them.

    Args:
        net: its text.
        skip: how many leading operators take no part.
        initial: blobs that are there before the first operator.
        unused: the versions whose given gradients nobody needs, so that they do not count as having arrived.
    """

    def __init__(
        self, net: NetText, skip: int, initial: Iterable[str], unused: Container[tuple[str, int]] = ()
    ) -> None:
        self._net = net
        self._skip = skip
        self._unused = unused
        self.position = 0
        self.ssa: list[tuple[Operator, tuple[int, ...], tuple[int, ...]]] = []
        self.input_usages: dict[str, list[list[int]]] = {name: [[]] for name in initial}
        self.generators: dict[str, list[list[Generator]]] = {name: [[]] for name in initial}
        self.with_gradient: dict[str, set[int]] = {}
        self.gradients: dict[str, Gradient] = {}

    @property
    def frontier(self) -> dict[str, int]:
        """Name -> version."""
        return {name: len(versions) - 1 for name, versions in self.input_usages.items()}

    @property
    def gradient_frontier(self) -> dict[str, int]:
        """Name -> the earliest version with a gradient."""
        return {name: min(self.with_gradient[name]) for name in self.input_usages if self.with_gradient.get(name)}

    @property
    def gradient_ops(self) -> list[tuple[str, list[str], list[str]]]:
        """Type, inputs and outputs of the gradient operators so far, as they read now."""
        made = (one.at(self.position) for one in self._net.operators if one.made <= self.position)
        return [(one.op.type, [w.name for w in one.inputs], [w.name for w in one.outputs]) for one in made]

    def add(self, event: Event, at: int) -> None:
        """Take in the event that happened last, at position `at`."""
        self.position = at
        match event:
            case Played():
                self._play(event)
            case Seeded():
                self._know(event.y, event.version)
                self.input_usages[event.y][event.version].append(len(self.ssa))
                how: HowSent = "given" if event.operator is None else "seed"
                if (event.y, event.version) not in self._unused:
                    made = Generator(event.gradient, how, None, event.position)
                    self.generators[event.y][event.version].append(made)
                self._set(event.y, event.version, event.gradient)
            case RuleApplied():
                self._forget_overwritten(event)
            case GeneratorAdded():
                made = Generator(event.gradient, event.how, event.index, event.position)
                self.generators[event.blob][event.version].append(made)
                self._set(event.blob, event.version, event.gradient)
                if isinstance(event.gradient, GradientSlice) and event.gradient.indices == event.blob:
                    del self.gradients[event.blob]  # it numbers the rows of itself
            case Accumulated():
                self._add_up(event)
            case Deduplicated():
                self.gradients[event.blob] = event.after

    def _play(self, event: Played) -> None:
        index = len(self.ssa)
        self.ssa.append((event.op, event.in_versions, event.out_versions))
        for name, version in zip(event.op.inputs, event.in_versions, strict=True):
            self._know(name, version)
            if index >= self._skip:
                self.input_usages[name][version].append(index)
        for name, version in zip(event.op.outputs, event.out_versions, strict=True):
            self._know(name, version)

    def _know(self, name: str, version: int) -> None:
        usages, generators = self.input_usages.setdefault(name, []), self.generators.setdefault(name, [])
        while len(usages) <= version:
            usages.append([])
            generators.append([])

    def _set(self, blob: str, version: int, gradient: Gradient) -> None:
        self.with_gradient.setdefault(blob, set()).add(version)
        self.gradients[blob] = gradient

    def _forget_overwritten(self, event: RuleApplied) -> None:
        """What an operator overwrites in place without sending a gradient back has none before."""
        op, _, _ = self.ssa[event.index]
        for name, gradient in zip(op.inputs, event.g_input, strict=False):
            if gradient is None and name in op.outputs and op.type not in NETS:
                self.gradients.pop(name, None)

    def _add_up(self, event: Accumulated) -> None:
        known = self.generators[event.blob][event.version]
        if len(known) == len(event.contributions) > 1:
            known[:] = [
                msgspec.structs.replace(one, gradient=term.gradient)
                for one, term in zip(known, event.contributions, strict=True)
            ]
        self._set(event.blob, event.version, event.gradient)


def state_at(view: NetView, position: int, pace: Pace) -> State:
    """The state of the pass over a net at a position."""
    owner = view.owner
    is_do = owner is not None and owner.op.type == "Do"
    initial = sorted(name for name in view.net.writings if view.leaves(name)) if is_do else ()
    state = State(view.net, view.skip, initial, set(_unused(view)))
    path = view.net.path
    for at, event in enumerate(pace.over(view.recorded.events[:position]), 1):
        if type(event) in CHANGING and event.path == path:
            state.add(event, at)
    state.position = position
    return state


def _unused(view: NetView) -> Iterator[tuple[str, int]]:
    """The ys whose given gradients nobody needs: the operator that wrote them in place passes none on."""
    for (name, version), at in view.net.ys.items():
        event = view.recorded.events[at - 1]
        writer = view.net.version(name, version).statement
        is_given = isinstance(event, Seeded) and event.operator is None
        if not version or not is_given or writer is None or writer.nets or writer.number < view.skip:
            continue
        given = gives(view, writer.number)
        if given is not None and not any(given) and any(blob.name == name for blob in writer.inputs):
            yield name, version


def changes(before: State, after: State) -> Iterator[str]:
    """What is otherwise in one state than in another, in words."""
    for op, reads, writes in after.ssa[len(before.ssa) :]:
        yield f"ssa: {_versions(op.outputs, writes)} = {op.type}({_versions(op.inputs, reads)}) joined"
    yield from _changed_entries("frontier", before.frontier, after.frontier)
    for name, versions in after.input_usages.items():
        for version, uses in enumerate(versions):
            known = before.input_usages.get(name, [])
            new = uses[len(known[version]) if version < len(known) else 0 :]
            if new:
                readers = ", ".join("a y" if use == len(after.ssa) else f"#{use}" for use in new)
                yield f"input_usages: {name}@{version} is read by {readers}"
    was, now = operators_of(before), operators_of(after)
    yield from (f"gradient_ops: {old} became {new}" for old, new in zip(was, now, strict=False) if old != new)
    yield from (f"gradient_ops: {new} joined" for new in now[len(was) :])
    yield from _arrived(before, after)
    yield from _changed_entries("gradient_frontier", before.gradient_frontier, after.gradient_frontier)
    yield from _changed_entries("gradients", before.gradients, after.gradients)


def _arrived(before: State, after: State) -> Iterator[str]:
    for name, versions in after.generators.items():
        for version, generators in enumerate(versions):
            known = before.generators.get(name, [])
            old = known[version] if version < len(known) else []
            for place, generator in enumerate(generators):
                if place >= len(old):
                    yield f"gradient_generators: {name}@{version} got {shown(generator.gradient)}"
                elif old[place] != generator:
                    renamed = f"{shown(old[place].gradient)} is now {shown(generator.gradient)}"
                    yield f"gradient_generators: of {name}@{version}, {renamed}"


def _changed_entries(what: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    for name, value in after.items():
        if name not in before:
            yield f"{what}: {name} = {shown(value)} is new"
        elif before[name] != value:
            yield f"{what}: {name} = {shown(value)}, before {shown(before[name])}"
    yield from (f"{what}: {name} is gone, before {shown(before[name])}" for name in before if name not in after)


def shown(value: Gradient | int | None) -> str:
    """An entry of a map as text."""
    if value is None:
        return "none"
    return str(value) if isinstance(value, int) else ", ".join(parts_of(value))


def operators_of(state: State) -> list[str]:
    """The gradient operators as text, without versions."""
    return [f"{', '.join(outputs)} = {type}({', '.join(inputs)})" for type, inputs, outputs in state.gradient_ops]


def _versions(names: list[str], versions: tuple[int, ...]) -> str:
    return ", ".join(f"{name}@{version}" for name, version in zip(names, versions, strict=True))
