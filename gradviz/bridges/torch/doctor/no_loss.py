"""Losses that backward() cannot begin from: they require no gradient, or are no tensors; and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from ....eager import Variable
from ....program import NetDef
from ....program.code_line import CodeLine
from ....program.errors import code, count_of
from ..flow import LEAVES, Step, look_up
from .case import Case, capitalized, in_line
from .causes import GO_ON, IN_PLACE, Cause, called_by, cause_of, is_rebuilt, says_of
from .diagnosis import Finding
from .reach import ABOUT_GRADIENTS, Cut, reach


def loss_without(case: Case) -> Iterator[Finding]:
    """A loss that requires no gradient, or that has none of the model's parameters behind it."""
    if case.has_graph or not case.roots:
        return
    root = case.roots[0]
    called = code(case.name(root)) if case.name(root) else "the loss"
    trainable = list(case.trainable)
    if case.parameters and not trainable:
        yield _all_frozen(case)
        return
    if (lost := _cut_of_loss(case)) is not None:
        cause, cut = lost
        name = case.name_seen(cut.result)
        is_root = cut.result.ref() is root
        what = "it" if is_root else code(name) if name else "what it is computed from"
        evidence = (f"Gradients were switched off in {at}: {at.text}",) if (at := case.line(cut.step.switched)) else ()
        says = says_of(case, cause, cut)
        sentence = f"{capitalized(called)} requires no gradient, so backward() fails: {what} {says}."
        kind, ways_out = cause.kind, cause.ways_out
        if is_rebuilt(case, cut):
            kind = "rebuilt"
            ways_out = (IN_PLACE.format(name=name), f"Or make it a leaf again: {name}.requires_grad_().")
        yield Finding(kind, sentence, _sources(case, cut), case.line(cut.step), True, evidence, ways_out)
        return
    if (step := _exit(case)) is not None:
        line = case.line(step)
        sentence = (
            f"{capitalized(called)} requires no gradient, so backward() fails: what the model computed left PyTorch as "
            f"plain numbers by {called_by(step)}{in_line(line)}."
        )
        yield Finding("detached", sentence, tuple(trainable), line, ways_out=(GO_ON,))
        return
    yield _plain(case, called, trainable)


def _sources(case: Case, cut: Cut) -> tuple[str, ...]:
    """The parameters that a cut keeps from the loss, else what it is that is cut off."""
    trainable = case.trainable
    cuts = reach(case.steps, list(trainable.values()), case.leads).cuts
    if hit := {number for one in cuts for number in one.sources}:
        return tuple([name for number, name in enumerate(trainable) if number in hit])
    carrier = cut.carrier.ref()
    name = case.name_seen(cut.carrier) if carrier is None else case.name(carrier)
    return (name,) if name else ()


def _cut_of_loss(case: Case) -> tuple[Cause, Cut] | None:
    """The call, of those that lead to the loss, that lost what had a gradient: the most telling, of such the first."""
    cuts = []
    for step in case.steps:
        if step.function in ABOUT_GRADIENTS:
            continue
        carrier = next((one for one in step.reads if one.requires_grad), None)
        lost = [one for one in step.makes if one in case.leads and not one.requires_grad]
        if carrier is not None and lost and not any(one.requires_grad for one in step.makes):
            cut = Cut(step, lost[0], carrier, ())
            cuts.append((cause_of(cut), cut))
    return min(cuts, key=lambda row: row[0].rank, default=None)


def _exit(case: Case) -> Step | None:
    """The last call through which something with a gradient left PyTorch."""
    exits = [step for step in case.steps if step.function in LEAVES]
    own = [step for step in exits if any(one.requires_grad or one.step >= 0 for one in step.reads)]
    return own[-1] if own else None


def loss_line(case: Case) -> CodeLine | None:
    """The line that the loss was computed on last; None: no capture saw it."""
    return case.line(case.maker(look_up(case.roots[0])))


def left_over(case: Case) -> str:
    """What of the model does not lead to the loss, in a sentence; empty: it is not known."""
    read = {one for step in case.steps for one in step.reads}
    for step in reversed(case.steps):
        for result in step.makes if step.function not in ABOUT_GRADIENTS else ():
            if result.requires_grad and not result.is_leaf and result not in read and result not in case.leads:
                name = case.name_seen(result)
                what = code(name) if name else "What is computed from the model"
                return f" {what}{in_line(case.line(step))} is not used for it."
    called = {module for step in case.steps for module in step.modules}
    is_seen = case.saw_loss and case.is_given and called.isdisjoint(case.modules)
    return " No call of the model was seen." if is_seen else ""


def _plain(case: Case, called: str, trainable: Sequence[str]) -> Finding:
    """A loss without a graph of which nothing more was seen."""
    root = case.roots[0]
    nothing = "nothing that it was computed from requires one"
    if root.is_inference():
        kind, why = "no_grad", "it was computed in torch.inference_mode()"
    elif not (root.is_floating_point() or root.is_complex()):
        kind, why = "integer", "it is of integers or booleans, which have no gradient"
    elif not torch.is_grad_enabled():
        kind, why = "no_grad", "gradients are switched off here"
    elif case.saw_loss:
        kind, why = "not_connected", nothing
    else:
        how = "it was computed under no_grad, or a detach(), .data, item(), argmax or cast to integers cut the way"
        kind, why = "not_connected", f"{how}, or {nothing}"
    hint = "A capture around the forward pass tells the line: with gradviz.torch.capture(): ..."
    sentence = f"{capitalized(called)} requires no gradient, so backward() fails: {why}."
    if kind == "not_connected":
        sentence += left_over(case)
    ways_out = ("Compute it from parameters that require a gradient, outside of torch.no_grad().",)
    line, evidence = loss_line(case), () if case.saw_loss else (hint,)
    return Finding(kind, sentence, tuple(trainable), line, True, evidence, ways_out)


def _all_frozen(case: Case) -> Finding:
    sentence = (
        f"All {count_of(len(case.parameters), 'parameter')} of the model are frozen (requires_grad is False), so "
        "the loss requires no gradient and backward() fails."
    )
    ways_out = ("Call requires_grad_(True) on those that should be trained.",)
    return Finding("frozen", sentence, tuple(case.parameters), ways_out=ways_out)


def no_tensor(case: Case, loss: object) -> Iterator[Finding]:
    """A loss that is a number or an array, or one of gradviz itself."""
    if isinstance(loss, Variable | NetDef):
        yield Finding(
            "no_tensor",
            f"The loss is no tensor of PyTorch but a {type(loss).__name__} of gradviz, and diagnose is for PyTorch.",
            (),
            ways_out=(
                "gradviz.debug records its backward pass, and the session is asked: why_none, provenance, check.",
            ),
        )
        return
    step = _exit(case)
    line = case.line(step)
    by = f" by {called_by(step)}{in_line(line)}" if step is not None else ""
    left = f": what was computed left PyTorch{by}" if by else ", which has no history"
    kind = type(loss).__name__
    yield Finding(
        "detached",
        f"The loss is no tensor but {'an' if kind[0] in 'aeiou' else 'a'} {kind}{left}, so "
        "there is nothing to go backward from.",
        (),
        line,
        ways_out=("Leave item(), float() and numpy() out of the loss: they are for looking at it.",),
    )
