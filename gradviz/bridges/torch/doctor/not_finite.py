"""NaN and infinity: the operator that made it of what was finite, forward or backward."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, cast

import torch
from torch.autograd.graph import Node

from ....program.errors import code
from ..flow import Step, storage_of
from ..graph import Output, Tensor, dtype_of, maker_of, output_of, saved_by, type_of
from .case import Case, in_line, subject, where
from .causes import called_by
from .diagnosis import Finding
from .gradients import Birth, births, is_not_finite, leaf_gradients, plain
from .hooks import hook_of
from .singular import GROWS, OVERFLOW, SINGULAR, UNDEFINED, USUAL, Singular
from .zeros import CUTS, PASS_ON

SAFE = "Give it a safe input where it is masked, too: {name}(torch.where(mask, x, 1))."


def singular(node: Node) -> Singular:
    """How an operator makes NaN or infinity of something finite; empty: it does not."""
    return OVERFLOW if _only_grows(node) else SINGULAR.get(type_of(node), Singular())


MOST_LIKELY = 3
"""Operators that a sentence names when more than one may have done it."""

MASKS = {
    "where", "masked_fill", "mul", "index", "masked_select", "index_put", "gather", "slice", "select",
    "copy_slices",
}  # fmt: skip
"""Through which an element can be left out."""

INFINITE_ON_PURPOSE = {
    "masked_fill", "where", "add", "sub", "mul", "div", "index_put", "scatter", "copy_slices", "fill", "clone",
    "view", "transpose", "expand", "slice", "unsqueeze", "permute", "to_copy", "cat",
}  # fmt: skip
"""Whose -Inf is a mask for softmax."""


def not_finite(case: Case) -> Iterator[Finding]:
    """NaN or infinity in gradients or in the loss."""
    leaves = case.graph.leaves
    bad = [node for node, one in leaf_gradients(case).items() if is_not_finite(one)]
    names = tuple([name for node in bad if (name := case.name(leaves[node]))])
    if any(map(is_not_finite, case.graph_roots)):
        yield _forward(case, names)
        return
    if not bad:
        return
    if case.notes is None:
        yield _afterwards(case, names)
        return
    by_output = births(case, is_not_finite, every=False)
    by_birth: dict[tuple[Node, str], tuple[Birth, list[str]]] = {}
    for node in bad:
        for birth in by_output.get(Output(node, 0), [])[:1]:
            rows = by_birth.setdefault((birth.node, birth.how), (birth, []))[1]
            if name := case.name(leaves[node]):
                rows.append(name)
    for birth, own in by_birth.values():
        yield _backward(case, birth, tuple(own))


def _amount(tensor: Tensor) -> str:
    """``NaN in 2 of 8 elements``."""
    values = plain(tensor.detach())
    is_nan = bool(values.isnan().any())
    count = int((values.isnan() if is_nan else ~values.isfinite()).sum())
    what = "NaN" if is_nan else "-Inf" if not bool((values == torch.inf).any()) else "Inf"
    return what if values.numel() == 1 else f"{what} in {count} of {values.numel()} elements"


def _word(tensor: Tensor) -> str:
    return _amount(tensor).partition(" ")[0]


def _get_it(case: Case, names: Sequence[str]) -> str:
    return f" {subject(names, case.parameters, 'get')} it." if names else ""


def _backward(case: Case, birth: Birth, names: tuple[str, ...]) -> Finding:
    """One that was born in the backward pass."""
    node, visit = birth.node, birth.visit
    gets = _get_it(case, names)
    if birth.how != "sent" or visit is None:
        hook, line = hook_of(case, node)
        who = f"A hook{hook}" if birth.how == "hook" else "A sum of gradients, by overflow,"
        sentence = f"{who} makes a gradient that is not finite{in_line(line)}, of one that was."
        return Finding("nan", sentence + gets, names, line, place=case.place(node))
    sent = next(one.tensor for one in visit.sent if one is not None and is_not_finite(one.tensor))
    line = case.line(node)
    if (earlier := _left_out(case, node, names)) is not None:
        return earlier
    if sent.dtype == torch.float16 and not bool(sent.isnan().any()):
        sentence = (
            f"The gradient overflows float16 in the backward of {case.operator(node)}{in_line(line)}: beyond 65504 "
            f"there is only Inf.{gets}"
        )
        ways = (
            "Use bfloat16, or float32 for this part.",
            "Scale the loss down; torch.amp.GradScaler finds by how much.",
        )
        return Finding("overflow", sentence, names, line, ways_out=ways, place=case.place(node))
    singularity = singular(node)
    given = next((one.tensor for one in visit.arrived if one is not None), None)
    is_nan = sent.isnan()
    masked = given is not None and given.shape == sent.shape and bool(is_nan.any() and (given == 0)[is_nan].all())
    mask = _mask(case, node) if masked or _is_behind_mask(case, node) else None
    why = f": {singularity.backward}" if singularity.backward else ""
    if masked:
        why += f"{',' if why else ':'} and 0 times Inf is NaN"
    behind = f", though {code(type_of(mask))}{where(case.line(mask))} leaves those elements out" if mask else ""
    sentence = f"{_word(sent)} is born in the backward of {case.operator(node)}{in_line(line)}{why}{behind}.{gets}"
    safe = (SAFE.format(name=type_of(node)),) if mask else ()
    evidence = (f"It sends {_amount(sent)}; what it was given was finite.",)
    return Finding("nan", sentence, names, line, True, evidence, (*safe, *singularity.ways_out()), case.place(node))


def _left_out(case: Case, node: Node, names: tuple[str, ...]) -> Finding | None:
    """What an operator multiplies by, if that was no number in the forward pass already; the loss leaves it out."""
    factors = [one.tensor for one in saved_by(node) if one.of is not None and one.of.node is not node]
    if not any(bool(one.isnan().any()) for one in factors):
        return None
    birth = _birth(case)
    if birth is None or birth.result is None or isinstance(birth.at, Step) or birth.at is node:
        return None
    singularity, line = singular(birth.at), case.line(birth.at)
    why = f": {singularity.forward}" if singularity.forward else ""
    sentence = (
        f"{case.operator(birth.at)} makes {_amount(birth.result)}{in_line(line)}{why}. The loss leaves that out, but "
        f"the backward of {case.operator(node)}{where(case.line(node))} multiplies by it."
    )
    evidence, ways_out = ("It is born in the forward pass; 0 times NaN is NaN.",), singularity.ways_out(forward=True)
    place = case.place(birth.at, is_backward=False)
    return Finding("nan", sentence + _get_it(case, names), names, line, True, evidence, ways_out, place)


def _mask(case: Case, node: Node, most: int = 4) -> Node | None:
    """The nearest operator after one that leaves elements out."""
    near = [node]
    for _ in range(most):
        near = [reader for one in near for reader in case.readers(one)]
        for one in near:
            if type_of(one) in MASKS:
                return one
    return None


def _is_behind_mask(case: Case, node: Node) -> bool:
    mask = _mask(case, node)
    return mask is not None and type_of(mask) in ("where", "masked_fill")


def _afterwards(case: Case, names: tuple[str, ...]) -> Finding:
    """Gradients are not finite, the loss is, and the graph is freed: what may have done it."""
    nodes = [node for node in case.graph.nodes if singular(node).backward]
    masked = [node for node in nodes if _is_behind_mask(case, node)]
    likely = masked or [node for node in nodes if type_of(node) not in USUAL]
    hold = subject(names, case.parameters, "hold") if names else "There are"
    if not likely:
        sentence = f"{hold} gradients with NaN or Inf; the loss is finite, so it was born in the backward pass."
        way_out = "Call diagnose before backward(): then the operator that made it is found."
        return Finding("nan", sentence, names, ways_out=(way_out,))
    node = likely[-1]
    singularity, line = singular(node), case.line(node)
    sentence = (
        f"{hold} gradients with NaN or Inf, most likely born in the backward of {case.operator(node)}"
        f"{in_line(line)}: {singularity.backward}."
    )
    safe = (SAFE.format(name=type_of(node)),) if masked else ()
    return Finding("nan", sentence, names, line, ways_out=(*safe, *singularity.ways_out()))


def _forward(case: Case, names: tuple[str, ...]) -> Finding:
    """The loss is not finite: what made it so."""
    loss = _word(next(root for root in case.graph_roots if is_not_finite(root)))
    gets = _get_it(case, names)
    if not case.is_over and (leaf := next(filter(is_not_finite, case.leaves), None)) is not None:
        sentence = f"The loss is {loss} because {case.called(leaf)} holds {_amount(leaf)} itself.{gets}"
        whose = tuple(dict.fromkeys(filter(None, [case.name(leaf), *names])))
        way_out = "If it is a parameter, an earlier step has spoiled it: diagnose the loss of that step."
        return Finding("nan", sentence, whose, ways_out=(way_out,))
    birth = _bad_data(case) or _birth(case)
    if birth is None:
        sentence = f"The loss is {loss}; where that was born is not known any more.{gets}"
        return Finding("nan", sentence, names, ways_out=("Call diagnose before backward().",))
    at, node = case.line(birth.at), None if isinstance(birth.at, Step) else birth.at
    place = None if node is None else case.place(node, is_backward=False)
    if birth.data is not None:
        name = next(case.sharing(birth.data), "") or case.name(birth.data)
        called = code(name) if name else "a tensor that it was given"
        reader = case.operator(node) if node is not None else called_by(cast(Step, birth.at))
        holds = f"holds {_amount(birth.data)}"
        sentence = f"The loss is {loss} because {called}, which {reader} reads{in_line(at)}, {holds}.{gets}"
        whose = tuple(dict.fromkeys(filter(None, [name, *names])))
        way_out = "Look at the data: torch.isfinite(x).all()."
        return Finding("nan", sentence, whose, at, ways_out=(way_out,), place=place)
    assert node is not None
    singularity, operator = singular(node), case.operator(node)
    likely = "" if birth.is_sure else "most likely "
    if birth.others:
        makers = dict.fromkeys(f"{case.operator(one)}{where(case.line(one))}" for one in (node, *birth.others))
        sentence = f"The loss is {loss}: most likely {' or '.join(list(makers)[:MOST_LIKELY])} makes NaN or Inf.{gets}"
        way_out = "Call diagnose before backward(): then it is known which."
        return Finding("nan", sentence, names, at, ways_out=(way_out,))
    if dtype_of(Output(node, 0)) == torch.float16 and type_of(node) not in UNDEFINED:
        why = "beyond 65504 there is only Inf"
        sentence = f"The loss is {loss}: {likely}{operator} overflows float16{in_line(at)}, {why}.{gets}"
        way_out = "Use bfloat16, or float32 for this part."
        return Finding("overflow", sentence, names, at, ways_out=(way_out,), place=place)
    why = f": {singularity.forward}" if singularity.forward else ""
    makes = _amount(birth.result) if birth.result is not None and birth.is_sure else "NaN or Inf"
    sentence = f"The loss is {loss}: {likely}{operator} makes {makes}{in_line(at)}{why}.{gets}"
    ways_out = singularity.ways_out(forward=True)
    return Finding("nan", sentence, names, at, True, ("It is born in the forward pass.",), ways_out, place)


class Forward(NamedTuple):
    """Where something was born in the forward pass.

    Attributes:
        at: the operator, or a call.
        result: what it returned, if somebody has it.
        data: what it was given, if that was so already.
        is_sure: whether no other operator can have done it.
        others: that may have done it as well.
    """

    at: Node | Step
    result: Tensor | None = None
    data: Tensor | None = None
    is_sure: bool = True
    others: Sequence[Node] = ()


def _bad_data(case: Case) -> Forward | None:
    """Data that a capture saw and that are not finite."""
    for step in case.steps:
        if case.leads.isdisjoint(step.makes):
            continue
        for seen in step.reads:
            tensor = seen.ref()
            if tensor is None or seen.requires_grad or case.maker(seen) is not None:
                continue
            if is_not_finite(tensor) and not _is_mask(tensor):
                return Forward(step, data=tensor)
    return None


def _birth(case: Case) -> Forward | None:
    """The first operator whose result is not finite, or that read data that are not."""
    results: dict[Output, Tensor] = {output_of(root): root for root in case.graph_roots}
    saved = {node: [] if case.is_over else saved_by(node) for node in case.graph.nodes}
    results |= {one.of: one.tensor for each in saved.values() for one in each if one.of is not None}
    for step in case.steps:
        for seen in step.makes:
            tensor = seen.ref()
            if tensor is not None and maker_of(tensor) is not None:
                results.setdefault(output_of(tensor), tensor)
    by_node = defaultdict[Node, list[Tensor]](list)
    for output, result in results.items():
        by_node[output.node].append(result)
    for node in case.graph.nodes:
        own = by_node[node]
        data = (one.tensor for one in saved[node] if one.of is None)
        given = next((one for one in data if is_not_finite(one) and not _is_mask(one)), None)
        if given is not None and not any(storage_of(one) == storage_of(given) for one in own):
            return Forward(node, data=given)
        wrong = next((one for one in own if _is_wrong(node, one)), None)
        if wrong is not None:
            return _before(case, node, wrong, results)
    # A loss of -Inf is no mask.
    root = next((one for one in case.graph_roots if is_not_finite(one)), None)
    return None if root is None else _before(case, output_of(root).node, root, results)


def _is_mask(tensor: Tensor) -> bool:
    """Whether the only infinities are -Inf, as in masks that are added."""
    return not bool(tensor.isnan().any()) and not bool((tensor == torch.inf).any())


def _is_wrong(node: Node, result: Tensor) -> bool:
    if not is_not_finite(result):
        return False
    return not (_is_mask(result) and type_of(node).strip("_") in INFINITE_ON_PURPOSE)


def _before(case: Case, node: Node, result: Tensor, results: dict[Output, Tensor]) -> Forward | None:
    """Of an operator and those before it whose results nobody has, the one that NaN or infinity comes from.

    An infinity may also come through results that look like masks.
    """
    candidates, stack = {node}, [node]
    is_nan = bool(result.isnan().any())
    while stack:
        for before, slot in stack.pop().next_functions:
            if before is None or before in case.graph.leaves or before in candidates:
                continue
            found = results.get(Output(before, slot))
            if found is not None and (is_nan or not is_not_finite(found)):
                continue
            candidates.add(before)
            stack.append(before)
    ordered = [one for one in case.graph.nodes if one in candidates]
    if len(ordered) == 1:
        return Forward(node, result)
    shown = [one for one in ordered if _is_of_nothing(one) or (not case.is_over and _is_dangerous(one))]
    if shown:
        return Forward(shown[0], result if shown[0] is node else None)
    in_half = [one for one in ordered if dtype_of(Output(one, 0)) == torch.float16 and type_of(one) != "to_copy"]
    likely = [one for one in ordered if type_of(one) in UNDEFINED | GROWS and not _is_by_a_number(case, one)]
    likely = [one for one in likely if not _only_grows(one)] or ([] if case.is_over and is_nan else likely)
    chosen = likely or in_half[-1:] or ([] if case.is_over else [_nearest(node, candidates)])
    return Forward(chosen[0], is_sure=False, others=chosen[1:]) if chosen else None


def _nearest(node: Node, candidates: Container[Node]) -> Node:
    """The nearest operator that makes numbers, from one on: a ReLU or a view only hands on those that it is given."""
    while type_of(node) in (PASS_ON | CUTS) - {"mean", "mul"} and node.next_functions[0][0] in candidates:
        node = cast(Node, node.next_functions[0][0])
    return node


def _only_grows(node: Node) -> bool:
    """Whether it is a square, a cube and so on: seldom what has done it."""
    exponent = cast(Any, node)._saved_exponent if node.name() == "PowBackward0" else 0
    return isinstance(exponent, int | float) and exponent >= 1 and float(exponent).is_integer()


def _is_by_a_number(case: Case, node: Node) -> bool:
    """Whether a call divides by a number of the program."""
    step = case.step_of(node)
    return type_of(node) == "div" and step is not None and len(step.reads) < 2


def _is_of_nothing(node: Node) -> bool:
    """Whether it is the mean of an empty tensor."""
    return type_of(node) == "mean" and getattr(node, "_saved_self_sym_numel", 1) == 0


def _is_dangerous(node: Node) -> bool:
    """Whether what an operator has kept shows that its result is not finite, though what it read is."""
    saved = {one.name: one.tensor for one in saved_by(node)}
    again = AGAIN.get(type_of(node))
    with suppress(KeyError, RuntimeError, TypeError, AttributeError):
        given = [one for name, one in saved.items() if name != "result"]
        return again is not None and not any(map(is_not_finite, given)) and is_not_finite(again(saved, node))
    return False


AGAIN: dict[str, Callable[[dict[str, Tensor], Any], Tensor]] = {
    **dict.fromkeys(
        ("log", "log2", "log10", "log1p", "acos", "asin", "atanh", "acosh", "erfinv"),
        lambda saved, node: getattr(saved["self"], type_of(node))(),
    ),
    "logit": lambda saved, node: saved["self"].logit(node._saved_eps),
    "mul": lambda saved, node: saved["self"] * saved["other"],
    "div": lambda saved, node: saved.get("self", torch.ones_like(saved["other"])) / saved["other"],
    "pow": lambda saved, node: saved["self"] ** node._saved_exponent,
    "var": lambda saved, node: saved["self"].var(node._saved_dim, correction=node._saved_correction),
    **dict.fromkeys(
        ("sqrt", "rsqrt", "exp", "reciprocal", "softmax", "log_softmax", "std", "linalg_vector_norm", "cdist"),
        lambda saved, node: saved["result"],
    ),
}
"""The result of an operator, from what it has kept, by its type."""
