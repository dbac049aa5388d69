"""Accumulation: adding up the gradients of a blob version that several operators read.

The gradient of x is the sum over its readers. It is formed where three things hold:

    (1) this version of x is read more than once (being a y counts as one reading),
    (2) the operator visited is its first reader, so the last to send a gradient,
    (3) at least two gradients have arrived.

Dense: the first gradient that an operator wrote keeps its name; the others, which would overwrite it, are renamed
``_<name>_autosplit_<k>``; gradients passed through keep theirs. One Sum adds them, in place where it can.
Sparse: both halves of each are renamed so, and two Concat lay their rows one after the other; rows are not merged.
Mixed: the sparse ones are made dense by scatter-add, in the shape of a dense one, and summed with the others.

No generated name may overwrite a gradient that is still needed, or a blob of the user's net. Rules call the gradient of
x ``x_grad``, whichever version of x it belongs to. That is safe as long as the blob of that name holds nothing else
that somebody will read: `GradientNames` says, for each name, whose gradient it holds.
"""

from collections.abc import Container, Sequence
from typing import Any

import msgspec

from ..operators.gradients import gradient_name
from ..program import Device, Gradient, GradientError, GradientSlice, Operator
from ..program.control_flow import NETS, renamed, scopes_of
from ..program.events import Rename
from ..program.operator import BlobVersion, Ssa, numbered_name, parts_of
from .rules import Answer, OutputGradientRef
from .versions import Generator, Steps, Tracked


class Holder(msgspec.Struct, frozen=True, gc=False):
    """A blob version whose gradient a name holds.

    Attributes:
        of: the blob version.
        owned: an operator wrote the name for it, so it may be renamed.
        other: another holder of the same name.
    """

    of: BlobVersion
    owned: bool
    other: "Holder | None" = None


class _Either(msgspec.Struct, frozen=True):
    one: Container[str]
    other: Container[str]

    def __contains__(self, name: str) -> bool:
        return name in self.one or name in self.other


class GradientNames:
    """Whose gradient each generated name holds.

    Args:
        blobs: names that belong to the user and are never written.
        reserved: names in use around a nested net, which are not written either.
    """

    def __init__(self, blobs: Container[str], reserved: Container[str] = ()) -> None:
        self._reserved = _Either(blobs, reserved) if reserved else blobs
        self._holders: dict[str, Holder] = {}
        self._inside: set[str] = set()

    def hold(self, name: str, of: BlobVersion, *, owned: bool) -> None:
        """`name` now holds the gradient of `of`; what an operator writes displaces the older holders."""
        self._holders[name] = Holder(of, owned, None if owned else self._holders.get(name))

    def untouched(self, name: str) -> bool:
        """Whether `name` is neither reserved nor in use, be it for a moment in a nested net on these blobs."""
        return name not in self._reserved and name not in self._holders and name not in self._inside

    def writable(self, name: str, of: BlobVersion) -> bool:
        """Whether a gradient of `of` may be written to `name`.

        Yes where the name holds a later version of the same blob (its producer has been visited already), or another
        gradient of this version that accumulation will rename. No where it holds the gradient of another blob, or one
        of this version that was given or passed through under that name.
        """
        if name in self._reserved:
            return False
        holder = self._holders.get(name)
        while holder is not None:
            if holder.of.name != of.name or (holder.of is of and not holder.owned):
                return False
            holder = holder.other
        return True

    def fresh(self, name: str) -> str:
        """`name` with the first number that makes it untouched."""
        return numbered_name(name, lambda numbered: not self.untouched(numbered))

    def free(self, name: str) -> str:
        """`name` itself where it is untouched, else a fresh one."""
        return name if self.untouched(name) else self.fresh(name)

    def settle(self, ssa: Ssa[Tracked], answer: Answer) -> tuple[list[Operator], list[Gradient | None]]:
        """The rule's operators and gradients, with fresh names where theirs would overwrite what is needed."""
        operators, g_input = answer.operators, answer.g_input
        conflicts: dict[str, str] = {}
        if answer.marked:
            conflicts = {name: self.fresh(name) for name in _read_after_write(operators)}
        reserved, holders = self._reserved, self._holders
        scopes: Sequence[str] = ()
        if ssa.op.type in NETS:
            scopes = scopes_of(ssa.op)
            self._inside.update(name for gradient_op in operators for name in gradient_op.outputs)
        for gradient_op in operators:
            for name in gradient_op.outputs:
                if (name not in holders and name not in reserved) or name in scopes or name in conflicts:
                    continue
                wanted = _target(name, ssa, g_input)
                if wanted is None or not self.writable(name, wanted):
                    conflicts[name] = self.fresh(name)
        if not conflicts:
            return operators, g_input
        return _with_names(operators, conflicts), [_renamed(gradient, conflicts) for gradient in g_input]


def _read_after_write(operators: Sequence[Operator]) -> set[str]:
    """Names that hold an output gradient, that one operator of a rule overwrites, and that a later one still reads."""
    written: set[str] = set()
    needed: set[str] = set()
    for op in operators:
        for name in op.inputs:
            if name in written and isinstance(name, OutputGradientRef):
                needed.add(str(name))
        written.update(op.outputs)
    return needed


def _target(name: str, ssa: Ssa[Tracked], g_input: Sequence[Gradient | None]) -> Tracked | None:
    """The input whose gradient a rule calls `name`."""
    if name in g_input:
        return ssa.reads[g_input.index(name)]
    return next((ssa.reads[slot] for slot, gradient in enumerate(g_input) if name in parts_of(gradient)), None)


def _with_names(operators: list[Operator], names: dict[str, str]) -> list[Operator]:
    """The operators with outputs renamed, and the inputs that read those outputs with them."""
    written: set[str] = set()
    made = []
    for op in operators:
        inputs = [names[name] if name in written and type(name) is str else name for name in op.inputs]
        outputs = [names.get(name, name) for name in op.outputs]
        written.update(name for name in op.outputs if name in names)
        if op.type in NETS:
            made.append(renamed(op, dict(zip(op.inputs, inputs, strict=True)), names))
        else:
            made.append(msgspec.structs.replace(op, inputs=inputs, outputs=outputs))
    return made


def _renamed(gradient: Gradient | None, names: dict[str, str]) -> Gradient | None:
    if isinstance(gradient, GradientSlice):
        return GradientSlice(names.get(gradient.indices, gradient.indices), names.get(gradient.values, gradient.values))
    return None if gradient is None else names.get(gradient, gradient)


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
