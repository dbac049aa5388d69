"""Gradients that are far too large or small, along the depth of a model or by float16, or the same for all units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

import torch
from torch.autograd.graph import Node

from ....program.errors import code
from ..graph import Tensor, saved_by, type_of
from ..instances import instances
from .case import Case, in_line
from .diagnosis import Finding
from .gradients import leaf_gradients, plain
from .zeros import HALF

FEWEST = 4
"""Weights that a model must have for its depth to say something."""

VANISHES, FADES = 1e-8, 1e-5
"""Of the size at the end of a model what is left at its front: harm, and a remark."""

EXPLODES, GROWS = 1e6, 1e3
"""By how much it is larger there: harm, and a remark; so too by how much a gradient is larger than its parameter."""

CLIP = "Clip: torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)."

LOST = 0.5
"""Share of the elements that float16 makes zero from which on there is a finding."""


def sizes(case: Case) -> Iterator[Finding]:
    """Gradients that explode or vanish on the way to the front of the model, or are huge against their parameters."""
    rows = _rows(case)
    if rows:
        yield from _along(rows)
        yield from _huge(case, rows)
    yield from _lost(case)


Row = tuple[str, float, float]


def _rows(case: Case) -> list[Row]:
    """Of each weight, in the order in which gradients come to it: name, size of the gradient, size of the weight."""
    rows = []
    gradients = leaf_gradients(case)
    names = {id(one): name for name, one in case.parameters.items()}
    places = _places(case)
    with torch.no_grad():
        for node, gradient in sorted(gradients.items(), key=lambda row: -places.get(row[0], 0)):
            leaf = case.graph.leaves[node]
            name = names.get(id(leaf))
            values = plain(gradient)
            if name is None or leaf.dim() < 2 or not values.numel():
                continue
            size, own = (float(one.detach().abs().double().square().mean().sqrt()) for one in (values, leaf))
            if 0 < size < float("inf"):
                rows.append((name, size, own))
    return rows


def _places(case: Case) -> dict[Node | None, int]:
    """Of what operators read, the number of the last one that does."""
    return {before: place for node, place in case.graph.index.items() for before, _ in node.next_functions}


def _along(rows: Sequence[Row]) -> Iterator[Finding]:
    if len(rows) < FEWEST:
        return
    third = max(2, len(rows) // 3)
    last, first = rows[:third], rows[-third:]
    at_end, at_front = (median(size for _, size, _ in part) for part in (last, first))
    largest, smallest = max(size for _, size, _ in first), min(size for _, size, _ in last)
    share = at_front / at_end
    if share < FADES and largest < at_end * FADES * 10:
        ways_out = (
            "Use relu or gelu in place of sigmoid or tanh, and matching initial weights (Kaiming, Xavier).",
            "Add skip connections or normalization between the layers.",
        )
        yield _trend("vanishing", "vanish", last[0], first[-1], share < VANISHES, ways_out)
    elif share > GROWS and smallest * GROWS < at_front:
        ways_out = ("Make initial weights smaller (Kaiming, Xavier), or add normalization.", CLIP)
        yield _trend("exploding", "explode", last[0], first[-1], share > EXPLODES, ways_out)


def _trend(kind: str, verb: str, last: Row, first: Row, harm: bool, ways_out: tuple[str, ...]) -> Finding:
    sentence = (
        f"Gradients {verb} on the way to the front of the model: the typical element is {last[1]:.1e} in "
        f"{code(last[0])} and {first[1]:.1e} in {code(first[0])}."
    )
    return Finding(kind, sentence, (first[0], last[0]), None, harm, (), ways_out)


def _huge(case: Case, rows: Sequence[Row]) -> Iterator[Finding]:
    """Gradients that are much larger than what they are to change, whatever a GradScaler has made of the loss."""
    huge = _larger(rows)
    if huge and (scale := _scale(case)) != 1:
        huge = _larger([(name, size / scale, own) for name, size, own in rows])
    if not huge or len(huge) < len(rows) / 2:
        return
    ratio, name, size, own = max(huge)
    sentence = (
        f"Gradients are huge: the typical element is {size:.1e} in {code(name)}, whose own elements are of {own:.1e}."
    )
    names = tuple(name for _, name, _, _ in sorted(huge, reverse=True))
    ways_out = ("Take the mean in the loss, not the sum, or scale inputs and targets to about 1.", CLIP)
    yield Finding("exploding", sentence, names, harm=ratio > EXPLODES, ways_out=ways_out)


def _larger(rows: Sequence[Row]) -> list[tuple[float, str, float, float]]:
    """Those with a gradient that is much larger than the weight, behind by how much."""
    return [(size / own, name, size, own) for name, size, own in rows if own > 0 and size / own > GROWS]


def _scale(case: Case) -> float:
    """By what a GradScaler has multiplied the loss; 1: none has."""
    products = [root.node for root in case.graph.roots if type_of(root.node) == "mul"]
    factors = [one.tensor.item() for node in products for one in saved_by(node) if one.tensor.numel() == 1]
    scales = [scaler.get_scale() for scaler in instances(torch.amp.GradScaler)] if products or case.is_over else []
    return next((scale for scale in scales if case.is_over or scale in factors), 1.0)


def _lost(case: Case) -> Iterator[Finding]:
    """Casts to float16 in which most of a gradient becomes zero, though not all."""
    for visit in case.visits:
        if type_of(visit.node) not in ("to_copy", "mul", "div"):
            continue
        for given, sent in zip(visit.arrived, visit.sent, strict=False):
            if given is None or sent is None or sent.tensor.dtype != torch.float16:
                continue
            before, after = plain(given.tensor.detach()), plain(sent.tensor.detach())
            if before.shape != after.shape:
                continue
            count = int((before != 0).sum())
            lost = int(((before != 0) & (after == 0)).sum())
            if count and LOST <= lost / count < 1:
                line = case.line(visit.node)
                sentence = (
                    f"float16 underflow: {lost} of {count} elements of the gradient become 0 in the backward of "
                    f"{case.operator(visit.node)}{in_line(line)}."
                )
                place, ways_out = case.place(visit.node), HALF[:1]
                yield Finding("underflow", sentence, line=line, harm=False, ways_out=ways_out, place=place)
                return


LAYERS = (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)
"""Those whose weights have a row for each unit."""

CLOSE = 1e-5
"""Of the size of weights or gradients by how much rounding makes rows differ at most."""


def symmetric(case: Case) -> Iterator[Finding]:
    """Layers whose units have the same weights and get the same gradient, if another layer is behind them."""
    gradients = {id(case.graph.leaves[node]): one for node, one in leaf_gradients(case).items()}
    last_readers = _places(case)
    places = {id(leaf): last_readers.get(node, 0) for node, leaf in case.graph.leaves.items() if leaf.dim() > 1}
    for module, path in case.modules.items():
        if not isinstance(module, LAYERS):
            continue
        weight, bias = (module._parameters.get(name) for name in ("weight", "bias"))
        if weight is None or (gradient := gradients.get(id(weight))) is None:
            continue
        is_last = places[id(weight)] == max(places.values())
        same = [weight, gradient] if bias is None else [weight, gradient, bias]
        if not is_last and len(weight) > 1 and all(bool(one.any()) for one in same[:2]) and all(map(_are_equal, same)):
            sentence = (
                f"The {len(weight)} units of {code(path or type(module).__name__)} have the same weights and get the "
                "same gradient: they never become different."
            )
            ways_out = ("Draw initial weights at random, as its class does: reset_parameters().",)
            name = f"{path}.weight" if path else "weight"
            yield Finding("symmetric", sentence, (name,), ways_out=ways_out)


def _are_equal(tensor: Tensor) -> bool:
    """Whether all rows are the same but for rounding; NaN is never."""
    rows = tensor.detach()
    return bool((rows - rows[:1]).abs().max() <= CLOSE * rows.abs().max())
