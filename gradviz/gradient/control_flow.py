"""Gradients of control flow: the backward passes of nested nets, run where and as often as the nets were.

    Do      its gradient is a Do of the backward pass of its net, in the workspace that the net left on its scope
    If      the branch taken is differentiated; a gradient that only the other one computes is zeros there
    While   the backward pass of its body, for each workspace that an iteration left, last one first: see `loops`

A condition, and what the net of a condition writes, are constant as far as gradients go.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from ..operators.registry import Gradients, RuleAnswer, register_gradient
from ..program import Gradient, NetDef, Operator
from ..program.control_flow import INNER_GRADIENT, INNER_RESULT, RUNNING_SUM, nested_nets, reads_from_outside
from .handover import as_dense, assigned, dedupe_g_output, gradient_at_start, zeros_like
from .ir import IR, alone
from .loops import differentiate_body, loop_body, while_gradient, written_by_condition
from .nesting import Attempt, Nesting
from .workspaces import attempt_do, check_reuse, forward_do, gradient_do

__all__ = ["RUNNING_SUM", "dedupe_g_output", "do_gradient", "if_gradient", "passes_inside", "while_gradient"]


@register_gradient("Do")
def do_gradient(op: Operator, g_output: Gradients, nesting: Nesting | None = None) -> RuleAnswer:
    """The backward pass of the net of a Do, as a Do in the workspace that the net left."""
    nesting = nesting or alone(op)
    do = forward_do(op, nesting.index)
    copies, gradients = dedupe_g_output(op, g_output)
    arriving = {do.inner[blob]: str(g) for blob, g in zip(do.outputs, gradients, strict=False) if g is not None}
    ir = nesting.adopt(attempt_do(nesting, do, arriving))
    check_reuse(op, nesting, do, ir)
    made = list(ir.gradient_ops)
    results: dict[str, str] = {}
    for blob in nesting.read:
        inner = do.inner.get(blob, "")
        gradient = gradient_at_start(ir, inner)
        if gradient is not None:
            made.append(as_dense(gradient, ir.name_of(inner), inner + INNER_RESULT))
            results[blob] = nesting.result_name(blob, arriving.values())
    g_input: Gradients = [results.get(blob) for blob in nesting.read]
    for blob in nesting.zeroed():
        made.append(zeros_like(ir.name_of(do.inner[blob]), do.inner[blob] + INNER_RESULT))
        results[blob] = nesting.zeros_name(blob)
    if not results:
        return [], g_input
    bound_out = {do.inner[blob] + INNER_RESULT: result for blob, result in results.items()}
    bound_in = {inner + INNER_GRADIENT: gradient for inner, gradient in arriving.items()}
    net = NetDef(f"{do.net.name}_grad", made)
    return [*copies, gradient_do(do, net, bound_in, bound_out, nesting.still_holds, op.device)], g_input


@register_gradient("If")
def if_gradient(op: Operator, g_output: Gradients, nesting: Nesting | None = None) -> RuleAnswer:
    """An If of the backward passes of both nets, each of which makes every gradient that one of them makes."""
    nesting = nesting or alone(op)
    copies, gradients = dedupe_g_output(op, g_output)
    arriving = {blob: str(g) for blob, g in zip(op.outputs, gradients, strict=True) if g is not None}
    nets = nested_nets(op)
    branches = [_Branch(nesting, argument, nets.get(argument), arriving) for argument in ("then_net", "else_net")]
    computed = [blob for branch in branches for blob in branch.computed()]
    passed = [blob for blob in nesting.read if any(branch.passes(blob) for branch in branches)]
    wanted = list(dict.fromkeys([*computed, *(blob for blob in passed if not nesting.was_constant(blob))]))
    for branch in branches:
        branch.settle(wanted)
    results = {blob: nesting.result_name(blob, arriving.values()) for blob in wanted}
    g_input = [results.get(blob) for blob in nesting.read]
    if not wanted:
        return [], g_input
    made = [branch.net(results) for branch in branches]
    condition = nesting.name_before(op.inputs[0])
    reads = [name for net in made for name in reads_from_outside(net.ops, shapes=nesting.lists_shapes)]
    inputs = list(dict.fromkeys([condition, *reads]))
    outputs = list(dict.fromkeys(name for net in made for nested in net.ops for name in nested.outputs))
    args = {"then_net": made[0], "else_net": made[1]}
    return [*copies, Operator("If", inputs, outputs, args, op.device, is_gradient=True)], g_input


class _Branch:
    """One branch of an If and its backward pass; a branch that is not there passes everything on."""

    def __init__(self, nesting: Nesting, argument: str, net: NetDef | None, arriving: Mapping[str, str]) -> None:
        self._nesting = nesting
        self._argument = argument
        self._net = net
        self._arriving = arriving
        self._through = dict(arriving)
        self._attempt: Attempt | None = None
        if net is not None:
            self._attempt = _attempt_branch(nesting, argument, net, arriving)
            self._through = {blob: g for blob, g in arriving.items() if blob not in self._attempt.ir.blobs}

    def gradient(self, blob: str) -> Gradient | None:
        """The gradient of `blob` as it was before the branch."""
        if blob in self._through:
            return self._through[blob]
        if self._attempt is None:
            return None
        ir = self._attempt.ir
        return gradient_at_start(ir, blob) or ir.zeros.get(blob)

    def passes(self, blob: str) -> bool:
        """Whether a gradient arrives at `blob`, and the branch does not touch it."""
        return blob in self._through

    def computed(self) -> list[str]:
        """The blobs, in order, whose gradients as they were before the branch its pass computes."""
        ir = self._attempt.ir if self._attempt else None
        return [blob for blob in ir.gradient_map if gradient_at_start(ir, blob) is not None] if ir else []

    def settle(self, wanted: Sequence[str]) -> None:
        """Make its pass, in which all of `wanted` shall have a gradient, part of the one around it.

        Zeros need a shape. Where the branch overwrites a blob, only the workspace of its Do has it as it was before:
        then that Do makes them.
        """
        if self._net is None or self._attempt is None:
            return
        lost = [blob for blob in wanted if self.gradient(blob) is None and self._loses(blob)]
        if lost:
            self._attempt = _attempt_branch(self._nesting, self._argument, self._net, self._arriving, zeroed=lost)
        self._nesting.adopt(self._attempt)

    def net(self, results: Mapping[str, str]) -> NetDef:
        """The net that writes the gradient of each blob to its name in `results`."""
        name = f"{self._net.name if self._net else self._argument}_grad"
        gradients = {result: self.gradient(blob) for blob, result in results.items()}
        like = {
            result: self._nesting.name_before(blob) if self._overwrites(blob) else self._nesting.name_after(blob)
            for blob, result in results.items()
            if not isinstance(gradients[result], str)
        }
        if self._attempt is None:
            return NetDef(name, assigned(gradients, like, str))
        ir = self._attempt.ir
        return NetDef(name, [*ir.gradient_ops, *assigned(gradients, like, ir.names.fresh)])

    def _overwrites(self, blob: str) -> bool:
        return self._attempt is not None and any(blob in ssa.op.outputs for ssa in self._attempt.ir.ssa)

    def _loses(self, blob: str) -> bool:
        """Whether nothing around the branch, which overwrites the blob, keeps what it was before."""
        return self._overwrites(blob) and not self._nesting.is_kept(blob)


def _attempt_branch(
    nesting: Nesting, argument: str, net: NetDef, arriving: Mapping[str, str], zeroed: Collection[str] = ()
) -> Attempt:
    """The backward pass of the net in `argument`, from the gradients that arrive at what it touches."""
    touched = {name for op in net.ops for name in (*op.inputs, *op.outputs)}
    seeds = {blob: gradient for blob, gradient in arriving.items() if blob in touched}
    return nesting.attempt((argument,), seeds, leaving=nesting.written, shares_blobs=True, zeroed=zeroed)


def passes_inside(nesting: Nesting, op: Operator, g_output: Gradients) -> Iterator[tuple[str, IR, Mapping[str, str]]]:
    """The backward passes of the nets in `op`, generated anew from the gradients of its outputs.

    Yields:
        The way to the net from `op`, ``"loop_net/0.net"``; its pass; and the names that blobs around it have there.
    """
    arriving = {blob: str(g) for blob, g in zip(op.outputs, g_output, strict=True) if g is not None}
    if op.type == "If":
        for argument, net in nested_nets(op).items():
            ir = _attempt_branch(nesting, argument, net, arriving).ir
            yield argument, ir, {blob: blob for blob in ir.blobs}
    elif op.type == "Do":
        do = forward_do(op, nesting.index)
        yield "net", attempt_do(nesting, do, [do.inner[blob] for blob in do.outputs if blob in arriving]).ir, do.inner
    else:
        do, constant = loop_body(op, nesting), written_by_condition(op)
        ir, _ = differentiate_body(nesting, do, [blob for blob in do.outputs if blob not in constant], arriving)
        yield "loop_net/0.net", ir, do.inner
