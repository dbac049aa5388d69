"""Whether gradients were kept away from parameters on purpose: then it is a remark."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import torch

from ....program.errors import code
from ..capture import Module
from ..flow import Step, look_up, storage_of
from ..graph import type_of
from .case import Case
from .reach import slice_of

ON_PURPOSE = {"detach", "detach_", "data"}
"""Calls that somebody writes to keep gradients away; a block without gradients is another way."""

SPARED = re.compile(r"target|ema|teacher|momentum|shadow|frozen|slow|(^|_)(old|ref|reference|copy)(_|$)", re.IGNORECASE)
"""What networks are called that are copies of others."""


def purpose_of(case: Case, step: Step | None, names: Sequence[str], *, are_read: bool = False) -> str:
    """Why parameters are kept from gradients on purpose, in a sentence; empty: it looks like a mistake.

    Args:
        step: that cuts them off; None: they are not used.
        are_read: whether something is computed from them nevertheless, which a model that was given is not for.
    """
    if any(name not in case.parameters for name in names):
        return "A new leaf is made of it, so this seems to be on purpose." if _becomes_a_leaf(case, step) else ""
    if hold_another(case, names):
        return "They hold the gradient of another loss, so this seems to be on purpose."
    if _have_moved(case, names):
        return "An optimizer has moved them in an earlier step, so this seems to be on purpose."
    if step is None and _are_chosen(case, names):
        return "Others like them are used, and the pass chooses by numbers which, so this seems to be on purpose."
    if step is None and not are_read and all(id(case.parameters[name]) in case.read_before for name in names):
        return "An earlier forward pass has read them, so it seems that each chooses what it uses."
    if step is None and not are_read and (drawing := _drawing(case, names)):
        return f"{code(drawing)} draws random numbers in Python, so it seems that it leaves them out at random."
    if step is None and (writes := min(case.parameters[name]._version for name in names)) > MOST_WRITES:
        return f"They have been written into {writes} times, as in steps of training, so other passes seem to use them."
    if step is not None and (step.is_in_checkpoint or (step.is_tracked and step.function not in ON_PURPOSE)):
        return ""
    module, path = _whole(case, names)
    if module is None:
        return ""
    twin = next(_twins(case, module, path), None)
    if twin is not None and (SPARED.search(path) or _follows(case, module, twin)):
        return f"{code(path)} is a copy of {code(case.modules[twin])}, so this seems to be on purpose."
    if module in case.models:
        is_wanted = (are_read and case.is_given) or (step is not None and _leads_into(case, step))
        is_apart = len(case.models) > 1 and not is_wanted
        return "It is a whole model of several, so this seems to be on purpose." if is_apart else ""
    if any(any(own) and not all(own) for own in _readers_of(case, step)) or (step is None and _are_called_twice(case)):
        return f"{code(path)} is data for what reads others too, and left to another loss, it seems on purpose."
    if not module.training and any(model.training for model in case.models):
        return f"{code(path)} is in eval mode while the model is trained, so this seems to be on purpose."
    return ""


def undecided(case: Case, names: Sequence[str]) -> str:
    """The list or dict of modules that members are left out of while others are used: of one pass nobody can say
    whether they are forgotten or it chooses. Its path; empty: there is none."""
    for module, path in case.modules.items():
        if not path or not isinstance(module, torch.nn.ModuleList | torch.nn.ModuleDict):
            continue
        members = list(module.named_children())
        idle = [f"{path}.{key}." for key, one in members if not any(map(case.is_leaf, one.parameters()))]
        if 0 < len(idle) < len(module) and all(name.startswith(tuple(idle)) for name in names):
            return path
    return ""


def _becomes_a_leaf(case: Case, step: Step | None) -> bool:
    """Whether the result of a call goes into a leaf that gradients go to, as in an inner loop."""
    leaves = filter(None, map(look_up, case.leaves))
    return step is not None and not slice_of(case.steps, leaves).isdisjoint(step.makes)


def hold_another(case: Case, names: Sequence[str]) -> bool:
    """Whether another backward pass has brought parameters gradients: there are several losses."""
    return all(name in case.parameters and case.parameters[name].grad is not None for name in names)


def _have_moved(case: Case, names: Sequence[str]) -> bool:
    """Whether optimizers have made a step with parameters, of which most keep something."""
    return all(any(one.state.get(case.parameters[name]) for one in case.optimizers) for name in names)


MOST_WRITES = 16
"""How often initial values are written at most: steps of an optimizer that keeps nothing, as plain SGD, go on."""


CHOOSES = {"topk", "index", "index_select", "index_put", "index_add", "masked_select", "masked_scatter", "scatter_add"}
"""Operators with which a part of a batch goes to one layer of several."""

ASKS = {"__bool__", "item", "tolist", "nonzero"}
"""Calls by which a forward pass decides what to run."""


def _are_chosen(case: Case, names: Sequence[str]) -> bool:
    """Whether parameters that only a number tells apart from others are left out by a choice, as idle experts are."""
    alike = {re.sub(r"\d+", "", name) for name in case.trained}
    if not all(re.search(r"\d", name) and re.sub(r"\d+", "", name) in alike for name in names):
        return False
    asks = (step for step in case.steps if step.function in ASKS)
    is_asked = any(module in case.modules for step in asks for module in step.modules)
    return is_asked or any(type_of(node) in CHOOSES for node in case.graph.nodes)


DRAWS = {"random", "randrange", "choice"}
"""Names in code that draws random numbers without PyTorch: those of Python's `random`, and of `numpy.random`."""


