"""Gradients of control flow: the backward passes of nested nets, run where and as often as the nets were.

    Do      its gradient is a Do of the backward pass of its net, in the workspace that the net left on its scope
    If      the branch taken is differentiated; a gradient that only the other one computes is zeros there
    While   the backward pass of its body, for each workspace that an iteration left, last one first

A condition, and what the net of a condition writes, are constant as far as gradients go.

Let an iteration of a While turn the carried blobs x into f(x, w), with w the blobs that every iteration finds as they
were. Then

    g(x) before an iteration = g(x) after it · df/dx        last iteration first
    g(w)                     = Σ g(x) after it · df/dw      over the iterations

so the backward pass is a While, too: it hands the gradients of x on, and adds up those of w. Each of its iterations
takes the workspace that one of the loop has left. Of the carried blobs those count whose gradient is not nothing.
"""

from collections.abc import Collection, Container, Mapping, Sequence

from ..operators.gradients import gradient_name
from ..operators.registry import Gradients, RuleAnswer, register_gradient
from ..program import Gradient, GradientError, NetDef, Operator
from ..program.control_flow import (
    INNER_GRADIENT,
    INNER_RESULT,
    RUNNING_SUM,
    Do,
    Fault,
    nested_nets,
    possibly_written,
    reads_from_outside,
    scopes_of,
    within,
)
from .accumulation import densified
from .ir import IR, alone
from .nesting import Attempt, Nesting
from .workspaces import (
    as_dense,
    assigned,
    attempt_do,
    check_reuse,
    dedupe_g_output,
    forward_do,
    gradient_at_start,
    gradient_do,
    zeros_like,
)

__all__ = ["RUNNING_SUM", "dedupe_g_output", "do_gradient", "if_gradient", "while_gradient"]


@register_gradient("Do")
def do_gradient(op: Operator, g_output: Gradients, nesting: Nesting | None = None) -> RuleAnswer:
    """The backward pass of the net of a Do, as a Do in the workspace that the net left."""
    nesting = nesting or alone(op)
    do = forward_do(op, nesting.index)
    copies, gradients = dedupe_g_output(op, g_output)
    arriving = {do.inner[blob]: str(g) for blob, g in zip(do.outputs, gradients, strict=False) if g is not None}
    ir = nesting.adopt(attempt_do(nesting, do, arriving))
    check_reuse(op, nesting, do, ir)
    operators = list(ir.gradient_ops)
    results: dict[str, str] = {}
    for blob in nesting.read:
        inner = do.inner.get(blob, "")
        gradient = gradient_at_start(ir, inner)
        if gradient is not None:
            operators.append(as_dense(gradient, ir.name_of(inner), inner + INNER_RESULT))
            results[blob] = nesting.result_name(blob, arriving.values())
    g_input: Gradients = [results.get(blob) for blob in nesting.read]
    for blob in nesting.zeroed():
        operators.append(zeros_like(ir.name_of(do.inner[blob]), do.inner[blob] + INNER_RESULT))
        results[blob] = nesting.zeros_name(blob)
    if not results:
        return [], g_input
    bound_out = {do.inner[blob] + INNER_RESULT: result for blob, result in results.items()}
    bound_in = {inner + INNER_GRADIENT: gradient for inner, gradient in arriving.items()}
    net = NetDef(f"{do.net.name}_grad", operators)
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
    grad_nets = [branch.net(results) for branch in branches]
    condition = nesting.name_before(op.inputs[0])
    reads = [name for net in grad_nets for name in reads_from_outside(net.ops, shapes=nesting.lists_shapes)]
    inputs = list(dict.fromkeys([condition, *reads]))
    outputs = list(dict.fromkeys(name for net in grad_nets for nested in net.ops for name in nested.outputs))
    args = {"then_net": grad_nets[0], "else_net": grad_nets[1]}
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
        return self._overwrites(blob) and not self._nesting.is_readable(blob)


def _attempt_branch(
    nesting: Nesting, argument: str, net: NetDef, arriving: Mapping[str, str], zeroed: Collection[str] = ()
) -> Attempt:
    """The backward pass of the net in `argument`, from the gradients that arrive at what it touches."""
    touched = {name for op in net.ops for name in (*op.inputs, *op.outputs)}
    seeds = {blob: gradient for blob, gradient in arriving.items() if blob in touched}
    return nesting.attempt((argument,), seeds, zeroed=zeroed)


BODY = ("loop_net", "net")
"""The way from a While to the net of the Do that is its body."""


@register_gradient("While")
def while_gradient(op: Operator, g_output: Gradients, nesting: Nesting | None = None) -> RuleAnswer:
    """A While over the workspaces that the iterations left, each of which the backward pass of the net takes."""
    nesting = nesting or alone(op)
    do = loop_body(op, nesting)
    constant = written_by_condition(op)
    copies, gradients = dedupe_g_output(op, g_output)
    arriving = {blob: str(g) for blob, g in zip(op.outputs, gradients, strict=True) if g is not None}
    carried = [blob for blob in do.outputs if blob not in constant]
    ir, active = differentiate_body(nesting, do, carried, arriving)
    reached = [blob for blob, inner in do.inner.items() if gradient_at_start(ir, inner) is not None]
    _check_condition(op, nesting, [blob for blob in constant if blob in arriving or blob in reached])
    idle = {blob: g for blob, g in zip(op.outputs, g_output, strict=True) if blob not in (*do.outputs, *constant)}
    if not active:
        return [], [idle.get(blob) for blob in nesting.read]
    summed = [blob for blob in reached if blob not in carried and blob not in constant]
    results = {blob: nesting.result_name(blob, arriving.values()) for blob in (*active, *summed)}
    body = gradient_do(
        do,
        NetDef(f"{do.net.name}_grad", [*ir.gradient_ops, *_add_up(ir, do, summed), *_carry(ir, do, active, nesting)]),
        {},
        {
            **{do.inner[blob] + INNER_GRADIENT: results[blob] for blob in active},
            **{do.inner[blob] + RUNNING_SUM: results[blob] for blob in summed},
        },
        lambda blob: False,
        op.device,
        in_place=True,
    )
    _check_scopes(op, nesting, body)
    g_input = [results.get(blob, idle.get(blob)) for blob in nesting.read]
    return [*copies, *_gradient_loop(op, nesting, body, results, arriving)], g_input


