"""Flow: of the calls in a capture, which tensors each read, made and wrote into, those that autograd does not see too.

A tensor that is written into, or begins to require a gradient, is seen anew: what was seen never changes.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple, cast
from weakref import ref

import torch

from .graph import Graph, Tensor, is_function, is_leaf, next_number, number_of

MOST_STEPS = 100_000
"""Steps that are kept of a capture, the last ones."""

MOST_WALKED = 200
"""Nodes that are looked at to learn what a tensor comes from that no call returned."""

LEAVES = {"item", "tolist", "numpy", "__array__", "__float__", "__int__", "__complex__", "__dlpack__"}
"""Calls through which a tensor leaves PyTorch."""

ALWAYS = {*LEAVES, "backward", "autograd.backward", "autograd.grad", "grad", "grad=", "data=", "step"}
"""What is noted though nothing is made."""

ATTRIBUTES = {"data", "grad", "T", "mT", "H", "mH", "real", "imag"}
"""Those that give a tensor."""


class Call(NamedTuple):
    """A call in the user's code: the instruction at `at` of a code object."""

    code: CodeType
    at: int


class Seen:
    """A tensor as it was seen.

    Attributes:
        storage: the address of what it keeps its elements in; 0: it is not known.
        requires_grad, is_leaf, is_float: what it was then.
        name: the variable it was found in, if no call returned it.
        step: the number of the step at which it was seen.
    """

    __slots__ = ("__weakref__", "is_float", "is_leaf", "name", "ref", "requires_grad", "step", "storage")

    def __init__(self, tensor: Tensor, step: int) -> None:
        self.ref = ref(tensor)
        self.step = step
        self.requires_grad = tensor.requires_grad
        self.is_leaf = tensor.is_leaf
        self.is_float = tensor.is_floating_point() or tensor.is_complex()
        self.storage = storage_of(tensor)
        self.name = ""


class Step(NamedTuple):
    """A call.

    Attributes:
        function: what is called: ``relu``, ``__setitem__``; setting an attribute is ``grad=``.
        call: where; None: not known.
        modules: those around, the innermost last.
        reads, makes: tensors; what was written into is made anew.
        writes: those of `makes` that were there before.
        numbers: of the first operator of autograd that it made, and of the next after it.
        is_tracked: whether gradients were switched on.
        switched: the call that switched them off, if they are off and it is known.
        functions: the Functions of the user's that `torch.autograd.grad` went through, if it was told to create a
            graph and did not.
        frees: whether it lets go of the graph that it goes backward through.
        is_inference: whether inference mode was on.
        number: of the step.
    """

    function: str
    call: Call | None
    modules: tuple[torch.nn.Module, ...]
    reads: tuple[Seen, ...]
    makes: tuple[Seen, ...]
    writes: tuple[Seen, ...]
    numbers: tuple[int, int]
    is_tracked: bool
    is_inference: bool
    number: int
    switched: Call | None = None
    functions: tuple[type, ...] | None = None
    frees: bool = True


class Last(NamedTuple):
    """The numbers of the first operator that the last call has made, and of the next, and where the call is."""

    before: int
    after: int
    call: Call | None


