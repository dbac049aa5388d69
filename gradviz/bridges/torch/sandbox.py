"""A function of the user's, run again on copies: no tensor, module or random number of the user's is changed by it.

Functions of torch work on a copy of each tensor that the function finds outside. Copies of floating-point numbers are
in double precision, where that is asked for, and so is all that is computed from them.

What cuts gradients off, as ``detach()`` and ``torch.no_grad()`` do, gives in later runs what it gave in the first one:
no gradient flows there, so what comes out of it is a constant to the backward pass. So it is to differences.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from ...program import GradvizError
from .flow import SWITCH, is_in_function, is_of_forward, is_viewed, name_of
from .graph import Graph, Tensor, is_hooked, next_number, number_of, transform_level, unwrapped

WIDE = {
    **dict.fromkeys((torch.float16, torch.bfloat16, torch.float32), torch.float64),
    **dict.fromkeys((torch.complex32, torch.complex64), torch.complex128),
}
CASTS = {Tensor.float, Tensor.half, Tensor.bfloat16}

DATA = Tensor.data.__get__  # type: ignore[attr-defined]
CUTS = {torch.detach, Tensor.detach, DATA, Tensor.item, Tensor.tolist, Tensor.__float__, Tensor.__complex__}
"""What gives numbers that no gradient goes back through."""

BACKWARD = {torch.autograd.grad, torch.autograd.backward, Tensor.backward}
"""What goes backward: code of Python that the engine calls then is given no copies."""

DRAWS = {torch.rand, torch.randn, torch.rand_like, torch.randn_like, torch.normal}
"""What draws other numbers in another precision."""

DRAWS_LIKE = {torch.rand_like, torch.randn_like}


class Constant(NamedTuple):
    """What a call gave that cuts gradients off: a constant to the backward pass.

    Attributes:
        result: what it returned; None: another name of a tensor, through which that was written.
        written: what it has written into, afterwards.
    """

    function: Callable[..., Any]
    result: Any
    written: list[Tensor]


class Sandbox(TorchFunctionMode):
    """Inside its ``with`` block functions of torch work on copies.

    Attributes:
        read: the tensors from outside that they were given, by their identities.

    Args:
        leaves: tensors to copy at once: inside of a function transform, as vmap, no copy can require a gradient.
        given: the tensors that have another value here, each with it.
        is_double: whether copies are in double precision.
        constants: what is given for what cuts gradients off, in order; None: what it gives.
    """

    def __init__(
        self,
        leaves: Iterable[Tensor],
        given: Mapping[Tensor, Tensor],
        constants: Sequence[Constant] | None,
        *,
        is_double: bool,
    ) -> None:
        super().__init__()
        self._new_constants: list[Constant] = []
        # Of what goes by another name: where it is in the list, and its version.
        self._names: list[tuple[int, Tensor, int]] = []
        self._constants = None if constants is None else deque(constants)
        self._wide = WIDE if is_double else {}
        # An outside tensor stays with its copy, so that no other one is taken for it.
        self.read = set[int]()
        self._copies = {id(own): (own, copy) for own, copy in given.items()}
        # What transforms have made, by its identity and the transform in which it is read.
        self._wrapped: dict[tuple[int, int | None], tuple[Tensor, Tensor]] = {}
        self._inside = WeakIdKeyDictionary(dict.fromkeys(given.values(), True))
        self._begun = next_number()
        # Whether gradients are on around the Functions that are applied.
        self._is_tracked = True
        for leaf in leaves:
            self._own(leaf)
        self.read.clear()

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if name_of(function) == SWITCH and not is_in_function(sys._getframe(1)):
            self._is_tracked = args[0]
        if function in CASTS and self._wide:
            function = Tensor.double
        if function in DRAWS_LIKE and self._wide:
            kwargs = {"dtype": torch.get_default_dtype(), **(kwargs or {})}
        change = self._own if function in DRAWS else self._given
        is_cut = self._is_cut(function, args, sys._getframe(1))
        args, kwargs = _each(change, args), _each(change, dict(kwargs or {}))
        if not is_cut and any(one.requires_grad for one in _tensors(args)):
            _check_slope(function, kwargs)
        if function in BACKWARD and self._constants is None:
            _check_backward([one for one in _tensors((args, kwargs)) if one.grad_fn is not None])
        if not is_cut and function == functional.embedding and kwargs["padding_idx"] is not None:
            return self._padded(args, kwargs)
        if is_cut or (function == torch.autograd.grad and not kwargs["create_graph"]):
            return self._cut(function, args, kwargs)
        return _each(self._result, function(*args, **kwargs))

    def _is_cut(self, function: Callable[..., Any], args: Sequence[Any], frame: FrameType) -> bool:
        """Whether a call cuts gradients off.

        In its own forward a Function detaches what it goes on computing with: its backward says what gradient that has.
        """
        if function not in CUTS:
            is_inside = is_viewed(name_of(function) or "", args) or is_in_function(frame)
            return not (torch.is_grad_enabled() or (self._is_tracked and is_inside))
        cut = next(_tensors(args), None)
        return not is_of_forward(frame, None if cut is None or cut in self._inside else cut)

    def _given(self, value: Any) -> Any:
        """What a function is given in place of a value from outside."""
        return self._wide.get(value, value) if isinstance(value, torch.dtype) else self._own(value)

    def _own(self, value: Any) -> Any:
        if not isinstance(value, Tensor) or value in self._inside:
            return value
        if (wrapped := unwrapped(value)) is not value:
            return self._transformed(value, wrapped)
        if value.grad_fn is not None:
            if number_of(value.grad_fn) >= self._begun:
                return value
            raise not_again(
                "The function reads what was computed before it was called.",
                "Let it compute all, from parameters and data to the loss.",
            )
        self.read.add(id(value))
        if id(value) not in self._copies:
            copy = value.detach().to(self._wide.get(value.dtype, value.dtype), copy=True)
            # A transform refuses it, and what is no leaf of the graph gets no gradient from the loss.
            with suppress(RuntimeError):
                copy.requires_grad_(value.requires_grad)
            self._copies[id(value)] = value, copy
            self._inside[copy] = True
        return self._copies[id(value)][1]

    def _transformed(self, value: Tensor, wrapped: Tensor) -> Tensor:
        """What a function transform has made of a tensor: no copy can stand for it, but for its precision.

        In one transform it is the same each time, so that a gradient can be asked for of what was computed with.
        """
        if wrapped.is_leaf and wrapped.requires_grad and wrapped not in self._inside:
            raise not_again(
                "The function gives what requires a gradient to a transform of torch.func, as vmap, which "
                "takes it past its copy.",
                "Give the transform data, and read parameters inside of it.",
            )
        key = id(value), transform_level()
        if key not in self._wrapped:
            self._wrapped[key] = value, self._result(value)
        return self._wrapped[key][1]

    def _result(self, value: Any) -> Any:
        """What a function returned, as it goes on."""
        if isinstance(value, Tensor):
            value = value.to(self._wide.get(value.dtype, value.dtype))
            self._inside[value] = True
        return value

    def _cut(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call what cuts gradients off; what it returns and writes is what it was in the first run."""
        read = list(_tensors((args, kwargs)))
        versions = [one._version for one in read]
        result = _each(self._result, function(*args, **kwargs))
        written = [one for one, version in zip(read, versions, strict=True) if one._version != version]
        if not written and not _has_numbers(result):
            return result
        if self._constants is None:
            if function == DATA:
                self._names.append((len(self._new_constants), result, result._version))
            self._new_constants.append(Constant(function, _each(_copied, result), _each(_copied, written)))
            return result
        constant = self._next_constant(function)
        for one, was in zip(written, constant.written, strict=True):
            one.data.copy_(was)
        if constant.result is None or any(result is one for one in written):
            return result
        return _each(self._result, _each(_copied, constant.result))

    def _next_constant(self, function: Callable[..., Any]) -> Constant:
        """What the next call that cuts gradients off gave in the first run."""
        if not self._constants or (constant := self._constants.popleft()).function != function:
            raise not_again("It takes another way where numbers are a little different.")
        return constant

    def _padded(self, args: Any, kwargs: Any) -> Any:
        """Look rows up; no gradient goes to the row that stands for padding."""
        indices, weight = args
        result = self._result(functional.embedding(*args, **kwargs))
        if unwrapped(result) is not result:
            raise not_again(
                "An embedding inside of a transform of torch.func, as vmap, sends no gradient to its padding, which "
                "cannot be held still there.",
                "Check it without the transform.",
            )
        is_padding = indices == kwargs["padding_idx"] % len(weight)
        if not is_padding.any():
            return result
        if self._constants is None:
            self._new_constants.append(Constant(functional.embedding, _copied(result), []))
            return result
        was = self._next_constant(functional.embedding).result
        return self._result(torch.where(is_padding[..., None], was, result))

    @property
    def new_constants(self) -> list[Constant]:
        """What cut gradients off here."""
        constants = list(self._new_constants)
        for at, tensor, version in self._names:
            if tensor._version != version:
                constants[at] = constants[at]._replace(result=None)
        return constants


