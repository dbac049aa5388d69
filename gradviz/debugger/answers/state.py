"""The state of the engine at a position, as a person reads it, with what the schedule of a define-by-run pass holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from ...program import Gradient, GradientSlice
from ...program.control_flow import NETS
from ...program.errors import count_of, joined
from ...program.events import (
    Accumulated,
    Contribution,
    Deduplicated,
    Event,
    GeneratorAdded,
    HookRan,
    Played,
    RuleApplied,
    Seeded,
)
from ...program.operator import parts_of
from ...runtime.watched import uncollected
from ..document import How
from ..journal import NetText, Pace, Reading, Statement, Writing
from ..telling import arrival
from .flow import gives
from .forms import SHOWN, Answer, Block, Bullets, Grid, Paragraph, first_of
from .net_view import NetView, text_of
from .recorded import Recorded

T = TypeVar("T")


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


Versions = dict[str, list[list[T]]]
"""Name -> version -> what there is of it."""


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
    gradient_generators: dict[str, list[list[Contribution]]]
    gradients: dict[str, Gradient]
    gradient_ops: list[str]
    changed: list[str]
    schedule: ScheduleState | None = None

    def blocks(self) -> Iterator[Block]:
        where = f" of {self.net}" if self.net else ""
        operators, gradient_operators = len(self.ssa), len(self.gradient_ops)
        yield Paragraph(
            f"The state{where} at event {self.position}: {count_of(operators, 'operator')} played, "
            f"{count_of(gradient_operators, 'gradient operator')} made.",
            is_title=True,
        )
        if self.changed:
            yield Paragraph("The last event changed:")
            yield Bullets(self.changed)
        head = ("blob", "version", "read by", "gradients that arrived", "gradient")
        if self.frontier:
            yield Grid("Blobs", head, first_of(list(self.frontier), SHOWN, self._blob))
        if self.gradient_ops:
            numbered = list(enumerate(self.gradient_ops))
            rows = first_of(numbered, SHOWN, lambda one: (str(one[0]), one[1]))
            yield Grid("Gradient operators", ("", "operator"), rows)
        if self.schedule is not None:
            yield from schedule_blocks(self.schedule)

    def _blob(self, name: str) -> Sequence[str]:
        return (
            name,
            str(self.frontier[name]),
            ", ".join(self._uses(name)) or "nobody",
            "; ".join(self._generators(name)) or "none",
            shown(self.gradients.get(name)),
        )

    def _uses(self, name: str) -> Iterator[str]:
        for version, uses in enumerate(self.input_usages.get(name, ())):
            if uses:
                yield f"@{version}: {self.readers(uses)}"

    def readers(self, uses: Sequence[int]) -> str:
        """Operators, and being a y, in words."""
        return joined("a y" if index == len(self.ssa) else f"#{index}" for index in uses)

    def _generators(self, name: str) -> Iterator[str]:
        for version, generators in enumerate(self.gradient_generators.get(name, ())):
            if generators:
                yield f"@{version}: " + joined(shown(one.gradient) for one in generators)


def schedule_blocks(schedule: ScheduleState) -> Iterator[Block]:
    """What a text or a table shows of it."""
    if schedule.heap:
        joined = set(schedule.joined)

        def row(one: InHeap) -> Sequence[str]:
            is_new = "now" if one.function in joined else ""
            return f"{one.type} #{one.function}", str(one.rank), str(one.arrival), is_new

        head = ("function", "rank", "arrival", "joined")
        yield Grid("Heap, the next function first", head, first_of(schedule.heap, SHOWN, row))
    elif not schedule.pools and (not schedule.ranks or any(rank is not None for rank in schedule.ranks)):
        yield Paragraph("The heap is empty.")
    if schedule.grads:
        grads = first_of(
            schedule.grads,
            SHOWN,
            lambda one: (one.variable, one.value or "None", one.how, "now" if one.is_new else ""),
        )
        yield Grid("grad of Variables", ("Variable", "is", "how", "written"), grads)
    if schedule.pools:
        pools = [(one.name, str(one.in_use), str(one.free)) for one in schedule.pools]
        yield Grid("Pools of names", ("pool", "in use", "free"), pools)


def answer(here: NetView, pace: Pace) -> StateView:
    """The state of the net that we are in."""
    position = here.position
    state = state_at(here, position, pace)
    last = here.recorded.events[position - 1] if position else None
    changed = list(changes(state_at(here, position - 1, pace), state)) if isinstance(last, CHANGING) else []
    return msgspec.structs.replace(state, changed=changed, schedule=schedule_at(here.recorded, position))


CHANGING = (Played, Seeded, RuleApplied, GeneratorAdded, Accumulated, Deduplicated, HookRan)
"""Events that change the state."""


@uncollected()
def state_at(view: NetView, position: int, pace: Pace) -> StateView:
    """The state of the pass over a net at a position: what of its text and its writings is there by then.

    What its last event changed and the schedule are left out.
    """
    net, path = view.net, view.net.path
    recording = view.recorded.recording
    of_pass = recording.noted[0]
    numbers = recording.timeline.of(*CHANGING)
    before = map(of_pass.__getitem__, numbers[: np.searchsorted(numbers, position)].tolist())
    events = [event for event in pace.over(before) if event.path == path]
    played = net.forward[: list(map(type, events)).count(Played)]
    skip, ys = view.skip, {key for key, at in net.ys.items() if at <= position}
    uses: Versions[int] = {}
    arrived: Versions[Contribution] = {}
    reached: dict[str, int] = {}
    for blob in _blobs(view, played, position):
        readers = [one.number for one in blob.readers if one.role == "forward" and skip <= one.number < len(played)]
        uses.setdefault(blob.name, []).append([*readers, len(played)] if blob.key in ys else readers)
        arrived.setdefault(blob.name, []).append(_arrived(view, blob, of_pass, position))
        if blob.arrivals and blob.arrivals[0] <= position:
            reached[blob.name] = min(blob.version, reached.get(blob.name, blob.version))
    return StateView(
        position=position,
        net="/".join(path),
        ssa=[text_of(one) for one in played],
        input_usages=uses,
        frontier={name: len(versions) - 1 for name, versions in uses.items()},
        gradient_frontier=reached,
        gradient_generators=arrived,
        gradients=_gradients(net, events),
        gradient_ops=[_named(one.at(position)) for one in net.operators if one.made <= position],
        changed=[],
    )


def _named(operator: Reading) -> str:
    """A gradient operator without versions: ``x_grad = TanhGradient(y, y_grad)``."""
    inputs, outputs = [blob.name for blob in operator.inputs], [blob.name for blob in operator.outputs]
    return f"{joined(outputs)} = {operator.op.type}({joined(inputs)})"


def _blobs(view: NetView, played: Iterable[Statement], position: int) -> Iterable[Writing]:
    """The versions that there are; of a name in their order, the names as they come in the program."""
    net, owner = view.net, view.owner
    is_do = owner is not None and owner.op.type == "Do"
    writings = [net.version(name, 0) for name in sorted(net.writings) if is_do and view.leaves(name)]
    writings += [blob for one in played for blob in (*one.inputs, *one.outputs)]
    for key, at in net.ys.items():
        if at <= position:
            y = net.version(*key)
            if not y.arrivals:  # no operator knows it: nobody keeps what is found of it
                y.arrivals.append(at)
            writings.append(y)
    return dict.fromkeys(writings)


def _arrived(view: NetView, blob: Writing, events: Sequence[Event], position: int) -> list[Contribution]:
    """The gradients of a version that have arrived, as they are called at a position."""
    contributions: list[Contribution] = []
    for at in blob.arrivals:
        if at > position:
            break
        event = events[at - 1]
        if isinstance(event, Accumulated):
            if len(contributions) == len(event.contributions) > 1:
                contributions = [*event.contributions]
        elif isinstance(event, GeneratorAdded) or (
            isinstance(event, Seeded) and not (event.operator is None and _is_unused(view, blob))
        ):
            contributions.append(arrival(event))
    return contributions


def _gradients(net: NetText, events: Iterable[Event]) -> dict[str, Gradient]:
    """The map: of each name what the events have said last."""
    gradients: dict[str, Gradient] = {}
    for event in events:
        if isinstance(event, RuleApplied):
            if None in event.g_input:
                op = net.forward[event.index].op  # what it overwrites in place without sending a gradient back has none
                for name, gradient in zip(op.inputs, event.g_input, strict=False):
                    if gradient is None and name in op.outputs and op.type not in NETS:
                        gradients.pop(name, None)
        elif isinstance(event, (GeneratorAdded, Accumulated)):
            gradients[event.blob] = event.gradient
            if isinstance(event.gradient, GradientSlice) and event.gradient.indices == event.blob:
                del gradients[event.blob]  # it numbers the rows of itself
        elif isinstance(event, Seeded):
            gradients[event.y] = event.gradient
        elif isinstance(event, (Deduplicated, HookRan)):
            gradients[event.blob] = event.after
    return gradients


def _is_unused(view: NetView, blob: Writing) -> bool:
    """Whether nobody needs the gradient given for a y: the operator that wrote it in place passes none on."""
    writer = blob.statement
    if not blob.version or writer is None or writer.nets or writer.number < view.skip:
        return False
    given = gives(view, writer.number)
    return given is not None and not any(given) and any(one.name == blob.name for one in writer.inputs)


def changes(before: StateView, after: StateView) -> Iterator[str]:
    """What is otherwise in one state than in another, in words."""
    yield from (f"ssa: {line} joined" for line in after.ssa[len(before.ssa) :])
    yield from _changed_entries("frontier", before.frontier, after.frontier)
    for blob, old, new in _by_version(before.input_usages, after.input_usages):
        if len(new) > len(old):
            yield f"input_usages: {blob} is read by {after.readers(new[len(old) :])}"
    lines = after.gradient_ops
    yield from (f"gradient_ops: {a} became {b}" for a, b in zip(before.gradient_ops, lines, strict=False) if a != b)
    yield from (f"gradient_ops: {line} joined" for line in lines[len(before.gradient_ops) :])
    for blob, was, now in _by_version(before.gradient_generators, after.gradient_generators):
        for a, b in zip(was, now, strict=False):
            if a != b:
                yield f"gradient_generators: of {blob}, {shown(a.gradient)} is now {shown(b.gradient)}"
        yield from (f"gradient_generators: {blob} got {shown(one.gradient)}" for one in now[len(was) :])
    yield from _changed_entries("gradient_frontier", before.gradient_frontier, after.gradient_frontier)
    yield from _changed_entries("gradients", before.gradients, after.gradients)


def _by_version(before: Versions[T], after: Versions[T]) -> Iterator[tuple[str, list[T], list[T]]]:
    """Each blob version of the second, with what both have of it."""
    for name, versions in after.items():
        old = before.get(name, [])
        for version, new in enumerate(versions):
            yield f"{name}@{version}", old[version] if version < len(old) else [], new


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
