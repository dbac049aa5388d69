"""Capture: of a forward pass as it runs, which module and which line of the user's code called each operator.

The operators of a thread are numbered; noted are the numbers at which modules begin and end and at which calls happen.
Of a call its code and instruction are kept, never a frame; what line that is, is looked up when somebody asks.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from operator import itemgetter
from threading import get_ident
from types import FrameType
from typing import Any, Self
from weakref import WeakSet, ref

import torch
from torch.autograd.graph import Node
from torch.compiler import is_compiling
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from .flow import MOST_STEPS, Around, Flow, forget, those
from .frames import Call, call_in, is_inside, users, variables_of
from .graph import Graph, Tensor, applied, hooks_of, maker_of, next_number, number_of
from .instances import instances

Module = torch.nn.Module

Modules = tuple[Module, ...]


class capture:
    """Inside its ``with`` block it is noted who calls what, for recordings of backward passes.

    Args:
        models: modules whose parameters and parts are called by their paths in them; without one those are, that are
            called inside and in no other, or that variables hold and these are parts of. Where several have parameters,
            paths begin with what a variable calls each.
        keep: whether what calls return is kept as long as the graph is there, to be looked at in a recording; PyTorch
            itself keeps what its operators need for their backward alone.

    Attributes:
        outermost: the modules that were given, or learnt as they were called, their classes, and what variables call
            them.
        functional: the modules that were called with other parameters than their own.
        thread: in which it was begun.
    """

    def __init__(self, *models: Module, keep: bool = False) -> None:
        for model in models:
            if not isinstance(model, Module):
                raise TypeError(f"capture takes modules, such as a model; {type(model).__name__} is none.")
        frame = sys._getframe(1)
        self.outermost = [(ref(model), type(model), module_name(model, frame)) for model in models]
        self.thread = get_ident()
        self._is_given = bool(models)
        self.functional: WeakSet[Module] = WeakSet()
        self._learnt: WeakSet[Module] = WeakSet()
        self._stack: list[ref[Module]] = []
        # From which number on which modules run, the innermost last.
        self._modules: list[tuple[int, Around]] = []
        # The calls that have applied Functions in Python, by the numbers of these operators.
        self._applied: dict[int, Call] = {}
        self._watch = ExitStack()
        self.flow = Flow(keeps=keep)

    def __enter__(self) -> Self:
        self.thread = get_ident()
        watches: tuple[AbstractContextManager[Any], ...] = (
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, always_call=True),
            register_optimizer_step_pre_hook(self.flow.begin_step),
            register_optimizer_step_post_hook(self._step),
            applied(self._apply),
            self.flow,
        )
        for one in watches:
            self._watch.enter_context(one)
        REMEMBERED.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._watch.close()
        self._stack.clear()
        forget()

    def _step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        self.flow.end_step(optimizer, call_in(sys._getframe(1)))

    def _apply(self, number: int) -> None:
        call = call_in(sys._getframe(1))
        if call is None or is_compiling():
            return
        self._applied[number] = call
        if len(self._applied) > MOST_STEPS:
            del self._applied[next(iter(self._applied))]

    def _begin(self, module: Module, frame: FrameType) -> None:
        """A module is called inside of no other, from a frame of PyTorch."""
        if not self._is_given and module not in self._learnt:
            name, holder = holder_of(module, frame)
            self.outermost.append((ref(holder), type(holder), name))
            self._learnt.update((module, *holder.modules()))
        if _is_given_parameters(frame):
            self.functional.add(whole(module))

    def _enter(self, module: Module, given: Any) -> None:
        if is_compiling():
            return
        if not self._stack:
            self._begin(module, sys._getframe(1))
        self._stack.append(ref(module))
        self._mark()

    def _leave(self, module: Module, given: Any, returned: Any) -> None:
        if is_compiling():
            return
        while self._stack and self._stack.pop()() is not module:
            pass
        self._mark()

    def _mark(self) -> None:
        """Other modules run from here on."""
        self.flow.around = around = tuple(self._stack)
        self._modules.append((next_number(), around))

    def modules_of(self, number: int) -> Modules:
        """The modules in which operator `number` was called, the innermost last."""
        place = bisect_right(self._modules, number, key=itemgetter(0))
        return those(self._modules[place - 1][1]) if place else ()

    def call_of(self, number: int) -> Call | None:
        """The call in the user's code that operator `number` came from; None: it is not known."""
        step = self.flow.step_of(number)
        return self._applied.get(number) if step is None else step.call

    def ends(self, number: int) -> bool:
        """Whether the call of a function ended with operator `number`."""
        step = self.flow.step_of(number)
        return number in self._applied if step is None else step.numbers[1] == number + 1

    def left(self, number: int) -> int:
        """How many modules were left once operator `number` had been called, before anything else was."""
        depth = fewest = len(self.modules_of(number))
        for place in range(bisect_right(self._modules, number, key=itemgetter(0)), len(self._modules)):
            at, modules = self._modules[place]
            if at != number + 1:
                break
            fewest = min(fewest, len(modules))
        return depth - fewest

    @property
    def numbers(self) -> range:
        """Of the operators that were called inside."""
        steps = self.flow.operators
        ends = [*self._applied, *([steps[0].numbers[0], steps[-1].numbers[1] - 1] if steps else [])]
        return range(min(ends), max(ends) + 1) if ends else range(0)

    def tensors(self) -> Iterator[Tensor]:
        """The results of calls inside that are still there."""
        tensors = (one.ref() for step in self.flow.operators for one in step.makes)
        return (tensor for tensor in tensors if tensor is not None)

    def parameters(self) -> Iterator[tuple[str, Tensor]]:
        """The parameters of its models by their paths."""
        return named_parameters(self.models)

    @property
    def models(self) -> Mapping[Module, str]:
        """The modules that were given, or learnt as they were called, and are still there, but parts of others; what
        they are called."""
        models = {model: name for one, _, name in self.outermost if (model := one()) is not None}
        parts = ids_of_parts(models)
        return {model: name for model, name in models.items() if id(model) not in parts}


