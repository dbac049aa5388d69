"""Flow: of the calls in a capture, which tensors each read, made and wrote into, those that autograd does not see too.

A tensor that is written into, or begins to require a gradient, is seen anew: what was seen never changes.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from inspect import CO_VARARGS, unwrap
from types import CodeType, FrameType
from typing import Any, NamedTuple
from weakref import ref

import msgspec
import torch
from torch.compiler import is_compiling
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import CheckpointFunction

from .frames import Call, call_in, is_inside, is_own, users, variable_of
from .graph import Graph, Tensor, function_of, is_leaf, is_leaf_tensor, maker_of, next_number, number_of
from .instances import derived
from .values import keep_returned

MOST_STEPS = 100_000
"""Steps that are kept of a capture, the last ones."""

MOST_WALKED = 200
"""Nodes that are looked at to learn what a tensor comes from that no call returned."""

LEAVES = {"item", "tolist", "numpy", "__array__", "__float__", "__int__", "__complex__", "__dlpack__"}
"""Calls through which a tensor leaves PyTorch."""

ALWAYS = {*LEAVES, "__bool__", "backward", "autograd.backward", "autograd.grad", "grad", "grad=", "data=", "step"}
"""What is noted though it returns no tensor."""

ATTRIBUTES = {"data", "grad", "T", "mT", "H", "mH", "real", "imag"}
"""Those that give a tensor."""


Around = tuple[ref[torch.nn.Module], ...]
"""Modules that run, the innermost last; who lets go of a model is not kept from it."""


def those(around: Iterable[ref[torch.nn.Module]]) -> tuple[torch.nn.Module, ...]:
    """The modules that are still there."""
    return tuple([module for one in around if (module := one()) is not None])


class Seen(msgspec.Struct, gc=False, eq=False):
    """A tensor as it was seen.

    Attributes:
        step: the number of the step at which it was seen.
        storage: the address of what it keeps its elements in; 0: it is not known.
        requires_grad, is_leaf, dtype: what it was then.
        is_nameless: whether it is a leaf that a variable is looked for that holds it.
        name: the variable it was found in, if no call returned it.
    """

    ref: ref[Tensor]
    step: int
    requires_grad: bool
    is_leaf: bool
    dtype: torch.dtype
    storage: int
    is_nameless: bool
    name: str = ""

    def is_named(self, name: str) -> None:
        """It was found in a variable; empty: it was not."""
        self.name, self.is_nameless = name, self.is_nameless and not name

    @property
    def is_float(self) -> bool:
        """Whether its elements can have a gradient."""
        return self.dtype.is_floating_point or self.dtype.is_complex


class Step(NamedTuple):
    """A call.

    Attributes:
        function: what is called: ``relu``, ``__setitem__``; setting an attribute is ``grad=``.
        call: where; None: not known.
        around: the modules that run, the innermost last.
        reads, makes: tensors; what was written into is seen anew.
        writes: those of `makes` that were there before.
        numbers: of its first operator of autograd, and of the next one after its last.
        is_tracked: whether gradients were switched on.
        switched: the call that switched them off, if they are off and it is known.
        functions: the Functions of the user's that `torch.autograd.grad` went through, if it was told to create a
            graph and did not.
        frees: whether it lets go of the graph that it goes backward through.
        is_inference: whether inference mode was on.
        number: of the step.
        is_in_checkpoint: whether a reentrant checkpoint runs it that was given nothing that requires a gradient.
    """

    function: str
    call: Call | None
    around: Around
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
    is_in_checkpoint: bool = False

    @property
    def modules(self) -> tuple[torch.nn.Module, ...]:
        """Those around that are still there."""
        return those(self.around)


class Flow(TorchFunctionMode):
    """Notes what calls do with tensors, in order.

    Attributes:
        steps: the last of them.
        around: the modules that run.
        keeps: whether what calls return is kept, as long as the graph is there.
    """

    def __init__(self, *, keeps: bool = False) -> None:
        super().__init__()
        self.keeps = keeps
        self.steps: deque[Step] = deque(maxlen=MOST_STEPS)
        self.around: Around = ()
        self._is_stepping = False
        self._switched: Call | None = None
        self._operators: tuple[int, list[Step]] = (-1, [])

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call a function of torch, and note it: as little as can be, for a model calls thousands."""
        kwargs = kwargs or {}
        if is_compiling() or self._is_stepping or (name := name_of(function)) is None:
            return function(*args, **kwargs)
        frame: FrameType | None = sys._getframe(1)
        if name in SWITCHES:
            self._switch(name, args, frame)
            return function(*args, **kwargs)
        given = _tensors([*args, *kwargs.values()] if kwargs else args)
        try:
            versions = [one._version for one in given]
        except RuntimeError:  # in inference mode there are none
            versions = []
        reads = [_seen.get(id(ref(one))) for one in given]
        is_tracked = torch.is_grad_enabled()
        before = next_number()
        result = function(*args, **kwargs)
        after = next_number()
        results = [result] if isinstance(result, Tensor) else _tensors((result,))
        if self.keeps:
            keep_returned(results)
        written = given[:1] if name in SETS else []
        if versions and versions != (now := [one._version for one in given]):
            written = [one for one, old, new in zip(given, versions, now, strict=True) if old != new]
        if (not results and not written and name not in ALWAYS) or is_own(frame):
            return result
        is_by_function = not is_tracked and self._switched is None
        is_cut = is_by_function and _is_in_cut_checkpoint(frame)
        if is_by_function and not is_cut and (is_viewed(name, args) or is_in_function(frame)):
            return result
        frame = users(frame)
        call = None if frame is None else _new(Call, (frame.f_code, frame.f_lasti))
        if not is_tracked:
            call = _in_block(frame, self._switched) or call
        number = next(_numbers)
        for place, one in enumerate(reads):
            if one is None:
                reads[place] = _arrived(given[place], frame, self, call)
            elif one.is_nameless:
                one.is_named(variable_of(given[place], frame))
        writes = tuple([look_anew(one, number) for one in dict.fromkeys(written)]) if written else ()
        makes = (*writes, *[_seen_result(one, number) for one in results])
        is_inference = not is_tracked and torch.is_inference_mode_enabled()
        switched = None if is_tracked else self._switched
        step: Step = _new(
            Step,
            (
                name, call, self.around, tuple(reads), makes, writes, (before, after), is_tracked, is_inference, number,
                switched, None, True, is_cut,
            ),
        )  # fmt: skip
        if name in PASSES:
            retains = kwargs.get("retain_graph") or kwargs.get("create_graph")
            step = step._replace(frees=not retains, functions=_functions(name, kwargs, given, results))
        self.steps.append(step)
        return result

    @property
    def operators(self) -> list[Step]:
        """The calls that made operators of autograd."""
        last = self.steps[-1].number if self.steps else -1
        if self._operators[0] != last:
            self._operators = last, [step for step in self.steps if step.numbers[0] != step.numbers[1]]
        return self._operators[1]

    def step_of(self, number: int) -> Step | None:
        """The call that made operator `number` of autograd."""
        place = bisect_right(self.operators, number, key=lambda step: step.numbers[0]) - 1
        return self.operators[place] if place >= 0 and number < self.operators[place].numbers[1] else None

    def _switch(self, name: str, args: Sequence[Any], frame: FrameType | None) -> None:
        """A call that is no part of a program: it switches gradients off or tells a profiler of an optimizer."""
        if name == SWITCH and not is_in_function(frame):
            self._switched = None if args[0] else self._switched or call_in(frame)
        if name == PROFILED and str(args[0]).startswith("Optimizer.zero_grad"):
            self._zeroed(call_in(frame))

    def _zeroed(self, call: Call | None) -> None:
        """An optimizer puts gradients to zero, those too that are None."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not isinstance(frame.f_locals.get("self"), torch.optim.Optimizer):
            frame = frame.f_back
        if frame is not None:
            self._about(frame.f_locals["self"], "zero_grad", call)

    def begin_step(self, *_: Any) -> None:
        """An optimizer begins a step: what it does inside is its own affair."""
        self._is_stepping = True

    def end_step(self, optimizer: torch.optim.Optimizer, call: Call | None) -> None:
        """An optimizer has made a step."""
        self._is_stepping = False
        self._about(optimizer, "step", call)
        forget()

    def _about(self, optimizer: torch.optim.Optimizer, what: str, call: Call | None) -> None:
        """An optimizer has put the gradients of its parameters to zero, or made a step with those that have one."""
        number = next(_numbers)
        chosen = [one for one in parameters_of(optimizer) if what == "zero_grad" or one.grad is not None]
        reads = tuple([look_up(one) or look_anew(one, number) for one in chosen])
        self.steps.append(Step(what, call, (), reads, (), (), (0, 0), False, False, number))


def parameters_of(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    """What an optimizer changes."""
    return [one for group in optimizer.param_groups for one in group["params"]]


_numbers = iter(range(1 << 62))
_new = tuple.__new__
_seen: dict[int, Seen] = {}
# By the reference to the tensor: a tensor has one as long as somebody holds that, and no other tensor gets it.


def look_up(tensor: Tensor) -> Seen | None:
    """A tensor as it was seen last; None: it was not."""
    return _seen.get(id(ref(tensor)))


def look_anew(tensor: Tensor, step: int) -> Seen:
    """A tensor as it is now."""
    return _look(tensor, ref(tensor), step)


def _look(tensor: Tensor, one: ref[Tensor], step: int) -> Seen:
    requires_grad, is_leaf = tensor.requires_grad, is_leaf_tensor(tensor)
    is_nameless = is_leaf and requires_grad and type(tensor) is not torch.nn.Parameter
    seen = Seen(one, step, requires_grad, is_leaf, tensor.dtype, storage_of(tensor), is_nameless)
    _seen[id(one)] = seen
    return seen


def forget() -> None:
    """Tensors that are gone need not be found."""
    for key in [key for key, one in _seen.items() if one.ref() is None]:
        del _seen[key]


def storage_of(tensor: Tensor) -> int:
    """The address of what a tensor keeps its elements in; 0: none."""
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError, ValueError):  # the last of a parameter that has no shape yet
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


def _seen_result(tensor: Tensor, step: int) -> Seen:
    """A result: one that is given back unchanged was seen before."""
    one = ref(tensor)
    old = _seen.get(id(one))
    if old is not None and old.requires_grad == tensor.requires_grad and old.is_leaf == is_leaf_tensor(tensor):
        return old
    return _look(tensor, one, step)


def _arrived(tensor: Tensor, frame: FrameType | None, flow: Flow, call: Call | None) -> Seen:
    """A tensor that no call returned: what it comes from is in the graph, what it is called in the frame."""
    number = next(_numbers)
    seen = look_anew(tensor, number)
    seen.is_named(variable_of(tensor, frame))
    if maker_of(tensor) is not None:
        reads = tuple(dict.fromkeys(sources_of(tensor, [flow])))
        flow.steps.append(Step("", call, (), reads, (seen,), (), (0, 0), True, False, number))
    return seen


def sources_of(tensor: Tensor, flows: Sequence[Flow]) -> Iterator[Seen]:
    """What a tensor was computed from, of what was seen, by the graph."""
    stack: list[Any] = [] if (maker := maker_of(tensor)) is None else [maker]
    walked = set(stack)
    while stack and len(walked) < MOST_WALKED:
        node = stack.pop()
        if is_leaf(node):
            yield look_up(node.variable) or look_anew(node.variable, -1)
        elif (step := next(filter(None, [flow.step_of(number_of(node)) for flow in flows]), None)) is not None:
            yield from step.makes
        else:
            before = [one for one, _ in node.next_functions if one is not None and one not in walked]
            walked.update(before)
            stack += before


def _tensors(values: Iterable[Any]) -> list[Tensor]:
    """The tensors among some values, and in lists among them."""
    tensors: list[Tensor] = []
    for one in values:
        if isinstance(one, Tensor):
            tensors.append(one)
        elif isinstance(one, (list, tuple)) and one and not isinstance(one[0], (int, float, str)):
            tensors += _tensors(one)
    return tensors


def _functions(
    name: str, kwargs: Mapping[str, Any], given: Sequence[Tensor], results: Sequence[Tensor]
) -> tuple[type, ...] | None:
    if name != "autograd.grad" or not kwargs.get("create_graph") or any(one.requires_grad for one in results):
        return None
    nodes = Graph([one for one in given if maker_of(one) is not None]).nodes
    return tuple(dict.fromkeys(filter(None, map(function_of, nodes))))


def _in_block(frame: FrameType | None, switched: Call | None) -> Call | None:
    """The call in the code that has switched gradients off."""
    while frame is not None and switched is not None and frame.f_code is not switched.code:
        frame = frame.f_back
    return None if frame is None or switched is None else Call(frame.f_code, frame.f_lasti)


def is_in_function(frame: FrameType | None) -> bool:
    """Whether a Function goes forward: the graph knows what that is, and inside there are no gradients."""
    while frame is not None and not _is_applying(frame):
        frame = frame.f_back
    return frame is not None


def _is_applying(frame: FrameType) -> bool:
    """Whether code is the forward of a Function, or PyTorch's around it: a decorator, or a transform such as vmap."""
    code = frame.f_code
    if code.co_freevars and is_inside(code.co_filename):
        decorated = [getattr(frame.f_locals.get(name), "__code__", None) for name in code.co_freevars]
    else:
        decorated = []
    is_of_transform = frame.f_globals.get("__name__") == "torch._functorch.autograd_function"
    return is_of_transform or any(map(_is_of_function, (code, *decorated)))


