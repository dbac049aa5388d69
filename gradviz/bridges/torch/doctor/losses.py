"""Losses that are given what they do not take: softmax or sigmoid is applied twice, or the logarithm is missing."""

from __future__ import annotations

from collections.abc import Iterator

from torch.autograd.graph import Node

from ....program.errors import code
from ..graph import type_of
from .case import Case, in_line, where
from .diagnosis import Finding

TWICE = {"log_softmax": "softmax", "binary_cross_entropy_with_logits": "sigmoid"}
"""Operators that take logits, and what makes probabilities of them."""

OF_LOGS = {"nll_loss", "nll_loss2d"}
"""Operators that take the logarithms of probabilities."""

RESHAPES = {"view", "unsafe_view", "reshape", "transpose", "permute", "squeeze", "unsqueeze", "select", "slice"}


def applied_twice(case: Case) -> Iterator[Finding]:
    """Losses of logits, or of logarithms, that are given probabilities."""
    for node in case.graph.nodes:
        before = _given(node)
        is_twice = before is not None and TWICE.get(type_of(node)) == type_of(before)
        if before is None or not (is_twice or (type_of(node) in OF_LOGS and type_of(before) == "softmax")):
            continue
        step, line = case.step_of(node), case.line(node)
        loss = code(step.function) if step is not None and step.function.isidentifier() else case.operator(node)
        given = f"and is given what {case.operator(before)}{where(case.line(before))} returned"
        if is_twice:
            takes, says = "logits", f"{code(type_of(before))} is applied twice, and gradients are small"
            way_out = f"Give it what {code(type_of(before))} was given."
        else:
            takes, says = "logarithms", "the logarithm is missing, and gradients are those of another loss"
            way_out = "Use `log_softmax` in place of `softmax`, or cross_entropy of what that was given."
        sentence, ways_out = f"{loss}{in_line(line)} takes {takes}, {given}: {says}.", (way_out,)
        yield Finding("twice", sentence, (), line, harm=False, ways_out=ways_out, place=case.place(node))


def _given(node: Node) -> Node | None:
    """The operator whose result another one was given, whatever shape it was brought to."""
    before = node.next_functions[0][0] if node.next_functions else None
    while before is not None and type_of(before) in RESHAPES:
        before = before.next_functions[0][0]
    return before
