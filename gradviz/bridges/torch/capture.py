"""Capture: of a forward pass as it runs, which module and which line of the user's code called each operator.

The operators of a thread are numbered; noted are the numbers at which modules begin and end and calls have been made.
Of a call its code and instruction are kept, never a frame; what line that is, is looked up when somebody asks.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType
from typing import Any, NamedTuple, Self, TypeVar
from weakref import ref

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode

from .graph import Tensor, next_number

Module = torch.nn.Module

INSIDE = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep)
"""Folders whose code is not the user's."""


class Call(NamedTuple):
    """A call in the user's code: the instruction at `at` of a code object."""

    code: CodeType
    at: int


class capture:  # noqa: N801  its name is part of the interface
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
        # From which number on which module is the innermost, and from which on what was called; None: nothing.
        self._modules: list[tuple[int, Module | None]] = []
        self._calls: list[tuple[int, Call | None]] = []
        self._tensors: list[ref[Tensor]] = []
        self._handles: list[Any] = []
        self._mode = _Calls(self._calls, self._tensors)

    def __enter__(self) -> Self:
        self._handles = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, always_call=True),
        ]
        self._mode.__enter__()
        REMEMBERED.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._mode.__exit__(*error)
        for handle in self._handles:
            handle.remove()
        self._stack.clear()

    def _enter(self, module: Module, given: Any) -> None:
        if not self._stack and not self._is_given and all(module is not one for one in self._models):
            self._models.append(module)
        self._stack.append(module)
        self._modules.append((next_number(), module))

    def _leave(self, module: Module, given: Any, returned: Any) -> None:
        while self._stack and self._stack.pop() is not module:
            pass
        self._modules.append((next_number(), self._stack[-1] if self._stack else None))

    def module_of(self, number: int) -> str:
        """The path of the innermost module that called operator `number`; empty: none did."""
        module = _at(self._modules, number)
        return "" if module is None else self._paths().get(module, type(module).__name__)

    def call_of(self, number: int) -> Call | None:
        """The call in the user's code that operator `number` came from; None: it is not known."""
        return _at(self._calls, number)

    def models(self) -> Iterator[Module]:
        """The modules that were given, else those that were called in no other."""
        return iter(self._models)

    def retaining(self) -> Iterator[Tensor]:
        """The tensors made inside that keep their gradient."""
        return (tensor for one in self._tensors if (tensor := one()) is not None and tensor.retains_grad)

    def _paths(self) -> Mapping[Module, str]:
        several = len(self._models) > 1
        return {
            part: ".".join(filter(None, [type(model).__name__ if several else "", path]))
            for model in reversed(self._models)
            for path, part in model.named_modules()
        }


REMEMBERED: deque[capture] = deque(maxlen=16)
"""The last captures."""


class _Calls(TorchFunctionMode):
    """Notes the calls of functions of torch that made operators."""

    def __init__(self, calls: list[tuple[int, Call | None]], tensors: list[ref[Tensor]]) -> None:
        super().__init__()
        self._calls = calls
        self._tensors = tensors

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        before = next_number()
        result = function(*args, **(kwargs or {}))
        after = next_number()
        if after != before:
            self._calls.append((before, _call_in(sys._getframe(1))))
            self._calls.append((after, None))
            if isinstance(result, Tensor):
                self._tensors.append(ref(result))
        return result


def _call_in(frame: FrameType | None) -> Call | None:
    """The innermost call that stands in the user's code."""
    while frame is not None and frame.f_code.co_filename.startswith(INSIDE):
        frame = frame.f_back
    return None if frame is None else Call(frame.f_code, frame.f_lasti)


T = TypeVar("T")


def _at(marks: list[tuple[int, T | None]], number: int) -> T | None:
    """What the last of the marks up to a number says."""
    place = bisect_right(marks, number, key=_number)
    return marks[place - 1][1] if place else None


def _number(mark: tuple[int, Any]) -> int:
    return mark[0]
