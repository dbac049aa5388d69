"""Accumulation: adding up the gradients of a blob version that several operators read.

The gradient of x is the sum over its readers. It is formed where three things hold:

    (1) this version of x is read more than once (being a y counts as one reading),
    (2) the operator visited is its first reader, so the last to send a gradient,
    (3) at least two gradients have arrived.

Dense: the first gradient that an operator wrote keeps its name; the others, which would overwrite it, are renamed
``_<name>_autosplit_<k>``; gradients passed through keep theirs. One Sum adds them, in place where it can.
Sparse: both halves of each are renamed so, and two Concat lay their rows one after the other; rows are not merged.
Mixed: the sparse ones are made dense by scatter-add, in the shape of a dense one, and summed with the others.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from ..operators.registry import gradient_name
from ..program import Device, Gradient, GradientError, GradientSlice, Operator
from ..program.control_flow import NETS, renamed
from ..program.events import Rename
from .names import GradientNames
from .versions import Generator, Steps, Tracked


def common_device(of: Tracked, index: int) -> Device | None:
    """The device of the first gradient of `of` that has one.

    Raises:
        GradientError: ``device_conflict`` when gradients lie on different devices.
    """
    found: Generator | None = None
    for generator in of.generators:
        if generator.device is None:
            continue
        if found is None:
            found = generator
        elif found.device != generator.device:
            raise GradientError(
                f"The gradients {found.gradient} ({found.device}) and {generator.gradient} ({generator.device}) of "
                f"{of.name} cannot be added: they lie on different devices.",
                kind="device_conflict",
                operator_index=index,
                blobs=[of.name],
                ways_out=["Put the operators that read this blob on one device, or copy it to the other one first."],
            )
    return found.device if found else None


class Total(msgspec.Struct, frozen=True, gc=False):
    """What adds up gradients: the operators to append, the renamings (done already), and the sum."""

    operators: list[Operator]
    renames: list[Rename]
    gradient: Gradient


def add_up(of: Tracked, operators: list[Operator], names: GradientNames) -> Total:
    """Add the gradients of `of`; renamings are applied to `operators`, the gradient operators, in place."""
    kinds = set(map(_is_sparse, of.generators))
    if kinds == {False}:
        return _dense_sum(of, of.generators, operators, names)
    if kinds == {True}:
        return _sparse_sum(of, of.generators, operators, names)
    return _mixed_sum(of, operators, names)


def _is_sparse(generator: Generator) -> bool:
    return type(generator.gradient) is GradientSlice


def _dense_sum(of: Tracked, generators: Sequence[Generator], operators: list[Operator], names: GradientNames) -> Total:
    total = _name_of_sum(of, generators, names)
    renames: list[Rename] = []
    terms: list[str] = []
    number, is_first = 0, True
    for generator in generators:
        name: Any = generator.gradient
        if generator.steps and is_first:
            is_first = False
        elif generator.steps:
            generator.gradient, number = _split_name(name, number, names)
            renames += _rename(generator.steps, name, generator.gradient, operators)
            name = generator.gradient
        terms.append(name)
    if terms[0] != total and total in terms:
        place = terms.index(total)
        terms[0], terms[place] = terms[place], terms[0]
    return Total([Operator("Sum", terms, [total])], renames, total)


def _name_of_sum(of: Tracked, generators: Sequence[Generator], names: GradientNames) -> str:
    """The name of the first gradient that an operator wrote, unless one that was passed through has it too."""
    for generator in generators:
        if generator.steps:
            total: Any = generator.gradient
            break
    else:
        total = gradient_name(of.name)
        if not names.writable(total, of):
            return names.fresh(total)
    for generator in generators:
        if generator.gradient == total and not generator.steps:
            return names.fresh(total)
    return str(total)


def _sparse_sum(of: Tracked, generators: Sequence[Generator], operators: list[Operator], names: GradientNames) -> Total:
    base = _base_name(of.name, generators[0])
    renames = _split_halves(generators, operators, names)
    made, totals = [], []
    for half in ("indices", "values"):
        total = names.free(f"{base}_{half}_concat")
        totals.append(total)
        parts = [getattr(generator.gradient, half) for generator in generators]
        made.append(Operator("Concat", parts, [total, f"{total}_split"], {"axis": 0}))
    return Total(made, renames, GradientSlice(*totals))


def _mixed_sum(of: Tracked, operators: list[Operator], names: GradientNames) -> Total:
    sparse = [generator for generator in of.generators if _is_sparse(generator)]
    dense = [generator for generator in of.generators if not _is_sparse(generator)]
    renames = _split_halves(sparse, operators, names) if len(sparse) > 1 else []
    total = _dense_sum(of, dense, operators, names)
    shape_like = str(dense[0].gradient)
    made = []
    for number, generator in enumerate(sparse):
        name = names.free(f"{gradient_name(of.name)}_dense_{number}")
        made.append(densified(generator.gradient, shape_like, name))
    terms = [*total.operators[0].inputs, *(op.outputs[0] for op in made)]
    return Total([*made, Operator("Sum", terms, total.operators[0].outputs)], renames + total.renames, total.gradient)


def densified(gradient: Gradient, shape_like: str, name: str, device: Device | None = None) -> Operator:
    """The operator that scatter-adds a slice into zeros of the shape of blob `shape_like`."""
    assert isinstance(gradient, GradientSlice)
    return Operator("SparseToDense", [gradient.indices, gradient.values, shape_like], [name], device=device)


def _base_name(blob: str, first: Generator) -> str:
    gradient = first.gradient
    assert isinstance(gradient, GradientSlice)
    if first.index_steps:
        return gradient.indices.removesuffix("_indices")
    return gradient.values.removesuffix("_values") if first.steps else gradient_name(blob)


def _split_halves(generators: Sequence[Generator], operators: list[Operator], names: GradientNames) -> list[Rename]:
    """Give the halves that operators wrote names of their own."""
    renames: list[Rename] = []
    numbers = [0, 0]
    for generator in generators:
        gradient = generator.gradient
        assert isinstance(gradient, GradientSlice)
        halves = [gradient.indices, gradient.values]
        for half, steps in enumerate((generator.index_steps, generator.steps)):
            if steps:
                old = halves[half]
                halves[half], numbers[half] = _split_name(old, numbers[half], names)
                renames.extend(_rename(steps, old, halves[half], operators))
        generator.gradient = GradientSlice(*halves)
    return renames


def _split_name(name: str, number: int, names: GradientNames) -> tuple[str, int]:
    """The first free ``_<name>_autosplit_<number>`` from `number` on, and the number after it."""
    while not names.untouched(split := f"_{name}_autosplit_{number}"):
        number += 1
    return split, number + 1


def _rename(steps: Steps, old: str, new: str, operators: list[Operator]) -> list[Rename]:
    for number, step in enumerate(steps):
        op = operators[step.position]
        if op.type in NETS:
            made = renamed(op, {old: new} if number else {}, {old: new} if step.slot >= 0 else {})
        else:
            inputs = [new if name == old else name for name in op.inputs] if number else op.inputs
            outputs = op.outputs
            if step.slot >= 0:
                outputs = outputs.copy()
                outputs[step.slot] = new
            made = msgspec.structs.replace(op, inputs=inputs, outputs=outputs)
        operators[step.position] = made
    return [Rename(step.position, step.slot, old, new) for step in steps]
