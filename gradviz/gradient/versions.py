"""What the IR knows of each blob version, and who makes its gradients."""

from collections.abc import Sequence

import msgspec

from ..program import Device, Gradient, Operator
from ..program.events import Contribution, GeneratorAdded, How
from ..program.operator import BlobVersion


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
        device: where it is made.
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
        """Operator `index` reads it; operators are told in order."""
        if not self.uses:
            self.first_use = index
        self.uses += 1

    def receive(self, generator: Generator) -> None:
        """One more gradient has arrived."""
        known = self.generators
        if not known:
            self.generators = (generator,)  # most have one: a tuple is smaller
        elif type(known) is list:
            known.append(generator)
        else:
            self.generators = [*known, generator]


def written(
    gradient_ops: Sequence[Operator], g_input: Sequence[Gradient | None], first: int, index: int
) -> dict[str, list[Generator]]:
    """The dense gradients that a rule's operators write, by name.

    All steps that write one name are one gradient, unless the input occurs several times: then each writing that does
    not read the name is a gradient of its own. `first` is the number of the first operator among all gradient
    operators, `index` the forward operator.
    """
    made: dict[str, list[Generator]] = {}
    for position, op in enumerate(gradient_ops, first):
        reads = [name for name in made if name in op.inputs] if made else ()
        device = None if op.type == "CopyOnDeviceLike" else op.device  # that one writes where its second input lies
        for slot, name in enumerate(op.outputs):
            if name not in g_input:
                continue
            known = made.get(name)
            if known is None:
                made[name] = [Generator(name, "generated", index, (Step(position, slot),), device)]
            elif name in reads or len(known) == g_input.count(name):
                known[-1].steps += (Step(position, slot),)
            else:
                known.append(Generator(name, "generated", index, (Step(position, slot),), device))
        for name in reads:
            if name not in op.outputs:
                made[name][-1].steps += (Step(position, -1),)
    return made


def steps_of(name: str, gradient_ops: Sequence[Operator], first: int) -> Steps:
    """The steps of a rule that write `name`, and those behind the first that read it."""
    steps: Steps = ()
    for position, op in enumerate(gradient_ops, first):
        if name in op.outputs:
            steps += (Step(position, op.outputs.index(name)),)
        elif steps and name in op.inputs:
            steps += (Step(position, -1),)
    return steps
