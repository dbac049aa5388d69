"""Losses that are given what they do not take: probabilities for logits or logarithms, or targets of another shape."""

from __future__ import annotations

from collections.abc import Iterator

from torch.autograd.graph import Node

from ....program.errors import code
from ..flow import Step
from ..graph import Output, dim_of, saved_by, shape_of, type_of
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
        step = case.step_of(node)
        loss = code(step.function) if step is not None and step.function.isidentifier() else case.operator(node)
        given = f"and is given what {case.operator(before)}{where(case.line(before))} returned"
        if is_twice:
            says = f"takes logits, {given}: {code(type_of(before))} is applied twice, and gradients are small"
            way_out = f"Give it what {code(type_of(before))} was given."
        else:
            says = f"takes logarithms, {given}: {NO_LOGARITHM}"
            way_out = "Use `log_softmax` in place of `softmax`, or cross_entropy of what that was given."
        yield _remark(case, node, loss, says, way_out)


def along_the_batch(case: Case) -> Iterator[Finding]:
    """Losses that are given probabilities that add up to 1 along another dimension than that of the classes."""
    for node in case.graph.nodes:
        before = node.next_functions[0][0] if type_of(node) in OF_LOGS and node.next_functions else None
        before = before.next_functions[0][0] if before is not None and type_of(before) == "log" else before
        if before is None or type_of(before) not in ("log_softmax", "softmax"):
            continue
        size, dim = shape_of(Output(before, 0)), dim_of(before)
        if len(size) < 2 or dim in (1, 1 - len(size)):
            continue
        says = (
            f"goes along dimension {dim} of {' × '.join(map(str, size))}, and {case.operator(node)}"
            f"{where(case.line(node))} has its classes in dimension 1"
        )
        yield _remark(case, before, case.operator(before), says, "Say dim=1, or give logits to cross_entropy.")


def no_logarithms(case: Case) -> Iterator[Finding]:
    """Losses of logarithms of probabilities that are given numbers above 0, as logits are."""
    for node in [] if case.is_over else case.graph.nodes:
        given = [one for one in saved_by(node) if one.name == "self"] if type_of(node) in OF_LOGS else []
        before = _given(node)
        if not any(bool((one.tensor > 0).any()) for one in given) or (before and type_of(before) == "softmax"):
            continue
        says = (
            "takes logarithms of probabilities, and is given numbers above 0, which none is: gradients are those of "
            "another loss"
        )
        way_out = "Use cross_entropy for logits, or give it their log_softmax."
        yield _remark(case, node, case.operator(node), says, way_out)


def divergence(case: Case) -> Iterator[Finding]:
    """Divergences that are given probabilities in place of their logarithms, as captures see."""
    for step in case.steps:
        maker = case.maker(step.reads[0]) if step.function == "kl_div" and step.reads else None
        if maker is None or maker.function != "softmax" or case.leads.isdisjoint(step.makes):
            continue
        says = f"takes logarithms, and is given what `softmax`{where(case.line(maker))} returned: {NO_LOGARITHM}"
        yield _remark(case, step, "`kl_div`", says, "Use `log_softmax` in place of `softmax`.")


NO_LOGARITHM = "the logarithm is missing, and gradients are those of another loss"


def _remark(case: Case, at: Node | Step, who: str, says: str, way_out: str) -> Finding:
    """A loss is given what it does not take, as far as one can see."""
    line, place = case.line(at), None if isinstance(at, Step) else case.place(at)
    return Finding("twice", f"{who}{in_line(line)} {says}.", (), line, False, (), (way_out,), place)


def _given(node: Node) -> Node | None:
    """The operator whose result another one was given, whatever shape it was brought to."""
    before = node.next_functions[0][0] if node.next_functions else None
    while before is not None and type_of(before) in RESHAPES:
        before = before.next_functions[0][0]
    return before


COMPARES = {"mse_loss", "smooth_l1_loss", "huber_loss", "sub"}
"""Operators that hold predictions against targets."""

POINTWISE = {"pow", "abs", "mul", "div", "clamp", "mean", "sum"}
"""Operators between a difference and a loss that is one number."""


def stretched(case: Case) -> Iterator[Finding]:
    """Predictions and targets of which one has n elements and the other n × 1: all are compared with all."""
    for node in case.graph.nodes:
        if type_of(node) not in COMPARES:
            continue
        inputs = [Output(one, slot) for one, slot in node.next_functions if one is not None]
        own = [_unexpanded(one) for one in inputs]
        size, step = shape_of(Output(node, 0)) or shape_of(inputs[0]), case.step_of(node)
        given = [one for seen in step.reads if (one := seen.ref()) is not None] if step is not None else []
        shapes = {*map(shape_of, own), *(tuple(one.shape) for one in given)}
        if len(size) != 2 or size[0] != size[1] or size[0] == 1 or not shapes <= {size[:1], (size[0], 1)}:
            continue
        is_sure, is_meant = len(shapes) == 2, any(type_of(one.node) in RESHAPES for one in own)
        if (own == inputs and (is_meant or shapes == {size[:1]})) or not _is_averaged(case, node):
            continue
        line, count = case.line(node), size[0]
        column, row = f"{count} × 1", f"{count} elements"
        is_column = (count, 1) in map(shape_of, own)
        predictions, targets = (column, row) if is_column else (row, column)
        sentence = (
            f"{case.operator(node)}{in_line(line)} stretches predictions of {predictions} to {count} × {count}, as "
            f"targets of {targets} do: each prediction is compared with every target."
        )
        own_way, other_way = ("squeeze", "unsqueeze") if is_column else ("unsqueeze", "squeeze")
        ways_out = (f"Give both one shape: prediction.{own_way}(1), or target.{other_way}(1).",)
        yield Finding("stretched", sentence, (), line, is_sure, ways_out=ways_out, place=case.place(node))


def _unexpanded(one: Output) -> Output:
    """What an output was before losses brought it to the shape of the other."""
    before, slot = one.node.next_functions[0] if type_of(one.node) == "expand" else (None, 0)
    return one if before is None else Output(before, slot)


def _is_averaged(case: Case, node: Node) -> bool:
    """Whether nothing but one number is made of a difference."""
    while shape_of(Output(node, 0)):
        after = case.readers(node)
        if len(after) != 1 or type_of(after[0]) not in POINTWISE:
            return False
        node = after[0]
    return True
