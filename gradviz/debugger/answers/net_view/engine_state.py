"""The state of an engine, made of its events one after the other, and what two states differ in.

Nothing is generated again: the events say what changed. Names are those of the time, versions are numbers.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any

import msgspec

from ....program import Gradient, GradientSlice, Operator
from ....program.control_flow import NETS
from ....program.events import Accumulated, Deduplicated, Event, GeneratorAdded, How, Played, RuleApplied, Seeded
from ....program.operator import parts_of
from ...document import Line
from .net_view import NetView
from .wording import number, revision, split


class Generator(msgspec.Struct, frozen=True):
    """One gradient of a blob version; fields as of the event `GeneratorAdded`."""

    gradient: Gradient
    how: How
    index: int | None
    position: int | None


class State:
    """What events make of an engine's state, one after the other.

    Attributes are those of `StateView` and of `gradviz.IR`, as far as it has them.

    Args:
        lines: the lines of gradient operators, which know how they read at each position.
        skip: how many leading operators take no part.
        initial: blobs that are there before the first operator.
        unused: the versions whose given gradients nobody needs, so that they do not count as having arrived.
    """

    def __init__(
        self, lines: list[Line], skip: int, initial: Iterable[str], unused: Container[tuple[str, int]] = ()
    ) -> None:
        self._lines = lines
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
        found = []
        for line in self._lines:
            if line.made <= self.position:
                now = revision(line, self.position)
                names = [[split(blob)[0] for blob in blobs] for blobs in (now.inputs, now.outputs)]
                found.append((line.type, names[0], names[1]))
        return found

    def add(self, event: Event, at: int) -> None:
        """Take in the event that happened last, at position `at`."""
        self.position = at
        match event:
            case Played():
                self._play(event)
            case Seeded():
                self._know(event.y, event.version)
                self.input_usages[event.y][event.version].append(len(self.ssa))
                how: How = "given" if event.operator is None else "seed"
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


def state_at(view: NetView, position: int) -> State:
    """The state of the pass over a net at a position."""
    is_do = view.owner is not None and view.owner.type == "Do"
    skip = 0 if view.path else view.recorded.trace.skip
    state = State(view.operators, skip, sorted(view.leaving) if is_do else (), set(_unused(view, skip)))
    for at, event in view.events:
        if at > position:
            break
        state.add(event, at)
    state.position = position
    return state


def _unused(view: NetView, skip: int) -> Iterator[tuple[str, int]]:
    """The ys whose given gradients nobody needs: the operator that wrote them in place passes none on."""
    asked = {event.index: event for _, event in view.events if isinstance(event, RuleApplied)}
    for _, event in view.events:
        if not isinstance(event, Seeded) or event.operator is not None or not event.version:
            continue
        line = view.writers.get(f"{event.y}@{event.version}")
        if line is None or line.subnets or number(line) < skip or number(line) not in asked:
            continue
        is_in_place = any(split(blob)[0] == event.y for blob in line.inputs)
        if is_in_place and not any(asked[number(line)].g_input):
            yield event.y, event.version


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
