"""The table of operator types: kernel, gradient rule, shape inference and formula of each, in one place.

An operator family reads like this. What the slots of the gradient are called tells the rule, see `gradients`; functions
that are called ..._spec are the inference of what follows them.

    @operator("AveragedLoss", "x -> loss", "loss = Σᵢ xᵢ / n", "dxᵢ = dloss / n", infer=total_spec)
    def averaged_loss(op, x):
        \"\"\"Mean of all n elements of x.\"\"\"
        return x.sum() / x.size

    @gradient_of("AveragedLoss", "x, dloss -> dx", "∂dloss = Σᵢ ∂dxᵢ / n", infer=total_gradient_spec)
    def averaged_loss_gradient(op, x, dloss):
        return np.full_like(x, dloss / x.size)

Functions of each element are rows of a table, see `gradients.pointwise`.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, wraps
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from ..program import Gradient, Operator, RegistrationError, RunError
from ..program.code_line import named
from ..program.errors import get_close_matches, repr_of
from .arguments import check_arguments

NUMERIC = "biufc"
"""numpy's kinds of dtype that a blob may have: bool, integers, floats, complex."""

HALF = np.dtype(np.float16)

Array = Any
"""A numpy or cupy array. Kernels use numpy's functions, which cupy arrays answer to."""

Arrays = tuple[Array, ...]

Kernel = Callable[..., Array | Arrays]
"""``kernel(op, *arrays)``: one new array, or a tuple in the order of ``op.outputs``. Never writes into an input."""

Gradients = list[Gradient | None]
"""The gradient of each output, or of each input, of an operator; None: it has none."""

RuleAnswer = tuple[Operator | Sequence[Operator] | None, Sequence[Gradient | None]]
"""Gradient operators, and the gradient (or None) of each input."""

F = TypeVar("F", bound=Callable[..., Any])

Rule = Callable[[Operator, Gradients], RuleAnswer]
"""``rule(op, g_output)``: how gradients of the outputs become gradients of the inputs."""

Inference = Callable[..., "ArraySpec | tuple[ArraySpec | None, ...] | None"]
"""``infer(op, *specs)``: the specs of the outputs, None where only the data can tell. Raises RunError on a misfit."""


