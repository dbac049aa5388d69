"""The gradient flow of a tape: from forward operators to the operators that compute the gradients of targets.

The IR generates it. In addition, gradients may be given, gradients that nobody wants are left out with all that is
computed for them alone, and the gradients that are added up have names that tell their order:

    x_grad = Sum(x_grad_autosplit_0, x_grad_autosplit_1, ...)

where x_grad_autosplit_k is what the k-th reader that the pass comes to sends back. The sum stands where all are in.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ...gradient import IR
from ...operators.registry import gradient_name
from ...program import Gradient, GradientError, NetDef, Operator
from ...program.control_flow import NETS
from ...program.events import Accumulated, RuleApplied, Seeded, Visited
from ...program.operator import as_names, parts_of
from ...runtime import Workspace
from .sharing import with_shared_buffers


class Part(NamedTuple):
    """The operators ``operators[start:stop]`` of a flow, which were made for one purpose.

    Attributes:
        forward: the forward operator whose rule made them; None for what adds up gradients and for seeds.
        blob: what they add up the gradients of, or make one of; None where `forward` is told.
        g_output: the gradients of its outputs.
        g_input: those of its inputs, as the rule called them; `written` are its operators as it made them.
    """

    start: int
    stop: int
    forward: int | None = None
    blob: str | None = None
    g_output: Sequence[Gradient | None] = ()
    g_input: Sequence[Gradient | None] = ()
    written: Sequence[Operator] = ()


class Flow(NamedTuple):
    """Gradient operators in order, blob -> its gradient, and what each operator is there for."""

    operators: list[Operator]
    gradients: dict[str, Gradient]
    parts: list[Part]


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
            of shared buffers, see `gradviz.eager.tape.sharing`. They are then not among those that are returned.

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
    flow = gradient_flow(forward_ops, _with_given(as_names(targets), input_grads))
    operators, gradients = without_ignored(flow, set(as_names(ignored_grads)))
    if share_grads:
        written = {name for op in forward_ops for name in op.outputs}
        gradients = {blob: gradient for blob, gradient in gradients.items() if blob not in written}
        operators = with_shared_buffers(operators, {name for g in gradients.values() for name in parts_of(g)})
    if workspace is not None:
        workspace.run(NetDef("gradient_flow", operators))
    return operators, gradients


def gradient_flow(forward_ops: Iterable[Operator], targets: Mapping[str, str | None]) -> Flow:
    """The flow of all gradients of `targets`: blob -> the name of a gradient that is given, or None for ones."""
    ir = IR(forward_ops)
    parts: list[Part] = []
    sums: list[Accumulated] = []
    g_output: Sequence[Gradient | None] = ()
    for event in ir.backward_events(targets):
        if event.path:  # within a nested net
            continue
        match event:
            case Visited():
                g_output = event.g_output
            case RuleApplied(position=start, operators=made):
                parts.append(Part(start, start + len(made), event.index, None, g_output, event.g_input, made))
            case Accumulated(position=start):
                parts.append(Part(start, start + len(event.operators), blob=event.blob))
                sums.append(event)
            case Seeded(position=int(start)):
                parts.append(Part(start, start + 1, blob=event.y))
    operators = ir.gradient_ops.copy()
    _number(operators, sums, parts, {*ir.blobs})
    return Flow(operators, ir.gradient_map, parts)


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


def _number(operators: list[Operator], sums: Iterable[Accumulated], parts: Iterable[Part], taken: set[str]) -> None:
    """Give the dense gradients that are added up names that tell their order, in place."""
    made_for = {part.forward: part for part in parts if part.forward is not None}
    taken.update(name for op in operators for name in (*op.inputs, *op.outputs))
    for event in sums:
        if [op.type for op in event.operators] != ["Sum"]:
            continue
        terms = []
        for number, term in enumerate(event.contributions):
            name = f"{gradient_name(event.blob)}_autosplit_{number}"
            if term.position is None or name in taken or operators[term.position].type in NETS:
                terms.append(str(term.gradient))
                continue
            part = made_for[term.index] if term.index is not None else Part(term.position, term.position + 1)
            for position in range(part.start, part.stop):
                operators[position] = _renamed(operators[position], str(term.gradient), name)
            taken.add(name)
            terms.append(name)
        total = operators[event.position]
        operators[event.position] = msgspec.structs.replace(total, inputs=terms)


def _renamed(op: Operator, old: str, new: str) -> Operator:
    if old not in op.inputs and old not in op.outputs:
        return op
    inputs = [new if name == old else name for name in op.inputs]
    return msgspec.structs.replace(op, inputs=inputs, outputs=[new if name == old else name for name in op.outputs])


def without_ignored(flow: Flow, ignored: Collection[str]) -> tuple[list[Operator], dict[str, Gradient]]:
    """The operators and gradients of a flow without those gradients, and without what only they need."""
    gradients = {blob: g for blob, g in flow.gradients.items() if gradient_name(blob) not in ignored}
    if len(gradients) == len(flow.gradients):
        return flow.operators, gradients
    needed = {name for gradient in gradients.values() for name in parts_of(gradient)}
    kept = []
    for op in reversed(flow.operators):
        if op.type in NETS:
            needed.update(op.inputs)
        elif needed.isdisjoint(op.outputs):
            continue
        else:
            needed.difference_update(op.outputs)
            needed.update(op.inputs)
        kept.append(op)
    kept.reverse()
    return kept, gradients
