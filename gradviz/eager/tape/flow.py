"""The gradient flow of a tape: from forward operators to the operators that compute the gradients of targets.

The IR generates it. In addition, gradients may be given, gradients that nobody wants are left out with all that is
computed for them alone, and the gradients that are added up have names that tell their order:

    x_grad = Sum(x_grad_autosplit_0, x_grad_autosplit_1, ...)

where x_grad_autosplit_k is what the k-th reader that the pass comes to sends back. The sum stands where all are in.

Gradients that are not needed at the same time may take turns in shared buffers. Kernels make new arrays and never write
into old ones, so a buffer is no memory that is kept, but a place that one gradient after the other has: what a gradient
takes is free again when the last operator that needs it has run. At no time are more gradients there than buffers.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from ...gradient import IR
from ...operators.gradients import gradient_name
from ...program import Gradient, GradientError, NetDef, Operator
from ...program.control_flow import NETS
from ...program.operator import as_names, parts_of
from ...runtime import Workspace


def run_gradient_flow(
    forward_ops: Iterable[Operator],
    targets: str | Iterable[str],
    input_grads: str | Iterable[str] | Mapping[str, str] = (),
    ignored_grads: str | Iterable[str] = (),
    workspace: Workspace | None = None,
    share_grads: bool = False,
) -> tuple[list[Operator], dict[str, Gradient]]:
    """The operators that compute the gradients of `targets`, run where there is a workspace.

    Args:
        forward_ops: operators in an order in which each follows all that it reads.
        targets: the blob, or blobs, from which gradients start, each from ones unless its gradient is given.
        input_grads: gradients that are given: names ``<target>_grad``, or a mapping from targets to names.
        ignored_grads: gradients that nobody wants: names ``<blob>_grad``. Operators that only they need are left out.
        workspace: where the forward operators have been run; the gradients are left there. None: nothing runs.
        share_grads: whether gradients of blobs that operators write, and parts of gradients, take turns under the names
            of shared buffers, see above. They are then not among those that are returned.

    Returns:
        The operators in order, and the gradient of each blob that has one and is not ignored.

    Raises:
        GradientError: ``bad_ys`` for a target that no operator knows or a gradient given for what is no target; what
            the IR raises.
        RunError: what `Workspace.run` raises; the workspace is then as it was.

    Example:
        >>> ops, gradients = run_gradient_flow([Operator("Mul", ["x", "w"], ["y"])], ["y"], ignored_grads=["w_grad"])
        >>> gradients["x"]
        'x_grad'
    """
    forward_ops = list(forward_ops)
    ir = IR(forward_ops, by_arrival=True)
    operators, gradients = ir.get_backward_pass(_with_given(as_names(targets), input_grads))
    operators, gradients = _without_ignored(operators, gradients, set(as_names(ignored_grads)))
    if share_grads:
        written = {name for op in forward_ops for name in op.outputs}
        gradients = {blob: gradient for blob, gradient in gradients.items() if blob not in written}
        operators = with_shared_buffers(operators, {name for g in gradients.values() for name in parts_of(g)})
    if workspace is not None:
        workspace.run(NetDef("gradient_flow", operators))
    return operators, gradients


def _with_given(targets: list[str], given: str | Iterable[str] | Mapping[str, str]) -> dict[str, str | None]:
    """Targets -> the gradients that are given for them."""
    if not isinstance(given, Mapping):
        of_targets = {gradient_name(target): target for target in targets}
        given = {of_targets.get(name, name): name for name in as_names(given)}
    for target, name in given.items():
        if target not in targets:
            raise GradientError(
                f"The gradient {name} is given, but it is that of none of the targets {', '.join(targets)}.",
                kind="bad_ys",
                blobs=[name],
                ways_out=["Call it <target>_grad.", "Give a mapping from targets to the names of their gradients."],
            )
    return {target: given.get(target) for target in targets}


def _without_ignored(
    operators: list[Operator], whole: Mapping[str, Gradient], ignored: Collection[str]
) -> tuple[list[Operator], dict[str, Gradient]]:
    """The operators and gradients of a flow without those gradients, and without what only they need."""
    gradients = {blob: gradient for blob, gradient in whole.items() if gradient_name(blob) not in ignored}
    if len(gradients) == len(whole):
        return operators, gradients
    needed = {name for gradient in gradients.values() for name in parts_of(gradient)}
    remaining = []
    for op in reversed(operators):
        if op.type in NETS:
            needed.update(op.inputs)
        elif needed.isdisjoint(op.outputs):
            continue
        else:
            needed.difference_update(op.outputs)
            needed.update(op.inputs)
        remaining.append(op)
    remaining.reverse()
    return remaining, gradients


Key = TypeVar("Key", bound=Hashable)


class Sharing(NamedTuple):
    """What sharing has saved.

    Attributes:
        buffers: how many buffers there are.
        gradients: how many gradients took turns in them: those of the Variables on the way, and their parts.
        bytes_shared: the size of the buffers together; each is as large as the largest gradient that it had.
        bytes_apart: the size of the gradients together, which they would have with a buffer each.
    """

    buffers: int
    gradients: int
    bytes_shared: int
    bytes_apart: int

    def __str__(self) -> str:
        return (
            f"{self.gradients} gradients took turns in {self.buffers} buffers: "
            f"{self.bytes_shared:,} bytes instead of {self.bytes_apart:,}."
        )


def take_turns(
    turns: Sequence[tuple[Sequence[Key], Sequence[Key]]], apart: Collection[Key], size_of: Callable[[Key], int]
) -> tuple[dict[Key, int], Sharing]:
    """The buffer that each gradient has; the one that was left first is taken first.

    Args:
        turns: in order what is read and what is written; each gradient is written once.
        apart: what has a place of its own.
        size_of: the size of a gradient in bytes.
    """
    met = [dict.fromkeys((*reads, *writes)) for reads, writes in turns]
    last = {gradient: at for at, gradients in enumerate(met) for gradient in gradients}
    buffer_of: dict[Key, int] = {}
    sizes: list[int] = []
    free: deque[int] = deque()
    for at, (_, writes) in enumerate(turns):
        for gradient in writes:
            if gradient not in apart:
                if not free:
                    free.append(len(sizes))
                    sizes.append(0)
                buffer_of[gradient] = buffer = free.popleft()
                sizes[buffer] = max(sizes[buffer], size_of(gradient))
        free += [buffer_of[gradient] for gradient in met[at] if last[gradient] == at and gradient in buffer_of]
    return buffer_of, Sharing(len(sizes), len(buffer_of), sum(sizes), sum(map(size_of, buffer_of)))


def with_shared_buffers(operators: Sequence[Operator], apart: Collection[str]) -> list[Operator]:
    """The operators of a flow, in which what they write has the names of shared buffers.

    Args:
        apart: gradients that keep names of their own: they are wanted when the flow has run.
    """
    written = Counter(name for op in operators for name in op.outputs)
    nested = {name for op in operators if op.type in NETS for name in (*op.inputs, *op.outputs)}
    own = {*apart, *nested, *[name for name, times in written.items() if times > 1]}
    buffer_of, _ = take_turns([(op.inputs, op.outputs) for op in operators], own, lambda name: 0)
    names = {name: f"share/buffer/grads:{buffer}" for name, buffer in buffer_of.items()}
    return [
        msgspec.structs.replace(
            op,
            inputs=[names.get(blob, blob) for blob in op.inputs],
            outputs=[names.get(blob, blob) for blob in op.outputs],
        )
        for op in operators
    ]
