"""Accumulation: adding up the gradients of a blob version that several operators read.

The gradient of x is the sum over its readers. It is formed where three things hold:

    (1) this version of x is read more than once (being a y counts as one reading),
    (2) the operator visited is its first reader, so the last to send a gradient,
    (3) at least two gradients have arrived.

The first gradient that an operator wrote keeps its name; the others, which would overwrite it, are renamed
``_<name>_autosplit_<k>``; gradients passed through keep theirs. One Sum adds them, in place where it can.
"""

from collections.abc import Iterable, Sequence

import msgspec

from ..operators.registry import gradient_name
from ..program import Device, Gradient, GradientError, Operator
from ..program.events import Contribution, How, Rename
from .names import GradientNames


class Generator(msgspec.Struct, gc=False):
    """One gradient of a blob version and the gradient operators that make it.

    Attributes:
        gradient: its name now; an accumulation may rename it.
        how: written by operators, passed through, a seed of ones, or given.
        index: the forward operator it came through; None for seeds.
        steps: (gradient operator, output slot) that write it, in order; slot -1: a step of the same rule that reads it.
        device: where it is made.
    """

    gradient: Gradient
    how: How
    index: int | None
    steps: list[tuple[int, int]]
    device: Device | None

    @property
    def position(self) -> int | None:
        """The gradient operator that writes its final value, None where none does."""
        for position, slot in reversed(self.steps):
            if slot >= 0:
                return position
        return None

    def contribution(self) -> Contribution:
        return Contribution(self.gradient, self.how, self.index, self.position)


def common_device(blob: str, index: int, generators: Iterable[Generator]) -> Device | None:
    """The device of the first gradient that has one.

    Raises:
        GradientError: ``device_conflict`` when gradients lie on different devices.
    """
    found: Generator | None = None
    for generator in generators:
        if generator.device is None:
            continue
        if found is None:
            found = generator
        elif found.device != generator.device:
            raise GradientError(
                f"The gradients {found.gradient} ({found.device}) and {generator.gradient} ({generator.device}) of "
                f"{blob} cannot be added: they lie on different devices.",
                kind="device_conflict",
                operator_index=index,
                blobs=[blob],
                ways_out=["Put the operators that read this blob on one device, or copy it to the other one first."],
            )
    return found.device if found else None


def dense_sum(
    blob: str, version: int, generators: Sequence[Generator], operators: list[Operator], names: GradientNames
) -> tuple[Operator, list[Rename]]:
    """The Sum of `generators`, and the renamings it needs, which are applied to `operators` in place."""
    written = [generator for generator in generators if generator.steps]
    passed = {generator.gradient for generator in generators if not generator.steps}
    total = written[0].gradient if written else gradient_name(blob)
    assert isinstance(total, str)
    if total in passed or (not written and not names.writable(total, blob, version)):
        total = names.fresh(total)
    renames: list[Rename] = []
    number = 0
    for generator in written[1:]:
        split = f"_{generator.gradient}_autosplit_{number}"
        number += 1
        while not names.untouched(split):
            split = f"_{generator.gradient}_autosplit_{number}"
            number += 1
        renames.extend(_rename(generator, split, operators))
    terms = [str(generator.gradient) for generator in generators]
    if total in terms:
        place = terms.index(total)
        terms[0], terms[place] = terms[place], terms[0]
    return Operator("Sum", terms, [total]), renames


def _rename(generator: Generator, new: str, operators: list[Operator]) -> Iterable[Rename]:
    old = str(generator.gradient)
    for step, (position, slot) in enumerate(generator.steps):
        op = operators[position]
        inputs = [new if name == old else name for name in op.inputs] if step else op.inputs
        outputs = op.outputs
        if slot >= 0:
            outputs = outputs.copy()
            outputs[slot] = new
        operators[position] = msgspec.structs.replace(op, inputs=inputs, outputs=outputs)
        yield Rename(position, slot, old, new)
    generator.gradient = new