def _each(change: Callable[[Any], Any], value: Any) -> Any:
    """A value with each part of it changed; itself where nothing is."""
    if isinstance(value, dict):
        return {key: _each(change, one) for key, one in value.items()}
    if not isinstance(value, list | tuple) or isinstance(value, torch.Size):
        return change(value)
    parts = [_each(change, one) for one in value]
    if all(part is one for part, one in zip(parts, value, strict=True)):
        return value
    return value._make(parts) if hasattr(value, "_make") else type(value)(parts)


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in a value."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict | list | tuple):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _tensors(one)


def _check_backward(roots: Sequence[Tensor]) -> None:
    """Refuse to go backward through what computes again then: it would read the user's tensors, and no copies."""
    if any(map(is_hooked, Graph(roots).unordered_nodes)):
        raise not_again(
            "The function goes backward itself, through a checkpoint or what else keeps tensors by hooks: what is "
            "computed again there cannot be held against differences.",
            "Check it without the checkpoint: its gradients are the same.",
        )


def _check_slope(function: Callable[..., Any], kwargs: Mapping[str, Any]) -> None:
    """Refuse a function whose gradient is, on purpose, not how much what it returns changes."""
    if function in (torch._standard_gamma, torch._sample_dirichlet):
        raise not_again(
            f"{function.__name__} draws by rejection, which jumps: its gradient is that of the distribution.",
            "Check what comes behind it, with what was drawn as a leaf.",
        )
    if function == functional.gumbel_softmax and kwargs["hard"]:
        raise not_again(
            "gumbel_softmax(hard=True) jumps: its gradient is that of the softmax before it.",
            "Check it with hard=False.",
        )
    if function in (functional.embedding, functional.embedding_bag) and kwargs["scale_grad_by_freq"]:
        raise not_again(
            "An embedding with scale_grad_by_freq divides gradients of rows by how often they were looked up.",
            "Check it without: all but that is the same.",
        )


