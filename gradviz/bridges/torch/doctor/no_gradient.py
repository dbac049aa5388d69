"""Parameters that get no gradient: why, by what a capture has seen, else by what is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from operator import attrgetter, itemgetter

from torch.autograd.graph import Node

from ....program.code_line import CodeLine
from ....program.errors import code, count_of, listed
from ..graph import Output, Tensor, is_function, is_leaf_tensor, type_of
from .case import Case, capitalized, each_of, grouped, in_line, subject, them, where
from .causes import GO_ON, Cause, called_by, cause_of, says_of
from .diagnosis import Finding
from .no_loss import left_over, loss_line
from .purpose import hold_another, purpose_of, undecided
from .reach import ABOUT_GRADIENTS, Cut, Reach, reach

MOST_NAMED = 4
"""Leaves that a sentence names."""


def missing(case: Case) -> dict[str, Tensor]:
    """The parameters that require a gradient and are no leaves of the graph, by name."""
    wanted = case.parameters or _own_leaves(case)
    return {name: one for name, one in wanted.items() if one.requires_grad and not case.is_leaf(one)}


def _own_leaves(case: Case) -> dict[str, Tensor]:
    """Without a model: the leaves that the captured calls read, by the names of their variables."""
    leaves: dict[str, Tensor] = {}
    for step in case.steps:
        for seen in () if step.function in ABOUT_GRADIENTS else step.reads:
            tensor = seen.ref()
            if tensor is not None and tensor.requires_grad and is_leaf_tensor(tensor) and (name := case.name(tensor)):
                leaves.setdefault(name, tensor)
    return leaves


def parameters_without(case: Case) -> Iterator[Finding]:
    """Parameters of the model that get no gradient, by cause."""
    lacking = missing(case)
    if not lacking or not case.has_graph or case.graph.checkpoints:
        return
    names, tensors = list(lacking), list(lacking.values())
    seen = reach(case.steps, tensors, case.leads) if case.steps else None
    is_apart = seen is None or not (seen.cuts or seen.late or seen.exits)
    if is_apart and len(lacking) == len(case.trainable):
        yield _beside(case, names)
        return
    if seen is None:
        yield from map(partial(_unknown, case), _by_purpose(case, names))
        return
    left = dict(enumerate(names))
    for cause, cut, numbers in _causes(seen):
        yield _cut(case, cause, cut, [left.pop(number) for number in numbers])
    yield from _others(case, seen, left)
    if left:
        yield from _unused(case, seen, left)


def _causes(seen: Reach) -> Iterator[tuple[Cause, Cut, Sequence[int]]]:
    """Of each parameter the cut that is the cause, those of one call together."""
    best: dict[int, tuple[int, Cause, Cut]] = {}
    for place, cut in enumerate(seen.cuts):
        cause = cause_of(cut)
        for number in cut.sources:
            if number not in best or cause.rank < best[number][1].rank:
                best[number] = place, cause, cut
    together: dict[object, list[int]] = {}
    for number, (place, cause, cut) in best.items():
        together.setdefault((cause.kind, cut.step.call or place), []).append(number)
    for numbers in together.values():
        _, cause, cut = max((best[number] for number in numbers), key=itemgetter(0))
        yield cause, cut, sorted(numbers)


def _result(case: Case, cut: Cut, it: str) -> str:
    """The result of a call, in words."""
    if name := case.name_seen(cut.result):
        return f"{code(name)}, which is computed from {it},"
    return f"what is computed from {it}"


def _cut(case: Case, cause: Cause, cut: Cut, names: list[str]) -> Finding:
    line = case.line(cut.step)
    says = says_of(case, cause, cut)
    reason = purpose_of(case, cut.step, names)
    at = case.line(cut.step.switched)
    evidence = [f"Gradients were switched off in {at}: {at.text}"] if at is not None and at != line else []
    evidence += [*each_of(names), *filter(None, [reason])]
    what = _result(case, cut, them(names))
    sentence = f"{subject(names, case.parameters, 'get')} no gradient: {what} {says}."
    return Finding(cause.kind, sentence, tuple(names), line, not reason, tuple(evidence), cause.ways_out)


def _others(case: Case, seen: Reach, left: dict[int, str]) -> Iterator[Finding]:
    """Those that required no gradient when they were read, and those that left PyTorch: they are left no more."""
    if late := [number for number in seen.late if number in left]:
        line, names = case.line(seen.late[late[0]]), [left.pop(number) for number in late]
        sentence = (
            f"{capitalized(grouped(names, case.parameters))} required no gradient yet when the forward pass read "
            f"{them(names)}{in_line(line)}, and so got none."
        )
        ways_out = ("Call requires_grad_(True) before the forward pass.",)
        yield Finding("frozen", sentence, tuple(names), line, ways_out=ways_out)
    for step, numbers in seen.exits:
        if names := [left.pop(number) for number in numbers if number in left]:
            line = case.line(step)
            sentence = (
                f"{subject(names, case.parameters, 'get')} no gradient: what is computed from {them(names)} leaves "
                f"PyTorch as plain numbers by {called_by(step)}{in_line(line)}, and nothing else leads to the loss."
            )
            harm = not purpose_of(case, step, names)
            yield Finding("detached", sentence, tuple(names), line, harm, ways_out=(GO_ON,))


def _unused(case: Case, seen: Reach, left: dict[int, str]) -> Iterator[Finding]:
    """Those that were not read at all, or read for nothing."""
    called = {case.modules.get(module) for step in case.steps for module in step.modules}
    unread = [name for number, name in left.items() if number not in seen.reads]
    for was_called in (False, True):
        names = [name for name in unread if (name.rpartition(".")[0] in called) == was_called]
        yield from map(partial(_unread, case, was_called=was_called), _by_purpose(case, names))
    reads = {name: seen.reads[number] for number, name in left.items() if number in seen.reads}
    for names in _by_purpose(case, list(reads), are_read=True):
        line, it = case.line(min((reads[name] for name in names), key=attrgetter("number"))), them(names)
        sentence = (
            f"{subject(names, case.parameters, 'get')} no gradient: the forward pass reads "
            f"{it}{in_line(line)}, but what is computed from {it} is not used for the loss."
        )
        ways_out = (f"Let what is computed from {it} be a part of the loss.", *_ways_out_unused(it))
        reason = purpose_of(case, None, names, are_read=True)
        yield _finding(names, sentence, reason, "", ways_out, line)


def _unread(case: Case, names: list[str], *, was_called: bool) -> Finding:
    it = them(names)
    owners = list(dict.fromkeys(name.rpartition(".")[0] for name in names))
    called = was_called and len(owners) == 1
    why = f"nothing reads {it}, though its module is called" if called else f"no call of the forward pass reads {it}"
    sentence = f"{subject(names, case.parameters, 'get')} no gradient: {why}."
    reason = "" if was_called and not hold_another(case, names) else purpose_of(case, None, names)
    doubt = "" if was_called or reason else _doubt(case, names)
    return _finding(names, sentence, reason, doubt, _ways_out_unused(it))


def _finding(
    names: Sequence[str], sentence: str, reason: str, doubt: str, ways_out: Sequence[str], line: CodeLine | None = None
) -> Finding:
    """Parameters without a gradient: no harm where a reason or a doubt, if not empty, speaks for a choice."""
    evidence = (*each_of(names), *filter(None, [reason]))
    return Finding("unused", sentence + doubt, tuple(names), line, not (reason or doubt), evidence, tuple(ways_out))


def _doubt(case: Case, names: Sequence[str]) -> str:
    """That one pass does not tell a choice from a mistake, in a sentence that goes on; empty: nothing speaks for it."""
    around, are = undecided(case, names), "it is" if len(names) == 1 else "they are"
    if not around:
        return ""
    return f" Others in {code(around)} are used: one pass does not tell whether it chooses, or {are} forgotten."


def _ways_out_unused(it: str) -> tuple[str, ...]:
    return (
        f"Use {it} in forward, or take {it} out of the model.",
        "With DistributedDataParallel say find_unused_parameters=True.",
        "What should not be trained can say so: requires_grad_(False).",
    )


def _by_purpose(case: Case, names: Sequence[str], *, are_read: bool = False) -> Iterator[list[str]]:
    """Those that seem to be spared on purpose, by modules, and the rest."""
    rest = list(names)
    for path in case.modules.values():
        own = [name for name in names if name.startswith(f"{path}.")]
        if not path or not own or not set(own) <= set(rest):
            continue
        if purpose_of(case, None, own, are_read=are_read) or (not are_read and undecided(case, own)):
            yield own
            rest = [name for name in rest if name not in own]
    if rest:
        yield rest


def _unknown(case: Case, names: list[str]) -> Finding:
    """Without a capture: nobody can say why."""
    it = them(names)
    hint = "With a capture around the forward pass the line is known: with gradviz.torch.capture(model): ..."
    sentence = (
        f"{subject(names, case.parameters, 'get')} no gradient: the loss was not computed "
        f"from {it}, or a detach(), .data, no_grad, item() or a cast to integers cut the way."
    )
    reason = purpose_of(case, None, names)
    doubt = "" if reason else _doubt(case, names)
    return _finding(names, sentence, reason, doubt, (*_ways_out_unused(it)[:1], hint))


def _beside(case: Case, trainable: Sequence[str]) -> Finding:
    """A loss that gradients flow from, but not to the model."""
    others = [name for one in case.leaves if (name := case.name(one))]
    if functional := [one for each in case.captures for one in each.functional if one in case.models]:
        whose = listed(list(map(code, others[:MOST_NAMED]))) if others else "those"
        sentence = (
            f"{code(type(functional[0]).__name__)} is called with other parameters than its own, as functional_call() "
            f"does: the gradient goes to {whose}, and its own get none."
        )
        way_out = "To train its own, compute the others from them, without detach() and stack_module_state()."
        return Finding("functional", sentence, tuple(trainable), loss_line(case), case.is_given, ways_out=(way_out,))
    of = f", but only from {listed(list(map(code, others[:MOST_NAMED])))}" if others else ""
    others = [kind.__name__ for each in case.captures for one, kind, _ in each.outermost if one() not in case.models]
    beside = f" The module that was called is another one, a {code(others[0])}." if others else left_over(case)
    sentence = f"The loss is not connected to the model: it was not computed from any of its parameters{of}.{beside}"
    ways_out = (
        "Compute the loss from what the model returns.",
        "Look whether the model that was called is this one, or a copy.",
    )
    return Finding("not_connected", sentence, tuple(trainable), loss_line(case), ways_out=ways_out)


def frozen(case: Case) -> Iterator[Finding]:
    """Parameters that require no gradient, on purpose or not."""
    names = [name for name, one in case.parameters.items() if not one.requires_grad]
    if not names:
        return
    if len(names) == len(case.parameters):
        if case.has_graph:
            what = f"All {count_of(len(names), 'parameter')} of the model are frozen (requires_grad is False)"
            others = [code(name) for one in case.leaves[:MOST_NAMED] if (name := case.name(one))]
            to = f": gradients go to {listed(others)} alone" if others else ""
            yield Finding("frozen", f"{what}{to}.", tuple(names), harm=False)
        return
    sentence = f"{subject(names, case.parameters, 'are')} frozen (requires_grad is False)."
    yield Finding("frozen", sentence, tuple(names), harm=False)


COMPILED = "CompiledFunction"
"""The operator that PyTorch makes of what it compiles."""


def none_sent(case: Case) -> Iterator[Finding]:
    """Leaves to which an operator sends no gradient though it was asked for one."""
    notes = case.notes
    if notes is None or notes.error is not None:
        return
    lacking = {node: leaf for node, leaf in case.graph.leaves.items() if notes.returned.get(Output(node, 0)) is None}
    if case.graph.checkpoints or not lacking:
        return
    together: dict[Node, list[str]] = {}
    for leaf_node, leaf in lacking.items():
        behind = {leaf_node, *case.graph.on_the_way([Output(leaf_node, 0)])}
        for visit in case.visits:
            sent = zip(visit.node.next_functions, visit.sent, strict=False)
            if any(one is None and before in behind for (before, _), one in sent):
                if name := case.name(leaf):
                    together.setdefault(visit.node, []).append(name)
                break
    for node, names in together.items():
        line, it, is_own = case.rule_line(node), them(names), is_function(node)
        owner = f"{case.operator(node)}{where(line)}"
        sentence = f"{subject(names, case.parameters, 'get')} no gradient: the backward of {owner} "
        sentence += f"returns None for {it}." if is_own else f"sends none to {it}."
        ways_out = ("Return its gradient at that place of what backward returns.",) if is_own else ()
        if type_of(node) == COMPILED:
            sentence = (
                f"{subject(names, case.parameters, 'get')} no gradient: what torch.compile() has made one operator of"
                f"{where(line)} does not need {it}, or cuts {it} off by detach(), .data, no_grad or a cast to integers."
            )
            ways_out = ("Diagnose the loss of the model itself, without torch.compile(): then the line is known.",)
        yield Finding("none_sent", sentence, tuple(names), line, True, each_of(names), ways_out, case.place(node))
