"""Gradients on their way in and out of nested nets: each under the name by which it is known there."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..operators.registry import Gradients
from ..program import Gradient, Operator
from ..program.operator import parts_of
from .accumulation import densified

if TYPE_CHECKING:
    from .ir import IR


def dedupe_g_output(op: Operator, g_output: Gradients) -> tuple[list[Operator], Gradients]:
    """Copies of gradients that arrive at several outputs of `op`, so that each is bound to one inner blob.

    A blob of `op` that was given as a gradient is copied, too.

    Returns:
        The copies, and the gradient of each output: the first output keeps the gradient, a later one has its copy,
        called ``<output>_<gradient>_DEDUP``.
    """
    copies: list[Operator] = []
    gradients: Gradients = []
    bound = {*op.inputs, *op.outputs}
    for output, gradient in zip(op.outputs, g_output, strict=True):
        if gradient in bound:
            copy = f"{output}_{gradient}_DEDUP"
            copies.append(Operator("Copy", [str(gradient)], [copy]))
            gradient = copy
        elif gradient is not None:
            bound.add(str(gradient))
        gradients.append(gradient)
    return copies, gradients


def gradient_at_start(ir: "IR", blob: str) -> Gradient | None:
    """The gradient of a blob as it was before the first operator of its net."""
    return ir.blobs[blob][0].gradient if blob in ir.blobs and ir.is_from_outside(blob) else None


def assigned(
    gradients: Mapping[str, Gradient | None], like: Mapping[str, str], aside: Callable[[str], str]
) -> list[Operator]:
    """Operators that write each gradient to its name, zeros where it is None, as if all at once.

    Args:
        gradients: name -> gradient, which may be that of another name.
        like: name -> a blob that has the shape of the gradient; asked for where it is None or sparse.
        aside: gives a name under which the gradient for a name waits until the others have been written.
    """
    first, then = [], []
    for name, gradient in gradients.items():
        blob = "" if isinstance(gradient, str) else like[name]  # a dense one brings its shape
        if gradient is None:
            then.append(zeros_like(blob, name))
        elif gradients.keys().isdisjoint(parts_of(gradient)):
            then.append(as_dense(gradient, blob, name))
        elif gradient != name:
            waiting = aside(name)
            first.append(as_dense(gradient, blob, waiting))
            then.append(Operator("Copy", [waiting], [name]))
    return [*first, *then]


def as_dense(gradient: Gradient, blob: str, name: str) -> Operator:
    """Writes the gradient of `blob` to `name`, as a dense one."""
    if isinstance(gradient, str):
        return Operator("Copy", [gradient], [name])
    return densified(gradient, blob, name)


def zeros_like(blob: str, name: str) -> Operator:
    """Writes zeros of the shape of `blob` to `name`."""
    return Operator("ConstantFill", [blob], [name], {"value": 0.0})
