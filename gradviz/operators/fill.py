"""Arrays made from nothing: of one value, at random, with a pattern.

Random numbers are the same at every run: a function of the argument `seed` (default 0) and of the name of the output.
"""

from functools import partial
from math import isfinite, prod, sqrt
from typing import Any

import numpy as np

from ..program import Operator, RunError
from .arguments import bad_argument, number_of
from .inference import misfit, need_integers
from .randomness import SEED_ARGS, normal, uniform
from .registry import Array, ArraySpec, operator

DTYPES = {
    1: "float32",
    2: "int32",
    3: "uint8",
    5: "bool",
    6: "uint8",
    7: "int8",
    8: "uint16",
    9: "int16",
    10: "int64",
    12: "float16",
    13: "float64",
}
"""Numbers of dtypes in Caffe2's TensorProto."""

SHAPE_ARGS: dict[str, Any] = {"shape": (), "dtype": None, "extra_shape": (), "input_as_shape": 0}
FILL_ARGS: dict[str, Any] = {"value": 0.0, **SHAPE_ARGS}
RANDOM_ARGS: dict[str, Any] = {**SHAPE_ARGS, **SEED_ARGS}


def fill_dtype(op: Operator, like: "np.dtype[Any] | None") -> "np.dtype[Any]":
    """The dtype of a fill: the argument `dtype`, else that of the floating-point array it is like, else float32."""
    dtype = op.args.get("dtype")
    if dtype is None:
        return like if like is not None and like.kind == "f" else np.dtype(np.float32)
    return asked_dtype(op, "dtype", dtype, "is no dtype of a fill")


def asked_dtype(op: Operator, name: str, asked: int | str, why: str) -> "np.dtype[Any]":
    """The dtype with a number of Caffe2's or a name of numpy's; raises the error of argument `name` where none has."""
    dtype = DTYPES.get(asked, "") if isinstance(asked, int) else asked
    if dtype not in DTYPES.values():
        choices = ", ".join(f"{number} {name}" for number, name in DTYPES.items())
        raise bad_argument(op, name, why, f"Give one of {choices}, or its name.")
    return np.dtype(dtype)


def fill_shape(op: Operator, like: tuple[int, ...] | None) -> tuple[int, ...]:
    """The shape of a fill whose first input is of shape `like` (None: there is no input)."""
    shape, extra = tuple(op.args.get("shape", ())), tuple(op.args.get("extra_shape", ()))
    if like is None:
        if extra or op.args.get("input_as_shape", 0):
            name = "extra_shape" if extra else "input_as_shape"
            raise bad_argument(op, name, "needs an input to take the shape from", "Give shape=[...] instead.")
        like = shape
    elif shape:
        raise bad_argument(op, "shape", "does not go with an input, which gives the shape", "Leave one of them out.")
    if any(size < 0 for size in (*like, *extra)):
        raise RunError(f"An array cannot have the shape {(*like, *extra)}.", kind="bad_value")
    return (*like, *extra)


def fill_spec(op: Operator, like: ArraySpec | None = None, value: ArraySpec | None = None) -> ArraySpec | None:
    """Inference of ConstantFill; None where the shape is data."""
    if value is not None and np.prod(value.shape, dtype=int) != 1:
        raise misfit(f"value must have one element, got shape {value.shape}.")
    if like is None or not op.args.get("input_as_shape", 0):
        return wanted(op, like)
    need_integers(like, "the shape must be integers (n,)", ndim=1)
    fill_dtype(op, None)
    return None


def wanted(op: Operator, like: Array | None) -> ArraySpec:
    """Shape and dtype of a fill."""
    if like is not None and not op.args.get("input_as_shape", 0):
        return ArraySpec(fill_shape(op, like.shape), fill_dtype(op, like.dtype))
    return ArraySpec(fill_shape(op, None if like is None else tuple(like.tolist())), fill_dtype(op, None))


