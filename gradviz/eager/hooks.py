"""Hooks: code that watches every function while it runs forward and backward."""

import sys
from collections import defaultdict
from contextvars import Token
from time import perf_counter
from typing import Any, NamedTuple, Self, TextIO

import numpy as np

from ..operators.registry import Array
from ..program import RunError
from ..runtime.devices import device_of, finish
from .faults import described
from .function import Function, Mode, current_mode, mode

Arrays = tuple[Array, ...]
MaybeArrays = tuple[Array | None, ...]


class FunctionHook:
    """Watches the functions that run inside its ``with`` block; override what is of interest.

    What hooks are given is read-only. Without a hook in force functions run as if there were none.

    Example:
        >>> class Names(FunctionHook):
        ...     def forward_preprocess(self, function, in_data):
        ...         print(function.label)
        >>> with Names():
        ...     loss = model(x)
    """

    def __enter__(self) -> Self:
        before = current_mode()
        token = mode.set(before._replace(hooks=(*before.hooks, self)))
        self.__dict__.setdefault("_tokens", []).append(token)
        return self

    def __exit__(self, *_: object) -> None:
        tokens: list[Token[Mode]] = self.__dict__["_tokens"]
        mode.reset(tokens.pop())

    def forward_preprocess(self, function: Function, in_data: Arrays) -> None:
        """`function` is about to run on `in_data`."""

    def forward_postprocess(self, function: Function, in_data: Arrays) -> None:
        """`function` has run; ``function.out_data`` holds what it returned."""

    def backward_preprocess(self, function: Function, in_data: Arrays, out_grad: MaybeArrays) -> None:
        """`function` is about to run backward on `out_grad`, the gradients of its outputs, None where there is none."""

    def backward_result(self, function: Function, in_data: Arrays, in_grad: MaybeArrays) -> None:
        """`function` has given `in_grad`, what it adds to the gradients of its inputs, None where there is none."""

    def backward_postprocess(self, function: Function, in_data: Arrays, out_grad: MaybeArrays) -> None:
        """`function` has run backward."""


class Timing(NamedTuple):
    """How often functions of one label ran in one direction, and the seconds that all these runs took."""

    runs: int
    seconds: float


class TimerHook(FunctionHook):
    """Takes the time of every function; on a GPU it waits until the function is done.

    Attributes:
        call_history: (label, ``"forward"`` or ``"backward"``, seconds) of every run, in order. A function that calls
            others while it runs counts their time too.

    Example:
        >>> with TimerHook() as timer:
        ...     loss.backward()
        >>> timer.summary()["MatMul", "backward"].seconds
    """

    def __init__(self) -> None:
        self.call_history: list[tuple[str, str, float]] = []
        self._started: list[float] = []

    def forward_preprocess(self, function: Function, in_data: Arrays) -> None:
        self._started.append(perf_counter())

    def forward_postprocess(self, function: Function, in_data: Arrays) -> None:
        self._stop(function, "forward", function.out_data)

    def backward_preprocess(self, function: Function, in_data: Arrays, out_grad: MaybeArrays) -> None:
        self._started.append(perf_counter())

    def backward_postprocess(self, function: Function, in_data: Arrays, out_grad: MaybeArrays) -> None:
        self._stop(function, "backward", in_data)

    def _stop(self, function: Function, direction: str, arrays: Arrays) -> None:
        for array in arrays:
            finish(device_of(array))
        self.call_history.append((function.label, direction, perf_counter() - self._started.pop()))

    @property
    def total_time(self) -> float:
        """The seconds of all runs together."""
        return sum(seconds for _, _, seconds in self.call_history)

    def summary(self) -> dict[tuple[str, str], Timing]:
        """(label, direction) -> how often, and how many seconds."""
        runs: dict[tuple[str, str], list[float]] = defaultdict(list)
        for label, direction, seconds in self.call_history:
            runs[label, direction].append(seconds)
        return {key: Timing(len(seconds), sum(seconds)) for key, seconds in runs.items()}


class PrintHook(FunctionHook):
    """Prints a line for every run of a function: what it reads, and what it gives.

    Args:
        file: where to print; None: the standard output.
    """

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file

    def forward_postprocess(self, function: Function, in_data: Arrays) -> None:
        self._print(function.label, in_data, function.out_data)

    def backward_result(self, function: Function, in_data: Arrays, in_grad: MaybeArrays) -> None:
        self._print(f"{function.label} backward", in_data, in_grad)

    def _print(self, what: str, read: MaybeArrays, given: MaybeArrays) -> None:
        sides = [", ".join("None" if array is None else described(array) for array in side) for side in (read, given)]
        print(f"{what}: {' -> '.join(sides)}", file=self._file or sys.stdout)


class NaNGuard(FunctionHook):
    """Stops at the first function that gives a number which is not finite.

    Args:
        infinite: whether infinities stop it too, or nan alone.

    Raises:
        RunError: ``bad_value``, from the function's call or from the backward pass; it names the function and says
            whether what it read was finite still.
    """

    def __init__(self, infinite: bool = True) -> None:
        self._infinite = infinite

    def forward_postprocess(self, function: Function, in_data: Arrays) -> None:
        self._check(function, "output", function.out_data, in_data)

    def backward_preprocess(self, function: Function, in_data: Arrays, out_grad: MaybeArrays) -> None:
        self._out_grad = out_grad

    def backward_result(self, function: Function, in_data: Arrays, in_grad: MaybeArrays) -> None:
        self._check(function, "gradient of input", in_grad, (*in_data, *self._out_grad))

    def _check(self, function: Function, what: str, given: tuple[Any, ...], read: tuple[Any, ...]) -> None:
        for at, array in enumerate(given):
            if not self._is_bad(array):
                continue
            source = "and what it read was not finite either" if any(map(self._is_bad, read)) else "from finite numbers"
            raise RunError(
                f"{function.label} gave {self._count(array)} in {what} {at}, {described(array)}, {source}.",
                kind="bad_value",
                ways_out=['Leave the guard out, and look: gradviz.debug(y).run_to("NaN"), or "Inf".'],
            )

    def _is_bad(self, array: Array | None) -> bool:
        return array is not None and array.dtype.kind == "f" and bool(self._bad(array).any())

    def _bad(self, array: Array) -> Array:
        return ~np.isfinite(array) if self._infinite else np.isnan(array)

    def _count(self, array: Array) -> str:
        bad = int(self._bad(array).sum())
        return f"{bad} number{'s' if bad > 1 else ''} that {'are' if bad > 1 else 'is'} not finite"