def is_viewed(name: str, args: Sequence[Any]) -> bool:
    """Whether a call is the one that PyTorch makes of what a Function returns as it was given."""
    return name == "view_as" and len(args) == 2 and args[0] is args[1]


def _is_in_cut_checkpoint(frame: FrameType | None) -> bool:
    """Whether a reentrant checkpoint goes forward that was given nothing that requires a gradient: it gets no node."""
    found = None
    while frame is not None:
        found = frame if frame.f_code is _CHECKPOINT else found
        frame = frame.f_back
    return found is not None and not any(one.requires_grad for one in _tensors(found.f_locals["args"]))


_CHECKPOINT = CheckpointFunction.forward.__code__


def is_of_forward(frame: FrameType, tensor: Tensor | None) -> bool:
    """Whether code is itself the forward of a Function, to which a tensor, if there is one, was given."""
    while frame.f_back is not None and frame.f_code in frame.f_back.f_code.co_consts:
        frame = frame.f_back  # a comprehension is called where it stands
    code = frame.f_code
    if not _is_of_function(code) or is_inside(code.co_filename):
        return False
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & CO_VARARGS)
    given = [frame.f_locals.get(name) for name in code.co_varnames[:count]]
    return tensor is None or any(tensor is one for one in _tensors(given))


@lru_cache(10_000)
def _is_of_function(code: CodeType | None) -> bool:
    """Whether a piece of code is the forward of a Function, inside of what may decorate that."""
    classes = derived(torch.autograd.Function)
    return code is not None and any(getattr(unwrap(one.forward), "__code__", None) is code for one in classes)
