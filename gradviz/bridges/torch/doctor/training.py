"""What goes wrong around a backward pass: gradients or graphs pile up, variables are no leaves any more."""

from __future__ import annotations

import dis
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import torch
from torch.autograd.graph import Node

from ....program.code_line import CodeLine, line_at
from ....program.errors import code, message_of
from ..flow import Step, storage_of
from ..frames import variables_of
from ..graph import Output, Tensor, function_of, is_freed, is_leaf, maker_of, reached, type_of
from ..watch import Hooked
from .case import Case, in_line, line_of, line_of_code, subject, where
from .causes import IN_PLACE
from .damage import overwritten
from .diagnosis import Finding
from .reach import reads_gradient

METHODS = {"backward", "step", "zero_grad"}
"""What a training loop calls for what it does."""

ZEROES = {"zero_", "fill_", "_foreach_zero_", "__setitem__", "copy_", "zeros_"}
BACKWARD = {"backward", "autograd.backward"}
TELLING = {*BACKWARD, "grad=", "zero_grad", "step"}
"""Calls that tell of gradients piling up though they may write into nothing that is seen."""


def doubled(case: Case) -> Iterator[Finding]:
    """Gradients of an earlier pass that this one is added to."""
    holds = {name: one for name, one in leaves_of(case).items() if one.grad is not None and bool(one.grad.any())}
    if not holds:
        return
    steps = case.longest
    after = last_pass(case, steps)
    telling = [step for step in steps if step.writes or step.function in TELLING]
    before = [step for step in telling if after is None or step.number < after.number]
    stale = _piled_up(before, holds, is_over=case.is_over, is_seen=after is not None or not case.is_over)
    if stale:
        line = case.line(_stepped(before, holds[stale[0]]))
        sentence = (
            f"{subject(stale, case.parameters, 'still hold')} the gradient of the pass before the last step"
            f"{in_line(line)}: there was no zero_grad(), so this pass is added to it."
        )
        ways_out = ("Call optimizer.zero_grad() before backward().",)
        yield Finding("doubled", sentence, tuple(stale), line, ways_out=ways_out)
    elif not case.is_over:
        already = f"{subject(list(holds), case.parameters, 'hold')} the gradient of an earlier pass"
        ways_out = ("To start anew call optimizer.zero_grad(); to accumulate over batches this is right.",)
        sentence = f"{already}: the next backward() is added."
        yield Finding("doubled", sentence, tuple(holds), harm=False, ways_out=ways_out)


def _piled_up(steps: Sequence[Step], holds: Mapping[str, Tensor], *, is_over: bool, is_seen: bool) -> list[str]:
    """The parameters whose gradient a step has used and that is added to nevertheless.

    Before a pass there is time for zero_grad(), and one loss may leave gradients to parameters that another one trains:
    so either two steps have used the same gradient, or nothing was ever put to zero.
    """
    stale = [name for name, one in holds.items() if _stepped(steps, one) is not None]
    twice = [name for name in stale if _used_twice(steps, holds[name])]
    never = not any(zeroes(step, one) for one in holds.values() for step in steps)
    return twice or (stale if is_seen and len(stale) == len(holds) and (is_over or never) else [])


def _used_twice(steps: Sequence[Step], tensor: Tensor) -> bool:
    """Whether two changes of a parameter have a pass between them and no zero_grad()."""
    has_changed = has_passed = False
    for step in steps:
        if zeroes(step, tensor):
            has_changed = has_passed = False
        elif step.function in BACKWARD:
            has_passed = has_changed
        elif changes(step, tensor):
            if has_passed:
                return True
            has_changed = True
    return False


def zeroes(step: Step, tensor: Tensor) -> bool:
    """Whether a call puts the gradient of a parameter to zero, or away."""
    if step.function in ("grad=", "zero_grad"):
        return any(one.ref() is tensor for one in step.reads)
    grad = 0 if tensor.grad is None else storage_of(tensor.grad)
    return step.function in ZEROES and any(one.storage == grad for one in step.writes)