class ArraySpec(NamedTuple):
    """Shape and dtype of an array that need not exist yet."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


Specs = tuple[ArraySpec, ...]


class Slots(NamedTuple):
    """Named places for inputs or outputs: ``x, w, b?`` (optional), ``xs...`` (any number of them, also none).

    An optional one may stand before others: what comes behind it moves up where it is left out.
    """

    names: tuple[str, ...]
    optional: frozenset[str]
    least: int
    most: int | None

    @classmethod
    @cache
    def parse(cls, text: str) -> Slots:
        names = [name.strip() for name in text.split(",") if name.strip()]
        least = sum(not name.endswith(("?", "...")) for name in names)
        endless = any(name.endswith("...") for name in names)
        optional = frozenset(name[:-1] for name in names if name.endswith("?"))
        return cls(tuple(name.rstrip("?.") for name in names), optional, least, None if endless else len(names))

    def written(self) -> list[str]:
        """The names as a signature has them: ``b?``, ``xs...``."""
        written = [f"{name}?" if name in self.optional else name for name in self.names]
        return written if self.most is not None else [*written[:-1], f"{written[-1]}..."]

    def filled(self, count: int) -> list[str]:
        """The name of the place of each of `count` blobs; of the optional ones, the first are there."""
        spare, names = count - self.least, list[str]()
        for name in self.names:
            if self.most is None and name == self.names[-1]:
                names += [name] * spare
            elif name not in self.optional:
                names.append(name)
            elif spare > 0:
                names.append(name)
                spare -= 1
        return names

    def admit(self, count: int) -> bool:
        return self.least <= count and (self.most is None or count <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return f"at least {self.least}"
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"


class OperatorType(NamedTuple):
    """Everything gradviz knows of one operator type.

    A type that a user made with `register_kernel` or `register_gradient` alone has no slots and no inference:
    any number of inputs is taken, and its shapes follow from running it. One that `runs_nets` has no kernel. What a
    rule answers is checked, unless `is_rule_ours`: those of this package have tests.
    """

    type: str
    kernel: Kernel | None = None
    rule: Rule | None = None
    infer: Inference | None = None
    inputs: Slots | None = None
    outputs: Slots | None = None
    args: Mapping[str, Any] | None = None
    formula: str = ""
    derivative: str = ""
    doc: str = ""
    rule_source: str = ""
    is_rule_ours: bool = False
    constant: bool = False
    runs_nets: bool = False


_AROUND = __file__[: -len("gradviz/operators/registry.py")]
"""The folder that this package lies in, with the slash behind it."""

_TABLE: dict[str, OperatorType] = {}
_DEFINED: dict[str, tuple[Slots, Slots, Inference]] = {}
_LISTENERS: list[Callable[[], None]] = []


def operator(
    type: str,
    signature: str,
    formula: str,
    derivative: str = "",
    *,
    infer: Inference,
    args: Mapping[str, Any] | None = None,
    constant: bool = False,
    rule: Rule | None = None,
    doc: str = "",
) -> Callable[[Kernel], Kernel]:
    """Define an operator type around its kernel.

    Args:
        type: the type's name.
        signature: slots, ``"x, w, b -> y"``; ``b?`` is optional, ``xs...`` any number.
        formula: what it computes, as plain text.
        derivative: the gradient of the inputs, as plain text.
        infer: shape inference, see `Inference`.
        args: arguments it takes with their defaults, which also say of what type an argument must be.
        constant: its output does not depend on its inputs as far as gradients go.
        rule: its gradient rule where a word tells it, see `gradients.by`; it counts as written where the kernel is.
        doc: what it does; left out: the docstring of the kernel.
    """
    inputs, _, outputs = signature.partition("->")

    def define(kernel: Kernel) -> Kernel:
        if type in _TABLE:
            raise RegistrationError(f"The operator type {type} is defined twice.", kind="defined_twice")
        reads, makes, checked = Slots.parse(inputs), Slots.parse(outputs), _with_checked_arguments(infer, args)
        _DEFINED[type] = reads, makes, checked
        _TABLE[type] = OperatorType(
            type,
            kernel,
            infer=checked,
            inputs=reads,
            outputs=makes,
            args=dict(args or {}),
            formula=formula,
            derivative=derivative,
            doc=doc or inspect.getdoc(kernel) or "",
            constant=constant,
        )
        if rule is not None:
            register_gradient(type)(wraps(kernel)(rule))
        return kernel

    return define


def each_of(
    words: Iterable[str], define: Callable[..., Callable[[F], F]], name: str, /, *positional: Any, **keywords: Any
) -> Callable[[F], F]:
    """Define several types around one kernel or rule, by what defines one: a word stands for the ``{}`` in `name`.

    Example:
        >>> @each_of(("Max", "Min"), register_gradient, "Reduce{}")
        ... def extremum_rule(op, g_output):
        ...     return op_gradient(op, [g_output[0], op.inputs[0], op.outputs[0]])
    """

    def decorate(function: F) -> F:
        for word in words:
            define(name.format(word), *positional, **keywords)(function)
        return function

    return decorate


def structure(type: str, signature: str, *, formula: str, derivative: str, args: Mapping[str, Any], doc: str) -> None:
    """Define an operator type that runs the nested nets in its arguments; see `operator`."""
    inputs, _, outputs = signature.partition("->")
    _TABLE[type] = OperatorType(
        type,
        inputs=Slots.parse(inputs),
        outputs=Slots.parse(outputs),
        args=dict(args),
        formula=formula,
        derivative=derivative,
        doc=doc,
        runs_nets=True,
    )


def register_kernel(type: str) -> Callable[[Kernel], Kernel]:
    """Give the operator type `type` a kernel of your own; a later registration replaces an earlier one.

    What it returns is kept, and nobody may write into it any more; see `with_own_results`.

    Example:
        >>> @register_kernel("Cosine")
        ... def cosine(op, x):
        ...     return np.cos(x)
    """
    _check_type(type)

    def register(kernel: Kernel) -> Kernel:
        _check_callable(kernel, f"the kernel of {type}")
        _TABLE[type] = _TABLE.get(type, OperatorType(type))._replace(
            kernel=with_own_results(kernel), infer=None, inputs=None, outputs=None, args=None
        )
        _tell()
        return kernel

    return register


def register_gradient(type: str) -> Callable[[Rule], Rule]:
    """Give the operator type `type` a gradient rule; a later registration replaces an earlier one.

    The rule gets the operator and the gradient of each output (None: not needed or not there) and returns
    gradient operators (one, a list, or None) and, for each input, its gradient's name, a GradientSlice, or None.

    Example:
        >>> @register_gradient("Cosine")
        ... def cosine_gradient(op, g_output):
        ...     x, dx = op.inputs[0], op.inputs[0] + "_grad"
        ...     return Operator("CosineGradient", [x, g_output[0]], [dx]), [dx]
    """
    _check_type(type)

    def register(rule: Rule) -> Rule:
        _check_callable(rule, f"the gradient rule of {type}")
        source = source_of(rule)
        _TABLE[type] = _TABLE.get(type, OperatorType(type))._replace(
            rule=rule, rule_source=source, is_rule_ours=source.startswith("gradviz/")
        )
        _tell()
        return rule

    return register


def when_registered(listener: Callable[[], None]) -> None:
    """Call `listener` after every registration: what it keeps of the table may be out of date."""
    _LISTENERS.append(listener)


def _tell() -> None:
    for listener in _LISTENERS:
        listener()


def lookup(type: str) -> OperatorType | None:
    """The operator type called `type`, or None."""
    return _TABLE.get(type)


def definition_of(type: str) -> tuple[Slots, Slots, Inference]:
    """The slots of `type` and its inference as gradviz defines them, also behind a user's own kernel."""
    return _DEFINED[type]