def _gradient_loop(
    op: Operator, nesting: Nesting, body: Operator, results: Mapping[str, str], arriving: Mapping[str, str]
) -> list[Operator]:
    """The While that runs `body` for each workspace of loop `op`, and what its gradients start from."""
    name = nested_nets(op)["loop_net"].name
    holds = nesting.free_name(f"{name}_grad/cond")
    ask = Operator("HasScope", body.inputs[-1:], [holds])
    starts = [
        Operator("Copy", [arriving[blob]], [result]) if blob in arriving else zeros_like(blob, result)
        for blob, result in results.items()
    ]
    names, scopes = list(results.values()), scopes_of(body)
    nets = {"cond_net": NetDef("gradient_loop_cond_net", [ask]), "loop_net": NetDef(f"{name}_grad", [body])}
    limit = {name: value for name, value in op.args.items() if name == "max_iterations"}
    loop = Operator(
        "While", [holds, *names, *scopes], [*names, holds, *scopes], {**nets, **limit}, op.device, is_gradient=True
    )
    return [*starts, ask, loop]


def loop_body(op: Operator, nesting: Nesting) -> Do:
    """The one Do in the body of a loop."""
    body = nested_nets(op)["loop_net"].ops
    if len(body) != 1 or body[0].type != "Do":
        raise Fault(op, nesting.index, GradientError)(
            "has a loop_net that is no single Do, so nothing keeps what its iterations compute",
            "Put the body into a Do with a scope, as `with net.While(...)` does.",
        )
    try:
        return forward_do(body[0], 0)
    except GradientError as error:
        raise within(error, op, nesting.index, "loop_net") from error


def differentiate_body(
    nesting: Nesting, do: Do, carried: Sequence[str], arriving: Container[str]
) -> tuple[IR, list[str]]:
    """The backward pass of one iteration, and the blobs whose gradients iterations hand on to each other.

    These are the `carried` ones at which a gradient arrives from outside or at the start of an iteration.
    """
    active = [blob for blob in carried if blob in arriving]
    while True:
        attempt = attempt_do(nesting, do, [do.inner[blob] for blob in active], BODY)
        wanted = [
            blob for blob in carried if blob in active or gradient_at_start(attempt.ir, do.inner[blob]) is not None
        ]
        if wanted == active:
            return nesting.adopt(attempt), active
        active = wanted


def _carry(ir: IR, do: Do, active: Sequence[str], nesting: Nesting) -> list[Operator]:
    """Hand the gradients at the start of an iteration on, as those at the end of the one before it."""
    of = {do.inner[blob] + INNER_GRADIENT: do.inner[blob] for blob in active}
    gradients = {name: gradient_at_start(ir, inner) for name, inner in of.items()}
    like = {
        name: ir.name_of(inner) if gradients[name] or nesting.was_there(do.outer[inner]) else inner
        for name, inner in of.items()
    }
    return assigned(gradients, like, lambda name: of[name] + INNER_RESULT)


def _add_up(ir: IR, do: Do, summed: Sequence[str]) -> list[Operator]:
    """Add the gradients of an iteration to the sums over those after it."""
    operators = []
    for blob in summed:
        inner = do.inner[blob]
        gradient, total = gradient_at_start(ir, inner), inner + RUNNING_SUM
        assert gradient is not None
        if not isinstance(gradient, str):
            operators.append(densified(gradient, ir.name_of(inner), inner + INNER_RESULT))
            gradient = inner + INNER_RESULT
        operators.append(Operator("Sum", [total, gradient], [total]))
    return operators


def written_by_condition(op: Operator) -> list[str]:
    """The condition of a loop, and what the net of the condition writes."""
    net = nested_nets(op).get("cond_net")
    written = set().union(*map(possibly_written, net.ops)) if net else set()
    return [op.inputs[0], *(name for name in op.outputs if name in written and name != op.inputs[0])]


def _check_condition(op: Operator, nesting: Nesting, reached: Sequence[str]) -> None:
    """Raise where a gradient that reaches what the net of a loop's condition writes would pass on through that net."""
    if "cond_net" not in nested_nets(op) or not reached:
        return
    seeds = {blob: gradient_name(blob) for blob in reached}
    ir = nesting.attempt(("cond_net",), seeds).ir
    if any(gradient_at_start(ir, blob) is not None for blob in ir.blobs):
        names = ", ".join(reached)
        raise Fault(op, nesting.index, GradientError)(
            f"computes {names} in the net of its condition, which keeps nothing for a backward pass, and a gradient "
            "arrives there",
            f"Compute {names} in loop_net, and in cond_net what only the condition needs.",
            reached,
        )


def _check_scopes(op: Operator, nesting: Nesting, body: Operator) -> None:
    """Raise where an iteration leaves workspaces above those of the iteration before that `body` is to take."""
    for scope in scopes_of(body):
        if scope in nesting.left_on:
            raise Fault(op, nesting.index, GradientError)(
                f"keeps on {scope}, from one iteration to the next, workspaces of operators that have no gradient and "
                "of others that have one",
                "Give them scopes of their own, made by CreateScope in the net of the body.",
                [scope],
            )
