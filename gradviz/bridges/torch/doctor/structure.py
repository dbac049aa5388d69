"""What a model holds that is no parameter of it, and parameters that are two, or that no optimizer holds."""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import torch

from ....program.code_line import CodeLine, line_at
from ....program.errors import code, count_of
from ..capture import Module, dotted
from ..flow import look_up, storage_of
from ..frames import Call, is_inside, items_of, named_tensors, place_of
from ..graph import Tensor, is_leaf_tensor, maker_of
from .case import Case, each_of, in_line, subject
from .diagnosis import Finding


def plain_tensors(case: Case) -> Iterator[Finding]:
    """Tensors that require a gradient, in attributes of modules, and are in no list of parameters."""
    registered = {id(one) for one in case.parameters.values()}
    for module, path in case.modules.items():
        for name, tensor in _tensors(module):
            if not tensor.requires_grad or id(tensor) in registered:
                continue
            base = tensor if is_leaf_tensor(tensor) else _anonymous(case, tensor)
            if base is None or id(tensor) in case.optimized or id(base) in case.optimized:
                continue
            if base is not tensor and not _precedes_forward(case, tensor):
                continue
            full = dotted(path, name)
            attribute, in_holder, _ = name.partition("[")
            way_out = f"Wrap it last: self.{attribute} = nn.Parameter(tensor)."
            if in_holder:
                holder = getattr(module, attribute, None)
                better = "nn.ParameterDict" if isinstance(holder, dict) else "nn.ParameterList"
                way_out = f"Write self.{attribute} = {better}(...)."
            if in_holder and isinstance(tensor, torch.nn.Parameter):
                sentence = (
                    f"{code(full)} is no parameter of the model: a {type(holder).__name__} of parameters is not looked "
                    "into, so no optimizer changes it."
                )
            elif is_leaf_tensor(tensor):
                sentence = (
                    f"{code(full)} requires a gradient but is no parameter of the model: it is a plain tensor, which "
                    "parameters() leaves out, so no optimizer changes it."
                )
            else:
                sentence = (
                    f"{code(full)} is no parameter of the model: it was computed from one, by to(), cuda() or "
                    "arithmetic, and that is a plain tensor, which parameters() leaves out."
                )
            harm = is_leaf_tensor(tensor) or not case.has_graph or case.is_leaf(base)
            ways_out = (way_out, "If it should not be trained, register_buffer() it without requires_grad.")
            yield Finding("plain_tensor", sentence, (full,), assigned(module, attribute), harm, (), ways_out)


def computed_once(case: Case) -> Iterator[Finding]:
    """Results in attributes that ``__init__`` alone computes from parameters, and that the loss needs."""
    for module, path in case.modules.items():
        for name, tensor in vars(module).items():
            if not isinstance(tensor, Tensor) or (maker := maker_of(tensor)) is None:
                continue
            methods = {method for method, _ in _stores(module, name)}
            is_read = maker in case.graph.index and _anonymous(case, tensor) is None
            if methods != {"__init__"} or not is_read:
                continue
            full = dotted(path, name)
            sentence = (
                f"{code(full)} is computed from parameters once, in __init__: the first backward() frees that part of "
                "the graph and the next one fails there, and after a step it still has the old value."
            )
            ways_out = (f"Compute {name} in forward, from the parameters as they are then.",)
            yield Finding("freed", sentence, (full,), assigned(module, name), ways_out=ways_out)


def assigned(module: Module, name: str) -> CodeLine | None:
    """The line of the user's code on which a module gets an attribute first; None: it is not known."""
    return next((line for method, line in _stores(module, name) if method == "__init__"), None)


def _stores(module: Module, name: str) -> Iterator[tuple[str, CodeLine]]:
    """The methods of the user's that set an attribute of a module, and where."""
    for one in type(module).__mro__:
        for method, function in vars(one).items():
            code_of = getattr(function, "__code__", None)
            if code_of is None or is_inside(code_of.co_filename) or name not in code_of.co_names:
                continue
            for each in dis.get_instructions(code_of):
                if each.opname == "STORE_ATTR" and each.argval == name:
                    yield method, line_at(code_of, each.offset)


def _tensors(module: Module) -> Iterator[tuple[str, Tensor]]:
    """The tensors that a module holds beside its parameters, inside of lists and dicts too."""
    attributes = chain(module._buffers.items(), vars(module).items())
    return named_tensors((name, one) for name, one in attributes if isinstance(one, Tensor) or name[:1] != "_")


def _anonymous(case: Case, tensor: Tensor) -> Tensor | None:
    """The one leaf that a tensor was computed from directly, if nobody has a name for it."""
    maker = maker_of(tensor)
    before = [] if maker is None else [node for node, _ in maker.next_functions]
    leaves: list[Tensor | None] = [getattr(node, "variable", None) for node in before if node is not None]
    if len(leaves) != 1 or leaves[0] is None or case.name(leaves[0]):
        return None
    return leaves[0]


def _precedes_forward(case: Case, tensor: Tensor) -> bool:
    """Whether a tensor was there before the forward pass, whose results are new each time."""
    seen = look_up(tensor)
    return seen is None or not any(seen in step.makes and step.function for step in case.steps)


