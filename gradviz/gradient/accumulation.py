"""Gradients of blob versions: who makes them, what they are called, and how those of several readers are added up.

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

from collections.abc import Container, Iterable, Sequence
from typing import Any

import msgspec

from ..operators.gradients import gradient_name
from ..program import Device, Gradient, GradientError, GradientSlice, Operator
from ..program.events import Contribution, GeneratorAdded, How, Rename
from ..program.operator import BlobVersion, free_name, numbered_name
from ..program.renaming import rename_steps


class Step(msgspec.Struct, frozen=True, gc=False):
    """A gradient operator that writes a name in an output slot; slot -1: a later one of the same rule that reads it."""

    position: int
    slot: int


Steps = tuple[Step, ...]
"""Those of one gradient, in order."""


class Generator(msgspec.Struct, gc=False):
    """One gradient of a blob version and the gradient operators that make it.

    Attributes:
        gradient: its name now; an accumulation may rename it.
        how: written by operators, passed through, a seed of ones, or given.
        index: the forward operator it came through; None for seeds.
        steps: the steps that write it, or a slice's values.
        device: where it is computed.
        index_steps: the steps that write a slice's indices.
    """

    gradient: Gradient
    how: How
    index: int | None
    steps: Steps = ()
    device: Device | None = None
    index_steps: Steps = ()

    @property
    def position(self) -> int | None:
        """The gradient operator that writes its final value, None where none does."""
        for step in self.steps[::-1]:
            if step.slot >= 0:
                return step.position
        return None

    def contribution(self) -> Contribution:
        """The same for an event."""
        return Contribution(self.gradient, self.how, self.index, self.position)

    def added_to(self, blob: "Tracked", path: tuple[str, ...]) -> GeneratorAdded:
        """The event that it is the latest gradient of `blob`."""
        assert self.index is not None
        count, position = len(blob.generators), self.position
        return GeneratorAdded(self.index, blob.name, blob.version, self.gradient, self.how, position, count, path=path)


class Tracked(BlobVersion, eq=False, gc=False):
    """A blob version under differentiation.

    Attributes:
        first_use: index of the first operator that reads it.
        uses: how often it is read, being a y included; an operator that reads it twice counts twice.
        generators: the gradients that have arrived.
        gradient: its gradient so far.
    """

    first_use: int = -1
    uses: int = 0
    generators: Sequence[Generator] = ()
    gradient: Gradient | None = None

    def use(self, index: int) -> None:
        """Operator `index` reads it; this is called in the order of the operators."""
        if not self.uses:
            self.first_use = index
        self.uses += 1

    def receive(self, generator: Generator) -> None:
        """One more gradient has arrived."""
        generators = self.generators
        if not generators:
            self.generators = (generator,)  # most have one: a tuple is smaller
        elif type(generators) is list:
            generators.append(generator)
        else:
            self.generators = [*generators, generator]


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


class GradientNames:
    """What gradients are called, and whose gradient each name holds.

    An IR names gradients as their rules do, and renames them where it adds them up. A pass that runs as it goes names
    each for good when it is written: `of_next` and the methods below it.

    Args:
        blobs: names that belong to the user and are never written.
        reserved: names in use around a nested net, which are not written either.
        by_arrival: whether the gradients of a sum are all called ``<name>_autosplit_<k>``, where k tells their order.
    """

    def __init__(self, blobs: Container[str], reserved: Container[str] = (), *, by_arrival: bool = False) -> None:
        self._blobs = blobs
        self._reserved = reserved
        self._holders: dict[str, Holder] = {}
        self._others: set[str] = set()
        self._called: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self.by_arrival = by_arrival

    def hold(self, name: str, of: BlobVersion, *, owned: bool) -> None:
        """`name` now holds the gradient of `of`; what an operator writes displaces the older holders."""
        self._holders[name] = Holder(of, owned, None if owned else self._holders.get(name))

    def use(self, names: Iterable[str]) -> None:
        """`names` are in use for something else, be it for a moment in a nested net on these blobs."""
        self._others.update(names)

    def needed(self, name: str) -> bool:
        """Whether `name` is reserved or holds a gradient."""
        return name in self._holders or name in self._blobs or name in self._reserved

    def in_use(self, name: str) -> bool:
        """Whether `name` stands for anything."""
        return name in self._others or self.needed(name)

    def writable(self, name: str, of: BlobVersion) -> bool:
        """Whether a gradient of `of` may be written to `name`.

        Yes where the name holds a later version of the same blob (its producer has been visited already), or another
        gradient of this version that accumulation will rename. No where it holds the gradient of another blob, or one
        of this version that was given or passed through under that name.
        """
        if name in self._blobs or name in self._reserved:
            return False
        holder = self._holders.get(name)
        while holder is not None:
            if holder.of.name != of.name or (holder.of is of and not holder.owned):
                return False
            holder = holder.other
        return True

    def fresh(self, name: str) -> str:
        """`name` with the first number with which it is not in use."""
        return numbered_name(name, self.in_use)

    def free(self, name: str) -> str:
        """`name` itself where it is not in use, else a fresh one."""
        return free_name(name, self.in_use)

    def split(self, name: str, number: int) -> tuple[str, int]:
        """The first free ``_<name>_autosplit_<number>`` from `number` on, and the number after it."""
        prefix = name if self.by_arrival else f"_{name}"
        while self.in_use(split := f"{prefix}_autosplit_{number}"):
            number += 1
        return split, number + 1

    def take(self, name: str) -> str:
        """As `free`, in use from now on."""
        taken = free_name(name, self.in_use)
        self._others.add(taken)
        return taken

    def always(self, name: str) -> str:
        """What `name` was taken as when it was asked for first."""
        if name not in self._called:
            self._called[name] = self.take(name)
        return self._called[name]

    def of_sum(self, blob: str) -> str:
        """The name of the sum of the gradients of `blob`."""
        return self.always(gradient_name(blob))

    def of_next(self, blob: str) -> str:
        """The name of the next gradient that an operator writes for `blob`; the first has that of the sum."""
        first = self._called.get(gradient_name(blob))
        return self.of_sum(blob) if first is None else self._next_split(first)

    def of_next_slice(self, blob: str) -> GradientSlice:
        """The names of a sparse one."""
        take = self.take if gradient_name(blob) not in self._called else self._next_split
        name = self.of_sum(blob)
        return GradientSlice(take(f"{name}_indices"), take(f"{name}_values"))

    def of_joined(self, blob: str) -> GradientSlice:
        """The names of the rows of all sparse gradients of `blob`, one after the other."""
        name = self.of_sum(blob)
        return GradientSlice(self.always(f"{name}_indices_concat"), self.always(f"{name}_values_concat"))

    def _next_split(self, name: str) -> str:
        split, self._numbers[name] = self.split(name, self._numbers.get(name, 0))
        self._others.add(split)
        return split


_COPIES = "Write net.copies = True: what crosses is copied, and each gradient is added where its blob lies."


def common_device(of: Tracked, index: int, *, can_copy: bool) -> Device | None:
    """The device of the first gradient of `of` that has one.

    Args:
        can_copy: whether `program.crossing` would copy what crosses there: not what nested nets read.

    Raises:
        GradientError: ``device_conflict`` when gradients lie on different devices.
    """
    placed = [generator for generator in of.generators if generator.device is not None]
    for other in placed:
        if other.device != placed[0].device:
            raise GradientError(
                f"The gradients {placed[0].gradient} ({placed[0].device}) and {other.gradient} ({other.device}) of "
                f"{of.name} cannot be added: they lie on different devices.",
                kind="device_conflict",
                operator_index=index,
                blobs=[of.name],
                ways_out=[
                    *[_COPIES] * can_copy,
                    "Put the operators that read this blob on one device, or copy it to the other one first.",
                ],
            )
    return placed[0].device if placed else None


class Total(msgspec.Struct, frozen=True, gc=False):
    """What adds up gradients: the operators to append, the renamings (done already), and the sum."""

    operators: list[Operator]
    renames: list[Rename]
    gradient: Gradient


def add_up(of: Tracked, operators: list[Operator], names: GradientNames) -> Total:
    """Add the gradients of `of`; renamings are applied to `operators`, the gradient operators, in place."""
    dense = [generator for generator in of.generators if type(generator.gradient) is not GradientSlice]
    if not dense:
        return _sparse_sum(of, operators, names)
    sparse = [generator for generator in of.generators if type(generator.gradient) is GradientSlice]
    renames = _split_halves(sparse, operators, names) if len(sparse) > 1 else []
    total = _dense_sum(of, dense, operators, names)
    if not sparse:
        return total
    shape_like = str(dense[0].gradient)
    scatter_adds = []
    for number, generator in enumerate(sparse):
        name = names.free(f"{gradient_name(of.name)}_dense_{number}")
        scatter_adds.append(densified(generator.gradient, shape_like, name))
    terms = [*total.operators[0].inputs, *(op.outputs[0] for op in scatter_adds)]
    return Total(
        [*scatter_adds, Operator("Sum", terms, total.operators[0].outputs)], renames + total.renames, total.gradient
    )


def _dense_sum(of: Tracked, generators: Sequence[Generator], operators: list[Operator], names: GradientNames) -> Total:
    first = next((generator for generator in generators if generator.steps), None)
    total = _name_of_sum(of, first, generators, names)
    renames: list[Rename] = []
    terms: list[str] = []
    unrenamed = None if names.by_arrival else first
    number = 0
    for place, generator in enumerate(generators):
        name: Any = generator.gradient
        if generator.steps and generator is not unrenamed:
            generator.gradient, number = names.split(name, max(number, place) if names.by_arrival else number)
            renames += _rename(generator.steps, name, generator.gradient, operators)
            name = generator.gradient
        terms.append(name)
    if terms[0] != total and total in terms:
        place = terms.index(total)
        terms[0], terms[place] = terms[place], terms[0]
    return Total([Operator("Sum", terms, [total])], renames, total)


def _name_of_sum(of: Tracked, first: Generator | None, generators: Sequence[Generator], names: GradientNames) -> str:
    """The name of the `first` gradient that an operator wrote, unless one that was passed through has it too."""
    total = str(first.gradient) if first else gradient_name(of.name)
    is_passed_on = any(generator.gradient == total and not generator.steps for generator in generators)
    return names.fresh(total) if is_passed_on or not (first or names.writable(total, of)) else total


def _sparse_sum(of: Tracked, operators: list[Operator], names: GradientNames) -> Total:
    base = _base_name(of.name, of.generators[0])
    renames = _split_halves(of.generators, operators, names)
    concats, totals = [], []
    for half in ("indices", "values"):
        total = names.free(f"{base}_{half}_concat")
        totals.append(total)
        parts = [getattr(generator.gradient, half) for generator in of.generators]
        concats.append(Operator("Concat", parts, [total, f"{total}_split"], {"axis": 0}))
    return Total(concats, renames, GradientSlice(*totals))


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
                halves[half], numbers[half] = names.split(old, numbers[half])
                renames.extend(_rename(steps, old, halves[half], operators))
        generator.gradient = GradientSlice(*halves)
    return renames


def _rename(steps: Steps, old: str, new: str, operators: list[Operator]) -> list[Rename]:
    renames = [Rename(step.position, step.slot, old, new) for step in steps]
    rename_steps(operators, renames)
    return renames