REMEMBERED: deque[capture] = deque(maxlen=16)
"""The last captures."""


def whole(module: Module) -> Module:
    """A module itself, where another one that compiles it stands for it."""
    inner = getattr(module, "_orig_mod", module)
    return inner if isinstance(inner, Module) else module


def ids_of_parts(modules: Iterable[Module]) -> set[int]:
    """The identities of the parts of some modules, which may be among these."""
    return {id(part) for module in map(whole, modules) for part in module.modules() if part is not module}


def module_name(module: Module, frame: FrameType | None) -> str:
    """What a variable of the user's code, or an attribute of ``self`` there, calls a module, of a part its path in what
    that holds; else its class.

    Args:
        frame: from which on outwards the user's is looked for.
    """
    name, holder = holder_of(module, frame)
    return next((path for path, part in holder.named_modules() if part is whole(module)), "") or name


def holder_of(module: Module, frame: FrameType | None) -> tuple[str, Module]:
    """The outermost module of variables that a module is or is a part of, and its name; else itself and its class's.

    Args:
        frame: as of `module_name`.
    """
    scope = {} if (frame := users(frame)) is None else {**frame.f_globals, **variables_of(frame)}
    scope = {**getattr(scope.get("self"), "__dict__", {}), **scope}
    held = {name: whole(one) for name, one in scope.items() if isinstance(one, Module) and name[:1] != "_"}
    around = {name: one for name, one in held.items() if any(part is whole(module) for part in one.modules())}
    parts = ids_of_parts(around.values())
    outer = ((name, one) for name, one in around.items() if id(one) not in parts)
    return next(outer, (type(whole(module)).__name__, whole(module)))


def _is_given_parameters(frame: FrameType | None) -> bool:
    """Whether `torch.func.functional_call` is what calls, from a frame of PyTorch outwards."""
    while frame is not None and is_inside(frame.f_code.co_filename):
        if frame.f_code.co_name == "_functional_call":
            return True
        frame = frame.f_back
    return False


def prefixes(models: Mapping[Module, str]) -> dict[Module, str]:
    """What paths in models begin with, by what these are called: nothing in the only one, or the only with parameters.

    Of equal names the later ones get numbers.
    """
    trained = [model for model in models if next(model.parameters(), None) is not None]
    only = trained if len(trained) == 1 else list(models) if len(models) == 1 else []
    taken: Counter[str] = Counter()
    begins: dict[Module, str] = {}
    for model, name in models.items():
        begins[model] = "" if model in only else f"{name}_{taken[name]}" if taken[name] else name
        taken[name] += 1
    return begins


def named_parameters(models: Mapping[Module, str]) -> Iterator[tuple[str, Tensor]]:
    """The parameters of models by their paths, behind what a model is called where there are several; one that models
    share once."""
    by_id: dict[int, tuple[str, Tensor]] = {}
    for model, prefix in prefixes(models).items():
        for name, one in whole(model).named_parameters(prefix):
            by_id.setdefault(id(one), (name, one))
    yield from by_id.values()


def paths_of(models: Mapping[Module, str]) -> dict[Module, str]:
    """Every module of some models and its path; in one of several behind what that is called."""
    return {
        part: dotted(prefix, path)
        for model, prefix in reversed(prefixes(models).items())
        for path, part in whole(model).named_modules()
    }


def dotted(*names: str) -> str:
    """``layer1.conv.weight``: names as a path, without those that are empty."""
    return ".".join(filter(None, names))


def captures(graph: Graph) -> dict[Node, capture]:
    """Of the operators of a graph that were called inside of a capture, the capture.

    Each thread numbers its own operators: of captures with the same numbers, one of this thread is meant.
    """
    by_node: dict[Node, capture] = {}
    numbers = {node: number_of(node) for node in graph.unordered_nodes}
    here, latest = get_ident(), [*reversed(REMEMBERED)]
    for one in sorted(latest, key=lambda one: one.thread != here):
        inside = one.numbers
        by_node = {node: one for node, number in numbers.items() if number in inside} | by_node
        if len(by_node) == len(numbers):
            break
    return by_node


def tensors_on(graph: Graph, captured: Mapping[Node, capture]) -> list[Tensor]:
    """What operators of a graph returned and is there still.

    Captures know theirs, others are looked for among all tensors.
    """
    if len(captured) == len(graph.unordered_nodes) and not graph.functions:
        tensors = [tensor for one in set(captured.values()) for tensor in one.tensors()]
    else:
        tensors = instances(Tensor)
    nodes = set(graph.unordered_nodes)
    return [one for one in tensors if maker_of(one) in nodes]


def with_hooks(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Those of some tensors that keep their gradient or have hooks."""
    return [one for one in tensors if one.retains_grad or hooks_of(one)]