def last_pass(case: Case, steps: Sequence[Step]) -> Step | None:
    """The last backward() of what is diagnosed."""
    roots = {id(root) for root in case.roots}
    passes = (step for step in reversed(steps) if step.function in BACKWARD)
    return next((step for step in passes if any(id(one.ref()) in roots for one in step.reads)), None)


def leaves_of(case: Case) -> dict[str, Tensor]:
    """The leaves that gradients go to and that have a name."""
    return {name: one for one in case.leaves if (name := case.name(one))}


def _stepped(steps: Sequence[Step], tensor: Tensor) -> Step | None:
    """The last change of a parameter by its gradient, if that was not put to zero since and a pass was before."""
    changed: Step | None = None
    passes = 0
    for step in steps:
        if step.function in BACKWARD:
            passes += 1
        elif zeroes(step, tensor):
            changed, passes = None, 0
        elif passes and changes(step, tensor):
            changed = step
    return changed if passes else None


def changes(step: Step, tensor: Tensor) -> bool:
    """Whether a call is a step of an optimizer, or writes into a parameter or into its `.data`."""
    if step.function == "step":
        return any(one.ref() is tensor for one in step.reads)
    storage = storage_of(tensor)
    return any(one.storage == storage and not (step.is_tracked and one.requires_grad) for one in step.writes)


FEWEST_PASSES = 3
"""Passes of a sum that is no loss of several terms."""


def running(case: Case) -> Iterator[Finding]:
    """Variables that hold the sum of the loss and of losses of other passes, which have gone backward each."""
    roots = {maker_of(root) for root in case.graph_roots}
    for name, total in case.tensors_of_variables():
        maker = maker_of(total)
        terms = [] if maker is None or maker in roots else _terms(maker)
        if len(terms) < FEWEST_PASSES or terms[0] not in roots or not _are_passes(terms[:FEWEST_PASSES]):
            continue
        line = None if maker is None else case.line(case.step_of(maker))
        sentence = (
            f"{code(name)} adds up the losses of {len(terms)} passes{in_line(line)} with their graphs, which stay in "
            "memory as long as it does."
        )
        ways_out = (f"Add up numbers: {name} += loss.item(), or loss.detach().",)
        yield Finding("running", sentence, (name,), line, harm=False, ways_out=ways_out)


def _terms(maker: Node) -> list[Node]:
    """What was added to a sum one by one, the last first."""
    terms: list[Node] = []
    rest: Node | None = maker
    while rest is not None and type_of(rest) == "add" and len(rest.next_functions) == 2:
        (before, _), (term, _) = rest.next_functions
        rest, term = (before, term) if term is not None else (None, before)
        terms += [term] if term is not None else []
    return terms if rest is None else [*terms, rest]


def _are_passes(terms: list[Node]) -> bool:
    """Whether losses are of passes alike that have no operator in common, all but the first gone backward."""
    graphs = [{node for node in reached([one]) if not is_leaf(node)} for one in terms]
    first, *others = graphs
    kinds = sorted(map(type_of, first))
    are_alike = all(sorted(map(type_of, one)) == kinds and any(map(is_freed, one)) for one in others)
    return are_alike and len(set().union(*graphs)) == len(terms) * len(first)


def uncalled(case: Case) -> Iterator[Finding]:
    """Methods that a statement of the user's looks up and does not call."""
    for frame in case.frames:
        every = [one for one in dis.get_instructions(frame.f_code) if one.opname != "EXTENDED_ARG"]
        for one, after in pairwise(every):
            if one.opname == "LOAD_ATTR" and one.argval in METHODS and after.opname == "POP_TOP":
                line = line_at(frame.f_code, one.offset)
                sentence = f"{code(one.argval)} is not called in {line}: without parentheses nothing happens there."
                yield Finding("not_called", sentence, (), line, ways_out=(f"Write {one.argval}().",))


