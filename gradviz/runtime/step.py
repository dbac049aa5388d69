"""Step: one operator ready to run."""

from typing import TYPE_CHECKING, Any, NamedTuple

from ..program import Device, Operator

if TYPE_CHECKING:
    from .nested import Nested


class Step(NamedTuple):
    """One operator ready to run: a kernel, or nested nets (then `kernel` is None).

    `inputs` holds the names of one or two inputs when it takes so many, writes one output, and needs nothing else:
    then `execute` calls its kernel without a detour. `late`: its shapes are checked when its inputs exist. `kernel`
    brings its inputs to `device` where that is needed. `keeps`: names that it overwrites, each with the name under
    which the old value is kept.
    """

    kernel: Any
    op: Operator
    position: int
    inputs: tuple[str, ...]
    output: str
    late: bool
    device: Device
    nested: "Nested | None"
    keeps: tuple[tuple[str, str], ...]