def _drawing(case: Case, names: Sequence[str]) -> str:
    """The class around parameters whose forward draws random numbers without PyTorch; empty: none does."""
    for module, path in case.modules.items():
        forward = getattr(inspect.unwrap(type(module).forward), "__code__", None)
        is_around = not path or all(name.startswith(f"{path}.") for name in names)
        if is_around and forward is not None and not DRAWS.isdisjoint(forward.co_names):
            return type(module).__name__
    return ""


def _whole(case: Case, names: Sequence[str]) -> tuple[Module | None, str]:
    """The module whose trainable parameters are just these."""
    wanted = {id(case.parameters[name]) for name in names}
    for module, path in case.modules.items():
        own = {id(one) for one in module.parameters() if one.requires_grad}
        if own == wanted:
            return module, path
    return None, ""


def _twins(case: Case, module: Module, path: str) -> Iterator[Module]:
    """Other modules of the same class and shapes that are trained, but not those that only a number tells apart."""
    shapes = [one.shape for one in module.parameters()]
    for other, name in case.modules.items():
        own = list(other.parameters())
        is_like = other is not module and type(other) is type(module) and [one.shape for one in own] == shapes
        if is_like and re.sub(r"\d+", "", name) != re.sub(r"\d+", "", path) and any(map(case.is_leaf, own)):
            yield other


NEAR = 0.5
"""Of the size of the weights: copies that lag behind differ by less, weights drawn anew by about 1.4."""


def _follows(case: Case, module: Module, twin: Module) -> bool:
    """Whether a module has about the values of another one, or was written from them."""
    pairs = list(zip(module.parameters(), twin.parameters(), strict=True))
    weights = [(one, other) for one, other in pairs if one.dim() > 1] or pairs
    with torch.no_grad():
        if all(float((one - other).norm()) <= NEAR * float(other.norm()) for one, other in weights):
            return True
    own, others = ({storage_of(one) for one in each.parameters()} for each in (module, twin))
    return any(
        any(one.storage in own for one in step.writes) and any(one.storage in others for one in step.reads)
        for step in case.steps
    )


def _leads_into(case: Case, cut: Step) -> bool:
    """Whether what a call has cut off is all that a trained model is given: then they are one model in two parts."""
    return any(own and all(own) for own in _readers_of(case, cut))


def _readers_of(case: Case, cut: Step | None) -> Iterator[list[bool]]:
    """Of each trained parameter the calls on the way to the loss: whether they read what a call has cut off."""
    if cut is None:
        return
    cut_off = set(cut.makes)
    for step in case.steps:
        if step.number > cut.number and not cut_off.isdisjoint(step.reads):
            cut_off.update(step.makes)
    readers: dict[int, list[bool]] = {id(one): [] for one in case.trained.values()}
    for step in case.steps:
        if step is not cut and not case.leads.isdisjoint(step.makes):
            for one in step.reads:
                if (own := readers.get(id(one.ref()))) is not None:
                    own.append(not cut_off.isdisjoint(step.reads))
    yield from readers.values()


def _are_called_twice(case: Case) -> bool:
    """Whether several operators read each trained parameter: a network judges generated data and real data."""
    counts = Counter(before for node in case.graph.nodes for before, _ in node.next_functions)
    return all(counts[leaf] > 1 for leaf in case.graph.leaves)
