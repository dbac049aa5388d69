"""Which of a rule's operators write which gradient."""

from collections.abc import Sequence

import msgspec

from ..program import Gradient, Operator
from .accumulation import Generator


def plain(op: Operator) -> Operator:
    """The operator with plain names in place of `BlobRef`."""
    return msgspec.structs.replace(op, inputs=[str(n) for n in op.inputs], outputs=[str(n) for n in op.outputs])


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
        for slot, name in enumerate(op.outputs):
            if name not in g_input:
                continue
            known = made.setdefault(name, [])
            if name in reads or len(known) == g_input.count(name):
                known[-1].steps.append((position, slot))
            else:
                known.append(Generator(name, "generated", index, [(position, slot)], op.device))
        for name in reads:
            if name not in op.outputs:
                made[name][-1].steps.append((position, -1))
    return made


def steps_of(name: str, gradient_ops: Sequence[Operator], first: int) -> list[tuple[int, int]]:
    """The steps of a rule that write `name`, and those behind the first that read it."""
    steps: list[tuple[int, int]] = []
    for position, op in enumerate(gradient_ops, first):
        if name in op.outputs:
            steps.append((position, op.outputs.index(name)))
        elif steps and name in op.inputs:
            steps.append((position, -1))
    return steps
