"""Hooks of tensors: which there are, and whether they change gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import filterfalse
from math import isfinite
from typing import Any

import torch
from torch.autograd.graph import Node

from ....program.code_line import CodeLine
from ....program.errors import code
from ..frames import inner, is_inside
from ..graph import Output, Tensor, hooks_of, maker_of
from ..values import is_equal
from ..watch import RecordedTensor
from .case import Case, line_of, where
from .diagnosis import Finding
from .gradients import leaf_gradients, sent_to


def hooks(case: Case) -> Iterator[Finding]:
    """Hooks that change the gradient of a leaf or of something on the way."""
    if case.notes is None:
        yield from _hooked(case)
        return
    arrived = {Output(node, 0): one for node, one in leaf_gradients(case).items()}
    for visit in case.visits:
        for slot, one in enumerate(visit.arrived):
            if one is not None and not one.is_changed:
                arrived[Output(visit.node, slot)] = one.tensor
    for output, sent in sent_to(case).items():
        terms = [one for _, one in sent]
        is_in_place = len(terms) == 1 and terms[0].is_changed and hook_of(case, output.node)[1] is not None
        if is_in_place or (output in arrived and _is_changed(terms, arrived[output])):
            name = case.output_name(output)
            hook, line = hook_of(case, output.node)
            leaf = case.graph.leaves.get(output.node)
            result = f"the result of {case.operator(output.node)}" if leaf is None else case.called(leaf)
            whose = f"of {code(name)}" if name else f"of {result}"
            how = " in place" if is_in_place else ""
            sentence = f"A hook{hook}{where(line)} changes the gradient {whose}{how}."
            names, place = (name,) if name else (), case.place(output.node)
            yield Finding("hook", sentence, names, line, harm=False, place=place)
    yield from _of_modules(case)


def _hooked(case: Case) -> Iterator[Finding]:
    """After a pass: what has hooks; whether these have changed something is not known any more."""
    if not case.is_over:
        return
    results = [one for one in _tensors(case) if hooks_of(one) and maker_of(one) in case.graph.index]
    for one in {id(one): one for one in (*case.leaves, *results)}.values():
        for function in filterfalse(_is_of_pytorch, hooks_of(one)):
            line, name = line_of(function), case.name(one)
            whose = code(name) if name else "a result"
            sentence = f"A hook{_named(function)}{where(line)} sees the gradient of {whose} and may change it."
            yield Finding("hook", sentence, (name,) if name else (), line, harm=False)


def _is_of_pytorch(hook: Any) -> bool:
    """Whether a hook is no code of the user's, as those that wait for the gradients of several tensors."""
    return (own := getattr(inner(hook), "__code__", None)) is not None and is_inside(own.co_filename)


def _of_modules(case: Case) -> Iterator[Finding]:
    """Full backward hooks of modules that change what a module sends on."""
    hooked = [(path, one) for one, path in case.modules.items() if one._backward_hooks or one._backward_pre_hooks]
    for visit in case.visits:
        if not visit.node.name().startswith("BackwardHookFunction"):
            continue
        pairs = [(one, other) for one, other in zip(visit.arrived, visit.sent, strict=False) if one and other]
        if all(one.tensor.shape != other.tensor.shape or is_equal(one.tensor, other.tensor) for one, other in pairs):
            continue
        path, module = hooked[0] if len(hooked) == 1 else ("", None)
        functions = [] if module is None else [*module._backward_hooks.values(), *module._backward_pre_hooks.values()]
        only = functions[0] if len(functions) == 1 else None
        line, whose = line_of(only), f"of {code(path)} " if path else "of a module "
        sentence = (
            f"A backward hook{_named(only)} {whose}{f'({line}) ' if line else ''}changes the gradient that is sent on."
        )
        yield Finding("hook", sentence, (path,) if path else (), line, harm=False)


def _named(function: Any) -> str:
    name = getattr(function, "__name__", "")
    return f" {code(name)}" if name and name != "<lambda>" else ""


def _is_changed(terms: Sequence[RecordedTensor], arrived: Tensor) -> bool:
    """Whether what arrived is not the sum of what was sent."""
    sent = [one.tensor for one in terms]
    if any(one.is_changed for one in terms) or any(one.layout != torch.strided for one in (*sent, arrived)):
        return False
    total = reduce(torch.add, sent)
    if total.dtype != arrived.dtype:
        return False
    if total.shape != arrived.shape:
        try:
            total = total.sum_to_size(arrived.shape)
        except RuntimeError:
            return False
    if len(sent) == 1 and total.shape == sent[0].shape:
        return not is_equal(total, arrived)
    scale = float(arrived.abs().max()) if arrived.numel() else 0.0
    return isfinite(scale) and not torch.allclose(total, arrived, rtol=1e-3, atol=1e-6 * (scale or 1))


def hook_of(case: Case, node: Node) -> tuple[str, CodeLine | None]:
    """What the hook of a tensor is called, after a space, and where it is; empty: it is not known."""
    leaf = case.graph.leaves.get(node)
    tensors = [one for one in _tensors(case) if maker_of(one) is node] if leaf is None else [leaf]
    function = next((hook for one in tensors for hook in hooks_of(one)), None)
    return _named(function), line_of(function)


def _tensors(case: Case) -> list[Tensor]:
    """The results that captures have seen, and the tensors that variables hold."""
    seen = [one.ref() for step in case.steps for one in step.makes]
    return [one for one in (*seen, *(value for _, value in case.variables)) if isinstance(one, Tensor)]
