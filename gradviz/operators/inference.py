"""Shape inference that several families share, arrays seen as matrices, and the errors that both raise."""

from collections.abc import Mapping, Sequence
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..program import Operator, RunError
from .registry import Array, ArraySpec, Inference, Specs, definition_of, lookup

BITS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
"""Bytes of a number -> an integer of as many."""

AS_FLOAT = "Convert it before feeding: array.astype(np.float32)."


def misfit(message: str, *ways_out: str) -> RunError:
    """The error for arrays that do not fit an operator; the executor adds which operator and blobs."""
    return RunError(message, kind="shape_mismatch", ways_out=ways_out)


def like_first(op: Operator, first: ArraySpec, *_: ArraySpec) -> ArraySpec:
    """One output like the first input."""
    return first


def elementwise(op: Operator, *specs: ArraySpec) -> ArraySpec:
    """One output of the shape that all inputs share, in their common dtype; floating-point inputs only."""
    need_floats(op, specs)
    return same_shape(op, *specs)


def like_last(op: Operator, *specs: ArraySpec) -> ArraySpec:
    """One output like the last input, all of one shape; floating-point inputs only."""
    elementwise(op, *specs)
    return specs[-1]


def same_shape(op: Operator, *specs: ArraySpec) -> ArraySpec:
    """One output of the shape that all inputs share, in their common dtype."""
    first = specs[0]
    for position, spec in enumerate(specs):
        if spec.shape != first.shape:
            raise misfit(
                f"all must have one shape; {slot(op, 0)} is {first.shape}, {slot(op, position)} is {spec.shape}.",
                *(["Add stretches dimensions of 1; Sum does not."] if op.type == "Sum" else []),
            )
    return ArraySpec(first.shape, result_dtype(*specs))


def result_dtype(*specs: ArraySpec) -> np.dtype[Any]:
    """The dtype that numpy computes in when these meet."""
    first = specs[0].dtype
    if all(spec.dtype == first for spec in specs):
        return first
    return np.result_type(*(spec.dtype for spec in specs))


def like_forward(dtypes: str = "", *, integers: str = "", **alike: str) -> Inference:
    """Inference of a gradient operator by its slots: a gradient has the shape of what it is the gradient of.

    Its forward operator, and the one that this is the gradient of, infer the shapes of what they make where it has a
    slot for all that they read.

    Args:
        dtypes: the slots whose dtypes meet in each output, ``"dx: dy w; db: dy"``, or in all of them, ``"dy w"``; left
            out: all that are floating-point.
        integers: the slots that need not be floating-point.
        alike: what is not read itself, and the slot that is like it: ``bias="scale"``.
    """
    free, parts = integers.split(), [part.rpartition(":") for part in dtypes.split(";")]
    meeting = {output.strip(): slots.split() for output, _, slots in parts}

    @cache
    def layout(type: str, count: int) -> _Layout:
        reads, makes, _ = definition_of(type)
        names = reads.filled(count)
        floats = [at for at, name in enumerate(names) if name not in free]
        slots = [*enumerate(names), *[(at, name) for name, like in alike.items() for at in _places_of(like, names)]]
        there, forward = {*reads.names, *alike}, type.removesuffix("Gradient")
        before = [
            (of, [(at, slot) for slot in definition_of(of)[0].names for at, name in slots if name == slot])
            for of in dict.fromkeys((forward, forward.removesuffix("Gradient")))
            if lookup(of) is not None and there.issuperset(definition_of(of)[0].names)
        ]
        meets = [meeting.get(output) or meeting.get("") or [] for output in makes.names]
        of_outputs = [[at for slot in met for at in _places_of(slot, names)] or floats for met in meets]
        return _Layout(slots, floats, before, list(zip(makes.names, of_outputs, strict=True)))

    def infer(op: Operator, *specs: ArraySpec) -> ArraySpec | tuple[ArraySpec | None, ...] | None:
        slots, floats, before, outputs = layout(op.type, len(specs))
        need_floats(op, specs, floats)
        forward_shapes: dict[str, tuple[int, ...]] = {}
        for type, read in before:
            forward_shapes |= _output_shapes(type, op, read, specs)
        shapes = {name: specs[at].shape for at, name in slots} | forward_shapes
        for spec, (_, name) in zip(specs, slots, strict=False):
            origin = _origin(name, shapes)
            need_shape(name, spec, shapes[origin] if origin else forward_shapes.get(name, spec.shape))
        results: list[ArraySpec | None] = []
        for output, meets in outputs[: len(op.outputs)]:
            origin = _origin(output, shapes)
            results.append(ArraySpec(shapes[origin], result_dtype(*[specs[at] for at in meets])) if origin else None)
        return results[0] if len(results) == 1 else tuple(results)

    return infer


class _Layout(NamedTuple):
    """What follows from the slots of a gradient operator with a number of inputs, which are counted from 0.

    Attributes:
        slots: each input and its slot, then the one that an unread slot is like.
        floats: the inputs that must be floating-point.
        before: the types that it is the gradient of, and the inputs that each of them reads, with its slots for them.
        outputs: what each is called, and the inputs whose dtypes meet in it.
    """

    slots: list[tuple[int, str]]
    floats: list[int]
    before: list[tuple[str, list[tuple[int, str]]]]
    outputs: list[tuple[str, list[int]]]


