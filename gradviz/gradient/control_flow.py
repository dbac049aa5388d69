"""Gradients of control flow: the backward passes of nested nets, run where and as often as the nets were.

    Do      its gradient is a Do of the backward pass of its net, in the workspace that the net left on its scope
    If      the branch taken is differentiated; a gradient that only the other one computes is zeros there
    While   g(x) at the start of an iteration is the gradient of its net for g(x) at the end, last iteration first;
            a blob w that every iteration reads has g(w) = sum over the iterations

A condition, and what the net of a condition writes, are constant as far as gradients go.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..operators.registry import Gradients, RuleAnswer, register_gradient
from ..program import Gradient, GradientError, NetDef, Operator
from ..program.control_flow import (
    INNER_GRADIENT,
    INNER_RESULT,
    Do,
    Fault,
    nested_nets,
    reads_from_outside,
    scopes_of,
    take_apart,
)
from .accumulation import densified
from .nesting import Nesting

if TYPE_CHECKING:
    from .ir import IR

BODY = ("loop_net", "net")
"""The way from a While to the net of the Do that is its body."""

RUNNING_SUM = "/_DO_OPERATOR_INNER_GRAD_SUM_"
"""Ends the name of a sum over iterations in the net of a loop's backward pass, after the name of the inner blob."""


@register_gradient("Do")
def do_gradient(op: Operator, g_output: Gradients, nesting: Nesting | None = None) -> RuleAnswer:
    """The backward pass of the net of a Do, as a Do in the workspace that the net left."""
    nesting = nesting or Nesting.alone(op)
    do = take_apart(op, nesting.index, GradientError)
    copies, gradients = dedupe_g_output(op, g_output)
    arriving = {do.inner[blob]: str(g) for blob, g in zip(do.outputs, gradients, strict=False) if g is not None}
    ir = _differentiate_do(nesting, do, arriving)
    made = list(ir.gradient_ops)
    results: dict[str, str] = {}
    for blob in nesting.read:
        inner = do.inner.get(blob, "")
        gradient = _at_start(ir, inner)
        if gradient is not None:
            made.append(_taken_over(ir, inner, gradient, inner + INNER_RESULT))
            results[blob] = nesting.result_name(blob, arriving.values())
    g_input: Gradients = [results.get(blob) for blob in nesting.read]
    if not results:
        return [], g_input
    bound_out = {do.inner[blob] + INNER_RESULT: result for blob, result in results.items()}
    bound_in = {inner + INNER_GRADIENT: gradient for inner, gradient in arriving.items()}
    net = NetDef(f"{do.net.name}_grad", made)
    return [*copies, _gradient_do(do, net, bound_in, bound_out, nesting.still_holds)], g_input


@register_gradient("If")
def if_gradient(op: Operator, g_output: Gradients, nesting: Nesting | None = None) -> RuleAnswer:
    """An If of the backward passes of both nets, each of which makes every gradient that one of them makes."""
    nesting = nesting or Nesting.alone(op)
    copies, gradients = dedupe_g_output(op, g_output)
    arriving = {blob: str(g) for blob, g in zip(op.outputs, gradients, strict=True) if g is not None}
    nets = nested_nets(op)
    branches = [_Branch(nesting, argument, nets.get(argument), arriving) for argument in ("then_net", "else_net")]
    wanted = [blob for blob in nesting.read if any(branch.gradient(blob) is not None for branch in branches)]
    results = {blob: nesting.result_name(blob, arriving.values()) for blob in wanted}
    g_input = [results.get(blob) for blob in nesting.read]
    if not wanted:
        return [], g_input
    made = [branch.net(results) for branch in branches]
    reads = dict.fromkeys(name for net in made for name in reads_from_outside(net.ops))
    scopes = dict.fromkeys(scope for net in made for nested in net.ops for scope in scopes_of(nested))
    writes = dict.fromkeys(name for net in made for nested in net.ops for name in nested.outputs)
    inputs = [op.inputs[0], *(name for name in reads if name != op.inputs[0])]
    outputs = list(dict.fromkeys([*results.values(), *scopes, *writes]))
    args = {"then_net": made[0], "else_net": made[1]}
    return [*copies, Operator("If", inputs, outputs, args, op.device, is_gradient=True)], g_input


