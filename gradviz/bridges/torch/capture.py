"""Capture: of a forward pass as it runs, which module and which line of the user's code called each operator.

The operators of a thread are numbered; noted are the numbers at which modules begin and end and calls have been made.
Of a call its code and instruction are kept, never a frame; what line that is, is looked up when somebody asks.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar
from weakref import ref

import torch
from torch.autograd.graph import Node
from torch.compiler import is_compiling
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode

from .flow import Call, Flow, calls_in, forget
from .graph import Graph, Tensor, next_number, number_of

Module = torch.nn.Module

Modules = tuple[Module, ...]


class capture:
    """Inside its ``with`` block it is noted who calls what, for recordings of backward passes.

    Args:
        models: modules whose parameters and parts are called by their paths in them; without one those are, that are
            called inside and in no other.
    """

    def __init__(self, *models: Module) -> None:
        for model in models:
            if not isinstance(model, Module):
                raise TypeError(f"capture takes modules, such as a model; {type(model).__name__} is none.")
        self._models = list(models)
        self._is_given = bool(models)
        self._stack: list[Module] = []
        # From which number on which modules run, the innermost last, and from which on what was called; None: nothing.
        self._modules: list[tuple[int, Modules]] = []
        self._calls: list[tuple[int, Call | None]] = []
        self._tensors: list[ref[Tensor]] = []
        self._handles: list[Any] = []
        self.flow = Flow()
        self._mode = _Calls(self._calls, self._tensors, self.flow, self._stack)

    def __enter__(self) -> Self:
        self._handles = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, always_call=True),
            register_optimizer_step_pre_hook(self.flow.begin_step),
            register_optimizer_step_post_hook(self._step),
        ]
        self._mode.__enter__()  # type: ignore[no-untyped-call]
        REMEMBERED.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._mode.__exit__(*error)  # type: ignore[no-untyped-call]
        for handle in self._handles:
            handle.remove()
        self._stack.clear()
        forget()

    def _step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        self.flow.end_step(optimizer, calls_in(sys._getframe(1))[0])

    def _enter(self, module: Module, given: Any) -> None:
        if is_compiling():
            return
        if not self._stack and not self._is_given and all(module is not one for one in self._models):
            self._models.append(module)
        self._stack.append(module)
        self._modules.append((next_number(), tuple(self._stack)))

    def _leave(self, module: Module, given: Any, returned: Any) -> None:
        if is_compiling():
            return
        while self._stack and self._stack.pop() is not module:
            pass
        self._modules.append((next_number(), tuple(self._stack)))

    def modules_of(self, number: int) -> Modules:
        """The modules in which operator `number` was called, the innermost last."""
        return _at(self._modules, number) or ()

    def call_of(self, number: int) -> Call | None:
        """The call in the user's code that operator `number` came from; None: it is not known."""
        return _at(self._calls, number)

    def ends(self, number: int) -> bool:
        """Whether the call of a function ended with operator `number`."""
        place = bisect_right(self._calls, number, key=_number)
        return place < len(self._calls) and self._calls[place][0] == number + 1

    def left(self, number: int) -> int:
        """How many modules were left once operator `number` had been called, before anything else was."""
        depth = fewest = len(self.modules_of(number))
        for place in range(bisect_right(self._modules, number, key=_number), len(self._modules)):
            at, modules = self._modules[place]
            if at != number + 1:
                break
            fewest = min(fewest, len(modules))
        return depth - fewest

    @property
    def numbers(self) -> range:
        """Of the operators that were called inside."""
        return range(self._calls[0][0], self._calls[-1][0]) if self._calls else range(0)

    def retaining(self) -> Iterator[Tensor]:
        """The tensors made inside that keep their gradient."""
        return (tensor for one in self._tensors if (tensor := one()) is not None and tensor.retains_grad)

    def parameters(self) -> Iterator[tuple[str, Tensor]]:
        """The parameters of its models by their paths."""
        for module, path in self.paths.items():
            for name, parameter in module.named_parameters(recurse=False):
                yield f"{path}.{name}" if path else name, parameter

    @property
    def models(self) -> Sequence[Module]:
        """The modules that were given, or learnt as they were called."""
        return self._models

    @property
    def paths(self) -> Mapping[Module, str]:
        """Every module and its path, in one of several models behind the name of its class."""
        several = len(self._models) > 1
        return {
            part: ".".join(filter(None, [type(model).__name__ if several else "", path]))
            for model in reversed(self._models)
            for path, part in whole(model).named_modules()
        }


REMEMBERED: deque[capture] = deque(maxlen=16)
"""The last captures."""


def whole(module: Module) -> Module:
    """A module itself, where another one that compiles it stands for it."""
    inner = getattr(module, "_orig_mod", module)
    return inner if isinstance(inner, Module) else module


def captures(graph: Graph) -> dict[Node, capture]:
    """Of the operators of a graph that were called inside of a capture, the capture."""
    found: dict[Node, capture] = {}
    numbers = [(number_of(node), node) for node in graph.found]
    for one in reversed(REMEMBERED):
        inside = one.numbers
        found = {node: one for number, node in numbers if number in inside} | found
        if len(found) == len(numbers):
            break
    return found


class _Calls(TorchFunctionMode):
    """Notes the calls of functions of torch that made operators."""

    def __init__(
        self, calls: list[tuple[int, Call | None]], tensors: list[ref[Tensor]], flow: Flow, stack: list[Module]
    ) -> None:
        super().__init__()
        self._calls = calls
        self._tensors = tensors
        self._flow = flow
        self._stack = stack

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if is_compiling():
            return function(*args, **(kwargs or {}))
        result = self._flow.call(function, args, kwargs or {}, self._stack, sys._getframe(1))
        last = self._flow.last
        if last is not None and last.after != last.before:
            self._calls.append((last.before, last.call))
            self._calls.append((last.after, None))
            if isinstance(result, Tensor):
                self._tensors.append(ref(result))
        return result


T = TypeVar("T")


def _at(marks: Sequence[tuple[int, T]], number: int) -> T | None:
    """What the last of the marks up to a number says."""
    place = bisect_right(marks, number, key=_number)
    return marks[place - 1][1] if place else None


def _number(mark: tuple[int, Any]) -> int:
    return mark[0]
