"""Backward passes in workspaces: the net of a Do is differentiated where it left its blobs.

On their way in and out gradients go by the names that they have there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..operators import is_constant
from ..operators.registry import Gradients
from ..program import Device, Gradient, GradientError, NetDef, Operator
from ..program.control_flow import DUPLICATE, INNER_GRADIENT, Do, Fault, reads_from_outside, scopes_in, take_apart
from ..program.operator import parts_of
from .accumulation import densified
from .nesting import Attempt, Nesting

if TYPE_CHECKING:
    from .ir import IR


def forward_do(op: Operator, index: int) -> Do:
    """The parts of a Do of a forward program."""
    do = take_apart(op, index, GradientError)
    if do.pops:
        raise Fault(op, index, GradientError)(
            "is part of a backward pass: it takes its workspace off the stack, so that its own gradient finds none",
            "Derivatives of second order do not pass control flow: let the ys lie outside of it.",
        )
    return do


def attempt_do(nesting: Nesting, do: Do, arriving: Iterable[str], way: tuple[str, ...] = ("net",)) -> Attempt:
    """The backward pass of the net of `do`, from gradients of the inner blobs `arriving`."""
    seeds = {inner: inner + INNER_GRADIENT for inner in arriving}
    return nesting.attempt(way, seeds, workspace=do.initial)


def check_reuse(op: Operator, nesting: Nesting, do: Do, ir: "IR") -> None:
    """Raise where a gradient arrives at what another Do left in the workspace that `do` continues in.

    It may arrive at what an operator of that one wrote that passes no gradient on.
    """
    for blob in ir.blobs if do.reuses else ():
        if blob in do.outer or gradient_at_start(ir, blob) is None:
            continue
        writer = _writer_of(blob, do.scope, nesting.before)
        if writer is None or not is_constant(writer):
            raise Fault(op, nesting.index, GradientError)(
                f"reads {blob} as another Do left it in the workspace, and no gradient finds its way to that one",
                f"Bind {blob}: make it an output of that Do, and an input of this one.",
                [blob],
            )


def _writer_of(blob: str, scope: str, operators: Sequence[Operator]) -> Operator | None:
    """Who wrote `blob` last in the workspace on top of `scope` behind `operators`; None where that cannot be told."""
    for op in reversed(operators):
        if op.type == "CreateScope" and scope in op.outputs:
            return None
        if op.type != "Do":
            if scope in op.outputs:
                return None
            continue
        if op.outputs[-1] == scope:
            do = forward_do(op, 0)
            writers = [nested for nested in do.net.ops if blob in nested.outputs]
            if writers or not do.reuses:
                return writers[-1] if writers and blob not in do.outer else None
    return None


def gradient_do(
    do: Do,
    net: NetDef,
    bound_in: Mapping[str, str],
    bound_out: Mapping[str, str],
    still_holds: Callable[[str], bool],
    device: Device | None,
    *,
    in_place: bool = False,
) -> Operator:
    """A Do that runs `net` in the workspace that `do` left.

    Args:
        bound_in, bound_out: inner name -> outer gradient, for those that it reads and those that it writes.
        still_holds: whether an outer blob is still what its inner one was; else the workspace has it.
        in_place: whether it reads, too, what it writes.
    """
    scopes = {do.outer[name]: name for name in scopes_in(net.ops) if name in do.outer}  # handed through
    inputs: dict[str, str] = {outer: inner for inner, outer in bound_out.items()} if in_place else {}
    saved = []
    for name in reads_from_outside(net.ops):
        if name in bound_in:
            inputs[bound_in[name]] = name
        elif name in scopes.values():
            continue
        elif name in do.outer and still_holds(do.outer[name]):
            inputs[do.outer[name]] = name
        elif name not in bound_out:
            saved.append(name)
    inputs |= scopes
    binding = {
        inner: list(inputs).index(outer) if in_place else len(inputs) + place
        for place, (inner, outer) in enumerate(bound_out.items())
    }
    binding |= {inner: place for place, inner in enumerate(inputs.values())}
    args = {
        "net": net,
        "inner_blobs": list(binding),
        "outer_blobs_idx": list(binding.values()),
        "saved_fwd_blobs": saved,
    }
    outputs = [*bound_out.values(), *scopes, do.scope]
    return Operator("Do", [*inputs, do.scope], outputs, args, device, is_gradient=True)


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
            copy = f"{output}_{gradient}{DUPLICATE}"
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