def no_leaves(case: Case) -> Iterator[Finding]:
    """Variables that were leaves and are results now: their grad stays None."""
    in_findings: set[str] = set()
    for step in case.steps:
        if step.function != "grad" or step.makes:
            continue
        for seen in step.reads:
            tensor = seen.ref()
            retains_grad = tensor is not None and tensor.requires_grad and tensor.retains_grad
            name = "" if seen.is_leaf or retains_grad or seen not in case.leads else case.name_seen(seen)
            if not name or name in in_findings:
                continue
            in_findings.add(name)
            maker = case.maker(seen)
            line = case.line(maker)
            by_gradient = maker is not None and reads_gradient(case.steps, maker)
            yield _no_leaf(name, maker, line or case.line(step), line, by_gradient=by_gradient)
    for reader in case.only_readers:
        if (finding := _rebuilt(case, reader)) is not None and finding.names[0] not in in_findings:
            in_findings.update(finding.names)
            yield finding


PREPARES = {
    "sub", "add", "mul", "div", "to_copy", "clone", "view", "t", "transpose", "unsqueeze", "neg",
    "copy_backwards", "reshape", "alias", "permute", "expand", "pow", "addcmul", "addcdiv", "lerp",
}  # fmt: skip
"""Operators that somebody sends a new tensor through before it is used."""


def _rebuilt(case: Case, reader: Node) -> Finding | None:
    """What took the place of a leaf that nobody holds any more, if a variable has it now."""
    if type_of(reader) not in PREPARES:
        return None
    maker = case.step_of(reader)
    by_gradient = type_of(reader) in CHANGES if maker is None else reads_gradient(case.steps, maker)
    old = [case.name_seen(one) for one in maker.reads if one.is_leaf and one.requires_grad] if maker is not None else []
    was = next(filter(None, old), "")
    node, name = reader, case.output_name(Output(reader, 0))
    while not name and type_of(node) in PREPARES and (after := case.readers(node)) and len(after) == 1:
        node = after[0]
        name = case.output_name(Output(node, 0)) if type_of(node) in PREPARES else ""
    name = name or (was if by_gradient else "")
    if not name or (was and not (was == name and by_gradient)):
        return None
    line = case.line(maker) or case.line(reader)
    return _no_leaf(name, maker, line, line, by_gradient=by_gradient)


CHANGES = {"sub", "addcmul", "addcdiv"}


def _no_leaf(
    name: str, maker: Step | None, line: CodeLine | None, maker_line: CodeLine | None, *, by_gradient: bool
) -> Finding:
    """A variable that holds what was computed.

    Args:
        line: to be shown; `maker_line`: where it was computed.
    """
    at = in_line(maker_line)
    if by_gradient:
        sentence = (
            f"{code(name)} is no leaf any more: it was rebuilt from its old value{at}, so backward() leaves "
            f"{name}.grad None."
        )
        ways = (IN_PLACE.format(name=name), f"Or make it a leaf again: {name} = (...).detach().requires_grad_().")
        return Finding("rebuilt", sentence, (name,), line, True, (), ways)
    how = f"by {code(maker.function)}" if maker is not None and maker.function else "from another tensor"
    sentence = f"{code(name)} is no leaf: it was computed {how}{at}, so backward() leaves {name}.grad None."
    ways = (
        f"Make it the leaf: {name} = (...).detach().requires_grad_(), after to(), cuda() and arithmetic.",
        f"Or keep the gradient of what it is: {name}.retain_grad() before backward().",
    )
    return Finding("non_leaf", sentence, (name,), line, True, (), ways)


ERROR = "Error"
"""The end of the name of the node that `once_differentiable` leaves."""


def second_derivatives(case: Case) -> Iterator[Finding]:
    """Functions whose backward cannot be differentiated, on the way to a gradient of a gradient."""
    if not any(node.name().endswith(ERROR) for node in case.graph.nodes):
        return
    owners = {*filter(None, map(function_of, case.graph.nodes)), *_functions(case)}
    marked = list(filter(is_once, owners))
    only = marked[0] if len(marked) == 1 else None
    name, line = getattr(only, "__name__", ""), line_of(getattr(only, "backward", None))
    who = code(name) if name else "a Function"
    sentence = (
        f"The gradient of a gradient is asked for, and the backward of {who}{where(line)} is marked "
        "once_differentiable: backward() fails there."
    )
    ways_out = (
        "Take once_differentiable away and write backward with operations of torch alone.",
        "Leave create_graph=True out, if only the first derivative is needed.",
    )
    yield Finding("double_backward", sentence, (name,) if name else (), line, ways_out=ways_out)


