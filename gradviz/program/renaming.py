"""What operators are called when gradients are added: each then has a name of its own."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from .control_flow import NETS
from .control_flow import renamed as renamed_with_nets
from .events import Rename
from .operator import Operator


def renamed(op: Operator, rename: Rename, *, reads: bool) -> Operator:
    """An operator that writes, or `reads`, another name."""
    if op.type in NETS:
        names = {rename.old: rename.new}
        return renamed_with_nets(op, names if reads else {}, names if rename.slot >= 0 else {})
    outputs, inputs = op.outputs, op.inputs
    if rename.slot >= 0:
        outputs = outputs.copy()
        outputs[rename.slot] = rename.new
    if reads:
        inputs = [rename.new if name == rename.old else name for name in inputs]
    return replace(op, inputs=inputs, outputs=outputs)


def steps_renamed(renames: Iterable[Rename]) -> Iterator[tuple[Rename, bool]]:
    """The renames of an accumulation, and whether each is also of what is read, as by a later step of a rule."""
    last: tuple[str, str] | None = None
    for one in renames:
        yield one, last == (one.old, one.new)
        last = one.old, one.new


def rename_steps(operators: list[Operator], renames: Iterable[Rename]) -> None:
    """Let gradient operators be called as they are once gradients have been added."""
    for one, reads in steps_renamed(renames):
        operators[one.position] = renamed(operators[one.position], one, reads=reads)