def switched(case: Case) -> Iterator[Finding]:
    """Modules and parameters that were to be frozen by an attribute that they do not have."""
    for module, path in case.modules.items():
        trained = sum(one.requires_grad for one in module.parameters())
        is_set = vars(module).get("requires_grad") is False and assigned(module, "requires_grad") is None
        if is_set and trained:
            sentence = (
                f"`requires_grad = False` of {code(path) if path else 'the model'} freezes nothing: a module has no "
                f"such attribute, and {count_of(trained, 'parameter')} of it {'is' if trained == 1 else 'are'} trained."
            )
            way_out = "Call requires_grad_(False) of the module: it sets that of all its parameters."
            yield Finding("not_frozen", sentence, (path,) if path else (), ways_out=(way_out,))
    if names := [name for name, one in case.trainable.items() if vars(one).get("require_grad") is False]:
        sentence = f"{subject(names, case.parameters, 'are')} not frozen: `require_grad` was set, not `requires_grad`."
        ways_out = ("Write requires_grad = False.",)
        yield Finding("not_frozen", sentence, tuple(names), evidence=each_of(names), ways_out=ways_out)


def hidden_modules(case: Case) -> Iterator[Finding]:
    """Modules in plain lists and dicts, or out of reach in another way: their parameters are not those of the model."""
    in_findings: set[int] = set()
    for module, path in case.modules.items():
        for name, value in vars(module).items():
            if name.startswith("_"):
                continue
            hidden = [(place, one) for place, one in _modules_in(value) if one not in case.modules]
            own = [
                (f"{name}{place}.{inner}", tensor)
                for place, one in hidden
                for inner, tensor in one.named_parameters()
                if tensor.requires_grad and id(tensor) not in case.optimized
            ]
            in_findings.update(id(tensor) for _, tensor in own)
            if not _are_used(case, [tensor for _, tensor in own]):
                continue
            full = dotted(path, name)
            kind = "dict" if isinstance(value, dict) else type(value).__name__
            sentence = (
                f"The {count_of(len(own), 'parameter')} of the modules in {code(full)} are not parameters of the "
                f"model: a {kind} of modules is not looked into, so no optimizer changes them."
            )
            better = "nn.ModuleDict" if isinstance(value, dict) else "nn.ModuleList"
            names = (full, *(dotted(path, name) for name, _ in own))
            line = assigned(module, name)
            yield Finding("module_list", sentence, names, line, ways_out=(f"Write self.{name} = {better}(...).",))
    yield from _called_inside(case, in_findings)


def _are_used(case: Case, tensors: Sequence[Tensor]) -> bool:
    """Whether gradients go to some of them, or there is no graph to see that in."""
    return any(not case.has_graph or case.is_leaf(one) for one in tensors)


def _modules_in(value: Any, depth: int = 3) -> Iterator[tuple[str, Module]]:
    """The modules in lists and dicts, and in those inside, with their places."""
    for key, one in items_of(value) if depth else ():
        if isinstance(one, Module):
            yield place_of(key), one
        else:
            yield from ((place_of(key) + place, inner) for place, inner in _modules_in(one, depth - 1))


def _called_inside(case: Case, in_findings: set[int]) -> Iterator[Finding]:
    """Modules that were called in the forward of the model and are no parts of it."""
    for step in case.steps:
        around = [place for place, module in enumerate(step.modules) if module in case.modules]
        for module in step.modules[around[0] + 1 :] if around else ():
            if module in case.modules:
                continue
            own = [one for one in module.parameters() if one.requires_grad and id(one) not in in_findings]
            if not _are_used(case, own) or any(id(one) in case.optimized for one in own):
                continue
            in_findings.update(map(id, own))
            line, name = case.line(step), type(module).__name__
            sentence = (
                f"The {count_of(len(own), 'parameter')} of a {code(name)}, which the model calls{in_line(line)}, are "
                "not parameters of the model: it is no attribute of a module, so no optimizer changes them."
            )
            yield Finding("module_list", sentence, (name,), line, ways_out=("Make it an attribute of the module.",))


def parameters_of_a_call(case: Case) -> Iterator[Finding]:
    """Parameters that nobody holds once the loss is there: they are new in each forward pass, as a capture can see."""
    before = {id(_anonymous(case, one)) for module in case.modules for _, one in _tensors(module)}
    by_call: dict[Call | None, list[Tensor]] = {}
    for tensor in case.nobodys if case.parameters else ():
        writes = [step for step in case.steps if any(one.ref() is tensor for one in step.writes)]
        is_inside = any(module in case.modules for step in writes for module in step.modules)
        if id(tensor) not in before and (is_inside or not case.steps):
            by_call.setdefault(writes[0].call if writes else None, []).append(tensor)
    for call, tensors in by_call.items():
        line = case.line(call)
        sentence = (
            f"Gradients go to {count_of(len(tensors), 'parameter')} that nobody holds any more: a layer that the "
            f"forward pass makes{in_line(line)} is new in each call, so no optimizer changes it."
        )
        ways_out = ("Make it once, in __init__, as an attribute of the module.",)
        yield Finding("module_list", sentence, (), line, bool(case.steps), ways_out=ways_out)


def tied_by_data(case: Case) -> Iterator[Finding]:
    """Parameters that lie in the same memory and are two."""
    places: dict[tuple[int, int], list[str]] = {}
    for name, one in case.parameters.items():
        if one.numel() and storage_of(one):
            places.setdefault((one.data_ptr(), one.numel()), []).append(name)
    for names in places.values():
        if len(names) < 2 or not any(case.parameters[name].requires_grad for name in names):
            continue
        first, second = names[0], names[1]
        sentence = (
            f"{code(second)} and {code(first)} share their memory but are not tied: they are two parameters, each with "
            "a gradient and a step of its own, as assigning `.data` makes it."
        )
        ways_out = (
            f"Tie them by assigning the parameter itself: {second} = {first}.",
            "If they should not be tied, clone() the one for the other.",
        )
        line = next(filter(None, (assigned(module, "data") for module in case.modules)), None)
        yield Finding("tied_by_data", sentence, (second, first, *names[2:]), line, ways_out=ways_out)