def _places_of(slot: str, names: Sequence[str]) -> list[int]:
    return [at for at, name in enumerate(names) if name == slot]


def _output_shapes(
    type: str, op: Operator, read: Sequence[tuple[int, str]], specs: Specs
) -> dict[str, tuple[int, ...]]:
    """The shapes of what an operator of `type` makes of the inputs `read` of `op`, its gradient."""
    _, outputs, infer = definition_of(type)
    forward = Operator(type, [slot for _, slot in read], [*outputs.names], op.args)
    inferred = infer(forward, *[specs[at] for at, _ in read])
    output_specs = (inferred,) if isinstance(inferred, ArraySpec) else inferred or ()
    return {y: spec.shape for y, spec in zip(outputs.names, output_specs, strict=False) if spec is not None}


def _origin(gradient: str, shapes: Mapping[str, object]) -> str | None:
    """What the slot `gradient` is the gradient of, among those with a shape in `shapes`."""
    while gradient[:1] in ("d", "∂"):
        gradient = gradient[1:]
        if gradient in shapes:
            return gradient
    return None


def need_floats(op: Operator, specs: Sequence[ArraySpec], positions: Sequence[int] | None = None) -> None:
    """Raise unless the inputs at `positions` (None: all) are floating-point."""
    for position in range(len(specs)) if positions is None else positions:
        spec = specs[position]
        if spec.dtype.kind != "f":
            raise misfit(f"{slot(op, position)} must be floating-point, got {described(spec)}.", AS_FLOAT)


def need_shape(what: str, spec: ArraySpec, shape: tuple[int, ...], of: str = "") -> None:
    """Raise unless the input that `what` names has this shape; `of`: whose it is, as ``"of x"``."""
    if spec.shape != shape:
        raise misfit(f"{what} must have the shape {shape}{of and ' '}{of}, got {described(spec)}.")


def need_integers(spec: ArraySpec, what: str, *shapes: tuple[int, ...], ndim: int | None = None) -> None:
    """Raise unless an input is of integers, as `what` demands: ``"labels must be integers (3,)"``.

    Args:
        shapes: those that it may have; none: any.
        ndim: how many dimensions it has; None: any number.
    """
    if spec.dtype.kind not in "iu":
        raise misfit(f"{what}, got {described(spec)}.", "Convert them before feeding: array.astype(np.int32).")
    if (shapes and spec.shape not in shapes) or ndim not in (None, len(spec.shape)):
        raise misfit(f"{what}, got {described(spec)}.")


def slot(op: Operator, position: int) -> str:
    """What the definition of `op` calls its input `position`, for messages."""
    operator_type = lookup(op.type)
    slots = operator_type.inputs if operator_type else None
    if slots is None or (slots.most is None and position >= slots.least):
        return f"input {position}"
    names = slots.filled(len(op.inputs))
    return names[position] if position < len(names) else f"input {position}"


def described(spec: ArraySpec) -> str:
    """``float32 (3, 4)``."""
    return f"{spec.dtype} {spec.shape}"


def canonical_axis(axis: int, shape: tuple[int, ...]) -> int:
    """`axis` counted from the front; a negative one counts from the end.

    Raises:
        RunError: ``shape_mismatch``, an array of `shape` has no such axis.
    """
    ndim = len(shape)
    if not -ndim <= axis < ndim:
        raise misfit(
            f"axis {axis} does not exist in an array of shape {shape}.",
            f"Give an axis from {-ndim} to {ndim - 1}." if ndim else "Give an array with at least one dimension.",
        )
    return int(axis) + ndim if axis < 0 else int(axis)  # True is one, too


def matrix_shape(shape: tuple[int, ...], axis: int) -> tuple[int, int]:
    """(rows, columns) of an array of `shape` as a matrix: its rows are the axes before `axis`."""
    axis = canonical_axis(axis, shape)
    return prod(shape[:axis]), prod(shape[axis:])


def as_matrix(array: Array, axis: int = 1) -> Array:
    """`array` as a matrix of shape `matrix_shape`; a view where its memory allows."""
    if axis == 1 and array.ndim == 2:
        return array
    return array.reshape(matrix_shape(array.shape, axis))


def contiguous(array: Array) -> Array:
    """`array` in the order of its axes in memory; itself where it is so already."""
    return array.astype(array.dtype, order="C", copy=False)


def by_rows(values: Array, x: Array) -> Array:
    """One value for each row of x, (n,), where it broadcasts against x, (n, ...)."""
    return values.reshape(x.shape[:1] + (1,) * (x.ndim - 1))


def chosen(values: Array, where: Array) -> Array:
    """`values` where `where` is true, else 0; both of one shape.

    As integers: np.where branches at each element, and takes many times longer where truth and falsehood alternate.
    """
    bits = BITS.get(values.dtype.itemsize)
    if bits is None or values.dtype.kind == "c":
        return np.where(where, values, 0)
    return (values.view(bits) * where).view(values.dtype)
