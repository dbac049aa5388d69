"""What outputs of operators and leaves are called: as modules and the caller call them, else by their operators."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple
from weakref import ref

from torch.autograd.graph import Node

from ...program.code_line import line_at
from .capture import Module, capture, dotted, ids_of_parts, named_parameters, whole
from .frames import inner, items_of, place_of, variables_of
from .graph import Graph, Output, Tensor, hooks_of, maker_of, type_of
from .origins import Origin

Names = dict[Output, str]


def named(graph: Graph, called: Called, origins: Mapping[Node, Origin]) -> Names:
    """A name of its own for every leaf and every output of an operator.

    Args:
        called: what the user calls some of them.
        origins: where operators come from.
    """
    distinct, leaves = Distinct(), [Output(node, 0) for node in graph.leaves]
    names: Names = {leaf: distinct.take(called.outputs[leaf]) for leaf in leaves if leaf in called.outputs}
    for node in graph.nodes:
        count = graph.outputs[node]
        origin = origins.get(node, Origin())
        name = origin.name or dotted(origin.module, type_of(node))
        for slot in range(count):
            one = Output(node, slot)
            names[one] = distinct.take(called.outputs.get(one) or (f"{name}.{slot}" if count > 1 else name))
    return names | {leaf: distinct.take("leaf") for leaf in leaves if leaf not in names}


class Distinct:
    """Gives names, each once: one that is taken gets a number."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._numbers: dict[str, int] = {}

    def take(self, name: str) -> str:
        """A name, of letters that names of blobs may have."""
        name = legal(name)
        taken, number = name, self._numbers.get(name, 0)
        while taken in self._taken:
            number += 1
            taken = f"{name}_{number}"
        self._numbers[name] = number
        self._taken.add(taken)
        return taken


_ILLEGAL = re.compile(r"[^\w.\[\]]")

MOST_LETTERS = 400


def legal(name: str) -> str:
    """A name of no other letters than names of blobs may have."""
    return _ILLEGAL.sub("_", name)[:MOST_LETTERS]


class Called(NamedTuple):
    """What variables and modules call tensors.

    Attributes:
        outputs: those that a gradient goes to.
        data: others, by their identity.
        models: the modules of variables that gave parameters their names, where captures have not named all.
    """

    outputs: Mapping[Output, str] = {}
    data: Mapping[int, str] = {}
    models: Sequence[ref[Module]] = ()


def called_in(frame: FrameType | None, graph: Graph, captured: Iterable[capture]) -> Called:
    """What captures and the variables of a frame call tensors, and modules their parameters."""
    outputs: dict[Output, str] = {}

    def call(tensors: Iterable[tuple[str, Tensor]]) -> None:
        for name, tensor in tensors:
            place = graph.ends.get(id(tensor))
            if place is None and (node := maker_of(tensor)) is not None:
                place = Output(node, tensor.output_nr)
            if place is not None:
                outputs.setdefault(place, name)

    for one in captured:
        call(one.parameters())
    if frame is None:
        return Called(outputs)
    scope = {name: value for name, value in {**frame.f_globals, **variables_of(frame)}.items() if name[:1] != "_"}
    models = _modules_in(scope, graph) if len(outputs) < len(graph.ends) else {}
    call(named_parameters(models))
    tensors = {name: value for name, value in scope.items() if isinstance(value, Tensor)}
    call(tensors.items())
    items = ((name, key, one) for name, value in scope.items() for key, one in items_of(value))
    call((name + place_of(key), one) for name, key, one in items if isinstance(one, Tensor))
    data = {id(value): name for name, value in tensors.items() if not value.requires_grad}
    return Called(outputs, data, list(map(ref, models)))


def hooks_on(tensors: Iterable[Tensor], graph: Graph) -> dict[Output, tuple[str, ...]]:
    """What the hooks of tensors in a graph are called, in the order in which they run: ``clip at net.py:12``."""
    return {graph.output_of(one): tuple(map(_hook, hooks)) for one in tensors if (hooks := hooks_of(one))}


def _hook(hook: Callable[..., Any]) -> str:
    function = inner(hook)
    name = getattr(function, "__name__", type(function).__name__)
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name} at {line_at(code, 0)}"


def _modules_in(scope: Mapping[str, Any], graph: Graph) -> dict[Module, str]:
    """The modules with leaves of the graph that variables hold, themselves or in an attribute of ``self``, and that are
    no parts of others; what they are called there."""
    values = {**getattr(scope.get("self"), "__dict__", {}), **scope}
    modules = {name: whole(value) for name, value in values.items() if isinstance(value, Module)}
    parts = ids_of_parts(modules.values())
    called = {
        module: name
        for name, module in reversed(modules.items())
        if id(module) not in parts and any(id(one) in graph.ends for one in module.parameters())
    }
    return dict(reversed(called.items()))