def not_again(message: str, *ways_out: str) -> GradvizError:
    """Why a part of a recorded pass is not run again."""
    return GradvizError(message, kind="not_again", ways_out=ways_out)


def _has_numbers(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_numbers, value))
    return isinstance(value, Tensor | float | complex)


def _copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value


def called(
    function: Callable[[], Any],
    leaves: Collection[Tensor],
    given: Mapping[Tensor, Tensor],
    constants: Sequence[Constant] | None,
    *,
    is_double: bool,
) -> tuple[list[Tensor], list[Constant]]:
    """What a function of the user's returns when other tensors stand for some, and what cut gradients off in it."""
    sandbox = Sandbox(leaves, given, constants, is_double=is_double)
    in_eager = torch.compiler.set_stance("force_eager")
    with _random_put_back(), _modules_put_back(), in_eager, torch.enable_grad(), sandbox:
        returned = function()
    if any(id(one) not in sandbox.read for one in given):
        raise not_again(
            "The function does not read it: what it makes anew at each call cannot be moved.",
            "Make it once, outside of the function.",
        )
    returned = [returned] if isinstance(returned, Tensor) else returned
    if not isinstance(returned, Sequence) or not all(isinstance(one, Tensor) for one in returned):
        raise not_again(
            f"The function returned {type(returned).__name__}, no tensor.",
            "Let it return what debug was given: the loss, or all losses.",
        )
    if not all(one.requires_grad for one in returned) and any(one.requires_grad for one in leaves):
        raise not_again(
            "The function returns what requires no gradient: detach(), no_grad() or the like cuts it off.",
            "Let it compute the loss as it was computed for debug.",
        )
    return [one.detach() for one in returned], sandbox.new_constants


@contextmanager
def _random_put_back() -> Iterator[None]:
    """All random numbers go on as they would have."""
    python, own = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(own)


@contextmanager
def _modules_put_back() -> Iterator[None]:
    """Modules that are called have the same attributes and buffers afterwards."""
    states: dict[torch.nn.Module, tuple[dict[str, Any], dict[str, Any]]] = {}

    def remember(module: torch.nn.Module, given: Any) -> None:
        if isinstance(module, torch.jit.ScriptModule):
            raise not_again(
                "A module of TorchScript runs outside of Python, on its own parameters and no copies of them.",
                "Check the module that it was made of.",
            )
        if module not in states:
            states[module] = vars(module).copy(), module._buffers.copy()

    handle = register_module_forward_pre_hook(remember)
    try:
        with warnings.catch_warnings():
            # Of a compiled model, which is run as it was written.
            warnings.filterwarnings("ignore", r"Using `torch\.compile\(module\)` when there are global hooks")
            yield
    finally:
        handle.remove()
        for module, (attributes, buffers) in states.items():
            vars(module).clear()
            vars(module).update(attributes)
            module._buffers.clear()
            module._buffers.update(buffers)
