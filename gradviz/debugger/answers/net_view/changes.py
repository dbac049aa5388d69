"""What is otherwise in one state of an engine than in another, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....program import Gradient
from ....program.operator import parts_of
from .engine_state import State


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