@register_gradient("While")
def while_gradient(op: Operator, g_output: Gradients, nesting: Nesting | None = None) -> RuleAnswer:
    """A While over the workspaces that the iterations left, each of which the backward pass of the net takes."""
    nesting = nesting or Nesting.alone(op)
    do, constant = _loop_body(op, nesting)
    copies, gradients = dedupe_g_output(op, g_output)
    arriving = {blob: str(g) for blob, g in zip(op.outputs, gradients, strict=True) if g is not None}
    carried = [blob for blob in do.outputs if blob not in constant]
    active = _active(nesting, do, carried, arriving)
    if not active:
        return [], [None] * len(nesting.read)
    ir = _differentiate_do(nesting, do, [do.inner[blob] for blob in active], BODY)
    summed = [
        blob
        for blob in do.inputs
        if blob in do.inner and blob not in (*carried, *constant) and _at_start(ir, do.inner[blob]) is not None
    ]
    results = {blob: nesting.result_name(blob, arriving.values()) for blob in (*active, *summed)}
    body = _gradient_do(
        do,
        NetDef(f"{do.net.name}_grad", [*ir.gradient_ops, *_carry(ir, do, active), *_add_up(ir, do, summed)]),
        {},
        {
            **{do.inner[blob] + INNER_GRADIENT: results[blob] for blob in active},
            **{do.inner[blob] + RUNNING_SUM: results[blob] for blob in summed},
        },
        lambda blob: False,
        in_place=True,
    )
    holds = nesting.free_name(f"{nested_nets(op)['loop_net'].name}_grad/cond")
    ask = Operator("HasScope", [do.scope], [holds])
    starts = [_start(blob, results[blob], arriving.get(blob)) for blob in results]
    names = list(results.values())
    loop = Operator(
        "While",
        [holds, *names, do.scope],
        [*names, holds, do.scope],
        {
            "cond_net": NetDef("gradient_loop_cond_net", [ask]),
            "loop_net": NetDef(f"{nested_nets(op)['loop_net'].name}_grad", [body]),
            **{name: value for name, value in op.args.items() if name == "max_iterations"},
        },
        op.device,
        is_gradient=True,
    )
    return [*copies, *starts, ask, loop], [results.get(blob) for blob in nesting.read]


def dedupe_g_output(op: Operator, g_output: Gradients) -> tuple[list[Operator], Gradients]:
    """Copies of gradients that arrive at several outputs of `op`, so that each is bound to one inner blob.

    Returns:
        The copies, and the gradient of each output: the first output keeps the gradient, a later one has its copy,
        called ``<output>_<gradient>_DEDUP``.
    """
    copies: list[Operator] = []
    gradients: Gradients = []
    for output, gradient in zip(op.outputs, g_output, strict=True):
        if gradient is not None and gradient in gradients:
            copy = f"{output}_{gradient}_DEDUP"
            copies.append(Operator("Copy", [str(gradient)], [copy]))
            gradient = copy
        gradients.append(gradient)
    return copies, gradients


class _Branch:
    """One branch of an If and its backward pass; a branch that is not there passes everything on."""

    def __init__(self, nesting: Nesting, argument: str, net: NetDef | None, arriving: Mapping[str, str]) -> None:
        self._name = f"{net.name if net else argument}_grad"
        self._through = dict(arriving)
        self._ir: IR | None = None
        if net is None:
            return
        touched = {name for op in net.ops for name in (*op.inputs, *op.outputs)}
        seeds = {blob: gradient for blob, gradient in arriving.items() if blob in touched}
        self._through = {blob: gradient for blob, gradient in arriving.items() if blob not in touched}
        self._ir = nesting.differentiate((argument,), seeds, leaving=nesting.written, shares_names=True)

    def gradient(self, blob: str) -> Gradient | None:
        """The gradient of `blob` as it was before the branch."""
        if blob in self._through:
            return self._through[blob]
        return None if self._ir is None else _at_start(self._ir, blob)

    def net(self, results: Mapping[str, str]) -> NetDef:
        """The net that writes the gradient of each blob to its name in `results`."""
        made = list(self._ir.gradient_ops) if self._ir else []
        for blob, result in results.items():
            gradient = self.gradient(blob)
            if gradient is None:
                made.append(_zeros_like(blob, result))
            elif gradient != result:
                made.append(_as_dense(gradient, blob, result))
        return NetDef(self._name, made)


def _loop_body(op: Operator, nesting: Nesting) -> tuple[Do, set[str]]:
    """The one Do in the body of a loop, and the blobs that the net of its condition writes."""
    nets = nested_nets(op)
    body = nets["loop_net"].ops
    if len(body) != 1 or body[0].type != "Do":
        raise Fault(op, nesting.index, GradientError)(
            "has a loop_net that is no single Do, so nothing keeps what its iterations compute",
            "Put the body into a Do with a scope, as `with net.While(...)` does.",
        )
    constant = {name for nested in nets["cond_net"].ops for name in nested.outputs} if "cond_net" in nets else set()
    return take_apart(body[0], 0, GradientError), constant | {op.inputs[0]}