def _functions(case: Case) -> Iterator[type]:
    """The Functions that variables hold."""
    values = [value for frame in case.frames for value in {**frame.f_globals, **variables_of(frame)}.values()]
    return (one for one in values if isinstance(one, type) and issubclass(one, torch.autograd.Function))


def is_once(function: type) -> bool:
    """Whether the backward of a Function is marked once_differentiable."""
    backward = getattr(function, "backward", None)
    code_of = getattr(backward, "__code__", None)
    return code_of is not None and hasattr(backward, "__wrapped__") and "function.py" in code_of.co_filename


FAILS = (
    ("no_derivative", "is not implemented"),
    ("shape", "returned an invalid gradient"),
    ("shape", "returned an incorrect number"),
    ("dtype", "dtype"),
)
"""Kinds of errors, by words of theirs."""


def fails(case: Case) -> Iterator[Finding]:
    """An operator whose backward raises, where no other rule says why."""
    if case.notes is None or (error := case.notes.error) is None:
        return
    if any((*overwritten(case), *second_derivatives(case))):
        return
    gone = {visit.node for visit in case.visits}
    node = next((one for one in reversed(case.graph.nodes) if one not in gone), None)
    message = message_of(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
    if case.notes.hooked is not None:
        yield _hook_fails(case, case.notes.hooked, message)
        return
    if node is None:
        yield Finding("fails", f"backward() fails: {message}.")
        return
    line, owner = case.rule_line(node), case.operator(node)
    kind = next((kind for kind, words in FAILS if words in message), "fails")
    if (missing := re.search(r"aten::(\w+)", message)) is not None:
        called = {missing[1], "__floordiv__"} if missing[1] == "floor_divide" else {missing[1]}
        step = next((step for step in reversed(case.steps) if step.function in called), None)
        owner, line = code(missing[1]), case.line(step)
    sentence = f"backward() fails in that of {owner}{in_line(line)}: {message}."
    ways_out = ("Use another one, or detach() what need not be trained.",) if kind == "no_derivative" else ()
    yield Finding(kind, sentence, (), line, ways_out=ways_out, place=case.place(node))


def _hook_fails(case: Case, hooked: Hooked, message: str) -> Finding:
    """A hook of a tensor raises."""
    line = None if hooked.hook is None else line_of_code(hooked.hook)
    called = f" {code(hooked.hook.co_name)}" if hooked.hook is not None and hooked.hook.co_name.isidentifier() else ""
    name, whose, place = "", "", None
    if (output := hooked.output) is not None:
        name, place = case.output_name(output), case.place(output.node)
        whose = f" of the gradient of {code(name) if name else f'the result of {case.operator(output.node)}'}"
    sentence = f"backward() fails in a hook{called}{where(line)}{whose}: {message}."
    return Finding("fails", sentence, (name,) if name else (), line, place=place)


def not_scalar(case: Case) -> Iterator[Finding]:
    """A loss of several elements, or one that is complex."""
    for root in [] if case.is_over else case.graph_roots:
        if root.numel() == 1 and not root.is_complex():
            continue
        line, name = case.line(root.grad_fn), case.name(root)
        called = code(name) if name else "The loss"
        one, way_out = "a single number", "Sum it up or take the mean: loss.mean().backward()."
        is_what = f"has {root.numel()} elements ({' × '.join(map(str, root.shape))})"
        if root.numel() == 1:
            is_what, one, way_out = "is complex", "a real number", "Make it real: loss.abs().backward(), or loss.real."
        sentence = f"{called} {is_what}: backward() goes from {one} unless it is given a gradient."
        ways_out = (way_out, "Give a gradient of its shape: y.backward(torch.ones_like(y)).")
        yield Finding("not_scalar", sentence, (name,) if name else (), line, ways_out=ways_out)