def is_constant(op: Operator) -> bool:
    """Whether what `op` writes does not depend on its inputs as far as gradients go."""
    operator_type = _TABLE.get(op.type)
    return operator_type is not None and operator_type.constant


def types() -> Iterator[OperatorType]:
    """Every operator type of the table, by name."""
    return (_TABLE[name] for name in sorted(_TABLE))


def similar(type: str) -> list[str]:
    """Ways out for a type without a kernel: the nearest names of the table, and how to add one's own."""
    if type in _TABLE:  # it has a rule alone
        return [f'Give it a kernel: @gradviz.register_kernel("{type}").']
    names = {name.lower(): name for name in _TABLE}
    near = [names[name] for name in get_close_matches(type.lower(), names, n=3, cutoff=0.6)]
    ways = [f"Did you mean {' or '.join(near)}?"] if near else []
    return [*ways, f'Add it with @gradviz.register_kernel("{type}") and @gradviz.register_gradient("{type}").']


def _with_checked_arguments(infer: Inference, defaults: Mapping[str, Any] | None) -> Inference:
    """`infer`, preceded by a check of the operator's arguments where it carries any."""
    if not defaults:
        return infer

    def check_and_infer(op: Operator, *specs: ArraySpec) -> ArraySpec | tuple[ArraySpec | None, ...] | None:
        if op.args:
            check_arguments(op, defaults)
        return infer(op, *specs)

    return check_and_infer


def source_of(function: Callable[..., Any]) -> str:
    """Where a function is written, ``file:line``; empty where it is not written in Python."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return ""
    path: str = code.co_filename
    inside = path.removeprefix(_AROUND).replace(os.sep, "/") if path.startswith(_AROUND) else ""
    return f"{named(path, inside)}:{code.co_firstlineno}"


def in_single(kernel: F) -> F:
    """`kernel`, which computes in float32 where all floating-point arrays that it reads are float16.

    For sums, squares and quotients on the way to a result: they may go beyond float16 where the result does not.
    """

    @wraps(kernel)
    def run(op: Operator, *arrays: Array) -> Any:
        is_half = False
        for array in arrays:
            if array.dtype == HALF:
                is_half = True
            elif array.dtype.kind == "f":
                return kernel(op, *arrays)
        if not is_half:
            return kernel(op, *arrays)
        result = kernel(op, *[array.astype(np.float32) if array.dtype == HALF else array for array in arrays])
        return tuple(map(_halved, result)) if type(result) is tuple else _halved(result)

    return cast("F", run)


def in_double(kernel: Callable[..., Array]) -> Kernel:
    """`kernel`, which computes in float64 and rounds its one result to the dtype in which what it reads meets.

    For exponentials of squares, whose digits a narrower dtype has lost far out, and for products of many factors, which
    go beyond it on the way.
    """

    @wraps(kernel)
    def run(op: Operator, *arrays: Array) -> Array:
        dtype = np.result_type(*[array.dtype for array in arrays])
        return kernel(op, *[array.astype(np.float64) for array in arrays]).astype(dtype)

    return run


def _halved(array: Array) -> Array:
    return array.astype(HALF) if array.dtype == np.float32 else array


def with_own_results(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """`kernel`, of whose results those are copied that lie in memory that others can write into.

    The result itself becomes read-only, but a kernel that returns a view of an array that it fills at every call would
    change what it returned before.

    Raises:
        RunError: ``kernel_failed``, the kernel returned an array of something else than numbers and truth values.
    """

    @wraps(kernel)
    def run(*given: Any) -> Any:
        result = kernel(*given)
        return tuple(map(_own, result)) if type(result) is tuple else _own(result)

    return run


def _own(value: Any) -> Any:
    if not isinstance(value, np.ndarray | np.generic):
        return value
    if value.dtype.kind not in NUMERIC:
        raise RunError(
            f"its kernel returned an array of dtype {value.dtype}.",
            kind="kernel_failed",
            ways_out=["Return numbers or truth values: booleans, integers, floats or complex numbers."],
        )
    owner = value
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    is_view = owner is not value or owner.base is not None
    return np.array(value, order="K") if is_view and owner.flags.writeable else value


def _check_type(type: object) -> None:
    if not (isinstance(type, str) and re.fullmatch(r"\w+", type)):
        raise RegistrationError(
            f"{repr_of(type)} cannot name an operator type.",
            kind="bad_name",
            ways_out=["Use letters, digits and underscores."],
        )


def _check_callable(value: object, what: str) -> None:
    if not callable(value):
        raise RegistrationError(f"{what} must be a function, not {repr_of(value)}.", kind="bad_function")