def _active(nesting: Nesting, do: Do, carried: Sequence[str], arriving: Mapping[str, str]) -> list[str]:
    """The blobs that iterations hand on to each other and whose gradients are not nothing."""
    active = [blob for blob in carried if blob in arriving]
    while active:
        ir = _differentiate_do(nesting, do, [do.inner[blob] for blob in active], BODY, silent=True)
        more = [blob for blob in carried if blob not in active and _at_start(ir, do.inner[blob]) is not None]
        if not more:
            break
        active += more
    return [blob for blob in carried if blob in active]


def _differentiate_do(
    nesting: Nesting, do: Do, arriving: Iterable[str], way: tuple[str, ...] = ("net",), *, silent: bool = False
) -> "IR":
    """The backward pass of the net of `do`, from gradients of the inner blobs `arriving`."""
    seeds = {inner: inner + INNER_GRADIENT for inner in arriving}
    leaving = [do.inner[blob] for blob in do.outputs]
    return nesting.differentiate(way, seeds, leaving=leaving, initial=do.initial, keeps_versions=True, silent=silent)


def _at_start(ir: "IR", blob: str) -> Gradient | None:
    """The gradient of a blob as it was before the first operator of its net."""
    return ir.blobs[blob][0].gradient if blob in ir.blobs and ir.is_from_outside(blob) else None


def _gradient_do(
    do: Do,
    net: NetDef,
    bound_in: Mapping[str, str],
    bound_out: Mapping[str, str],
    still_holds: Callable[[str], bool],
    *,
    in_place: bool = False,
) -> Operator:
    """A Do that runs `net` in the workspace that `do` left.

    Args:
        bound_in, bound_out: inner name -> outer gradient, for those that it reads and those that it writes.
        still_holds: whether an outer blob is still what its inner one was; else the workspace has it.
        in_place: whether it reads, too, what it writes.
    """
    inputs: dict[str, str] = {outer: inner for inner, outer in bound_out.items()} if in_place else {}
    saved = []
    for name in reads_from_outside(net.ops):
        if name in bound_in:
            inputs[bound_in[name]] = name
        elif name in do.outer and still_holds(do.outer[name]):
            inputs[do.outer[name]] = name
        elif name not in bound_out:
            saved.append(name)
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
    return Operator("Do", [*inputs, do.scope], [*bound_out.values(), do.scope], args, is_gradient=True)


def _carry(ir: "IR", do: Do, active: Sequence[str]) -> list[Operator]:
    """Hand the gradients at the start of an iteration on, as those at the end of the one before it."""
    arriving = {do.inner[blob]: do.inner[blob] + INNER_GRADIENT for blob in active}
    first, then = [], []
    for inner, name in arriving.items():
        gradient = _at_start(ir, inner)
        if gradient is None:
            then.append(_zeros_like(ir.name_of(inner), name))
        elif gradient == name:
            continue
        elif gradient in arriving.values():
            first.append(Operator("Copy", [str(gradient)], [inner + INNER_RESULT]))
            then.append(Operator("Copy", [inner + INNER_RESULT], [name]))
        else:
            then.append(_taken_over(ir, inner, gradient, name))
    return [*first, *then]


def _add_up(ir: "IR", do: Do, summed: Sequence[str]) -> list[Operator]:
    """Add the gradients of an iteration to the sums over those after it."""
    made = []
    for blob in summed:
        inner = do.inner[blob]
        gradient, total = _at_start(ir, inner), inner + RUNNING_SUM
        if not isinstance(gradient, str):
            made.append(_taken_over(ir, inner, gradient, inner + INNER_RESULT))
            gradient = inner + INNER_RESULT
        made.append(Operator("Sum", [total, gradient], [total]))
    return made


def _taken_over(ir: "IR", inner: str, gradient: Gradient | None, name: str) -> Operator:
    """Writes the gradient of an inner blob to `name`, as a dense one."""
    assert gradient is not None
    return _as_dense(gradient, ir.name_of(inner), name)


def _as_dense(gradient: Gradient, blob: str, name: str) -> Operator:
    if isinstance(gradient, str):
        return Operator("Copy", [gradient], [name])
    return densified(gradient, blob, name)


def _start(blob: str, name: str, arriving: str | None) -> Operator:
    """What a gradient of the loop is before its last iteration."""
    return _zeros_like(blob, name) if arriving is None else Operator("Copy", [arriving], [name])


def _zeros_like(blob: str, name: str) -> Operator:
    return Operator("ConstantFill", [blob], [name], {"value": 0.0})