@operator(
    "ConstantFill",
    "like?, value? -> y",
    "y = value",
    "0: y does not depend on values",
    infer=fill_spec,
    args=FILL_ARGS,
    constant=True,
)
def constant_fill(op: Operator, like: Array | None = None, value: Array | None = None) -> Array:
    """An array of one value everywhere.

    Its shape is the argument `shape` (default: none, a scalar), or that of the input followed by `extra_shape`; with
    `input_as_shape` the input holds the shape as integers. `dtype`: Caffe2's number or numpy's name; by default that
    of the floating-point array it is like, else float32. A second input holds the value in place of `value`.
    """
    shape, dtype = wanted(op, like)
    # Not full_like, in which CuPy takes the shape () for none given.
    y = np.empty(shape, dtype, like=like)
    np.copyto(y, number_of(op, "value", dtype) if value is None else value.reshape(()), casting="unsafe")
    return y


fill = partial(operator, derivative="0: y does not depend on values", constant=True)


def between_spec(
    op: Operator, like: ArraySpec | None = None, low: ArraySpec | None = None, high: ArraySpec | None = None
) -> ArraySpec | None:
    for name, bound in (("min", low), ("max", high)):
        if bound is not None and prod(bound.shape) != 1:
            raise misfit(f"{name} must have one element, got shape {bound.shape}.")
    return fill_spec(op, like)


def bounds(op: Operator, dtype: "np.dtype[Any]", low: Array | None, high: Array | None) -> tuple[Any, Any]:
    """The least and the greatest number, from the arguments `min` and `max` or from inputs of one element."""
    return (
        number_of(op, "min", dtype) if low is None else low.reshape(()),
        number_of(op, "max", dtype, 1.0) if high is None else high.reshape(()),
    )


@fill(
    "UniformFill",
    "like?, min?, max? -> y",
    "y ~ uniform in [min, max)",
    infer=between_spec,
    args={**RANDOM_ARGS, "min": 0.0, "max": 1.0},
)
def uniform_fill(op: Operator, like: Array | None = None, low: Array | None = None, high: Array | None = None) -> Array:
    """Numbers spread evenly from `min` to `max`; shape and dtype as in ConstantFill."""
    shape, dtype = wanted(op, like)
    least, greatest = bounds(op, dtype, low, high)
    return (least + uniform(op, shape, like) * (greatest - least)).astype(dtype)


def int_dtype(op: Operator) -> "np.dtype[Any]":
    """int32, or what the argument `dtype` asks for."""
    return np.dtype(np.int32) if op.args.get("dtype") is None else fill_dtype(op, None)


def between_ints_spec(op: Operator, *specs: ArraySpec) -> ArraySpec | None:
    spec = between_spec(op, *specs)
    return None if spec is None else spec._replace(dtype=int_dtype(op))


@fill(
    "UniformIntFill",
    "like?, min?, max? -> y",
    "y ~ uniform in {min, ..., max}",
    infer=between_ints_spec,
    args={**RANDOM_ARGS, "min": 0, "max": 1},
)
def uniform_int_fill(
    op: Operator, like: Array | None = None, low: Array | None = None, high: Array | None = None
) -> Array:
    """Integers spread evenly from `min` to `max`, both included; int32 unless `dtype` says otherwise."""
    dtype = int_dtype(op)
    least, greatest = bounds(op, dtype, low, high)
    steps = np.floor(uniform(op, wanted(op, like).shape, like) * (greatest - least + 1))
    return (least + steps).astype(dtype)


@fill(
    "GaussianFill",
    "like? -> y",
    "y ~ normal(mean, std²)",
    infer=fill_spec,
    args={**RANDOM_ARGS, "mean": 0.0, "std": 1.0},
)
def gaussian_fill(op: Operator, like: Array | None = None) -> Array:
    """Normal numbers with `mean` and standard deviation `std`; shape and dtype as in ConstantFill."""
    shape, dtype = wanted(op, like)
    return (op.args.get("mean", 0.0) + normal(op, shape, like) * op.args.get("std", 1.0)).astype(dtype)


def fan(shape: tuple[int, ...], axis: int) -> int:
    """How many elements share one index along `axis`, at least 1.

    Raises:
        RunError: ``shape_mismatch``, there is no such axis.
    """
    if len(shape) <= axis:
        raise misfit(f"a fill by fan needs at least {axis + 1} dimensions, got the shape {shape}.")
    return max(1, prod(size for at, size in enumerate(shape) if at != axis))