class Flow:
    """What calls do with tensors, in order.

    Attributes:
        steps: the last of them.
        last: what is known of the last call; None: nothing.
    """

    def __init__(self) -> None:
        self.steps: deque[Step] = deque(maxlen=MOST_STEPS)
        self.last: Last | None = None
        self._is_stepping = False
        self._switched: Call | None = None

    def call(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        modules: Sequence[torch.nn.Module],
        frame: FrameType | None,
    ) -> Any:
        """Call a function of torch, and note it.

        Args:
            frame: of whoever calls it; the user's code is there or further out.
        """
        self.last = None
        name = name_of(function)
        if name is None or self._is_stepping or (name in SWITCHES and self._switch(name, args, frame)):
            return function(*args, **kwargs)
        given = _tensors(args)
        if kwargs:
            given += _tensors(kwargs.values())
        versions = [_version(one) for one in given]
        reads = [look_up(one) for one in given]
        is_tracked, is_inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        before = next_number()
        result = function(*args, **kwargs)
        after = next_number()
        made = [result] if isinstance(result, Tensor) else _tensors((result,))
        written = [one for one, version in zip(given, versions, strict=True) if _version(one) != version]
        if not made and not written and name not in ALWAYS:
            return result
        call, frame = calls_in(frame)
        self.last = Last(before, after, call)
        if not is_tracked:
            if _is_in_function(frame):
                return result
            call = _in_block(frame, self._switched) or call
        number = next(_numbers)
        seen = [old or _arrived(one, frame, self, call) for old, one in zip(reads, given, strict=True)]
        for one, tensor in zip(seen, given, strict=True):
            if one.requires_grad and one.is_leaf and not one.name and not isinstance(tensor, torch.nn.Parameter):
                one.name = variable_of(tensor, frame)
        if name in SETS:
            written += given[:1]
        writes = tuple([look_anew(one, number) for one in _distinct(written)]) if written else ()
        step = Step(
            name, call, tuple(modules), tuple(seen), (*writes, *[_made(one, number) for one in made]), writes,
            (before, after), is_tracked, is_inference, number, None if is_tracked else self._switched,
        )  # fmt: skip
        if name in PASSES:
            retains = kwargs.get("retain_graph") or kwargs.get("create_graph")
            step = step._replace(frees=not retains, functions=_functions(name, kwargs, given, made))
        self.steps.append(step)
        return result

    def _switch(self, name: str, args: Sequence[Any], frame: FrameType | None) -> bool:
        """Whether a call is no part of a program: it switches gradients off or tells a profiler of an optimizer."""
        if name == SWITCH and not args[0]:
            self._switched = calls_in(frame)[0]
        if name == PROFILED and str(args[0]).startswith("Optimizer.zero_grad"):
            self._zeroed(calls_in(frame)[0])
        return True

    def _zeroed(self, call: Call | None) -> None:
        """An optimizer puts gradients to zero, those too that are None."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not isinstance(frame.f_locals.get("self"), torch.optim.Optimizer):
            frame = frame.f_back
        if frame is not None:
            self._about(frame.f_locals["self"], "zero_grad", call, all_of=True)

    def begin_step(self, *_: Any) -> None:
        """An optimizer begins a step: what it does inside is its own affair."""
        self._is_stepping = True

    def end_step(self, optimizer: torch.optim.Optimizer, call: Call | None) -> None:
        """An optimizer has made a step."""
        self._is_stepping = False
        self._about(optimizer, "step", call, all_of=False)

    def _about(self, optimizer: torch.optim.Optimizer, what: str, call: Call | None, *, all_of: bool) -> None:
        """An optimizer has done something with its parameters, all of them or those with a gradient."""
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        number = next(_numbers)
        chosen = [one for one in parameters if all_of or one.grad is not None]
        reads = tuple([look_up(one) or look_anew(one, number) for one in chosen])
        self.steps.append(Step(what, call, (), reads, (), (), (0, 0), False, False, number))


_numbers = iter(range(1 << 62))
_seen: dict[int, Seen] = {}


def look_up(tensor: Tensor) -> Seen | None:
    """A tensor as it was seen last; None: it was not."""
    found = _seen.get(id(tensor))
    return found if found is not None and found.ref() is tensor else None


def look_anew(tensor: Tensor, step: int) -> Seen:
    """A tensor as it is now."""
    _seen[id(tensor)] = found = Seen(tensor, step)
    return found


def forget() -> None:
    """Tensors that are gone need not be found."""
    for key in [key for key, one in _seen.items() if one.ref() is None]:
        del _seen[key]


def storage_of(tensor: Tensor) -> int:
    """The address of what a tensor keeps its elements in; 0: none."""
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return 0


@lru_cache(10_000)
def name_of(function: Callable[..., Any]) -> str | None:
    """What a function of torch is called; None: it is of no interest."""
    name = getattr(function, "__name__", "")
    if name in ("__get__", "__set__"):
        attribute = getattr(getattr(function, "__self__", None), "__name__", "")
        if name == "__set__":
            return f"{attribute}="
        return attribute if attribute in ATTRIBUTES else None
    if function in (torch.autograd.grad, torch.autograd.backward):
        return f"autograd.{name}"
    return None if name.startswith(("_record_function_exit", "is_")) or name in IGNORED else str(name)


SWITCH = "_set_grad_enabled"

PROFILED = "_record_function_enter_new"
"""With what is to be profiled: what optimizers do."""

SWITCHES = {SWITCH, PROFILED}

SETS = {"data=", "requires_grad=", "requires_grad_"}
"""By which a tensor becomes another one though its version does not move."""

PASSES = {"backward", "autograd.backward", "autograd.grad"}
"""Which go backward."""

IGNORED = {"size", "dim", "stride", "numel", "__len__", "__hash__", "__repr__", "__format__", "register_hook", "ndim"}


def _made(tensor: Tensor, step: int) -> Seen:
    """A result: one that is given back unchanged was seen before."""
    old = look_up(tensor)
    if old is not None and old.requires_grad == tensor.requires_grad and old.is_leaf == tensor.is_leaf:
        return old
    return look_anew(tensor, step)


def _arrived(tensor: Tensor, frame: FrameType | None, flow: Flow, call: Call | None) -> Seen:
    """A tensor that no call returned: what it comes from is in the graph, what it is called in the frame."""
    number = next(_numbers)
    found = look_anew(tensor, number)
    found.name = variable_of(tensor, frame)
    if tensor.grad_fn is not None:
        reads = tuple(dict.fromkeys(sources_of(tensor, flow.steps)))
        flow.steps.append(Step("", call, (), reads, (found,), (), (0, 0), True, False, number))
    return found


def sources_of(tensor: Tensor, steps: Iterable[Step]) -> Iterator[Seen]:
    """What a tensor was computed from, of what was seen, by the graph."""
    by_number = {number: step for step in steps for number in range(*step.numbers)}
    stack: list[Any] = [] if tensor.grad_fn is None else [tensor.grad_fn]
    walked = set(stack)
    while stack and len(walked) < MOST_WALKED:
        node = stack.pop()
        if is_leaf(node):
            yield look_up(node.variable) or look_anew(node.variable, -1)
        elif (step := by_number.get(number_of(node))) is not None:
            yield from step.makes
        else:
            before = [one for one, _ in node.next_functions if one is not None and one not in walked]
            walked.update(before)
            stack += before


def variable_of(tensor: Tensor, frame: FrameType | None) -> str:
    """The variable of a frame that holds a tensor, itself or in a list or dict."""
    if frame is None:
        return ""
    for name, value in frame.f_locals.items():
        if value is tensor:
            return name
        if name == "self":
            value = vars(value) if hasattr(value, "__dict__") else None
        if isinstance(value, list | tuple | dict) and len(value) < 1_000:
            rows = value.items() if isinstance(value, dict) else enumerate(value)
            if (key := next((key for key, one in rows if one is tensor), None)) is not None:
                return f"self.{key}" if name == "self" else f"{name}[{key!r}]"
    return ""


def _tensors(values: Iterable[Any]) -> list[Tensor]:
    """The tensors among some values, and in lists among them."""
    found: list[Tensor] = []
    for one in values:
        if isinstance(one, Tensor):
            found.append(one)
        elif isinstance(one, list | tuple) and one and not isinstance(one[0], int | float | str):
            found += _tensors(one)
    return found


def _version(tensor: Tensor) -> int:
    try:
        return tensor._version
    except RuntimeError:  # in inference mode there are none
        return -1


def _functions(
    name: str, kwargs: Mapping[str, Any], given: Sequence[Tensor], made: Sequence[Tensor]
) -> tuple[type, ...] | None:
    if name != "autograd.grad" or not kwargs.get("create_graph") or any(one.requires_grad for one in made):
        return None
    nodes = Graph([one for one in given if one.grad_fn is not None]).nodes
    return tuple(dict.fromkeys(cast(Any, node)._forward_cls for node in nodes if is_function(node)))


def _distinct(tensors: Iterable[Tensor]) -> list[Tensor]:
    return list({id(one): one for one in tensors}.values())


def _in_block(frame: FrameType | None, switched: Call | None) -> Call | None:
    """The call in the code that has switched gradients off."""
    while frame is not None and switched is not None and frame.f_code is not switched.code:
        frame = frame.f_back
    return None if frame is None or switched is None else Call(frame.f_code, frame.f_lasti)


APPLY = torch.autograd.Function.apply.__func__.__code__  # type: ignore[attr-defined]


def _is_in_function(frame: FrameType | None) -> bool:
    """Whether a Function is being applied: the graph knows what that is, and inside there are no gradients."""
    while frame is not None and frame.f_code is not APPLY:
        frame = frame.f_back
    return frame is not None


INSIDE = (str(Path(torch.__file__).parent) + os.sep, str(Path(__file__).parents[2]) + os.sep)
"""Folders whose code is not the user's."""


def calls_in(frame: FrameType | None) -> tuple[Call | None, FrameType | None]:
    """The innermost call that stands in the user's code, and its frame."""
    frame = users(frame)
    return (None, None) if frame is None else (Call(frame.f_code, frame.f_lasti), frame)


def users(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the user's code, from one outwards."""
    while frame is not None and frame.f_code.co_filename.startswith(INSIDE):
        frame = frame.f_back
    return frame