def by_fan_spec(op: Operator, like: ArraySpec | None = None) -> ArraySpec | None:
    spec = fill_spec(op, like)
    if spec is not None:
        fan(spec.shape, axis=0 if op.type == "XavierFill" else 1)
    return spec


@fill("XavierFill", "like? -> y", "y ~ uniform in [-s, s), s = √(3 / fan in)", infer=by_fan_spec, args=RANDOM_ARGS)
def xavier_fill(op: Operator, like: Array | None = None) -> Array:
    """Weights (outputs, ...) that keep the variance; fan in: elements for one output. Source: Glorot, Bengio (2010)."""
    shape, dtype = wanted(op, like)
    return ((2 * uniform(op, shape, like) - 1) * sqrt(3 / fan(shape, axis=0))).astype(dtype)


@fill("MSRAFill", "like? -> y", "y ~ normal(0, 2 / fan out)", infer=by_fan_spec, args=RANDOM_ARGS)
def msra_fill(op: Operator, like: Array | None = None) -> Array:
    """Weights (outputs, inputs, ...) for rectifiers; fan out: the elements for one input. Source: He et al. (2015)."""
    shape, dtype = wanted(op, like)
    return (normal(op, shape, like) * sqrt(2 / fan(shape, axis=1))).astype(dtype)


def diagonal_step(shape: tuple[int, ...]) -> int:
    """How many elements lie between one of the diagonal and the next.

    Raises:
        RunError: ``shape_mismatch``, an array of `shape` has no diagonal.
    """
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise misfit(f"{shape} has no diagonal.", "Give two dimensions, or more of one size.")
    return sum(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def diagonal_spec(op: Operator, like: ArraySpec | None = None) -> ArraySpec | None:
    spec = fill_spec(op, like)
    if spec is not None:
        diagonal_step(spec.shape)
    return spec


@fill("DiagonalFill", "like? -> y", "yᵢᵢ = value, else 0", infer=diagonal_spec, args=FILL_ARGS)
def diagonal_fill(op: Operator, like: Array | None = None) -> Array:
    """`value` on the diagonal, 0 elsewhere; shape and dtype as in ConstantFill, at least two dimensions."""
    shape, dtype = wanted(op, like)
    step = diagonal_step(shape)
    y = np.zeros(prod(shape), dtype, like=like)
    y[: min(shape) * step : step] = number_of(op, "value", dtype)
    return y.reshape(shape)


@fill("RangeFill", "like? -> y", "y = 0, 1, 2, ...", infer=fill_spec, args=SHAPE_ARGS)
def range_fill(op: Operator, like: Array | None = None) -> Array:
    """Its elements count from 0, the last axis fastest; shape and dtype as in ConstantFill."""
    shape, dtype = wanted(op, like)
    return np.arange(prod(shape), dtype=dtype, like=like).reshape(shape)


MOST = 2**59
"""No array has more elements than this."""


def range_spec(op: Operator, *bounds: ArraySpec) -> None:
    """Inference of Range: how long it gets is data."""
    for position, bound in enumerate(bounds):
        if prod(bound.shape) != 1 or bound.dtype != bounds[0].dtype or bound.dtype.kind == "c":
            raise misfit(f"inputs are real numbers of one dtype; input {position} is {bound.dtype} {bound.shape}.")


@fill("Range", "first, stop?, step? -> y", "y = first, first + step, ... while before stop", infer=range_spec)
def range_(op: Operator, first: Array, stop: Array | None = None, step: Array | None = None) -> Array:
    """Numbers from start to stop, which is left out, in the dtype of the inputs: stop; start, stop; or also step."""
    numbers = [bound.reshape(()).tolist() for bound in (first, stop, step) if bound is not None]
    if step is not None and numbers[2] == 0:
        raise RunError("A range cannot go on by steps of 0.", kind="bad_value")
    start, last, by = [0] * (len(numbers) == 1) + numbers + [1] * (len(numbers) < 3)
    if not all(map(isfinite, numbers)) or abs(last - start) > MOST * abs(by):
        raise RunError(f"A range of {', '.join(map(str, numbers))} is too long for an array.", kind="bad_value")
    return np.arange(*numbers, dtype=first.dtype, like=first)
